// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of each kind of trap that a kernel's work causes under a hypervisor without EL2. The
 * lab's model adds them up. On a hypervisor where none of them traps, the same operations give the
 * cost of the guest's own instructions.
 *
 * As in a kernel, code and stack are in the upper half, the lower half has user pages only, user
 * code runs at EL0 with interrupts on, and its exceptions go through vectors.
 */
#include "cost.h"
#include "kernel.h"

#define LOOPS 500
#define PAGE 4096UL
#define USER_CODE	0x400000UL
#define USER_NOTHING	0x500000UL		/* never mapped */
#define DATA		0xffffff8012000000UL
#define NOTHING		0xffffff8014000000UL	/* never mapped */
#define USER_DATA	0x440000UL		/* that many pages */
#define USER_PAGES	16
#define USER_MAPPED	0x2000000000UL		/* one page here and one at USER_STACK */
#define USER_STACK	0x7f00000000UL
#define TABLES		7	/* of a space: the first level's, two for each place */
#define SPACES		40	/* more than the trees that the module keeps for a vCPU */
#define RING		6	/* more than the TTBR pairs of one set … */
#define RING_ASID	16	/* … for ASIDs with this distance */
#define ASID(n)		((u64)(n) << 48)
#define CPACR_FPEN	(3UL << 20)
#define CNTKCTL_EL0VCT	(1UL << 1)
#define SVC		0xd4000001U
#define LOAD_X0		0xf940001fU		/* ldr xzr, [x0] */

static u64 loops;
static u64 user_page[512] __attribute__((aligned(4096)));
static u64 user_data[USER_PAGES][512] __attribute__((aligned(4096)));
static u64 user_mapped[512] __attribute__((aligned(4096)));
static u64 user_stack[512] __attribute__((aligned(4096)));
static u64 data_page[512] __attribute__((aligned(4096)));
/* Address spaces of users: tables of three levels. */
static u64 spaces[SPACES][TABLES][512] __attribute__((aligned(4096)));

/* Saves callee-saved registers on the stack; EL0 begins with x0 and ends by an exception. */
void to_user(u64 pc, u64 x0);
/* A load that faults: the vectors continue after it. */
void load_nothing(u64 va);
/* cost_of() in the upper half: the stack is `up` bytes higher, and TTBR0_EL1 is ttbr0. */
u64 in_kernel(void (*operation)(void), u64 loops, u64 ttbr0, u64 up);

asm(".pushsection .text\n"
    ".globl kernel_sync, kernel_user_sync\n"
    "kernel_sync:\n"
    "	mrs	x9, elr_el1\n"
    "	add	x9, x9, #4\n"
    "	msr	elr_el1, x9\n"
    "	eret\n"
    "kernel_user_sync:\n"
    "	ldp	x29, x30, [sp], #16\n"
    "	ret\n"
    "to_user:\n"
    "	stp	x29, x30, [sp, #-16]!\n"
    "	msr	elr_el1, x0\n"
    "	msr	spsr_el1, xzr\n"
    "	mov	x0, x1\n"
    "	eret\n"
    "in_kernel:\n"
    "	stp	x29, x30, [sp, #-32]!\n"
    "	mrs	x9, ttbr0_el1\n"
    "	stp	x9, x3, [sp, #16]\n"
    "	add	sp, sp, x3\n"
    "	msr	ttbr0_el1, x2\n"
    "	isb\n"
    "	bl	cost_of\n"
    "	ldp	x9, x3, [sp, #16]\n"
    "	msr	ttbr0_el1, x9\n"
    "	isb\n"
    "	sub	sp, sp, x3\n"
    "	ldp	x29, x30, [sp], #32\n"
    "	ret\n"
    "load_nothing:\n"
    "	ldr	xzr, [x0]\n"
    "	ret\n"
    ".popsection\n");

static void tlbi_page(u64 va)
{
	asm volatile("dsb ishst\n\ttlbi vaale1is, %0\n\tdsb ish\n\tisb"
		     : : "r" (va >> 12 & 0xfffffffffff) : "memory");
}

static void svc(void)
{
	to_user(USER_CODE, 0);
}

static void user_abort(void)
{
	to_user(USER_CODE + 4, USER_NOTHING);
}

static void kernel_abort(void)
{
	load_nothing(NOTHING);
}

static void tlbi_va(void)
{
	tlbi_page(NOTHING);
}

static void refill(void)
{
	tlbi_page(DATA);
	(void)*(volatile u64 *)DATA;
}

/* TLBI of the current ASID; no neighbouring page is touched before the next one. */
static void tlbi_asid(void)
{
	asm volatile("dsb ishst\n\ttlbi aside1is, %0\n\tdsb ish\n\tisb"
		     : : "r" (ASID(1)) : "memory");
}

/* The page of user code has no shadow entry. */
static void refill_code(void)
{
	tlbi_asid();
	to_user(USER_CODE, 0);
}

static u64 ttbr0_of(unsigned int space)
{
	return kernel_pa(spaces[space]) | ASID(space + 1);
}

/* Two writes of TTBR0_EL1, there and back. */
static void ttbr0(void)
{
	asm volatile("msr ttbr0_el1, %0\n\tisb\n\tmsr ttbr0_el1, %1\n\tisb"
		     : : "r" (ttbr0_of(1)), "r" (ttbr0_of(0)) : "memory");
}

/* Load from one page of a group of sixteen that has no shadow entries. */
static void refill_many(void)
{
	tlbi_asid();
	(void)*(volatile u64 *)USER_DATA;
}

/*
 * A process's memory is at three places, as in Linux: the program with its data, mappings, and the
 * stack. Each has its own tables, which are restored one by one.
 */
static void refill_places(void)
{
	tlbi_asid();
	(void)*(volatile u64 *)USER_DATA;
	(void)*(volatile u64 *)USER_MAPPED;
	(void)*(volatile u64 *)USER_STACK;
}

/* A process that has not run for long runs until a system call; then back. */
static void other_space(void)
{
	static unsigned int space;

	space = space % (SPACES - 1) + 1;
	write_sysreg(ttbr0_el1, ttbr0_of(space));
	isb();
	to_user(USER_CODE + 4, USER_STACK);
	write_sysreg(ttbr0_el1, ttbr0_of(0));
	isb();
}

/*
 * A process that ran lately, but whose TTBR pair the window has lost: more processes take turns
 * than a set has pairs. The ASID selects the set.
 */
static void other_pair(void)
{
	static unsigned int turn;

	turn = (turn + 1) % RING;
	write_sysreg(ttbr0_el1, kernel_pa(spaces[1 + turn]) | ASID(RING_ASID * (turn + 4)));
	isb();
}

static void timer(void)
{
	(void)read_sysreg(cntv_ctl_el0);
}

static void id_register(void)
{
	(void)read_sysreg(id_aa64mmfr1_el1);
}

/* The entry of a user page; `below` are its tables of levels 2 and 3. */
static u64 *user_entry(u64 tables[TABLES][512], u64 below[2][512], u64 va)
{
	tables[0][va >> 30 & 511] = kernel_pa(below[0]) | PTE_TABLE;
	below[0][va >> 21 & 511] = kernel_pa(below[1]) | PTE_TABLE;
	return &below[1][va >> 12 & 511];
}

static void map_user(u64 tables[TABLES][512])
{
	u64 page = PTE_PAGE | PTE_AF | PTE_INNER | PTE_NORMAL | PTE_NG | PTE_USER | PTE_PXN;
	u64 data = page | PTE_UXN;
	unsigned int i;

	*user_entry(tables, &tables[1], USER_CODE) = kernel_pa(user_page) | page | PTE_READONLY;
	for (i = 0; i < USER_PAGES; i++)
		user_entry(tables, &tables[1], USER_DATA)[i] = kernel_pa(user_data[i]) | data;
	*user_entry(tables, &tables[3], USER_MAPPED) = kernel_pa(user_mapped) | data;
	*user_entry(tables, &tables[5], USER_STACK) = kernel_pa(user_stack) | data;
}

static void map_pages(void)
{
	unsigned int i;

	for (i = 0; i < SPACES; i++)
		map_user(spaces[i]);
	*kernel_entry(DATA) = kernel_pa(data_page) | KERNEL_PAGE | PTE_PXN;
	*kernel_entry(NOTHING) = 0;
	kernel_flush();
}

static const struct {
	const char *name;
	void (*operation)(void);
} units[] = {
	{ "units.svc", svc },
	{ "units.user-abort", user_abort },
	{ "units.kernel-abort", kernel_abort },
	{ "units.tlbi-va", tlbi_va },
	{ "units.refill", refill },
	{ "units.tlbi-asid", tlbi_asid },
	{ "units.refill-code", refill_code },
	{ "units.refill-many", refill_many },
	{ "units.ttbr0", ttbr0 },
	{ "units.refill-places", refill_places },
	{ "units.other-space", other_space },
	{ "units.other-pair", other_pair },
	{ "units.timer", timer },
	{ "units.id-register", id_register },
};

#define NR_UNITS ARRAY_SIZE(units)

/* Run everything twice: a hypervisor may patch trapping code after its first execution. */
static void measure_all(unsigned int cpu)
{
	u64 up = kernel_va(image_start) - kernel_pa(image_start), costs[NR_UNITS];
	unsigned int i;

	(void)cpu;
	/* As in Linux. With FP traps, the window cannot change the mode. */
	write_sysreg(cpacr_el1, CPACR_FPEN);
	write_sysreg(cntkctl_el1, CNTKCTL_EL0VCT);
	write_sysreg(sctlr_el1, SCTLR_MMU_ON | SCTLR_SA0 | SCTLR_DZE | SCTLR_UCT | SCTLR_NTWI |
		     SCTLR_NTWE | SCTLR_UCI);
	isb();
	for (i = 0; i < 2 * NR_UNITS; i++)
		costs[i % NR_UNITS] = in_kernel((void *)kernel_va(units[i % NR_UNITS].operation),
						loops, ttbr0_of(0), up);
	for (i = 0; i < NR_UNITS; i++)
		result_milli(units[i].name, costs[i], "ticks");
}

/* Two programs: a system call; a load and a system call. */
static void write_code(u32 *code)
{
	static const u32 user_code[] = { SVC, LOAD_X0, SVC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(user_code); i++)
		code[i] = user_code[i];
	kernel_sync_code(code, sizeof(user_code), (u64)code);
}

void guest_main(void)
{
	loops = machine_option(&machine, "loops", LOOPS);
	mmu_enable();
	if (!kernel_init())
		return;
	write_code((u32 *)user_page);
	map_pages();
	result("units.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("units.loops", loops, "count");
	kernel_run(measure_all, 0);
}
