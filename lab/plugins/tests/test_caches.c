// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* The model of caches on hand-made streams, whose misses can be derived on paper. */
#include "caches.h"
#include "check.h"

#include <string.h>

/* 1 KiB in two ways of eight lines, and 4 KiB in four ways of sixteen. */
static const struct caches_shape l1 = { 1, 2 }, l2 = { 4, 4 };

static struct caches caches;

static void begin(void)
{
	const char *why;

	EQUAL(caches_init(&caches, 64, l1, l1, l2, &why), 0);
}

static void read_lines(uint64_t lines, uint64_t apart, unsigned int times)
{
	uint64_t i;

	while (times--)
		for (i = 0; i < lines; i++)
			caches_access(&caches, i * apart, 0, false);
}

static void test_what_fits_misses_once(void)
{
	begin();
	read_lines(16, 64, 10);
	EQUAL(caches.counts[0].lookups[0], 160);
	EQUAL(caches.counts[0].l1_misses[0], 16);
	EQUAL(caches.counts[0].l2_misses[0], 16);
	caches_free(&caches);
}

static void test_what_is_in_the_second_level_misses_in_the_first(void)
{
	begin();
	/* Round and round, the least recently used is always the next. */
	read_lines(64, 64, 10);
	EQUAL(caches.counts[0].l1_misses[0], 640);
	EQUAL(caches.counts[0].l2_misses[0], 64);
	caches_free(&caches);
}

static void test_lines_of_one_set_are_as_many_as_its_ways(void)
{
	begin();
	/* 1024 bytes apart: one set in both levels. */
	read_lines(2, 1024, 10);
	EQUAL(caches.counts[0].l1_misses[0], 2);
	read_lines(4, 1024, 10);
	EQUAL(caches.counts[0].l2_misses[0], 4);
	read_lines(5, 1024, 10);
	/* One more than was there; then every one. */
	EQUAL(caches.counts[0].l2_misses[0], 4 + 50 - 4);
	caches_free(&caches);
}

static void test_the_one_used_last_stays(void)
{
	begin();
	caches_access(&caches, 0, 0, false);
	caches_access(&caches, 1024, 0, false);
	caches_access(&caches, 0, 0, false);
	caches_access(&caches, 2048, 0, false);	/* takes the place of 1024 */
	EQUAL(caches.counts[0].l1_misses[0], 3);
	caches_access(&caches, 0, 0, false);
	EQUAL(caches.counts[0].l1_misses[0], 3);
	caches_access(&caches, 1024, 0, false);
	EQUAL(caches.counts[0].l1_misses[0], 4);
	EQUAL(caches.counts[0].l2_misses[0], 3);
	caches_free(&caches);
}

static void test_code_and_data_share_the_second_level(void)
{
	begin();
	caches_access(&caches, 64, 1, true);
	caches_access(&caches, 127, 2, false);
	EQUAL(caches.counts[1].l1_misses[1], 1);
	EQUAL(caches.counts[1].l2_misses[1], 1);
	EQUAL(caches.counts[2].l1_misses[0], 1);
	EQUAL(caches.counts[2].l2_misses[0], 0);
	EQUAL(caches.counts[2].lookups[1], 0);
	caches_free(&caches);
}

static void test_emptied_it_has_nothing(void)
{
	begin();
	read_lines(4, 64, 1);
	caches_empty(&caches);
	read_lines(4, 64, 1);
	EQUAL(caches.counts[0].l2_misses[0], 8);
	caches_free(&caches);
}

static void test_without_a_model_nothing_is_counted(void)
{
	memset(&caches, 0, sizeof(caches));
	caches_access(&caches, 0, 0, false);
	caches_empty(&caches);
	EQUAL(caches.counts[0].lookups[0], 0);
}

static void test_shapes_that_there_are_not(void)
{
	static const struct {
		unsigned int line;
		struct caches_shape l1i, l1d, l2;
		const char *says;
	} rows[] = {
		{ 0, { 1, 2 }, { 1, 2 }, { 4, 4 }, "a line has" },
		{ 48, { 1, 2 }, { 1, 2 }, { 4, 4 }, "a line has" },
		{ 512, { 1, 2 }, { 1, 2 }, { 4, 4 }, "a line has" },
		{ 64, { 0, 2 }, { 1, 2 }, { 4, 4 }, "1 to 65536 KiB" },
		{ 64, { 1, 2 }, { 1, 0 }, { 4, 4 }, "1 to 65536 KiB" },
		{ 64, { 1, 2 }, { 1, 2 }, { 1 << 17, 4 }, "1 to 65536 KiB" },
		{ 64, { 1, 3 }, { 1, 2 }, { 4, 4 }, "a power of two" },
		{ 64, { 3, 2 }, { 1, 2 }, { 4, 4 }, "a power of two" },
		{ 64, { 1, 2 }, { 1, 2 }, { 1 << 13, 2 }, "of 2 MiB at most" },
	};
	const char *why;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		EQUAL(caches_init(&caches, rows[i].line, rows[i].l1i, rows[i].l1d, rows[i].l2, &why), -1);
		EQUAL(strstr(why, rows[i].says) != NULL, 1);
	}
}

int main(void)
{
	RUN(test_what_fits_misses_once);
	RUN(test_what_is_in_the_second_level_misses_in_the_first);
	RUN(test_lines_of_one_set_are_as_many_as_its_ways);
	RUN(test_the_one_used_last_stays);
	RUN(test_code_and_data_share_the_second_level);
	RUN(test_emptied_it_has_nothing);
	RUN(test_without_a_model_nothing_is_counted);
	RUN(test_shapes_that_there_are_not);
	return END();
}
