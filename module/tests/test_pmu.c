// SPDX-License-Identifier: GPL-2.0
/* The guest's PMU: cpu/pmu.c, with event counts that the test sets. */
#include <stdlib.h>

#include "check.h"
#include "cpu/pmu.h"

#define PM(crm, op2)	AV_SYS(3, 3, 9, crm, op2)
#define PMCR		PM(12, 0)
#define CNTENSET	PM(12, 1)
#define CNTENCLR	PM(12, 2)
#define OVSCLR		PM(12, 3)
#define SWINC		PM(12, 4)
#define SELR		PM(12, 5)
#define CEID0		PM(12, 6)
#define CEID1		PM(12, 7)
#define CCNTR		PM(13, 0)
#define XTYPER		PM(13, 1)
#define XCNTR		PM(13, 2)
#define USERENR		PM(14, 0)
#define OVSSET		PM(14, 3)
#define INTENSET	AV_SYS(3, 0, 9, 14, 1)
#define INTENCLR	AV_SYS(3, 0, 9, 14, 2)
#define CNTR(n)		AV_SYS(3, 3, 14, 8 + (n) / 8, (n) % 8)
#define TYPER(n)	AV_SYS(3, 3, 14, 12 + (n) / 8, (n) % 8)
#define LOW		0xffffffffULL
#define ALL_SIX		(BIT_ULL(31) | 0x3f)

static struct av_pmu pmu;
static struct av_pmu_model model;
static u64 events[AV_PMU_COUNTERS];
static bool el1;

static u64 counted(struct av_pmu *p, unsigned int n)
{
	CHECK(p == &pmu && n < AV_PMU_COUNTERS);
	return events[n];
}

static const struct av_pmu_ops ops = { counted };

static void fresh(unsigned int version)
{
	memset(&pmu, 0xa5, sizeof(pmu));
	memset(events, 0, sizeof(events));
	model = (struct av_pmu_model){ .counters = 6, .version = version };
	pmu.ops = &ops;
	av_pmu_reset(&pmu);
	el1 = true;
}

/* As the caller does after each access: recreate the events of these. */
static void begin_anew(void)
{
	unsigned int n;

	for (n = 0; n < AV_PMU_COUNTERS; n++)
		if (pmu.anew & BIT(n))
			events[n] = 0;
	pmu.anew = 0;
}

static bool writes(u16 enc, u64 val)
{
	bool ok = av_pmu_access(&pmu, &model, enc, el1, true, &val);

	begin_anew();
	return ok;
}

static u64 reads(u16 enc)
{
	u64 val = 0xdeadULL << 48;

	CHECK(av_pmu_access(&pmu, &model, enc, el1, false, &val));
	return val;
}

static bool can_read(u16 enc)
{
	u64 val;

	return av_pmu_access(&pmu, &model, enc, el1, false, &val);
}

static void test_reset(void)
{
	unsigned int n;

	fresh(AV_PMU_V3);
	CHECK(pmu.ops == &ops);
	CHECK_EQ(reads(PMCR), AV_PMCR_LC | 6 << 11);
	CHECK_EQ(reads(CNTENSET) | reads(INTENSET) | reads(OVSSET) | reads(USERENR), 0);
	for (n = 0; n < AV_PMU_COUNTERS; n++)
		CHECK(!av_pmu_plan(&pmu, &model, n).counts);
	CHECK(!av_pmu_line(&pmu));
}

static void test_pmcr(void)
{
	fresh(AV_PMU_V3);
	CHECK(writes(PMCR, ~0ULL));
	/* Without 64-bit counters no LP; P and C are no state; N is the VM's. */
	CHECK_EQ(reads(PMCR), 0x79 | 6 << 11);
	CHECK(writes(PMCR, 0));
	CHECK_EQ(reads(PMCR), AV_PMCR_LC | 6 << 11);
	writes(CNTR(2), 5);
	writes(CCNTR, 6);
	events[2] = events[31] = 10;
	writes(PMCR, AV_PMCR_P);
	CHECK_EQ(reads(CNTR(2)), 0);
	CHECK_EQ(reads(CCNTR), 16);
	writes(PMCR, AV_PMCR_C);
	CHECK_EQ(reads(CCNTR), 0);
	fresh(AV_PMU_V3P5);
	CHECK(writes(PMCR, ~0ULL));
	CHECK_EQ(reads(PMCR), 0xf9 | 6 << 11);
	/* Written by the VMM, P and C wait for the first run. */
	writes(CNTR(0), 3);
	av_pmu_set(&pmu, &model, PMCR, AV_PMCR_P | AV_PMCR_E | 31 << 11);
	CHECK_EQ(av_pmu_get(&pmu, &model, PMCR), AV_PMCR_LC | AV_PMCR_P | AV_PMCR_E | 6 << 11);
	CHECK_EQ(reads(CNTR(0)), 3);
	av_pmu_reload(&pmu, &model);
	begin_anew();
	CHECK_EQ(reads(CNTR(0)), 0);
	CHECK_EQ(av_pmu_get(&pmu, &model, PMCR), AV_PMCR_LC | AV_PMCR_E | 6 << 11);
}

static void test_counters_read_what_was_counted(void)
{
	u64 type = 8;

	fresh(AV_PMU_V3);
	CHECK(writes(CNTR(1), 0x1fffffff0));
	CHECK_EQ(reads(CNTR(1)), 0xfffffff0);
	events[1] = 0x20;
	CHECK_EQ(reads(CNTR(1)), 0x10);
	/* Another event: the value stays, and counts on from there. */
	CHECK(writes(TYPER(1), 8));
	CHECK_EQ(events[1], 0);
	CHECK_EQ(reads(CNTR(1)), 0x10);
	events[1] = 1;
	CHECK_EQ(reads(CNTR(1)), 0x11);
	CHECK(writes(CNTR(1), 0));
	CHECK_EQ(reads(CNTR(1)), 0);
	/* Twice before the event is recreated: its count is added once. */
	events[1] = 4;
	CHECK(av_pmu_access(&pmu, &model, TYPER(1), el1, true, &type));
	CHECK(av_pmu_access(&pmu, &model, TYPER(1), el1, true, &type));
	begin_anew();
	CHECK_EQ(reads(CNTR(1)), 4);
	/* The cycle counter is wide, and so are all from PMUv3.5 on. */
	CHECK(writes(CCNTR, 0x1fffffff0));
	CHECK_EQ(reads(CCNTR), 0x1fffffff0);
	model.version = AV_PMU_V3P5;
	CHECK(writes(CNTR(1), 0x1fffffff0));
	CHECK_EQ(reads(CNTR(1)), 0x1fffffff0);
}

static void test_selected(void)
{
	fresh(AV_PMU_V3);
	CHECK(writes(SELR, 0xffe3));
	CHECK_EQ(reads(SELR), 3);
	CHECK(writes(XTYPER, ~0ULL));
	CHECK_EQ(reads(TYPER(3)), AV_PMTYPE_P | AV_PMTYPE_U | 0x3ff);
	CHECK(writes(XCNTR, 9));
	CHECK_EQ(reads(CNTR(3)), 9);
	model.version = 4;
	CHECK(writes(XTYPER, ~0ULL));
	CHECK_EQ(reads(TYPER(3)), AV_PMTYPE_P | AV_PMTYPE_U | 0xffff);
	CHECK(writes(SELR, 31));
	CHECK(writes(XTYPER, AV_PMTYPE_P));
	CHECK_EQ(reads(TYPER(31)), AV_PMTYPE_P);
	CHECK(writes(XCNTR, 1ULL << 40));
	CHECK_EQ(reads(CCNTR), 1ULL << 40);
	/* What is not there is UNDEFINED, and the VMM's all the same. */
	CHECK(writes(SELR, 6));
	CHECK(!can_read(XCNTR) && !can_read(XTYPER) && !writes(XCNTR, 0) && !writes(XTYPER, 0));
	CHECK(!can_read(CNTR(6)) && !can_read(TYPER(30)) && !writes(CNTR(30), 0));
	av_pmu_set(&pmu, &model, TYPER(30), ~0ULL);
	CHECK_EQ(av_pmu_get(&pmu, &model, TYPER(30)), ~0ULL);
	av_pmu_set(&pmu, &model, CNTR(30), ~0ULL);
	CHECK_EQ(av_pmu_get(&pmu, &model, CNTR(30)), LOW);
}

static void test_pairs(void)
{
	static const struct { u16 set, clear; } pairs[] = {
		{ CNTENSET, CNTENCLR }, { INTENSET, INTENCLR }, { OVSSET, OVSCLR },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		fresh(AV_PMU_V3);
		CHECK(writes(pairs[i].set, ~0ULL));
		CHECK_EQ(reads(pairs[i].set), ALL_SIX);
		CHECK_EQ(reads(pairs[i].clear), ALL_SIX);
		CHECK(writes(pairs[i].clear, 5));
		CHECK_EQ(reads(pairs[i].set), ALL_SIX & ~5ULL);
		av_pmu_set(&pmu, &model, pairs[i].clear, ~0ULL);
		CHECK_EQ(av_pmu_get(&pmu, &model, pairs[i].set), 0);
		av_pmu_set(&pmu, &model, pairs[i].set, ~0ULL);
		CHECK_EQ(av_pmu_get(&pmu, &model, pairs[i].clear), ALL_SIX);
		/* With fewer counters the VMM sees fewer bits. */
		model.counters = 0;
		CHECK_EQ(av_pmu_get(&pmu, &model, pairs[i].set), BIT_ULL(31));
		av_pmu_reload(&pmu, &model);
		model.counters = 6;
		CHECK_EQ(reads(pairs[i].set), BIT_ULL(31));
	}
}

static void test_software_increments(void)
{
	fresh(AV_PMU_V3);
	writes(TYPER(1), 8);
	writes(SWINC, ~0ULL);
	CHECK_EQ(reads(CNTR(0)), 0);
	writes(PMCR, AV_PMCR_E);
	writes(SWINC, ~0ULL);
	CHECK_EQ(reads(CNTR(0)), 0);
	writes(CNTENSET, 3);
	writes(SWINC, ~0ULL);
	CHECK_EQ(reads(CNTR(0)), 1);
	CHECK_EQ(reads(CNTR(1)), 0);
	CHECK_EQ(reads(CCNTR), 0);
	writes(CNTR(0), LOW);
	CHECK_EQ(reads(OVSSET), 0);
	writes(SWINC, 1);
	CHECK_EQ(reads(CNTR(0)), 0);
	CHECK_EQ(reads(OVSSET), 1);
	/* 64 bits wide, but with LP it overflows at 32. */
	model.version = AV_PMU_V3P5;
	writes(OVSCLR, ~0ULL);
	writes(CNTR(0), LOW);
	writes(SWINC, 1);
	CHECK_EQ(reads(CNTR(0)), LOW + 1);
	CHECK_EQ(reads(OVSSET), 1);
	writes(OVSCLR, ~0ULL);
	writes(PMCR, AV_PMCR_E | AV_PMCR_LP);
	writes(CNTR(0), LOW);
	writes(SWINC, 1);
	CHECK_EQ(reads(OVSSET), 0);
	writes(CNTR(0), ~0ULL);
	writes(SWINC, 1);
	CHECK_EQ(reads(CNTR(0)), 0);
	CHECK_EQ(reads(OVSSET), 1);
}

static void test_chains(void)
{
	fresh(AV_PMU_V3);
	writes(PMCR, AV_PMCR_E);
	writes(CNTENSET, ~0ULL);
	writes(TYPER(2), 8);
	writes(TYPER(3), AV_PMEVENT_CHAIN);
	writes(TYPER(4), AV_PMEVENT_CHAIN);
	av_pmu_overflowed(&pmu, &model, 2);
	CHECK_EQ(reads(CNTR(3)), 1);
	CHECK_EQ(reads(OVSSET), 4);
	/* Both; an odd one is chained to nothing. */
	writes(CNTR(3), LOW);
	av_pmu_overflowed(&pmu, &model, 2);
	CHECK_EQ(reads(CNTR(3)), 0);
	CHECK_EQ(reads(OVSSET), 0xc);
	CHECK_EQ(reads(CNTR(4)), 0);
	/* Off, another event, no 32-bit overflow, the last one, the cycle counter. */
	writes(CNTENCLR, 8);
	av_pmu_overflowed(&pmu, &model, 2);
	writes(CNTENSET, 8);
	writes(TYPER(3), 8);
	av_pmu_overflowed(&pmu, &model, 2);
	CHECK_EQ(reads(CNTR(3)), 0);
	writes(TYPER(3), AV_PMEVENT_CHAIN);
	model.version = AV_PMU_V3P5;
	writes(PMCR, AV_PMCR_E | AV_PMCR_LP);
	av_pmu_overflowed(&pmu, &model, 2);
	CHECK_EQ(reads(CNTR(3)), 0);
	model.counters = 31;
	pmu.type[31] = AV_PMEVENT_CHAIN;
	av_pmu_overflowed(&pmu, &model, 30);
	av_pmu_overflowed(&pmu, &model, 31);
	CHECK_EQ(reads(CCNTR), 0);
	CHECK_EQ(reads(OVSSET), BIT_ULL(31) | BIT_ULL(30) | 0xc);
}

static void test_line(void)
{
	fresh(AV_PMU_V3);
	writes(OVSSET, 1);
	CHECK(!av_pmu_line(&pmu));
	writes(INTENSET, 3);
	CHECK(!av_pmu_line(&pmu));
	writes(PMCR, AV_PMCR_E);
	CHECK(av_pmu_line(&pmu));
	writes(INTENCLR, 1);
	CHECK(!av_pmu_line(&pmu));
	writes(OVSSET, 2);
	CHECK(av_pmu_line(&pmu));
	writes(OVSCLR, 2);
	CHECK(!av_pmu_line(&pmu));
}

static void test_periods(void)
{
	fresh(AV_PMU_V3);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, 0), LOW + 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, LOW), 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, 0x5000000001ULL), LOW);
	/* The cycle counter's LC is always on. */
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, ~0ULL), 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, LOW), ~0ULL >> 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, 0), ~0ULL >> 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, 1ULL << 63), ~0ULL >> 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, (1ULL << 63) + 1), ~0ULL >> 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 31, (1ULL << 63) + 2), (~0ULL >> 1) - 1);
	model.version = AV_PMU_V3P5;
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, ~0ULL), 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, ~LOW), LOW + 1);
	writes(PMCR, AV_PMCR_LP);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, ~LOW), LOW + 1);
	CHECK_EQ(av_pmu_period(&pmu, &model, 0, ~LOW - 5), LOW + 6);
	/* LP changes where the counters overflow: their events are recreated. */
	events[0] = 7;
	CHECK(av_pmu_access(&pmu, &model, PMCR, true, true, &(u64){ 0 }));
	CHECK_EQ(pmu.anew, 0x3f);
	CHECK_EQ(pmu.value[0], 7);
	begin_anew();
	CHECK(av_pmu_access(&pmu, &model, PMCR, true, true, &(u64){ AV_PMCR_E }));
	CHECK_EQ(pmu.anew, 0);
}

static void test_plans(void)
{
	struct av_pmu_plan plan;

	fresh(AV_PMU_V3);
	writes(PMCR, AV_PMCR_E);
	writes(CNTENSET, ~0ULL);
	writes(TYPER(1), 0x108);
	plan = av_pmu_plan(&pmu, &model, 1);
	CHECK(plan.counts && plan.el0 && plan.el1 && !plan.wide);
	CHECK_EQ(plan.event, 0x108);
	plan = av_pmu_plan(&pmu, &model, 31);
	CHECK(plan.counts && plan.wide);
	CHECK_EQ(plan.event, AV_PMEVENT_CPU_CYCLES);
	/* Counted here; no such counter; off. */
	CHECK(!av_pmu_plan(&pmu, &model, 0).counts);
	writes(TYPER(0), AV_PMEVENT_CHAIN);
	CHECK(!av_pmu_plan(&pmu, &model, 0).counts);
	pmu.enabled = ~0ULL;
	pmu.type[7] = 8;
	CHECK(!av_pmu_plan(&pmu, &model, 7).counts);
	writes(CNTENCLR, 2);
	CHECK(!av_pmu_plan(&pmu, &model, 1).counts);
	writes(CNTENSET, 2);
	writes(PMCR, 0);
	CHECK(!av_pmu_plan(&pmu, &model, 1).counts);
	writes(PMCR, AV_PMCR_E);
	/* Modes. */
	pmu.type[1] = 8 | AV_PMTYPE_P;
	plan = av_pmu_plan(&pmu, &model, 1);
	CHECK(plan.counts && plan.el0 && !plan.el1);
	pmu.type[1] = 8 | AV_PMTYPE_U;
	plan = av_pmu_plan(&pmu, &model, 1);
	CHECK(plan.counts && !plan.el0 && plan.el1);
	pmu.type[1] = 8 | AV_PMTYPE_U | AV_PMTYPE_P;
	CHECK(!av_pmu_plan(&pmu, &model, 1).counts);
	pmu.type[1] |= AV_PMTYPE_NSK | AV_PMTYPE_NSU;
	CHECK(av_pmu_plan(&pmu, &model, 1).counts);
	/* No PMU in the ID registers: no events, except the cycle counter's. */
	model.version = 0;
	CHECK_EQ(av_pmu_plan(&pmu, &model, 1).event, 0);
	CHECK(!av_pmu_plan(&pmu, &model, 1).counts);
}

static void test_filter(void)
{
	static u64 filter[AV_PMU_EVENTS / 64 + 1];

	fresh(AV_PMU_V3);
	filter[AV_PMU_EVENTS / 64] = 0x1234;
	av_pmu_filter(filter, true, 0x11, 1, false);
	CHECK_EQ(filter[0], ~BIT_ULL(0x11));
	CHECK_EQ(filter[1], ~0ULL);
	av_pmu_filter(filter, false, 0x11, 2, true);
	CHECK_EQ(filter[0], ~0ULL);
	av_pmu_filter(filter, true, 0x11, 1, true);
	av_pmu_filter(filter, false, 0xffc0, 0x40, true);
	av_pmu_filter(filter, false, 0xffff, 0, false);
	CHECK_EQ(filter[0], BIT_ULL(0x11));
	CHECK_EQ(filter[0xffc0 / 64], ~0ULL);
	CHECK_EQ(filter[AV_PMU_EVENTS / 64], 0x1234);

	writes(PMCR, AV_PMCR_E);
	writes(CNTENSET, ~0ULL);
	writes(TYPER(0), 0x11);
	writes(TYPER(1), 0x12);
	model.filter = filter;
	CHECK(av_pmu_plan(&pmu, &model, 0).counts);
	CHECK(!av_pmu_plan(&pmu, &model, 1).counts);
	CHECK(av_pmu_plan(&pmu, &model, 31).counts);
	filter[0] = 0;
	CHECK(!av_pmu_plan(&pmu, &model, 31).counts);
}

/* Ranges as they may begin and end: as if each event were set by itself. */
static void test_filter_ranges(void)
{
	static const u32 at[] = { 0, 1, 62, 63, 64, 65, 127, 128, 200, 1023, 65472, 65535, 65536 };
	static u64 filter[AV_PMU_EVENTS / 64], want[AV_PMU_EVENTS / 64];
	unsigned int from, to, allow;
	u32 i;

	for (from = 0; from < ARRAY_SIZE(at); from++)
		for (to = from; to < ARRAY_SIZE(at); to++)
			for (allow = 0; allow < 2; allow++) {
				memset(want, allow ? 0 : 0xff, sizeof(want));
				for (i = at[from]; i < at[to]; i++)
					want[i / 64] ^= BIT_ULL(i % 64);
				av_pmu_filter(filter, true, at[from], at[to] - at[from], allow);
				CHECK(!memcmp(filter, want, sizeof(want)));
			}
}

static void test_ceid(void)
{
	static u64 filter[AV_PMU_EVENTS / 64];

	fresh(AV_PMU_V3);
	CHECK_EQ(reads(CEID0), BIT_ULL(AV_PMEVENT_CHAIN));
	model.ceid[0] = 0x0000000300020001;
	model.ceid[1] = ~0ULL;
	CHECK_EQ(reads(CEID0), 0x0000000340020001);
	CHECK_EQ(reads(CEID1), ~(7ULL << 29));
	model.filter = filter;
	CHECK_EQ(reads(CEID0) | reads(CEID1), 0);
	filter[0] = 0x8000000100020000;
	CHECK_EQ(reads(CEID0), 0x20000);
	CHECK_EQ(reads(CEID1), 1);
	filter[0x4000 / 64] = 0x0000000500000002;
	CHECK_EQ(reads(CEID0), 0x20000);
	model.version = 4;
	CHECK_EQ(reads(CEID0), 0x0000000200020000);
	CHECK_EQ(reads(CEID1), 0x0000000500000001);
}

/* The bits of PMUSERENR_EL0 that allow an access: read, write; 0: none. */
static void test_user(void)
{
	static const struct { u16 enc; u64 read, write; } rows[] = {
		{ PMCR, AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ CNTENSET, AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ OVSCLR, AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ CEID0, AV_PMUSERENR_EN, 0 },
		{ SELR, AV_PMUSERENR_EN | AV_PMUSERENR_ER, AV_PMUSERENR_EN | AV_PMUSERENR_ER },
		{ CCNTR, AV_PMUSERENR_EN | AV_PMUSERENR_CR, AV_PMUSERENR_EN },
		{ CNTR(0), AV_PMUSERENR_EN | AV_PMUSERENR_ER, AV_PMUSERENR_EN },
		{ XCNTR, AV_PMUSERENR_EN | AV_PMUSERENR_ER, AV_PMUSERENR_EN },
		{ TYPER(0), AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ XTYPER, AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ TYPER(31), AV_PMUSERENR_EN, AV_PMUSERENR_EN },
		{ INTENSET, 0, 0 },
	};
	unsigned int i, bits;

	for (bits = 0; bits < 16; bits++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			fresh(AV_PMU_V3);
			CHECK(writes(USERENR, bits | 0xfff0));
			el1 = false;
			CHECK_EQ(can_read(rows[i].enc), !!(bits & rows[i].read));
			if (rows[i].write || !rows[i].read)
				CHECK_EQ(writes(rows[i].enc, 0), !!(bits & rows[i].write));
			CHECK_EQ(writes(SWINC, 0),
				 !!(bits & (AV_PMUSERENR_EN | AV_PMUSERENR_SW)));
			CHECK_EQ(reads(USERENR), bits);
			CHECK(!writes(USERENR, 0));
		}
	}
}

/* Anything written anywhere: counters that there are, and none of the VM's words. */
static void test_any_access(void)
{
	unsigned int i, n;
	u64 val;
	u16 enc;

	srand(1);
	fresh(AV_PMU_V3);
	for (i = 0; i < 500000; i++) {
		val = (u64)rand() << 40 ^ (u64)rand() << 20 ^ rand();
		model.counters = rand() % 32;
		model.version = rand() % 8;
		n = rand() % 96;
		enc = n < 32 ? PM(12 + n % 3, n / 3 % 8) : n < 64 ? CNTR(n - 32) : TYPER(n - 64);
		if (rand() & 1)
			av_pmu_access(&pmu, &model, enc, rand() & 1, rand() & 1, &val);
		else if (rand() & 1)
			av_pmu_set(&pmu, &model, enc, val);
		else
			av_pmu_get(&pmu, &model, enc);
		begin_anew();
		n = rand() % 32;
		events[n] += rand();
		av_pmu_overflowed(&pmu, &model, n);
		val = av_pmu_period(&pmu, &model, n, val);
		CHECK(val && !(val >> 63));
	}
	CHECK(pmu.ops == &ops);
}

int main(void)
{
	RUN(test_reset);
	RUN(test_pmcr);
	RUN(test_counters_read_what_was_counted);
	RUN(test_selected);
	RUN(test_pairs);
	RUN(test_software_increments);
	RUN(test_chains);
	RUN(test_line);
	RUN(test_periods);
	RUN(test_plans);
	RUN(test_filter);
	RUN(test_filter_ranges);
	RUN(test_ceid);
	RUN(test_user);
	RUN(test_any_access);
	return TESTS_DONE();
}
