// SPDX-License-Identifier: GPL-2.0
/*
 * The map of numbers against a plain array with the same contents: single steps, the ends, memory
 * that runs out at each point, and a long random sequence.
 */
#include <stdlib.h>

#include "check.h"
#include "irq/idmap.h"

static unsigned long allocated;
static long allow = -1;		/* allocations that still succeed; -1: all */

static void *zalloc(size_t size)
{
	if (!allow)
		return NULL;
	if (allow > 0)
		allow--;
	allocated++;
	return calloc(1, size);
}

static void release(const void *p)
{
	allocated -= !!p;
	free((void *)p);
}

static const struct av_allocator mem = { .zalloc = zalloc, .free = release };

static void one(void)
{
	struct av_idmap map = { 0 };
	int thing, other;
	u32 id = 0;

	CHECK(av_idmap_empty(&map));
	CHECK(!av_idmap_find(&map, 0));
	CHECK(!av_idmap_next(&map, &id));
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x1234, &thing), 0);
	CHECK(av_idmap_find(&map, 0x1234) == &thing);
	CHECK(!av_idmap_find(&map, 0x1235));
	CHECK(!av_idmap_find(&map, 0x11234));
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x1234, &other), -EEXIST);
	CHECK(av_idmap_next(&map, &id) == &thing);
	CHECK_EQ(id, 0x1234);
	id++;
	CHECK(!av_idmap_next(&map, &id));
	av_idmap_remove(&map, &mem, 0x1235);
	av_idmap_remove(&map, &mem, 0x9999);
	CHECK(av_idmap_find(&map, 0x1234) == &thing);
	av_idmap_remove(&map, &mem, 0x1234);
	CHECK(av_idmap_empty(&map));
	CHECK_EQ(allocated, 0);
}

static void ends(void)
{
	struct av_idmap map = { 0 };
	int first, last;
	u32 id = 1;

	CHECK_EQ(av_idmap_insert(&map, &mem, 0x10000, &last), -EINVAL);
	CHECK_EQ(av_idmap_insert(&map, &mem, ~0U, &last), -EINVAL);
	CHECK_EQ(av_idmap_insert(&map, &mem, 0xffff, &last), 0);
	CHECK_EQ(av_idmap_insert(&map, &mem, 0, &first), 0);
	CHECK(av_idmap_next(&map, &id) == &last);
	CHECK_EQ(id, 0xffff);
	id = 0x10000;
	CHECK(!av_idmap_next(&map, &id));
	av_idmap_remove(&map, &mem, 0x10000);
	av_idmap_remove(&map, &mem, 0xffff);
	av_idmap_remove(&map, &mem, 0);
	CHECK_EQ(allocated, 0);
}

/* Without memory nothing changes and nothing is lost. */
static void no_memory(void)
{
	struct av_idmap map = { 0 };
	int thing, near;
	long n;

	for (n = 0; n < 4; n++) {
		allow = n;
		CHECK_EQ(av_idmap_insert(&map, &mem, 0x4321, &thing), -ENOMEM);
		CHECK(av_idmap_empty(&map));
		CHECK_EQ(allocated, 0);
	}
	allow = 4;
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x4321, &thing), 0);
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x4329, &near), 0);	/* in the same leaf */
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x4421, &near), -ENOMEM);
	allow = 1;
	CHECK_EQ(av_idmap_insert(&map, &mem, 0x4421, &near), -ENOMEM);
	CHECK_EQ(allocated, 4);
	allow = -1;
	av_idmap_remove(&map, &mem, 0x4321);
	av_idmap_remove(&map, &mem, 0x4329);
	CHECK_EQ(allocated, 0);
}

static bool same(const struct av_idmap *map, void *const *plain)
{
	u32 id, expected = 0;
	void *item;

	av_idmap_for_each(map, id, item) {
		while (expected < id)
			if (plain[expected++])
				return false;
		if (plain[expected++] != item)
			return false;
	}
	while (expected < AV_IDMAP_IDS)
		if (plain[expected++])
			return false;
	return true;
}

static void random_steps(void)
{
	static void *plain[AV_IDMAP_IDS];
	struct av_idmap map = { 0 };
	u32 id, mask;
	int i;

	srand(2);
	for (i = 0; i < 200000; i++) {
		mask = rand() & 1 ? 0xffff : 0xf1f;	/* dense places and sparse ones */
		id = (u32)rand() & mask;
		if (rand() % 3) {
			void *item = &plain[rand() & 0xff];

			CHECK_EQ(av_idmap_insert(&map, &mem, id, item), plain[id] ? -EEXIST : 0);
			if (!plain[id])
				plain[id] = item;
		} else {
			av_idmap_remove(&map, &mem, id);
			plain[id] = NULL;
		}
		CHECK(av_idmap_find(&map, id) == plain[id]);
		if (i % 20000 == 0)
			CHECK(same(&map, plain));
	}
	CHECK(same(&map, plain));
	for (id = 0; id < AV_IDMAP_IDS; id++)
		av_idmap_remove(&map, &mem, id);
	CHECK(av_idmap_empty(&map));
	CHECK_EQ(allocated, 0);
}

int main(void)
{
	RUN(one);
	RUN(ends);
	RUN(no_memory);
	RUN(random_steps);
	return TESTS_DONE();
}
