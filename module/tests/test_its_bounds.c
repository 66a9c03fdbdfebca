// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of the largest ITS. One access takes as many steps as there are mappings, with a rest
 * after each, and no more. A message takes a fixed number of instructions, whatever is mapped and
 * pending.
 */
#include "check.h"
#include "its_world.h"
#include "steps.h"

#define EVENTS		4096U
#define FIRST		8192U
#define MOVALL		0x0e
#define INVALL		0x0d

/* Each of a device's events is in a collection of its own. */
static void boot_spread(void)
{
	u32 i;

	world_boot();
	mapd(5, ITT, 12, true);
	for (i = 0; i < EVENTS; i++) {
		mapc(i, i & 1, true);
		mapti(5, i, FIRST + i, i);
	}
	CHECK_EQ(w.vgic.nr_events, EVENTS);
	CHECK(consistent());
	w.rests = 0;
}

/* Another table of collections: each event is visited once, not once a collection. */
static void collections_are_forgotten_in_one_pass(void)
{
	boot_spread();
	its_set(0, 4, 0);
	w.rests = 0;
	its_set(0x108, 8, (COLL_TABLE + 0x10000) | AV_ITS_VALID);
	CHECK(w.rests >= EVENTS);
	CHECK(w.rests <= 3 * EVENTS);
	CHECK(av_idmap_empty(&w.its.collections));
	CHECK(consistent());
	CHECK(world_end());
}

/* What is done to a collection is done to its own events. */
static void a_collection_moves_alone(void)
{
	boot_spread();
	mapc(7, 0, true);
	mapc(8, 0, false);
	CHECK(w.rests < 20);
	CHECK_EQ(av_its_event(&w.its, 5, 7)->lpi->irq.target, 0);
	CHECK_EQ(av_its_event(&w.its, 5, 9)->lpi->irq.target, 1);
	CHECK(!av_its_event(&w.its, 5, 8)->collection);
	CHECK(consistent());
	CHECK(world_end());
}

/* Devices without room in the table are passed over one by one, and the thread may die there. */
static void distances_are_looked_for_with_rests(void)
{
	u32 i;

	world_boot();
	its_set(0, 4, 0);
	its_set(0x100, 8, DEVICE_TABLE | AV_ITS_VALID | AV_ITS_INDIRECT);
	its_set(0, 4, 1);
	set_ram64(DEVICE_TABLE, AV_ITS_VALID | SECOND_LEVEL);
	mapd(0, ITT, 1, true);
	set_ram64(DEVICE_TABLE + 8, AV_ITS_VALID | SECOND_LEVEL);
	for (i = 8192; i < 8192 + 1000; i++)
		mapd(i, ITT, 1, true);
	set_ram64(DEVICE_TABLE + 8, 0);
	w.rests = 0;
	CHECK_EQ(av_its_save(&w.its), 0);
	CHECK(w.rests >= 2000);
	w.life = 500;
	CHECK_EQ(av_its_save(&w.its), -EINTR);
	w.life = -1;
	CHECK(world_end());
}

/* A thread that is to die leaves the queue as it is. */
static void a_dying_thread_stops(void)
{
	const u64 sync[4] = { 5 }, movall[4] = { MOVALL, 0, 0, 1 << 16 };
	u32 i, was;

	boot_spread();
	for (i = 0; i < 128; i++)
		memcpy(ram_at(QUEUE + i * 32), sync, sizeof(sync));
	was = w.its.creadr;
	w.life = 10;
	its_set(0x88, 8, (was + 100 * 32) % 0x1000);
	CHECK_EQ((w.its.creadr - was) % 0x1000, 9 * 32);
	w.life = -1;
	its_get(0, 4);
	CHECK_EQ(w.its.creadr, w.its.cwriter);
	w.rests = 0;
	w.life = 10;
	av_its_command(&w.its, movall);
	CHECK(w.rests <= 10);
	w.life = -1;
	CHECK(consistent());
	CHECK(world_end());
}

static void one_message(void)
{
	msi(5, 1);
}

static void messages_do_not_depend_on_what_is_mapped(void)
{
	unsigned long few, many;
	u32 i;

	world_boot();
	mapd(5, ITT, 12, true);
	mapc(0, 0, true);
	mapti(5, 1, FIRST + 1, 0);
	few = steps_of(one_message);
	for (i = 0; i < EVENTS; i++)
		mapti(5, i, FIRST + i, 0);
	for (i = 0; i < EVENTS; i++)
		if (i != 1)
			msi(5, i);
	many = steps_of(one_message);
	CHECK(few > 0 && many > 0);
	CHECK(many <= 2 * few);
	CHECK(world_end());
}

int main(void)
{
	RUN(collections_are_forgotten_in_one_pass);
	RUN(a_collection_moves_alone);
	RUN(distances_are_looked_for_with_rests);
	RUN(a_dying_thread_stops);
	RUN(messages_do_not_depend_on_what_is_mapped);
	return TESTS_DONE();
}
