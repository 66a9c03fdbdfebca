// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of an IPI to a CPU that waits in WFI, and of the answer to the first CPU, which waits
 * too: a round trip is two interrupts and two wake-ups. Also the cost of an IPI to a running CPU,
 * until that CPU takes it, as in the literature. With an ITS, also the cost of an LPI that the ITS
 * sends, as in kvm-unit-tests' micro-bench. With `running=0` only the first.
 */
#include "cost.h"
#include "its.h"

#define LOOPS 100
#define IPI 1
#define LPI (FIRST_LPI + 7)
#define SPURIOUS 1023

static volatile u64 sent, answered;
static volatile bool ready, busy;

static void send_ipi(unsigned int cpu)
{
	u64 mpidr = machine.mpidr[cpu];
	u64 to = (mpidr >> 32 & 0xff) << 48 | (mpidr >> 16 & 0xff) << 32 |
		 (mpidr >> 8 & 0xff) << 16 | (mpidr >> 4 & 0xf) << 44 | 1UL << (mpidr & 0xf);

	asm volatile("dsb ishst" : : : "memory");
	write_sysreg(s3_0_c12_c11_5, to | (u64)IPI << 24);	/* ICC_SGI1R */
	isb();
}

/* Interrupts are masked before and after, so that none is missed. */
static void wait_for_interrupt(void)
{
	asm volatile("wfi\n\tmsr daifclr, #2\n\tisb\n\tmsr daifset, #2" : : : "memory");
}

/*
 * A kernel's way to take an interrupt: it saves the registers that a function may change, and the
 * return address. All other exceptions are the library's.
 */
asm(".pushsection .text\n"
    ".balign 2048\n"
    "ipi_vectors:\n"
    ".rept 5\n"
    "	b	vectors + (. - ipi_vectors)\n"
    ".balign 128\n"
    ".endr\n"
    "	b	ipi_entry\n"		/* at 0x280 */
    ".balign 128\n"
    ".rept 10\n"
    "	b	vectors + (. - ipi_vectors)\n"
    ".balign 128\n"
    ".endr\n"
    "ipi_entry:\n"
    "	stp	x0, x1, [sp, #-176]!\n"
    "	stp	x2, x3, [sp, #16]\n"
    "	stp	x4, x5, [sp, #32]\n"
    "	stp	x6, x7, [sp, #48]\n"
    "	stp	x8, x9, [sp, #64]\n"
    "	stp	x10, x11, [sp, #80]\n"
    "	stp	x12, x13, [sp, #96]\n"
    "	stp	x14, x15, [sp, #112]\n"
    "	stp	x16, x17, [sp, #128]\n"
    "	stp	x18, x30, [sp, #144]\n"
    "	mrs	x0, elr_el1\n"
    "	mrs	x1, spsr_el1\n"
    "	stp	x0, x1, [sp, #160]\n"
    "	bl	on_interrupt\n"
    "	ldp	x0, x1, [sp, #160]\n"
    "	msr	elr_el1, x0\n"
    "	msr	spsr_el1, x1\n"
    "	ldp	x18, x30, [sp, #144]\n"
    "	ldp	x16, x17, [sp, #128]\n"
    "	ldp	x14, x15, [sp, #112]\n"
    "	ldp	x12, x13, [sp, #96]\n"
    "	ldp	x10, x11, [sp, #80]\n"
    "	ldp	x8, x9, [sp, #64]\n"
    "	ldp	x6, x7, [sp, #48]\n"
    "	ldp	x4, x5, [sp, #32]\n"
    "	ldp	x2, x3, [sp, #16]\n"
    "	ldp	x0, x1, [sp], #176\n"
    "	eret\n"
    ".popsection\n");

extern char ipi_vectors[];
void on_interrupt(void);

/* TPIDR_EL1 holds the CPU's number, as in kernels. */
static void set_up(unsigned int cpu)
{
	write_sysreg(tpidr_el1, cpu);
	write_sysreg(vbar_el1, ipi_vectors);
	isb();
	gic_enable(cpu, IPI);
}

void on_interrupt(void)
{
	u32 irq = gic_acknowledge();

	gic_end(irq);
	/* Only the IPI and the LPI are enabled, so every other INTID is one of these. */
	if (irq == SPURIOUS)
		return;
	if (!read_sysreg(tpidr_el1)) {
		answered++;
	} else {
		sent++;
		if (!busy)
			send_ipi(0);
	}
}

/* On a counted board CPUs take turns: a yield ends this one's. */
static void run_on(void)
{
	asm volatile("msr daifclr, #2" : : : "memory");
	while (busy)
		asm volatile("yield");
	asm volatile("msr daifset, #2" : : : "memory");
}

static void answer(unsigned int cpu)
{
	if (!gic_init(cpu))
		return;
	set_up(cpu);
	ready = true;
	for (;;) {
		wait_for_interrupt();
		run_on();
	}
}

static void round_trip(void)
{
	u64 before = answered;

	send_ipi(1);
	while (answered == before)
		wait_for_interrupt();
}

static void one_way(void)
{
	u64 before = sent;

	send_ipi(1);
	while (sent == before)
		asm volatile("yield");
}

static void one_lpi(void)
{
	u64 before = sent;

	its_send();
	while (sent == before)
		asm volatile("yield");
}

void guest_main(void)
{
	u64 loops = machine_option(&machine, "loops", LOOPS);

	mmu_enable();
	if (!check(machine.cpu_count > 1, "this takes two CPUs") || !gic_init(0))
		return;
	set_up(0);
	if (!check(!cpu_start(1, answer), "the second CPU does not start"))
		return;
	while (!ready)
		asm volatile("yield");
	result("ipi.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("ipi.loops", loops, "count");
	result_milli("ipi.cost", cost_of(round_trip, loops), "ticks");
	check(sent == answered, "%lu interrupts, %lu answers", sent, answered);
	if (!machine_option(&machine, "running", 1))
		return;
	busy = true;
	one_way();
	result_milli("ipi.running", cost_of(one_way, loops), "ticks");
	if (!machine.gic_its.size || !its_init(1, LPI))
		return;
	one_lpi();
	result_milli("ipi.lpi", cost_of(one_lpi, loops), "ticks");
}
