// SPDX-License-Identifier: GPL-2.0
/* Encoding of stubs: rules in stub.h. */
#include "mmu/stub/patch.h"
#include "mmu/stub/stub.h"
#include "vm/regfile.h"

/* Instructions. Distances are in words; size is log2 of bytes; Rn may be SP. */
#define NOP			0xd503201f
#define B(words)		(0x14000000 | (words))
#define B_WORDS			GENMASK(25, 0)
#define CBNZ(rt, words)		(0xb5000000 | (words) << 5 | (rt))
#define ADR(rd, words)		(0x10000000 | (words) << 5 | (rd))
#define LDR_LITERAL(rt, words)	(0x58000000 | (words) << 5 | (rt))
#define STORE(size, rt, rn, offset) \
	(0x39000000 | (u32)(size) << 30 | (offset) >> (size) << 10 | (rn) << 5 | (rt))
#define STORE_PAIR(rt, rt2, rn, offset) \
	(0xa9000000 | (offset) / 8 << 15 | (rt2) << 10 | (rn) << 5 | (rt))
#define PUSH(rt)		(0xf81f0fe0 | (rt))	/* STR Xt, [SP, #-16]! */
#define POP(rt)			(0xf84107e0 | (rt))	/* LDR Xt, [SP], #16 */
#define AND_DAIF(rd)		(0x927a0c00 | (rd) << 5 | (rd))	/* AND Xd, Xd, #AV_PSR_DAIF */

#define XZR		31
#define BYTE		0
#define HALF		1
#define DOUBLE		3

enum form {
	FORM_NONE,		/* the instruction has no stub */
	FORM_NOTHING,		/* the instruction has no effect */
	FORM_READ,
	FORM_READ_DAIF,
	FORM_WRITE,
	FORM_WRITE_DUE,		/* a write that needs the token if anything is due */
};

/* The parts of a stub. */
struct plan {
	enum form form;
	u32 copy;	/* the token */
	u32 n;		/* the instruction's register, or immediate */
	u32 taken;	/* S */
	bool dead;	/* S needs no push and no pop */
	u32 reg;	/* the word in the page */
	/* Writes: the register to store, its size, and where S points, relative to base. */
	u32 stored, size;
	s32 point;
	/*
	 * Two writes: the second one's register and word; is its word the next or the previous
	 * one, so that one instruction can store both?
	 */
	bool two;
	u32 stored2, reg2;
	bool ascend, descend;
};

/* The form and register for each token. DAIF's have rules of their own. */
#define OTHERS(name)	{ FORM_NONE, 0 },
#define READS(name)	{ FORM_READ, AV_##name },
#define WRITES(name)	{ FORM_WRITE, AV_##name },
static const struct {
	u8 form;
	u16 reg;
} tokens[AV_NR_TOKENS] = {
	AV_TOKENS_ALWAYS(OTHERS, READS, WRITES)
	AV_TOKENS_ROWS(OTHERS, READS, WRITES)
};

/* The word in the shared page that has the register's value. */
static u32 shared_word(u32 reg)
{
	switch (reg) {
	case AV_TCR_EL1:
		reg = AV_SHOWN_TCR_EL1;
		break;
	case AV_TTBR0_EL1:
		reg = AV_SHOWN_TTBR0_EL1;
		break;
	case AV_TTBR1_EL1:
		reg = AV_SHOWN_TTBR1_EL1;
		break;
	case AV_MIDR_EL1:
		reg = AV_SHOWN_MIDR_EL1;
		break;
	}
	return reg - AV_SRF_SHARED;
}

/* ---- the instruction after the site ---- */

/* The registers that an instruction reads, besides SP and flags. */
#define READS_N	BIT(0)	/* bits 9 to 5 */
#define READS_M	BIT(1)	/* bits 20 to 16 */
#define READS_A	BIT(2)	/* bits 14 to 10 */

/*
 * Instructions that only compute the whole register in bits 4 to 0. The masks match only
 * encodings that the architecture allocates (is_bitmask() excludes the remaining ones), and
 * none of a later extension.
 */
static const struct computes {
	u32 mask, bits, reads;
} computes[] = {
	{ 0xbf800000, 0x92800000, 0 },			/* MOVZ, MOVN */
	{ 0xbfc00000, 0x12800000, 0 },			/* of W */
	{ 0x1f000000, 0x10000000, 0 },			/* ADR, ADRP */
	{ 0x1f800000, 0x11000000, READS_N },		/* ADD, SUB (immediate) */
	{ 0x9f800000, 0x92000000, READS_N },		/* AND, ORR, EOR (immediate) */
	{ 0x9fc00000, 0x12000000, READS_N },		/* of W */
	{ 0xbfc00000, 0x93400000, READS_N },		/* SBFM, UBFM */
	{ 0xbfe08000, 0x13000000, READS_N },		/* of W */
	{ 0xffe00000, 0x93c00000, READS_N | READS_M },	/* EXTR */
	{ 0xffe08000, 0x13800000, READS_N | READS_M },	/* of W */
	{ 0x9f000000, 0x8a000000, READS_N | READS_M },	/* AND, BIC, ORR, ORN, EOR, EON (shifted) */
	{ 0x9f008000, 0x0a000000, READS_N | READS_M },	/* of W */
	{ 0x9fa00000, 0x8b000000, READS_N | READS_M },	/* ADD, SUB (LSL, LSR) */
	{ 0x9fa08000, 0x0b000000, READS_N | READS_M },	/* of W */
	{ 0x9fe00000, 0x8b800000, READS_N | READS_M },	/* ADD, SUB (ASR) */
	{ 0x9fe08000, 0x0b800000, READS_N | READS_M },	/* of W */
	{ 0x1fe01000, 0x0b200000, READS_N | READS_M },	/* ADD, SUB (extended), by 0 to 3 */
	{ 0x1fe01c00, 0x0b201000, READS_N | READS_M },	/* by 4 */
	{ 0x1fe0fc00, 0x1a000000, READS_N | READS_M },	/* ADC, SBC */
	{ 0x3fe00800, 0x1a800000, READS_N | READS_M },	/* CSEL, CSINC, CSINV, CSNEG */
	{ 0x7fe0f800, 0x1ac00800, READS_N | READS_M },	/* UDIV, SDIV */
	{ 0x7fe0f000, 0x1ac02000, READS_N | READS_M },	/* LSLV, LSRV, ASRV, RORV */
	{ 0x7ffff800, 0x5ac00000, READS_N },		/* RBIT, REV16 */
	{ 0x7ffffc00, 0x5ac00800, READS_N },		/* REV of W, REV32 */
	{ 0xfffffc00, 0xdac00c00, READS_N },		/* REV of X */
	{ 0x7ffff800, 0x5ac01000, READS_N },		/* CLZ, CLS */
	{ 0x7fe00000, 0x1b000000, READS_N | READS_M | READS_A },	/* MADD, MSUB */
	{ 0xff600000, 0x9b200000, READS_N | READS_M | READS_A },	/* SMADDL, SMSUBL, UMADDL, UMSUBL */
};

/* AND, ORR, EOR (immediate): elements of only ones, or no element size, are not encodable. */
static bool is_bitmask(u32 insn)
{
	u32 size = (insn >> 16 & BIT(6)) | (~insn >> 10 & GENMASK(5, 0));

	return (insn & 0x1f800000) != 0x12000000 || (size & (size - 1));
}

static bool computes_only(const struct computes *row, u32 insn)
{
	u32 d = insn & GENMASK(4, 0);

	return (insn & row->mask) == row->bits && is_bitmask(insn) &&
	       !(row->reads & READS_N && (insn >> 5 & GENMASK(4, 0)) == d) &&
	       !(row->reads & READS_M && (insn >> 16 & GENMASK(4, 0)) == d) &&
	       !(row->reads & READS_A && (insn >> 10 & GENMASK(4, 0)) == d);
}

/* An MRS that a copy has replaced: it does not trap or is a token, and always succeeds. */
static bool reads_sysreg(u32 insn)
{
	u32 copy = av_patch(insn);

	return (insn & AV_INSN_SYSREG_MASK) == AV_INSN_SYSREG_BITS &&
	       insn & AV_INSN_SYSREG_READ && copy != insn && copy != AV_INSN_UDF;
}

/* The register that insn overwrites unconditionally without reading it, or XZR. */
static u32 overwritten(u32 insn)
{
	u32 d = insn & GENMASK(4, 0), i;

	if (d >= 29)
		return XZR;
	if (reads_sysreg(insn))
		return d;
	for (i = 0; i < ARRAY_SIZE(computes); i++)
		if (computes_only(&computes[i], insn))
			return d;
	return XZR;
}

/* ---- the plan ---- */

/*
 * DAIFSet stores the low bits of the address in S as the value, which saves an instruction. The
 * address is below base and the offset is not negative. For I and F alone, only the byte that
 * contains them is written: A and D stay.
 */
static void plan_daif_imm(struct plan *plan, bool set, u32 imm)
{
	plan->stored = XZR;
	if (imm != 3 && imm != 15)
		return;
	if (set) {
		plan->form = FORM_WRITE;
		plan->point = (s32)FIELD_PREP(AV_PSR_DAIF, imm) - (s32)(AV_PSR_D << 1);
		plan->size = imm == 3 ? BYTE : HALF;
	} else {
		plan->form = FORM_WRITE_DUE;
		plan->size = imm == 3 ? BYTE : DOUBLE;
	}
}

static void plan_daif(struct plan *plan, u32 op)
{
	plan->reg = shared_word(AV_DAIF);
	switch (op) {
	case AV_TOKEN_DAIFSET:
	case AV_TOKEN_DAIFCLR:
		plan_daif_imm(plan, op == AV_TOKEN_DAIFSET, plan->n);
		break;
	case AV_TOKEN_MRS_DAIF:
		plan->form = FORM_READ_DAIF;
		break;
	case AV_TOKEN_MSR_DAIF:
		plan->form = FORM_WRITE_DUE;
		break;
	}
}

/* Everything except S. */
static struct plan plan_alone(u32 insn)
{
	u32 copy = av_patch(insn), token = av_token_of(copy >> 5), op;
	struct plan plan = { .form = FORM_NONE };

	if ((copy & AV_WORD_SVC_MASK) != AV_WORD_SVC || token >= AV_TOKENS)
		return plan;
	op = array_index_nospec(token / AV_TOKEN_OPERANDS, AV_NR_TOKENS);
	plan.copy = copy;
	plan.n = token & AV_TOKEN_OPERAND;
	plan.form = tokens[op].form;
	plan.reg = tokens[op].reg ? shared_word(tokens[op].reg) : 0;
	plan.stored = plan.n;
	plan.stored2 = XZR;
	plan.size = DOUBLE;
	if (plan.form == FORM_NONE)
		plan_daif(&plan, op);
	if (plan.n == XZR && (plan.form == FORM_READ || plan.form == FORM_READ_DAIF))
		plan.form = FORM_NOTHING;
	return plan;
}

/* A write of a whole register that cannot mask interrupts. */
static bool is_plain_write(const struct plan *plan)
{
	return plan->form == FORM_WRITE && !plan->point;
}

/* Are two words neighbours, within STP's reach? */
static bool is_pair(u32 first, u32 second)
{
	return first + 1 == second && first < BIT(6);
}

static u32 other_than(u32 a, u32 b)
{
	u32 n = 30;

	while (n == a || n == b)
		n--;
	return n;
}

static struct plan plan_of(u32 insn, u32 next)
{
	struct plan plan = plan_alone(insn), second = plan_alone(next);
	u32 dead = overwritten(next);

	if (plan.form != FORM_WRITE && plan.form != FORM_WRITE_DUE)
		return plan;
	if (is_plain_write(&plan) && is_plain_write(&second)) {
		plan.two = true;
		plan.stored2 = second.stored;
		plan.reg2 = second.reg;
		plan.ascend = is_pair(plan.reg, plan.reg2);
		plan.descend = is_pair(plan.reg2, plan.reg);
	}
	plan.dead = dead != XZR && dead != plan.stored;
	plan.taken = plan.dead ? dead : other_than(plan.stored, plan.stored2);
	if (plan.point)
		plan.stored = plan.taken;
	return plan;
}

/* ---- the words ---- */

static bool in_reach(u64 from, u64 to, u64 reach)
{
	return to - from + reach < 2 * reach;
}

/* The offset field of an instruction, for a distance within reach. */
static u32 words(u64 from, u64 to, u64 reach)
{
	return (to - from) / AV_INSN_SIZE & (reach / 2 - 1);
}

/* Where the next word of a stub goes, and for each word how to leave the stub before it. */
struct pen {
	struct av_stub *stub;
	u64 site, base, at;
	u8 how[AV_STUB_MAX];
	bool failed;
};

static void put(struct pen *pen, enum av_stub_how how, u32 word)
{
	pen->how[pen->stub->nr] = how;
	pen->stub->word[pen->stub->nr++] = word;
	pen->at += AV_INSN_SIZE;
}

static void put_load(struct pen *pen, enum av_stub_how how, u32 rt, u32 reg)
{
	put(pen, how, LDR_LITERAL(rt, words(pen->at, pen->base + reg * 8, AV_STUB_NEAR)));
}

/* Everything is done: branch back. */
static void put_back(struct pen *pen, const struct plan *plan)
{
	u64 back = pen->site + (plan->two ? 2 : 1) * AV_INSN_SIZE;

	pen->failed |= !in_reach(pen->at, back, AV_STUB_REACH);
	put(pen, plan->two ? AV_STUB_DONE2 : AV_STUB_DONE,
	    B(words(pen->at, back, AV_STUB_REACH)));
}

static void put_store(struct pen *pen, enum av_stub_how how, const struct plan *plan)
{
	put(pen, how, ADR(plan->taken, words(pen->at, pen->base + plan->point, AV_STUB_NEAR)));
	if (plan->ascend)
		put(pen, how, STORE_PAIR(plan->stored, plan->stored2, plan->taken, plan->reg * 8));
	else if (plan->descend)
		put(pen, how, STORE_PAIR(plan->stored2, plan->stored, plan->taken, plan->reg2 * 8));
	else
		put(pen, how, STORE(plan->size, plan->stored, plan->taken,
				    plan->reg * 8 - plan->point));
	if (plan->two && !plan->ascend && !plan->descend)
		put(pen, AV_STUB_POP_DONE,
		    STORE(DOUBLE, plan->stored2, plan->taken, plan->reg2 * 8));
}

/* The same without push and pop: S is dead. */
static void put_write_dead(struct pen *pen, const struct plan *plan)
{
	bool due = plan->form == FORM_WRITE_DUE;

	if (due) {
		put_load(pen, AV_STUB_UNDO, plan->taken, shared_word(AV_SHOWN_DUE));
		/* skip ADR, store and branch */
		put(pen, AV_STUB_UNDO, CBNZ(plan->taken, 4));
	}
	put_store(pen, AV_STUB_UNDO, plan);
	put_back(pen, plan);
	if (due) {
		put(pen, AV_STUB_UNDO, plan->copy);
		put_back(pen, plan);
	}
}

static void put_write(struct pen *pen, const struct plan *plan)
{
	bool due = plan->form == FORM_WRITE_DUE;

	put(pen, AV_STUB_UNDO, PUSH(plan->taken));
	if (due) {
		put_load(pen, AV_STUB_POP_UNDO, plan->taken, shared_word(AV_SHOWN_DUE));
		/* skip ADR, store, pop and branch */
		put(pen, AV_STUB_POP_UNDO, CBNZ(plan->taken, 5));
	}
	put_store(pen, AV_STUB_POP_UNDO, plan);
	put(pen, plan->two ? AV_STUB_POP_DONE2 : AV_STUB_POP_DONE, POP(plan->taken));
	put_back(pen, plan);
	if (due) {
		put(pen, AV_STUB_POP_UNDO, POP(plan->taken));
		put(pen, AV_STUB_UNDO, plan->copy);
		put_back(pen, plan);
	}
}

static void put_stub(struct pen *pen, const struct plan *plan)
{
	switch (plan->form) {
	case FORM_READ:
		put_load(pen, AV_STUB_UNDO, plan->n, plan->reg);
		put_back(pen, plan);
		break;
	case FORM_READ_DAIF:
		put_load(pen, AV_STUB_UNDO, plan->n, plan->reg);
		put(pen, AV_STUB_MASK, AND_DAIF(plan->n));
		put_back(pen, plan);
		break;
	case FORM_WRITE:
	case FORM_WRITE_DUE:
		if (plan->dead)
			put_write_dead(pen, plan);
		else
			put_write(pen, plan);
		break;
	default:
		pen->failed = true;
	}
}

static unsigned int granules(const struct av_stub *stub)
{
	return (stub->nr + AV_STUB_GRANULE - 1) / AV_STUB_GRANULE;
}

#define GRANULE_SIZE	(AV_STUB_GRANULE * AV_INSN_SIZE)

/* Literal loads and ADR reach the whole page from everywhere in the area. */
static_assert(AV_STUB_AREA < AV_STUB_NEAR);
static_assert(AV_PSR_DAIF == 0x3c0);

bool av_stub_make(u32 insn, u32 next, u64 site, u64 base, u64 at, struct av_stub *stub)
{
	struct plan plan = plan_of(insn, next);
	struct pen pen = { .stub = stub, .site = site, .base = base, .at = at };
	u64 word = base + plan.reg * 8, place = at - base;

	memset(stub, 0, sizeof(*stub));
	if (plan.form == FORM_NONE || !IS_ALIGNED(site, AV_INSN_SIZE) ||
	    !IS_ALIGNED(base, AV_STUB_AREA))
		return false;
	if (plan.form == FORM_NOTHING) {
		stub->site = NOP;
		return true;
	}
	if (plan.form == FORM_READ && in_reach(site, word, AV_STUB_NEAR)) {
		stub->site = LDR_LITERAL(plan.n, words(site, word, AV_STUB_NEAR));
		return true;
	}
	if (!IS_ALIGNED(at, GRANULE_SIZE) || !in_reach(site, at, AV_STUB_REACH))
		return false;
	stub->site = B(words(site, at, AV_STUB_REACH));
	stub->next = plan.two || plan.dead ? next : 0;
	put_stub(&pen, &plan);
	return !pen.failed && place >= AV_STUB_FIRST &&
	       place <= AV_STUB_AREA - granules(stub) * GRANULE_SIZE;
}

bool av_stub_replaces_token(u32 site)
{
	return site == NOP || (site & ~B_WORDS) == B(0);
}

unsigned int av_stub_granules(u32 insn, u32 next, u64 site, u64 base)
{
	u64 first = base + AV_STUB_FIRST, last = base + AV_STUB_AREA;
	struct av_stub stub;
	unsigned int nr;

	if (!av_stub_make(insn, next, site, base, first, &stub))
		return 0;
	nr = granules(&stub);
	last -= nr * GRANULE_SIZE;
	/* If the site can be reached from the first place and the last, it can from all between. */
	if (nr && !av_stub_make(insn, next, site, base, last, &stub))
		return 0;
	return nr;
}

struct av_stub_rest av_stub_rest(u32 insn, u32 next, unsigned int index)
{
	struct plan plan = plan_of(insn, next);
	struct av_stub_rest rest = { .how = AV_STUB_NOWHERE };
	struct av_stub stub = {};
	struct pen pen = { .stub = &stub };

	put_stub(&pen, &plan);
	if (index >= stub.nr)
		return rest;
	rest.how = pen.how[array_index_nospec(index, AV_STUB_MAX)];
	rest.reg = rest.how == AV_STUB_MASK ? plan.n : plan.taken;
	return rest;
}
