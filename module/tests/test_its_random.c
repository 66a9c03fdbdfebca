// SPDX-License-Identifier: GPL-2.0
/*
 * Long random sequences on an ITS: commands with right, nearly right and junk fields, registers,
 * messages, acknowledgements, tables saved and restored, memory that runs out and memory that is
 * overwritten. After each step the derived state must match the state.
 */
#include <stdlib.h>

#include "check.h"
#include "its_world.h"

#define IAR1	AV_SYS(3, 0, 12, 12, 0)
#define EOIR1	AV_SYS(3, 0, 12, 12, 1)
#define GRPEN1	AV_SYS(3, 0, 12, 12, 7)

static u64 any(void)
{
	return (u64)rand() << 42 ^ (u64)rand() << 21 ^ (u64)rand();
}

/* Small numbers mostly, so that commands meet. */
static u32 number(u32 few)
{
	return rand() % 8 ? (u32)rand() % few : (u32)any();
}

static void random_command(void)
{
	static const u8 ops[] = { 1, 3, 4, 5, 8, 8, 9, 9, 0xa, 0xa, 0xa, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf };
	u64 op = ops[(unsigned int)rand() % ARRAY_SIZE(ops)];
	u64 device = number(6), event = number(12), lpi = 8192 + number(20);
	u64 coll = number(5), cpu = number(3), valid = rand() % 8 != 0;

	switch (op) {
	case 8:
		command(op | device << 32, number(17), (ITT + device % 64 * 0x1000) | valid << 63, 0);
		break;
	case 9:
		command(op, 0, coll | cpu << 16 | valid << 63, 0);
		break;
	case 0xe:
		command(op, 0, cpu << 16, (u64)number(3) << 16);
		break;
	default:
		command(op | device << 32, event | lpi << 32, coll & 0xffff, 0);
		break;
	}
}

static void random_register(void)
{
	static const u32 offsets[] = { 0, 4, 8, 0x80, 0x88, 0x90, 0x100, 0x108, 0x110, 0xffe8 };
	struct av_its_io io = { .its = &w.its, .user = rand() & 1 };
	u64 val = any();

	if (rand() % 4)
		return;
	io.offset = offsets[(unsigned int)rand() % ARRAY_SIZE(offsets)];
	io.len = rand() & 1 ? 4 : 8;
	if (rand() & 1)
		av_its_read(&io, &val);
	else
		av_its_write(&io, val);
	/* Back to work. */
	its_set(0, 4, 0);
	its_set(0x100, 8, DEVICE_TABLE | AV_ITS_VALID | (rand() % 4 ? 0 : AV_ITS_INDIRECT));
	its_set(0x108, 8, COLL_TABLE | AV_ITS_VALID);
	its_set(0x80, 8, QUEUE | AV_ITS_VALID);
	its_set(0, 4, 1);
}

static void random_redist(void)
{
	static const u32 offsets[] = { 0, 0, 0xa0, 0xb0 };
	int cpu = rand() & 1;

	redist_lpi_set(cpu, offsets[rand() & 3], 4, rand() & 1 ? 1 : 8192 + number(20));
	redist_lpi_set(cpu, 0, 4, 1);
}

static void random_step(void)
{
	int cpu = rand() & 1;

	switch (rand() % 12) {
	case 0:
		random_register();
		break;
	case 1:
		random_redist();
		break;
	case 2:
		icc_put(cpu, EOIR1, icc_get(cpu, IAR1));
		break;
	case 3:
		set_prop(8192 + (u32)rand() % 20, (u8)rand());
		break;
	case 4:
		set_ram64((rand() & 1 ? DEVICE_TABLE : COLL_TABLE) + (u64)(rand() % 64) * 8, any());
		break;
	case 5:
		if (rand() & 1)
			av_its_save(&w.its);
		else
			av_its_restore(&w.its);
		break;
	case 6:
		w.allow = rand() % 3 ? -1 : rand() % 6;
		random_command();
		w.allow = -1;
		break;
	case 7:
	case 8:
		msi(number(6), number(12));
		break;
	case 9:
		icc_put(cpu, GRPEN1, rand() & 3);
		break;
	default:
		random_command();
		break;
	}
}

static void sequences(void)
{
	unsigned int seed;
	int i;

	for (seed = 1; seed <= 40; seed++) {
		srand(seed);
		world_boot();
		for (i = 0; i < 3000; i++) {
			random_step();
			if (consistent())
				continue;
			fprintf(stderr, "seed %u, step %d\n", seed, i);
			CHECK(!"consistent after each step");
			return;
		}
		CHECK(w.written > 100);
		CHECK(world_end());
	}
}

int main(void)
{
	RUN(sequences);
	return TESTS_DONE();
}
