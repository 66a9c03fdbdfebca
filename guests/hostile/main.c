// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that does forbidden things: case=NAME selects one. If the case returns, the last line is
 * the usual count of failures.
 */
#include "hostile.h"
#include "mmu.h"

#define WRITES 3000
#define CALLS 2000
#define SPSR_EL1H 0x3c5	/* and all masked, as always here */

static u64 random_state = 0x9e3779b97f4a7c15UL;
static volatile bool trying;
static struct outcome caught;
struct frame caught_frame;

/* ---- accesses that may fail -------------------------------------------------------- */

static bool on_exception(struct frame *frame)
{
	if (!trying)
		return false;
	trying = false;
	caught.taken = true;
	caught.esr = frame->esr;
	caught.far = frame->far;
	caught.sp = (u64)(frame + 1);
	caught_frame = *frame;
	/* x19 is the address to continue at: every try below sets it. */
	frame->elr = frame->x[19];
	frame->spsr = SPSR_EL1H;
	return true;
}

void begin_try(void)
{
	caught = (struct outcome){ 0 };
	exception_hook = on_exception;
	trying = true;
}

struct outcome end_try(u64 value)
{
	trying = false;
	caught.value = value;
	return caught;
}

struct outcome try_read(u64 address)
{
	u64 value = 0;

	begin_try();
	asm volatile("adr x19, 1f\n\tldr %0, [%1]\n1:"
		     : "+r" (value) : "r" (address) : "x19", "memory");
	return end_try(value);
}

struct outcome try_write(u64 address, u64 value)
{
	begin_try();
	asm volatile("adr x19, 1f\n\tstr %0, [%1]\n1:"
		     : : "r" (value), "r" (address) : "x19", "memory");
	return end_try(value);
}

struct outcome try_call(u64 address)
{
	begin_try();
	asm volatile("adr x19, 1f\n\tblr %0\n1:"
		     : : "r" (address) : "x17", "x19", "x30", "memory");
	return end_try(0);
}

static u32 scratch[16] __attribute__((aligned(64)));

struct outcome try_instruction(u32 instruction, u64 x0)
{
	register u64 value asm("x0") = x0;

	scratch[0] = instruction;
	scratch[1] = 0xd65f03c0;	/* ret */
	asm volatile("dc cvau, %0\n\tdsb ish\n\tic ivau, %0\n\tdsb ish\n\tisb"
		     : : "r" (scratch) : "memory");
	begin_try();
	asm volatile("adr x19, 1f\n\tblr %1\n1:"
		     : "+r" (value) : "r" (scratch) : "x19", "x30", "memory");
	return end_try(value);
}

u64 next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* After the end of RAM. */
u64 hole(void)
{
	u64 end = 0;
	unsigned int i;

	for (i = 0; i < machine.ram_count; i++)
		if (machine.ram[i].base + machine.ram[i].size > end)
			end = machine.ram[i].base + machine.ram[i].size;
	return end + (1UL << 30);
}

/* ---- cases ----------------------------------------------------------------------- */

static void check_call(const char *what, u64 address, unsigned int type)
{
	struct outcome o = try_call(address);

	check(o.taken && class_of(o.esr) == CLASS_FETCH && FSC_TYPE(o.esr) == type,
	      "a jump to %s (%lx): taken %u, esr %lx", what, address, o.taken, o.esr);
}

static void case_jump(void)
{
	upper_init();
	upper_leaf[0] = hole() | PTE_PAGE | PTE_AF | PTE_NORMAL;
	upper_leaf[1] = machine.rtc.base | PTE_PAGE | PTE_AF | PTE_DEVICE;
	upper_flush();
	check_call("nothing", 0x7000000000UL, FSC_TRANSLATION);
	check_call("a hole in the addresses", 0x0001000000000000UL, FSC_TRANSLATION);
	check_call("the last page", 0xfffffffffffff000UL, FSC_TRANSLATION);
	check_call("where no memory is", UPPER, FSC_EXTERNAL);
	check_call("a device", UPPER + 4096, FSC_EXTERNAL);
}

/* Each exception raises the next one. */
static void raise_forever(u64 vectors)
{
	write_sysreg(vbar_el1, vectors);
	isb();
	asm volatile("svc #0");
	check(false, "an exception without vectors came back");
}

static void case_vector(void)
{
	raise_forever(0x7000000000UL);
}

static void case_vector_hole(void)
{
	write_sysreg(sctlr_el1, SCTLR_RES1);
	isb();
	raise_forever(hole());
}

static void case_stack(void)
{
	asm volatile("mov sp, %0\n\tsvc #0" : : "r" (0x7000000000UL));
	check(false, "an exception without a stack came back");
}

static void case_wfi(void)
{
	for (;;)
		asm volatile("msr daifset, #15\n\twfi");
}

static void case_wfe(void)
{
	for (;;)
		asm volatile("wfe");
}

/* A change of these registers would crash this code: the random sequences test them. */
static bool deadly(u32 sys)
{
	switch (sys) {
	case 0xc080: case 0xc081: case 0xc100: case 0xc101: case 0xc102: case 0xc510: case 0xc600:
		return true;	/* SCTLR ACTLR TTBR0 TTBR1 TCR MAIR VBAR */
	}
	return (sys >> 7 & 0x7f) == (0xc200 >> 7 & 0x7f);	/* SPSR ELR SP_EL0 SPSel: c4 */
}

static void case_registers(void)
{
	unsigned int i, refused = 0;

	for (i = 0; i < WRITES; i++) {
		u32 sys = 0x8000 | (next_random() & 0x7fff);

		if (!deadly(sys))
			refused += try_instruction(0xd5000000 | sys << 5, next_random()).taken;
		asm volatile("msr daifset, #15");
	}
	check(refused > WRITES / 2, "only %u of %u registers are refused", refused, WRITES);
	result("registers.refused", refused, "count");
}

static void case_calls(void)
{
	unsigned int i, unknown = 0;

	for (i = 0; i < CALLS; i++) {
		u64 function = next_random() % 2 ? next_random() & 0xffffffff :
			       0x84000020 + next_random() % 0x7fe0;

		if ((function & 0xbfffffff) >= 0x84000000 && (function & 0xbfffffff) < 0x84000020)
			continue;	/* a PSCI call, which may power the machine off */
		unknown += psci(function, next_random(), next_random(), next_random()) == -1;
	}
	check(unknown > CALLS / 2, "only %u calls are unknown", unknown);
}

/* ---- which ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "jump", case_jump },
	{ "vector", case_vector },
	{ "vector-hole", case_vector_hole },
	{ "stack", case_stack },
	{ "wfi", case_wfi },
	{ "wfe", case_wfe },
	{ "registers", case_registers },
	{ "calls", case_calls },
	{ "held", case_held },
	{ "tables-device", case_tables_device },
	{ "tables-hole", case_tables_hole },
	{ "tables-beyond", case_tables_beyond },
	{ "tables-self", case_tables_self },
	{ "tables-race", case_tables_race },
	{ "window", case_window },
	{ "annex-user", case_annex_user },
	{ "annex-kernel", case_annex_kernel },
	{ "annex-words", case_annex_words },
	{ "annex-garbage", case_annex_garbage },
	{ "annex-jump", case_annex_jump },
	{ "annex-remap", case_annex_remap },
	{ "annex-remap-first", case_annex_remap_first },
	{ "annex-move", case_annex_move },
	{ "annex-off", case_annex_off },
	{ "hole-access", case_hole_access },
	{ "hole-user", case_hole_user },
	{ "hole-jump", case_hole_jump },
	{ "hole-map", case_hole_map },
	{ "hole-code", case_hole_code },
	{ "hole-anchor", case_hole_anchor },
	{ "hole-roots", case_hole_roots },
	{ "hole-flag", case_hole_flag },
	{ "hole-search", case_hole_search },
};

/* Does the command line ask for case=NAME? */
static bool asked(const char *name)
{
	const char *key = "case=", *at = machine.bootargs, *k, *n;

	for (; at && *at; at++) {
		const char *c = at;

		for (k = key; *k && *c == *k; k++)
			c++;
		if (*k)
			continue;
		for (n = name; *n && *c == *n; n++)
			c++;
		if (!*n && (!*c || *c == ' '))
			return true;
	}
	return false;
}

void guest_main(void)
{
	unsigned int i;

	mmu_enable();
	random_state += machine_option(&machine, "seed", 0) << 32;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!asked(cases[i].name))
			continue;
		print("case %s\n", cases[i].name);
		cases[i].run();
		return;
	}
	check(false, "no such case: \"%s\"", machine.bootargs);
}
