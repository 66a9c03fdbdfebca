/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of virtual EL1 as it stands in a copy (mmu/copies.c): accesses to two
 * registers that kernels use thousands of times are replaced by accesses to two
 * that EL0 has, so that they do not trap.
 *
 *	SP_EL0			TPIDR_EL0
 *	TPIDR_EL1, reads	TPIDRRO_EL0
 *	TPIDR_EL0		AV_SYS_COPY_TPIDR_EL0
 *	TPIDRRO_EL0		AV_SYS_COPY_TPIDRRO_EL0
 *	the last two		UDF
 *
 * The guest's own accesses to the thread registers of EL0 trap then: encodings
 * of EL1's that no register has are UNDEFINED at EL0 in any version of the
 * architecture. Pure.
 */
#ifndef AV_MMU_PATCH_H
#define AV_MMU_PATCH_H

#include "lib/av_types.h"

#define AV_SYS_COPY_TPIDR_EL0	AV_SYS(3, 0, 4, 1, 1)
#define AV_SYS_COPY_TPIDRRO_EL0	AV_SYS(3, 0, 4, 1, 2)

/* MRS and MSR (register): the register, from AV_SYS(), and the direction. */
#define AV_INSN_SYSREG_MASK	0xffd00000
#define AV_INSN_SYSREG_BITS	0xd5100000
#define AV_INSN_SYSREG_READ	BIT(21)
#define AV_INSN_SYSREG_ENC	GENMASK(20, 5)

#define AV_INSN_UDF		0
#define AV_INSN_SIZE		4

static __always_inline u32 av_patch_enc(u32 insn, u16 enc)
{
	return (insn & ~(u32)AV_INSN_SYSREG_ENC) | (u32)enc << 5;
}

/* The instruction that stands in a copy for this one; most stand for themselves. */
static __always_inline u32 av_patch(u32 insn)
{
	if (likely((insn & AV_INSN_SYSREG_MASK) != AV_INSN_SYSREG_BITS))
		return insn;
	switch ((u16)(insn >> 5)) {
	case AV_SYS(3, 0, 4, 1, 0):
		return av_patch_enc(insn, AV_SYS(3, 3, 13, 0, 2));
	case AV_SYS(3, 0, 13, 0, 4):
		return insn & AV_INSN_SYSREG_READ ? av_patch_enc(insn, AV_SYS(3, 3, 13, 0, 3)) : insn;
	case AV_SYS(3, 3, 13, 0, 2):
		return av_patch_enc(insn, AV_SYS_COPY_TPIDR_EL0);
	case AV_SYS(3, 3, 13, 0, 3):
		return av_patch_enc(insn, AV_SYS_COPY_TPIDRRO_EL0);
	case AV_SYS_COPY_TPIDR_EL0:
	case AV_SYS_COPY_TPIDRRO_EL0:
		return AV_INSN_UDF;
	default:
		return insn;
	}
}

/* The guest's own instruction for one that trapped in a copy. */
static __always_inline u32 av_unpatch(u32 insn)
{
	if ((insn & AV_INSN_SYSREG_MASK) != AV_INSN_SYSREG_BITS)
		return insn;
	switch ((u16)(insn >> 5)) {
	case AV_SYS_COPY_TPIDR_EL0:
		return av_patch_enc(insn, AV_SYS(3, 3, 13, 0, 2));
	case AV_SYS_COPY_TPIDRRO_EL0:
		return av_patch_enc(insn, AV_SYS(3, 3, 13, 0, 3));
	default:
		return insn;
	}
}

/*
 * Copy n instructions, an even number of them. Two are looked at in one: most
 * pairs have no access to a register at all.
 */
static inline void av_patch_copy(u64 *to, const u64 *from, unsigned int n)
{
	const u64 ones = 0x0000000100000001, mask = AV_INSN_SYSREG_MASK * ones;
	unsigned int i;

	for (i = 0; i < n / 2; i++) {
		u64 pair = READ_ONCE(from[i]), left = (pair & mask) ^ (AV_INSN_SYSREG_BITS * ones);

		/* Is one half of it 0? Its lower 20 bits are, in both. */
		if (unlikely((left - ones) & ~left & (ones << 31)))
			pair = av_patch(pair) | (u64)av_patch(pair >> 32) << 32;
		to[i] = pair;
	}
}

#endif /* AV_MMU_PATCH_H */
