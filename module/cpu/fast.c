// SPDX-License-Identifier: GPL-2.0
/*
 * Traps that end in the window: the guest's tables stay installed, nothing of
 * the host is touched, the register file is all there is. Runs at EL1 with
 * everything masked, on the rest of the register file's page as stack; it is
 * copied into the window with the switcher, so it calls nothing and refers to
 * no data of the kernel's.
 *
 * Of virtual EL1 the registers of cpu/rows.h, DAIF and ERET, as long as no
 * interrupt waits for what is written, a firmware call, and what irq/ has told of
 * the CPU interface and the timer; of virtual EL0 SVC and BRK.
 * Modes change here only where the controls of both are the same
 * (av_controls_same()) and the trees of both are at hand (mmu/root.c). All else
 * goes the long way, which also knows how to refuse. Pure: tests/test_fast.c holds it against that way.
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

#define __window	__attribute__((__section__(".av_window.text")))

/* Would these masks, in the place of those, let something in that is waiting? */
static __always_inline bool lets_in(const struct av_srf *srf, u64 old, u64 daif)
{
	return srf->due & ~daif & old;
}

/* Rows from TCR_EL1 on can be turned off (cpu/cheap.h). A constant decides for most. */
static __always_inline bool has_row(const struct av_srf *srf, unsigned int n)
{
	return n < AV_FAST_TCR_EL1 || srf->cheap & AV_CHEAP_ROWS;
}

/* The register's index in fast[], or AV_NR_FAST: not here. Compared in the order of the rows. */
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
		/* SP_EL0 as a stack pointer: not from copies. */		\
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

/* A write of TTBR0_EL1 or TTBR1_EL1: to a pair whose roots are known. */
static __always_inline int fast_ttbr(struct av_srf *srf, bool high, u64 val)
{
	u64 ttbr0 = high ? av_srf_get(srf, AV_TTBR0_EL1) : val;
	u64 ttbr1 = high ? val : av_srf_get(srf, AV_TTBR1_EL1);
	const struct av_srf_roots *roots = srf->roots;
	unsigned int i;

	for (i = 0; i < AV_SRF_ROOTS; i++, roots++) {
		if (roots->ttbr0 != ttbr0 || roots->ttbr1 != ttbr1 || !roots->root1[1])
			continue;
		av_srf_set(srf, high ? AV_TTBR1_EL1 : AV_TTBR0_EL1, val);
		av_srf_show_ttbrs(srf);
		srf->roots_at = i;
		srf->root0 = roots->root0;
		srf->ttbr1[0] = roots->root1[0];
		srf->ttbr1[1] = roots->root1[1];
		srf->modes = roots->root1[0] ? srf->modes_same : 0;
		av_quick_modes(srf);
		srf->fast[high ? AV_FAST_TTBR1_EL1 : AV_FAST_TTBR0_EL1]++;
		srf->pc += 4;
		srf->pstate &= ~AV_PSR_BTYPE;
		return AV_FAST_ROOTS;
	}
	return AV_FAST_NO;
}

static __always_inline bool is_ttbr_write(const struct av_insn *insn)
{
	return insn->write && (insn->enc & ~1) == AV_SYS(3, 0, 2, 0, 0);
}

/* ICC_*_EL1, op0 3, op1 0, CRn 12, CRm 8 to 15: there are no rows for them to look through. */
static __always_inline bool is_icc(u16 enc)
{
	return (enc & ~GENMASK(5, 0)) == AV_SYS(3, 0, 12, 8, 0);
}

/*
 * Of the CPU interface the interrupt that came with the entry (av_irq_offer()): its
 * acknowledgement, under the mask that it came under, and its end, where nothing waits
 * that this would let in. What comes later makes the vCPU leave.
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
		/* It was all that waited for I: an offer is over when another interrupt comes. */
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

/* ICC_PMR_EL1 has five bits (irq/vgic.h). */
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

/* CNT*_EL0, op0 3, op1 3, CRn 14 */
static __always_inline bool is_timer(u16 enc)
{
	return (enc & ~(AV_SYS_CRM | AV_SYS_OP2)) == AV_SYS(3, 3, 14, 0, 0);
}

/* The counter, where it has an offset and so traps; the timer as C has seen it last. */
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
	/* Which of two forms the hardware's syndrome has is seen here. */
	if (av_esr_ec(srf->esr) == AV_EC_SYS64)
		srf->quick_imm[insn->enc == AV_MSR_DAIFCLR] = srf->esr & ~AV_ISS_CRM;
	return AV_FAST_DAIF;
}

/* SP and x18 to x30, and what is in place, are as they were. */
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
		/* May be in place, and come with SP. */
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
	srf->fast[el0 ? AV_FAST_ERET_EL0 : AV_FAST_ERET]++;
	srf->pc = av_srf_get(srf, AV_ELR_EL1);
	av_srf_set_pstate(srf, spsr);
	av_quick_mode(srf);
	return el0 ? AV_FAST_TO_EL0 : AV_FAST_DONE;
}

/*
 * Of virtual EL0's exceptions SVC and BRK, which are the guest's own whatever its tables
 * say. An abort may be a hidden one: only the guest's tables tell, which are not mapped.
 */
static __always_inline int fast_reflect(struct av_srf *srf, u32 ec)
{
	if (!srf->modes || (ec != AV_EC_SVC64 && ec != AV_EC_BRK64))
		return AV_FAST_NO;
	srf->fast[ec == AV_EC_SVC64 ? AV_FAST_SVC : AV_FAST_BRK]++;
	av_srf_take_sync(srf, srf->esr);
	av_quick_mode(srf);
	return AV_FAST_TO_EL1;
}

/* Other calls than for PSCI's version are at least light exits. */
static __always_inline int fast_hvc(struct av_srf *srf)
{
	if (!srf->psci_version || (u32)srf->regs[0] != AV_CALL_PSCI_VERSION)
		return AV_FAST_NO;
	srf->regs[0] = srf->psci_version;
	srf->regs[1] = srf->regs[2] = srf->regs[3] = 0;
	srf->fast[AV_FAST_HVC]++;
	av_srf_skip(srf);
	return AV_FAST_DONE_LOW;
}

/* As switch/enter.S tests them. */
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
	/* AV_INSN_UNKNOWN has 0 in its lower half, which is none of these. */
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
	srf->fast[n]++;
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	return leaves_high(&insn, kind, n) ? AV_FAST_DONE_LOW : AV_FAST_DONE;
}
