// SPDX-License-Identifier: GPL-2.0
/*
 * One device access of the guest, from the decoded instruction to its
 * registers. Rules in mmio.h.
 */
#include <linux/kvm.h>

#include "irq/irq.h"
#include "mmio/match.h"
#include "mmio/mmio.h"
#include "mmu/types.h"
#include "stats/stats.h"
#include "vm/regfile.h"

#define ISS_TRANSLATION_LEVEL_3	0x07

/* The value that a store writes, element by element. */
static u64 stored(const struct av_srf *srf, const struct av_ldst *ls, unsigned int element)
{
	u64 val = av_srf_get_x(srf, element ? ls->rt2 : ls->rt);

	return ls->size == 3 ? val : val & GENMASK_ULL(8 * av_ldst_bytes(ls) - 1, 0);
}

/*
 * All elements are done. Registers change only now, so that an access abandoned
 * half-way can be repeated.
 */
static noinline enum av_answer_kind finish(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	const struct av_ldst *ls = &vcpu->mmio->insn;

	if (!ls->write) {
		av_srf_set_x(srf, ls->rt, av_ldst_extend(ls, vcpu->mmio->value[0]));
		if (ls->kind == AV_LDST_PAIR)
			av_srf_set_x(srf, ls->rt2, av_ldst_extend(ls, vcpu->mmio->value[1]));
	}
	if (av_ldst_writes_back(ls)) {
		if (ls->rn == AV_LDST_SP)
			srf->sp = av_ldst_writeback(ls, srf->sp);
		else
			srf->regs[ls->rn] = av_ldst_writeback(ls, srf->regs[ls->rn]);
	}
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

/* Perform the elements from the current one on, until the VMM must handle one. */
static enum av_answer_kind go_on(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmio *m = vcpu->mmio;
	const struct av_ldst *ls = &m->insn;
	unsigned int len = av_ldst_bytes(ls);

	for (; m->element < av_ldst_elements(ls); m->element++) {
		u64 gpa = m->gpa + m->element * len;
		u64 *val = &m->value[m->element];

		*val = ls->write ? stored(vcpu->srf, ls, m->element) : 0;
		if (!in_kernel(vcpu, gpa, len, ls->write, val))
			return to_user(vcpu, gpa, len, ls->write, *val);
	}
	return finish(vcpu);
}

enum av_answer_kind av_mmio_complete(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmio *m = vcpu->mmio;

	BUILD_BUG_ON(offsetof(struct kvm_run, mmio.data) % sizeof(u64));
	m->pending = false;
	/* A VMM that changed exit_reason makes the instruction execute again. */
	if (READ_ONCE(vcpu->run->exit_reason) != KVM_EXIT_MMIO)
		return AV_ANSWER_RESUME;
	/* Read once: the VMM may write the page at any time. */
	m->value[m->element] = READ_ONCE(*(u64 *)vcpu->run->mmio.data);
	m->element++;
	/* Usually that was the last element. */
	return m->element == av_ldst_elements(&m->insn) ? finish(vcpu) : go_on(vcpu);
}

/*
 * Refuse a load or store that no device can answer. For KVM these are accesses
 * without a valid syndrome: a VMM that asked for it gets KVM_EXIT_ARM_NISV (and
 * may inject an abort); otherwise KVM_RUN fails.
 */
static enum av_answer_kind refuse(struct av_vcpu *vcpu, enum av_ldst_kind kind,
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
	pr_notice_ratelimited("armvisor: VM %u, vCPU %d: %s at %#llx accesses device address %#llx: only plain loads and stores can be emulated\n",
			      vcpu->vm->serial, vcpu->id, av_ldst_name(kind), vcpu->srf->pc,
			      answer->ipa);
	answer->err = -ENOSYS;
	return AV_ANSWER_ERROR;
}

int av_mmio_enable_nisv(struct av_vm *vm)
{
	WRITE_ONCE(vm->mmio->nisv_to_user, true);
	return 0;
}

/*
 * Stores for which KVM has no valid syndrome: pairs and write-back. Devices get
 * them nevertheless; for read-only memory the VMM gets KVM's answer, as it
 * expects.
 */
static bool undescribed(const struct av_ldst *ls)
{
	return ls->kind == AV_LDST_PAIR || av_ldst_writes_back(ls);
}

static enum av_answer_kind emulate(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	struct av_vcpu_mmio *m = vcpu->mmio;

	av_insn_decode(insn, &m->insn);
	switch (av_ldst_match(&m->insn, &vcpu->mmu->regime, vcpu->srf, answer->iss, answer->far)) {
	case AV_MATCH_YES:
		break;
	case AV_MATCH_REFUSED:
		return refuse(vcpu, m->insn.kind, answer);
	case AV_MATCH_SPLIT:
		return AV_ANSWER_ABORT;
	default:
		av_stat_inc(&vcpu->stats, AV_EVENT_INSN_CHANGED);
		return AV_ANSWER_RESUME;
	}
	if (answer->rom && undescribed(&m->insn))
		return refuse(vcpu, m->insn.kind, answer);
	m->element = 0;
	m->gpa = answer->ipa;
	return go_on(vcpu);
}

void av_mmio_access(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	answer->kind = emulate(vcpu, insn, answer);
	answer->cls = vcpu->mmio->pending ? AV_EXIT_MMIO_USER : AV_EXIT_MMIO_KERNEL;
}
