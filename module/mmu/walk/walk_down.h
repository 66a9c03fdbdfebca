/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A short version of walk.c's walk, down to a level-3 table, for tables like Linux's: four levels,
 * 4 KiB pages. Pure.
 */
#ifndef AV_MMU_WALK_DOWN_H
#define AV_MMU_WALK_DOWN_H

#include "mmu/walk/walk.h"

/* Reads a descriptor. Not loaded: av_walk_down() gives up. */
struct av_walk_word {
	u64 val;
	bool loaded;
};

typedef struct av_walk_word av_walk_load_fn(void *ctx, u64 ipa);

/* Use av_walk(). */
#define AV_WALK_LONG		(-1)

/* A descriptor of a table above level 3. */
#define AV_DESC_TABLE		3ULL

/* TCR_EL1 in that form, by half. */
#define AV_TCR_DOWN_LOW		(AV_TCR_T0SZ | AV_TCR_TG0 | AV_TCR_EPD0 | AV_TCR_HPD0)
#define AV_TCR_DOWN_HIGH	(AV_TCR_T1SZ | AV_TCR_TG1 | AV_TCR_EPD1 | AV_TCR_HPD1)

/* 48 bits of addresses, 4 KiB granule, walks and hierarchical permissions enabled; MMU on. */
static __always_inline bool av_walk_may_go_down(const struct av_regime *r, bool high, u64 va)
{
	u64 mask = high ? AV_TCR_DOWN_HIGH : AV_TCR_DOWN_LOW;
	u64 want = high ? FIELD_PREP(AV_TCR_T1SZ, 16) | FIELD_PREP(AV_TCR_TG1, 2) :
			  FIELD_PREP(AV_TCR_T0SZ, 16);

	return (r->tcr & mask) == want && av_regime_mmu_on(r) &&
	       (s64)va >> 48 == (high ? -1 : 0);
}

/* Output address bits that must be 0. */
u64 av_walk_beyond(const struct av_regime *r);

/* av_walk_table.limits, of the tables above in one word. */
u8 av_walk_limits(u64 descs);

/* Complete a table: rights by limits, WXN and e0pd. */
void av_walk_set_leaves(const struct av_regime *r, struct av_walk_table *table);

/*
 * Walk for an untagged va. Returns 0, with *table as av_walk_keep() makes it after av_walk(); or
 * av_walk()'s AV_FAULT_CODE() of a level above 3, with only table->e0pd valid; or AV_WALK_LONG.
 */
static __always_inline int av_walk_down(const struct av_regime *r, u64 va, av_walk_load_fn *load,
					void *ctx, struct av_walk_table *table)
{
	bool high = va & BIT_ULL(55);
	u64 beyond = av_walk_beyond(r), at = (high ? r->ttbr1 : r->ttbr0) & AV_TTBR_BADDR;
	u64 descs = 0;
	int level;

	if (unlikely(!av_walk_may_go_down(r, high, va)))
		return AV_WALK_LONG;
	table->e0pd = r->tcr & (high ? AV_TCR_E0PD1 : AV_TCR_E0PD0);
	at &= ~GENMASK_ULL(11, 0);
	if (unlikely(at & beyond))
		return AV_WALK_LONG;
#pragma GCC unroll 3
	for (level = 0; level < 3; level++) {
		u64 index = va >> (39 - 9 * level) & GENMASK_ULL(8, 0);
		struct av_walk_word desc = load(ctx, at | index << 3);

		if (unlikely(!desc.loaded))
			return AV_WALK_LONG;
		if (unlikely(!(desc.val & 1)))
			return AV_FAULT_CODE(AV_FSC_TRANSLATION, level);
		if (unlikely((desc.val & AV_DESC_TABLE) != AV_DESC_TABLE || desc.val & beyond))
			return AV_WALK_LONG;
		descs |= desc.val;
		at = desc.val & GENMASK_ULL(47, 12);
	}
	table->va = va & ~AV_TABLE_SPAN;
	table->ipa = at;
	table->beyond = beyond;
	table->limits = av_walk_limits(descs);
	av_walk_set_leaves(r, table);
	return 0;
}

#endif /* AV_MMU_WALK_DOWN_H */
