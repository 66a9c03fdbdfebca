// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual timer through the GICv3: interrupts arrive with the right INTID, none early, and WFI
 * ends for a pending interrupt even if it is masked. Also the cost of a timer interrupt to a running
 * guest, as in kvm-unit-tests' micro-bench: from its due time until the guest has ended it.
 */
#include "cost.h"

#define SHOTS 20
#define POLLS 100
#define LOOPS 50
#define WAIT_US 20
#define CTL_ENABLE 1UL
#define CTL_MASK 2UL
#define CTL_PENDING 4UL

static volatile unsigned int taken;
static volatile unsigned int early;
static volatile u32 last_irq;
static u64 worst;

static bool on_interrupt(struct frame *frame)
{
	u64 now, due;
	u32 irq;

	if (frame->vector != 0x280)
		return false;
	irq = gic_acknowledge();
	now = read_sysreg(cntvct_el0);
	due = read_sysreg(cntv_cval_el0);
	if (now < due)
		early++;
	else if (now - due > worst)
		worst = now - due;
	last_irq = irq;
	taken++;
	write_sysreg(cntv_ctl_el0, 0);
	isb();
	gic_end(irq);
	return true;
}

static void arm(u64 ticks)
{
	write_sysreg(cntv_cval_el0, read_sysreg(cntvct_el0) + ticks);
	write_sysreg(cntv_ctl_el0, CTL_ENABLE);
	isb();
}

/* WFI with interrupts masked: it must end, and the interrupt must still pend. */
static void masked_wait(u64 ticks)
{
	unsigned int before = taken;

	arm(ticks);
	while (!(read_sysreg(cntv_ctl_el0) & CTL_PENDING))
		asm volatile("wfi");
	check(taken == before, "an interrupt was taken while masked");
	check(read_sysreg(isr_el1) & 0x80, "ISR_EL1 does not show the pending interrupt");
	asm volatile("msr daifclr, #2\n\tisb\n\tmsr daifset, #2");
	check(taken == before + 1, "the pending interrupt did not come when unmasked");
}

/* Once ISTATUS is read as 1, the interrupt pends. */
static void polled(u64 ticks)
{
	unsigned int i, before, missed = 0;

	for (i = 0; i < POLLS; i++) {
		before = taken;
		arm(ticks + i);
		while (!(read_sysreg(cntv_ctl_el0) & CTL_PENDING))
			;
		missed += !(read_sysreg(isr_el1) & 0x80);
		asm volatile("msr daifclr, #2\n\tisb\n\tmsr daifset, #2");
		while (taken == before)
			asm volatile("wfi\n\tmsr daifclr, #2\n\tisb\n\tmsr daifset, #2");
	}
	check(!missed, "%u of %u times ISR_EL1 did not show a timer's interrupt", missed, POLLS);
}

static u64 wait;

static bool on_cost(struct frame *frame)
{
	u32 irq;

	if (frame->vector != 0x280)
		return false;
	irq = gic_acknowledge();
	write_sysreg(cntv_ctl_el0, 0);
	isb();
	gic_end(irq);
	taken++;
	return true;
}

/* Run with interrupts unmasked until one was taken, or until this time. */
static void run_until(u64 due, unsigned int before)
{
	asm volatile("msr daifclr, #2");
	while (taken == before && read_sysreg(cntvct_el0) < due)
		;
	asm volatile("msr daifset, #2");
}

static void until_taken(void)
{
	unsigned int before = taken;

	arm(wait);
	run_until(~0UL, before);
}

/* The same for a timer that must not interrupt: run until its due time. */
static void until_due(void)
{
	u64 due = read_sysreg(cntvct_el0) + wait;

	write_sysreg(cntv_cval_el0, due);
	write_sysreg(cntv_ctl_el0, CTL_ENABLE | CTL_MASK);
	isb();
	run_until(due, taken);
	write_sysreg(cntv_ctl_el0, 0);
	isb();
}

static void measure(void)
{
	u64 loops = machine_option(&machine, "loops", LOOPS);

	wait = read_sysreg(cntfrq_el0) / 1000000 * WAIT_US;
	exception_hook = on_cost;
	result("timer.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("timer.loops", loops, "count");
	result_milli("timer.cost", cost_beyond(until_taken, until_due, loops), "ticks");
}

void guest_main(void)
{
	u64 ticks = read_sysreg(cntfrq_el0) / 1000;
	unsigned int i;

	mmu_enable();
	if (!gic_init(0))
		return;
	exception_hook = on_interrupt;
	gic_enable(0, machine.virtual_timer_irq);
	masked_wait(ticks);
	for (i = 0; i < SHOTS; i++) {
		unsigned int before = taken;

		arm(ticks);
		while (taken == before)
			asm volatile("wfi\n\tmsr daifclr, #2\n\tisb\n\tmsr daifset, #2");
	}
	check(taken == SHOTS + 1, "%u interrupts for %u shots", taken, SHOTS + 1);
	result("timer.interrupts", taken, "count");
	polled(ticks / 10);
	check(!early, "%u interrupts came before their time", early);
	check(last_irq == machine.virtual_timer_irq, "interrupt %u instead of %u", last_irq,
	      machine.virtual_timer_irq);
	result("timer.latency", worst, "ticks");
	measure();
}
