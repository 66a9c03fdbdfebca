// SPDX-License-Identifier: GPL-2.0
#include "cost.h"
#include "mark.h"

#define ROUNDS 7

static u64 counter(void)
{
	isb();
	return read_sysreg(cntvct_el0);
}

static void nothing(void)
{
	asm volatile("");
}

static u64 best_of(void (*prepare)(void), void (*operation)(void), u64 loops)
{
	u64 best = ~0UL;
	u64 start, took, i;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		prepare();
		MARK_COUNT;
		start = counter();
		for (i = 0; i < loops; i++)
			operation();
		took = counter() - start;
		MARK_PAUSE;
		if (took < best)
			best = took;
	}
	return best;
}

static u64 cost(void (*prepare)(void), void (*operation)(void), void (*less)(void), u64 loops)
{
	u64 with, without;

	MARK_FEED;
	with = best_of(prepare, operation, loops);
	without = best_of(nothing, less, loops);
	MARK_END;

	return with > without ? (with - without) * 1000 / loops : 0;
}

u64 cost_of(void (*operation)(void), u64 loops)
{
	return cost(nothing, operation, nothing, loops);
}

u64 cost_after(void (*prepare)(void), void (*operation)(void), u64 loops)
{
	return cost(prepare, operation, nothing, loops);
}

u64 cost_beyond(void (*operation)(void), void (*less)(void), u64 loops)
{
	return cost(nothing, operation, less, loops);
}
