// SPDX-License-Identifier: GPL-2.0
/* What switch/quick.S looks at. Pure: see cpu/quick.h. */
#include "cpu/cheap.h"
#include "cpu/quick.h"
#include "cpu/rows.h"

/* Not FN: but SP_EL0, which is a word of memory while it is not the stack pointer in use. */
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

bool av_quick_rows(struct av_srf *srf, u32 cheap)
{
	unsigned int i;
	bool ok = true;
	u32 *row;

	memset(srf->quick_rows, 0, sizeof(srf->quick_rows));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		/* As cpu/fast.c's has_row(). */
		if (rows[i].counter >= AV_FAST_TCR_EL1 && !(cheap & AV_CHEAP_ROWS))
			continue;
		row = &srf->quick_rows[av_quick_hash(rows[i].enc)];
		ok &= !*row;
		*row = FIELD_PREP(AV_QUICK_ENC, rows[i].enc) |
		       FIELD_PREP(AV_QUICK_COUNTER, rows[i].counter) |
		       FIELD_PREP(AV_QUICK_VREG, rows[i].vreg) |
		       (rows[i].write ? AV_QUICK_WRITE : 0);
	}
	return ok;
}
