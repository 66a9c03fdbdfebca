// SPDX-License-Identifier: GPL-2.0
/* Rows of registers for switch/quick.S. Pure: see cpu/quick.h. */
#include "cpu/cheap.h"
#include "cpu/quick.h"
#include "cpu/rows.h"

/* All rows but FN's. SP_EL0 is included: it is a plain word while it is not the current SP. */
#define MEM(name, sys, flags, cls)	{ sys, AV_FAST_##name, AV_##name, true },
#define LOAD(name, sys, flags, cls)	{ sys, AV_FAST_##name, AV_##name, false },
#define FN(name, sys, flags, cls)

static const struct {
	u16 enc;
	u8 counter;
	u16 vreg;
	bool write;
} rows[] = {
	{ AV_SYS(3, 0, 4, 1, 0), AV_FAST_SP_EL0, AV_SP_EL0, true },
	AV_FAST_ROWS(MEM, LOAD, FN)
};

/*
 * The word for row i, for use without copies; 0: none. TPIDR_EL0 does not trap
 * without copies, a write of TPIDRRO_EL0 must change the hardware, and another
 * row has MIDR_EL1's slot: cpu/fast.c handles these.
 */
static u32 row_of(const struct av_srf *srf, unsigned int i)
{
	/* Same condition as has_row() in cpu/fast.c. */
	if (rows[i].counter >= AV_FAST_TCR_EL1 && !(srf->cheap & AV_CHEAP_ROWS))
		return 0;
	if (rows[i].vreg == AV_TPIDR_EL0 || rows[i].vreg == AV_TPIDRRO_EL0 ||
	    rows[i].vreg == AV_MIDR_EL1)
		return 0;
	return FIELD_PREP(AV_QUICK_ENC, rows[i].enc) |
	       FIELD_PREP(AV_QUICK_COUNTER, rows[i].counter) |
	       FIELD_PREP(AV_QUICK_VREG, rows[i].vreg) | (rows[i].write ? AV_QUICK_WRITE : 0);
}

bool av_quick_rows(struct av_srf *srf)
{
	unsigned int i;
	bool ok = true;
	u32 row, *at;

	memset(srf->quick_rows, 0, sizeof(srf->quick_rows));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		row = row_of(srf, i);
		if (!row)
			continue;
		at = &srf->quick_rows[av_quick_hash(FIELD_GET(AV_QUICK_ENC, row))];
		ok &= !*at;
		*at = row;
	}
	return ok;
}
