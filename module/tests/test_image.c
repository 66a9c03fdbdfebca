// SPDX-License-Identifier: GPL-2.0
/* The image's tables, beside a model of what they may translate: switch/image_tables.h. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "require.h"
#include "switch/image_tables.h"
#include "switch/window_desc.h"

#define ENTRIES		AV_IMAGE_ENTRIES
#define NG		BIT_ULL(11)
#define AF		BIT_ULL(10)
#define RO		BIT_ULL(7)
#define CONT		BIT_ULL(52)
#define DBM		BIT_ULL(51)
#define PXN		BIT_ULL(53)
#define SOFT		GENMASK_ULL(58, 55)
#define PA		GENMASK_ULL(47, 12)
#define RAM		(AV_PTE_VALID | AV_PTE_TABLE | AF | DBM | PXN | 0x704)

#define LINEAR		0xffff000000000000ULL
#define LINEAR_END	0xffff800000000000ULL
#define KERNEL		0xffff800080000000ULL
#define KERNEL_PA	0x40200000ULL
#define VMALLOC		0xffff8000c0000000ULL

/* ---- memory: tables are found by the number of their page ---------------------------- */

#define MOST		256
static u64 memory[MOST][ENTRIES] __aligned(4096);
static bool used[MOST];
static unsigned int left;	/* allocations until there is no memory */

static u64 *alloc_table(void)
{
	unsigned int i;

	if (!left)
		return NULL;
	left--;
	for (i = 0; used[i]; i++)
		REQUIRE(i < MOST - 1);
	used[i] = true;
	memset(memory[i], 0, sizeof(memory[i]));
	return memory[i];
}

static unsigned int nr_used(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < MOST; i++)
		n += used[i];
	return n;
}

static unsigned int page_of(const u64 *table)
{
	return (table - memory[0]) / ENTRIES;
}

static void free_table(u64 *table)
{
	REQUIRE(used[page_of(table)]);
	used[page_of(table)] = false;
}

static u64 pa_of(const u64 *table)
{
	return (u64)(page_of(table) + 1) << 12;
}

static u64 *table_at(u64 pa)
{
	REQUIRE(pa >> 12 && (pa >> 12) <= MOST && used[(pa >> 12) - 1]);
	return memory[(pa >> 12) - 1];
}

/* ---- a TLB: what a walk has found stays until it is flushed --------------------------- */

#define TLB		4096
static struct { u64 va, desc; } tlb[TLB];
static unsigned int nr_tlb, flushes, all;

static struct av_image image;

/* The image's translation of an address, as a page; 0: none. A walk has no locks. */
static u64 walk(u64 va)
{
	const u64 *table = image.root;
	unsigned int level;
	u64 desc;

	for (level = 0; ; level++) {
		desc = table[va >> (39 - 9 * level) & 511];
		if (!(desc & AV_PTE_VALID))
			return 0;
		if (level == 3 || !(desc & AV_PTE_TABLE))
			break;
		table = table_at(desc & PA);
	}
	CHECK(level >= 2);
	CHECK(desc & NG);
	CHECK(!(desc & CONT));
	if (level == 2)
		desc = (desc | AV_PTE_TABLE) + (va & (AV_IMAGE_BLOCK - 1) & ~4095ULL);
	return desc;
}

static void use(u64 va)
{
	u64 desc = walk(va);
	unsigned int i;

	for (i = 0; i < nr_tlb; i++)
		if (tlb[i].va == va)
			/* Two translations of one address: break-before-make was not done. */
			CHECK(!desc || tlb[i].desc == desc);
	if (desc && nr_tlb < TLB) {
		tlb[nr_tlb].va = va;
		tlb[nr_tlb++].desc = desc;
	}
}

static void flush(u64 va)
{
	unsigned int i;

	flushes++;
	/* It reaches a whole block, as all of it is one entry of the TLB. */
	for (i = 0; i < nr_tlb; )
		if ((tlb[i].va ^ va) >> 21)
			i++;
		else
			tlb[i] = tlb[--nr_tlb];
}

static void flush_all(void)
{
	all++;
	nr_tlb = 0;
}

/* ---- the host ------------------------------------------------------------------------- */

static u64 *host;
static u64 refused_from, refused_end, kept_from, kept_end, split;

static bool may_map(u64 va, u64 pa)
{
	if (va >= refused_from && va < refused_end)
		return false;
	return va < LINEAR_END || va - KERNEL == pa - KERNEL_PA;
}

static bool may_merge(u64 start)
{
	return start < LINEAR_END;
}

static bool must_split(u64 start)
{
	return start == split;
}

static bool keeps(u64 va)
{
	return va >= kept_from && va < kept_end;
}

static void publish(void)
{
}

static const struct av_image_ops ops = {
	.alloc = alloc_table, .free = free_table, .pa_of = pa_of, .table_at = table_at,
	.may_map = may_map, .may_merge = may_merge, .must_split = must_split, .keeps = keeps,
	.publish = publish, .flush = flush, .flush_all = flush_all,
};

/* The host's entry for an address at a level. */
static u64 *host_entry(u64 va, unsigned int level)
{
	u64 *table = host;
	unsigned int l;

	for (l = 0; l < level; l++) {
		u64 *entry = &table[va >> (39 - 9 * l) & 511];

		if (!(*entry & AV_PTE_TABLE))
			*entry = av_table_desc(pa_of(alloc_table()));
		table = table_at(*entry & PA);
	}
	return &table[va >> (39 - 9 * level) & 511];
}

static void host_pages(u64 va, u64 pa, unsigned int n, u64 attributes)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		*host_entry(va + i * 4096, 3) = (pa + i * 4096) | attributes;
}

static void host_block(u64 va, u64 pa, unsigned int level, u64 attributes)
{
	*host_entry(va, level) = pa | (attributes & ~AV_PTE_TABLE);
}

static void begin(void)
{
	memset(used, 0, sizeof(used));
	left = ~0U;
	nr_tlb = flushes = all = 0;
	refused_from = refused_end = kept_from = kept_end = split = 0;
	host = alloc_table();
	CHECK(av_image_begin(&image, &ops));
}

static void end(void)
{
	unsigned int tables = image.tables + 1, before = nr_used();

	av_image_end(&image);
	CHECK_EQ(nr_used(), before - tables);
	CHECK(!image.root);
}

static enum av_image_result copy(u64 va)
{
	return av_image_copy(&image, host, va);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void test_pages_become_a_block(void)
{
	begin();
	host_pages(LINEAR, 0x40000000, 512, RAM | CONT);
	CHECK_EQ(copy(LINEAR + 0x123456), AV_IMAGE_COPIED);
	CHECK_EQ(image.blocks, 1);
	CHECK_EQ(image.pages, 0);
	CHECK_EQ(walk(LINEAR + 0x1ff000), (0x401ff000 | RAM | NG));
	CHECK_EQ(copy(LINEAR), AV_IMAGE_SAME);
	CHECK_EQ(copy(LINEAR + AV_IMAGE_BLOCK), AV_IMAGE_UNMAPPED);
	CHECK_EQ(copy(0x1000), AV_IMAGE_UNMAPPED);
	end();
}

/* What keeps pages from becoming a block: one bit of one page. */
static void test_pages_stay_pages(void)
{
	static const struct { u64 flip; bool block; } rows[] = {
		{ SOFT, true }, { CONT, true }, { AF, true }, { RO, false }, { DBM, false },
		{ PXN, false }, { BIT_ULL(54), false }, { AV_PTE_VALID, false }, { 0x1000, false },
		{ BIT_ULL(40), false }, { 4, false }, { 0x300, false }, { 64, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin();
		host_pages(LINEAR, 0x40000000, 512, RAM);
		*host_entry(LINEAR + 0x5000, 3) ^= rows[i].flip;
		CHECK_EQ(copy(LINEAR), AV_IMAGE_COPIED);
		CHECK_EQ(image.blocks, rows[i].block);
		CHECK_EQ(image.pages, rows[i].block ? 0 : 512 - (rows[i].flip == AV_PTE_VALID));
		if (!rows[i].block)
			CHECK_EQ(walk(LINEAR + 0x5000),
				 rows[i].flip == AV_PTE_VALID ? 0 :
				 (0x40005000 | RAM | NG) ^ rows[i].flip);
		end();
	}
	/* A range that does not begin at a block's boundary. */
	begin();
	host_pages(LINEAR, 0x40001000, 512, RAM);
	CHECK_EQ(copy(LINEAR), AV_IMAGE_COPIED);
	CHECK_EQ(image.pages, 512);
	end();
}

static void test_blocks_of_the_hosts(void)
{
	begin();
	host_block(LINEAR, 0x40000000, 1, RAM);
	host_block(KERNEL, KERNEL_PA, 2, RAM | RO);
	host_block(KERNEL + AV_IMAGE_BLOCK, KERNEL_PA, 2, RAM);
	CHECK_EQ(copy(LINEAR + 0x12345678), AV_IMAGE_COPIED);
	CHECK_EQ(image.blocks, 1);
	CHECK_EQ(walk(LINEAR + 0x12345678), (0x52345000 | RAM | NG));
	CHECK_EQ(walk(LINEAR + 0x1000), 0);
	CHECK_EQ(copy(KERNEL + 0x8000), AV_IMAGE_COPIED);
	CHECK_EQ(walk(KERNEL + 0x8000), (KERNEL_PA + 0x8000) | RAM | RO | NG);
	CHECK_EQ(copy(KERNEL + AV_IMAGE_BLOCK), AV_IMAGE_REFUSED);
	/* A block that must be pages. */
	split = LINEAR + AV_IMAGE_BLOCK;
	CHECK_EQ(copy(split + 0x3000), AV_IMAGE_COPIED);
	CHECK_EQ(image.pages, 512);
	CHECK_EQ(walk(split + 0x3000), (0x40203000 | RAM | NG));
	CHECK_EQ(av_image_host_pa(&image, host, LINEAR + 0x12345678), 0x52345678);
	CHECK_EQ(av_image_host_pa(&image, host, KERNEL + 5), KERNEL_PA + 5);
	CHECK_EQ(av_image_host_pa(&image, host, VMALLOC), 0);
	end();
}

static void test_refused(void)
{
	begin();
	host_pages(KERNEL, KERNEL_PA, 512, RAM);
	refused_from = KERNEL + 0x2000;
	refused_end = KERNEL + 0x4000;
	CHECK_EQ(copy(KERNEL + 0x2000), AV_IMAGE_REFUSED);
	CHECK_EQ(image.blocks, 0);
	CHECK_EQ(image.pages, 510);
	CHECK_EQ(walk(KERNEL + 0x3000), 0);
	CHECK_EQ(walk(KERNEL + 0x4000), (KERNEL_PA + 0x4000) | RAM | NG);
	host_pages(VMALLOC, KERNEL_PA, 1, RAM);
	CHECK_EQ(copy(VMALLOC), AV_IMAGE_REFUSED);
	CHECK_EQ(walk(VMALLOC), 0);
	end();
}

/* The host changes the rights of a page, and of a page of a block. */
static void test_rights(void)
{
	begin();
	host_pages(LINEAR, 0x40000000, 512, RAM | RO);
	CHECK_EQ(copy(LINEAR), AV_IMAGE_COPIED);
	use(LINEAR + 0x7000);
	host_pages(LINEAR, 0x40000000, 512, RAM);
	CHECK_EQ(copy(LINEAR + 0x7000), AV_IMAGE_COPIED);
	CHECK_EQ(walk(LINEAR + 0x7000), (0x40007000 | RAM | NG));
	use(LINEAR + 0x7000);
	*host_entry(LINEAR + 0x7000, 3) |= RO;
	CHECK_EQ(copy(LINEAR + 0x8000), AV_IMAGE_COPIED);
	CHECK_EQ(image.blocks, 0);
	CHECK_EQ(walk(LINEAR + 0x7000), (0x40007000 | RAM | RO | NG));
	use(LINEAR + 0x7000);
	*host_entry(LINEAR + 0x7000, 3) &= ~RO;
	CHECK_EQ(copy(LINEAR + 0x7000), AV_IMAGE_COPIED);
	use(LINEAR + 0x7000);
	CHECK_EQ(image.pages, 512);
	end();
}

static void test_clear(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 8; i++)
		host_block(LINEAR + i * AV_IMAGE_BLOCK, 0x40000000 + i * AV_IMAGE_BLOCK, 2, RAM);
	host_pages(KERNEL, KERNEL_PA, 512, RAM);
	split = LINEAR;
	for (i = 0; i < 8; i++)
		CHECK_EQ(copy(LINEAR + i * AV_IMAGE_BLOCK), AV_IMAGE_COPIED);
	copy(KERNEL);
	use(LINEAR + AV_IMAGE_BLOCK);
	/* From the middle of a block to the middle of another. */
	flushes = 0;
	CHECK_EQ(av_image_clear(&image, LINEAR + AV_IMAGE_BLOCK + 0x5000,
				LINEAR + 3 * AV_IMAGE_BLOCK + 0x1000, NULL), 3);
	CHECK_EQ(flushes, 3);
	CHECK_EQ(nr_tlb, 0);
	CHECK_EQ(image.blocks, 4);
	CHECK(walk(LINEAR + 4 * AV_IMAGE_BLOCK));
	/* All that is linear, but what is kept. */
	kept_from = LINEAR + 0x10000;
	kept_end = LINEAR + 0x15000;
	CHECK_EQ(av_image_clear(&image, LINEAR, LINEAR_END, NULL), 512 - 5 + 4);
	CHECK_EQ(all, 1);
	CHECK(walk(LINEAR + 0x14000) && !walk(LINEAR + 0x15000) && !walk(LINEAR + 0xf000));
	CHECK(walk(KERNEL));
	CHECK_EQ(av_image_clear(&image, VMALLOC, VMALLOC + 0x100000, NULL), 0);
	/* Nor does it change, whatever the host does: a light exit may be on it. */
	host_pages(LINEAR, 0x40000000, 512, RAM | RO);
	CHECK_EQ(copy(LINEAR + 0x12000), AV_IMAGE_SAME);
	CHECK_EQ(walk(LINEAR + 0x12000), (0x40012000 | RAM | NG));
	CHECK_EQ(walk(LINEAR + 0xf000), (0x4000f000 | RAM | RO | NG));
	end();
}

static void test_no_memory(void)
{
	unsigned int n;

	for (n = 0; n < 4; n++) {
		begin();
		host_pages(KERNEL, KERNEL_PA, 16, RAM);
		left = n;
		CHECK_EQ(copy(KERNEL + 0x1000), n < 3 ? AV_IMAGE_NO_MEMORY : AV_IMAGE_COPIED);
		left = ~0U;
		CHECK(copy(KERNEL + 0x1000) <= AV_IMAGE_SAME);
		CHECK(walk(KERNEL + 0x1000));
		end();
	}
}

/* Random changes of the host's tables: never more than the host had when it was last looked at. */
static void test_random(void)
{
	static u64 seen[4 * ENTRIES];
	unsigned int i, n, round;

	begin();
	memset(seen, 0, sizeof(seen));
	for (round = 0; round < 4000; round++) {
		u64 at = LINEAR + below(4) * AV_IMAGE_BLOCK, va = at + below(512) * 4096;

		switch (below(5)) {
		case 0:
			host_pages(at, at - LINEAR + 0x40000000, 512, RAM | (below(2) ? RO : 0));
			break;
		case 1:
			host_pages(va, va - LINEAR + 0x40000000, 1 + below(512 - (va >> 12 & 511)),
				   RAM | (below(2) ? RO : 0));
			break;
		case 2:
			*host_entry(va, 3) ^= AV_PTE_VALID;
			break;
		case 3:
			n = below(600);
			av_image_clear(&image, va, va + n * 4096, NULL);
			break;
		}
		if (copy(va) <= AV_IMAGE_SAME)
			for (i = 0; i < 512; i++)
				seen[(at - LINEAR) / 4096 + i] = *host_entry(at + i * 4096, 3);
		for (i = 0; i < 20; i++) {
			u64 any = LINEAR + below(4 * ENTRIES) * 4096, desc = walk(any);

			use(any);
			if (desc)
				CHECK_EQ(desc, seen[(any - LINEAR) / 4096] | NG);
		}
		if (*host_entry(va, 3) & AV_PTE_VALID)
			CHECK_EQ(walk(va), *host_entry(va, 3) | NG);
	}
	CHECK(flushes > 1000 && all > 10);
	end();
}

int main(void)
{
	RUN(test_pages_become_a_block);
	RUN(test_pages_stay_pages);
	RUN(test_blocks_of_the_hosts);
	RUN(test_refused);
	RUN(test_rights);
	RUN(test_clear);
	RUN(test_no_memory);
	RUN(test_random);
	return TESTS_DONE();
}
