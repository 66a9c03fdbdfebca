// SPDX-License-Identifier: GPL-2.0
/*
 * Traps that end in the window: the guest's tables stay installed, nothing of
 * the host is touched, the register file is all there is. Runs at EL1 with
 * everything masked, on the rest of the register file's page as stack; it is
 * copied into the window with the switcher, so it calls nothing and refers to
 * no data of the kernel's.
 *
 * Only virtual EL1, and only registers that are memory without any effect
 * until an exception or an entry, and PSTATE.DAIF, as long as no interrupt
 * waits for it. All else goes the long way, which also knows how to refuse.
 */
#include "cpu/exception.h"
#include "cpu/insn.h"
#include "vm/regfile.h"
#include "switch/switch.h"

#define __window	__attribute__((__section__(".av_window.text")))

#define SYS_SP_EL0	AV_SYS(3, 0, 4, 1, 0)
#define SYS_TPIDR_EL1	AV_SYS(3, 0, 13, 0, 4)
#define SYS_SPSR_EL1	AV_SYS(3, 0, 4, 0, 0)
#define SYS_ELR_EL1	AV_SYS(3, 0, 4, 0, 1)
#define SYS_ESR_EL1	AV_SYS(3, 0, 5, 2, 0)
#define SYS_FAR_EL1	AV_SYS(3, 0, 6, 0, 0)
#define SYS_PAR_EL1	AV_SYS(3, 0, 7, 4, 0)
#define SYS_CURRENTEL	AV_SYS(3, 0, 4, 2, 2)
#define SYS_DAIF	AV_SYS(3, 3, 4, 2, 1)
#define MSR_DAIFSET	AV_SYS(0, 3, 4, 0, 6)
#define MSR_DAIFCLR	AV_SYS(0, 3, 4, 0, 7)

/* The memory of a register that is nothing else, or NULL. Hottest first. */
static __always_inline u64 *plain(struct av_srf *srf, u16 enc)
{
	if (enc == SYS_SP_EL0 && (srf->vpstate & AV_PSR_MODE) == AV_PSR_EL1H)
		return &srf->sys[AV_SP_EL0];
	if (enc == SYS_TPIDR_EL1)
		return &srf->sys[AV_TPIDR_EL1];
	if (enc == SYS_ELR_EL1)
		return &srf->sys[AV_ELR_EL1];
	if (enc == SYS_SPSR_EL1)
		return &srf->sys[AV_SPSR_EL1];
	if (enc == SYS_ESR_EL1)
		return &srf->sys[AV_ESR_EL1];
	if (enc == SYS_FAR_EL1)
		return &srf->sys[AV_FAR_EL1];
	if (enc == SYS_PAR_EL1)
		return &srf->sys[AV_PAR_EL1];
	return NULL;
}

/* New masks: only if that lets nothing in that is waiting. */
static __always_inline bool set_daif(struct av_srf *srf, u64 daif)
{
	if (srf->due && ~daif & srf->vpstate & AV_PSR_DAIF)
		return false;
	srf->vpstate = (srf->vpstate & ~AV_PSR_DAIF) | (daif & AV_PSR_DAIF);
	return true;
}

static __always_inline bool fast_sysreg(struct av_srf *srf, const struct av_insn *insn)
{
	u64 *mem = plain(srf, insn->enc);

	if (mem) {
		if (insn->write)
			*mem = av_srf_get_x(srf, insn->rt);
		else
			av_srf_set_x(srf, insn->rt, *mem);
		return true;
	}
	if (insn->enc == SYS_DAIF) {
		if (insn->write)
			return set_daif(srf, av_srf_get_x(srf, insn->rt));
		av_srf_set_x(srf, insn->rt, srf->vpstate & AV_PSR_DAIF);
		return true;
	}
	if (insn->enc == SYS_CURRENTEL && !insn->write) {
		av_srf_set_x(srf, insn->rt, srf->vpstate & 0xc);
		return true;
	}
	return false;
}

static __always_inline bool fast_msr_imm(struct av_srf *srf, const struct av_insn *insn)
{
	u64 bits = FIELD_PREP(AV_PSR_DAIF, insn->imm);

	if (insn->enc == MSR_DAIFSET)
		return set_daif(srf, srf->vpstate | bits);
	if (insn->enc == MSR_DAIFCLR)
		return set_daif(srf, srf->vpstate & ~bits);
	return false;
}

/* Nonzero: done, go on in the guest. */
__window int av_fast(struct av_srf *srf)
{
	u32 ec = av_esr_ec(srf->esr);
	enum av_insn_kind kind;
	struct av_insn insn;
	bool done;

	if (!av_srf_el1(srf) || srf->slow)
		return 0;
	if (ec == AV_EC_UNKNOWN && srf->insn != AV_INSN_UNKNOWN)
		kind = av_insn_kind(srf->insn, &insn);
	else if (ec == AV_EC_SYS64)
		kind = av_insn_from_iss(srf->esr & AV_ESR_ISS, &insn);
	else
		return 0;

	if (kind == AV_INSN_SYSREG)
		done = fast_sysreg(srf, &insn);
	else if (kind == AV_INSN_MSR_IMM)
		done = fast_msr_imm(srf, &insn);
	else
		return 0;
	if (!done)
		return 0;
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	srf->fast++;
	return 1;
}
