// SPDX-License-Identifier: GPL-2.0
/* Sequences: drawn from a seed, so that all kinds occur next to each other, and written as code. */
#include "annex.h"

#define NOP		0xd503201fU
#define BRANCH		0x14000000U	/* by words */
#define BRANCH_WORDS	0x03ffffffU
#define XZR		31
#define FIRST_OPS	(MAX_OPS - 4)

#define SYS(op0, op1, crn, crm, op2) \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

static const u16 encodings[NR_REGS + 1] = {
	[REG_ELR] = SYS(3, 0, 4, 0, 1), [REG_SPSR] = SYS(3, 0, 4, 0, 0),
	[REG_CONTEXTIDR] = SYS(3, 0, 13, 0, 1), [REG_TPIDRRO] = SYS(3, 3, 13, 0, 3),
	[REG_TPIDR] = SYS(3, 3, 13, 0, 2), [REG_ESR] = SYS(3, 0, 5, 2, 0),
	[REG_FAR] = SYS(3, 0, 6, 0, 0), [REG_TCR] = SYS(3, 0, 2, 0, 2),
	[REG_TTBR0] = SYS(3, 0, 2, 0, 0), [REG_TTBR1] = SYS(3, 0, 2, 0, 1),
	[REG_TPIDR_EL1] = SYS(3, 0, 13, 0, 4), [REG_DAIF] = SYS(3, 3, 4, 2, 1),
};

/* Operations drawn in turn, so that none is left out. */
#define READ(name)	{ { .kind = OP_MRS, .reg = REG_##name } }
#define WRITE(name)	{ { .kind = OP_MSR, .reg = REG_##name } }
#define PAIR(a, b)	{ { .kind = OP_MSR, .reg = REG_##a }, { .kind = OP_MSR, .reg = REG_##b } }
#define MASK(how, bits)	{ { .kind = OP_DAIF##how, .imm = bits } }
static const struct op items[][2] = {
	READ(ELR), WRITE(ELR), MASK(CLR, 2), READ(SPSR), WRITE(SPSR), MASK(SET, 3),
	PAIR(ELR, SPSR), READ(ESR), MASK(CLR, 15), READ(FAR), WRITE(DAIF), READ(DAIF),
	READ(TCR), MASK(SET, 15), WRITE(CONTEXTIDR), READ(TTBR0), MASK(CLR, 3), READ(TTBR1),
	PAIR(TPIDR, TPIDRRO), MASK(SET, 2), READ(CONTEXTIDR), WRITE(TPIDRRO), WRITE(DAIF),
	READ(TPIDRRO), PAIR(SPSR, ELR), WRITE(TPIDR), READ(TPIDR), MASK(CLR, 15),
	READ(TPIDR_EL1), READ(DAIF), MASK(SET, 1), PAIR(ELR, ELR), MASK(CLR, 3),
};

u64 next_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dUL >> 16;
}

/* The registers that stubs use as scratch come often. */
static u8 any_register(u64 *seed)
{
	static const u8 often[] = { 30, 29, 28, 0 };
	u64 n = next_random(seed) % 48;

	return n < 31 ? n : often[n % 4];
}

static u8 overwritten(u64 *seed)
{
	u8 n = any_register(seed);

	return n >= KEPT_FIRST && n <= KEPT_LAST ? n - 15 : n;
}

static void add(struct sequence *sequence, struct op op)
{
	sequence->op[sequence->nr++] = op;
}

static void add_item(struct sequence *sequence, struct op op, u64 *seed)
{
	bool none = next_random(seed) % 12 == 0;

	if (op.kind == OP_MRS)
		op.d = none ? XZR : overwritten(seed);
	else if (op.kind == OP_MSR && op.reg == REG_SPSR)
		op.n = none ? XZR : KEPT_SMALL + 1 + next_random(seed) % (KEPT_LAST - KEPT_SMALL);
	else if (op.kind == OP_MSR && op.reg == REG_CONTEXTIDR)
		op.n = none ? XZR : KEPT_FIRST + next_random(seed) % (KEPT_SMALL - KEPT_FIRST + 1);
	else if (op.kind == OP_MSR)
		op.n = none ? XZR : any_register(seed);
	add(sequence, op);
}

static void add_overwriting(struct sequence *sequence, u64 *seed)
{
	struct op op = { .kind = OP_MOVZ + next_random(seed) % (OP_LDR - OP_MOVZ + 1) };

	op.d = overwritten(seed);
	op.n = any_register(seed);
	op.imm = next_random(seed) & (op.kind == OP_MOVZ ? 0xffff : op.kind == OP_LDR ? 7 : 0xfff);
	add(sequence, op);
}

void sequence_make(struct sequence *sequence, u64 *seed)
{
	static unsigned int turn;
	const struct op *item;

	sequence->nr = 0;
	while (sequence->nr < FIRST_OPS) {
		item = items[turn++ % ARRAY_SIZE(items)];
		add_item(sequence, item[0], seed);
		if (item[1].kind == OP_MSR)
			add_item(sequence, item[1], seed);
		if (next_random(seed) % 2)
			add_overwriting(sequence, seed);
		if (sequence->nr > FIRST_OPS / 2 && sequence->nr < FIRST_OPS / 2 + 4)
			add(sequence, (struct op){ .kind = OP_SLOT });
	}
	/* The final masks are in a register, too. */
	add(sequence, (struct op){ .kind = OP_MRS, .reg = REG_DAIF, .d = 16 });
}

static u32 encode(const struct op *op)
{
	switch (op->kind) {
	case OP_MRS:
		return 0xd5300000 | (u32)encodings[op->reg] << 5 | op->d;
	case OP_MSR:
		return 0xd5100000 | (u32)encodings[op->reg] << 5 | op->n;
	case OP_DAIFSET:
		return 0xd50340df | op->imm << 8;
	case OP_DAIFCLR:
		return 0xd50340ff | op->imm << 8;
	case OP_MOVZ:
		return 0xd2800000 | op->imm << 5 | op->d;
	case OP_MOV:
		return 0xaa0003e0 | (u32)op->n << 16 | op->d;
	case OP_ADD:
		return 0x91000000 | op->imm << 10 | (u32)op->n << 5 | op->d;
	case OP_SUBS:
		return 0xf1000000 | op->imm << 10 | (u32)op->n << 5 | op->d;
	case OP_LDR:
		return 0xf94003e0 | op->imm << 10 | op->d;
	default:
		return NOP;
	}
}

void sequence_write(const struct sequence *sequence)
{
	u64 back = (kernel_va(annex_end) - sequence->va) / 4 - sequence->nr;
	unsigned int i;

	for (i = 0; i < sequence->nr; i++)
		sequence->words[i] = encode(&sequence->op[i]);
	sequence->words[i] = BRANCH | (back & BRANCH_WORDS);
	kernel_sync_code(sequence->words, (i + 1) * 4, sequence->va);
}

void sequence_flip(const struct sequence *sequence)
{
	unsigned int i;

	for (i = 0; i < sequence->nr; i++) {
		if (sequence->op[i].kind != OP_SLOT)
			continue;
		*(volatile u32 *)&sequence->words[i] ^= NOP ^ (BRANCH | 1);
		kernel_sync_code(&sequence->words[i], 4, sequence->va + i * 4);
	}
}
