// SPDX-License-Identifier: GPL-2.0
/*
 * One device access of the guest, from the decoded instruction to its
 * registers. Rules in mmio.h.
 */
#include <linux/kvm.h>

#include "irq/irq.h"
#include "mmio/match.h"
#include "mmio/mmio.h"
#include "mmu/base/types.h"
#include "stats/stats.h"
#include "vm/regfile.h"

#define ISS_TRANSLATION_LEVEL_3	0x07

/* The value that a store writes. */
static u64 stored(const struct av_srf *srf, const struct av_ldst *ls)
{
	u64 val = av_srf_get_x(srf, ls->rt);

	return ls->size == 3 ? val : val & GENMASK_ULL(8 * av_ldst_bytes(ls) - 1, 0);
}

/* The access is done: a load's register changes only now. */
static enum av_answer_kind finish(struct av_vcpu *vcpu, u64 val)
{
	const struct av_ldst *ls = &vcpu->mmio->insn;

	if (!ls->write)
		av_srf_set_x(vcpu->srf, ls->rt, av_ldst_extend(ls, val));
	return AV_ANSWER_SKIP;
}

/* Is the access emulated in the kernel? A read puts its value in *val. */
static bool in_kernel(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write, u64 *val)
{
	return av_vgic_mmio(vcpu, gpa, len, write, val) ||
	       (write && (av_ioeventfd_write(vcpu->vm, gpa, len, *val) ||
			  av_coalesced_write(vcpu->vm, gpa, len, *val)));
}

static enum av_answer_kind to_user(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write,
				   u64 val)
{
	struct kvm_run *run = vcpu->run;

	run->mmio.phys_addr = gpa;
	run->mmio.len = len;
	run->mmio.is_write = write;
	if (write)
		memcpy(run->mmio.data, &val, sizeof(val));
	run->exit_reason = KVM_EXIT_MMIO;
	vcpu->mmio->pending = true;
	return AV_ANSWER_USER;
}

enum av_answer_kind av_mmio_complete(struct av_vcpu *vcpu)
{
	BUILD_BUG_ON(offsetof(struct kvm_run, mmio.data) % sizeof(u64));
	vcpu->mmio->pending = false;
	/* A VMM that changed exit_reason makes the instruction execute again. */
	if (READ_ONCE(vcpu->run->exit_reason) != KVM_EXIT_MMIO)
		return AV_ANSWER_RESUME;
	/* Read once: the VMM may write the page at any time. */
	return finish(vcpu, READ_ONCE(*(u64 *)vcpu->run->mmio.data));
}

/*
 * Refuse a load or store that the hardware would not describe to KVM (no valid
 * syndrome), whether or not it could be emulated: guests that do it fail alike
 * on both. A VMM that asked for it gets KVM_EXIT_ARM_NISV (and may inject an
 * abort); otherwise KVM_RUN fails.
 */
static enum av_answer_kind refuse(struct av_vcpu *vcpu, const struct av_ldst *ls,
				  struct av_answer *answer)
{
	struct kvm_run *run = vcpu->run;

	/* Nothing about a protected guest goes to the log. */
	if (vcpu->vm->protected) {
		answer->iss = (answer->iss & AV_ESR_WNR) | AV_FSC_EXTERNAL;
		return AV_ANSWER_ABORT;
	}
	if (READ_ONCE(vcpu->vm->mmio->nisv_to_user)) {
		run->exit_reason = KVM_EXIT_ARM_NISV;
		/* In KVM the access would be a stage 2 fault. */
		run->arm_nisv.esr_iss = (answer->iss & (AV_ESR_WNR | AV_ESR_CM)) |
					ISS_TRANSLATION_LEVEL_3;
		run->arm_nisv.fault_ipa = answer->ipa;
		return AV_ANSWER_USER;
	}
	pr_notice_ratelimited("armvisor: VM %u, vCPU %d: %s at %#llx accesses device address %#llx: only plain loads and stores are emulated, as by KVM\n",
			      vcpu->vm->serial, vcpu->id, av_ldst_name(ls), vcpu->srf->pc,
			      answer->ipa);
	answer->err = -ENOSYS;
	return AV_ANSWER_ERROR;
}

int av_mmio_enable_nisv(struct av_vm *vm)
{
	WRITE_ONCE(vm->mmio->nisv_to_user, true);
	return 0;
}

static enum av_answer_kind emulate(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	struct av_ldst *ls = &vcpu->mmio->insn;
	unsigned int len;
	u64 val;

	av_insn_decode(insn, ls);
	switch (av_ldst_match(ls, &vcpu->mmu->regime, vcpu->srf, answer->iss, answer->far)) {
	case AV_MATCH_YES:
		break;
	case AV_MATCH_REFUSED:
		return refuse(vcpu, ls, answer);
	case AV_MATCH_SPLIT:
		return AV_ANSWER_ABORT;
	default:
		av_stat_inc(&vcpu->stats, AV_EVENT_INSN_CHANGED);
		return AV_ANSWER_RESUME;
	}
	len = av_ldst_bytes(ls);
	val = ls->write ? stored(vcpu->srf, ls) : 0;
	if (!in_kernel(vcpu, answer->ipa, len, ls->write, &val))
		return to_user(vcpu, answer->ipa, len, ls->write, val);
	return finish(vcpu, val);
}

void av_mmio_access(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	answer->kind = emulate(vcpu, insn, answer);
	answer->cls = vcpu->mmio->pending ? AV_EXIT_MMIO_USER : AV_EXIT_MMIO_KERNEL;
}
