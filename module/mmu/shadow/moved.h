/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that moves memory (mremap) hangs its tables elsewhere: a kept table follows the guest's
 * to its new place. Pure, under mmu_lock.
 */
#ifndef AV_MMU_MOVED_H
#define AV_MMU_MOVED_H

#include "mmu/shadow/shadow.h"

/* A table of pages was filled from, or compared with, the guest's table at f->table. */
void av_moved_note(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f);
/* A table is freed. */
void av_moved_forget(struct av_shadow *sh, const struct av_pt *pt);
/*
 * The guest invalidates all of a table: does it still have its own, so that it may have moved it?
 * One that unmaps has cleared its table before. A guess.
 */
bool av_moved_expected(struct av_shadow *sh, const struct av_pt *pt);
/*
 * Take the tree's kept table for the guest's table at f->table away from its place. The caller
 * gives it another, compares it (av_resync_refresh()) and links it. NULL: there is none.
 */
struct av_pt *av_moved_take(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f);

#endif /* AV_MMU_MOVED_H */
