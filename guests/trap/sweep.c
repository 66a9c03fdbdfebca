// SPDX-License-Identifier: GPL-2.0
/*
 * Every encoding of the system register space, read at EL1 and at EL0, and, if reading it at EL1 is
 * undefined, written there with zero. Only encodings that are not undefined are printed. Some
 * encodings depend on a feature that only one of two machines may have: such lines carry the
 * feature's name.
 */
#include "trap.h"
#include "registers.h"

#define PER_PAGE 1000
#define FIRST REGISTER_ENCODING(2, 0, 0, 0, 0)
#define LAST REGISTER_ENCODING(3, 7, 15, 15, 7)
#define BRK_END (0xd4200000U | END_IMMEDIATE << 5)
#define UNDEFINED_ESR 0x02000000UL
#define ZR 31

enum sweep { READ_EL1, READ_EL0, WRITE_EL1 };

static u8 undefined[(LAST - FIRST + 1) / 8];

static unsigned int op1(u32 e)
{
	return e >> 11 & 7;
}

static unsigned int crn(u32 e)
{
	return e >> 7 & 15;
}

static unsigned int crm(u32 e)
{
	return e >> 3 & 15;
}

/* The name of the feature that an encoding belongs to: a VMM chooses its guest's features. */
static const char *family(u32 e)
{
	bool system = e >> 14 == 3;

	if (!system)
		return op1(e) == 1 ? "trace" : "debug";
	if (crn(e) == 11 || crn(e) == 15)
		return "implementation";
	if (op1(e) >= 4 && op1(e) != 7)
		return "el2";
	if (crn(e) == 9 || (op1(e) == 3 && crn(e) == 14 && crm(e) >= 8))
		return "pmu";
	if (op1(e) == 3 && crn(e) == 13 && crm(e) >= 2)
		return "amu";
	if (op1(e) == 0 && crn(e) == 10 && crm(e) >= 4)
		return "lor";
	if (op1(e) == 0 && ((crn(e) == 5 && crm(e) >= 3) || (crn(e) == 12 && crm(e) == 1 && e & 7)))
		return "ras";
	if (op1(e) == 0 && crn(e) == 2 && crm(e) >= 1)
		return "pauth";
	if (op1(e) == 0 && crn(e) == 1 && (crm(e) || (e & 7) >= 3))
		return "control";
	if (crn(e) == 4 && crm(e) == 2 && (e & 7) >= 3)
		return "pstate";
	if (op1(e) == 0 && crn(e) == 0)
		return "id";
	if (op1(e) == 0 && crn(e) == 12 && crm(e) >= 8)
		return "gic";
	return NULL;
}

static bool is_undefined(u32 e)
{
	return undefined[(e - FIRST) / 8] >> (e - FIRST) % 8 & 1;
}

static void show(enum sweep sweep, u32 e, const struct probe_state *state)
{
	static const char *const names[] = { "mrs", "mrs", "msr" };

	line_add("trap sweep.%s.s%u_%u_c%u_c%u_%u", names[sweep], e >> 14, op1(e), crn(e), crm(e),
		 e & 7);
	if (family(e))
		line_add("?%s", family(e));
	line_add(" %s:", sweep == READ_EL0 ? "el0" : "el1h");
	if (state)
		line_add(" esr=%lx", state->esr);
	else
		line_add(" works");
	line_end();
}

/* One page of instructions, one for each of `encodings`; each may be UNDEFINED. */
static void sweep_page(enum sweep sweep, const u16 *encodings, unsigned int count)
{
	static u32 code[PER_PAGE + 1];
	unsigned int mode = sweep == READ_EL0 ? EL0 : EL1H;
	struct probe_state state;
	unsigned int i, next = 0;

	for (i = 0; i < count; i++)
		code[i] = sweep == WRITE_EL1 ? MSR(ZR, encodings[i]) : MRS(0, encodings[i]);
	code[count] = BRK_END;
	arena_load_code(code, (count + 1) * 4);
	default_state(&state, mode);
	for (;;) {
		probe_run(&state);
		i = (unsigned int)(state.pc - code_base(mode)) / 4;
		if (!check(i >= next && i <= count, "the sweep is lost at %lx, esr %lx", state.pc,
			   state.esr))
			return;
		for (; next < i; next++)
			show(sweep, encodings[next], NULL);
		if (i == count)
			return;
		if (state.esr != UNDEFINED_ESR)
			show(sweep, encodings[i], &state);
		else if (sweep == READ_EL1)
			undefined[(encodings[i] - FIRST) / 8] |= (u8)(1 << (encodings[i] - FIRST) % 8);
		next = i + 1;
		state.pc += 4;
	}
}

/*
 * registers.c writes the registers that can be read; no test writes IMPLEMENTATION DEFINED ones.
 */
static bool left_out(enum sweep sweep, u32 e)
{
	return sweep == WRITE_EL1 && (!is_undefined(e) || crn(e) == 15 || crn(e) == 11);
}

static void run(enum sweep sweep)
{
	static u16 encodings[PER_PAGE];
	unsigned int count = 0;
	u32 e;

	for (e = FIRST; e <= LAST; e++) {
		if (left_out(sweep, e))
			continue;
		encodings[count++] = (u16)e;
		if (count == PER_PAGE || e == LAST) {
			sweep_page(sweep, encodings, count);
			arena_restore();
			count = 0;
		}
	}
	if (count)
		sweep_page(sweep, encodings, count);
	arena_restore();
}

void run_sweep(void)
{
	arena_reset_memory();
	run(READ_EL1);
	run(READ_EL0);
	run(WRITE_EL1);
}
