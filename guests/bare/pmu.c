// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU counts the guest's instructions, and not the hypervisor's: those of a loop, at EL1 and at
 * EL0, as PMEVTYPER<n>_EL0 filters them. A counter that overflows raises an interrupt. Instructions
 * are counted where PMCEID0_EL0 has them (on an emulated machine that counts its own), cycles
 * everywhere.
 */
#include "guest.h"

/* PMUVer of ID_AA64DFR0_EL1 */
#define PMU_V3P4 5
#define INST_RETIRED 0x08UL
#define CPU_CYCLES 0x11UL
#define NOT_EL1 (1UL << 31)
#define NOT_EL0 (1UL << 30)
#define PMCR_E 1UL
#define PMCR_LC (1UL << 6)
#define COUNTER 1UL
#define LOOPS 20000UL
/* A loop has two instructions; the code around the loops adds an exception at most. */
#define INSTRUCTIONS (2 * LOOPS)
#define AROUND 128UL

static u64 event;
static volatile unsigned int taken;
static volatile u64 overflowed;
static volatile u32 last_irq;

/* x1 holds the address to continue at after an SVC from EL0. */
static bool on_exception(struct frame *frame)
{
	if (frame->vector == 0x400 && frame->esr >> 26 == 0x15) {
		frame->elr = frame->x[1];
		frame->spsr = 0x3c5;
		return true;
	}
	if (frame->vector != 0x280)
		return false;
	last_irq = gic_acknowledge();
	overflowed = read_sysreg(pmovsset_el0);
	write_sysreg(pmovsclr_el0, overflowed);
	isb();
	taken++;
	gic_end(last_irq);
	return true;
}

static void loop(void)
{
	u64 n = LOOPS;

	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (n) : : "cc");
}

static void loop_at_el0(void)
{
	asm volatile("adr x1, 3f\n\tadr x0, 2f\n\tmsr elr_el1, x0\n\tmsr spsr_el1, xzr\n\t"
		     "mov x0, %0\n\tisb\n\teret\n"
		     "2: subs x0, x0, #1\n\tb.ne 2b\n\tsvc #0\n"
		     "3:" : : "r" (LOOPS) : "x0", "x1", "cc", "memory");
}

/* Starts the counter at `value`. */
static void start(u64 filter, u64 value)
{
	write_sysreg(pmcntenclr_el0, COUNTER);
	write_sysreg(pmevtyper0_el0, event | filter);
	write_sysreg(pmevcntr0_el0, value);
	write_sysreg(pmcntenset_el0, COUNTER);
	isb();
}

static u64 stop(void)
{
	isb();
	write_sysreg(pmcntenclr_el0, COUNTER);
	isb();
	return read_sysreg(pmevcntr0_el0);
}

static u64 count(u64 filter, void (*work)(void))
{
	start(filter, 0);
	work();
	return stop();
}

/* An exit to user space, whose instructions are not the guest's. */
static void loop_and_exit(void)
{
	loop();
	psci(PSCI_VERSION, 0, 0, 0);
	print("counting\n");
}

static void expect(const char *name, u64 counted, u64 instructions)
{
	result(name, counted, event == INST_RETIRED ? "instructions" : "cycles");
	if (event == INST_RETIRED)
		check(counted >= instructions && counted < instructions + AROUND,
		      "%s: %lu instructions, not %lu", name, counted, instructions);
	else
		check(!counted == !instructions, "%s: %lu cycles", name, counted);
}

static void overflow(void)
{
	unsigned int i;

	write_sysreg(pmintenset_el1, COUNTER);
	start(0, (u32)-(INSTRUCTIONS / 2));
	asm volatile("msr daifclr, #2");
	/* If the emulated PMU counts cycles by the machine's clock, it is late on a busy machine. */
	for (i = 0; i < 10000 && !taken; i++)
		loop();
	asm volatile("msr daifset, #2");
	stop();
	write_sysreg(pmintenclr_el1, COUNTER);
	check(taken == 1, "%u interrupts for one overflow", taken);
	check(overflowed == COUNTER, "overflows %lx", overflowed);
	check(last_irq == machine.pmu_irq, "interrupt %u instead of %u", last_irq,
	      machine.pmu_irq);
	result("pmu.interrupts", taken, "count");
}

void guest_main(void)
{
	if (!check(read_sysreg(id_aa64dfr0_el1) >> 8 & 15, "there is no PMU"))
		return;
	if (!gic_init(0))
		return;
	exception_hook = on_exception;
	gic_enable(0, machine.pmu_irq);
	event = read_sysreg(pmceid0_el0) >> INST_RETIRED & 1 ? INST_RETIRED : CPU_CYCLES;
	write_sysreg(pmcntenclr_el0, ~0UL);
	write_sysreg(pmintenclr_el1, ~0UL);
	write_sysreg(pmovsclr_el0, ~0UL);
	write_sysreg(pmcr_el0, PMCR_E | PMCR_LC);
	result("pmu.counters", read_sysreg(pmcr_el0) >> 11 & 31, "count");
	/* PMMIR_EL1: Linux reads it on CPUs with FEAT_PMUv3p4. */
	if ((read_sysreg(id_aa64dfr0_el1) >> 8 & 15) >= PMU_V3P4)
		result("pmu.slots", read_sysreg(s3_0_c9_c14_6), "count");

	expect("pmu.el1", count(0, loop), INSTRUCTIONS);
	expect("pmu.el0", count(0, loop_at_el0), INSTRUCTIONS);
	expect("pmu.el1.not_el1", count(NOT_EL1, loop), 0);
	expect("pmu.el1.not_el0", count(NOT_EL0, loop), INSTRUCTIONS);
	expect("pmu.el0.not_el1", count(NOT_EL1, loop_at_el0), INSTRUCTIONS);
	expect("pmu.neither", count(NOT_EL0 | NOT_EL1, loop_at_el0), 0);
	result("pmu.exits", count(0, loop_and_exit), "count");
	overflow();
}
