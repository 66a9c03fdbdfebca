// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the sequences, on one CPU, or on two CPUs at the same addresses:
 *
 *	rounds=N	undisturbed runs of each sequence
 *	shots=N		runs of each with a timer interrupt somewhere in it
 *	used=1		the vectors are in an Image that uses its first 64 KiB, as in old kernels
 *	hole=1		used=1, and after the Image a hole in place of the init sections
 *	seed=N		of the sequences and of the values in registers
 *
 * A single CPU then writes other sequences to the same places, and the first ones again. With two
 * CPUs the first one changes NOPs to branches and back all the time, which the architecture allows
 * while another CPU executes them.
 */
#include "annex.h"

#define SEQUENCES	24
#define PLACES		3
#define FAR		(100UL << 20)
#define ROUNDS		2000
#define SHOTS		200
#define WAITING		8	/* runs that begin with a pending interrupt */
#define CPUS		2
#define TIMED		64	/* runs whose cost is printed */
#define FLIPS		16	/* runs between two flips */
#define CTL_ENABLE	1UL
#define ISR_I		0x80UL

enum how { ALONE, SHOT, PENDING };

struct cpu {
	struct state state, before;
	u64 stack[STACK_WORDS] __attribute__((aligned(4096)));
	u64 seed;
	u64 delay;		/* of a shot, in ticks */
	u64 runs, interrupts, failures;
	u64 first_cost, last_cost;
	struct finding finding;	/* the first one */
	unsigned int sequence;	/* and where */
	enum how how;
	volatile bool done;
};

static struct cpu cpus[CPUS] __attribute__((aligned(4096)));
static struct sequence sequences[SEQUENCES];
static u32 code[PLACES][1024] __attribute__((aligned(4096)));
static u64 places[SEQUENCES];	/* where interrupts were taken */
static const char *const complaints[NR_WRONG] = {
	[WRONG_IRQ_PLACE] = "an interrupt at no place that there is",
	[WRONG_IRQ_MASKED] = "an interrupt where it is masked",
	[WRONG_IRQ_LATE] = "no interrupt where one waits",
	[WRONG_IRQ_COUNT] = "another interrupt, or too many",
	[WRONG_SPSR] = "the interrupt's SPSR_EL1", [WRONG_X] = "a register X",
	[WRONG_SP] = "SP", [WRONG_NZCV] = "the flags", [WRONG_SYS] = "a system register",
	[WRONG_STACK] = "the stack",
};

/* Write the sequences: code near the Image, far above it, or far below. */
static void make_sequences(u64 seed)
{
	static const u64 away[PLACES] = { 0, FAR, -FAR };
	unsigned int i, place;
	u64 at;

	for (i = 0; i < SEQUENCES; i++) {
		place = i % PLACES;
		at = i / PLACES * SLOT_WORDS;
		sequences[i].words = (u32 *)kernel_pa(&code[place][at]);
		sequences[i].va = kernel_va(&code[place][at]) + away[place];
		/* A copy with sites must be executed at one address only. */
		*kernel_entry(kernel_va(code[place])) |= PTE_PXN;
		*kernel_entry(sequences[i].va) = kernel_pa(code[place]) | KERNEL_PAGE;
		sequence_make(&sequences[i], &seed);
		sequence_write(&sequences[i]);
	}
	kernel_flush();
}

/* ---- a run ------------------------------------------------------------------------- */

static u64 pattern(unsigned int i)
{
	return 0x57ac000000000000UL | i;
}

static u64 any_spsr(u64 *seed)
{
	static const u8 modes[] = { 0, 4, 5, 5 };
	u64 n = next_random(seed);

	return (n & 0xf00003c0) | modes[n & 3];
}

static void draw_state(struct cpu *cpu, const struct sequence *sequence)
{
	struct state *s = &cpu->before;
	unsigned int i, word = BELOW_WORDS + (next_random(&cpu->seed) % 440) * 2;

	for (i = 0; i < 31; i++)
		s->x[i] = next_random(&cpu->seed) * 0x10001;
	for (i = KEPT_FIRST; i <= KEPT_SMALL; i++)
		s->x[i] = (u32)s->x[i];
	for (; i <= KEPT_LAST; i++)
		s->x[i] = any_spsr(&cpu->seed);
	s->x[17] = sequence->va;
	s->sp = cpu->runs & 1 ? (u64)&cpu->stack[word] : kernel_pa(&cpu->stack[word]);
	s->nzcv = next_random(&cpu->seed) & 0xf0000000;
	for (i = 0; i < NR_WRITTEN; i++)
		s->sys[i] = next_random(&cpu->seed) * 0x100001;
	s->sys[REG_CONTEXTIDR] = (u32)s->sys[REG_CONTEXTIDR];
	s->sys[REG_SPSR] = any_spsr(&cpu->seed);
	s->irq_count = 0;
}

/* The interrupt comes when the code below has run for about cpu->delay, less a bit. */
static void shoot(struct cpu *cpu, enum how how)
{
	u64 n = next_random(&cpu->seed), less = n % 12, i;

	if (how == ALONE)
		return;
	if (how == PENDING || less > cpu->delay)
		less = cpu->delay;
	write_sysreg(cntv_cval_el0, read_sysreg(cntvct_el0) + cpu->delay - less);
	write_sysreg(cntv_ctl_el0, CTL_ENABLE);
	isb();
	while (how == PENDING && !(read_sysreg(isr_el1) & ISR_I))
		;
	/* A tick has several instructions: vary the one at which the interrupt comes. */
	for (i = 0; i < (n >> 8 & 15); i++)
		asm volatile("nop");
}

static void after_shot(struct cpu *cpu, unsigned int number, enum how how)
{
	const struct sequence *sequence = &sequences[number];
	u64 place = (cpu->state.irq_elr - sequence->va) / 4;

	if (how == ALONE)
		return;
	write_sysreg(cntv_ctl_el0, 0);
	isb();
	cpu->interrupts += cpu->state.irq_count;
	if (cpu->state.irq_count && place < 64 && cpu == cpus)
		places[number] |= 1UL << place;
	if (how == PENDING)
		return;
	if (cpu->state.irq_count)
		cpu->delay++;
	else if (cpu->delay > 4)
		cpu->delay -= 3;
}

/* Only the 16 bytes below SP may be written. */
static struct finding check_stack(struct cpu *cpu)
{
	u64 *stack = cpu->stack;
	unsigned int sp = (kernel_pa((void *)cpu->before.sp) - kernel_pa(stack)) / 8, i;

	for (i = sp - BELOW_WORDS; i < sp + 8; i++)
		if ((i < sp - 2 || i >= sp) && stack[i] != pattern(i))
			return (struct finding){ WRONG_STACK, i - sp, stack[i], pattern(i) };
	stack[sp - 2] = pattern(sp - 2);
	stack[sp - 1] = pattern(sp - 1);
	return (struct finding){ RIGHT };
}

static void run_once(struct cpu *cpu, unsigned int number, enum how how)
{
	const struct sequence *sequence = &sequences[number];
	struct finding finding;
	const u64 *stack;

	draw_state(cpu, sequence);
	cpu->state = cpu->before;
	shoot(cpu, how);
	annex_run(&cpu->state);
	after_shot(cpu, number, how);
	stack = (const u64 *)cpu->before.sp;
	finding = model_compare(sequence, &cpu->before, &cpu->state, stack, how == PENDING);
	if (!finding.what)
		finding = check_stack(cpu);
	cpu->runs++;
	if (!finding.what)
		return;
	if (!cpu->failures++) {
		cpu->finding = finding;
		cpu->sequence = number;
		cpu->how = how;
	}
}

/* ---- a CPU's runs --------------------------------------------------------------------- */

static void run_all(struct cpu *cpu, u64 rounds, enum how how)
{
	u64 i, start;
	unsigned int n;

	for (n = 0; n < SEQUENCES; n++) {
		start = read_sysreg(cntvct_el0);
		for (i = 0; i < rounds; i++) {
			run_once(cpu, n, how);
			if (i + 1 == TIMED && how == ALONE)
				cpu->first_cost += read_sysreg(cntvct_el0) - start;
			if (i + TIMED == rounds)
				start = read_sysreg(cntvct_el0);
			if (machine.cpu_count > 1 && cpu == cpus && i % FLIPS == 0)
				sequence_flip(&sequences[cpu->seed % SEQUENCES]);
		}
		if (how == ALONE)
			cpu->last_cost += read_sysreg(cntvct_el0) - start;
	}
}

static void set_up(unsigned int number)
{
	struct cpu *cpu = &cpus[number];
	u64 *sys = cpu->before.sys;
	unsigned int i;

	for (i = 0; i < STACK_WORDS; i++)
		cpu->stack[i] = pattern(i);
	cpu->seed = machine_option(&machine, "seed", 1) * (0x9e3779b97f4a7c15UL + 2 * number);
	cpu->delay = 100;
	if (machine_option(&machine, "used", 0) || machine_option(&machine, "hole", 0))
		write_sysreg(vbar_el1, kernel_va(kernel_first_vectors));
	write_sysreg(tpidr_el1, &cpu->state);
	write_sysreg(esr_el1, (u32)next_random(&cpu->seed));
	write_sysreg(far_el1, next_random(&cpu->seed) * 0x10001);
	isb();
	sys[REG_ESR] = read_sysreg(esr_el1);
	sys[REG_FAR] = read_sysreg(far_el1);
	sys[REG_TCR] = read_sysreg(tcr_el1);
	sys[REG_TTBR0] = read_sysreg(ttbr0_el1);
	sys[REG_TTBR1] = read_sysreg(ttbr1_el1);
	sys[REG_TPIDR_EL1] = (u64)&cpu->state;
}

static void runs(unsigned int number)
{
	u64 rounds = machine_option(&machine, "rounds", ROUNDS);
	u64 shots = machine_option(&machine, "shots", SHOTS);
	struct cpu *cpu = &cpus[number];

	set_up(number);
	run_all(cpu, rounds, ALONE);
	run_all(cpu, shots, SHOT);
	run_all(cpu, WAITING, PENDING);
}

/* Other sequences at the same addresses, then the first ones again. */
static void rewritten(u64 seed)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		make_sequences(i == 2 ? seed : seed + i + 1);
		run_all(cpus, TIMED, SHOT);
		run_all(cpus, WAITING, PENDING);
	}
}

static void first(unsigned int number)
{
	u64 seed = machine_option(&machine, "seed", 1);

	runs(number);
	if (machine.cpu_count == 1)
		rewritten(seed);
	cpus[number].done = true;
}

static void second(unsigned int number)
{
	runs(number);
	cpus[number].done = true;
}

static void start_second(unsigned int number)
{
	if (!gic_init(number))
		return;
	gic_enable(number, machine.virtual_timer_irq);
	kernel_run(second, number);
}

/* ---- results ----------------------------------------------------------------------------- */

static void report(const struct cpu *cpu, unsigned int number)
{
	static const char *const how[] = { "undisturbed", "with a shot", "with one waiting" };
	const struct finding *f = &cpu->finding;

	check(!cpu->failures, "CPU %u: %lu of %lu runs; sequence %u at %lx, %s: %s: %u: %lx, not %lx",
	      number, cpu->failures, cpu->runs, cpu->sequence, sequences[cpu->sequence].va,
	      how[cpu->how], complaints[f->what], f->at, f->is, f->should);
}

static u64 count_places(void)
{
	u64 n = 0, rest;
	unsigned int i;

	for (i = 0; i < SEQUENCES; i++)
		for (rest = places[i]; rest; rest &= rest - 1)
			n++;
	return n;
}

void guest_main(void)
{
	unsigned int i, nr = machine.cpu_count < CPUS ? machine.cpu_count : CPUS;
	u64 interrupts = 0, all = 0;

	mmu_enable();
	if (!gic_init(0) || !kernel_init())
		return;
	gic_enable(0, machine.virtual_timer_irq);
	if (machine_option(&machine, "hole", 0))
		kernel_make_hole();
	make_sequences(machine_option(&machine, "seed", 1));
	if (nr > 1 && !check(!cpu_start(1, start_second), "the second CPU does not start"))
		return;
	kernel_run(first, 0);
	while (nr > 1 && !cpus[1].done)
		;
	for (i = 0; i < nr; i++) {
		report(&cpus[i], i);
		interrupts += cpus[i].interrupts;
		all += cpus[i].runs;
	}
	result("annex.runs", all, "count");
	result("annex.interrupts", interrupts, "count");
	result("annex.places", count_places(), "count");
	result("annex.first", cpus[0].first_cost, "ticks");
	result("annex.last", cpus[0].last_cost, "ticks");
}
