/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who owns a page of a protected VM: one word per page, with the page's physical address in the
 * high bits (0: none yet) and the owner in the low bits. Pure.
 *
 * Each change is one compare-and-exchange of the word, so no lock is needed; any context. If two
 * vCPUs share or take back the same page at the same time, one of them succeeds.
 *
 *	GUEST ──share──► SHARED ──lend──► LENT ─recall─► LEAVING ──settle──► GUEST
 *	  ▲               │  │              ▲             ▲  │
 *	  └─────take──────┘  └────recall────│─────────────┘  │
 *	                                    └─────settle─────┘ (somebody still holds it)
 */
#ifndef AV_MMU_PAGE_STATE_H
#define AV_MMU_PAGE_STATE_H

#include "lib/av_types.h"

enum av_page_state {
	AV_OWNER_GUEST,		/* private: no process has it or can get it */
	AV_OWNER_SHARED,	/* shared, and not mapped by any process since */
	AV_OWNER_LENT,		/* shared, and a process may have it mapped or hold it */
	AV_OWNER_LEAVING,	/* was shared, is being taken back: nobody can get it */
};

#define AV_OWNER_BITS	GENMASK_ULL(1, 0)
#define AV_OWNER_PAGE	GENMASK_ULL(63, 12)

static inline enum av_page_state av_page_state_of(u64 word)
{
	return (enum av_page_state)(word & AV_OWNER_BITS);
}

/* Change the owner. False: the owner is not from. */
static __always_inline bool av_page_state_change(u64 *word, enum av_page_state from,
						 enum av_page_state to)
{
	u64 old = READ_ONCE(*word), seen;

	for (;;) {
		if (av_page_state_of(old) != from)
			return false;
		/* It fails if a page was put in, or the owner was changed. */
		seen = cmpxchg(word, old, old ^ from ^ to);
		if (likely(seen == old))
			return true;
		old = seen;
	}
}

/* The guest shares its page. False: the page is not private. */
static __always_inline bool av_page_state_share(u64 *word)
{
	return av_page_state_change(word, AV_OWNER_GUEST, AV_OWNER_SHARED);
}

/* The guest takes a page back. False: the page is not shared, or is lent. */
static __always_inline bool av_page_state_take(u64 *word)
{
	return av_page_state_change(word, AV_OWNER_SHARED, AV_OWNER_GUEST);
}

/* The same, lent or not: then unmap it everywhere, and settle. False: it is not shared. */
bool av_page_state_recall(u64 *word);

/* End a recall: the page is the guest's if nobody else has it, otherwise lent. */
void av_page_state_settle(u64 *word, bool alone);

/* A process is to get the page. False: it must not. */
bool av_page_state_lend(u64 *word);

/* Put a page in a word that has none. Returns the page that is in it afterwards. */
u64 av_page_state_put(u64 *word, u64 pa);

#endif /* AV_MMU_PAGE_STATE_H */
