// SPDX-License-Identifier: GPL-2.0
/* Runs the table that the groups have filled, each test in each of its modes. */
#include "trap.h"

#define MAX_EVENTS 8
#define BRK_CLASS 0x3c
#define REGISTER_PATTERN 0x5a5a000000000000UL
#define STACK_OFFSET 0x800

extern const struct trap_test tests_start[], tests_end[];

const char *mode_name(unsigned int mode)
{
	return mode == EL0 ? "el0" : mode == EL1T ? "el1t" : "el1h";
}

u64 code_base(unsigned int mode)
{
	return mode == EL0 ? U_CODE : K_CODE;
}

void default_state(struct probe_state *state, unsigned int mode)
{
	unsigned int i;

	*state = (struct probe_state){ 0 };
	for (i = 0; i < ARRAY_SIZE(state->x); i++)
		state->x[i] = REGISTER_PATTERN | i;
	state->pc = code_base(mode);
	state->pstate = mode == EL0 ? PSTATE_EL0 : mode == EL1T ? PSTATE_EL1T : PSTATE_EL1H;
	state->sp_el0 = mode == EL0 ? U_DATA + STACK_OFFSET : K_USER + STACK_OFFSET;
	state->sp_el1 = K_DATA + STACK_OFFSET;
}

/* The classes for which the architecture says that FAR_EL1 holds the address. */
static bool has_far(u64 esr)
{
	switch (esr_class(esr)) {
	case 0x20:
	case 0x21:
	case 0x22:
	case 0x24:
	case 0x25:
	case 0x34:
	case 0x35:
		return true;
	default:
		return false;
	}
}

static void add_address(const char *label, u64 address, u64 base)
{
	if (address >= base && address < base + ARENA_CODE_SIZE)
		line_add(" %s=+%lx", label, address - base);
	else
		line_add(" %s=%lx", label, address);
}

static void add_vector(u64 vector)
{
	static const char *const kinds[] = { "sync", "irq", "fiq", "serror" };
	static const char *const froms[] = { "el1t", "el1h", "el0", "el0_32" };

	line_add(" %s.%s%s", kinds[vector >> 7 & 3], froms[vector >> 9 & 3],
		 vector & VECTOR_SECOND ? "(second)" : "");
}

bool describe_event(const struct probe_state *state, unsigned int mode, unsigned int flags)
{
	bool is_end = is_synchronous(state->vector) && esr_class(state->esr) == BRK_CLASS &&
		      (state->esr & 0xffff) == END_IMMEDIATE;

	if (is_end) {
		line_add(" end spsr=%lx", state->pstate);
		if ((state->vector & VECTOR_OFFSET) != (mode == EL0 ? 0x400 : mode == EL1T ? 0 : 0x200))
			add_vector(state->vector);
		return false;
	}
	add_vector(state->vector);
	if (is_synchronous(state->vector)) {
		if (flags & NO_ESR)
			line_add(" class=%x", esr_class(state->esr));
		else
			line_add(" esr=%lx", state->esr);
	}
	add_address("pc", state->pc, code_base(mode));
	line_add(" spsr=%lx", state->pstate);
	if (is_synchronous(state->vector) && has_far(state->esr))
		line_add(" far=%lx", state->far);
	return true;
}

static void add_par(u64 par)
{
	const char *name = arena_physical_name(par);

	if (par & 1)
		line_add(" par=fault:%lx", par & 0xfff);
	else
		line_add(" par=%lx:%s", par & 0xff00000000000380UL, name ? name : "elsewhere");
}

void describe_registers(const struct probe_state *before, const struct probe_state *after,
			unsigned int flags)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(after->x); i++) {
		if (after->x[i] == before->x[i] || (i == 0 && flags & NO_X0))
			continue;
		if (i == 1 && flags & PAR)
			add_par(after->x[i]);
		else
			line_add(" x%u=%lx", i, after->x[i]);
	}
	if (after->sp_el0 != before->sp_el0)
		line_add(" sp_el0=%lx", after->sp_el0);
	if (after->sp_el1 != before->sp_el1)
		line_add(" sp_el1=%lx", after->sp_el1);
}

static const void *at(const s32 *field)
{
	return (const char *)field + *field;
}

static void run_test(const struct trap_test *test, unsigned int mode)
{
	struct probe_state before, state;
	unsigned int events;

	arena_reset_memory();
	arena_load_code(at(&test->code), test->size);
	default_state(&state, mode);
	if (test->flags & INTERRUPTS)
		state.pstate &= ~0x80UL;
	if (test->setup)
		((trap_setup)at(&test->setup))(&state);
	before = state;

	line_add("trap %s", (const char *)at(&test->name));
	if (test->feature)
		line_add("?%s=%x", feature_name(test->feature), feature_level(test->feature));
	line_add(" %s:", mode_name(mode));
	for (events = 0; events < MAX_EVENTS; events++) {
		probe_run(&state);
		if (!describe_event(&state, mode, test->flags) || !(test->flags & SKIP))
			break;
		line_add(";");
		state.pc += 4;
	}
	describe_registers(&before, &state, test->flags);
	arena_restore();
	line_end();
}

void run_table(void)
{
	static const unsigned int modes[] = { EL1H, EL1T, EL0 };
	const struct trap_test *test;
	unsigned int i;

	for (test = tests_start; test < tests_end; test++)
		for (i = 0; i < ARRAY_SIZE(modes); i++)
			if (test->modes & modes[i])
				run_test(test, modes[i]);
}
