/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest tables for tests of the walker, in the test's memory, and a walk of them that is compared
 * with the walker's other ways: a kept table, and the short way down.
 */
#ifndef AV_TESTS_WALK_WORLD_H
#define AV_TESTS_WALK_WORLD_H

#include <stdlib.h>

#include "check.h"
#include "mmu/walk/walk_down.h"

#define MEM_BASE	0x40000000ULL
#define MEM_SIZE	0x800000

#define VALID		BIT_ULL(0)
#define TABLE		BIT_ULL(1)
#define PAGE		(VALID | TABLE)
#define USER		BIT_ULL(6)
#define RDONLY		BIT_ULL(7)
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define CONT		BIT_ULL(52)
#define PXN		BIT_ULL(53)
#define UXN		BIT_ULL(54)
#define PXN_TABLE	BIT_ULL(59)
#define UXN_TABLE	BIT_ULL(60)
#define NOUSER_TABLE	BIT_ULL(61)
#define RDONLY_TABLE	BIT_ULL(62)

/* TG0 and TG1 of a granule. */
#define TG(t0, t1)	((u64)(t0) << 14 | (u64)(t1) << 30)
#define TG_4K		TG(0, 2)
#define TG_16K		TG(2, 1)
#define TG_64K		TG(1, 3)
#define IPS(n)		((u64)(n) << 32)
#define TSZ(n)		((u64)(n) | (u64)(n) << 16)

#define TRANSLATION(l)	AV_FAULT_CODE(AV_FSC_TRANSLATION, l)
#define ADDR_SIZE(l)	AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, l)
#define PERMISSION(l)	AV_FAULT_CODE(AV_FSC_PERMISSION, l)

static u8 *mem;
static u64 next_table;
static unsigned int reads;
/* What av_walk_down() did: gave up, found a table, found a fault. */
static unsigned int downs[3];

static int read64(void *ctx, u64 ipa, u64 *val)
{
	reads++;
	if (ipa & 7)
		return -EINVAL;
	if (ipa < MEM_BASE || ipa - MEM_BASE >= MEM_SIZE)
		return 1;
	memcpy(val, mem + (ipa - MEM_BASE), 8);
	return 0;
}

static const struct av_mem_ops ops = { .read64 = read64 };

static u64 peek(u64 ipa)
{
	u64 val = 0;

	read64(NULL, ipa, &val);
	return val;
}

static void poke(u64 ipa, u64 val)
{
	memcpy(mem + (ipa - MEM_BASE), &val, 8);
}

static u64 new_table(int granule)
{
	u64 size = 1ULL << granule, t = ALIGN(next_table, size);

	next_table = t + size;
	memset(mem + (t - MEM_BASE), 0, size);
	return t;
}

static void reset(void)
{
	next_table = MEM_BASE;
	reads = 0;
}

static int granule_of(u64 tcr)
{
	static const u8 g[] = { 12, 16, 14 };

	return g[tcr >> 14 & 3];
}

static int start_level(int granule, int tsz)
{
	int bits = 64 - tsz - granule, stride = granule - 3;

	return 4 - (bits + stride - 1) / stride;
}

/* Build the way to va and put a leaf at level; returns where the leaf descriptor is. */
static u64 map(const struct av_regime *r, u64 va, u64 leaf, int level, u64 table_bits)
{
	bool high = va >> 55 & 1;
	int tsz = (high ? r->tcr >> 16 : r->tcr) & 0x3f, granule = granule_of(r->tcr);
	u64 mask = ~0ULL >> tsz, table = high ? r->ttbr1 : r->ttbr0;
	int l, shift;

	table &= GENMASK_ULL(47, 1);
	for (l = start_level(granule, tsz);; l++) {
		u64 at;

		shift = granule + (granule - 3) * (3 - l);
		at = table + (((va & mask) >> shift) << 3);
		mask = (1ULL << shift) - 1;
		if (l == level) {
			poke(at, leaf);
			return at;
		}
		if (!(peek(at) & VALID))
			poke(at, new_table(granule) | PAGE | table_bits);
		table = peek(at) & GENMASK_ULL(47, 12);
	}
}

static struct av_regime regime(u64 tcr)
{
	struct av_regime r = { .sctlr = AV_SCTLR_M, .tcr = tcr, .mair = 0x000000000044ff04,
			       .ipa_bits = 40 };

	reset();
	r.ttbr0 = new_table(granule_of(tcr));
	r.ttbr1 = new_table(granule_of(tcr));
	return r;
}

static struct av_walk walked;

/* A kept table's answer for a descriptor equals that of its walk, whatever its rights. */
static void check_permits(const struct av_regime *r, const struct av_walk_table *table, u64 va,
			  u64 desc)
{
	static const u64 bits[] = { USER, RDONLY, PXN, UXN };
	struct av_walk page;
	unsigned int i, el;
	u8 access;
	int ret;

	for (i = 0; i < 1U << ARRAY_SIZE(bits); i++) {
		unsigned int n;
		u64 d = desc;

		for (n = 0; n < ARRAY_SIZE(bits); n++)
			d ^= i >> n & 1 ? bits[n] : 0;
		ret = av_walk_page(r, table, va, d, &page);
		if (!ret) {
			CHECK_EQ(av_walk_leaf_rights(table->rights[0], d), page.el0);
			CHECK_EQ(av_walk_leaf_rights(table->rights[1], d), page.el1);
		}
		for (el = table->e0pd; el < 2; el++)
			for (access = AV_R; access <= AV_X; access *= 2)
				CHECK_EQ(av_walk_table_permits(table, d, el, access),
					 av_walk_permits(&page, ret, el, access));
	}
}

/* By the descriptor in the table that the walk came through, too, where that is kept. */
static void check_page(const struct av_regime *r, int ret)
{
	struct av_walk_table table;
	struct av_walk page;
	u64 at;

	if (!av_walk_keep(r, &walked, &table)) {
		CHECK(walked.level != 3 || granule_of(r->tcr) != 12);
		return;
	}
	CHECK_EQ(table.va, walked.va & ~0x1fffffULL);
	at = av_walk_desc_ipa(&table, walked.va);
	CHECK_EQ(at, walked.desc_ipa);
	/* A table that is in no memory has no descriptor. */
	if (ret == AV_FAULT_CODE(AV_FSC_EXTERNAL_WALK, 3) || ret < 0)
		return;
	memset(&page, 0xff, sizeof(page));
	CHECK_EQ(av_walk_page(r, &table, walked.va, peek(at), &page), ret);
	CHECK_EQ(page.va, walked.va);
	CHECK_EQ(page.high, walked.high);
	CHECK_EQ(page.level, 3);
	CHECK_EQ(page.e0pd, walked.e0pd);
	if (!ret)
		CHECK(!memcmp(&page, &walked, sizeof(page)));
	check_permits(r, &table, walked.va, peek(at));
}

static struct av_walk_word load(void *ctx, u64 ipa)
{
	struct av_walk_word word;

	word.loaded = !ops.read64(ctx, ipa, &word.val);
	return word;
}

/* The short way down finds the same table, or the same fault above it, or gives up. */
static void check_down(const struct av_regime *r, int ret)
{
	struct av_walk_table table, kept;
	int down;

	memset(&table, 0xff, sizeof(table));
	memset(&kept, 0xff, sizeof(kept));
	down = av_walk_down(r, walked.va, load, NULL, &table);
	downs[down < 0 ? 0 : !down ? 1 : 2]++;
	if (down > 0) {
		CHECK_EQ(down, ret);
		CHECK(walked.level < 3);
		CHECK_EQ(table.e0pd, walked.e0pd);
	} else if (!down) {
		CHECK(av_walk_keep(r, &walked, &kept));
		CHECK_EQ(table.va, kept.va);
		CHECK_EQ(table.ipa, kept.ipa);
		CHECK_EQ(table.beyond, kept.beyond);
		CHECK_EQ(table.rights[0], kept.rights[0]);
		CHECK_EQ(table.rights[1], kept.rights[1]);
		CHECK_EQ(table.limits, kept.limits);
		CHECK_EQ(table.e0pd, kept.e0pd);
	}
}

static int walk(const struct av_regime *r, u64 va)
{
	int ret = av_walk(r, &ops, NULL, va, &walked);
	unsigned int took = reads;

	check_page(r, ret);
	check_down(r, ret);
	reads = took;
	return ret;
}

#endif /* AV_TESTS_WALK_WORLD_H */
