// SPDX-License-Identifier: GPL-2.0
/*
 * Traps that end in the window: the guest's tables stay installed, nothing of
 * the host is touched, the register file is all there is. Runs at EL1 with
 * everything masked, on the rest of the register file's page as stack; it is
 * copied into the window with the switcher, so it calls nothing and refers to
 * no data of the kernel's.
 *
 * Only virtual EL1, only the registers of cpu/rows.h and DAIF, and as long as no
 * interrupt waits for what is written. All else goes the long way, which also
 * knows how to refuse. Pure: tests/test_fast.c holds it against
 * that way.
 */
#include "cpu/fast.h"
#include "cpu/insn.h"
#include "cpu/rows.h"

#define __window	__attribute__((__section__(".av_window.text")))

/* Would these masks, in the place of those, let something in that is waiting? */
static __always_inline bool lets_in(const struct av_srf *srf, u64 old, u64 daif)
{
	return srf->due && ~daif & old;
}

/* The register's index in fast[], or AV_NR_FAST: not here. Compared in the order of the rows. */
static __always_inline unsigned int fast_write(struct av_srf *srf, u16 enc, u64 val)
{
#define MEM(name, sys, flags, cls)						\
	if (enc == (sys) && (flags) & AV_ROW_WRITE) {				\
		av_srf_set(srf, AV_##name, val);				\
		return AV_FAST_##name;						\
	}
#define FN(name, sys, flags, cls)						\
	if (enc == (sys) && (flags) & AV_ROW_WRITE) {				\
		if (AV_FAST_##name == AV_FAST_DAIF && lets_in(srf, av_srf_daif(srf), val))		\
			return AV_NR_FAST;					\
		return av_reg_##name(srf, true, &val) ? AV_FAST_##name : AV_NR_FAST;	\
	}
#define READ(name, sys, flags, cls)
	AV_FAST_ROWS(MEM, READ, FN)
#undef MEM
#undef READ
#undef FN
	return AV_NR_FAST;
}

static __always_inline unsigned int fast_read(struct av_srf *srf, u16 enc, u64 *val)
{
#define MEM(name, sys, flags, cls)						\
	if (enc == (sys)) {							\
		*val = av_srf_get(srf, AV_##name);				\
		return AV_FAST_##name;						\
	}
#define FN(name, sys, flags, cls)						\
	if (enc == (sys)) {							\
		return av_reg_##name(srf, false, val) ? AV_FAST_##name : AV_NR_FAST;	\
	}
	AV_FAST_ROWS(MEM, MEM, FN)
#undef MEM
#undef FN
	return AV_NR_FAST;
}

static __always_inline unsigned int fast_sysreg(struct av_srf *srf, const struct av_insn *insn)
{
	unsigned int n;
	u64 val = 0;

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
	return AV_FAST_DAIF;
}

/* SP and x18 to x30 are as they were. */
static __always_inline bool leaves_high(const struct av_insn *insn, enum av_insn_kind kind,
					unsigned int n)
{
	if (n == AV_FAST_SPSEL)
		return false;
	return kind == AV_INSN_MSR_IMM || insn->write || insn->rt < 18;
}

/* As switch/enter.S tests them. */
static_assert(AV_FAST_DONE == BIT(0) && AV_FAST_DONE_LOW == BIT(1));

__window int av_fast(struct av_srf *srf)
{
	u32 ec = av_esr_ec(srf->esr);
	enum av_insn_kind kind;
	struct av_insn insn;
	unsigned int n;

	if (srf->slow)
		return AV_FAST_NO;
	/* AV_INSN_UNKNOWN has 0 in its lower half, which is none of these. */
	if (ec == AV_EC_UNKNOWN)
		kind = av_insn_kind(srf->insn, &insn);
	else if (ec == AV_EC_SYS64)
		kind = av_insn_from_iss(srf->esr & AV_ESR_ISS, &insn);
	else
		return AV_FAST_NO;

	if (kind == AV_INSN_SYSREG)
		n = fast_sysreg(srf, &insn);
	else if (kind == AV_INSN_MSR_IMM)
		n = fast_msr_imm(srf, &insn);
	else
		return AV_FAST_NO;
	if (n == AV_NR_FAST)
		return AV_FAST_NO;
	srf->fast[n]++;
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	return leaves_high(&insn, kind, n) ? AV_FAST_DONE_LOW : AV_FAST_DONE;
}
