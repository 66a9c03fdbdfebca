// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* The model on hand-made streams, whose misses, walks and references can be derived on paper. */
#include "check.h"
#include "tlb.h"

#include <stddef.h>
#include <string.h>

#define K	(1ULL << 10)
#define M	(1ULL << 20)
#define G	(1ULL << 30)
#define T	(1ULL << 40)

/* Eight entries in the first level, 64 by four in the second, large walk and IPA caches. */
static const struct tlb_core small = {
	.name = "small",
	.l1i = { 8, 8 }, .l1d = { 8, 8 }, .l2 = { 64, 4 }, .walk = { 32, 32 }, .ipa = { 32, 32 },
	.l1_largest = TLB_1G, .ipa_smallest = TLB_4K, .line = 64, .tables = { 64, 8 },
};

static struct tlb_model model;

static void begin(const struct tlb_core *core, unsigned int s1, unsigned int s2)
{
	const char *why = "";

	EQUAL(tlb_model_init(&model, core, s1, s2, 3, &why), 0);
}

static void end(void)
{
	tlb_model_free(&model);
}

static void touch(uint64_t va)
{
	struct tlb_access access = {
		.va = va, .frame = va >> 12, .space = 1, .large = true, .staged = true,
	};

	tlb_access(&model, &access);
}

static void touch_in(uint64_t va, uint8_t space)
{
	struct tlb_access access = { .va = va, .frame = va >> 12, .space = space };

	tlb_access(&model, &access);
}

/* So many pages in turn, so many times. */
static void cycle(uint64_t pages, uint64_t size, unsigned int times)
{
	uint64_t i;

	while (times--)
		for (i = 0; i < pages; i++)
			touch(16 * T + i * size);
}

/* What was counted since the last time. */
static struct tlb_counts take(void)
{
	struct tlb_counts counts = model.counts[0];

	memset(model.counts, 0, sizeof(model.counts));
	return counts;
}

static void test_what_fits_misses_once(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, 0);
	cycle(8, 4 * K, 10);
	c = take();
	EQUAL(c.lookups[0], 80);
	EQUAL(c.l1_misses[0], 8);
	EQUAL(c.walks[0], 8);
	EQUAL(c.lookups[1] + c.l1_misses[1] + c.walks[1], 0);
	end();
}

static void test_one_more_than_fits_always_misses(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, 0);
	cycle(9, 4 * K, 10);
	c = take();
	EQUAL(c.l1_misses[0], 90);
	EQUAL(c.walks[0], 9);
	cycle(64, 4 * K, 10);
	take();
	cycle(64, 4 * K, 10);
	EQUAL(take().walks[0], 0);
	/* One set of the second level has five pages for its four ways. */
	cycle(65, 4 * K, 1);
	take();
	cycle(65, 4 * K, 10);
	EQUAL(take().walks[0], 50);
	end();
}

static void test_references_of_one_stage(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, 0);
	touch(0);
	EQUAL(take().refs[0], 4);
	touch(4 * K);		/* in the same last table */
	EQUAL(take().refs[0], 1);
	touch(2 * M);		/* in the same table of these */
	EQUAL(take().refs[0], 2);
	touch(G);
	EQUAL(take().refs[0], 3);
	touch(T);
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs[1], 0);
	end();
	begin(&small, TLB_2M, 0);
	touch(0);
	EQUAL(take().refs[0], 3);
	touch(2 * M);
	EQUAL(take().refs[0], 1);
	end();
	begin(&small, TLB_1G, 0);
	touch(0);
	EQUAL(take().refs[0], 2);
	end();
	begin(&small, TLB_64K, 0);
	touch(0);
	touch(60 * K);
	c = take();
	EQUAL(c.walks[0], 1);
	EQUAL(c.refs[0], 4);
	end();
}

/* Caches of one entry, which the last result of another kind has taken: the worst case. */
static void test_references_of_two_stages_without_caches(void)
{
	static const struct tlb_core none = {
		.name = "none", .l1i = { 1, 1 }, .l1d = { 1, 1 }, .l2 = { 1, 1 },
		.l1_largest = TLB_1G, .ipa_smallest = TLB_4K, .line = 64, .tables = { 64, 8 },
	};
	const char *why = "";
	struct tlb_counts c;

	begin(&none, TLB_4K, TLB_4K);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs[1], 15);	/* 3 for each of 4 tables, and for the page */
	touch(T);
	c = take();
	EQUAL(c.refs[0] + c.refs[1], 19);
	end();
	EQUAL(tlb_model_init(&model, &none, TLB_4K, TLB_4K, 4, &why), 0);
	touch(0);
	c = take();
	EQUAL(c.refs[0] + c.refs[1], 24);
	end();
	begin(&none, TLB_2M, TLB_2M);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 3);
	EQUAL(c.refs[1], 8);
	end();
}

static void test_references_of_two_stages(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, TLB_4K);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 4);
	/* The tables' pages are neighbours: 3 for the first, then 1 each; 3 for the page, elsewhere. */
	EQUAL(c.refs[1], 3 + 1 + 1 + 1 + 3);
	touch(4 * K);		/* the last table's place is known: itself, and the page's stage 2 */
	c = take();
	EQUAL(c.refs[0], 1);
	EQUAL(c.refs[1], 1);
	end();
	begin(&small, TLB_4K, TLB_2M);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs[1], 2 + 0 + 0 + 0 + 2);
	touch(4 * K);		/* in the same block of stage 2 */
	c = take();
	EQUAL(c.refs[0], 1);
	EQUAL(c.refs[1], 0);
	end();
}

static void test_the_smaller_page_decides(void)
{
	begin(&small, TLB_2M, TLB_4K);
	cycle(2, 4 * K, 1);
	EQUAL(take().walks[0], 2);
	end();
	begin(&small, TLB_4K, TLB_2M);
	cycle(2, 4 * K, 1);
	EQUAL(take().walks[0], 2);
	end();
	begin(&small, TLB_2M, TLB_2M);
	cycle(512, 4 * K, 1);
	EQUAL(take().walks[0], 1);
	end();
}

static void test_a_large_page_is_split_in_the_first_level(void)
{
	struct tlb_core core = small;
	struct tlb_counts c;

	core.l1_largest = 20;
	begin(&core, TLB_2M, 0);
	cycle(2, M, 1);
	c = take();
	EQUAL(c.l1_misses[0], 2);
	EQUAL(c.walks[0], 1);
	end();
}

static void test_small_stage_2_results_are_not_kept(void)
{
	struct tlb_core core = small;

	core.ipa_smallest = TLB_2M;
	begin(&core, TLB_4K, TLB_4K);
	touch(0);
	take();
	/* The page's IPA is walked for again: its table is known, so by one reference. */
	tlb_drop_space(&model, 1, TLB_BOTH);
	touch(0);
	EQUAL(take().refs[1], 5);
	end();
	begin(&small, TLB_4K, TLB_4K);
	touch(0);
	take();
	tlb_drop_space(&model, 1, TLB_BOTH);
	touch(0);
	EQUAL(take().refs[1], 0);
	end();
}

static void test_a_shared_second_level_loses_room(void)
{
	struct tlb_core core = small;

	core.l2 = (struct tlb_shape){ 64, 64 };
	begin(&core, TLB_4K, 0);
	cycle(64, 4 * K, 10);
	EQUAL(take().walks[0], 64);
	end();
	core.walk = (struct tlb_shape){ 0, 0 };
	begin(&core, TLB_4K, 0);
	cycle(62, 4 * K, 10);
	EQUAL(take().walks[0] > 62, 1);
	end();
}

static void test_dropping(void)
{
	begin(&small, TLB_4K, 0);
	touch_in(0, 1);
	touch_in(~0ULL << 40, 1);
	touch_in(0, 2);
	take();
	tlb_drop_space(&model, 1, TLB_LOW);
	touch_in(~0ULL << 40, 1);
	touch_in(0, 2);
	EQUAL(take().walks[0], 0);
	touch_in(0, 1);
	EQUAL(take().refs[0], 4);
	tlb_drop_space(&model, 1, TLB_BOTH);
	touch_in(~0ULL << 40, 1);
	touch_in(0, 2);
	EQUAL(take().walks[0], 1);
	tlb_drop_all(&model);
	touch_in(0, 2);
	EQUAL(take().refs[0], 4);
	end();
}

static void test_dropping_stage_2(void)
{
	begin(&small, TLB_4K, TLB_2M);
	touch(0);
	take();
	tlb_drop_stage2(&model);
	touch(0);
	EQUAL(take().walks[0], 0);
	tlb_drop_space(&model, 1, TLB_BOTH);
	touch(0);
	EQUAL(take().refs[1], 4);
	end();
}

static void test_a_page_mapped_anew_is_not_found(void)
{
	struct tlb_access access = { .va = 4 * K, .frame = 7, .space = 1 };

	begin(&small, TLB_4K, 0);
	tlb_access(&model, &access);
	tlb_access(&model, &access);
	EQUAL(take().walks[0], 1);
	access.frame = 8;
	tlb_access(&model, &access);
	EQUAL(take().walks[0], 1);
	end();
}

static void test_fetches_and_data_share_the_second_level(void)
{
	struct tlb_access access = { .va = 4 * K, .frame = 7, .space = 1, .who = 3 };
	const struct tlb_counts *c = &model.counts[3];

	begin(&small, TLB_4K, 0);
	tlb_access(&model, &access);
	access.fetch = true;
	tlb_access(&model, &access);
	EQUAL(c->l1_misses[0], 1);
	EQUAL(c->l1_misses[1], 1);
	EQUAL(c->walks[0], 1);
	EQUAL(c->walks[1], 0);
	EQUAL(take().lookups[0], 0);
	end();
}

static void test_loads_of_tables_are_looked_up_in_the_l2_cache(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, 0);
	touch(0);		/* four tables, a line of each */
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs_missed[0], 4);
	/* Translations go, lines stay. */
	tlb_drop_all(&model);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs_missed[0], 0);
	touch(28 * K);		/* the last of eight entries in the line */
	c = take();
	EQUAL(c.refs[0], 1);
	EQUAL(c.refs_missed[0], 0);
	touch(32 * K);
	EQUAL(take().refs_missed[0], 1);
	/* Another space has tables of its own. */
	touch_in(0, 2);
	EQUAL(take().refs_missed[0], 4);
	tlb_model_empty(&model);
	touch(0);
	EQUAL(take().refs_missed[0], 4);
	end();
}

static void test_tables_evict_each_other_in_their_share(void)
{
	struct tlb_core core = small;
	struct tlb_counts c;

	/* Sixteen sets; the first line of each table is in the same. */
	core.tables = (struct caches_shape){ 4, 4 };
	begin(&core, TLB_4K, 0);
	touch(0);
	tlb_drop_all(&model);
	touch(0);
	EQUAL(take().refs_missed[0], 4);
	/* The level above the last has it in the same line; the fifth table evicts the first. */
	touch(2 * M);
	c = take();
	EQUAL(c.refs[0], 2);
	EQUAL(c.refs_missed[0], 1);
	/* Of these four only the third is there: each that is missed evicts one that is needed. */
	tlb_drop_all(&model);
	touch(0);
	c = take();
	EQUAL(c.refs[0], 4);
	EQUAL(c.refs_missed[0], 3);
	end();
}

static void test_loads_of_stage_2_tables_are_looked_up_too(void)
{
	struct tlb_counts c;

	begin(&small, TLB_4K, TLB_4K);
	touch(0);
	c = take();
	EQUAL(c.refs_missed[0], 4);
	/* Of the first table's way and the page's; the other tables are in the first one's line. */
	EQUAL(c.refs[1], 9);
	EQUAL(c.refs_missed[1], 6);
	tlb_drop_all(&model);
	touch(0);
	c = take();
	EQUAL(c.refs[1], 9);
	EQUAL(c.refs_missed[0] + c.refs_missed[1], 0);
	end();
}

static void test_a_longer_line_has_more_entries(void)
{
	struct tlb_core core = small;

	core.line = 128;
	begin(&core, TLB_4K, 0);
	touch(0);
	take();
	touch(60 * K);
	EQUAL(take().refs_missed[0], 0);
	touch(64 * K);
	EQUAL(take().refs_missed[0], 1);
	end();
}

static void test_what_no_core_is(void)
{
	static const struct {
		size_t at;
		struct tlb_shape shape;
	} shapes[] = {
		{ offsetof(struct tlb_core, l1i), { 0, 1 } },
		{ offsetof(struct tlb_core, l1d), { 8, 0 } },
		{ offsetof(struct tlb_core, l1d), { 8, 16 } },
		{ offsetof(struct tlb_core, l2), { 10, 4 } },
		{ offsetof(struct tlb_core, l2), { 1U << 17, 4 } },
		{ offsetof(struct tlb_core, walk), { 4, 0 } },
		{ offsetof(struct tlb_core, ipa), { 4, 3 } },
	};
	struct tlb_core core;
	const char *why;
	unsigned int i;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		core = small;
		memcpy((char *)&core + shapes[i].at, &shapes[i].shape, sizeof(shapes[i].shape));
		why = NULL;
		EQUAL(tlb_model_init(&model, &core, TLB_4K, 0, 3, &why), -1);
		EQUAL(why != NULL, 1);
	}
	EQUAL(tlb_model_init(&model, &small, 13, 0, 3, &why), -1);
	EQUAL(tlb_model_init(&model, &small, TLB_4K, 22, 3, &why), -1);
	EQUAL(tlb_model_init(&model, &small, TLB_4K, 0, 2, &why), -1);
	core = small;
	core.l1_largest = 11;
	EQUAL(tlb_model_init(&model, &core, TLB_4K, 0, 3, &why), -1);
	core = small;
	core.line = 0;
	EQUAL(tlb_model_init(&model, &core, TLB_4K, 0, 3, &why), -1);
	EQUAL(strcmp(why, "the caches of a model's core come before it"), 0);
	core.line = 64;
	core.tables = (struct caches_shape){ 3, 1 };
	EQUAL(tlb_model_init(&model, &core, TLB_4K, 0, 3, &why), -1);
}

int main(void)
{
	RUN(test_what_fits_misses_once);
	RUN(test_one_more_than_fits_always_misses);
	RUN(test_references_of_one_stage);
	RUN(test_references_of_two_stages_without_caches);
	RUN(test_references_of_two_stages);
	RUN(test_the_smaller_page_decides);
	RUN(test_a_large_page_is_split_in_the_first_level);
	RUN(test_small_stage_2_results_are_not_kept);
	RUN(test_a_shared_second_level_loses_room);
	RUN(test_dropping);
	RUN(test_dropping_stage_2);
	RUN(test_a_page_mapped_anew_is_not_found);
	RUN(test_fetches_and_data_share_the_second_level);
	RUN(test_loads_of_tables_are_looked_up_in_the_l2_cache);
	RUN(test_tables_evict_each_other_in_their_share);
	RUN(test_loads_of_stage_2_tables_are_looked_up_too);
	RUN(test_a_longer_line_has_more_entries);
	RUN(test_what_no_core_is);
	return END();
}
