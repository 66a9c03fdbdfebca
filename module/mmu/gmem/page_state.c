// SPDX-License-Identifier: GPL-2.0
/* Who owns a page of a protected VM: rules in page_state.h. */
#include "mmu/gmem/page_state.h"

/* In this order: meanwhile SHARED may become LENT, but never the reverse. */
bool av_page_state_recall(u64 *word)
{
	return av_page_state_change(word, AV_OWNER_SHARED, AV_OWNER_LEAVING) ||
	       av_page_state_change(word, AV_OWNER_LENT, AV_OWNER_LEAVING);
}

void av_page_state_settle(u64 *word, bool alone)
{
	av_page_state_change(word, AV_OWNER_LEAVING, alone ? AV_OWNER_GUEST : AV_OWNER_LENT);
}

bool av_page_state_lend(u64 *word)
{
	return av_page_state_change(word, AV_OWNER_SHARED, AV_OWNER_LENT) ||
	       av_page_state_of(READ_ONCE(*word)) == AV_OWNER_LENT;
}

u64 av_page_state_put(u64 *word, u64 pa)
{
	u64 old = READ_ONCE(*word), seen;

	while (!(old & AV_OWNER_PAGE)) {
		seen = cmpxchg(word, old, old | pa);
		if (likely(seen == old))
			return pa;
		old = seen;
	}
	return old & AV_OWNER_PAGE;
}
