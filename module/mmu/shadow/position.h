/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window's position (switch/window_desc.h). Pure code, under the shadow's lock unless stated
 * otherwise.
 *
 * A guest may use every address of the kernel half. If it accesses memory that its own tables map
 * where its vCPU has the window, the window moves to another position of the last GiB: one where
 * no tree has an entry and, if possible, the guest's tables map nothing.
 *
 * A tree has the window at one position for life (av_tree_key.window). A vCPU whose window moves
 * loads other trees, so no entry changes and no other vCPU has to stop. The others follow at a
 * request, before a later entry, so that all of them share trees again. Trees at the old position
 * are behind: they are dropped when the last vCPU has let them go.
 *
 * av_shadow.touched has a bit for each position that a guest was seen to use. Once all are set
 * they are cleared. An instruction needs at most three positions, its own and two for its data, so
 * it executes after a few moves. A guest that moves the window again and again builds its own
 * trees anew each time; other VMs do not pay for that.
 */
#ifndef AV_MMU_POSITION_H
#define AV_MMU_POSITION_H

#include "mmu/shadow/shadow.h"

/* The guest uses this position of the last GiB. */
static inline void av_window_touched(struct av_shadow *sh, unsigned int position)
{
	sh->touched[position / 64] |= BIT_ULL(position % 64);
}

/* How many positions to look up in the guest's tables at most. */
#define AV_WINDOW_LOOKS		16

/*
 * Choose the position to move to. touched is av_shadow.touched, read without the lock. mapped()
 * says if the guest's tables map anything at a position; it may sleep.
 */
unsigned int av_window_choose(const u64 *touched, unsigned int from,
			      bool (*mapped)(void *arg, unsigned int position), void *arg);

/*
 * The window is in the way of a vCPU that has it at from: move it. Returns the vCPU's new position:
 * to, or another one if a different vCPU has moved the window already.
 */
unsigned int av_window_move(struct av_shadow *sh, unsigned int from, unsigned int to);

/* Is the window elsewhere by now? */
static inline bool av_window_behind(const struct av_shadow *sh, const struct av_tree *tree)
{
	return tree->key.high && tree->key.window != sh->window;
}

/*
 * Drop some entries of a tree that is behind and that no vCPU has loaded. False: the list of trees
 * does not begin with one.
 */
bool av_shadow_drop_behind(struct av_shadow *sh, struct av_memcache *pool);

#endif /* AV_MMU_POSITION_H */
