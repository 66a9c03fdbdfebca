// SPDX-License-Identifier: GPL-2.0
/*
 * ICC_IAR1_EL1 and ICC_EOIR1_EL1 with each general-purpose register, as one CPU takes SGIs that it
 * sent to itself: in the identity map, and in the upper half as a kernel does it. A hypervisor may
 * complete these accesses in several ways, by where the code is and what it knows of the interrupt.
 */
#include "guest.h"
#include "kernel.h"

#define REGISTERS 32		/* the last one is XZR */
#define ACCESS_SIZE 32
#define NO_INTERRUPT 1023
#define IDLE 0xff
#define HIGH 0x40
#define LOW 0x80
#define GICR_IPRIORITYR 0x10400
#define LOOPS 8

typedef u64 access_fn(void);
/* For each register, ACCESS_SIZE bytes: acknowledge, end, and return the register's value. */
extern const char accesses[] __attribute__((visibility("hidden")));

asm(".pushsection .text\n"
    "	.macro	access, n, kept, got\n"
    "	.balign	32\n"
    "	mov	\\kept, \\n\n"
    "	mrs	\\n, s3_0_c12_c12_0\n"
    "	msr	s3_0_c12_c12_1, \\n\n"
    "	mov	\\got, \\n\n"
    "	mov	\\n, \\kept\n"
    "	mov	x0, \\got\n"
    "	ret\n"
    "	.endm\n"
    "	.balign	32\n"
    "accesses:\n"
    "	.irp	n, 0,1,2,3,4,5,6,7,8\n"
    "	access	x\\n, x9, x10\n"
    "	.endr\n"
    "	.irp	n, 9,10\n"
    "	access	x\\n, x11, x12\n"
    "	.endr\n"
    "	.irp	n, 11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n"
    "	access	x\\n, x9, x10\n"
    "	.endr\n"
    "	access	xzr, x9, x10\n"
    ".popsection\n");

static u32 running_priority(void)
{
	isb();
	return (u32)read_sysreg(s3_0_c12_c11_3);
}

static void send(u32 sgi)
{
	write_sysreg(s3_0_c12_c11_5, (u64)sgi << 24 | 1);
	isb();
}

static void set_priority(u32 sgi, u8 priority)
{
	*(volatile u8 *)(gic_redistributor(0) + GICR_IPRIORITYR + sgi) = priority;
	dsb();
}

/* XZR acknowledges and ends SGI 0 without seeing it. */
static void each_register(const char *where)
{
	unsigned int n;
	u64 got;
	u32 sgi;

	for (n = 0; n < REGISTERS; n++) {
		access_fn *access = (access_fn *)(accesses + n * ACCESS_SIZE);

		sgi = n == REGISTERS - 1 ? 0 : n % 15 + 1;
		send(sgi);
		got = access();
		check(got == sgi, "%s, x%u: SGI %u is acknowledged as %lu", where, n, sgi, got);
		if (n % 4)
			continue;
		check(running_priority() == IDLE, "%s, x%u: SGI %u is not ended", where, n, sgi);
		got = gic_acknowledge();
		check(got == NO_INTERRUPT, "%s, x%u: %lu is left", where, n, got);
	}
}

/* The other is pending when the first one ends. */
static void two_at_once(const char *where)
{
	u32 first, second;

	send(1);
	send(2);
	first = gic_acknowledge();
	gic_end(first);
	second = gic_acknowledge();
	gic_end(second);
	check(first == 2 && second == 1, "%s: SGIs 1 and 2 come as %u, %u", where, first, second);
}

/* One of higher priority comes before the first one's end, and ends first. */
static void nested(const char *where)
{
	u32 outer, inner, running;

	send(1);
	outer = gic_acknowledge();
	send(2);
	inner = gic_acknowledge();
	running = running_priority();
	gic_end(inner);
	check(outer == 1 && inner == 2 && running == HIGH, "%s: in SGI %u comes %u at priority %x",
	      where, outer, inner, running);
	check(running_priority() == LOW, "%s: the outer SGI has no priority", where);
	gic_end(outer);
	check(running_priority() == IDLE, "%s: the outer SGI is not ended", where);
}

/* One of the same priority waits until the first one ends. */
static void same_priority(const char *where)
{
	u32 early, late;

	send(1);
	gic_acknowledge();
	send(3);
	early = gic_acknowledge();
	gic_end(1);
	late = gic_acknowledge();
	gic_end(late);
	check(early == NO_INTERRUPT && late == 3, "%s: SGI 3 comes as %u, then as %u", where, early,
	      late);
}

/* Acknowledged and ended while masked, sent and not acknowledged, ended without being there. */
static void odd_ones(const char *where)
{
	u32 masked, open;

	write_sysreg(s3_0_c4_c6_0, LOW);
	send(1);
	masked = gic_acknowledge();
	write_sysreg(s3_0_c4_c6_0, 0xf8);
	open = gic_acknowledge();
	gic_end(open);
	check(masked == NO_INTERRUPT && open == 1, "%s: masked, SGI 1 comes as %u, then as %u", where,
	      masked, open);
	gic_end(NO_INTERRUPT);
	check(running_priority() == IDLE, "%s: an end without an interrupt", where);
}

static void all(const char *where)
{
	unsigned int i;

	for (i = 0; i < LOOPS; i++) {
		each_register(where);
		two_at_once(where);
		nested(where);
		same_priority(where);
		odd_ones(where);
	}
}

static void in_upper_half(unsigned int cpu)
{
	(void)cpu;
	all("in the upper half");
}

void guest_main(void)
{
	unsigned int sgi;

	mmu_enable();
	if (!check(!(machine.mpidr[0] & 0xffffff), "the boot CPU has an affinity") || !gic_init(0) ||
	    !kernel_init())
		return;
	for (sgi = 0; sgi < 16; sgi++) {
		gic_enable(0, sgi);
		set_priority(sgi, sgi == 2 ? HIGH : LOW);
	}
	result("icc.registers", REGISTERS, "count");
	all("in the identity map");
	kernel_run(in_upper_half, 0);
}
