// SPDX-License-Identifier: GPL-2.0
/*
 * The walker against tables built here: every granule and level, the order of
 * faults, rights, TCR geometry, tags, and the MMU off.
 */
#include "walk_world.h"

/* A leaf of every kind in both halves translates, with its level and span. */
static void test_leaves(void)
{
	static const struct {
		u64 tg;
		int tsz, level, span;
		u64 cont;
	} rows[] = {
		{ TG_4K, 16, 3, 12, 0 }, { TG_4K, 16, 3, 16, CONT }, { TG_4K, 16, 2, 21, 0 },
		{ TG_4K, 16, 2, 25, CONT }, { TG_4K, 16, 1, 30, 0 }, { TG_4K, 16, 1, 34, CONT },
		{ TG_4K, 25, 3, 12, 0 }, { TG_4K, 25, 2, 21, 0 }, { TG_4K, 34, 3, 12, 0 },
		{ TG_4K, 39, 3, 12, 0 }, { TG_4K, 39, 2, 21, 0 },
		{ TG_16K, 16, 3, 14, 0 }, { TG_16K, 16, 3, 21, CONT }, { TG_16K, 17, 2, 25, 0 },
		{ TG_16K, 28, 2, 30, CONT }, { TG_16K, 39, 3, 14, 0 },
		{ TG_64K, 16, 3, 16, 0 }, { TG_64K, 22, 3, 21, CONT }, { TG_64K, 22, 2, 29, 0 },
		{ TG_64K, 16, 2, 34, CONT }, { TG_64K, 39, 3, 16, 0 },
	};
	unsigned int i, half;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (half = 0; half < 2; half++) {
			struct av_regime r = regime(rows[i].tg | TSZ(rows[i].tsz) | IPS(2));
			int granule = granule_of(r.tcr);
			int shift = granule + (granule - 3) * (3 - rows[i].level);
			u64 bottom = half ? ~0ULL << (64 - rows[i].tsz) : 0;
			u64 va = bottom + (1ULL << shift) * 3 + 0x1238;
			u64 pa = 5ULL << shift, kind = rows[i].level == 3 ? PAGE : VALID;

			if (va - bottom >= 1ULL << (64 - rows[i].tsz))
				va = bottom + 0x1238;
			map(&r, va, pa | kind | AF | rows[i].cont | 1 << 2 | 3 << 8,
			    rows[i].level, 0);
			CHECK_EQ(walk(&r, va), 0);
			CHECK_EQ(walked.ipa, pa + (va & ((1ULL << shift) - 1)));
			CHECK_EQ(walked.level, rows[i].level);
			CHECK_EQ(walked.span, rows[i].span);
			CHECK_EQ(walked.high, half);
			CHECK_EQ(walked.attr, 0xff);
			CHECK_EQ(walked.sh, 3);
			CHECK(walked.global);
			/* The same place in the other half has nothing. */
			CHECK(walk(&r, va ^ (~0ULL << (64 - rows[i].tsz))) & AV_FAULT);
		}
	}
}

static void test_geometry(void)
{
	struct av_regime r;
	int tsz;

	for (tsz = 0; tsz < 64; tsz++) {
		r = regime(TG_4K | TSZ(tsz) | IPS(2));
		if (tsz < 16 || tsz > 39) {
			CHECK_EQ(walk(&r, 0), TRANSLATION(0));
			CHECK_EQ(walk(&r, ~0ULL), TRANSLATION(0));
			CHECK_EQ(reads, 0);
			continue;
		}
		/* The last address of the range, and the first beyond it. */
		map(&r, (1ULL << (64 - tsz)) - 1, 0x80000000 | PAGE | AF, 3, 0);
		CHECK_EQ(walk(&r, (1ULL << (64 - tsz)) - 1), 0);
		CHECK_EQ(walk(&r, 1ULL << (64 - tsz)), TRANSLATION(0));
		map(&r, ~0ULL << (64 - tsz), 0x80000000 | PAGE | AF, 3, 0);
		CHECK_EQ(walk(&r, ~0ULL << (64 - tsz)), 0);
		CHECK_EQ(walk(&r, (~0ULL << (64 - tsz)) - 1), TRANSLATION(0));
	}
	/* T0SZ and T1SZ are apart. */
	r = regime(TG_4K | 25 | 16 << 16 | IPS(2));
	map(&r, ~0ULL << 48, 0x80000000 | PAGE | AF, 3, 0);
	CHECK_EQ(walk(&r, ~0ULL << 48), 0);
	CHECK_EQ(walk(&r, 1ULL << 40), TRANSLATION(0));
	/* EPD closes its half only. */
	r.tcr |= AV_TCR_EPD0;
	CHECK_EQ(walk(&r, ~0ULL << 48), 0);
	CHECK_EQ(walk(&r, 0), TRANSLATION(0));
	r.tcr |= AV_TCR_EPD1;
	reads = 0;
	CHECK_EQ(walk(&r, ~0ULL << 48), TRANSLATION(0));
	CHECK_EQ(reads, 0);
	/* Reserved granules are 4 KiB. */
	r = regime(TG_4K | TSZ(16) | IPS(2));
	map(&r, 0x5000, 0x80000000 | PAGE | AF, 3, 0);
	map(&r, ~0xfffULL, 0x80000000 | PAGE | AF, 3, 0);
	r.tcr = TG(3, 0) | TSZ(16) | IPS(2);
	CHECK_EQ(walk(&r, 0x5000), 0);
	CHECK_EQ(walk(&r, ~0xfffULL), 0);
}

static void test_tags(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));

	map(&r, 0x5000, 0x80000000 | PAGE | AF, 3, 0);
	map(&r, 0xffff000000005000, 0x90000000 | PAGE | AF, 3, 0);
	CHECK_EQ(walk(&r, 0x5a00000000005000), TRANSLATION(0));
	CHECK_EQ(walk(&r, 0x5aff000000005000), TRANSLATION(0));
	r.tcr |= AV_TCR_TBI0;
	CHECK_EQ(walk(&r, 0x5a00000000005008), 0);
	CHECK_EQ(walked.ipa, 0x80000008);
	CHECK_EQ(walked.va, 0x5008);
	CHECK_EQ(walk(&r, 0x5aff000000005000), TRANSLATION(0));
	r.tcr |= AV_TCR_TBI1;
	CHECK_EQ(walk(&r, 0x5aff000000005000), 0);
	CHECK_EQ(walked.va, 0xffff000000005000);
	CHECK_EQ(walked.ipa, 0x90000000);
	/* Bits 55:48 are no part of the tag. */
	CHECK_EQ(walk(&r, 0x0001000000005000), TRANSLATION(0));
	CHECK_EQ(walk(&r, 0xfffe000000005000), TRANSLATION(0));
}

/* At each level: nothing, a hole in memory, too large an address. */
static void test_faults(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(0));
	u64 va = 0x8040201000, at[4], good[4];
	int l;

	at[3] = map(&r, va, 0x80000000 | PAGE | AF, 3, 0);
	for (l = 0; l < 3; l++)
		at[l] = map(&r, va, 0, l, 0);
	/* map() left level 2 of the last call at zero: build again. */
	r = regime(TG_4K | TSZ(16) | IPS(0));
	at[3] = map(&r, va, 0x80000000 | PAGE | AF, 3, 0);
	CHECK_EQ(walk(&r, va), 0);
	CHECK_EQ(walked.desc_ipa, at[3]);
	at[0] = r.ttbr0 + 8;
	for (l = 0; l < 3; l++) {
		good[l] = peek(at[l]);
		at[l + 1] = (good[l] & GENMASK_ULL(47, 12)) + 8;
	}
	good[3] = peek(at[3]);
	for (l = 0; l < 4; l++) {
		poke(at[l], 0);
		CHECK_EQ(walk(&r, va), TRANSLATION(l));
		/* Everything but the valid bit. */
		poke(at[l], ~1ULL);
		CHECK_EQ(walk(&r, va), TRANSLATION(l));
		/* IPS 0 is 32 bits. */
		poke(at[l], good[l] | BIT_ULL(32));
		CHECK_EQ(walk(&r, va), ADDR_SIZE(l));
		poke(at[l], good[l] | BIT_ULL(47));
		CHECK_EQ(walk(&r, va), ADDR_SIZE(l));
		if (l < 3) {
			poke(at[l], (good[l] & 0xfff) | 0x10000000);
			CHECK_EQ(walk(&r, va), AV_FAULT_CODE(AV_FSC_EXTERNAL_WALK, l + 1));
		}
		poke(at[l], good[l]);
	}
	/* A block where none may be, and a reserved page descriptor. */
	poke(at[0], 0x80000000 | VALID | AF);
	CHECK_EQ(walk(&r, va), TRANSLATION(0));
	poke(at[0], good[0]);
	poke(at[3], 0x80000000 | VALID | AF);
	CHECK_EQ(walk(&r, va), TRANSLATION(3));
	/* The access flag; a wrong address goes before it. */
	poke(at[3], 0x80000000 | PAGE);
	CHECK_EQ(walk(&r, va), AV_FAULT_CODE(AV_FSC_ACCESS_FLAG, 3));
	poke(at[3], 0x180000000 | PAGE);
	CHECK_EQ(walk(&r, va), ADDR_SIZE(3));
	/* The table base. */
	r.ttbr0 |= BIT_ULL(40);
	CHECK_EQ(walk(&r, va), ADDR_SIZE(0));
	r.ttbr0 = 0x1000;
	CHECK_EQ(walk(&r, va), AV_FAULT_CODE(AV_FSC_EXTERNAL_WALK, 0));
}

/* Nothing is mapped where the tables say so, at whatever level; no other fault says that. */
static void test_empty(void)
{
	static const int others[] = {
		AV_FSC_ADDRESS_SIZE, AV_FSC_ACCESS_FLAG, AV_FSC_PERMISSION, AV_FSC_EXTERNAL,
		AV_FSC_EXTERNAL_WALK, AV_FSC_ALIGNMENT, AV_FSC_TLB_CONFLICT,
		AV_FSC_ATOMIC_UPDATE, AV_FSC_LOCKDOWN, AV_FSC_EXCLUSIVE,
		/* Reserved, and the translation fault of a level that the walker does not have. */
		0x24, 0x2b,
	};
	unsigned int i;
	int l, err;

	for (l = 0; l < 4; l++) {
		CHECK(av_walk_empty(TRANSLATION(l)));
		for (i = 0; i < ARRAY_SIZE(others); i++)
			CHECK(!av_walk_empty(AV_FAULT_CODE(others[i], l)));
	}
	CHECK(!av_walk_empty(0));
	/* Also those whose last bits are a translation fault's. */
	for (err = -1; err >= -4095; err--)
		CHECK(!av_walk_empty(err));
}

/* IPS is limited to the guest's PARange; there are blocks only where the granule has them. */
static void test_sizes_and_blocks(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(5));
	static const u64 tgs[] = { TG_16K, TG_64K };
	unsigned int i;

	map(&r, 0, 1ULL << 40 | PAGE | AF, 3, 0);
	CHECK_EQ(walk(&r, 0), ADDR_SIZE(3));
	r.ipa_bits = 42;
	CHECK_EQ(walk(&r, 0), 0);
	r.tcr = TG_4K | TSZ(16) | IPS(7);
	CHECK_EQ(walk(&r, 0), 0);
	for (i = 0; i < ARRAY_SIZE(tgs); i++) {
		r = regime(tgs[i] | TSZ(17) | IPS(2));
		map(&r, 0, VALID | AF, 1, 0);
		CHECK_EQ(walk(&r, 0), TRANSLATION(1));
	}
	/* A table base off its alignment is taken without those bits. */
	r = regime(TG_4K | TSZ(25) | IPS(2));
	map(&r, 0x40000000, 0x80000000 | VALID | AF, 1, 0);
	r.ttbr0 |= 0x840;
	CHECK_EQ(walk(&r, 0x40000000), 0);
	/* CnP and the ASID are no part of the address. */
	r.ttbr0 |= 1 | 0x1234ULL << 48;
	CHECK_EQ(walk(&r, 0x40000000), 0);
	CHECK_EQ(walked.ipa, 0x80000000);
}

static void check_rights(const struct av_regime *r, u64 bits, u64 table_bits, u8 el1, u8 el0)
{
	struct av_regime copy = *r;

	reset();
	new_table(12);
	copy.ttbr0 = MEM_BASE;
	map(&copy, 0x8040201000, 0x80000000 | PAGE | AF | bits, 3, table_bits);
	CHECK_EQ(walk(&copy, 0x8040201000), 0);
	CHECK_EQ(walked.el1, el1);
	CHECK_EQ(walked.el0, el0);
}

static void test_rights(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));
	const u8 rd = AV_R, rw = AV_R | AV_W, rx = AV_R | AV_X, rwx = AV_R | AV_W | AV_X;

	check_rights(&r, 0, 0, rwx, AV_X);
	check_rights(&r, UXN, 0, rwx, 0);
	check_rights(&r, PXN, 0, rw, AV_X);
	/* What EL0 writes EL1 does not execute. */
	check_rights(&r, USER, 0, rw, rwx);
	check_rights(&r, USER | UXN, 0, rw, rw);
	check_rights(&r, USER | RDONLY, 0, rx, rx);
	check_rights(&r, USER | RDONLY | PXN, 0, rd, rx);
	check_rights(&r, USER | RDONLY | UXN, 0, rx, rd);
	check_rights(&r, RDONLY | PXN | UXN, 0, rd, 0);
	/* Limits of the tables above. */
	check_rights(&r, USER, NOUSER_TABLE, rwx, AV_X);
	check_rights(&r, USER, RDONLY_TABLE, rx, rx);
	check_rights(&r, USER | RDONLY, PXN_TABLE, rd, rx);
	check_rights(&r, USER | RDONLY, UXN_TABLE, rx, rd);
	r.tcr |= AV_TCR_HPD0;
	check_rights(&r, USER, NOUSER_TABLE | RDONLY_TABLE | UXN_TABLE, rw, rwx);
	r.tcr &= ~AV_TCR_HPD0;
	/* WXN. */
	r.sctlr |= AV_SCTLR_WXN;
	check_rights(&r, 0, 0, rw, AV_X);
	check_rights(&r, USER, 0, rw, rw);
	check_rights(&r, USER | RDONLY, 0, rx, rx);
	r.sctlr &= ~AV_SCTLR_WXN;
	/* nG. */
	check_rights(&r, NG, 0, rwx, AV_X);
	CHECK(!walked.global);
	/* E0PD. */
	CHECK_EQ(av_walk_permits(&walked, 0, 0, AV_X), 0);
	r.tcr |= AV_TCR_E0PD0;
	check_rights(&r, USER, 0, rw, 0);
	CHECK_EQ(av_walk_permits(&walked, 0, 0, AV_R), TRANSLATION(0));
	CHECK_EQ(av_walk_permits(&walked, 0, 1, AV_W), 0);
	CHECK_EQ(av_walk_permits(&walked, 0, 1, AV_X), PERMISSION(3));
	/* Nor does EL0 see that there is no page; EL1 does. */
	CHECK_EQ(av_walk_permits(&walked, TRANSLATION(3), 0, AV_R), TRANSLATION(0));
	CHECK_EQ(av_walk_permits(&walked, TRANSLATION(3), 1, AV_R), TRANSLATION(3));
	CHECK_EQ(av_walk_permits(&walked, -EFAULT, 0, AV_R), -EFAULT);
}

static void test_attributes(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));
	int i;

	r.mair = 0x8877665544332211;
	for (i = 0; i < 8; i++) {
		map(&r, 0x1000, 0x80000000 | PAGE | AF | i << 2 | 2 << 8, 3, 0);
		CHECK_EQ(walk(&r, 0x1000), 0);
		CHECK_EQ(walked.attr, 0x11 * (i + 1));
		CHECK_EQ(walked.sh, 2);
	}
}

static void test_mmu_off(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));

	r.sctlr = 0;
	CHECK_EQ(walk(&r, 0x12345678), 0);
	CHECK_EQ(walked.ipa, 0x12345678);
	CHECK_EQ(walked.el1, AV_R | AV_W | AV_X);
	CHECK_EQ(walked.attr, 0);
	CHECK(!walked.high);
	CHECK_EQ(walk(&r, (1ULL << 40) - 1), 0);
	CHECK_EQ(walk(&r, 1ULL << 40), ADDR_SIZE(0));
	CHECK_EQ(walk(&r, ~0ULL), ADDR_SIZE(0));
	CHECK_EQ(walk(&r, 0x5a00000000001000), ADDR_SIZE(0));
	r.tcr |= AV_TCR_TBI0;
	CHECK_EQ(walk(&r, 0x5a00000000001000), 0);
	CHECK_EQ(walked.ipa, 0x1000);
	r.tcr |= AV_TCR_TBI1;
	CHECK_EQ(walk(&r, 0x5aff000000001000), ADDR_SIZE(0));
	CHECK_EQ(reads, 0);
}

static void test_asid(void)
{
	struct av_regime r = { .ttbr0 = 0x1234ULL << 48, .ttbr1 = 0xabcdULL << 48 };

	CHECK_EQ(av_regime_asid(&r), 0x34);
	r.tcr = AV_TCR_AS;
	CHECK_EQ(av_regime_asid(&r), 0x1234);
	r.tcr |= AV_TCR_A1;
	CHECK_EQ(av_regime_asid(&r), 0xabcd);
	r.tcr = AV_TCR_A1;
	CHECK_EQ(av_regime_asid(&r), 0xcd);
}

/* The neighbours of a page by their descriptors alone. */
static void test_siblings(void)
{
	static const u64 leaves[] = {
		0x80001000 | PAGE | AF, 0x90000000 | PAGE | AF | NG | USER, 0,
		0x80002000 | PAGE, 0x80003000 | VALID | AF, 1ULL << 45 | PAGE | AF,
		0x80004000 | PAGE | AF | CONT | RDONLY | PXN,
	};
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));
	struct av_walk_table table;
	struct av_walk base, sibling;
	unsigned int i;

	map(&r, 0x8040200000, 0x80000000 | PAGE | AF, 3, UXN_TABLE | NOUSER_TABLE);
	CHECK_EQ(walk(&r, 0x8040200123), 0);
	base = walked;
	CHECK(av_walk_keep(&r, &base, &table));
	for (i = 0; i < ARRAY_SIZE(leaves); i++) {
		u64 va = 0x8040201000 + i * 0x1000;
		int want;

		map(&r, va, leaves[i], 3, 0);
		want = walk(&r, va);
		CHECK_EQ(av_walk_page(&r, &table, va, leaves[i], &sibling), want);
		if (want)
			continue;
		CHECK_EQ(sibling.va, va);
		CHECK_EQ(sibling.ipa, walked.ipa);
		CHECK_EQ(sibling.el0, walked.el0);
		CHECK_EQ(sibling.el1, walked.el1);
		CHECK_EQ(sibling.global, walked.global);
		CHECK_EQ(sibling.span, walked.span);
	}
}

/* Tables that point at themselves end after four reads. */
static void test_loop(void)
{
	struct av_regime r = regime(TG_4K | TSZ(16) | IPS(2));
	int i;

	for (i = 0; i < 512; i++)
		poke(r.ttbr0 + 8 * i, r.ttbr0 | PAGE | AF);
	reads = 0;
	CHECK_EQ(walk(&r, 0x123456789000), 0);
	CHECK_EQ(reads, 4);
	CHECK_EQ(walked.ipa, r.ttbr0);
}

/* Random tables, for the checks within walk(): av_walk_down() does all that it can do. */
static void test_downs(void)
{
	static const u64 uppers[] = { 0, 0, 0, UXN_TABLE, NOUSER_TABLE, RDONLY_TABLE | PXN_TABLE };
	unsigned int i;

	srandom(1);
	for (i = 0; i < 2000; i++) {
		u64 tcr = TG_4K | TSZ(16) | IPS(2) | (random() % 8 ? 0 : AV_TCR_HPD0);
		struct av_regime r = regime(random() % 8 ? tcr : tcr | AV_TCR_EPD0 | AV_TCR_E0PD1);
		u64 va = (random() % 2 ? ~0ULL << 48 : 0) | (random() & 0x7ffffULL) << 21;
		int level = random() % 4 ? 3 : 1 + random() % 2;

		if (random() % 4 == 0)
			r.sctlr |= AV_SCTLR_WXN;
		map(&r, va, 0x80000000 | (level == 3 ? PAGE : VALID) | AF, level,
		    uppers[random() % ARRAY_SIZE(uppers)]);
		walk(&r, va | (random() & 0xfff));
		walk(&r, va ^ BIT_ULL(21 + 9 * (random() % 3)));
		walk(&r, va ^ BIT_ULL(48));
		/* A hole in memory, and an address that is too large. */
		poke((random() % 2 ? r.ttbr0 : r.ttbr1) + 8 * (random() % 512), random() | PAGE);
		walk(&r, va);
	}
	CHECK(downs[0] > 1000);
	CHECK(downs[1] > 500);
	CHECK(downs[2] > 500);
}

int main(void)
{
	mem = calloc(1, MEM_SIZE);
	RUN(test_leaves);
	RUN(test_geometry);
	RUN(test_tags);
	RUN(test_faults);
	RUN(test_empty);
	RUN(test_sizes_and_blocks);
	RUN(test_rights);
	RUN(test_attributes);
	RUN(test_mmu_off);
	RUN(test_asid);
	RUN(test_siblings);
	RUN(test_loop);
	RUN(test_downs);
	free(mem);
	return TESTS_DONE();
}
