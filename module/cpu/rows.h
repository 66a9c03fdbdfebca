/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System registers whose accesses need only the register file: rows and access functions.
 * cpu/regs_*.c puts them in the register table; cpu/fast.c completes their traps in the window.
 * Pure.
 *
 * A register may be here if, before the next entry, an access affects only the guest itself and the
 * interrupts that PSTATE.DAIF lets in.
 */
#ifndef AV_CPU_ROWS_H
#define AV_CPU_ROWS_H

#include "stats/classes.h"
#include "vm/regfile.h"

/* Who may access a register. */
enum {
	AV_ROW_READ	= BIT(0),	/* the guest: MRS */
	AV_ROW_WRITE	= BIT(1),	/* the guest: MSR */
	AV_ROW_VMM	= BIT(2),	/* the VMM, as a KVM register ID */
	AV_ROW_EL0	= BIT(3),	/* virtual EL0 too, if the access function agrees */
	AV_ROW_PMU	= BIT(4),	/* only with a PMU; refused, UNDEFINED at EL0 too */
	AV_ROW_RW	= AV_ROW_READ | AV_ROW_WRITE,
	AV_ROW_ALL	= AV_ROW_RW | AV_ROW_VMM,
};

/*
 * MEM(name, encoding, flags, exit class): a plain word, sys[AV_<name>].
 * LOAD(…): the same, but writes have more effects and take the slow path.
 * FN(…): calls av_reg_<name>(). Hottest first; all are readable.
 * stats/classes.h has a counter for each.
 */
#define AV_FAST_ROWS(MEM, LOAD, FN)						\
	FN(SP_EL0,	AV_SYS(3, 0, 4, 1, 0),	AV_ROW_RW,	SP_EL0)		\
	MEM(TPIDR_EL1,	AV_SYS(3, 0, 13, 0, 4),	AV_ROW_ALL,	TPIDR)		\
	/* Kernels with LPA2 read it in each walk of a page table. */		\
	LOAD(TCR_EL1,	AV_SYS(3, 0, 2, 0, 2),	AV_ROW_ALL,	REGIME)		\
	FN(DAIF,	AV_SYS(3, 3, 4, 2, 1),	AV_ROW_RW | AV_ROW_EL0, PSTATE)	\
	MEM(ELR_EL1,	AV_SYS(3, 0, 4, 0, 1),	AV_ROW_RW,	EXC_REG)	\
	MEM(SPSR_EL1,	AV_SYS(3, 0, 4, 0, 0),	AV_ROW_RW,	EXC_REG)	\
	MEM(ESR_EL1,	AV_SYS(3, 0, 5, 2, 0),	AV_ROW_ALL,	EXC_REG)	\
	MEM(FAR_EL1,	AV_SYS(3, 0, 6, 0, 0),	AV_ROW_ALL,	EXC_REG)	\
	MEM(VBAR_EL1,	AV_SYS(3, 0, 12, 0, 0),	AV_ROW_ALL,	EXC_REG)	\
	MEM(PAR_EL1,	AV_SYS(3, 0, 7, 4, 0),	AV_ROW_ALL,	AT)		\
	FN(SPSEL,	AV_SYS(3, 0, 4, 2, 0),	AV_ROW_RW,	PSTATE)		\
	FN(CURRENTEL,	AV_SYS(3, 0, 4, 2, 2),	AV_ROW_READ,	PSTATE)		\
	LOAD(TTBR0_EL1,	AV_SYS(3, 0, 2, 0, 0),	AV_ROW_ALL,	REGIME)		\
	LOAD(TTBR1_EL1,	AV_SYS(3, 0, 2, 0, 1),	AV_ROW_ALL,	REGIME)		\
	/* A breakpoint may compare it: of a level where no trap ends in the window. */	\
	MEM(CONTEXTIDR_EL1, AV_SYS(3, 0, 13, 0, 1), AV_ROW_ALL,	SYSREG)		\
	MEM(TPIDRRO_EL0, AV_SYS(3, 3, 13, 0, 3), AV_ROW_ALL,	TPIDR)		\
	/* Traps from copies only. */						\
	MEM(TPIDR_EL0,	AV_SYS(3, 3, 13, 0, 2),	AV_ROW_ALL,	TPIDR)		\
	/* Linux 6.1 checks it for an erratum at each context switch. */	\
	LOAD(MIDR_EL1,	AV_SYS(3, 0, 0, 0, 0),	AV_ROW_READ | AV_ROW_VMM, ID_REG)

/* MSR (immediate), with CRm 0. */
#define AV_MSR_SPSEL		AV_SYS(0, 0, 4, 0, 5)
#define AV_MSR_DAIFSET		AV_SYS(0, 3, 4, 0, 6)
#define AV_MSR_DAIFCLR		AV_SYS(0, 3, 4, 0, 7)

/*
 * An access by virtual EL1 that the row's flags allow. Returns false if it is
 * UNDEFINED after all.
 */
static __always_inline bool av_reg_SP_EL0(struct av_srf *srf, bool write, u64 *val)
{
	/* With SPSel 0, SP_EL0 is the current stack pointer and its name is UNDEFINED. */
	if (av_srf_mode(srf) != AV_PSR_EL1H)
		return false;
	if (write)
		av_srf_set(srf, AV_SP_EL0, *val);
	else
		*val = av_srf_get(srf, AV_SP_EL0);
	return true;
}

static __always_inline bool av_reg_SPSEL(struct av_srf *srf, bool write, u64 *val)
{
	if (write)
		av_srf_set_mode(srf, *val & 1 ? AV_PSR_EL1H : AV_PSR_EL1T);
	else
		*val = av_srf_mode(srf) & 1;
	return true;
}

static __always_inline bool av_reg_CURRENTEL(struct av_srf *srf, bool write, u64 *val)
{
	*val = av_srf_mode(srf) & AV_PSR_EL;
	return true;
}

static __always_inline bool av_reg_DAIF(struct av_srf *srf, bool write, u64 *val)
{
	if (write)
		av_srf_set_daif(srf, *val);
	else
		*val = av_srf_daif(srf);
	return true;
}

/* DAIF after MSR DAIFSet or DAIFClr. */
static __always_inline u64 av_daif_after(u64 daif, u16 enc, u64 imm)
{
	u64 bits = FIELD_PREP(AV_PSR_DAIF, imm);

	return enc == AV_MSR_DAIFSET ? daif | bits : daif & ~bits;
}

#endif /* AV_CPU_ROWS_H */
