// SPDX-License-Identifier: GPL-2.0
/*
 * One access of the guest to a device, from the decoded instruction to its
 * registers. Rules in mmio.h.
 */
#include <linux/kvm.h>

#include "irq/irq.h"
#include "mmio/mmio.h"
#include "vm/regfile.h"

#define GUEST_PAGE	0x1000U
#define ISS_TRANSLATION_LEVEL_3	0x07

static unsigned int elements(const struct av_ldst *ls)
{
	return ls->kind == AV_LDST_PAIR ? 2 : 1;
}

static unsigned int bytes(const struct av_ldst *ls)
{
	return 1U << ls->size;
}

/* What a store puts on the bus. */
static u64 stored(const struct av_srf *srf, const struct av_ldst *ls, unsigned int element)
{
	u64 val = av_srf_get_x(srf, element ? ls->rt2 : ls->rt);

	return ls->size == 3 ? val : val & GENMASK_ULL(8 * bytes(ls) - 1, 0);
}

/*
 * All elements are done: only now do registers change, so that an access given
 * up half-way can be done again.
 */
static enum av_answer_kind finish(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	const struct av_ldst *ls = &vcpu->mmio->insn;

	if (!ls->write) {
		av_srf_set_x(srf, ls->rt, av_ldst_extend(ls, vcpu->mmio->loaded[0]));
		if (ls->kind == AV_LDST_PAIR)
			av_srf_set_x(srf, ls->rt2, av_ldst_extend(ls, vcpu->mmio->loaded[1]));
	}
	if (av_ldst_writes_back(ls)) {
		if (ls->rn == AV_LDST_SP)
			srf->sp = av_ldst_writeback(ls, srf->sp);
		else
			srf->regs[ls->rn] = av_ldst_writeback(ls, srf->regs[ls->rn]);
	}
	return AV_ANSWER_SKIP;
}

/* In the kernel? A read leaves its value in *val. */
static bool in_kernel(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write, u64 *val)
{
	return av_vgic_mmio(vcpu, gpa, len, write, val) ||
	       (write && av_ioeventfd_write(vcpu->vm, gpa, len, *val));
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

/* Do the elements from the present one on, until one is the VMM's. */
static enum av_answer_kind go_on(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmio *m = vcpu->mmio;
	const struct av_ldst *ls = &m->insn;
	unsigned int len = bytes(ls);

	for (; m->element < elements(ls); m->element++) {
		u64 gpa = m->gpa + m->element * len;
		u64 val = ls->write ? stored(vcpu->srf, ls, m->element) : 0;

		if (!in_kernel(vcpu, gpa, len, ls->write, &val))
			return to_user(vcpu, gpa, len, ls->write, val);
		m->loaded[m->element] = val;
	}
	return finish(vcpu);
}

enum av_answer_kind av_mmio_complete(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmio *m = vcpu->mmio;

	m->pending = false;
	/* A VMM that says the exit was none has the instruction done again. */
	if (READ_ONCE(vcpu->run->exit_reason) != KVM_EXIT_MMIO)
		return AV_ANSWER_RESUME;
	memcpy(&m->loaded[m->element], vcpu->run->mmio.data, sizeof(m->loaded[0]));
	m->element++;
	return go_on(vcpu);
}

/*
 * Loads and stores that no device here can answer. To KVM these are accesses
 * that the hardware does not describe: the VMM is told, if it asked for that
 * (and may have the guest take an abort); else KVM_RUN has an errno for it.
 */
static enum av_answer_kind refuse(struct av_vcpu *vcpu, enum av_ldst_kind kind,
				  struct av_answer *answer)
{
	struct kvm_run *run = vcpu->run;

	if (READ_ONCE(vcpu->vm->mmio->nisv_to_user)) {
		run->exit_reason = KVM_EXIT_ARM_NISV;
		/* As the stage 2 fault that it is to KVM. */
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

static enum av_answer_kind emulate(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	struct av_srf *srf = vcpu->srf;
	struct av_ldst ls;
	u64 va;

	switch (av_insn_decode(insn, &ls)) {
	case AV_LDST_SINGLE:
	case AV_LDST_PAIR:
		break;
	case AV_LDST_CACHE:
	case AV_LDST_PREFETCH:
		return AV_ANSWER_SKIP;
	case AV_LDST_NONE:
		/* Another CPU has changed the instruction since: see what it is now. */
		return AV_ANSWER_RESUME;
	default:
		return refuse(vcpu, ls.kind, answer);
	}
	va = av_ldst_address(&ls, srf->regs, srf->sp, srf->pc);
	/*
	 * Registers or instruction may differ from those that faulted only by
	 * another CPU's doing; a fault behind the first byte means that the
	 * first was memory. Such an access no bus carries.
	 */
	if ((va ^ answer->far) & GENMASK_ULL(11, 0) ||
	    (answer->ipa & (GUEST_PAGE - 1)) + bytes(&ls) * elements(&ls) > GUEST_PAGE)
		return AV_ANSWER_ABORT;
	vcpu->mmio->insn = ls;
	vcpu->mmio->element = 0;
	vcpu->mmio->gpa = answer->ipa;
	return go_on(vcpu);
}

void av_mmio_access(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer)
{
	answer->kind = emulate(vcpu, insn, answer);
	answer->cls = vcpu->mmio->pending ? AV_EXIT_MMIO_USER : AV_EXIT_MMIO_KERNEL;
}
