/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write protection of pages that are to be logged anew, in parts: a part is one
 * hold of mmu_lock, which ends with one flush for all of its pages. The lock is
 * taken with the first page of a part; between pages the caller may read what it
 * likes, but neither sleep nor touch the VMM's memory before av_protect_end().
 *
 * What says that a page was written is taken away first, and the page's rights
 * then. A write that comes between the two, or before the flush, is one that the
 * caller's caller is about to hear of.
 */
#ifndef AV_MMU_PROTECT_H
#define AV_MMU_PROTECT_H

#include "mmu/internal.h"

/* Pages of one part: with all of their entries some 150,000 instructions. */
#define AV_PROTECT_PART	512

struct av_protect {
	struct av_vm *vm;
	bool begun;
	unsigned int looked;	/* pages in this part */
	struct av_gather g;
};

/* Write-protect a page of a slot, which is held by slots_lock. May sleep, between two parts. */
void av_protect_page(struct av_protect *p, const struct av_slot *slot, u64 gfn);

/* End the part under way, if there is one. May sleep. */
void av_protect_end(struct av_protect *p);

#endif /* AV_MMU_PROTECT_H */
