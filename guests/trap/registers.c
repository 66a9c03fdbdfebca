// SPDX-License-Identifier: GPL-2.0
/* Every system register of the table: read, written, read back; from EL1 and from EL0. */
#include "trap.h"
#include "registers.h"

#define ISB 0xd5033fdfU
#define EOR_X1_X0_X3 0xca030001U
#define MOV_X1_X3 0xaa0303e1U
#define BRK_END (0xd4200000U | END_IMMEDIATE << 5)

/* read_code: x0 = R. write_code: x0 = R; R = x3 (TOGGLE: x0 ^ x3); x2 = R; R = x0. */
static const u32 *write_code(const struct register_row *row, size_t *size)
{
	static u32 code[8];

	code[0] = MRS(0, row->encoding);
	code[1] = row->kind == TOGGLE ? EOR_X1_X0_X3 : MOV_X1_X3;
	code[2] = MSR(1, row->encoding);
	code[3] = ISB;
	code[4] = MRS(2, row->encoding);
	code[5] = MSR(0, row->encoding);
	code[6] = ISB;
	code[7] = BRK_END;
	*size = sizeof(code);
	return code;
}

/* This only prints: two machines may differ in their ID registers, but not in behaviour. */
static void show_identity(const struct register_row *row, u64 value)
{
	line_add("id %s %lx", row->name, value);
	line_end();
}

static void run_one(const struct register_row *row, const char *what, unsigned int mode, u32 insn)
{
	u32 code[2] = { insn, BRK_END };
	struct probe_state state;

	arena_load_code(code, sizeof(code));
	default_state(&state, mode);
	state.x[0] = 0;
	line_add("trap register.%s.%s %s:", row->name, what, mode_name(mode));
	probe_run(&state);
	describe_event(&state, mode, 0);
	line_end();
	if (row->kind == IDENTITY && mode == EL1H && insn == MRS(0, row->encoding))
		show_identity(row, state.x[0]);
	arena_restore();
}

static void write_pattern(const struct register_row *row, u64 pattern)
{
	struct probe_state state;
	size_t size;
	const u32 *code = write_code(row, &size);
	u64 changed;

	arena_load_code(code, size);
	default_state(&state, EL1H);
	state.x[3] = pattern & row->mask;
	line_add("trap register.%s.write.%lx el1h:", row->name, state.x[3]);
	probe_run(&state);
	if (!describe_event(&state, EL1H, 0)) {
		changed = row->kind == TOGGLE ? state.x[2] ^ state.x[0] : state.x[2];
		line_add(" reads=%lx", changed & row->mask);
	}
	line_end();
	arena_restore();
}

static const u64 patterns[] = {
	0, ~0UL, 0x5555555555555555UL, 0xaaaaaaaaaaaaaaaaUL, 0x0123456789abcdefUL,
};

/* Under a narrow mask patterns may be equal: use each value once. */
static bool is_repeated(unsigned int pattern, u64 mask)
{
	unsigned int i;

	for (i = 0; i < pattern; i++)
		if (!((patterns[i] ^ patterns[pattern]) & mask))
			return true;
	return false;
}

static void run_row(const struct register_row *row)
{
	unsigned int i;

	run_one(row, "read", EL1H, MRS(0, row->encoding));
	run_one(row, "read", EL0, MRS(0, row->encoding));
	switch (row->kind) {
	case READ_WRITE:
	case TOGGLE:
		for (i = 0; i < ARRAY_SIZE(patterns); i++)
			if (!is_repeated(i, row->mask))
				write_pattern(row, patterns[i]);
		run_one(row, "write", EL0, MSR(0, row->encoding));
		break;
	case READ_ONLY:
	case WRITE_ONLY:
	case IDENTITY:
		run_one(row, "write", EL1H, MSR(0, row->encoding));
		run_one(row, "write", EL0, MSR(0, row->encoding));
		break;
	case VOLATILE:
		break;
	}
}

void run_registers(void)
{
	unsigned int i;

	for (i = 0; i < register_row_count; i++)
		run_row(&register_rows[i]);
}
