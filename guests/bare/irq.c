// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of completing an interrupt: acknowledge and end. The CPU sends it to itself with
 * interrupts masked; the cost of sending is measured separately, with one that stays pending, and
 * subtracted. `eoi` is the end alone, without an interrupt, as in kvm-unit-tests' micro-bench.
 */
#include "cost.h"

#define LOOPS 500
#define TAKEN 1
#define LEFT 2
#define SPURIOUS 1023

static u64 others;	/* interrupts acknowledged that nobody sent */

/* To this CPU, which is the boot CPU. */
static void send(u32 irq)
{
	write_sysreg(s3_0_c12_c11_5, (u64)irq << 24 | 1);	/* ICC_SGI1R */
	isb();
}

static void complete(void)
{
	u32 irq;

	send(TAKEN);
	irq = gic_acknowledge();
	gic_end(irq);
	others += irq != TAKEN;
}

/* With interrupts masked: already pending, except the first time. */
static void leave(void)
{
	send(LEFT);
}

static void end_none(void)
{
	gic_end(SPURIOUS);
}

void guest_main(void)
{
	u64 loops = machine_option(&machine, "loops", LOOPS);
	u32 irq;

	mmu_enable();
	if (!check(!(machine.mpidr[0] & 0xffffff), "the boot CPU has an affinity") || !gic_init(0))
		return;
	gic_enable(0, TAKEN);
	result("irq.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("irq.loops", loops, "count");
	result_milli("irq.completion", cost_beyond(complete, leave, loops), "ticks");
	result_milli("irq.eoi", cost_of(end_none, loops), "ticks");
	check(!others, "%lu times another interrupt was there", others);
	irq = gic_acknowledge();
	/* SGIs may be enabled from reset on, and are under KVM. */
	if (irq == LEFT) {
		gic_end(irq);
		irq = gic_acknowledge();
	}
	check(irq == SPURIOUS, "interrupt %u is left", irq);
}
