// SPDX-License-Identifier: GPL-2.0
/*
 * Uses the last GiB of the address space, where the module has its window: each part of 2 MiB in
 * turn, in both directions, so that every part is at the window's position at some time. First on
 * one CPU with every register known: instructions of EL1 and EL0 there that access three other
 * parts, the guest's own faults, AT, TLBI, cache maintenance, a device. Then on all CPUs at once.
 * t1sz=N is TCR_EL1.T1SZ; rounds=N is the number of rounds of all CPUs.
 */
#include "mmu.h"
#include "probe.h"
#include "together.h"

#define GIB		0xffffffffc0000000UL
#define PARTS		512U
#define PART_SHIFT	21
#define PART_SIZE	(1UL << PART_SHIFT)
#define WORDS		512U
#define KERNEL		(PTE_PAGE | PTE_AF | PTE_INNER | PTE_NORMAL | PTE_UXN)
#define USER		(PTE_PAGE | PTE_AF | PTE_INNER | PTE_NORMAL | PTE_USER | PTE_PXN)
#define SPREAD		64U
#define MANY		20	/* failures, after which the tests stop */

/* Pages of a part; all parts have the same table for them. */
enum {
	CODE, USER_CODE, READONLY, CHANGE, DEVICE, COUNT, UNMAPPED,
	DATA = 16, USER_DATA = DATA + SPREAD, OWN = USER_DATA + SPREAD,
	LAST = 511,
};

/* Tables of all levels, so that a half of any size can begin its walk at one of them. */
static u64 level_0[512] __attribute__((aligned(4096)));
static u64 level_1[512] __attribute__((aligned(4096)));
static u64 level_2[512] __attribute__((aligned(4096)));
static u64 level_3[512] __attribute__((aligned(4096)));
static u64 code[WORDS] __attribute__((aligned(4096)));
static u64 data[SPREAD][WORDS] __attribute__((aligned(4096)));
static u64 user_data[SPREAD][WORDS] __attribute__((aligned(4096)));
static u64 own[MAX_CPUS][WORDS] __attribute__((aligned(4096)));
static u64 change[2][WORDS] __attribute__((aligned(4096)));
static u64 readonly[WORDS] __attribute__((aligned(4096)));
static u64 counted[WORDS] __attribute__((aligned(4096)));

static unsigned int first;	/* the first part that the half has */
static u64 rounds;

/* x1 and x3: addresses to load and store at; x6: one whose 16 bytes are in two parts. */
static const u32 piece[] = {
	0xf9400020,	/* ldr x0, [x1] */
	0xf9000062,	/* str x2, [x3] */
	0xa94014c4,	/* ldp x4, x5, [x6] */
	0xd42000e0,	/* brk #7 */
};

static u64 at(unsigned int part, unsigned int page)
{
	return GIB + ((u64)part << PART_SHIFT) + ((u64)page << 12);
}

/* The n'th part after this one, wrapping around to the first. */
static unsigned int after(unsigned int part, unsigned int n)
{
	return first + (part - first + n) % (PARTS - first);
}

static void flush_page(u64 va)
{
	asm volatile("dsb ishst\n\ttlbi vaae1is, %0\n\tdsb ish\n\tisb"
		     : : "r" (va >> 12 & 0xfffffffffffUL) : "memory");
}

static void flush(void)
{
	asm volatile("dsb ish\n\ttlbi vmalle1is\n\tdsb ish\n\tisb" : : : "memory");
}

static void fill_tables(void)
{
	unsigned int i;

	for (i = 0; i < SPREAD; i++) {
		level_3[DATA + i] = (u64)data[i] | KERNEL | PTE_PXN;
		level_3[USER_DATA + i] = (u64)user_data[i] | USER | PTE_UXN;
	}
	for (i = 0; i < MAX_CPUS; i++)
		level_3[OWN + i] = (u64)own[i] | KERNEL | PTE_PXN;
	level_3[CODE] = (u64)code | KERNEL | PTE_READONLY;
	level_3[USER_CODE] = (u64)code | USER | PTE_READONLY;
	level_3[READONLY] = (u64)readonly | KERNEL | PTE_PXN | PTE_READONLY;
	level_3[CHANGE] = (u64)change[0] | KERNEL | PTE_PXN;
	level_3[COUNT] = (u64)counted | KERNEL | PTE_PXN;
	level_3[LAST] = (u64)readonly | USER | PTE_UXN;
	if (machine.rtc.size)
		level_3[DEVICE] = (machine.rtc.base & ~4095UL) | PTE_PAGE | PTE_AF | PTE_DEVICE |
				  PTE_PXN | PTE_UXN;
	for (i = 0; i < PARTS; i++)
		level_2[i] = (u64)level_3 | PTE_TABLE;
	level_1[511] = (u64)level_2 | PTE_TABLE;
	level_0[511] = (u64)level_1 | PTE_TABLE;
}

static u64 tcr, ttbr1;

static void use_upper(void)
{
	write_sysreg(ttbr1_el1, ttbr1);
	write_sysreg(tcr_el1, tcr);
	isb();
	flush();
}

/* The table where a walk begins, for addresses of this many bits. */
static void choose_half(unsigned int t1sz)
{
	unsigned int bits = 64 - t1sz;
	u64 *table = bits > 39 ? level_0 : bits > 30 ? level_1 : level_2;
	unsigned int shift = bits > 39 ? 39 : bits > 30 ? 30 : PART_SHIFT;

	ttbr1 = (u64)(table + 512 - (1U << (bits - shift)));
	tcr = TCR_T0SZ(25) | TCR_T1SZ(t1sz) | TCR_WALK0 | TCR_WALK1 | TCR_TBI | mmu_tcr_ips();
	if (bits < 30)
		first = PARTS - (1U << (bits - PART_SHIFT));
}

static void load_code(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(piece); i++) {
		code[i / 2] |= (u64)piece[i] << 32 * (i % 2);
		asm volatile("dc cvau, %0" : : "r" (&code[i / 2]) : "memory");
	}
	asm volatile("dsb ish\n\tic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}

/* ---- one CPU, every register ----------------------------------------------------- */

static struct probe_state before, now;

static void set_registers(unsigned int part, bool el0)
{
	unsigned int i, page = (el0 ? USER_DATA : DATA) + part % SPREAD, across = after(part, 3);

	for (i = 0; i < 31; i++)
		before.x[i] = 0x5eed000000000000UL | (u64)part << 16 | i;
	before.sp_el0 = 0x1111111111111110UL;
	before.sp_el1 = 0x2222222222222220UL;
	before.x[1] = at(after(part, 1), page);
	before.x[3] = at(after(part, 2), page) + 8;
	/* The last part has no next one, and EL0 may not read the beginning of the next one. */
	if (el0 || across == PARTS - 1)
		before.x[6] = at(across, LAST);
	else
		before.x[6] = at(across, LAST) + 4096 - 8;
	before.pc = at(part, el0 ? USER_CODE : CODE);
	before.pstate = el0 ? PSTATE_EL0 : PSTATE_EL1H;
}

static void run(void)
{
	now = before;
	write_sysreg(vbar_el1, (u64)probe_vectors);
	isb();
	probe_run(&now);
}

/* Is a register one that the piece loads? */
static bool is_loaded(unsigned int n)
{
	return n == 0 || n == 4 || n == 5;
}

static void check_kept(const char *what, unsigned int part, bool done)
{
	unsigned int i;

	for (i = 0; i < 31; i++)
		if (!done || !is_loaded(i))
			check(now.x[i] == before.x[i], "%s, part %u: x%u is %lx, not %lx", what,
			      part, i, now.x[i], before.x[i]);
	check(now.sp_el0 == before.sp_el0 && now.sp_el1 == before.sp_el1,
	      "%s, part %u: a stack pointer is lost", what, part);
}

static void check_piece(unsigned int part, bool el0)
{
	const char *what = el0 ? "EL0" : "EL1";
	u64 (*pages)[WORDS] = el0 ? user_data : data;
	u64 *words = pages[part % SPREAD];

	set_registers(part, el0);
	words[0] = ~(u64)part;
	words[1] = 0;
	run();
	check(esr_class(now.esr) == 0x3c && now.pc == before.pc + 12,
	      "%s, part %u: vector %lx, esr %lx at %lx, far %lx", what, part, now.vector, now.esr,
	      now.pc, now.far);
	check_kept(what, part, true);
	check(now.x[0] == ~(u64)part && words[1] == before.x[2], "%s, part %u: read %lx, wrote %lx",
	      what, part, now.x[0], words[1]);
	check(now.x[4] == (before.x[6] & 4095 ? readonly[WORDS - 1] : readonly[0]) &&
	      now.x[5] == (before.x[6] & 4095 ? code[0] : readonly[1]),
	      "%s, part %u: across: %lx, %lx", what, part, now.x[4], now.x[5]);
}

/* The guest's own fault: the syndrome is the same in all parts. */
static void check_fault(const char *what, unsigned int part, u64 far, u64 *esr)
{
	run();
	if (!*esr) {
		*esr = now.esr;
		print("%s: esr %lx\n", what, now.esr);
	}
	check(now.esr == *esr && now.far == far && now.pc == before.pc,
	      "%s, part %u: esr %lx, far %lx, pc %lx", what, part, now.esr, now.far, now.pc);
	check_kept(what, part, false);
}

/* Faults of EL1 and EL0: in the next part, where a table is missing, and in the part itself. */
static void check_faults(unsigned int part)
{
	static u64 esr[10];
	unsigned int next = after(part, 1);

	set_registers(part, false);
	before.x[1] = at(next, UNMAPPED) + 8;
	check_fault("EL1 reads nothing", part, before.x[1], &esr[0]);
	before.pc = at(part, DATA);
	check_fault("EL1 executes data", part, before.pc, &esr[1]);
	before.pc = at(part, UNMAPPED);
	check_fault("EL1 executes nothing", part, before.pc, &esr[2]);
	set_registers(part, true);
	before.x[1] = at(next, DATA);
	check_fault("EL0 reads EL1's", part, before.x[1], &esr[3]);
	before.x[1] = at(next, UNMAPPED);
	check_fault("EL0 reads nothing", part, before.x[1], &esr[4]);
	before.pc = at(part, CODE);
	check_fault("EL0 executes EL1's", part, before.pc, &esr[5]);
	/* A fault in the part itself, with no access to another part before. */
	set_registers(part, false);
	before.x[1] = at(part, UNMAPPED);
	check_fault("EL1 reads nothing where it runs", part, before.x[1], &esr[6]);
	level_2[next] = 0;
	flush();
	before.x[1] = at(next, DATA);
	check_fault("EL1 reads where no table is", part, before.x[1], &esr[7]);
	set_registers(part, true);
	before.x[1] = at(next, 0);
	check_fault("EL0 reads where no table is", part, before.x[1], &esr[8]);
	level_2[next] = (u64)level_3 | PTE_TABLE;
	asm volatile("dsb ishst\n\tisb" : : : "memory");
}

static void check_outside(void)
{
	unsigned int part;
	u64 esr = 0;

	for (part = 0; part < first && failures() < MANY; part++) {
		set_registers(first, false);
		before.x[1] = at(part, DATA);
		check_fault("EL1 reads outside of its half", part, before.x[1], &esr);
	}
}

/* ---- one CPU, instructions that name an address ----------------------------------- */

static u64 translate(u64 va)
{
	asm volatile("at s1e1w, %0\n\tisb" : : "r" (va) : "memory");
	return read_sysreg(par_el1);
}

static void check_names(unsigned int part)
{
	volatile u64 *word = (u64 *)at(part, CHANGE);
	unsigned int i;

	check((translate(at(part, DATA + 3)) & (PTE_ADDRESS | 1)) == (u64)data[3],
	      "AT, part %u: %lx", part, translate(at(part, DATA + 3)));
	check((translate(at(part, UNMAPPED)) & 0x7f) == 0xf, "AT of nothing, part %u: %lx", part,
	      translate(at(part, UNMAPPED)));
	for (i = 1; i < 3; i++) {
		check(*word == change[!(i & 1)][0], "part %u: %lx", part, *word);
		level_3[CHANGE] = 0;
		flush_page((u64)word);
		level_3[CHANGE] = (u64)change[i & 1] | KERNEL | PTE_PXN;
		asm volatile("dsb ishst\n\tisb" : : : "memory");
	}
	check(*word == change[0][0], "part %u: %lx", part, *word);
	data[4][0] = ~0UL;
	asm volatile("dc civac, %0\n\tdsb ish\n\tdc zva, %1\n\tdsb ish"
		     : : "r" (at(part, CHANGE)), "r" (at(part, DATA + 4)) : "memory");
	check(!data[4][0], "DC ZVA, part %u", part);
	fetch_add_one((unsigned int *)at(part, DATA + 5));
	if (machine.rtc.size)
		check((*(volatile u32 *)(at(part, DEVICE) + 0xfe0) & 255) == 0x31,
		      "part %u: the device is another", part);
}

/* ---- all CPUs ----------------------------------------------------------------------- */

/* Up, down, or back and forth between the halves of the range. */
static unsigned int part_of(unsigned int cpu, unsigned int i)
{
	unsigned int parts = PARTS - first;

	switch (cpu % 3) {
	case 0:
		return first + i;
	case 1:
		return first + parts - 1 - i;
	default:
		return first + (i / 2 + (i & 1 ? parts / 2 : 0)) % parts;
	}
}

static volatile bool wrong[MAX_CPUS];

static void go_around(unsigned int cpu)
{
	u64 round, i;

	use_upper();
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < PARTS - first; i++) {
			unsigned int part = part_of(cpu, i);
			volatile u64 *word = (u64 *)at(part, OWN + cpu) + i;

			if (*word != round)
				wrong[cpu] = true;
			*word = round + 1;
			fetch_add_one((unsigned int *)at(part, COUNT));
		}
	}
}

static void check_together(void)
{
	unsigned int cpu, i, parts = PARTS - first;

	together(go_around);
	for (cpu = 0; cpu < machine.cpu_count; cpu++) {
		check(!wrong[cpu], "CPU %u read what it had not written", cpu);
		for (i = 0; i < parts; i++)
			check(own[cpu][i] == rounds, "CPU %u: %lx", cpu, own[cpu][i]);
	}
	check(counted[0] == machine.cpu_count * rounds * parts, "%lu additions", counted[0]);
	result("top.accesses", counted[0], "count");
}

void guest_main(void)
{
	unsigned int i, part;
	u64 vectors;

	mmu_enable();
	choose_half(machine_option(&machine, "t1sz", 16));
	rounds = machine_option(&machine, "rounds", 2);
	fill_tables();
	load_code();
	change[0][0] = 0xaaaa;
	change[1][0] = 0xbbbb;
	for (i = 0; i < WORDS; i++)
		readonly[i] = 0x4ead000000000000UL | i;
	use_upper();
	vectors = read_sysreg(vbar_el1);
	for (part = first; part < PARTS && failures() < MANY; part++) {
		check_piece(part, false);
		check_piece(part, true);
	}
	/* Down: each part is the position that the window has just moved to. */
	for (part = PARTS; part-- > first && failures() < MANY; ) {
		check_piece(part, part & 1);
		check_faults(part);
	}
	check_outside();
	write_sysreg(vbar_el1, vectors);
	isb();
	for (part = PARTS; part-- > first && failures() < MANY; )
		check_names(part);
	result("top.parts", PARTS - first, "count");
	check_together();
}
