/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has a page of a protected VM: a word for each, with the page's physical address in
 * its upper bits (0: no page yet) and its owner in the lowest. Pure.
 *
 * Every change is one compare-and-exchange of that word, so no lock protects it; any
 * context. Two vCPUs that share or take back one page at a time: one of them succeeds.
 *
 *	GUEST ──share──► SHARED ──lend──► LENT ─recall─► LEAVING ──settle──► GUEST
 *	  ▲                │                ▲                │
 *	  └──────take──────┘                └─────settle─────┘ (somebody still holds it)
 */
#ifndef AV_MMU_OWNER_H
#define AV_MMU_OWNER_H

#include "lib/av_types.h"

enum av_owner {
	AV_OWNER_GUEST,		/* private: no process has it, or gets it */
	AV_OWNER_SHARED,	/* shared, and mapped by no process since */
	AV_OWNER_LENT,		/* shared, and a process may have it mapped, or hold it */
	AV_OWNER_LEAVING,	/* was lent, and is being taken back: nobody gets it meanwhile */
};

#define AV_OWNER_BITS	GENMASK_ULL(1, 0)
#define AV_OWNER_PAGE	GENMASK_ULL(63, 12)

static inline enum av_owner av_owner_of(u64 word)
{
	return (enum av_owner)(word & AV_OWNER_BITS);
}

/* From one owner to another: false where the word has another one. */
static __always_inline bool av_owner_change(u64 *word, enum av_owner from, enum av_owner to)
{
	u64 old = READ_ONCE(*word), seen;

	for (;;) {
		if (av_owner_of(old) != from)
			return false;
		/* A failure is a page that was put in, or another's change. */
		seen = cmpxchg(word, old, old ^ from ^ to);
		if (likely(seen == old))
			return true;
		old = seen;
	}
}

/* The guest shares its page. False: it was not private. */
static __always_inline bool av_owner_share(u64 *word)
{
	return av_owner_change(word, AV_OWNER_GUEST, AV_OWNER_SHARED);
}

/* The guest wants a page back. False: it was not shared, or it is lent. */
static __always_inline bool av_owner_take(u64 *word)
{
	return av_owner_change(word, AV_OWNER_SHARED, AV_OWNER_GUEST);
}

/* The same of a page that is lent: take it from those that have it, then settle. */
bool av_owner_recall(u64 *word);

/* The end of a recall: nobody has the page any more; or else it is lent as before. */
void av_owner_settle(u64 *word, bool alone);

/* A process is to have the page. False: it may not. */
bool av_owner_lend(u64 *word);

/* Put a page into a word that has none. The result is the one that is in it then. */
u64 av_owner_put(u64 *word, u64 pa);

#endif /* AV_MMU_OWNER_H */
