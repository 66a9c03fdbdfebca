/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of a CPU at EL0 for test_stub.c and test_stub_pairs.c: the few instructions that stubs
 * use, written from the manual's encodings. It shares nothing with mmu/stub/stub.c. Anything that a
 * stub must not do is STRAY. It also models the instructions that stubs stand for.
 */
#ifndef AV_TESTS_STUB_MODEL_H
#define AV_TESTS_STUB_MODEL_H

#include "check.h"
#include "mmu/stub/stub.h"
#include "vm/regfile.h"

#define MIB	0x100000ULL
#define PAGE	4096
#define STACK	256
#define DAIF	(AV_DAIF - AV_SRF_SHARED)

struct machine {
	u64 x[31], sp, pc;
	u8 page[PAGE];
	u8 stack[STACK];
};

struct world {
	u32 insn, next;
	const struct kind *kind, *second;	/* theirs; only of a pair is there a second */
	u32 lost;				/* registers that are nothing from now on, as bits */
	u64 site, base, at, stack;
	struct av_stub stub;
	struct machine before, after, after2;	/* of the instruction itself, and of both */
};

/* How far a word got. */
enum step { RAN, TOKEN, STRAY };

static u64 get_x(const struct machine *m, u32 n)
{
	return n == 31 ? 0 : m->x[n];
}

static void set_x(struct machine *m, u32 n, u64 val)
{
	if (n != 31)
		m->x[n] = val;
}

static u64 get_word(const struct machine *m, unsigned int reg)
{
	u64 val;

	memcpy(&val, m->page + reg * 8, 8);
	return val;
}

static void set_word(struct machine *m, unsigned int reg, u64 val)
{
	memcpy(m->page + reg * 8, &val, 8);
}

/* Data is in the page and on the stack: code cannot be read. */
static void *memory(const struct world *w, struct machine *m, u64 addr, unsigned int size)
{
	if (addr % size)
		return NULL;
	if (addr - w->base < PAGE)
		return m->page + (addr - w->base);
	if (addr - w->stack < STACK)
		return m->stack + (addr - w->stack);
	return NULL;
}

static s64 field(u32 word, int high, int low)
{
	return sign_extend64((word >> low) & GENMASK_ULL(high - low, 0), high - low);
}

/* Pre- and post-indexed by SP alone, which must be aligned to 16. */
static enum step step_push_pop(const struct world *w, struct machine *m, u32 word)
{
	bool load = word & BIT(22), pre = word & BIT(11);
	s64 imm9 = field(word, 20, 12);
	void *mem = memory(w, m, m->sp + (pre ? imm9 : 0), 8);
	u64 val = get_x(m, word & 31);

	if ((word >> 5 & 31) != 31 || m->sp % 16 || !mem)
		return STRAY;
	if (load) {
		memcpy(&val, mem, 8);
		set_x(m, word & 31, val);
	} else {
		memcpy(mem, &val, 8);
	}
	m->sp += imm9;
	return RAN;
}

/* STRB, STRH, STR of W, STR of X; unsigned offset, never by SP here. */
static enum step step_store(const struct world *w, struct machine *m, u32 word)
{
	unsigned int size = 1 << (word >> 30);
	u64 val = get_x(m, word & 31), offset = (word >> 10 & 0xfff) * (u64)size;
	void *mem;

	if ((word >> 5 & 31) == 31)
		return STRAY;
	mem = memory(w, m, m->x[word >> 5 & 31] + offset, size);
	if (!mem)
		return STRAY;
	memcpy(mem, &val, size);
	return RAN;
}

/* STP of X, signed offset, never by SP here. */
static enum step step_store_pair(const struct world *w, struct machine *m, u32 word)
{
	u64 val[2] = { get_x(m, word & 31), get_x(m, word >> 10 & 31) };
	void *mem;

	if ((word >> 5 & 31) == 31)
		return STRAY;
	mem = memory(w, m, m->x[word >> 5 & 31] + 8 * field(word, 21, 15), 8);
	if (!mem)
		return STRAY;
	memcpy(mem, val, sizeof(val));
	return RAN;
}

/* AND (immediate) of 64 bits, with one element of 64 bits. */
static enum step step_and(struct machine *m, u32 word)
{
	u32 immr = word >> 16 & 63, imms = word >> 10 & 63;
	u64 ones;

	if (!(word & BIT(22)) || imms == 63 || (word & 31) == 31)
		return STRAY;
	ones = BIT_ULL(imms + 1) - 1;
	if (immr)
		ones = ones >> immr | ones << (64 - immr);
	m->x[word & 31] = get_x(m, word >> 5 & 31) & ones;
	return RAN;
}

static enum step step_load(const struct world *w, struct machine *m, u32 word)
{
	void *mem = memory(w, m, m->pc + 4 * field(word, 23, 5), 8);
	u64 val;

	if (!mem)
		return STRAY;
	memcpy(&val, mem, 8);
	set_x(m, word & 31, val);
	return RAN;
}

static enum step execute(const struct world *w, struct machine *m, u32 word)
{
	u64 next = m->pc + 4;
	enum step step = RAN;

	if (word >> 26 == 0x05)				/* B */
		next = m->pc + 4 * field(word, 25, 0);
	else if (word >> 24 == 0xb5)			/* CBNZ Xt */
		next = get_x(m, word & 31) ? m->pc + 4 * field(word, 23, 5) : next;
	else if ((word & 0x9f000000) == 0x10000000)	/* ADR */
		set_x(m, word & 31, m->pc + 4 * field(word, 23, 5) + (word >> 29 & 3));
	else if (word >> 24 == 0x58)			/* LDR Xt, literal */
		step = step_load(w, m, word);
	else if ((word & 0xffe00c00) == 0xf8000c00 || (word & 0xffe00c00) == 0xf8400400)
		step = step_push_pop(w, m, word);	/* STR Xt, []!; LDR Xt, [], # */
	else if ((word & 0x3fc00000) == 0x39000000)	/* STRB, STRH, STR */
		step = step_store(w, m, word);
	else if ((word & 0xffc00000) == 0xa9000000)	/* STP X */
		step = step_store_pair(w, m, word);
	else if ((word & 0xff800000) == 0x92000000)	/* AND Xd, Xn, # */
		step = step_and(m, word);
	else if ((word & 0xffe0001f) == 0xd4000001)	/* SVC */
		step = TOKEN;
	else if (word != 0xd503201f)			/* NOP */
		step = STRAY;
	if (step != STRAY)
		m->pc = next;
	return step;
}

/* ==== the instructions that stubs stand for ==== */

static u64 rnd(void)
{
	static u64 seed = 1;
	u64 x;

	seed += 0x9e3779b97f4a7c15ULL;
	x = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* All instructions with stubs, with register 0, and their meanings. */
enum what { READS, READS_DAIF, WRITES, WRITES_DAIF, SETS_DAIF, CLEARS_DAIF };

static const struct kind {
	u32 word;
	enum what what;
	u16 reg;
} kinds[] = {
	{ 0xd5384020, READS, AV_ELR_EL1 - AV_SRF_SHARED },
	{ 0xd5384000, READS, AV_SPSR_EL1 - AV_SRF_SHARED },
	{ 0xd5385200, READS, AV_ESR_EL1 - AV_SRF_SHARED },
	{ 0xd5386000, READS, AV_FAR_EL1 - AV_SRF_SHARED },
	{ 0xd5382040, READS, AV_SHOWN_TCR_EL1 - AV_SRF_SHARED },
	{ 0xd5382000, READS, AV_SHOWN_TTBR0_EL1 - AV_SRF_SHARED },
	{ 0xd5382020, READS, AV_SHOWN_TTBR1_EL1 - AV_SRF_SHARED },
	{ 0xd538d020, READS, AV_CONTEXTIDR_EL1 - AV_SRF_SHARED },
	{ 0xd53bd040, READS, AV_TPIDR_EL0 - AV_SRF_SHARED },
	{ 0xd53bd060, READS, AV_TPIDRRO_EL0 - AV_SRF_SHARED },
	{ 0xd5380000, READS, AV_SHOWN_MIDR_EL1 - AV_SRF_SHARED },
	{ 0xd53b4220, READS_DAIF, AV_DAIF - AV_SRF_SHARED },
	{ 0xd5184020, WRITES, AV_ELR_EL1 - AV_SRF_SHARED },
	{ 0xd5184000, WRITES, AV_SPSR_EL1 - AV_SRF_SHARED },
	{ 0xd518d020, WRITES, AV_CONTEXTIDR_EL1 - AV_SRF_SHARED },
	{ 0xd51bd040, WRITES, AV_TPIDR_EL0 - AV_SRF_SHARED },
	{ 0xd51bd060, WRITES, AV_TPIDRRO_EL0 - AV_SRF_SHARED },
	{ 0xd51b4220, WRITES_DAIF, AV_DAIF - AV_SRF_SHARED },
	{ 0xd50343df, SETS_DAIF, AV_DAIF - AV_SRF_SHARED },
	{ 0xd5034fdf, SETS_DAIF, AV_DAIF - AV_SRF_SHARED },
	{ 0xd50343ff, CLEARS_DAIF, AV_DAIF - AV_SRF_SHARED },
	{ 0xd5034fff, CLEARS_DAIF, AV_DAIF - AV_SRF_SHARED },
};

/* Has it a register? The others are one word only. */
static bool has_operand(const struct kind *kind)
{
	return kind->what < SETS_DAIF;
}

static const struct kind *kind_of(u32 insn)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((has_operand(&kinds[i]) ? insn & ~31U : insn) == kinds[i].word)
			return &kinds[i];
	return NULL;
}

/* Words of the stub, and those of them that branch back. */
struct shape {
	u8 nr, back[2];
};

static const struct shape shapes[] = {
	[READS] = { 2, { 1, 1 } },
	[READS_DAIF] = { 3, { 2, 2 } },
	[WRITES] = { 5, { 4, 4 } },
	[SETS_DAIF] = { 5, { 4, 4 } },
	[WRITES_DAIF] = { 10, { 6, 9 } },
	[CLEARS_DAIF] = { 10, { 6, 9 } },
};

/* The same without push and pop, and of a pair. */
static const struct shape dead_shapes[] = {
	[WRITES] = { 3, { 2, 2 } },
	[SETS_DAIF] = { 3, { 2, 2 } },
	[WRITES_DAIF] = { 7, { 4, 6 } },
	[CLEARS_DAIF] = { 7, { 4, 6 } },
};

/* Side by side in the page, or not. */
static const struct shape pair_shapes[] = { { 6, { 5, 5 } }, { 5, { 4, 4 } } };

static bool side_by_side(const struct world *w)
{
	u16 a = w->kind->reg, b = w->second->reg;

	return (a == b + 1 || b == a + 1) && a < 64 && b < 64;
}

static const struct shape *shape_of(const struct world *w)
{
	if (w->second)
		return &pair_shapes[side_by_side(w)];
	return w->lost ? &dead_shapes[w->kind->what] : &shapes[w->kind->what];
}

static bool is_nop(const struct kind *kind, u32 insn)
{
	return kind->what <= READS_DAIF && (insn & 31) == 31;
}

/* ==== the instruction's meaning ==== */

static void effect(const struct kind *kind, u32 insn, struct machine *m)
{
	u64 x = get_x(m, insn & 31), word = get_word(m, kind->reg), bits = (insn >> 8 & 15) << 6;

	switch (kind->what) {
	case READS:
		set_x(m, insn & 31, word);
		break;
	case READS_DAIF:
		set_x(m, insn & 31, word & 0x3c0);
		break;
	case WRITES:
	case WRITES_DAIF:
		set_word(m, kind->reg, x);
		break;
	case SETS_DAIF:
		set_word(m, kind->reg, word | bits);
		break;
	case CLEARS_DAIF:
		set_word(m, kind->reg, word & ~bits);
		break;
	}
}

/* Everything except invisible state: DAIF's other bits, the stack below SP, and lost registers. */
static bool same(const struct world *w, const struct machine *got, const struct machine *want)
{
	struct machine a = *got, b = *want;
	u64 live = w->before.sp - w->stack;
	unsigned int i;

	for (i = 0; i < 31; i++)
		if (w->lost & BIT(i))
			a.x[i] = b.x[i];
	set_word(&a, DAIF, get_word(&a, DAIF) & 0x3c0);
	set_word(&b, DAIF, get_word(&b, DAIF) & 0x3c0);
	return !memcmp(a.x, b.x, sizeof(a.x)) && a.sp == b.sp && a.pc == b.pc &&
	       !memcmp(a.page, b.page, PAGE) &&
	       !memcmp(a.stack + live, b.stack + live, STACK - live);
}

/* A page and a stub anywhere, and a site from which literals or only branches reach. */
static void random_places(struct world *w)
{
	u64 reach = rnd() % 3 ? 126 * MIB : MIB - 0x1000;

	w->base = rnd() & ~0xffffULL;
	w->at = w->base + 0x1000 + (rnd() % (0xf000 - 48) & ~15ULL);
	do
		w->site = w->base - reach + (rnd() % (2 * reach) & ~3ULL);
	while (w->site - w->base < 0x10000);
}

static void random_state(struct world *w, bool due)
{
	struct machine *m = &w->before;
	unsigned int i;

	w->stack = rnd() & ~15ULL;
	for (i = 0; i < 31; i++)
		m->x[i] = rnd();
	for (i = 0; i < PAGE / 8; i++)
		set_word(m, i, rnd());
	for (i = 0; i < STACK; i++)
		m->stack[i] = rnd();
	set_word(m, AV_SHOWN_DUE - AV_SRF_SHARED, due ? BIT_ULL(rnd() % 64) : 0);
	m->sp = w->stack + STACK / 2;
	m->pc = w->site;
	w->after = w->before;
	effect(w->kind, w->insn, &w->after);
	w->after.pc = w->site + 4;
	w->after2 = w->after;
	if (w->second)
		effect(w->second, w->next, &w->after2);
	w->after2.pc = w->site + 8;
}

/* The register from the stack. */
static bool pop(const struct world *w, struct machine *m, u32 reg)
{
	void *top = memory(w, m, m->sp, 8);

	if (reg > 30 || !top)
		return false;
	memcpy(&m->x[reg], top, 8);
	m->sp += 16;
	return true;
}

/* Leave the stub as av_stub_rest() says. Returns an error, or NULL. */
static const struct machine *leave(const struct world *w, struct machine *m)
{
	struct av_stub_rest rest = av_stub_rest(w->insn, w->next, (m->pc - w->at) / 4);

	switch (rest.how) {
	case AV_STUB_POP_UNDO:
	case AV_STUB_POP_DONE:
	case AV_STUB_POP_DONE2:
		if (!pop(w, m, rest.reg))
			return NULL;
		break;
	case AV_STUB_MASK:
		if (rest.reg > 30)
			return NULL;
		m->x[rest.reg] &= 0x3c0;
		break;
	}
	m->pc = w->site;
	switch (rest.how) {
	case AV_STUB_UNDO:
	case AV_STUB_POP_UNDO:
		return &w->before;
	case AV_STUB_MASK:
	case AV_STUB_DONE:
	case AV_STUB_POP_DONE:
		m->pc += 4;
		return &w->after;
	case AV_STUB_DONE2:
	case AV_STUB_POP_DONE2:
		m->pc += 8;
		return w->second ? &w->after2 : NULL;
	}
	return NULL;
}

/* Before any word of the stub: leave it there, and what the guest sees is one of these. */
static void check_rest(const struct world *w, const struct machine *now)
{
	struct machine left = *now;
	const struct machine *want = leave(w, &left);

	CHECK(want && same(w, &left, want));
}

/* The word of the token: av_patch()'s, by number, as test_patch.c knows them. */
static u32 token_word(u32 insn)
{
	u32 imm = insn >> 8 & 15;

	if (insn >> 16 == 0xd503)
		return 0xd4000001 | (((insn & 0xff) == 0xdf ? 0xf860 : 0xf880) + imm) << 5;
	return 0xd4000001 | (0xf8c0 + (insn & 31)) << 5;
}

/* At the token all is as before but PC; then the trap does it all. */
static void check_token(const struct world *w, struct machine *m, u32 word)
{
	struct machine now = *m;

	CHECK_EQ(word, token_word(w->insn));
	now.pc = w->site;
	CHECK(same(w, &now, &w->before));
	effect(w->kind, w->insn, m);
}

/* From the site to behind it, or behind both; the words of the stub that were run are in *seen. */
static void run(const struct world *w, bool due, u32 *seen)
{
	const struct machine *end = w->second ? &w->after2 : &w->after;
	struct machine m = w->before;
	bool waits = w->kind->what == WRITES_DAIF || w->kind->what == CLEARS_DAIF;
	unsigned int steps, tokens = 0;

	for (steps = 0; m.pc != end->pc && steps < 16; steps++) {
		u64 index = (m.pc - w->at) / 4;
		bool in_stub = index < w->stub.nr;
		u32 word = m.pc == w->site ? w->stub.site : in_stub ? w->stub.word[index] : 0;
		enum step step;

		if (m.pc != w->site && in_stub) {
			check_rest(w, &m);
			*seen |= BIT(index);
		}
		step = execute(w, &m, word);
		if (step == TOKEN) {
			tokens++;
			check_token(w, &m, word);
		} else if (step == STRAY) {
			break;
		}
	}
	CHECK(same(w, &m, end));
	CHECK_EQ(tokens, waits && due);
}

static bool make(struct world *w)
{
	return av_stub_make(w->insn, w->next, w->site, w->base, w->at, &w->stub);
}

/* What stub.h says of reach, in signed arithmetic. */
static bool reaches(u64 from, u64 to, u64 reach)
{
	s64 distance = to - from;

	return distance >= -(s64)reach && distance <= (s64)reach - 4;
}

static bool is_near(const struct world *w)
{
	return w->kind->what == READS && reaches(w->site, w->base + w->kind->reg * 8, MIB);
}

static bool all_reach(const struct world *w)
{
	const u8 *back = shape_of(w)->back;
	u64 end = w->site + (w->second ? 8 : 4);

	return reaches(w->site, w->at, 128 * MIB) &&
	       reaches(w->at + 4 * back[0], end, 128 * MIB) &&
	       reaches(w->at + 4 * back[1], end, 128 * MIB);
}

/* It is as long as it should be, and UDF to the end of its granule. */
static void check_shape(const struct world *w)
{
	bool none = is_nop(w->kind, w->insn) || is_near(w);
	u32 nr = none ? 0 : shape_of(w)->nr, i;

	CHECK_EQ(w->stub.nr, nr);
	for (i = 0; i < ARRAY_SIZE(w->stub.word); i++)
		CHECK_EQ(!w->stub.word[i], i >= nr);
	CHECK_EQ(w->stub.next, w->second || w->lost ? w->next : 0);
	CHECK_EQ(av_stub_granules(w->insn, w->next, w->site, w->base), (nr + 3) / 4);
}

/* Is it made exactly if all reaches, and does it run then? */
static void check_edge(struct world *w)
{
	bool want = is_near(w) || is_nop(w->kind, w->insn) || all_reach(w);
	u32 seen = 0;

	CHECK_EQ(make(w), want);
	if (!want)
		return;
	random_state(w, false);
	CHECK_EQ(w->stub.nr == 0, is_near(w) || is_nop(w->kind, w->insn));
	run(w, false, &seen);
}

/* ==== as an assembler writes them ==== */

#define BASE	0xffff800012340000
#define NEAR	0xffff800012249000
#define FAR	0xffff80000eee9878
#define UP	0xffff800019340004
#define AT	(BASE + 0x1230)

struct assembled {
	u32 insn, next;
	u64 site, at;
	u32 word, nr, stub[AV_STUB_MAX];
};

static void check_assembled(const struct assembled *a, unsigned int n)
{
	struct av_stub stub;
	u32 i;

	for (; n; a++, n--) {
		CHECK(av_stub_make(a->insn, a->next, a->site, BASE, a->at, &stub));
		CHECK_EQ(stub.site, a->word);
		CHECK_EQ(stub.nr, a->nr);
		for (i = 0; i < ARRAY_SIZE(stub.word); i++)
			CHECK_EQ(stub.word[i], i < a->nr ? a->stub[i] : 0);
	}
}

#endif /* AV_TESTS_STUB_MODEL_H */
