// SPDX-License-Identifier: GPL-2.0
/*
 * Stubs that depend on the instruction behind their site: two writes in one stub, and dead
 * registers. stub_model.h runs them; lists of instructions, as an assembler writes them, say which
 * registers are dead.
 */
#include "stub_model.h"

/* ==== the instruction behind ==== */

#define X(n)	BIT(n)

/*
 * These overwrite the register of bits 4 to 0 and read others. Each of the bits
 * others can be another one, and what stands there then does so too.
 */
static const struct {
	u32 word, others, reads;
} overwrites[] = {
	{ 0xd2800020, 0xc2fffc00, 0 },	/* mov x0, #1 */
	{ 0x52a000e5, 0xc2bffc00, 0 },	/* movz w5, #7, lsl #16 */
	{ 0x9280001c, 0xcafffc00, 0 },	/* mov x28, #-1 */
	{ 0x12800029, 0xcbbffc00, 0 },	/* mov w9, #-2 */
	{ 0xd2e00021, 0x427ffc00, 0 },	/* movz x1, #1, lsl #48 */
	{ 0x10000083, 0xe3fffc00, 0 },	/* adr x3, .+16 */
	{ 0x90000004, 0xe3fffc00, 0 },	/* adrp x4, . */
	{ 0x91000441, 0xe17ffc00, X(2) },	/* add x1, x2, #1 */
	{ 0x11400441, 0xe17ffc00, X(2) },	/* add w1, w2, #1, lsl #12 */
	{ 0xd13ffe51, 0xe17ffc00, X(18) },	/* sub x17, x18, #4095 */
	{ 0x710007c6, 0xe17ffc00, X(30) },	/* subs w6, w30, #1 */
	{ 0x910043e1, 0xe17ffc00, 0 },	/* add x1, sp, #16 */
	{ 0x910003e0, 0xe17ffc00, 0 },	/* mov x0, sp */
	{ 0x92401c41, 0x63fffc00, X(2) },	/* and x1, x2, #0xff */
	{ 0x12010441, 0xe3bffc00, X(2) },	/* and w1, w2, #0x80000001 */
	{ 0x9240f841, 0x63bff800, X(2) },	/* and x1, x2, #0x7fffffffffffffff */
	{ 0x12007841, 0xe3bf7800, X(2) },	/* and w1, w2, #0x7fffffff */
	{ 0xf2400109, 0x627ffc00, X(8) },	/* ands x9, x8, #1 */
	{ 0xb204cfe1, 0xe27fcc00, 0 },	/* mov x1, #0xf0f0f0f0f0f0f0f0 */
	{ 0x5200f107, 0xe2bff000, X(8) },	/* eor w7, w8, #0x55555555 */
	{ 0x9200f041, 0xe2fff000, X(2) },	/* and x1, x2, #0x5555555555555555 */
	{ 0xb27ff841, 0x623ff800, X(2) },	/* orr x1, x2, #0xfffffffffffffffe */
	{ 0xd3431841, 0x433ffc00, X(2) },	/* ubfx x1, x2, #3, #4 */
	{ 0xd3410041, 0x433ffc00, X(2) },	/* lsl x1, x2, #63 */
	{ 0x131f7c41, 0x4a9f7c00, X(2) },	/* asr w1, w2, #31 */
	{ 0x93407c41, 0x43bffc00, X(2) },	/* sxtw x1, w2 */
	{ 0x53001c41, 0x431f7c00, X(2) },	/* uxtb w1, w2 */
	{ 0x93c3fc41, 0x019dfc00, X(2) | X(3) },	/* extr x1, x2, x3, #63 */
	{ 0x13837c41, 0x019d7c00, X(2) | X(3) },	/* extr w1, w2, w3, #31 */
	{ 0x13820c41, 0x019f7c00, X(2) },	/* ror w1, w2, #3 */
	{ 0xaa0103e0, 0xf1fefc00, X(1) },	/* mov x0, x1 */
	{ 0x2a0103e0, 0xf1fe7c00, X(1) },	/* mov w0, w1 */
	{ 0xaa1f03e0, 0xf1fffc00, 0 },	/* mov x0, xzr */
	{ 0xaa2203e1, 0xe1fffc00, X(2) },	/* mvn x1, x2 */
	{ 0x8ae3fc41, 0x60fdfc00, X(2) | X(3) },	/* bic x1, x2, x3, ror #63 */
	{ 0x4a037c41, 0xe1fd7c00, X(2) | X(3) },	/* eor w1, w2, w3, lsl #31 */
	{ 0xea020023, 0xf1fefc00, X(1) | X(2) },	/* ands x3, x1, x2 */
	{ 0x8b030041, 0xf1fdfc00, X(2) | X(3) },	/* add x1, x2, x3 */
	{ 0x8b43fc41, 0x615dfc00, X(2) | X(3) },	/* add x1, x2, x3, lsr #63 */
	{ 0xcb83fc41, 0x619dfc00, X(2) | X(3) },	/* sub x1, x2, x3, asr #63 */
	{ 0x0b037c41, 0xf1dd7c00, X(2) | X(3) },	/* add w1, w2, w3, lsl #31 */
	{ 0x6b837c41, 0xe19d7c00, X(2) | X(3) },	/* subs w1, w2, w3, asr #31 */
	{ 0xcb0203e1, 0xe1fffc00, X(2) },	/* neg x1, x2 */
	{ 0x8b234c41, 0xf13dec00, X(2) | X(3) },	/* add x1, x2, w3, uxtw #3 */
	{ 0x4b239041, 0xe01df000, X(2) | X(3) },	/* sub w1, w2, w3, sxtb #4 */
	{ 0x8b2263e1, 0xf13ffc00, X(2) },	/* add x1, sp, x2 */
	{ 0x9a030041, 0xf99d0000, X(2) | X(3) },	/* adc x1, x2, x3 */
	{ 0x7a030041, 0xf81d0000, X(2) | X(3) },	/* sbcs w1, w2, w3 */
	{ 0x9a830041, 0xd89df400, X(2) | X(3) },	/* csel x1, x2, x3, eq */
	{ 0x5a83b441, 0xc81df400, X(2) | X(3) },	/* csneg w1, w2, w3, lt */
	{ 0xda83e041, 0xd81df400, X(2) | X(3) },	/* csinv x1, x2, x3, al */
	{ 0x9a9f07e1, 0xd81ff400, 0 },	/* cset x1, ne */
	{ 0x9ac30841, 0x981d2400, X(2) | X(3) },	/* udiv x1, x2, x3 */
	{ 0x1ac30c41, 0x901d2400, X(2) | X(3) },	/* sdiv w1, w2, w3 */
	{ 0x9ac32041, 0x985d0c00, X(2) | X(3) },	/* lsl x1, x2, x3 */
	{ 0x1ac32c41, 0x901d2c00, X(2) | X(3) },	/* ror w1, w2, w3 */
	{ 0xdac00041, 0x98401c00, X(2) },	/* rbit x1, x2 */
	{ 0x5ac00441, 0x90401400, X(2) },	/* rev16 w1, w2 */
	{ 0x5ac00841, 0xd0000800, X(2) },	/* rev w1, w2 */
	{ 0xdac00841, 0xd8000c00, X(2) },	/* rev32 x1, x2 */
	{ 0xdac00c41, 0x58000c00, X(2) },	/* rev x1, x2 */
	{ 0x5ac01041, 0x90401400, X(2) },	/* clz w1, w2 */
	{ 0xdac01441, 0x98401400, X(2) },	/* cls x1, x2 */
	{ 0x9b031041, 0x903dfc00, X(2) | X(3) | X(4) },	/* madd x1, x2, x3, x4 */
	{ 0x1b039041, 0x801dfc00, X(2) | X(3) | X(4) },	/* msub w1, w2, w3, w4 */
	{ 0x9b037c41, 0x903dfc00, X(2) | X(3) },	/* mul x1, x2, x3 */
	{ 0x9b231041, 0x10bdfc00, X(2) | X(3) | X(4) },	/* smaddl x1, w2, w3, x4 */
	{ 0x9ba39041, 0x009dfc00, X(2) | X(3) | X(4) },	/* umsubl x1, w2, w3, x4 */
	{ 0x9ba37c41, 0x009dfc00, X(2) | X(3) },	/* umull x1, w2, w3 */
	{ 0xd5384100, 0x04000000, 0 },	/* mrs x0, sp_el0 */
	{ 0xd538d080, 0x04000000, 0 },	/* mrs x0, tpidr_el1 */
	{ 0xd53b4220, 0x04000000, 0 },	/* mrs x0, daif */
	{ 0xd5384036, 0x04000000, 0 },	/* mrs x22, elr_el1 */
	{ 0xd5382020, 0x04000000, 0 },	/* mrs x0, ttbr1_el1 */
	{ 0xd5380000, 0x00006000, 0 },	/* mrs x0, midr_el1 */
	{ 0xd53bd040, 0x04000000, 0 },	/* mrs x0, tpidr_el0 */
};

/* These do not, or not one that is taken, or they read it, may fault, or are nothing at all. */
static const u32 others[] = {
	0xf2800020,	/* movk x0, #1 */
	0x72a00020,	/* movk w0, #1, lsl #16 */
	0x52c00000,	/* movz w0, #0, lsl #32 */
	0xb2800000,	/* no move */
	0xaa0103ff,	/* mov xzr, x1 */
	0xaa0103fd,	/* mov x29, x1 */
	0xaa0103fe,	/* mov x30, x1 */
	0xaa0003e0,	/* mov x0, x0 */
	0x2a0003e0,	/* mov w0, w0 */
	0x9100001f,	/* mov sp, x0 */
	0x910043ff,	/* add sp, sp, #16 */
	0xd100401f,	/* sub sp, x0, #16 */
	0x910043fd,	/* add x29, sp, #16 */
	0x91000421,	/* add x1, x1, #1 */
	0x11000421,	/* add w1, w1, #1 */
	0xf100043f,	/* cmp x1, #1 */
	0x3100043f,	/* cmn w1, #1 */
	0x927cec3f,	/* and sp, x1, #0xfffffffffffffff0 */
	0xf240003f,	/* tst x1, #1 */
	0xd2400129,	/* eor x9, x9, #1 */
	0x9240fc41,	/* and x1, x2, with 64 ones */
	0x12007c41,	/* and w1, w2, with 32 ones */
	0x9200bc41,	/* of elements of 16 bits */
	0x9200f441,	/* of 2 bits */
	0x9200f841,	/* of 1 bit */
	0x12400041,	/* and w1, w2, of 64 bits */
	0x12c00041,	/* no immediate at all: 0x12800000 with hw 2 */
	0x91810420,	/* addg x0, x1, #16, #1 */
	0xb37d0c41,	/* bfi x1, x2, #3, #4 */
	0x33031841,	/* bfxil w1, w2, #3, #4 */
	0xb37d0fe1,	/* bfc x1, #3, #4 */
	0x93407c21,	/* sxtw x1, w1 */
	0xd343fc21,	/* lsr x1, x1, #3 */
	0xf3400041,	/* no bitfield */
	0x93000041,	/* sbfm x1, x2, of 32 bits */
	0x53400041,	/* ubfm w1, w2, of 64 bits */
	0x53200041,	/* ubfm w1, w2, by 32 */
	0x53008041,	/* ubfm w1, w2, to bit 32 */
	0x13838041,	/* extr w1, w2, w3, #32 */
	0x93830041,	/* extr x1, x2, x3, of 32 bits */
	0x93e30041,	/* no extr */
	0x93c21021,	/* extr x1, x1, x2, #4 */
	0x93c11021,	/* ror x1, x1, #4 */
	0xaa020021,	/* orr x1, x1, x2 */
	0xaa010041,	/* orr x1, x2, x1 */
	0xea02003f,	/* tst x1, x2 */
	0x0a038041,	/* and w1, w2, w3, lsl #32 */
	0x0a238041,	/* bic w1, w2, w3, lsl #32 */
	0x8b020021,	/* add x1, x1, x2 */
	0x8b010041,	/* add x1, x2, x1 */
	0xcb0103e1,	/* neg x1, x1 */
	0xeb02003f,	/* cmp x1, x2 */
	0x8bc30041,	/* add x1, x2, x3, ror */
	0x0b038041,	/* add w1, w2, w3, lsl #32 */
	0x0b838041,	/* add w1, w2, w3, asr #32 */
	0x8b2163ff,	/* add sp, sp, x1 */
	0x8b2343e3,	/* add x3, sp, w3, uxtw */
	0x8b231441,	/* add x1, x2, w3, uxtb #5 */
	0x8b231c41,	/* add x1, x2, w3, uxtb #7 */
	0x8b631041,	/* no add, extended */
	0x9a020021,	/* adc x1, x1, x2 */
	0x9a010041,	/* adc x1, x2, x1 */
	0xba000420,	/* rmif x1, #0, #0 */
	0x3a00082d,	/* setf8 w1 */
	0x9a820021,	/* csel x1, x1, x2, eq */
	0x9a810041,	/* csel x1, x2, x1, eq */
	0x9a811421,	/* cinc x1, x1, eq */
	0xba830041,	/* csel with flags */
	0x9a830841,	/* csel of no kind */
	0xfa420020,	/* ccmp x1, x2, #0, eq */
	0xba420820,	/* ccmn x1, #2, #0, eq */
	0x9ac20821,	/* udiv x1, x1, x2 */
	0x9ac12041,	/* lsl x1, x2, x1 */
	0x1ac34841,	/* crc32w w1, w2, w3 */
	0x9ac33041,	/* pacga x1, x2, x3 */
	0x9adf1041,	/* irg x1, x2 */
	0x9ac30041,	/* subp x1, x2, x3 */
	0xbac30841,	/* udiv with flags */
	0xdac01021,	/* clz x1, x1 */
	0xdac00c21,	/* rev x1, x1 */
	0x5ac00c41,	/* rev64 of w */
	0xdac01841,	/* ctz x1, x2 */
	0xdac01c41,	/* cnt x1, x2 */
	0xdac10041,	/* pacia x1, x2 */
	0xdac143e1,	/* xpaci x1 */
	0x9b020c21,	/* madd x1, x1, x2, x3 */
	0x9b010c41,	/* madd x1, x2, x1, x3 */
	0x9b030441,	/* madd x1, x2, x3, x1 */
	0x9b230441,	/* smaddl x1, w2, w3, x1 */
	0x9b437c41,	/* smulh x1, x2, x3 */
	0x4ac00440,	/* eor w0, w2, w0, ror #1 */
	0x4ac00840,	/* eor w0, w2, w0, ror #2 */
	0xcac00c40,	/* eor x0, x2, x0, ror #3 */
	0xcac01040,	/* eor x0, x2, x0, ror #4 */
	0x9ac00840,	/* udiv x0, x2, x0 */
	0x9ac00c40,	/* sdiv x0, x2, x0 */
	0xda801440,	/* csneg x0, x2, x0, ne */
	0x1b231041,	/* smaddl of w */
	0x3b031041,	/* madd of another kind */
	0xf9400020,	/* ldr x0, [x1] */
	0xb9400be0,	/* ldr w0, [sp, #8] */
	0x38626820,	/* ldrb w0, [x1, x2] */
	0xb9800020,	/* ldrsw x0, [x1] */
	0x58000040,	/* ldr x0, .+8 */
	0xf8408420,	/* ldr x0, [x1], #8 */
	0xa8c107e0,	/* ldp x0, x1, [sp], #16 */
	0xc85f7c20,	/* ldxr x0, [x1] */
	0xc8dffc20,	/* ldar x0, [x1] */
	0xf8400820,	/* ldtr x0, [x1] */
	0xd9600020,	/* ldg x0, [x1] */
	0xf8228020,	/* swp x2, x0, [x1] */
	0xf8220020,	/* ldadd x2, x0, [x1] */
	0xc8a07c22,	/* cas x0, x2, [x1] */
	0xc8007c41,	/* stxr w0, x1, [x2] */
	0xf9000020,	/* str x0, [x1] */
	0xa9bf07e0,	/* stp x0, x1, [sp, #-16]! */
	0x39000020,	/* strb w0, [x1] */
	0xf9800020,	/* prfm pldl1keep, [x1] */
	0x14000001,	/* b .+4 */
	0x94000001,	/* bl .+4 */
	0x54000020,	/* b.eq .+4 */
	0xd61f0000,	/* br x0 */
	0xd63f0000,	/* blr x0 */
	0xd65f03c0,	/* ret */
	0xb4000040,	/* cbz x0, .+8 */
	0x37180040,	/* tbnz w0, #3, .+8 */
	0xd69f03e0,	/* eret */
	0xd4000001,	/* svc #0 */
	0xd4000002,	/* hvc #0 */
	0xd4200020,	/* brk #1 */
	0x00000000,	/* udf #0 */
	0xffffffff,	/* udf, all ones */
	0xd503201f,	/* nop */
	0xd5033fdf,	/* isb */
	0xd5033bbf,	/* dmb ish */
	0xd503229f,	/* csdb */
	0xd503233f,	/* paciasp */
	0xd50323bf,	/* autiasp */
	0xd50320ff,	/* xpaclri */
	0xd503245f,	/* bti c */
	0x9e660000,	/* fmov x0, d0 */
	0x9e780000,	/* fcvtzs x0, d0 */
	0x0e043c20,	/* umov w0, v1.s[0] */
	0x4e081c20,	/* mov v0.d[0], x1 */
	0x4ee28420,	/* add v0.2d, v1.2d, v2.2d */
	0xd538411f,	/* mrs xzr, sp_el0 */
	0xd538403d,	/* mrs x29, elr_el1 */
	0xd538d09e,	/* mrs x30, tpidr_el1 */
	0xd53800a0,	/* mrs x0, mpidr_el1 */
	0xd53be040,	/* mrs x0, cntvct_el0 */
	0xd5384240,	/* mrs x0, currentel */
	0xd5384200,	/* mrs x0, spsel */
	0xd5381000,	/* mrs x0, sctlr_el1 */
	0xd538c000,	/* mrs x0, vbar_el1 */
	0xd53b4200,	/* mrs x0, nzcv */
	0xd5384120,	/* mrs x0, s3_0_c4_c1_1 */
	0xd5184020,	/* msr elr_el1, x0 */
	0xd5184100,	/* msr sp_el0, x0 */
	0xd518d080,	/* msr tpidr_el1, x0 */
	0xd51b4220,	/* msr daif, x0 */
	0xd5182000,	/* msr ttbr0_el1, x0 */
	0xd50343df,	/* msr daifset, #3 */
	0xd5287100,	/* sysl x0, #0, c7, c1, #0 */
	0xd5087800,	/* at s1e1r, x0 */
	0xd50b7a20,	/* dc cvac, x0 */
	0xd41f23e1,	/* svc #0xf91f */
};

/* One of each form that takes a register, and has none that it could not take. */
static const u32 askers[] = { 0xd50343df, 0xd5034fdf, 0xd50343ff, 0xd518403f, 0xd51b423f };

#define MOVZ(d)		(0xd2800000 | (d))

/* A site and a stub that are far from each other. */
static struct world far_world(u32 insn, u32 next)
{
	return (struct world){
		.insn = insn, .next = next, .kind = kind_of(insn),
		.site = 0x400000, .base = 0x50000, .at = 0x51000,
	};
}

/* It is the stub with that dead register; 31: the one with push and pop, as without next. */
static void check_dead(u32 insn, u32 next, u32 dead)
{
	struct world w = far_world(insn, next);
	struct av_stub alone;
	u32 index;

	w.lost = dead == 31 ? 0 : X(dead);
	CHECK(make(&w));
	CHECK(av_stub_make(insn, 0, w.site, w.base, w.at, &alone));
	check_shape(&w);
	if (w.lost)
		CHECK_EQ(w.stub.word[0] & 31, dead);
	else
		CHECK(!memcmp(&w.stub, &alone, sizeof(alone)));
	for (index = 0; index < 16; index++) {
		struct av_stub_rest a = av_stub_rest(insn, next, index);
		struct av_stub_rest b = av_stub_rest(insn, w.stub.next, index);

		CHECK_EQ(a.how != AV_STUB_NOWHERE, index < w.stub.nr);
		CHECK(a.how == b.how && a.reg == b.reg);
	}
}

/* With each register in the place of theirs, and with each other bit. */
static void test_overwrites(void)
{
	u32 i, j, d, word;

	for (i = 0; i < ARRAY_SIZE(overwrites); i++) {
		for (d = 0; d < 32; d++) {
			bool dead = d < 29 && !(overwrites[i].reads & X(d));

			for (j = 0; j < ARRAY_SIZE(askers); j++)
				check_dead(askers[j], (overwrites[i].word & ~31U) | d,
					   dead ? d : 31);
		}
		for (j = 10; j < 32; j++) {
			word = overwrites[i].word;
			d = overwrites[i].others & BIT(j) ? word & 31 : 31;
			check_dead(askers[0], word ^ BIT(j), d);
		}
	}
}

static bool is_write(const struct kind *kind)
{
	return kind && kind->what == WRITES;
}

static void test_others(void)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		for (j = 0; j < ARRAY_SIZE(askers); j++)
			/* two writes are two writes */
			if (!is_write(kind_of(askers[j])) || !is_write(kind_of(others[i])))
				check_dead(askers[j], others[i], 31);
}

/* Of all system instructions: reads that cannot fail in a copy. */
static void test_sysregs(void)
{
	u32 i, found = 0;

	for (i = 0; i < BIT(22); i += 32) {
		u32 next = 0xd5000000 | i | 7;
		const struct kind *kind = kind_of(next);
		bool dead = (kind && kind->what <= READS_DAIF) || next == 0xd5384107 ||
			    next == 0xd538d087;

		check_dead(askers[0], next, dead ? 7 : 31);
		found += dead;
	}
	CHECK_EQ(found, 14);
}

/* ==== what is done ==== */

static void check_runs(struct world *w, u32 rounds)
{
	u32 seen = 0, round;

	for (round = 0; round < rounds; round++) {
		random_places(w);
		random_state(w, round % 2);
		CHECK(make(w));
		check_shape(w);
		run(w, round % 2, &seen);
	}
	if (w->kind->what > READS_DAIF && rounds > 1)
		CHECK_EQ(seen, BIT(shape_of(w)->nr) - 1);
}

/* All registers in all instructions; reads need none. */
static void test_dead(void)
{
	u32 i, n, d;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (n = 0; n < (has_operand(&kinds[i]) ? 32 : 1); n++)
			for (d = 0; d < 32; d++) {
				struct world w = {
					.insn = kinds[i].word | n, .next = MOVZ(d),
					.kind = &kinds[i],
				};
				bool own = has_operand(&kinds[i]) && n == d;

				if (kinds[i].what > READS_DAIF && d < 29 && !own)
					w.lost = X(d);
				check_runs(&w, 2);
			}
}

/* All that may stand side by side: both are done, if both are writes. */
static void test_pairs(void)
{
	u32 i, j, n, m;

	for (i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(kinds); i++) {
		const struct kind *one = &kinds[i % ARRAY_SIZE(kinds)];
		const struct kind *two = &kinds[i / ARRAY_SIZE(kinds)];
		bool both = is_write(one) && is_write(two);

		for (j = 0; j < 32 * 32; j += both ? 1 : 97) {
			struct world w = { .kind = one, .second = both ? two : NULL };

			n = has_operand(one) ? j % 32 : 0;
			m = has_operand(two) ? j / 32 : 0;
			w.insn = one->word | n;
			w.next = two->word | m;
			/* a read behind the site may be of a register that is taken */
			if (one->what > READS_DAIF && two->what <= READS_DAIF && m < 29 &&
			    !(has_operand(one) && n == m))
				w.lost = X(m);
			check_runs(&w, 2);
		}
	}
}

/* ==== reach and room ==== */

static const struct {
	u32 insn, next, lost;
} some[] = {
	{ 0xd5184035, 0xd5184016, 0 },		/* msr elr_el1, x21; msr spsr_el1, x22 */
	{ 0xd5184035, MOVZ(3), X(3) },
	{ 0xd50343df, MOVZ(3), X(3) },
	{ 0xd50343ff, MOVZ(3), X(3) },
	{ 0xd51b4227, MOVZ(3), X(3) },
};

static struct world world_of(u32 i)
{
	struct world w = far_world(some[i].insn, some[i].next);

	w.lost = some[i].lost;
	w.second = kind_of(w.next);
	return w;
}

/* Just in and just out of a branch's reach, there and back. */
static void test_reach(void)
{
	u32 i, place;
	int words;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		struct world w = world_of(i);
		const u64 ats[] = { w.base + 0x1000, w.base + 0x5550, w.base + 0x10000 - 48 };

		for (place = 0; place < ARRAY_SIZE(ats); place++)
			for (words = -16; words <= 16; words++) {
				w.at = ats[place];
				w.site = w.at + 128 * (s64)MIB + 4 * words;
				check_edge(&w);
				w.site = w.at - 128 * (s64)MIB + 4 * words;
				check_edge(&w);
			}
	}
}

/* The area's end, and granules where all places will do. */
static void test_room(void)
{
	u32 i, off, round;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		struct world w = world_of(i);
		u32 nr = (shape_of(&w)->nr + 3) / 4;
		u64 first = w.base + 0x1000, last = w.base + 0x10000 - nr * 16;

		for (off = 0; off < 8; off++) {
			w.at = w.base + 0x10000 - 16 * off;
			CHECK_EQ(make(&w), off >= nr);
		}
		for (round = 0; round < 32; round++) {
			bool all = true;

			w.site = round % 2 ? last - 128 * MIB : first + 128 * MIB;
			w.site += 4 * (s64)(round / 2) - 32;
			for (w.at = first; w.at <= last; w.at += 16)
				all &= make(&w);
			CHECK_EQ(av_stub_granules(w.insn, w.next, w.site, w.base), all ? nr : 0);
		}
	}
}

/* ==== as an assembler writes them ==== */

#define LAST1	(BASE + 0xfff0)
#define LAST2	(BASE + 0xffe0)

static const struct assembled assembled[] = {
	/* msr elr_el1, x21; msr spsr_el1, x22 */
	{ 0xd5184035, 0xd5184016, FAR, AT, 0x14d15e6e, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xa9015bd5, 0xf84107fe, 0x172ea190 } },
	/* msr spsr_el1, x30; msr elr_el1, x29 */
	{ 0xd518401e, 0xd518403d, UP, LAST2, 0x16403ff7, 5, {
		0xf81f0ffc, 0x10f800fc, 0xa9017b9d, 0xf84107fc, 0x15bfc007 } },
	/* msr tpidr_el0, x0; msr tpidrro_el0, xzr */
	{ 0xd51bd040, 0xd51bd07f, NEAR, AT, 0x1403e08c, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xa904ffc0, 0xf84107fe, 0x17fc1f72 } },
	/* msr contextidr_el1, x29; msr tpidr_el0, x30 */
	{ 0xd518d03d, 0xd51bd05e, NEAR, AT, 0x1403e08c, 6, {
		0xf81f0ffc, 0x10ff6e7c, 0xf900339d, 0xf900279e, 0xf84107fc, 0x17fc1f71 } },
	/* msr tpidr_el0, x30; msr tpidr_el0, x30 */
	{ 0xd51bd05e, 0xd51bd05e, NEAR, AT, 0x1403e08c, 6, {
		0xf81f0ffd, 0x10ff6e7d, 0xf90027be, 0xf90027be, 0xf84107fd, 0x17fc1f71 } },
	/* msr elr_el1, x21; mov x0, #1 */
	{ 0xd5184035, 0xd2800020, FAR, AT, 0x14d15e6e, 3, {
		0x10ff6e80, 0xf9000815, 0x172ea191 } },
	/* msr tpidr_el0, xzr; mrs x28, sp_el0 */
	{ 0xd51bd05f, 0xd538411c, UP, LAST1, 0x16403ffb, 3, {
		0x10f8009c, 0xf900279f, 0x15bfc004 } },
	/* msr daifset, #3; ldr x3, [x4] */
	{ 0xd50343df, 0xf9400083, FAR, AT, 0x14d15e6e, 5, {
		0xf81f0ffe, 0x10ff547e, 0x390da3de, 0xf84107fe, 0x172ea18f } },
	/* msr daifset, #3; mrs x3, tpidr_el1 */
	{ 0xd50343df, 0xd538d083, FAR, AT, 0x14d15e6e, 3, {
		0x10ff5483, 0x390da063, 0x172ea191 } },
	/* msr daifset, #15; add x15, sp, #64 */
	{ 0xd5034fdf, 0x910103ef, NEAR, LAST1, 0x14041bfc, 3, {
		0x10f7fe8f, 0x7900d1ef, 0x17fbe403 } },
	/* msr daifclr, #3; mov w3, w0 */
	{ 0xd50343ff, 0x2a0003e3, FAR, AT, 0x14d15e6e, 7, {
		0x58ff71c3, 0xb5000083, 0x10ff6e43, 0x3900a07f, 0x172ea18f, 0xd41f1061,
		0x172ea18d } },
	/* msr daif, x7; adrp x19, . */
	{ 0xd51b4227, 0x90000013, UP, LAST2, 0x16403ff7, 7, {
		0x58f80453, 0xb5000093, 0x10f800d3, 0xf9001667, 0x15bfc006, 0xd41f18e1,
		0x15bfc004 } },
	/* msr daif, x7; mov x7, x8 */
	{ 0xd51b4227, 0xaa0803e7, NEAR, AT, 0x1403e08c, 10, {
		0xf81f0ffe, 0x58ff71be, 0xb50000be, 0x10ff6e3e, 0xf90017c7, 0xf84107fe,
		0x17fc1f6f, 0xf84107fe, 0xd41f18e1, 0x17fc1f6c } },
};

static void test_words(void)
{
	check_assembled(assembled, ARRAY_SIZE(assembled));
}

int main(void)
{
	RUN(test_words);
	RUN(test_overwrites);
	RUN(test_others);
	RUN(test_sysregs);
	RUN(test_dead);
	RUN(test_pairs);
	RUN(test_reach);
	RUN(test_room);
	return TESTS_DONE();
}
