/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of virtual EL1 as it stands in a copy (mmu/copies.c). Accesses to two
 * registers that kernels use thousands of times are accesses to two that EL0
 * has, so that they do not trap; the guest's own accesses to those, and what
 * else traps often, are tokens (vm/token.h).
 *
 *	SP_EL0			TPIDR_EL0
 *	TPIDR_EL1, reads	TPIDRRO_EL0
 *	an SVC that is a token	AV_INSN_COPY_SVC
 *	accesses like that	UDF
 *
 * AV_INSN_COPY_SVC is unknown at EL0: no register has its encoding, which is of
 * EL1's, in any version of the architecture. Pure.
 */
#ifndef AV_MMU_PATCH_H
#define AV_MMU_PATCH_H

#include "vm/token.h"

/* MRS and MSR (register): the register, from AV_SYS(), and the direction. */
#define AV_INSN_SYSREG_MASK	0xffd00000
#define AV_INSN_SYSREG_BITS	0xd5100000
#define AV_INSN_SYSREG_READ	BIT(21)
#define AV_INSN_SYSREG_ENC	GENMASK(20, 5)
#define AV_INSN_SYSREG_RT	GENMASK(4, 0)

/* All instructions that do not stand for themselves are among these. */
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

/* Hints (NOP, PACIASP, BTI and so on), and branches to registers, with RET. */
#define AV_INSN_HINT_MASK	0xfffff000
#define AV_INSN_HINT_BITS	0xd5032000
#define AV_INSN_BRANCH_MASK	0xfe800000
#define AV_INSN_BRANCH_BITS	0xd6000000

/* Of AV_INSN_PATCH_BITS' those that functions begin and end with: they stand for themselves. */
static __always_inline bool av_patch_common(u32 insn)
{
	return (insn & AV_INSN_PATCH_MASK) != AV_INSN_PATCH_BITS ||
	       (insn & AV_INSN_HINT_MASK) == AV_INSN_HINT_BITS ||
	       (insn & AV_INSN_BRANCH_MASK) == AV_INSN_BRANCH_BITS;
}

/* The instruction that stands in a copy for this one; most stand for themselves. */
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

/* A bit in each half of a word, in its place. */
#define AV_BOTH(bit)	((u64)(bit) | (u64)(bit) << 32)

/* Is bit 31 or 63 set? Then one of the pair's instructions may not stand for itself. */
static __always_inline u64 av_patch_hits(u64 pair)
{
	u64 left = (pair & AV_BOTH(AV_INSN_PATCH_MASK)) ^ AV_BOTH(AV_INSN_PATCH_BITS);

	/* Is one half of it 0? Its lower 26 bits are, in both. */
	return (left - AV_BOTH(1)) & ~left;
}

static __always_inline u64 av_patch_pair(u64 pair)
{
	if (likely(!(av_patch_hits(pair) & AV_BOTH(BIT(31)))) ||
	    (av_patch_common(pair) && av_patch_common(pair >> 32)))
		return pair;
	return av_patch(pair) | (u64)av_patch(pair >> 32) << 32;
}

/*
 * Copy n instructions, a multiple of eight. Eight are looked at in one: most stand for
 * themselves.
 */
static inline void av_patch_copy(u64 *to, const u64 *from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n / 2; i += 4) {
		u64 a = READ_ONCE(from[i]), b = READ_ONCE(from[i + 1]);
		u64 c = READ_ONCE(from[i + 2]), d = READ_ONCE(from[i + 3]);

		if (unlikely((av_patch_hits(a) | av_patch_hits(b) | av_patch_hits(c) |
			      av_patch_hits(d)) & AV_BOTH(BIT(31)))) {
			a = av_patch_pair(a);
			b = av_patch_pair(b);
			c = av_patch_pair(c);
			d = av_patch_pair(d);
		}
		to[i] = a;
		to[i + 1] = b;
		to[i + 2] = c;
		to[i + 3] = d;
	}
}

#endif /* AV_MMU_PATCH_H */
