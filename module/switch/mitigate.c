// SPDX-License-Identifier: GPL-2.0
/* Which mitigation a CPU needs on the way out of the guest. Pure: see mitigate.h. */
#include "switch/mitigate.h"

#define AV_MIDR_MODEL		(GENMASK_ULL(31, 24) | GENMASK_ULL(15, 4))
#define MODEL(implementer, part)	((u32)(implementer) << 24 | (u32)(part) << 4)
#define ARM(part)		MODEL(0x41, part)

#define AV_MIDR_REVISION	GENMASK_ULL(3, 0)
#define AV_MIDR_VARIANT		GENMASK_ULL(23, 20)

#define PFR0_CSV3		GENMASK_ULL(63, 60)
#define PFR0_CSV2		GENMASK_ULL(59, 56)
#define PFR0_CSV2_HISTORY	3
#define MMFR1_ECBHB		GENMASK_ULL(63, 60)
#define ISAR2_CLRBHB		GENMASK_ULL(31, 28)

/* Iterations that fill the history. NOTHING_LEARNT: no speculation on learnt targets. */
#define NOTHING_LEARNT	0xffff

static const struct {
	u32 model;
	u16 loops;
} models[] = {
	{ ARM(0xd03), NOTHING_LEARNT },		/* Cortex-A53 */
	{ ARM(0xd04), NOTHING_LEARNT },		/* Cortex-A35 */
	{ ARM(0xd05), NOTHING_LEARNT },		/* Cortex-A55 */
	{ ARM(0xd46), NOTHING_LEARNT },		/* Cortex-A510 */
	{ ARM(0xd80), NOTHING_LEARNT },		/* Cortex-A520 */
	{ MODEL(0x42, 0x100), NOTHING_LEARNT },	/* Brahma-B53 */
	{ MODEL(0x48, 0xd01), NOTHING_LEARNT },	/* HiSilicon TSV110 */
	{ MODEL(0x51, 0x803), NOTHING_LEARNT },	/* Kryo 3xx silver */
	{ MODEL(0x51, 0x805), NOTHING_LEARNT },	/* Kryo 4xx silver */
	{ ARM(0xd07), 8 },			/* Cortex-A57 */
	{ ARM(0xd08), 8 },			/* Cortex-A72 */
	{ MODEL(0xc0, 0xac3), 11 },		/* Ampere-1 */
	{ ARM(0xd0b), 24 },			/* Cortex-A76 */
	{ ARM(0xd0c), 24 },			/* Neoverse-N1 */
	{ ARM(0xd0d), 24 },			/* Cortex-A77 */
	{ ARM(0xd0e), 24 },			/* Cortex-A76AE */
	{ MODEL(0x51, 0x804), 24 },		/* Kryo 4xx gold */
	{ ARM(0xd40), 32 },			/* Neoverse-V1 */
	{ ARM(0xd41), 32 },			/* Cortex-A78 */
	{ ARM(0xd42), 32 },			/* Cortex-A78AE */
	{ ARM(0xd44), 32 },			/* Cortex-X1 */
	{ ARM(0xd47), 32 },			/* Cortex-A710 */
	{ ARM(0xd48), 32 },			/* Cortex-X2 */
	{ ARM(0xd49), 32 },			/* Neoverse-N2 */
	{ ARM(0xd4b), 32 },			/* Cortex-A78C */
	{ ARM(0xd4c), 32 },			/* Cortex-X1C */
	{ ARM(0xd4d), 38 },			/* Cortex-A715 */
	{ ARM(0xd81), 38 },			/* Cortex-A720 */
	{ ARM(0xd4e), 132 },			/* Cortex-X3 */
	{ ARM(0xd4f), 132 },			/* Neoverse-V2 */
};

static u16 loops_of(u32 midr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (models[i].model == (midr & AV_MIDR_MODEL))
			return models[i].loops;
	return 0;
}

static void clear_history(const struct av_cpu_facts *cpu, u16 loops, struct av_mitigation *m)
{
	if (FIELD_GET(PFR0_CSV2, cpu->pfr0) >= PFR0_CSV2_HISTORY ||
	    FIELD_GET(MMFR1_ECBHB, cpu->mmfr1) || FIELD_GET(ISAR2_CLRBHB, cpu->isar2))
		return;
	m->loops = loops;
	/* WORKAROUND_3 includes WORKAROUND_1. */
	if (!loops && cpu->workaround_3)
		m->firmware = AV_FIRMWARE_WORKAROUND_3;
}

struct av_mitigation av_mitigation_for(const struct av_cpu_facts *cpu)
{
	struct av_mitigation m = { 0, AV_FIRMWARE_NONE };
	u16 loops = loops_of(cpu->midr);

	if (loops == NOTHING_LEARNT)
		return m;
	if (!FIELD_GET(PFR0_CSV2, cpu->pfr0)) {
		if (!cpu->workaround_1 && !cpu->workaround_3)
			return m;
		m.firmware = cpu->workaround_1 ? AV_FIRMWARE_WORKAROUND_1 :
						 AV_FIRMWARE_WORKAROUND_3;
	}
	clear_history(cpu, loops, &m);
	return m;
}

bool av_unpriv_load_leaks(u32 midr)
{
	switch (midr & AV_MIDR_MODEL) {
	case ARM(0xd46):	/* Cortex-A510 */
		return true;
	case ARM(0xd80):	/* Cortex-A520 r0p0, r0p1 */
		return !FIELD_GET(AV_MIDR_VARIANT, midr) && FIELD_GET(AV_MIDR_REVISION, midr) <= 1;
	default:
		return false;
	}
}

/* Models that need no KPTI although their ID register does not have CSV3. */
static const u32 kpti_needless[] = {
	ARM(0xd03),		/* Cortex-A53 */
	ARM(0xd04),		/* Cortex-A35 */
	ARM(0xd05),		/* Cortex-A55 */
	ARM(0xd07),		/* Cortex-A57 */
	ARM(0xd08),		/* Cortex-A72 */
	ARM(0xd09),		/* Cortex-A73 */
	MODEL(0x42, 0x100),	/* Brahma-B53 */
	MODEL(0x42, 0x516),	/* Vulcan */
	MODEL(0x43, 0x0af),	/* ThunderX2 */
	MODEL(0x48, 0xd01),	/* HiSilicon TSV110 */
	MODEL(0x4e, 0x004),	/* Carmel */
	MODEL(0x51, 0x800),	/* Kryo 2xx gold */
	MODEL(0x51, 0x801),	/* Kryo 2xx silver */
	MODEL(0x51, 0x803),	/* Kryo 3xx silver */
	MODEL(0x51, 0x805),	/* Kryo 4xx silver */
};

bool av_meltdown_safe(u32 midr, u64 pfr0)
{
	unsigned int i;

	if (FIELD_GET(PFR0_CSV3, pfr0))
		return true;
	for (i = 0; i < ARRAY_SIZE(kpti_needless); i++)
		if (kpti_needless[i] == (midr & AV_MIDR_MODEL))
			return true;
	return false;
}
