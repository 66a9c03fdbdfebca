/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts whose tables are not for 48 bits of address, or have another format. Pure but for
 * av_host_tables_init().
 *
 * The guest's tables, shadow trees and window, are for 48 bits in both halves on every host:
 * TCR_EL1.T0SZ and T1SZ change in the switch (switch/enter.S). TCR_EL1.DS stays the host's: where
 * it is 1, bits 8 and 9 of a descriptor are address bits, and all memory is as shareable as
 * TCR_EL1 says.
 */
#ifndef AV_SWITCH_WIDE_H
#define AV_SWITCH_WIDE_H

#include "lib/av_types.h"
#include "switch/window_desc.h"

/* TCR_EL1.T0SZ and T1SZ: of 48 bits, and of one level of tables more or less */
#define AV_TSZ_52	12
#define AV_TSZ_48	16
#define AV_TSZ_39	25

/* No descriptor of ours holds more bits of a physical address. */
#define AV_PA_BITS	48

struct av_host_tables {
	u8 t0sz, t1sz;
	u64 shareable;		/* bits of descriptors: inner shareable, or 0 */
	u64 private_low;	/* address of the first private page under the aux root */
};

/* Set at module load. */
extern struct av_host_tables av_host_tables;
void av_host_tables_init(void);

/* What TCR_EL1 says. False: the switch does not support it. */
static inline bool av_host_tables_of(u64 tcr, struct av_host_tables *host)
{
	bool ds = tcr & BIT_ULL(59);

	host->t0sz = FIELD_GET(GENMASK_ULL(5, 0), tcr);
	host->t1sz = FIELD_GET(GENMASK_ULL(21, 16), tcr);
	host->shareable = ds ? 0 : FIELD_PREP(GENMASK_ULL(9, 8), 3);
	host->private_low = host->t0sz == AV_TSZ_39 ?
				    (u64)(AV_WINDOW_INDEX - 1) << 30 : BIT_ULL(39);
	return (host->t0sz == AV_TSZ_48 || host->t0sz == AV_TSZ_39 ||
		(host->t0sz == AV_TSZ_52 && ds)) &&
	       (host->t1sz == AV_TSZ_48 || host->t1sz == AV_TSZ_39 ||
		(host->t1sz == AV_TSZ_52 && ds));
}

/*
 * Fill in the aux root, which leads to level-1 and level-2 tables of the window's low alias and of
 * the private pages. top: an empty table, only for a host with 52 bits.
 */
struct av_aux_tables {
	u64 *aux, *top;
	u64 top_pa, window1_pa, window2_pa, private1_pa, private2_pa;
};

static inline void av_aux_fill(const struct av_host_tables *host, const struct av_aux_tables *t)
{
	u64 *level0 = t->aux;

	if (host->t0sz == AV_TSZ_39) {
		t->aux[AV_WINDOW_INDEX] = av_table_desc(t->window2_pa);
		t->aux[AV_WINDOW_INDEX - 1] = av_table_desc(t->private2_pa);
		return;
	}
	if (host->t0sz == AV_TSZ_52) {
		t->aux[0] = av_table_desc(t->top_pa);
		level0 = t->top;
	}
	level0[0] = av_table_desc(t->window1_pa);
	level0[1] = av_table_desc(t->private1_pa);
}

/* Offsets in the window's code: an instruction to replace by a branch, and where that goes. */
#define AV_WIDE_SITES	6

struct av_wide_site {
	s32 at, to;
};

/* Patch a copy of the code, if the host needs that. */
static inline void av_wide_patch(const struct av_host_tables *host, u32 *code,
				 const struct av_wide_site sites[AV_WIDE_SITES])
{
	unsigned int i;

	if (host->t0sz == AV_TSZ_48 && host->t1sz == AV_TSZ_48)
		return;
	for (i = 0; i < AV_WIDE_SITES; i++)
		code[sites[i].at / 4] = 0x14000000 |
					((sites[i].to - sites[i].at) / 4 & GENMASK(25, 0));
}

#endif /* AV_SWITCH_WIDE_H */
