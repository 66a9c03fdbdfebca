// SPDX-License-Identifier: GPL-2.0
/*
 * Light exits: answered between two stays in the guest, with interrupts off and
 * without a look at what else there is to do. Whoever wants the vCPU meanwhile has
 * sent an interrupt, which ends the next stay as it begins.
 *
 * The guest is entered again as the window left it, or at the other exception level
 * where the window might have gone there, too (srf->modes).
 */
#include "cpu/calls.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/insn.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

/* CRn of TLBI. */
#define CRN_TLBI	8

static bool is_tlbi(enum av_insn_kind kind, const struct av_insn *insn)
{
	return kind == AV_INSN_SYS && insn->write && FIELD_GET(AV_SYS_OP0, insn->enc) == 1 &&
	       FIELD_GET(AV_SYS_OP1, insn->enc) == 0 && FIELD_GET(AV_SYS_CRN, insn->enc) == CRN_TLBI;
}

/* A call of firmware, or a TLBI. */
static bool answer_unknown(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_insn insn;

	if (av_exit_is_light(srf)) {
		av_smccc_answer_light(vcpu);
		return true;
	}
	if (!av_srf_el1(srf) || !is_tlbi(av_insn_kind(srf->insn, &insn), &insn) ||
	    !av_mmu_tlbi_light(vcpu, insn.enc, av_srf_get_x(srf, insn.rt)))
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

static bool answer_abort(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_answer answer;

	if (av_mmu_in_stub(vcpu) ||
	    !av_mmu_fault_light(vcpu, srf->esr, srf->far, may_inject(srf), &answer))
		return false;
	if (answer.kind == AV_ANSWER_ABORT)
		av_inject_abort_light(vcpu, answer.insn, answer.far, answer.iss);
	av_count(&vcpu->stats, answer.cls);
	return true;
}

bool av_answer_light(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;

	if (srf->exit != AV_EXCEPTION_SYNC)
		return false;
	if (!(srf->cheap & AV_CHEAP_LIGHT) || srf->slow) {
		if (!av_exit_is_light(srf))
			return false;
		av_smccc_answer_light(vcpu);
		return true;
	}
	switch (av_esr_ec(srf->esr)) {
	case AV_EC_UNKNOWN:
		return answer_unknown(vcpu);
	case AV_EC_IABT_LOW:
	case AV_EC_DABT_LOW:
		return answer_abort(vcpu);
	default:
		return false;
	}
}
