// SPDX-License-Identifier: GPL-2.0
#include "generate.h"
#include "encode.h"

#include "../lib/arena.h"

#define DATA_REGISTERS 16
#define SCRATCH 16
#define ADDRESS 20
#define DISTRIBUTOR 22
#define CLOCK 23
#define PTE_BASE 26
#define ENTRY_UPPER 28
#define ENTRY_LOWER 29
#define LINK 30
#define ZERO_REGISTER 31
#define END_BRK 0xe0d
#define MOST_WORDS 32	/* of one operation */

u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15UL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
	return z ^ z >> 31;
}

static u32 choose(struct sequence *s, u32 below)
{
	return (u32)(random_next(&s->rng) >> 32) % below;
}

#define CHOOSE_OF(s, array) ((array)[choose(s, ARRAY_SIZE(array))])

static void emit(struct sequence *s, u32 word)
{
	s->code[s->length++] = word;
}

static unsigned int data_register(struct sequence *s)
{
	return choose(s, DATA_REGISTERS);
}

static void emit_constant(struct sequence *s, unsigned int rd, u64 value)
{
	unsigned int quarter;

	emit(s, encode_move(false, rd, value & 0xffff, 0));
	for (quarter = 1; quarter < 4; quarter++)
		if (value >> 16 * quarter & 0xffff)
			emit(s, encode_move(true, rd, value >> 16 * quarter & 0xffff, quarter));
}

static void emit_invalidated(struct sequence *s)
{
	emit(s, ENCODE_DSB);
	emit(s, ENCODE_ISB);
}

/* ---- arithmetic, so that values travel ---- */

static void arithmetic(struct sequence *s)
{
	static const u32 ops[] = {
		0x8b000000, 0xab000000, 0xcb000000, 0xeb000000,	/* ADD ADDS SUB SUBS */
		0xca000000, 0x8a000000, 0xaa000000, 0xea000000,	/* EOR AND ORR ANDS */
		0x9ac02c00, 0x9b007c00, 0x9a000000, 0x9a800000,	/* ROR MUL ADC CSEL eq */
	};
	unsigned int count = 1 + choose(s, 3);

	while (count--)
		emit(s, encode_alu(CHOOSE_OF(s, ops), data_register(s), data_register(s),
				   data_register(s)));
}

static void branch_over(struct sequence *s)
{
	emit(s, encode_branch_if(choose(s, 14), 2));
	emit(s, encode_alu(0xca000000, data_register(s), data_register(s), data_register(s)));
}

/* ---- system registers ---- */

struct toggled {
	u8 op0, op1, crn, crm, op2;
	u64 mask;
};

/* Written by inverting bits of the mask: all other bits keep their values. */
static const struct toggled toggled[] = {
	{ 3, 0, 1, 0, 0, 0x0405c212 },			/* SCTLR_EL1 */
	{ 3, 0, 1, 0, 2, 0x00300000 },			/* CPACR_EL1 */
	{ 3, 0, 2, 0, 0, 0x0007000000000000 },		/* TTBR0_EL1, the ASID */
	{ 3, 0, 2, 0, 1, 0x0007000000000000 },		/* TTBR1_EL1, the ASID */
	{ 3, 0, 2, 0, 2, 0x0000007000400000 },		/* TCR_EL1: TBI0, TBI1, AS, A1 */
	{ 3, 0, 10, 2, 0, 0xffffffff00000000 },		/* MAIR_EL1, fields that no entry uses */
	{ 3, 0, 14, 1, 0, 0x303 },			/* CNTKCTL_EL1 */
	{ 3, 0, 4, 0, 0, 0xf00003c0 },			/* SPSR_EL1 */
	{ 3, 0, 4, 0, 1, 0xffffffffffffffff },		/* ELR_EL1 */
	{ 3, 0, 4, 1, 0, 0xffffffffffffffff },		/* SP_EL0 */
	{ 3, 0, 5, 2, 0, 0xffffffff },			/* ESR_EL1 */
	{ 3, 0, 13, 0, 1, 0xffffffff },			/* CONTEXTIDR_EL1 */
	{ 3, 0, 13, 0, 4, 0xffffffffffffffff },		/* TPIDR_EL1 */
	{ 3, 3, 13, 0, 2, 0xffffffffffffffff },		/* TPIDR_EL0 */
	{ 3, 3, 4, 2, 0, 0xf0000000 },			/* NZCV */
	{ 3, 3, 4, 2, 1, 0x3c0 },			/* DAIF */
	{ 3, 2, 0, 0, 0, 0x1 },				/* CSSELR_EL1 */
	{ 2, 0, 0, 2, 2, 0x1000 },			/* MDSCR_EL1 */
	{ 3, 3, 14, 3, 2, 0xffffffffffffffff },		/* CNTV_CVAL_EL0 */
	{ 3, 3, 14, 2, 2, 0xffffffffffffffff },		/* CNTP_CVAL_EL0 */
	{ 3, 0, 4, 6, 0, 0xf8 },			/* ICC_PMR_EL1 */
	{ 3, 0, 12, 12, 4, 0x2 },			/* ICC_CTLR_EL1, EOImode */
	{ 3, 0, 12, 12, 6, 0x1 },			/* ICC_IGRPEN0_EL1 */
	{ 3, 0, 12, 12, 7, 0x1 },			/* ICC_IGRPEN1_EL1 */
	{ 2, 0, 0, 0, 4, 0x0000fffffffffffc },		/* DBGBVR0_EL1 */
	{ 2, 0, 0, 0, 6, 0x0000fffffffffffc },		/* DBGWVR0_EL1 */
};

static void toggle_register(struct sequence *s)
{
	const struct toggled *t = &CHOOSE_OF(s, toggled);

	emit_constant(s, SCRATCH + 1, random_next(&s->rng) & t->mask);
	emit(s, encode_system(true, t->op0, t->op1, t->crn, t->crm, t->op2, SCRATCH));
	emit(s, encode_alu(0xca000000, SCRATCH, SCRATCH, SCRATCH + 1));
	emit(s, encode_system(false, t->op0, t->op1, t->crn, t->crm, t->op2, SCRATCH));
	emit(s, ENCODE_ISB);
	/* At EL0 the accesses were UNDEFINED: give the scratch register a known value again. */
	emit(s, encode_move(false, SCRATCH, 0, 0));
}

struct readable {
	u8 op0, op1, crn, crm, op2;
};

/* Registers with a known value, which depends on no time, image address or CPU model. */
static const struct readable readable[] = {
	{ 3, 0, 1, 0, 2 }, { 3, 0, 10, 2, 0 }, { 3, 0, 14, 1, 0 }, { 3, 0, 4, 0, 0 },
	{ 3, 0, 4, 0, 1 }, { 3, 0, 4, 1, 0 }, { 3, 0, 5, 2, 0 }, { 3, 0, 13, 0, 1 },
	{ 3, 0, 13, 0, 4 }, { 3, 3, 13, 0, 2 }, { 3, 3, 4, 2, 0 }, { 3, 3, 4, 2, 1 },
	{ 3, 0, 4, 2, 0 }, { 3, 0, 4, 2, 2 }, { 3, 0, 12, 1, 0 }, { 3, 3, 14, 3, 2 },
	{ 3, 3, 14, 2, 2 }, { 3, 0, 4, 6, 0 }, { 3, 0, 12, 12, 7 }, { 3, 0, 12, 12, 6 },
	{ 3, 0, 12, 12, 0 }, { 3, 0, 12, 12, 2 }, { 3, 0, 12, 11, 3 },	/* IAR1 HPPIR1 RPR */
	{ 2, 0, 0, 0, 4 }, { 2, 0, 0, 0, 6 }, { 2, 0, 1, 1, 4 },
	/* EL2 and EL3: undefined at EL1 and EL0. */
	{ 3, 4, 1, 1, 0 }, { 3, 4, 2, 1, 0 }, { 3, 4, 4, 1, 0 }, { 3, 5, 1, 0, 0 },
	{ 3, 6, 1, 1, 0 }, { 3, 4, 14, 0, 3 },
};

static void read_register(struct sequence *s)
{
	const struct readable *r = &CHOOSE_OF(s, readable);

	emit(s, encode_system(true, r->op0, r->op1, r->crn, r->crm, r->op2, data_register(s)));
}

/* Read, with the value ignored: the access must be permitted, the value is unknown. */
static void peek_register(struct sequence *s)
{
	static const struct readable peeked[] = {
		{ 3, 3, 14, 0, 2 }, { 3, 3, 14, 0, 1 }, { 3, 3, 14, 0, 0 }, { 3, 3, 0, 0, 1 },
		{ 3, 0, 0, 0, 0 }, { 3, 0, 0, 4, 0 }, { 3, 0, 0, 7, 0 }, { 3, 0, 2, 0, 1 },
		{ 3, 0, 12, 0, 0 }, { 3, 1, 0, 0, 0 }, { 3, 3, 14, 3, 1 }, { 2, 3, 0, 1, 0 },
	};
	const struct readable *r = &CHOOSE_OF(s, peeked);

	emit(s, encode_system(true, r->op0, r->op1, r->crn, r->crm, r->op2, ZERO_REGISTER));
}

static void immediate_pstate(struct sequence *s)
{
	switch (choose(s, 3)) {
	case 0:	/* MSR DAIFSet */
		emit(s, encode_system(false, 0, 3, 4, choose(s, 16), 6, ZERO_REGISTER));
		break;
	case 1:	/* MSR DAIFClr */
		emit(s, encode_system(false, 0, 3, 4, choose(s, 16), 7, ZERO_REGISTER));
		break;
	default:	/* MSR SPSel */
		emit(s, encode_system(false, 0, 0, 4, choose(s, 2), 5, ZERO_REGISTER));
		break;
	}
}

static void switch_vectors(struct sequence *s)
{
	emit(s, encode_system(false, 3, 0, 12, 0, 0, 24 + choose(s, 2)));
	emit(s, ENCODE_ISB);
}

/* ---- memory ---- */

static const u64 places[] = {
	K_DATA, K_DATA, K_READONLY, K_USER, K_OLD, K_UNMAPPED, K_UNMAPPED_2, K_UNMAPPED_1,
	K_OUTSIDE, K_CHANGE, K_CHANGE, K_CHANGE, K_TABLE_RO, K_TABLE_USER,
	U_DATA, U_DATA, U_READONLY, U_KERNEL, U_OLD, U_UNMAPPED, U_UNMAPPED_2, U_UNMAPPED_1,
	U_OUTSIDE, U_CHANGE, U_CHANGE, U_CHANGE,
};

/* Loads and stores of one register by base and offset 0; bits 0 to 9 are registers. */
static const u32 accesses[] = {
	0xf9400000, 0xf9000000, 0xb9400000, 0xb9000000, 0x79400000, 0x79000000,	/* LDR STR W H */
	0x39400000, 0x39000000, 0xb9800000, 0x79800000, 0x39800000,	/* LDRB STRB LDRS* */
	0xf8408400, 0xf8008400, 0xf85f8c00, 0xf81f8c00,	/* post +8, pre -8 */
	0xf8403000, 0xf8005000,	/* LDUR +3, STUR +5 */
};

static const u32 pair_accesses[] = { 0xa9400000, 0xa9000000, 0x29400000, 0x69400000, 0xa8c10000 };

static void emit_place(struct sequence *s, u64 place)
{
	u64 offset = choose(s, 480) * 8 + 16;

	if (!choose(s, 4))
		offset += choose(s, 8);
	emit_constant(s, ADDRESS, place + offset);
}

static void emit_address(struct sequence *s)
{
	emit_place(s, CHOOSE_OF(s, places));
}

static void access_memory(struct sequence *s)
{
	unsigned int rt = data_register(s), count = 1 + choose(s, 3);

	emit_address(s);
	while (count--)
		emit(s, CHOOSE_OF(s, accesses) | ADDRESS << 5 | data_register(s));
	if (!choose(s, 4))
		emit(s, CHOOSE_OF(s, pair_accesses) | (rt ^ 1) << 10 | ADDRESS << 5 | rt);
}

/*
 * LDTR and STTR where EL1 may do no more than EL0: a hypervisor whose virtual EL1 runs at
 * EL0 cannot tell them from LDR and STR elsewhere.
 */
static void access_unprivileged(struct sequence *s)
{
	static const u32 unprivileged[] = {
		0xf8400800, 0xf8000800, 0x38400800, 0x78000800,	/* LDTR STTR LDTRB STTRH */
		0xb8800800, 0x38c00800,				/* LDTRSW LDTRSB */
	};
	static const u64 equal[] = {
		K_USER, K_USER, K_OLD, K_UNMAPPED, K_UNMAPPED_1, K_OUTSIDE,
		U_DATA, U_DATA, U_READONLY, U_OLD, U_UNMAPPED, U_UNMAPPED_2, U_OUTSIDE,
	};

	emit_place(s, CHOOSE_OF(s, equal));
	emit(s, CHOOSE_OF(s, unprivileged) | ADDRESS << 5 | data_register(s));
}

/*
 * ---- devices: aligned, and only in forms that hardware describes to a hypervisor. Signed
 * loads are not among them: QEMU's CPUs do not say that they are.
 */

/* Loads and stores by size; bits 0 to 9 are registers. */
static const u32 device_words[] = {
	0xb9400000, 0xb9000000,			/* LDR STR */
	0xb8400000, 0xb8000000, 0xb83f6800, 0xb87f6800,	/* LDUR STUR; STR LDR by register */
	0x88dffc00, 0x889ffc00,			/* LDAR STLR */
};
static const u32 device_bytes[] = { 0x39400000, 0x39000000 };
static const u32 device_others[] = { 0x79400000, 0xf9400000 };

/* Registers that user space emulates: the PL031's match, mask and ID registers, and gaps. */
static void access_clock(struct sequence *s)
{
	static const u16 offsets[] = { 0x4, 0x4, 0x10, 0x10, 0xfe0, 0xfe8, 0xff0, 0xff8, 0x20, 0x800 };

	emit(s, encode_add(ADDRESS, CLOCK, CHOOSE_OF(s, offsets)));
	emit(s, CHOOSE_OF(s, device_words) | ADDRESS << 5 | data_register(s));
	if (!choose(s, 3)) {
		emit(s, encode_add(ADDRESS, CLOCK, 0xfe0 + choose(s, 4) * 8));
		emit(s, CHOOSE_OF(s, device_others) | ADDRESS << 5 | data_register(s));
	}
}

/* Registers that the kernel emulates: SPIs 32 to 63, which nothing enables. */
static void access_distributor(struct sequence *s)
{
	static const u16 offsets[] = {
		0x000, 0x104,				/* CTLR, ISENABLER1: for reading */
		0x084, 0x184, 0x204, 0x284,		/* IGROUPR1 ICENABLER1 IS/ICPENDR1 */
		0xc08, 0xc0c, 0x420, 0x43c,		/* ICFGR2, 3, IPRIORITYR8, 15 */
	};
	u32 at = choose(s, ARRAY_SIZE(offsets)), word = CHOOSE_OF(s, device_words);

	s->uses_distributor = true;
	if (choose(s, 3)) {
		emit(s, encode_add(ADDRESS, DISTRIBUTOR, offsets[at]));
		if (at < 2)
			word = device_words[0];
		emit(s, word | ADDRESS << 5 | data_register(s));
		return;
	}
	emit(s, encode_add(ADDRESS, DISTRIBUTOR, 0x420 + choose(s, 32)));
	emit(s, CHOOSE_OF(s, device_bytes) | ADDRESS << 5 | data_register(s));
}

/*
 * An SGI to this CPU. Its time is known: it is pending at the write, and taken before the first
 * instruction at which PSTATE and the CPU interface permit it.
 */
static void interrupt_self(struct sequence *s)
{
	emit_constant(s, SCRATCH, (u64)choose(s, SEQUENCE_SGIS) << 24 | 1);
	emit(s, encode_system(false, 3, 0, 12, 11, 5, SCRATCH));	/* ICC_SGI1R_EL1 */
	emit(s, ENCODE_ISB);
	if (choose(s, 2))
		emit(s, encode_system(false, 0, 3, 4, 2, 7, ZERO_REGISTER));	/* DAIFClr #I */
}

/*
 * Jump to the code's physical address, MMU off, an access or two, MMU on, and back. Memory that
 * both states access is cleaned first. At EL0 the jump faults, and the sequence continues after it.
 */
static void turn_mmu_off(struct sequence *s)
{
	unsigned int count = 1 + choose(s, 3);
	unsigned int off = 9, back = off + 1 + 4 + count + 4;	/* behind the ADRs */
	static const u32 plain[] = { 0xf9400000, 0xf9000000, 0xb9400000, 0x39000000, 0x79400000 };

	emit(s, encode_add(ADDRESS, PTE_BASE, choose(s, 500) * 8));
	emit(s, encode_system(false, 1, 3, 7, 14, 1, ADDRESS));		/* DC CIVAC */
	emit(s, ENCODE_DSB);
	emit(s, encode_adr(LINK, back));
	emit(s, encode_adr(SCRATCH, off));
	emit(s, encode_system(false, 1, 0, 7, 8, 0, SCRATCH));		/* AT S1E1R */
	emit(s, ENCODE_ISB);
	emit(s, encode_system(true, 3, 0, 7, 4, 0, SCRATCH + 1));
	emit(s, encode_and_page(SCRATCH + 1, SCRATCH + 1));
	emit(s, encode_and_low12(SCRATCH + 2, SCRATCH));
	emit(s, encode_alu(0x8b000000, SCRATCH + 1, SCRATCH + 1, SCRATCH + 2));
	emit(s, ENCODE_NOP);
	emit(s, encode_branch_to(SCRATCH + 1));
	emit(s, encode_system(true, 3, 0, 1, 0, 0, SCRATCH + 2));
	emit(s, encode_flip_bit0(SCRATCH, SCRATCH + 2));
	emit(s, encode_system(false, 3, 0, 1, 0, 0, SCRATCH));
	emit(s, ENCODE_ISB);
	while (count--)
		emit(s, CHOOSE_OF(s, plain) | ADDRESS << 5 | data_register(s));
	emit(s, ENCODE_DSB);
	emit(s, encode_system(false, 3, 0, 1, 0, 0, SCRATCH + 2));
	emit(s, ENCODE_ISB);
	emit(s, encode_branch_to(LINK));
	emit(s, encode_move(false, SCRATCH, 0, 0));
	emit(s, encode_move(false, SCRATCH + 1, 0, 0));
	emit(s, encode_move(false, SCRATCH + 2, 0, 0));
}

static void maintain_caches(struct sequence *s)
{
	static const struct readable ops[] = {
		{ 1, 3, 7, 4, 1 }, { 1, 3, 7, 10, 1 }, { 1, 3, 7, 14, 1 }, { 1, 3, 7, 11, 1 },
		{ 1, 0, 7, 6, 1 }, { 1, 3, 7, 5, 1 }, { 1, 0, 7, 5, 0 }, { 1, 0, 7, 1, 0 },
	};
	const struct readable *op = &CHOOSE_OF(s, ops);

	emit_address(s);
	/* IC IALLU and IALLUIS have no operand. */
	emit(s, encode_system(false, op->op0, op->op1, op->crn, op->crm, op->op2,
			      op->op2 ? ADDRESS : ZERO_REGISTER));
}

static void translate(struct sequence *s)
{
	unsigned int rd = data_register(s);

	emit_address(s);
	emit(s, encode_system(false, 1, 0, 7, 8, choose(s, 4), ADDRESS));
	emit(s, ENCODE_ISB);
	emit(s, encode_system(true, 3, 0, 7, 4, 0, rd));
	emit(s, encode_and_low12(rd, rd));
}

/* ---- translation tables: with the TLBIs that the architecture requires ---- */

static void emit_tlbi(struct sequence *s, bool lower)
{
	static const u8 ops[] = { 0, 1, 3, 5, 7 };	/* VMALLE1 VAE1 VAAE1 VALE1 VAALE1 */
	u32 crm = choose(s, 2) ? 7 : 3;	/* this CPU, inner shareable */
	u32 op = CHOOSE_OF(s, ops);

	/* The TLB may hold a non-global entry under any ASID: invalidate by address for all. */
	if (lower && (op == 1 || op == 5))
		op += 2;
	emit_constant(s, SCRATCH, (lower ? U_CHANGE : K_CHANGE) >> 12 & 0xfffffffffffUL);
	emit(s, encode_system(false, 1, 0, 8, crm, op, op ? SCRATCH : ZERO_REGISTER));
	emit_invalidated(s);
}

static u64 random_attributes(struct sequence *s)
{
	static const u64 bits[] = {
		1UL << 6, 1UL << 7, 1UL << 8, 1UL << 9, 1UL << 11, 1UL << 53, 1UL << 54, 1UL << 55,
	};
	u64 attributes = choose(s, 8) ? 1UL << 10 : 0;
	unsigned int i;

	if (choose(s, 8))
		attributes |= 3;
	else
		attributes |= choose(s, 3);
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (choose(s, 2))
			attributes |= bits[i];
	return attributes;
}

static void change_entry(struct sequence *s)
{
	bool lower = choose(s, 2);
	unsigned int entry = lower ? ENTRY_LOWER : ENTRY_UPPER;

	/* str xzr, [entry] */
	emit(s, 0xf9000000U | entry << 5 | ZERO_REGISTER);
	emit(s, ENCODE_DSB);
	emit_tlbi(s, lower);
	if (!choose(s, 5))
		return;
	emit_constant(s, SCRATCH, random_attributes(s));
	emit(s, encode_alu(0xaa000000, SCRATCH, SCRATCH, PTE_BASE));
	emit(s, 0xf9000000U | entry << 5 | SCRATCH);
	emit(s, encode_move(false, SCRATCH, 0, 0));
	emit_invalidated(s);
}

static void invalidate(struct sequence *s)
{
	static const u8 ops[] = { 0, 1, 2, 3, 5, 7 };
	u32 op = CHOOSE_OF(s, ops);

	emit_constant(s, SCRATCH, random_next(&s->rng) & 0x000700ffffffffff);
	emit(s, encode_system(false, 1, 0, 8, choose(s, 2) ? 7 : 3, op,
			      op ? SCRATCH : ZERO_REGISTER));
	emit_invalidated(s);
}

/* ---- exceptions ---- */

static void call(struct sequence *s)
{
	switch (choose(s, 5)) {
	case 0:
		emit(s, encode_call(ENCODE_BRK, choose(s, 0xe00)));
		break;
	case 1:
		emit(s, ENCODE_UDF | choose(s, 0x10000));
		break;
	case 2:	/* a function that no firmware has; it may change x0 to x3 */
		emit_constant(s, 0, 0x8400ff00 + choose(s, 256));
		emit(s, encode_call(ENCODE_HVC, 0));
		break;
	default:	/* the runner continues at EL1 */
		emit(s, encode_call(ENCODE_SVC, choose(s, 0x10000)));
		break;
	}
}

static void jump(struct sequence *s)
{
	emit_address(s);
	emit(s, 0xd63f0000U | ADDRESS << 5);	/* BLR */
}

/* ERET to the next instruction, in this mode, another, or one that does not exist. */
static void return_to_mode(struct sequence *s)
{
	static const u16 modes[] = { 0, 0, 0, 4, 5, 5, 9, 1 };
	u32 mode = CHOOSE_OF(s, modes);
	u64 spsr = mode | (u64)(choose(s, 16) << 28) | choose(s, 8) << 7;
	unsigned int at;

	emit_constant(s, SCRATCH, spsr);
	emit(s, encode_system(false, 3, 0, 4, 0, 0, SCRATCH));
	/* After an address of at most four words, MSR and ERET. */
	at = s->length + 4 + 2;
	emit_constant(s, SCRATCH, (mode ? K_CODE : U_CODE) + 4UL * at);
	while (s->length < at - 2)
		emit(s, ENCODE_NOP);
	emit(s, encode_system(false, 3, 0, 4, 0, 1, SCRATCH));
	emit(s, ENCODE_ERET);
}

static void wait_for_event(struct sequence *s)
{
	emit(s, ENCODE_SEVL);
	emit(s, ENCODE_WFE);
}

static void floating_point(struct sequence *s)
{
	unsigned int d = choose(s, 4);

	if (choose(s, 2))
		emit(s, 0x9e670000U | data_register(s) << 5 | d);	/* FMOV Dd, Xn */
	else
		emit(s, 0x9e660000U | d << 5 | data_register(s));	/* FMOV Xd, Dn */
}

static void barrier(struct sequence *s)
{
	static const u32 barriers[] = { ENCODE_DSB, ENCODE_DMB, ENCODE_ISB, ENCODE_NOP };

	emit(s, CHOOSE_OF(s, barriers));
}

/* The relative frequency of each operation. */
static const struct {
	void (*make)(struct sequence *s);
	unsigned int weight;
} operations[] = {
	{ arithmetic, 14 }, { branch_over, 4 }, { toggle_register, 16 }, { read_register, 14 },
	{ peek_register, 4 }, { immediate_pstate, 6 }, { switch_vectors, 2 },
	{ access_memory, 24 }, { access_unprivileged, 4 }, { maintain_caches, 5 }, { translate, 6 }, { change_entry, 12 },
	{ invalidate, 5 }, { call, 6 }, { jump, 3 }, { return_to_mode, 8 },
	{ wait_for_event, 1 }, { floating_point, 4 }, { barrier, 2 }, { turn_mmu_off, 3 },
	{ access_clock, 3 }, { access_distributor, 4 }, { interrupt_self, 4 },
};

static void one_operation(struct sequence *s)
{
	unsigned int sum = 0, i;
	u32 at;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		sum += operations[i].weight;
	at = choose(s, sum);
	for (i = 0; at >= operations[i].weight; i++)
		at -= operations[i].weight;
	/* EL0 can do little: calls bring the sequence back to EL1, where they do no harm. */
	if (!choose(s, 5))
		emit(s, encode_call(ENCODE_SVC, choose(s, 0x10000)));
	operations[i].make(s);
}

void sequence_generate(struct sequence *sequence, u64 seed)
{
	static const u8 modes[] = { 0, 0, 1, 1, 2 };
	unsigned int i;

	sequence->rng = seed * 0xd1342543de82ef95UL + 1;
	sequence->length = 0;
	sequence->uses_distributor = false;
	sequence->mode = CHOOSE_OF(sequence, modes);
	for (i = 0; i < DATA_REGISTERS; i++)
		sequence->x[i] = random_next(&sequence->rng) >> choose(sequence, 64);
	sequence->units = 4 + choose(sequence, SEQUENCE_UNITS - 3);
	for (i = 0; i < sequence->units && sequence->length + MOST_WORDS < SEQUENCE_MAX; i++)
		one_operation(sequence);
	emit(sequence, encode_call(ENCODE_BRK, END_BRK));
}
