// SPDX-License-Identifier: GPL-2.0
/*
 * Traps completed in the window, with the guest's tables in place. This code runs at EL1 with all
 * of DAIF masked; its stack is the rest of the register file's page. It is copied into the window
 * with the switcher, so it must not call functions outside it or use data other than the register
 * file.
 *
 * For virtual EL1 it handles: the registers of cpu/rows.h; DAIF and ERET, unless that would unmask
 * a pending interrupt; one firmware call; the CPU interface and timer, as far as irq/ put their
 * state into the register file. For virtual EL0: SVC, BRK and what is UNDEFINED there.
 *
 * The exception level changes here only if both levels have the same controls (av_controls_same())
 * and both shadow trees are known (mmu/roots/root.c). All else, errors too, takes the slow path.
 * Pure: tests/test_fast.c compares it with the slow path.
 */
#include "cpu/calls.h"
#include "cpu/cheap.h"
#include "cpu/exception.h"
#include "cpu/fast.h"
#include "cpu/insn.h"
#include "cpu/quick.h"
#include "cpu/rows.h"
#include "lib/counter.h"
#include "vm/token.h"

/* cpu/fast_timed.c includes this file with others. */
#ifndef AV_FAST_TIMED
#define AV_FAST_TIMED	false
#define __window	__attribute__((__section__(".av_window.text")))
#endif

/* Count a trap of kind n as done. */
static __always_inline void counted(struct av_srf *srf, unsigned int n)
{
	u64 count = ++srf->fast[n];

	if (AV_FAST_TIMED && av_time_this(count))
		srf->log.timed = (uintptr_t)&srf->fast[n];
}

/* Would replacing the masks old by daif unmask something that is pending? */
static __always_inline bool lets_in(const struct av_srf *srf, u64 old, u64 daif)
{
	return srf->due & ~daif & old;
}

/* Rows from TCR_EL1 on can be turned off (cpu/cheap.h). n is a constant for most callers. */
static __always_inline bool has_row(const struct av_srf *srf, unsigned int n)
{
	return n < AV_FAST_TCR_EL1 || srf->cheap & AV_CHEAP_ROWS;
}

/* Returns the register's index in fast[], or AV_NR_FAST to decline. Tests rows in their order. */
static __always_inline unsigned int fast_write(struct av_srf *srf, u16 enc, u64 val)
{
#define MEM(name, sys, flags, cls)						\
	if (enc == (sys) && (flags) & AV_ROW_WRITE) {				\
		if (!has_row(srf, AV_FAST_##name))				\
			return AV_NR_FAST;					\
		av_srf_set(srf, AV_##name, val);				\
		if (AV_FAST_##name == AV_FAST_VBAR_EL1)				\
			srf->svc_pc = val + AV_VECTOR_LOWER;			\
		return AV_FAST_##name;						\
	}
#define FN(name, sys, flags, cls)						\
	if (enc == (sys) && (flags) & AV_ROW_WRITE) {				\
		if (!has_row(srf, AV_FAST_##name))				\
			return AV_NR_FAST;					\
		if (AV_FAST_##name == AV_FAST_DAIF && lets_in(srf, av_srf_daif(srf), val))		\
			return AV_NR_FAST;					\
		/* No SP_EL0 as stack pointer in copies. */			\
		if (AV_FAST_##name == AV_FAST_SPSEL && srf->copies)		\
			return AV_NR_FAST;					\
		return av_reg_##name(srf, true, &val) ? AV_FAST_##name : AV_NR_FAST;	\
	}
#define LOAD(name, sys, flags, cls)
	AV_FAST_ROWS(MEM, LOAD, FN)
#undef MEM
#undef LOAD
#undef FN
	return AV_NR_FAST;
}

static __always_inline unsigned int fast_read(struct av_srf *srf, u16 enc, u64 *val)
{
#define MEM(name, sys, flags, cls)						\
	if (enc == (sys)) {							\
		if (!has_row(srf, AV_FAST_##name))				\
			return AV_NR_FAST;					\
		*val = av_srf_get(srf, AV_##name);				\
		return AV_FAST_##name;						\
	}
#define FN(name, sys, flags, cls)						\
	if (enc == (sys)) {							\
		if (!has_row(srf, AV_FAST_##name))				\
			return AV_NR_FAST;					\
		return av_reg_##name(srf, false, val) ? AV_FAST_##name : AV_NR_FAST;	\
	}
	AV_FAST_ROWS(MEM, MEM, FN)
#undef MEM
#undef FN
	return AV_NR_FAST;
}

/* The index of the pair of these TTBRs if its roots are known, or AV_SRF_ROOTS. */
static __always_inline unsigned int pair_of(const struct av_srf *srf, u64 ttbr0, u64 ttbr1)
{
	const struct av_srf_roots *idle = &srf->roots[AV_SRF_IDLE];
	unsigned int i = av_srf_set_of(ttbr0, ttbr1), end = i + AV_SRF_WAYS;

	if (idle->ttbr0 == ttbr0)
		return av_srf_same_base(idle->ttbr1, ttbr1) && idle->root1[1] ? AV_SRF_IDLE :
										AV_SRF_ROOTS;
	for (; i < end; i++) {
		const struct av_srf_roots *roots = &srf->roots[i];

		if (roots->ttbr0 == ttbr0 && roots->ttbr1 == ttbr1 && roots->root1[1])
			return i;
	}
	return AV_SRF_ROOTS;
}

/* A write of TTBR0_EL1 or TTBR1_EL1 that makes a pair whose roots are known. */
static __always_inline int fast_ttbr(struct av_srf *srf, bool high, u64 val)
{
	u64 ttbr0 = high ? av_srf_get(srf, AV_TTBR0_EL1) : val;
	u64 ttbr1 = high ? val : av_srf_get(srf, AV_TTBR1_EL1);
	unsigned int i = pair_of(srf, ttbr0, ttbr1);
	const struct av_srf_roots *roots = &srf->roots[i];

	if (i == AV_SRF_ROOTS)
		return AV_FAST_NO;
	av_srf_set(srf, high ? AV_TTBR1_EL1 : AV_TTBR0_EL1, val);
	av_srf_show_ttbrs(srf);
	av_srf_set_pair(srf, i);
	srf->root0 = roots->root0;
	srf->ttbr1[0] = roots->root1[0];
	srf->ttbr1[1] = roots->root1[1];
	srf->modes = roots->root1[0] ? srf->modes_same : 0;
	av_quick_modes(srf);
	counted(srf, high ? AV_FAST_TTBR1_EL1 : AV_FAST_TTBR0_EL1);
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	return AV_FAST_ROOTS;
}

static __always_inline bool is_ttbr_write(const struct av_insn *insn)
{
	return insn->write && (insn->enc & ~1) == AV_SYS(3, 0, 2, 0, 0);
}

/* ICC_*_EL1: op0 3, op1 0, CRn 12, CRm 8 to 15. They have no rows. */
static __always_inline bool is_icc(u16 enc)
{
	return (enc & ~GENMASK(5, 0)) == AV_SYS(3, 0, 12, 8, 0);
}

/*
 * The CPU interface, for the one interrupt offered at entry (av_irq_offer()): its acknowledgement,
 * under the same priority mask, and its end, unless another interrupt is pending. Any later
 * interrupt makes the vCPU exit.
 */
static __always_inline unsigned int fast_icc(struct av_srf *srf, const struct av_insn *insn)
{
	u64 icc = srf->icc;

	if (!has_row(srf, AV_FAST_ICC_IAR1_EL1))
		return AV_NR_FAST;
	if (insn->enc == AV_SYS(3, 0, 12, 12, 0)) {
		if (insn->write || (icc & AV_ICC_UNSETTLED) != AV_ICC_OFFERED)
			return AV_NR_FAST;
		srf->icc = icc ^ (AV_ICC_OFFERED | AV_ICC_TAKEN);
		/* It was all that was due for PSTATE.I: another interrupt would end the offer. */
		srf->due &= ~AV_PSR_I;
		av_srf_set(srf, AV_SHOWN_DUE, srf->due);
		av_quick_modes(srf);
		av_srf_set_x(srf, insn->rt, icc & AV_ICC_INTID);
		return AV_FAST_ICC_IAR1_EL1;
	}
	if (insn->enc != AV_SYS(3, 0, 12, 12, 1) || !insn->write)
		return AV_NR_FAST;
	if (!(icc & AV_ICC_TAKEN) || srf->icc_waits ||
	    (av_srf_get_x(srf, insn->rt) ^ icc) & AV_ICC_INTID)
		return AV_NR_FAST;
	srf->icc = icc ^ (AV_ICC_TAKEN | AV_ICC_ENDED);
	return AV_FAST_ICC_EOIR1_EL1;
}

/* ICC_PMR_EL1 implements five bits (irq/vgic.h). */
static __always_inline unsigned int fast_pmr(struct av_srf *srf, const struct av_insn *insn)
{
	if (!has_row(srf, AV_FAST_ICC_PMR_EL1) || !(srf->icc_pmr & AV_ICC_PMR_KNOWN))
		return AV_NR_FAST;
	if (!insn->write) {
		av_srf_set_x(srf, insn->rt, srf->icc_pmr & AV_ICC_PMR);
		return AV_FAST_ICC_PMR_EL1;
	}
	if (srf->icc_waits || srf->icc & AV_ICC_OFFERED)
		return AV_NR_FAST;
	srf->icc_pmr = AV_ICC_PMR_KNOWN | (av_srf_get_x(srf, insn->rt) & AV_ICC_PMR);
	srf->icc |= AV_ICC_MASKED;
	return AV_FAST_ICC_PMR_EL1;
}

/* CNT*_EL0: op0 3, op1 3, CRn 14. */
static __always_inline bool is_timer(u16 enc)
{
	return (enc & ~(AV_SYS_CRM | AV_SYS_OP2)) == AV_SYS(3, 3, 14, 0, 0);
}

/* The counter, which traps only if it has an offset, and the timer as C code last saw it. */
static __always_inline unsigned int fast_timer(struct av_srf *srf, const struct av_insn *insn)
{
	if (!has_row(srf, AV_FAST_CNTVCT_EL0) || insn->write)
		return AV_NR_FAST;
	if (insn->enc == AV_SYS(3, 3, 14, 0, 2)) {
		av_srf_set_x(srf, insn->rt, av_counter() - srf->cntvoff);
		return AV_FAST_CNTVCT_EL0;
	}
	if (insn->enc == AV_SYS(3, 3, 14, 3, 1) && srf->cntv_ctl & AV_CNTV_KNOWN) {
		av_srf_set_x(srf, insn->rt, (u32)srf->cntv_ctl);
		return AV_FAST_CNTV_CTL_EL0;
	}
	if (insn->enc != AV_SYS(3, 3, 14, 3, 2))
		return AV_NR_FAST;
	av_srf_set_x(srf, insn->rt, srf->cntv_cval);
	return AV_FAST_CNTV_CVAL_EL0;
}

static __always_inline unsigned int fast_sysreg(struct av_srf *srf, const struct av_insn *insn)
{
	unsigned int n;
	u64 val = 0;

	if (is_icc(insn->enc))
		return fast_icc(srf, insn);
	if (insn->enc == AV_SYS(3, 0, 4, 6, 0))
		return fast_pmr(srf, insn);
	if (is_timer(insn->enc))
		return fast_timer(srf, insn);
	if (insn->write)
		return fast_write(srf, insn->enc, av_srf_get_x(srf, insn->rt));
	n = fast_read(srf, insn->enc, &val);
	if (n < AV_NR_FAST)
		av_srf_set_x(srf, insn->rt, val);
	return n;
}

static __always_inline unsigned int fast_msr_imm(struct av_srf *srf, const struct av_insn *insn)
{
	u64 old = av_srf_daif(srf), daif;

	if (insn->enc != AV_MSR_DAIFSET && insn->enc != AV_MSR_DAIFCLR)
		return AV_NR_FAST;
	daif = av_daif_after(old, insn->enc, insn->imm);
	if (lets_in(srf, old, daif))
		return AV_NR_FAST;
	av_srf_set_daif(srf, daif);
	/* Hardware reports one of two forms of syndrome; record it for switch/quick.S. */
	if (av_esr_ec(srf->esr) == AV_EC_SYS64)
		srf->quick_imm[insn->enc == AV_MSR_DAIFCLR] = srf->esr & ~AV_ISS_CRM;
	return AV_FAST_DAIF;
}

/* Are SP, x18 to x30 and the registers in place (vm/regfile.h) unchanged? */
static __always_inline bool leaves_high(const struct av_insn *insn, enum av_insn_kind kind,
					unsigned int n)
{
	switch (n) {
	case AV_FAST_SPSEL:
		return false;
	case AV_FAST_SP_EL0:
	case AV_FAST_TPIDR_EL1:
	case AV_FAST_TPIDR_EL0:
	case AV_FAST_TPIDRRO_EL0:
		/* May be in place, and is then reloaded together with SP. */
		if (insn->write)
			return false;
	}
	return kind == AV_INSN_MSR_IMM || insn->write || insn->rt < 18;
}

static __always_inline int fast_eret(struct av_srf *srf)
{
	u64 spsr = av_srf_get(srf, AV_SPSR_EL1), mode = spsr & AV_PSR_MODE;
	bool el0 = mode == AV_PSR_EL0T;

	if ((!el0 && mode != AV_PSR_EL1H) || spsr & (AV_PSR_IL | AV_PSR_SS))
		return AV_FAST_NO;
	if ((el0 && !srf->modes) || lets_in(srf, av_srf_daif(srf), spsr))
		return AV_FAST_NO;
	counted(srf, el0 ? AV_FAST_ERET_EL0 : AV_FAST_ERET);
	srf->pc = av_srf_get(srf, AV_ELR_EL1);
	av_srf_set_pstate(srf, spsr);
	av_quick_mode(srf);
	return el0 ? AV_FAST_TO_EL0 : AV_FAST_DONE;
}

/*
 * MRS of the ID space, which traps with a class of its own where the CPU has FEAT_IDST. CTR_EL0 and
 * DCZID_EL0 (op1 3) are in it, too, but not denied to EL0.
 */
static __always_inline bool reads_id_space(const struct av_srf *srf)
{
	struct av_insn insn;

	return av_insn_from_iss(srf->esr & AV_ESR_ISS, &insn) == AV_INSN_SYSREG &&
	       av_insn_reads_id_space(&insn) && insn.enc < AV_SYS(3, 3, 0, 0, 0);
}

/*
 * SVC, BRK and what no CPU has at EL0 are always the guest's own. An abort may be hidden: only the
 * guest's tables tell, and the window can read few of them (switch/own_abort.S).
 */
static __always_inline int fast_reflect(struct av_srf *srf, u32 ec)
{
	unsigned int n;

	if (ec == AV_EC_SVC64)
		n = AV_FAST_SVC;
	else if (ec == AV_EC_BRK64)
		n = AV_FAST_BRK;
	else if (ec == AV_EC_UNKNOWN || (ec == AV_EC_SYS64 && reads_id_space(srf)))
		n = AV_FAST_UNDEF;
	else
		return AV_FAST_NO;
	if (!srf->modes)
		return AV_FAST_NO;
	counted(srf, n);
	av_srf_take_sync(srf, ec == AV_EC_UNKNOWN ? AV_ESR_IL : srf->esr);
	av_quick_mode(srf);
	return AV_FAST_TO_EL1;
}

/* Only the PSCI version is answered here; other calls are light exits at least. */
static __always_inline int fast_hvc(struct av_srf *srf)
{
	if (!srf->psci_version || (u32)srf->regs[0] != AV_CALL_PSCI_VERSION)
		return AV_FAST_NO;
	srf->regs[0] = srf->psci_version;
	srf->regs[1] = srf->regs[2] = srf->regs[3] = 0;
	counted(srf, AV_FAST_HVC);
	av_srf_skip(srf);
	return AV_FAST_DONE_LOW;
}

/* switch/vectors.S tests these as bits. */
static_assert(AV_FAST_DONE == BIT(0) && AV_FAST_DONE_LOW == BIT(1) && AV_FAST_TO_EL0 == BIT(2));

__window int av_fast(struct av_srf *srf)
{
	enum av_insn_kind kind;
	struct av_insn insn;
	unsigned int n;
	u32 ec;

	av_from_token(srf);
	ec = av_esr_ec(srf->esr);
	if (srf->slow)
		return AV_FAST_NO;
	if (!av_srf_el1(srf))
		return fast_reflect(srf, ec);
	/* The lower half of AV_INSN_UNKNOWN is 0, which is none of the instructions below. */
	if (ec == AV_EC_UNKNOWN)
		kind = av_insn_kind(srf->insn, &insn);
	else if (ec == AV_EC_SYS64)
		kind = av_insn_from_iss(srf->esr & AV_ESR_ISS, &insn);
	else
		return AV_FAST_NO;

	if (kind == AV_INSN_SYSREG && is_ttbr_write(&insn))
		return fast_ttbr(srf, insn.enc & 1, av_srf_get_x(srf, insn.rt));
	if (kind == AV_INSN_SYSREG)
		n = fast_sysreg(srf, &insn);
	else if (kind == AV_INSN_MSR_IMM)
		n = fast_msr_imm(srf, &insn);
	else if (kind == AV_INSN_ERET)
		return fast_eret(srf);
	else
		return kind == AV_INSN_HVC ? fast_hvc(srf) : AV_FAST_NO;
	if (n == AV_NR_FAST)
		return AV_FAST_NO;
	if (n == AV_FAST_SPSEL)
		av_quick_mode(srf);
	counted(srf, n);
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	return leaves_high(&insn, kind, n) ? AV_FAST_DONE_LOW : AV_FAST_DONE;
}
