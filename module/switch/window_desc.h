/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How tables link the window; nothing else knows it. Pure.
 *
 * The window is the top 2 MiB of the kernel half. Every tree that is live in TTBR1 during a
 * switch maps it with the same level-3 table, the VM's.
 */
#ifndef AV_SWITCH_WINDOW_DESC_H
#define AV_SWITCH_WINDOW_DESC_H

#include "lib/av_types.h"

#define AV_WINDOW_START		0xffffffffffe00000ULL

#define AV_PTE_VALID		BIT_ULL(0)
#define AV_PTE_TABLE		BIT_ULL(1)	/* or page, at level 3 */

/* The index of its entry at each level. */
#define AV_WINDOW_INDEX		511

static inline u64 av_table_desc(u64 pa)
{
	return pa | AV_PTE_VALID | AV_PTE_TABLE;
}

/* Link the window from the level-2 table of the last GiB; window_pa is its level-3 table. */
static inline void av_window_hang(u64 *level2, u64 window_pa)
{
	level2[AV_WINDOW_INDEX] = av_table_desc(window_pa);
}

#endif /* AV_SWITCH_WINDOW_DESC_H */
