/* SPDX-License-Identifier: GPL-2.0 */
/* The ID registers: op0 3, op1 0, CRn 0, CRm 1 to 7, op2 0 to 7; most are unallocated. Pure. */
#ifndef AV_CPU_IDREGS_H
#define AV_CPU_IDREGS_H

#include "lib/av_types.h"

#define AV_NR_IDREGS		56
#define AV_IDREG(crm, op2)	(((crm) - 1) * 8 + (op2))

#define AV_ID_PFR0		AV_IDREG(4, 0)
#define AV_ID_PFR1		AV_IDREG(4, 1)
#define AV_ID_DFR0		AV_IDREG(5, 0)
#define AV_ID_ISAR0		AV_IDREG(6, 0)
#define AV_ID_ISAR1		AV_IDREG(6, 1)
#define AV_ID_MMFR0		AV_IDREG(7, 0)
#define AV_ID_MMFR1		AV_IDREG(7, 1)
#define AV_ID_MMFR2		AV_IDREG(7, 2)

#define AV_ID_MMFR0_PARANGE	GENMASK_ULL(3, 0)
#define AV_ID_PFR0_GIC		GENMASK_ULL(27, 24)
#define AV_ID_PFR0_SVE		GENMASK_ULL(35, 32)
#define AV_ID_PFR1_SME		GENMASK_ULL(27, 24)
#define AV_ID_MMFR2_IDS		GENMASK_ULL(39, 36)
#define AV_ID_PFR0_CSV3		GENMASK_ULL(63, 60)
#define AV_ID_DFR0_PMUVER	GENMASK_ULL(11, 8)
#define AV_ID_DFR0_BRPS		GENMASK_ULL(15, 12)
#define AV_ID_DFR0_WRPS		GENMASK_ULL(23, 20)

/* The guest's value, given the host's. */
u64 av_idreg_compose(unsigned int reg, u64 host);

/* Does the guest's value depend on the host's register? Only then is the register read. */
bool av_idreg_uses_host(unsigned int reg);

/*
 * The bits of the fields that a VMM may write, as in KVM. newer: in the newest KVM, which has more
 * of them, rather than in stable's.
 */
u64 av_idreg_writable(unsigned int reg, bool newer);

/* AArch32 ID registers: read as zero, VMM writes ignored, as in KVM without AArch32. */
bool av_idreg_is_aarch32(unsigned int reg);

/*
 * May a VMM set val, where limit is the most that we support? Each writable
 * field may be lower. 15 counts as lowest in the fields where it means that the
 * feature is missing.
 */
bool av_idreg_may_be(unsigned int reg, u64 limit, u64 val, bool newer);

/* Does val lack AArch64 at EL0 or EL1? The newest KVM always refuses that. */
bool av_idreg_lacks_aarch64(unsigned int reg, u64 val);

/*
 * Clear features in a VMM's value that old KVM showed and newer KVM silently
 * drops: the host's MPAM and NV, and an IMPLEMENTATION DEFINED PMU.
 */
u64 av_idreg_forget(unsigned int reg, u64 host, u64 val);

/* Registers that identify the implementation of a CPU. */
enum av_imp_id { AV_IMP_MIDR, AV_IMP_REVIDR, AV_IMP_AIDR, AV_NR_IMP_IDS };

#define AV_NR_CACHES		14	/* seven levels, times CSSELR_EL1.InD */
#define AV_CLIDR_RES0		GENMASK_ULL(63, 47)
#define AV_CTR_DIC		BIT_ULL(29)
#define AV_CTR_IDC		BIT_ULL(28)
#define AV_CTR_DMINLINE		GENMASK_ULL(19, 16)
#define AV_CTR_IMINLINE		GENMASK_ULL(3, 0)
#define AV_CTR_L1IP		GENMASK_ULL(15, 14)
#define AV_CTR_L1IP_VIPT	2

/* The same for CTR_EL0. The newest KVM lets a VMM show a PIPT instruction cache as VIPT. */
u64 av_ctr_writable(bool newer);
bool av_ctr_may_be(u64 limit, u64 val, bool newer);

#endif /* AV_CPU_IDREGS_H */
