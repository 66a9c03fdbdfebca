// SPDX-License-Identifier: GPL-2.0
/*
 * Measurements with two domains under Xen. This program is both: dom0, and a domU, which has
 * `domu=1` on its command line. Both know the address of the domU's `mailbox`, a page of its memory
 * that dom0 maps. With `io=1` each has its own CPU and they signal each other by an event channel;
 * otherwise they share a CPU and yield to each other.
 *
 * A switch is from one domain's yield to the return of the other domain's own yield. A signal is
 * from just before the hypercall that sends it until the other domain, which waits in WFI, is at
 * its vector. The clock is the physical counter, which is the same for all domains.
 */
#include "cost.h"
#include "mark.h"

#define XEN_MEMORY 12UL
#define XEN_SCHED 29UL
#define XEN_EVENT 32UL
#define SCHED_YIELD 0
#define EVENT_SEND 4
#define MEMORY_ADD 7
#define MEMORY_ADD_BATCH 23
#define SPACE_SHARED_INFO 0
#define SPACE_FOREIGN 4
#define DOMID_SELF 0x7ff0
#define DOMU 1

#define LOOPS 500
#define ROUNDS 7
#define WARM 5
#define TIMES 20
#define APART 2000		/* ticks for the other side to reach its WFI */

/* Where the domains meet. */
struct mailbox {
	volatile u64 turns;	/* yields of the domU */
	volatile u64 rang;	/* when the domU sent its signal */
	volatile u64 told;	/* when dom0 answered */
	volatile u64 in;	/* ticks of the last answer's way to the domU */
	volatile u64 times;	/* number of answers that the domU took */
};

/* The fields of Xen's struct shared_info that are used here; a page. */
struct shared {
	volatile u8 pending, mask;
	volatile u64 words;
	u64 clock[4];
	volatile u64 events[64];
	volatile u64 masks[64];
	u8 rest[4096 - 48 - 1024];
};

static struct shared shared __attribute__((aligned(4096)));
static u8 foreign[4096] __attribute__((aligned(4096)));
static struct mailbox *mailbox;
static u32 port;

_Static_assert(sizeof(struct shared) == sizeof(foreign), "Xen's page takes the place of one");

/* Waits with interrupts on until one is taken, and returns the time. */
u64 wait_taken(void);
extern char domains_vectors[];

asm(".pushsection .text\n"
    ".balign 2048\n"
    "domains_vectors:\n"
    ".rept 5\n"
    "	b	vectors + (. - domains_vectors)\n"
    ".balign 128\n"
    ".endr\n"
    "	isb\n"				/* at 0x280 */
    "	mrs	x0, cntpct_el0\n"
    "	hint	#0x74\n"
    "	adr	x1, 2f\n"
    "	msr	elr_el1, x1\n"
    "	mrs	x1, spsr_el1\n"
    "	orr	x1, x1, #0x80\n"
    "	msr	spsr_el1, x1\n"
    "	eret\n"
    ".balign 128\n"
    ".rept 10\n"
    "	b	vectors + (. - domains_vectors)\n"
    ".balign 128\n"
    ".endr\n"
    "wait_taken:\n"
    "	msr	daifclr, #2\n"
    "1:	wfi\n"
    "	b	1b\n"
    "2:	ret\n"
    ".popsection\n");

static u64 now(void)
{
	isb();
	return read_sysreg(cntpct_el0);
}

static void give_way(void)
{
	xen_call(XEN_SCHED, SCHED_YIELD, 0, 0);
}

static bool map_shared(void)
{
	struct {
		u16 domain, size;
		u32 space;
		u64 index, page;
	} add = { .domain = DOMID_SELF, .space = SPACE_SHARED_INFO, .page = (u64)&shared >> 12 };
	s64 answer = xen_call(XEN_MEMORY, MEMORY_ADD, (u64)&add, 0);

	return check(!answer, "Xen does not map its shared page: %ld", (long)answer);
}

static bool map_mailbox(u64 at)
{
	u64 theirs = at >> 12, ours = (u64)foreign >> 12;
	int error = 0;
	struct {
		u16 domain, space, size, foreign;
		u64 theirs, ours, errors;
	} add = {
		DOMID_SELF, SPACE_FOREIGN, 1, DOMU, (u64)&theirs, (u64)&ours, (u64)&error,
	};
	s64 answer = xen_call(XEN_MEMORY, MEMORY_ADD_BATCH, (u64)&add, 0);

	mailbox = (struct mailbox *)foreign;
	return check(!answer && !error, "Xen does not map the domU's page: %ld, %d", (long)answer,
		     error);
}

/* ---- event channels ---- */

static bool events_init(void)
{
	if (!check(machine.xen_irq, "the device tree has no interrupt of Xen's") || !map_shared() ||
	    !gic_init(0))
		return false;
	write_sysreg(vbar_el1, domains_vectors);
	isb();
	shared.masks[port / 64] &= ~(1UL << port % 64);
	gic_enable(0, machine.xen_irq);
	return true;
}

static void send(void)
{
	xen_call(XEN_EVENT, EVENT_SEND, (u64)&port, 0);
}

/* Waits for the event, and returns the time when it was taken. */
static u64 wait_event(void)
{
	u64 taken, bit = 1UL << port % 64;
	bool is_it;
	u32 irq;

	do {
		taken = wait_taken();
		irq = gic_acknowledge();
		shared.pending = 0;
		shared.words = 0;
		is_it = shared.events[port / 64] & bit;
		shared.events[port / 64] &= ~bit;
		dsb();
		if (irq < 1020)
			gic_end(irq);
	} while (!is_it);
	return taken;
}

static void wait_apart(void)
{
	u64 end = now() + APART;

	while (now() < end)
		asm volatile("yield");
}

static void domu_signals(void)
{
	u64 taken;

	if (!events_init())
		return;
	for (;;) {
		wait_apart();
		MARK_COUNT;
		mailbox->rang = now();
		send();
		taken = wait_event();
		mailbox->in = taken - mailbox->told;
		dsb();
		mailbox->times++;
	}
}

static void dom0_signals(void)
{
	u64 out, times, least_out = ~0UL, least_in = ~0UL;
	unsigned int time;

	if (!events_init())
		return;
	for (time = 0; time < WARM + TIMES; time++) {
		out = wait_event() - mailbox->rang;
		wait_apart();
		times = mailbox->times;
		MARK_COUNT;
		mailbox->told = now();
		send();
		while (mailbox->times == times)
			asm volatile("yield");
		if (time >= WARM && out < least_out)
			least_out = out;
		if (time >= WARM && mailbox->in < least_in)
			least_in = mailbox->in;
	}
	result("domains.times", WARM + TIMES, "count");
	result_milli("domains.out", least_out * 1000, "ticks");
	result_milli("domains.in", least_in * 1000, "ticks");
}

/* ---- switches ---- */

static void domu_yields(void)
{
	for (;;) {
		mailbox->turns++;
		give_way();
	}
}

static void dom0_yields(void)
{
	u64 start, took, turns, missed = 0, best = ~0UL;
	unsigned int round, i;

	give_way();
	MARK_FEED;
	for (round = 0; round < ROUNDS; round++) {
		turns = mailbox->turns;
		MARK_COUNT;
		start = now();
		for (i = 0; i < LOOPS; i++)
			give_way();
		took = now() - start;
		MARK_PAUSE;
		missed += mailbox->turns - turns != LOOPS;
		if (took < best)
			best = took;
	}
	MARK_END;
	check(!missed, "in %lu rounds of yields the turn was not always the other domain's", missed);
	result("domains.loops", 2 * LOOPS, "count");
	result_milli("domains.switch", best * 1000 / (2 * LOOPS), "ticks");
}

void guest_main(void)
{
	bool domu = machine_option(&machine, "domu", 0), io = machine_option(&machine, "io", 0);
	u64 at = machine_option(&machine, "mailbox", 0);

	mmu_enable();
	port = (u32)machine_option(&machine, "port", 0);
	if (!check(machine.xen && at, "this takes Xen, and a mailbox"))
		return;
	if (domu) {
		mailbox = (struct mailbox *)at;
		if (io)
			domu_signals();
		else
			domu_yields();
		return;
	}
	result("domains.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	if (!map_mailbox(at))
		return;
	if (io)
		dom0_signals();
	else
		dom0_yields();
}
