/* SPDX-License-Identifier: GPL-2.0 */
/* Decodes the instructions that trap from EL0 as "unknown". Pure. */
#ifndef AV_CPU_INSN_H
#define AV_CPU_INSN_H

#include "lib/av_types.h"

/* CRm in the syndrome of a trapped system instruction */
#define AV_ISS_CRM	GENMASK_ULL(4, 1)

enum av_insn_kind {
	AV_INSN_UNDEF,		/* none of these: UNDEFINED for the guest as well */
	AV_INSN_SYSREG,		/* MRS, MSR (register) */
	AV_INSN_SYS,		/* SYS, SYSL and their names: TLBI, AT, DC, IC */
	AV_INSN_MSR_IMM,	/* MSR (immediate) */
	AV_INSN_HVC,
	AV_INSN_SMC,
	AV_INSN_ERET,
	AV_INSN_RUNS,		/* executes at EL0: the guest has overwritten the word */
	AV_INSN_NR_KINDS
};

struct av_insn {
	u16 enc;	/* AV_SYS(): SYSREG, SYS; MSR_IMM with CRm 0 */
	u16 imm;	/* HVC, SMC: 16 bits; MSR_IMM: 4 */
	u8 rt;		/* SYSREG, SYS */
	bool write;	/* SYSREG, SYS: writes from rt, else reads to it */
};

/*
 * Instructions that may replace others while a CPU executes them (kprobes,
 * static keys), except HVC and SMC: B, BL, B.cond, BRK, SVC, ISB and hints.
 */
static __always_inline bool av_insn_runs(u32 insn)
{
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000010) == 0x54000000 ||
	       (insn & 0xffe0001f) == 0xd4200000 || (insn & 0xffe0001f) == 0xd4000001 ||
	       (insn & 0xfffff0ff) == 0xd50330df || (insn & 0xfffff01f) == 0xd503201f;
}

/* MRS, MSR, SYS and SYSL: the accessed register or operation, as AV_SYS(), and the number of Rt. */
static __always_inline u16 av_insn_sys(u32 insn)
{
	return insn >> 5;
}

static __always_inline unsigned int av_insn_rt(u32 insn)
{
	return insn & 0x1f;
}

static __always_inline enum av_insn_kind av_insn_kind(u32 insn, struct av_insn *out)
{
	out->enc = av_insn_sys(insn);
	out->rt = av_insn_rt(insn);
	out->write = !(insn & BIT(21));
	/* op0 2 and 3: the most frequent. */
	if ((insn & 0xffd00000) == 0xd5100000)
		return AV_INSN_SYSREG;
	if ((insn & 0xffc00000) == 0xd5000000) {
		if (insn & BIT(19))
			return AV_INSN_SYS;
		if ((insn & 0xf01f) != 0x401f || !out->write)
			return av_insn_runs(insn) ? AV_INSN_RUNS : AV_INSN_UNDEF;
		out->imm = (insn >> 8) & 15;
		out->enc &= ~AV_SYS_CRM;
		return AV_INSN_MSR_IMM;
	}
	if (insn == 0xd69f03e0)
		return AV_INSN_ERET;
	out->imm = (insn >> 5) & 0xffff;
	if ((insn & 0xffe0001f) == 0xd4000002)
		return AV_INSN_HVC;
	if ((insn & 0xffe0001f) == 0xd4000003)
		return AV_INSN_SMC;
	return av_insn_runs(insn) ? AV_INSN_RUNS : AV_INSN_UNDEF;
}

/* The same from the syndrome of a trapped MSR, MRS or system instruction (EC 0x18). */
static __always_inline enum av_insn_kind av_insn_from_iss(u64 iss, struct av_insn *out)
{
	u32 op0 = (iss >> 20) & 3, op1 = (iss >> 14) & 7, op2 = (iss >> 17) & 7;

	/*
	 * Of MSR (immediate) only DAIFSet and DAIFClr trap: op1 3, op2 6 or 7.
	 * QEMU (seen in 7.2) swaps op1 and op2.
	 */
	if (!op0 && op2 == 3)
		swap(op1, op2);
	out->enc = AV_SYS(op0, op1, (iss >> 10) & 15, (iss >> 1) & 15, op2);
	out->rt = (iss >> 5) & 31;
	out->write = !(iss & 1);
	if (op0 >= 2)
		return AV_INSN_SYSREG;
	if (op0 == 1)
		return AV_INSN_SYS;
	out->imm = (iss >> 1) & 15;
	out->enc &= ~AV_SYS_CRM;
	return AV_INSN_MSR_IMM;
}

/* The syndrome (ISS) of a trapped MSR, MRS or system instruction. */
static inline u64 av_insn_iss(const struct av_insn *insn)
{
	return FIELD_GET(AV_SYS_OP0, insn->enc) << 20 | FIELD_GET(AV_SYS_OP2, insn->enc) << 17 |
	       FIELD_GET(AV_SYS_OP1, insn->enc) << 14 | FIELD_GET(AV_SYS_CRN, insn->enc) << 10 |
	       insn->rt << 5 | FIELD_GET(AV_SYS_CRM, insn->enc) << 1 | (insn->write ? 0 : 1);
}

/* The feature ID space, a read of which says what it is also where there is no such register. */
static inline bool av_insn_reads_id_space(const struct av_insn *insn)
{
	unsigned int op1 = FIELD_GET(AV_SYS_OP1, insn->enc);

	return !insn->write && FIELD_GET(AV_SYS_OP0, insn->enc) == 3 && op1 <= 3 && op1 != 2 &&
	       !FIELD_GET(AV_SYS_CRN, insn->enc) && FIELD_GET(AV_SYS_CRM, insn->enc) < 8;
}

#endif /* AV_CPU_INSN_H */
