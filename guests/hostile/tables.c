// SPDX-License-Identifier: GPL-2.0
/* Page tables without memory, with cycles, and changed by another CPU during a walk. */
#include "hostile.h"
#include "mmu.h"

#define ROUNDS 4000
#define SELF 300UL		/* index of a table in itself */
#define A_VALUE 0x1111111111111111UL
#define B_VALUE 0x2222222222222222UL
#define LEAF (PTE_PAGE | PTE_AF | PTE_INNER | PTE_NORMAL)

u64 upper_root[512] __attribute__((aligned(4096)));
u64 upper_middle[512] __attribute__((aligned(4096)));
u64 upper_leaf[512] __attribute__((aligned(4096)));
static u64 page_a[512] __attribute__((aligned(4096)));
static u64 page_b[512] __attribute__((aligned(4096)));
static u64 top_root[512] __attribute__((aligned(4096)));

void upper_init(void)
{
	upper_root[0] = (u64)upper_middle | PTE_TABLE;
	upper_middle[0] = (u64)upper_leaf | PTE_TABLE;
	dsb();
	write_sysreg(ttbr1_el1, (u64)upper_root);
	write_sysreg(tcr_el1, TCR_VALUE | mmu_tcr_ips());
	isb();
	upper_flush();
}

void upper_flush(void)
{
	asm volatile("dsb ish\n\ttlbi vmalle1is\n\tdsb ish\n\tisb" : : : "memory");
}

/* KVM of many kernels does not report that an external abort was on a walk. */
static bool as_expected(const struct outcome *o, unsigned int type)
{
	return o->taken && (FSC_TYPE(o->esr) == type ||
			    (type == FSC_EXTERNAL_WALK && FSC(o->esr) == FSC_EXTERNAL));
}

/* A table without memory: the walk of a read, a write and a jump ends there. */
static void table_at(const char *what, u64 place, unsigned int type)
{
	u64 *entries[] = { &upper_root[1], &upper_middle[1] };
	u64 at[] = { UPPER + (1UL << 30), UPPER + (1UL << 21) };
	struct outcome r, w, x;
	unsigned int i;

	upper_init();
	for (i = 0; i < 2; i++) {
		*entries[i] = place | PTE_TABLE;
		upper_flush();
		r = try_read(at[i] + 8);
		w = try_write(at[i] + 0x1000, 1);
		x = try_call(at[i]);
		check(as_expected(&r, type), "%s, read: taken %u, esr %lx", what,
		      r.taken, r.esr);
		check(as_expected(&w, type), "%s, write: taken %u, esr %lx", what,
		      w.taken, w.esr);
		check(as_expected(&x, type) && class_of(x.esr) == CLASS_FETCH,
		      "%s, jump: taken %u, esr %lx", what, x.taken, x.esr);
		check(r.far == at[i] + 8, "%s: far %lx", what, r.far);
		result("tables.fsc", FSC(r.esr), "code");
	}
}

void case_tables_device(void)
{
	table_at("a table that is a device", machine.rtc.base & ~4095UL, FSC_EXTERNAL_WALK);
	if (machine.gic_distributor.size)
		table_at("a table that is the GIC", machine.gic_distributor.base,
			 FSC_EXTERNAL_WALK);
}

void case_tables_hole(void)
{
	table_at("a table where no memory is", hole(), FSC_EXTERNAL_WALK);
}

/* Beyond the output size: an address size fault at the level of the entry. */
void case_tables_beyond(void)
{
	table_at("a table beyond all addresses", 0x0000800000000000UL, FSC_ADDRESS_SIZE);
}

/* The root is also a table of each lower level: its entries are memory at known addresses. */
void case_tables_self(void)
{
	u64 window = UPPER + (SELF << 30) + (SELF << 21);	/* the root, as a leaf of itself */
	struct outcome o;

	upper_init();
	/* The same bits are a page at level 3 and a table at the other levels. */
	upper_root[SELF] = (u64)upper_root | LEAF;
	upper_middle[0] = (u64)upper_leaf | LEAF;
	upper_flush();
	o = try_read(window + SELF * 4096 + SELF * 8);
	check(!o.taken && o.value == upper_root[SELF], "the root in itself: taken %u, %lx, not %lx",
	      o.taken, o.value, upper_root[SELF]);
	/* Map a page by a write through the self-mapping. */
	page_a[0] = A_VALUE;
	o = try_write(UPPER + (SELF << 30), (u64)page_a | LEAF);
	check(!o.taken, "the leaf table in itself: esr %lx", o.esr);
	upper_flush();
	o = try_read(UPPER);
	check(!o.taken && o.value == A_VALUE, "mapped through itself: taken %u, %lx", o.taken,
	      o.value);
	/* And an entry whose walk only ever reaches the root. */
	upper_root[2] = (u64)upper_root | LEAF;
	upper_flush();
	o = try_write(UPPER + (2UL << 30) + (2UL << 21) + 2 * 4096 + 3 * 8, 0);
	check(!o.taken && !upper_root[3], "a circle: esr %lx", o.esr);
}

/* ---- two CPUs -------------------------------------------------------------------------- */

static volatile bool stop;
static volatile u64 changes;

static void change_tables(unsigned int cpu)
{
	u64 leaves[] = {
		(u64)page_a | LEAF, (u64)page_b | LEAF, 0, hole() | LEAF,
		machine.rtc.base | PTE_PAGE | PTE_AF | PTE_DEVICE,
		(u64)upper_leaf | LEAF | PTE_READONLY, 0x0000800000000000UL | LEAF,
		(u64)page_a | (LEAF & ~PTE_AF), (u64)page_b | LEAF | PTE_READONLY,
	};
	u64 middles[] = { (u64)upper_leaf | PTE_TABLE, 0, (hole() & ~0x1fffffUL) | PTE_BLOCK | PTE_AF };
	u64 n = 0;

	(void)cpu;
	while (!stop) {
		*(volatile u64 *)&upper_leaf[0] = leaves[n % 9];
		if (n % 5 == 0)
			*(volatile u64 *)&upper_middle[0] = middles[n / 5 % 3];
		if (n % 3 == 0)
			upper_flush();
		else if (n % 3 == 1)
			asm volatile("dsb ishst\n\ttlbi vaae1is, %0\n\tdsb ish"
				     : : "r" (UPPER >> 12 & 0xfffffffffffUL) : "memory");
		n++;
		changes = n;
	}
	changes = 0;
	psci(PSCI_CPU_OFF, 0, 0, 0);
}

/* A read returns a word of one of the pages or of a table, or takes an exception. */
void case_tables_race(void)
{
	unsigned int i, taken = 0, a = 0, b = 0, j;
	struct outcome o;

	upper_init();
	for (j = 0; j < 512; j++) {
		page_a[j] = A_VALUE;
		page_b[j] = B_VALUE;
	}
	if (!check(machine.cpu_count > 1, "this needs two CPUs"))
		return;
	check(!cpu_start(1, change_tables), "the other CPU does not start");
	while (!changes)
		;
	/* More rounds if the host rarely runs the other CPU. */
	for (i = 0; i < ROUNDS || (i < 100 * ROUNDS && !(taken && a && b)); i++) {
		o = i % 8 ? try_read(UPPER + 64) : try_write(UPPER + 128, A_VALUE);
		taken += o.taken;
		a += !o.taken && o.value == A_VALUE;
		b += !o.taken && o.value == B_VALUE;
		if (i % 64 == 0)
			taken += try_call(UPPER + 0x800).taken;
	}
	stop = true;
	while (changes)
		;
	check(taken && a && b, "%u exceptions, page a %u times, page b %u times", taken, a, b);
	result("race.exceptions", taken, "count");
}

/* ---- where the hypervisor has its window ------------------------------------------------- */

#define LAST_GIB 0xffffffffc0000000UL
#define PARTS 512U
#define PART_SHIFT 21
#define WINDOW_ROUNDS 4

static volatile bool went_through[2];
static volatile u64 wrong_reads[2];

static void use_last_gib(void)
{
	write_sysreg(ttbr1_el1, (u64)top_root);
	write_sysreg(tcr_el1, TCR_T0SZ(25) | TCR_T1SZ(16) | TCR_WALK0 | TCR_WALK1 | mmu_tcr_ips());
	isb();
	upper_flush();
}

/* Each access is at the window's new position: downwards on one CPU, upwards on the other. */
static void go_through(unsigned int cpu)
{
	unsigned int round, i;

	use_last_gib();
	for (round = 0; round < WINDOW_ROUNDS; round++) {
		for (i = 0; i < PARTS; i++) {
			u64 part = cpu ? i : PARTS - 1 - i;
			volatile u64 *at = (u64 *)(LAST_GIB + (part << PART_SHIFT) + 0x5000);

			if (*at != A_VALUE)
				wrong_reads[cpu]++;
			at[1 + cpu] = round;
		}
	}
	went_through[cpu] = true;
}

static void go_through_too(unsigned int cpu)
{
	go_through(cpu);
	psci(PSCI_CPU_OFF, 0, 0, 0);
}

/* The last GiB of the upper half, in which any 2 MiB may be the window's. */
void case_window(void)
{
	unsigned int i;

	upper_init();
	page_a[0] = A_VALUE;
	top_root[511] = (u64)upper_root | PTE_TABLE;
	upper_root[511] = (u64)upper_middle | PTE_TABLE;
	for (i = 0; i < PARTS; i++)
		upper_middle[i] = (u64)upper_leaf | PTE_TABLE;
	upper_leaf[5] = (u64)page_a | LEAF;
	dsb();
	if (!check(machine.cpu_count > 1, "this needs two CPUs"))
		return;
	check(!cpu_start(1, go_through_too), "the other CPU does not start");
	go_through(0);
	while (!went_through[1])
		;
	check(!wrong_reads[0] && !wrong_reads[1], "%lu and %lu reads of something else",
	      wrong_reads[0], wrong_reads[1]);
}
