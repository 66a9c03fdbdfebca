// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory as the hypervisor reads and writes it: through the VMM's own
 * mapping of it, in the VMM's context, with page faults taken as they come.
 */
#include <linux/mm.h>

#include "mmu/internal.h"

static int read64(void *ctx, u64 ipa, u64 *val)
{
	struct av_slot *slot = av_vm_slot(ctx, ipa >> PAGE_SHIFT);

	if (!slot)
		return 1;
	/* One single-copy atomic load, as a table walk is. */
	return get_user(*val, (u64 __user *)av_slot_hva(slot, ipa));
}

const struct av_mem_ops av_guest_mem_ops = {
	.read64 = read64,
};

static int access_page(struct av_vm *vm, u64 gpa, void *buf, unsigned int len, bool write)
{
	struct av_slot *slot = av_vm_slot(vm, gpa >> PAGE_SHIFT);
	void __user *hva;

	if (!slot || (write && slot->flags & AV_SLOT_READONLY))
		return -EFAULT;
	hva = (void __user *)av_slot_hva(slot, gpa);
	if (!write)
		return copy_from_user(buf, hva, len) ? -EFAULT : 0;
	if (copy_to_user(hva, buf, len))
		return -EFAULT;
	av_slot_mark_dirty(vm, slot, gpa >> PAGE_SHIFT);
	return 0;
}

static int access_gpa(struct av_vm *vm, u64 gpa, void *buf, unsigned int len, bool write)
{
	int idx = srcu_read_lock(&vm->srcu), ret = 0;

	while (len && !ret) {
		unsigned int part = min_t(unsigned int, len, PAGE_SIZE - offset_in_page(gpa));

		ret = access_page(vm, gpa, buf, part, write);
		gpa += part;
		buf += part;
		len -= part;
	}
	srcu_read_unlock(&vm->srcu, idx);
	return ret;
}

int av_gpa_read(struct av_vm *vm, u64 gpa, void *buf, unsigned int len)
{
	return access_gpa(vm, gpa, buf, len, false);
}

int av_gpa_write(struct av_vm *vm, u64 gpa, const void *buf, unsigned int len)
{
	return access_gpa(vm, gpa, (void *)buf, len, true);
}

bool av_gpa_is_ram(struct av_vm *vm, u64 gpa)
{
	int idx = srcu_read_lock(&vm->srcu);
	bool ram = av_vm_slot(vm, gpa >> PAGE_SHIFT);

	srcu_read_unlock(&vm->srcu, idx);
	return ram;
}

/* Translate with the rights of el: 0 and *ipa, AV_FAULT_CODE(), or an errno. */
static int translate(struct av_vcpu *vcpu, int el, u64 va, u8 access, u64 *ipa)
{
	struct av_regime regime;
	struct av_walk walk;
	int idx, ret;

	av_vcpu_regime(vcpu, &regime);
	idx = srcu_read_lock(&vcpu->vm->srcu);
	ret = av_walk(&regime, &av_guest_mem_ops, vcpu->vm, va, &walk);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	if (!ret)
		ret = av_walk_permits(&walk, el, access);
	*ipa = walk.ipa;
	return ret;
}

static int access_va(struct av_vcpu *vcpu, int el, u64 va, void *buf, unsigned int len,
		     bool write, u64 *far)
{
	while (len) {
		unsigned int part = min_t(unsigned int, len, PAGE_SIZE - offset_in_page(va));
		u64 ipa;
		int ret = translate(vcpu, el, va, write ? AV_W : AV_R, &ipa);

		*far = va;
		if (ret)
			return ret;
		if (!av_gpa_is_ram(vcpu->vm, ipa))
			return AV_FAULT_CODE(AV_FSC_EXTERNAL, 0);
		ret = access_gpa(vcpu->vm, ipa, buf, part, write);
		if (ret)
			return ret;
		va += part;
		buf += part;
		len -= part;
	}
	return 0;
}

int av_mmu_read_guest_va(struct av_vcpu *vcpu, int el, u64 va, void *buf, unsigned int len,
			 u64 *far)
{
	return access_va(vcpu, el, va, buf, len, false, far);
}

int av_mmu_write_guest_va(struct av_vcpu *vcpu, int el, u64 va, const void *buf,
			  unsigned int len, u64 *far)
{
	return access_va(vcpu, el, va, (void *)buf, len, true, far);
}

/*
 * Find the page at va for instructions and remember where the VMM has it: 0,
 * AV_FAULT_CODE(), or an errno.
 */
static int fetch_page(struct av_vcpu *vcpu, u64 va)
{
	typeof(vcpu->mmu->fetch) *fetch = &vcpu->mmu->fetch;
	int el = av_srf_el1(vcpu->srf), ret, idx;
	struct av_slot *slot;
	u64 ipa;

	fetch->valid = false;
	fetch->seq = av_mmu_read_seq(vcpu, va & BIT_ULL(55));
	ret = translate(vcpu, el, va, AV_X, &ipa);
	if (ret)
		return ret;
	idx = srcu_read_lock(&vcpu->vm->srcu);
	slot = av_vm_slot(vcpu->vm, ipa >> PAGE_SHIFT);
	if (slot) {
		fetch->va = va & PAGE_MASK;
		fetch->hva = av_slot_hva(slot, ipa) & PAGE_MASK;
		fetch->el = el;
		fetch->valid = true;
	}
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	return slot ? 0 : AV_FAULT_CODE(AV_FSC_EXTERNAL, 0);
}

static int fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn)
{
	typeof(vcpu->mmu->fetch) *fetch = &vcpu->mmu->fetch;

	if (!fetch->valid || fetch->va != (va & PAGE_MASK) ||
	    fetch->el != av_srf_el1(vcpu->srf) || vcpu->mmu->stale ||
	    !av_mmu_seq_current(vcpu, va & BIT_ULL(55), fetch->seq)) {
		int ret = fetch_page(vcpu, va);

		if (ret)
			return ret;
	}
	/* A slot that went away since took seq with it, or was read a moment earlier. */
	return get_user(*insn, (u32 __user *)(fetch->hva + offset_in_page(va)));
}

bool av_mmu_fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn, struct av_answer *answer)
{
	int ret = fetch_insn(vcpu, va, insn);

	if (!ret)
		return true;
	*answer = (struct av_answer) {
		.kind = ret < 0 ? AV_ANSWER_ERROR : AV_ANSWER_ABORT,
		.cls = ret < 0 ? AV_EXIT_PABT_HIDDEN : AV_EXIT_PABT_TRUE,
		.err = ret,
		.insn = true,
		.far = va,
		.iss = AV_FAULT_FSC(ret),
	};
	return false;
}

