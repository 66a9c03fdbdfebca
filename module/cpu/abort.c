// SPDX-License-Identifier: GPL-2.0
/* Aborts from the guest: carries out the answer that mmu/ or mmio/ gave (vm/answer.h). */
#include "cpu/cpu.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

static int kill(struct av_vcpu *vcpu, const struct av_answer *answer)
{
	/*
	 * The address reveals registers or tables of a protected guest: keep it from VMM and log.
	 */
	if (vcpu->vm->protected)
		return av_vm_kill(vcpu, "the hardware reports a fault in the shadow tables: ESR %#llx",
				  answer->iss);
	return av_vm_kill(vcpu, "the hardware reports a fault in the shadow tables: ESR %#llx at %#llx",
			  answer->iss, answer->far);
}

/* Returns as an exit handler does (cpu/cpu.h). */
static int carry_out(struct av_vcpu *vcpu, const struct av_answer *answer)
{
	switch (answer->kind) {
	case AV_ANSWER_SKIP:
		av_vcpu_skip_insn(vcpu);
		return 1;
	case AV_ANSWER_ABORT:
		av_inject_abort(vcpu, answer->insn, answer->far, answer->iss);
		return 1;
	case AV_ANSWER_USER:
		return 0;
	case AV_ANSWER_ERROR:
		return answer->err;
	case AV_ANSWER_KILL:
		return kill(vcpu, answer);
	default:
		return 1;
	}
}

int av_handle_abort(struct av_vcpu *vcpu)
{
	struct av_answer answer;
	u32 insn;

	av_mmu_fault(vcpu, vcpu->srf->esr, vcpu->srf->far, &answer);
	if (answer.kind == AV_ANSWER_DEVICE &&
	    av_mmu_fetch_insn(vcpu, vcpu->srf->pc, &insn, &answer))
		av_mmio_access(vcpu, insn, &answer);
	av_count(&vcpu->stats, answer.cls);
	/* Usually a hidden fault was filled, or the VMM must emulate the access. */
	if (answer.kind == AV_ANSWER_RESUME)
		return 1;
	if (answer.kind == AV_ANSWER_USER)
		return 0;
	return carry_out(vcpu, &answer);
}

int av_fetch_insn(struct av_vcpu *vcpu, u32 *insn)
{
	struct av_answer answer;

	if (av_mmu_fetch_insn(vcpu, vcpu->srf->pc, insn, &answer))
		return 0;
	av_count(&vcpu->stats, answer.cls);
	return carry_out(vcpu, &answer);
}

int av_complete_mmio(struct av_vcpu *vcpu)
{
	if (!av_mmio_pending(vcpu))
		return 1;
	if (av_mmio_complete(vcpu) == AV_ANSWER_SKIP)
		av_vcpu_skip_insn(vcpu);
	return 1;
}
