// SPDX-License-Identifier: GPL-2.0
/* Rows of registers for switch/quick.S. Pure: see cpu/quick.h. */
#include "cpu/cheap.h"
#include "cpu/quick.h"
#include "cpu/rows.h"
#include "mmu/patch.h"

/* No FN rows, but SP_EL0: a word of memory while it is not the stack pointer in use. */
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
 * Row i, with or without copies of code (mmu/patch.h). From copies SP_EL0 and
 * reads of TPIDR_EL1 do not trap, a write of TPIDR_EL1 changes TPIDRRO_EL0 too
 * and is left to C, and EL0's thread registers trap under other encodings. 0:
 * no row.
 */
static u32 row_of(const struct av_srf *srf, unsigned int i)
{
	u16 enc = rows[i].enc;
	bool write = rows[i].write;

	/* The condition of has_row() in cpu/fast.c. */
	if (rows[i].counter >= AV_FAST_TCR_EL1 && !(srf->cheap & AV_CHEAP_ROWS))
		return 0;
	switch (rows[i].vreg) {
	case AV_SP_EL0:
		if (srf->copies)
			return 0;
		break;
	case AV_TPIDR_EL1:
		write = !srf->copies;
		break;
	case AV_TPIDR_EL0:
		enc = AV_SYS_COPY_TPIDR_EL0;
		if (!srf->copies)
			return 0;
		break;
	case AV_TPIDRRO_EL0:
		/* Without copies a write must reach the hardware: EL0 reads the register there. */
		enc = AV_SYS_COPY_TPIDRRO_EL0;
		if (!srf->copies)
			return 0;
		break;
	}
	return FIELD_PREP(AV_QUICK_ENC, enc) |
	       FIELD_PREP(AV_QUICK_COUNTER, rows[i].counter) |
	       FIELD_PREP(AV_QUICK_VREG, rows[i].vreg) | (write ? AV_QUICK_WRITE : 0);
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
