/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window's positions, and the links to it in tables: no other file knows them. Pure.
 *
 * The window is 2 MiB of the last GiB of the kernel half, at one of 512 positions. Each vCPU has
 * it at one of them. Every tree for TTBR1 that the vCPU runs on maps it there, with the same
 * level-3 table, the VM's. A guest that uses those 2 MiB itself makes the window move
 * (mmu/shadow/position.h).
 */
#ifndef AV_SWITCH_WINDOW_DESC_H
#define AV_SWITCH_WINDOW_DESC_H

#include "lib/av_types.h"

/* The last GiB, which a level-2 table maps. */
#define AV_WINDOW_GIB		0xffffffffc0000000ULL
#define AV_WINDOW_SHIFT		21
#define AV_WINDOW_SIZE		BIT_ULL(AV_WINDOW_SHIFT)
#define AV_WINDOW_POSITIONS	512

/*
 * The position until a guest uses it. Linux leaves the last 8 MiB free, but for a moment uses the
 * last position, when it turns KPTI on late.
 */
#define AV_WINDOW_HOME		509

#define AV_PTE_VALID		BIT_ULL(0)
#define AV_PTE_TABLE		BIT_ULL(1)	/* or page, at level 3 */

/* The index, at levels 0 and 1, of the entries that lead to the last GiB. */
#define AV_WINDOW_INDEX		511

/* The GiB before: the private pages by the vCPUs' indices, in the image only (switch/image.h). */
#define AV_IMAGE_PRIVATE_INDEX	510
#define AV_IMAGE_PRIVATE	0xffffffff80000000ULL

static inline u64 av_table_desc(u64 pa)
{
	return pa | AV_PTE_VALID | AV_PTE_TABLE;
}

/* The window's address at a position, which is also its index at level 2. */
static inline u64 av_window_at(unsigned int position)
{
	return AV_WINDOW_GIB + ((u64)position << AV_WINDOW_SHIFT);
}

/* The position of an address in the last GiB. */
static inline unsigned int av_window_position(u64 va)
{
	return va >> AV_WINDOW_SHIFT & (AV_WINDOW_POSITIONS - 1);
}

/* Is an address in the window at this position? */
static inline bool av_window_holds(unsigned int position, u64 va)
{
	return va - av_window_at(position) < AV_WINDOW_SIZE;
}

/* Link the window from the level-2 table of the last GiB; window_pa is its level-3 table. */
static inline void av_window_hang(u64 *level2, unsigned int position, u64 window_pa)
{
	WRITE_ONCE(level2[position], av_table_desc(window_pa));
}

#endif /* AV_SWITCH_WINDOW_DESC_H */
