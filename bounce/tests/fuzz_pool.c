// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: any sequence of calls with any sizes, alignments and offsets, as from a driver whose
 * private copies of addresses are wrong. The first byte is the mode; the rest are calls of 12
 * bytes.
 */
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct call {
	u8 what, cpu, align, owner;
	u32 bytes;
	u32 offset;
};

#define KEPT	8

/* Buffers that the input names by small offsets. */
static u64 kept[KEPT];

static u64 offset_of(const struct call *call)
{
	if (call->offset < 0x10000000)
		return call->offset;
	return kept[call->offset % KEPT] + (call->bytes & 1 ? 0 : call->offset >> 3 & 0xfff);
}

static void do_call(struct av_pool *pool, const struct call *call)
{
	struct av_ask ask = {
		.orig = 0x1000, .bytes = call->bytes >> (call->align & 31), .owner = call->owner,
		.align = call->owner & 1 ? call->bytes : 1U << (call->owner % 20),
		.stay = call->owner % AV_STAYS,
	};
	u64 offset = offset_of(call);
	struct av_found found;

	switch (call->what % 4) {
	case 0:
		offset = av_pool_get(pool, call->cpu, &ask);
		break;
	case 1:
		offset = av_pool_get_slots(pool, call->cpu, &ask);
		break;
	case 2:
		if (!av_pool_find(pool, offset, &found)) {
			REQUIRE(found.begin <= offset && found.left);
			REQUIRE(offset + found.left <= pool->plan.bytes);
		}
		return;
	default:
		if (!av_pool_put(pool, offset))
			REQUIRE(av_pool_find(pool, offset, &found) == -ENOENT);
		return;
	}
	REQUIRE(offset == AV_NO_BUFFER || offset + ask.bytes <= pool->plan.bytes);
	kept[call->offset % KEPT] = offset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world *worlds[AV_MODES];
	struct call call;
	enum av_mode mode;
	struct av_pool *pool;
	struct av_plan plan;

	if (!size)
		return 0;
	mode = data[0] % AV_MODES;
	if (!worlds[mode])
		worlds[mode] = world_new(mode, WORLD_BYTES / 4, 3);
	pool = &worlds[mode]->pool;
	/* Every input begins with an unused pool. */
	memset(worlds[mode]->meta, 0, av_pool_meta_bytes(&pool->plan));
	plan = pool->plan;
	av_pool_init(pool, &plan, worlds[mode]->meta);
	for (data++, size--; size >= sizeof(call); data += sizeof(call), size -= sizeof(call)) {
		memcpy(&call, data, sizeof(call));
		do_call(pool, &call);
	}
	return 0;
}
