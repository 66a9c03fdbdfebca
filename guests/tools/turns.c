// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a switch from one VM to another on the same CPU. Each guest does nothing but exit to
 * its VMM, a thread of this program, which yields to the other thread. These two are the CPU's only
 * threads, first come, first served, so they alternate. A switch is a guest's exit to its VMM, the
 * host's switch of threads, and the other VMM's entry into the other guest.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/mark.h"
#include "counter.h"
#include "tinyvm.h"

#define ROUNDS 7
#define TURNS 200	/* exits of each guest, per round */

extern const char turns_code[], turns_end[];

asm("	.pushsection .rodata\n"
"	.globl	turns_code, turns_end\n"
"	.balign	8\n"
"turns_code:\n"
TINYVM_MMU_ON
"	mov	x1, #" TINYVM_WORD(TINYVM_DEVICE) "\n"
"1:	str	wzr, [x1]\n"
"	b	1b\n"
"	.ltorg\n"
"turns_end:\n"
"	.popsection\n");

static struct tinyvm vms[2];
static volatile int last;
static volatile uint64_t missed;

static void take_turn(int self)
{
	tinyvm_run(&vms[self]);
	missed += last == self;
	last = self;
	sched_yield();
}

static void *other(void *unused)
{
	(void)unused;
	for (;;)
		take_turn(1);
	return NULL;
}

int main(void)
{
	uint64_t best = UINT64_MAX, start, took;
	pthread_t thread;
	int round, i;

	for (i = 0; i < 2; i++)
		tinyvm_new(&vms[i], turns_code, turns_end);
	tinyvm_run_on(0, 1);
	last = 1;
	if (pthread_create(&thread, NULL, other, NULL))
		tinyvm_fail("cannot make a thread");
	for (i = 0; i < TURNS; i++)
		take_turn(0);
	missed = 0;
	MARK_FEED;
	for (round = 0; round < ROUNDS; round++) {
		MARK_COUNT;
		start = counter();
		for (i = 0; i < TURNS; i++)
			take_turn(0);
		took = counter() - start;
		MARK_PAUSE;
		if (took < best)
			best = took;
	}
	MARK_END;
	if (missed) {
		fprintf(stderr, "turns: %" PRIu64 " turns were not the other VM's\n", missed);
		return 1;
	}
	took = best * 1000 / (2 * TURNS);
	printf("result turns.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	printf("result turns.loops %d count\n", 2 * TURNS);
	printf("result turns.switch %" PRIu64 ".%03" PRIu64 " ticks\n", took / 1000, took % 1000);
	return 0;
}
