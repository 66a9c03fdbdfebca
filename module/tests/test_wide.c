// SPDX-License-Identifier: GPL-2.0
/* Hosts with addresses of 39, 48 and 52 bits: switch/wide.h. */
#include "check.h"
#include "switch/wide.h"

#define TCR(t0sz, t1sz, ds)	((u64)(t0sz) | (u64)(t1sz) << 16 | (u64)(ds) << 59)

static void test_hosts(void)
{
	static const struct { u8 t0sz, t1sz; bool ds, fits; } hosts[] = {
		{ 16, 16, false, true },	/* 48 bits, as most */
		{ 16, 16, true, true },
		{ 12, 12, true, true },		/* 52 bits, with LPA2 */
		{ 16, 12, true, true },		/* for the kernel alone */
		{ 25, 25, false, true },	/* 39 bits, as phones */
		{ 12, 12, false, false },	/* no such tables of 4 KiB */
		{ 16, 12, false, false },
		{ 12, 16, false, false },
		{ 22, 22, false, false },	/* 42 and 47 bits */
		{ 17, 16, false, false },
		{ 16, 17, false, false },
		{ 0, 16, true, false },
	};
	struct av_host_tables host;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		u64 tcr = TCR(hosts[i].t0sz, hosts[i].t1sz, hosts[i].ds) | ~TCR(63, 63, 1);

		CHECK_EQ(av_host_tables_of(tcr, &host), hosts[i].fits);
		CHECK_EQ(host.t0sz, hosts[i].t0sz);
		CHECK_EQ(host.t1sz, hosts[i].t1sz);
		CHECK_EQ(host.shareable, hosts[i].ds ? 0 : 0x300);
	}
}

/* Tables by the number of their page: a walk from the aux root, as the host's T0SZ begins it. */
enum { AUX = 1, TOP, WINDOW1, WINDOW2, PRIVATE1, PRIVATE2, NR_PAGES };
static u64 memory[NR_PAGES][512];

/* The page of the level-2 table for an address; 0: none. */
static unsigned int level2_of(u64 va, unsigned int t0sz)
{
	unsigned int bits = 64 - t0sz, page = AUX;
	int shift = 12 + 9 * ((bits - 13) / 9);

	if (va >> bits)
		return 0;
	for (; shift > 21; shift -= 9) {
		u64 desc = memory[page][va >> shift & 511];

		if ((desc & 3) != 3)
			return 0;
		page = desc >> 12;
	}
	return page;
}

static void test_aux(void)
{
	static const u8 sizes[] = { AV_TSZ_39, AV_TSZ_48, AV_TSZ_52 };
	struct av_aux_tables tables = {
		.aux = memory[AUX], .top = memory[TOP], .top_pa = TOP << 12,
		.window1_pa = WINDOW1 << 12, .window2_pa = WINDOW2 << 12,
		.private1_pa = PRIVATE1 << 12, .private2_pa = PRIVATE2 << 12,
	};
	struct av_host_tables host;
	unsigned int i, position;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(memory, 0, sizeof(memory));
		memory[WINDOW1][AV_WINDOW_INDEX] = av_table_desc(WINDOW2 << 12);
		memory[PRIVATE1][0] = av_table_desc(PRIVATE2 << 12);
		av_host_tables_of(TCR(sizes[i], 16, sizes[i] == AV_TSZ_52), &host);
		av_aux_fill(&host, &tables);
		for (position = 0; position < AV_WINDOW_POSITIONS; position++) {
			u64 low = av_window_at(position) & GENMASK_ULL(38, 0);

			CHECK_EQ(level2_of(low, sizes[i]), WINDOW2);
		}
		CHECK_EQ(level2_of(host.private_low, sizes[i]), PRIVATE2);
		/* The first entry of its level-2 table. */
		CHECK_EQ(host.private_low & GENMASK_ULL(29, 0), 0);
		CHECK_EQ(level2_of(0, sizes[i]), 0);
		CHECK_EQ(level2_of(host.private_low - 1, sizes[i]), sizes[i] == AV_TSZ_39 ? 0 : WINDOW2);
	}
}

/* Where a B goes. */
static s32 target(u32 word, s32 from)
{
	CHECK_EQ(word >> 26, 5);
	return from + ((s32)(word << 6) >> 4);
}

static void test_patch(void)
{
	static const struct av_wide_site sites[AV_WIDE_SITES] = {
		{ 0, 4 }, { 8, 4000 }, { 4092, 0 }, { 16, 12 }, { 20, 20 }, { 100, 104 },
	};
	static u32 code[1024], before[1024];
	struct av_host_tables host;
	unsigned int i, t0sz, t1sz, changed;

	for (t0sz = 0; t0sz < 2; t0sz++)
		for (t1sz = 0; t1sz < 2; t1sz++) {
			for (i = 0; i < ARRAY_SIZE(code); i++)
				code[i] = before[i] = 0xd503201f ^ i;
			av_host_tables_of(TCR(t0sz ? 12 : 16, t1sz ? 12 : 16, 1), &host);
			av_wide_patch(&host, code, sites);
			for (changed = i = 0; i < ARRAY_SIZE(code); i++)
				changed += code[i] != before[i];
			CHECK_EQ(changed, t0sz || t1sz ? AV_WIDE_SITES : 0);
			for (i = 0; changed && i < AV_WIDE_SITES; i++)
				CHECK_EQ(target(code[sites[i].at / 4], sites[i].at), sites[i].to);
		}
}

int main(void)
{
	RUN(test_hosts);
	RUN(test_aux);
	RUN(test_patch);
	return TESTS_DONE();
}
