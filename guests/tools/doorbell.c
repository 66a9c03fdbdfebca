// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a device's signals, as with vhost. Out: from a guest's store to a register with an
 * eventfd until a thread that waits for the eventfd on another CPU runs. In: from that thread's
 * write to an eventfd with an interrupt until the guest, which waits in WFI, is at its vector. The
 * clock is the counter, which both sides read. On a counted board, whose CPUs take turns, that is
 * the work of all of them.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/mark.h"
#include "counter.h"
#include "tinyvm.h"

#define WARM 5
#define TIMES 20
#define APART 100000		/* ns for the guest to reach its WFI */

/* In the shared page. */
enum { RANG, TAKEN, COUNT, WORDS };

extern const char doorbell_code[], doorbell_end[];

/*
 * The GIC's registers are the GIC manual's: the distributor's CTLR, IGROUPR1, IPRIORITYR8,
 * ISENABLER1 (its SPI is 32, its route, 0, this CPU), the redistributor's WAKER.
 */
asm("	.pushsection .rodata\n"
"	.globl	doorbell_code, doorbell_end\n"
"	.balign	2048\n"
"doorbell_code:\n"
TINYVM_MMU_ON
"	adr	x0, 8f\n"
"	msr	vbar_el1, x0\n"
"	ldr	x0, =" TINYVM_WORD(TINYVM_GICD) "\n"
"	mov	w1, #0x12\n"		/* affinity routing, group 1 */
"	str	w1, [x0]\n"
"	mov	w1, #1\n"
"	str	w1, [x0, #0x84]\n"
"	mov	w2, #0x80\n"
"	strb	w2, [x0, #0x420]\n"
"	str	w1, [x0, #0xc08]\n"	/* ICFGR2 */
"	mov	w3, #2\n"
"	str	w3, [x0, #0xc08]\n"	/* by edge */
"	str	w1, [x0, #0x104]\n"
"	ldr	x0, =" TINYVM_WORD(TINYVM_GICR) "\n"
"	str	wzr, [x0, #0x14]\n"
"	mov	x0, #7\n"
"	msr	s3_0_c12_c12_5, x0\n"	/* ICC_SRE */
"	isb\n"
"	mov	x0, #0xff\n"
"	msr	s3_0_c4_c6_0, x0\n"	/* ICC_PMR */
"	mov	x0, #1\n"
"	msr	s3_0_c12_c12_7, x0\n"	/* ICC_IGRPEN1 */
"	isb\n"
"	ldr	x10, =" TINYVM_WORD(TINYVM_SHARED) "\n"
"	ldr	x11, =" TINYVM_WORD(TINYVM_DEVICE) "\n"
"	ldr	x12, =40000\n"	/* ticks for the other side to reach its wait */
"	mov	x13, #0\n"
"1:	isb\n"
"	mrs	x0, cntvct_el0\n"
"	add	x0, x0, x12\n"
"2:	yield\n"
"	isb\n"
"	mrs	x1, cntvct_el0\n"
"	cmp	x1, x0\n"
"	b.lo	2b\n"
"	hint	#0x71\n"		/* counting begins */
"	isb\n"
"	mrs	x0, cntvct_el0\n"
"	str	x0, [x10]\n"
"	dmb	sy\n"
"	str	wzr, [x11]\n"
"3:	wfi\n"
"	msr	daifclr, #2\n"
"	isb\n"
"	msr	daifset, #2\n"
"	ldr	x0, [x10, #16]\n"
"	cmp	x0, x13\n"
"	b.eq	3b\n"
"	mov	x13, x0\n"
"	b	1b\n"
"	.ltorg\n"
"	.balign	2048\n"
"8:	.skip	0x280\n"
"	isb\n"
"	mrs	x2, cntvct_el0\n"
"	hint	#0x74\n"		/* and ends */
"	mrs	x3, s3_0_c12_c12_0\n"	/* ICC_IAR1 */
"	dsb	sy\n"
"	cmp	x3, #32\n"
"	b.hi	9f\n"
"	msr	s3_0_c12_c12_1, x3\n"	/* ICC_EOIR1 */
"	isb\n"
"	str	x2, [x10, #8]\n"
"	dmb	sy\n"
"	ldr	x2, [x10, #16]\n"
"	add	x2, x2, #1\n"
"	str	x2, [x10, #16]\n"
"9:	eret\n"
"doorbell_end:\n"
"	.popsection\n");

static struct tinyvm tiny;

static void *guest(void *unused)
{
	(void)unused;
	tinyvm_run_on(0, 0);
	/* The guest never exits to user space, so this does not return. */
	tinyvm_run(&tiny);
	fprintf(stderr, "doorbell: the guest's store came to its VMM\n");
	exit(1);
}

/* Wait for the guest's signal; returns the time at which this thread runs. */
static uint64_t wait_for(int bell)
{
	struct pollfd early = { .fd = bell, .events = POLLIN };
	uint64_t rings, now;

	if (poll(&early, 1, 0)) {
		fprintf(stderr, "doorbell: the guest rang before anybody waited\n");
		exit(1);
	}
	if (read(bell, &rings, sizeof(rings)) != sizeof(rings))
		tinyvm_fail("cannot wait for the guest");
	now = counter();
	MARK_PAUSE;
	return now;
}

static uint64_t interrupt(int irq)
{
	const uint64_t one = 1;
	uint64_t now;

	MARK_COUNT;
	now = counter();
	if (write(irq, &one, sizeof(one)) != sizeof(one))
		tinyvm_fail("cannot interrupt the guest");
	return now;
}

static void print(const char *name, uint64_t ticks)
{
	printf("result doorbell.%s %" PRIu64 ".000 ticks\n", name, ticks);
}

int main(void)
{
	const struct timespec apart = { .tv_nsec = APART };
	uint64_t out, in, rang, told, least_out = UINT64_MAX, least_in = UINT64_MAX;
	int bell, irq, time;
	pthread_t thread;

	tinyvm_new(&tiny, doorbell_code, doorbell_end);
	tinyvm_add_gic(&tiny);
	tinyvm_share_counter(&tiny);
	bell = tinyvm_ioeventfd(&tiny);
	irq = tinyvm_irqfd(&tiny);
	tinyvm_run_on(1, 0);
	if (pthread_create(&thread, NULL, guest, NULL))
		tinyvm_fail("cannot make a thread");
	for (time = 0; time < WARM + TIMES; time++) {
		rang = counter();
		told = wait_for(bell);
		out = told - tiny.shared[RANG];
		if (tiny.shared[RANG] < rang || tiny.shared[RANG] > told) {
			fprintf(stderr, "doorbell: the guest has another counter\n");
			return 1;
		}
		nanosleep(&apart, NULL);
		told = interrupt(irq);
		while (tiny.shared[COUNT] == (uint64_t)time)
			nanosleep(&apart, NULL);
		in = tiny.shared[TAKEN] - told;
		if (time >= WARM && out < least_out)
			least_out = out;
		if (time >= WARM && in < least_in)
			least_in = in;
	}
	printf("result doorbell.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	printf("result doorbell.times %d count\n", WARM + TIMES);
	print("out", least_out);
	print("in", least_in);
	return 0;
}
