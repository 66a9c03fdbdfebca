// SPDX-License-Identifier: GPL-2.0
/*
 * Light exits, besides calls of firmware (cpu/calls.h): answered between two stays
 * in the guest, with interrupts off and without a look at what else there is to do.
 * Whoever wants the vCPU meanwhile has sent an interrupt, which ends the next stay
 * as it begins.
 *
 * The guest is entered again as the window left it, or at the other exception level
 * where the window might have gone there, too (srf->modes).
 */
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/insn.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

/* SYS with op1 0 and CRn 8. */
static bool is_tlbi(u64 insn)
{
	return (insn & ~0xfffULL) == 0xd5088000;
}

static __always_inline bool answer_tlbi(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_insn insn;

	if (!is_tlbi(srf->insn) || !av_srf_el1(srf))
		return false;
	av_insn_kind(srf->insn, &insn);
	if (!av_mmu_tlbi_light(vcpu, insn.enc, av_srf_get_x(srf, insn.rt)))
		return false;
	av_count(&vcpu->stats, AV_EXIT_TLBI);
	av_vcpu_skip_insn(vcpu);
	return true;
}

/* Can an exception be taken to virtual EL1 without new tables and controls? */
static bool may_inject(const struct av_srf *srf)
{
	return av_srf_el1(srf) ? av_srf_mode(srf) == AV_PSR_EL1H : srf->modes;
}

static __always_inline bool answer_abort(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	const struct av_answer *answer;

	if (av_mmu_in_stub(vcpu))
		return false;
	answer = av_mmu_fault_light(vcpu, srf->esr, srf->far, may_inject(srf));
	if (!answer)
		return false;
	if (answer->kind == AV_ANSWER_ABORT)
		av_inject_abort_light(vcpu, answer->insn, answer->far, answer->iss);
	av_count(&vcpu->stats, answer->cls);
	return true;
}

bool av_answer_light(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;

	if (!(srf->cheap & AV_CHEAP_LIGHT) || srf->slow)
		return false;
	switch (av_esr_ec(srf->esr)) {
	case AV_EC_UNKNOWN:
		return answer_tlbi(vcpu);
	case AV_EC_IABT_LOW:
	case AV_EC_DABT_LOW:
		return answer_abort(vcpu);
	default:
		return false;
	}
}
