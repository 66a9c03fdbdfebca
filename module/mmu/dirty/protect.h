/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write protection of pages to be logged again, in parts. Each part holds mmu_lock once, and
 * ends with one flush for all of its pages. The first page of a part takes the lock. Until
 * av_protect_end(), the caller must not sleep or touch the VMM's memory.
 *
 * The caller first clears the record that a page was written, then the page's rights. The caller's
 * report, which comes later, covers a write between the two or before the flush.
 */
#ifndef AV_MMU_PROTECT_H
#define AV_MMU_PROTECT_H

#include "mmu/base/base.h"

/* Pages per part: with all of their entries, about 150,000 instructions. */
#define AV_PROTECT_PART	512

struct av_protect {
	struct av_vm *vm;
	bool begun;
	unsigned int looked;	/* pages in this part */
	struct av_gather g;
};

/* Write-protect a page of a slot; slots_lock is held. May sleep between two parts. */
void av_protect_page(struct av_protect *p, const struct av_slot *slot, u64 gfn);

/* End the current part, if there is one. May sleep. */
void av_protect_end(struct av_protect *p);

#endif /* AV_MMU_PROTECT_H */
