/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How code of virtual EL1 is patched in a copy (mmu/code/copies.c). Accesses to two registers that
 * kernels use very often become accesses to two registers that EL0 has, so that they do not
 * trap. The guest's own accesses to those two, and other instructions that trap often, become
 * tokens (vm/token.h).
 *
 *	SP_EL0			TPIDR_EL0
 *	TPIDR_EL1, reads	TPIDRRO_EL0
 *	an SVC that is a token	AV_INSN_COPY_SVC
 *	AV_INSN_COPY_SVC	UDF
 *
 * AV_INSN_COPY_SVC is unknown at EL0: its encoding is in EL1's range, and no version of the
 * architecture has a register there. Pure.
 */
#ifndef AV_MMU_PATCH_H
#define AV_MMU_PATCH_H

#include "vm/token.h"

/* MRS and MSR (register): the register, as in AV_SYS(), and the direction. */
#define AV_INSN_SYSREG_MASK	0xffd00000
#define AV_INSN_SYSREG_BITS	0xd5100000
#define AV_INSN_SYSREG_READ	BIT(21)
#define AV_INSN_SYSREG_ENC	GENMASK(20, 5)
#define AV_INSN_SYSREG_RT	GENMASK(4, 0)

/* All instructions that are ever patched match this. */
#define AV_INSN_PATCH_MASK	0xfc000000
#define AV_INSN_PATCH_BITS	0xd4000000

/* MRS X0, S3_0_C4_C1_1 */
#define AV_SYS_COPY_SVC		AV_SYS(3, 0, 4, 1, 1)
#define AV_INSN_COPY_SVC	(AV_WORD_MRS | AV_SYS_COPY_SVC << 5)

#define AV_INSN_UDF		0
#define AV_INSN_SIZE		4

static inline u32 av_patch_access(u32 insn)
{
	bool read = insn & AV_INSN_SYSREG_READ;
	u32 op, rest = insn & ~(u32)AV_INSN_SYSREG_ENC;
	u16 enc = insn >> 5;

	switch (enc) {
	case AV_SYS(3, 0, 4, 1, 0):
		return rest | AV_SYS(3, 3, 13, 0, 2) << 5;
	case AV_SYS(3, 0, 13, 0, 4):
		return read ? rest | AV_SYS(3, 3, 13, 0, 3) << 5 : insn;
	case AV_SYS_COPY_SVC:
		return AV_INSN_UDF;
	}
	op = av_token_of_access(enc, read);
	return op ? av_token_svc(op, insn & AV_INSN_SYSREG_RT) : insn;
}

/* The instruction to put in a copy. Most instructions are not changed. */
static inline u32 av_patch(u32 insn)
{
	if ((insn & AV_INSN_SYSREG_MASK) == AV_INSN_SYSREG_BITS)
		return av_patch_access(insn);
	if (insn == AV_WORD_ERET)
		return av_token_svc(AV_TOKEN_ERET, 0);
	if (insn == AV_WORD_HVC_0)
		return av_token_svc(AV_TOKEN_HVC, 0);
	if ((insn & ~AV_WORD_CRM) == AV_WORD_DAIFSET)
		return av_token_svc(AV_TOKEN_DAIFSET, FIELD_GET(AV_WORD_CRM, insn));
	if ((insn & ~AV_WORD_CRM) == AV_WORD_DAIFCLR)
		return av_token_svc(AV_TOKEN_DAIFCLR, FIELD_GET(AV_WORD_CRM, insn));
	if ((insn & AV_WORD_SVC_MASK) == AV_WORD_SVC && av_token_of(insn >> 5) < AV_TOKENS)
		return AV_INSN_COPY_SVC;
	return insn;
}

/* The same word in both halves of a pair. */
#define AV_BOTH(word)	((u64)(word) | (u64)(word) << 32)

/* Hints (NOP, PACIASP, BTI …), and branches to registers including RET. */
#define AV_INSN_HINT_BITS	0xd5032000
#define AV_INSN_HINTS		0x1000
#define AV_INSN_BRANCH_BITS	0xd6000000
#define AV_INSN_BRANCHES	0x2000000	/* if BIT(23) is clear */

/* A constant kept in a register for a whole page. */
static __always_inline u64 av_patch_constant(u32 word)
{
	u64 both = AV_BOTH(word);

	OPTIMIZER_HIDE_VAR(both);
	return both;
}

/* The constants for patching a page. */
struct av_patch_page {
	u64 patch_bits, patches, hint_bits, hints, branch_bits, branches;
};

static __always_inline struct av_patch_page av_patch_page(void)
{
	return (struct av_patch_page) {
		.patch_bits = av_patch_constant(AV_INSN_PATCH_BITS),
		.patches = av_patch_constant(-AV_INSN_PATCH_MASK),
		.hint_bits = av_patch_constant(AV_INSN_HINT_BITS),
		.hints = av_patch_constant(AV_INSN_HINTS),
		.branch_bits = av_patch_constant(AV_INSN_BRANCH_BITS),
		.branches = av_patch_constant(AV_INSN_BRANCHES),
	};
}

/*
 * Bits 31 and 63: is that half less than n's half? n's halves are at most 2^31. If the lower
 * half is less, the upper half may wrongly appear so when it equals n's.
 */
static __always_inline u64 av_both_less(u64 pair, u64 n)
{
	return (pair - n) & ~pair;
}

/* Bits 31 and 63: does the instruction match AV_INSN_PATCH_BITS, or is it 0xd8000000? */
static __always_inline u64 av_patch_hits(const struct av_patch_page *p, u64 pair)
{
	return av_both_less(pair ^ p->patch_bits, p->patches);
}

/*
 * Bits 31 and 63: does an instruction that matches AV_INSN_PATCH_BITS begin or end functions,
 * so that it needs no patch? Two words that only appear to, 0xd5033000 and 0xd4000000, need
 * none either.
 */
static __always_inline u64 av_patch_common(const struct av_patch_page *p, u64 pair)
{
	u64 branch = pair ^ p->branch_bits;

	/* ERET has bit 23 set. */
	branch |= branch << 2 & p->branches;
	return av_both_less(pair ^ p->hint_bits, p->hints) | av_both_less(branch, p->branches);
}

static __always_inline u64 av_patch_pair(const struct av_patch_page *p, u64 pair, u64 hits)
{
	if (!(hits & AV_BOTH(BIT(31))) ||
	    !(hits & ~av_patch_common(p, pair) & AV_BOTH(BIT(31))))
		return pair;
	return av_patch(pair) | (u64)av_patch(pair >> 32) << 32;
}

/* Copy n instructions, a multiple of eight. Checks eight at once: most are not changed. */
static inline void av_patch_copy(u64 *to, const u64 *from, unsigned int n)
{
	const struct av_patch_page page = av_patch_page(), *p = &page;
	unsigned int i;

	for (i = 0; i < n / 2; i += 4) {
		u64 a = READ_ONCE(from[i]), b = READ_ONCE(from[i + 1]);
		u64 c = READ_ONCE(from[i + 2]), d = READ_ONCE(from[i + 3]);

		u64 hits_a = av_patch_hits(p, a), hits_b = av_patch_hits(p, b);
		u64 hits_c = av_patch_hits(p, c), hits_d = av_patch_hits(p, d);

		if (unlikely((hits_a | hits_b | hits_c | hits_d) & AV_BOTH(BIT(31)))) {
			a = av_patch_pair(p, a, hits_a);
			b = av_patch_pair(p, b, hits_b);
			c = av_patch_pair(p, c, hits_c);
			d = av_patch_pair(p, d, hits_d);
		}
		to[i] = a;
		to[i + 1] = b;
		to[i + 2] = c;
		to[i + 3] = d;
	}
}

#endif /* AV_MMU_PATCH_H */
