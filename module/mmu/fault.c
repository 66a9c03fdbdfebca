// SPDX-License-Identifier: GPL-2.0
/*
 * What an abort from the guest means.
 *
 * The guest's own tables say no, or nothing: a true fault, the guest's. They
 * say yes and there is memory: a hidden fault, ours, and the shadow entry is
 * filled. They say yes and there is none: a device.
 *
 * Order of a hidden fault: read mmu_seq; walk (guest memory, may sleep); get
 * the host's page (may sleep); under mmu_lock, when nothing was invalidated
 * since, install. Else the guest runs into the fault again.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <asm/cacheflush.h>

#include "cpu/cpu.h"
#include "mmio/mmio.h"
#include "mmu/internal.h"

#define FSC_TYPE		GENMASK(5, 2)

struct fault {
	struct av_vcpu *vcpu;
	u64 esr, far;
	u64 seq;
	u8 access;
	bool insn;
	struct av_walk walk;
	struct av_slot *slot;
	/* what is filled */
	u8 rights;
	struct page *page;
	bool writable;		/* by the host's leave */
};

/* What the handling of a fault came to, when it is no errno. */
enum outcome {
	RESUME = 1,		/* go on in the guest */
	DEVICE,			/* an access to walk.ipa, where no memory is */
	TRUE_FAULT = AV_FAULT,	/* and its code */
};

static u64 iss_of(const struct fault *f, u32 fsc)
{
	if (f->insn)
		return fsc;
	return fsc | (f->esr & (AV_ESR_WNR | AV_ESR_CM));
}

/* Cache maintenance reports itself as a write but asks for no more than a read. */
static u8 access_of(u64 esr)
{
	if (av_esr_ec(esr) == AV_EC_IABT_LOW)
		return AV_X;
	return (esr & AV_ESR_WNR) && !(esr & AV_ESR_CM) ? AV_W : AV_R;
}

/*
 * What the tree may grant. The tree that both levels share holds EL0's rights;
 * where EL1 needs more, it must have a tree of its own.
 */
static bool choose_rights(struct fault *f, const struct av_tree *tree)
{
	f->rights = tree->key.mode == AV_MODE_EL1 ? f->walk.el1 : f->walk.el0;
	/* The flat map is the same for both. */
	return !(f->access & ~f->rights);
}

static int split_tree(struct fault *f, struct av_tree *tree)
{
	struct av_vm *vm = f->vcpu->vm;

	spin_lock(&vm->mmu_lock);
	tree->split = true;
	spin_unlock(&vm->mmu_lock);
	av_mmu_regime_changed(f->vcpu);
	return RESUME;
}

/* The host's page behind the frame, for writing too where that costs nothing. */
static int get_page_of(struct fault *f)
{
	unsigned long hva = av_slot_hva(f->slot, f->walk.ipa) & PAGE_MASK;
	bool write = f->access & AV_W;
	bool may_write = f->rights & AV_W && !(f->slot->flags & AV_SLOT_READONLY);
	long n;

	if (READ_ONCE(f->slot->dirty))
		may_write = write;
	f->writable = may_write;
	if (may_write && !write) {
		if (get_user_page_fast_only(hva, FOLL_WRITE, &f->page))
			return 0;
		f->writable = false;
	}
	n = get_user_pages_fast(hva, 1, f->writable ? FOLL_WRITE : 0, &f->page);
	if (n == 1)
		return 0;
	if (n == -EHWPOISON || n == -EINTR || n == -ERESTARTSYS)
		return n == -EHWPOISON ? -EFAULT : -EINTR;
	/* No page, though the slot says so: the VMM took it away. KVM's answer. */
	return n == -ENOMEM ? -ENOMEM : -EFAULT;
}

/*
 * Instructions the VMM, or a device through the page cache, wrote here may
 * not have reached the point of unification. What the guest writes is its own
 * business: its cache maintenance is carried out by the hardware.
 */
static void clean_for_execution(struct fault *f)
{
	u32 *head = &f->slot->rmap[(f->walk.ipa >> PAGE_SHIFT) - f->slot->base_gfn];
	unsigned long va = (unsigned long)page_address(f->page);

	if (f->rights & AV_X && !(READ_ONCE(*head) & AV_RMAP_FLAG))
		caches_clean_inval_pou(va, va + PAGE_SIZE);
}

static int fill_locked(struct fault *f, struct av_tree *tree)
{
	struct av_vm *vm = f->vcpu->vm;
	struct av_shadow *sh = &vm->mmu.shadow;
	u64 gfn = f->walk.ipa >> PAGE_SHIFT;
	struct av_fill fill = {
		.va = f->walk.va & PAGE_MASK,
		.pa = page_to_phys(f->page),
		.gfn = gfn,
		.level = 3,
		.rights = f->writable ? f->rights : f->rights & ~AV_W,
		.gspan = f->walk.span,
		.global = f->walk.global,
	};
	int ret;

	if (av_mmu_raced(vm, f->seq, av_slot_hva(f->slot, f->walk.ipa)) || f->slot->dying)
		return RESUME;
	vm->mmu.spare = &f->vcpu->mmu.spare;
	ret = av_shadow_fill(sh, tree, &fill);
	if (ret == -ENOSPC) {
		av_shadow_reclaim(sh, AV_RECLAIM, true);
		ret = av_shadow_fill(sh, tree, &fill);
	}
	vm->mmu.spare = NULL;
	if (ret == -ESTALE) {
		av_mmu_regime_changed(f->vcpu);
		return RESUME;
	}
	if (ret)
		return ret;
	if (f->rights & AV_X)
		f->slot->rmap[gfn - f->slot->base_gfn] |= AV_RMAP_FLAG;
	if (f->writable)
		av_slot_mark_dirty(f->slot, gfn);
	return RESUME;
}

/* There is memory, and the guest may have it. */
static int fill(struct fault *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	struct av_tree *tree = vcpu->mmu.tree[f->walk.high];
	int ret;

	if (!choose_rights(f, tree))
		return split_tree(f, tree);
	ret = av_spare_fill(&vcpu->mmu.spare) ?: get_page_of(f);
	if (ret)
		return ret;
	clean_for_execution(f);
	spin_lock(&vcpu->vm->mmu_lock);
	ret = fill_locked(f, tree);
	spin_unlock(&vcpu->vm->mmu_lock);
	if (f->writable)
		SetPageDirty(f->page);
	put_page(f->page);
	return ret;
}

/* Translation, access flag and permission faults: look in the guest's tables. */
static int resolve(struct fault *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	int ret;

	f->seq = av_mmu_read_seq(vcpu->vm);
	ret = av_walk(&vcpu->mmu.regime, &av_guest_mem_ops, vcpu->vm, f->far, &f->walk);
	if (!ret)
		ret = av_walk_permits(&f->walk, vcpu->mmu.el, f->access);
	if (ret)
		return ret;
	if (f->walk.va >= AV_WINDOW_BASE)
		return av_vm_kill(vcpu, "the guest uses %#llx, in the top 2 MiB of its address space, which the hypervisor needs",
				  f->walk.va);
	f->slot = av_vm_slot(vcpu->vm, f->walk.ipa >> PAGE_SHIFT);
	if (!f->slot || (f->access & AV_W && f->slot->flags & AV_SLOT_READONLY))
		return DEVICE;
	return fill(f);
}

static int device(struct fault *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	u32 insn;
	int ret;

	if (f->insn) {
		av_inject_abort(vcpu, true, f->far, AV_FSC_EXTERNAL);
		return 1;
	}
	/* Cache maintenance of a device or of nothing does nothing. */
	if (f->esr & AV_ESR_CM) {
		av_vcpu_skip_insn(vcpu);
		return 1;
	}
	ret = av_mmu_fetch_insn(vcpu, vcpu->srf->pc, &insn);
	if (ret)
		return ret;
	return av_mmio_access(vcpu, f->walk.ipa, insn, iss_of(f, AV_FSC_EXTERNAL), f->far);
}

/* Faults that the shadow tables have no part in are passed on as they came. */
static int pass_on(struct fault *f, u32 fsc)
{
	switch (fsc) {
	case AV_FSC_TLB_CONFLICT:
		/* Ours, if anybody's: start over. */
		spin_lock(&f->vcpu->vm->mmu_lock);
		av_host_ops.flush_all(f->vcpu->vm);
		spin_unlock(&f->vcpu->vm->mmu_lock);
		return 1;
	case AV_FSC_ALIGNMENT:
	case AV_FSC_EXTERNAL:
	case AV_FSC_LOCKDOWN:
	case AV_FSC_EXCLUSIVE:
	case AV_FSC_ATOMIC_UPDATE:
		av_inject_abort(f->vcpu, f->insn, f->far, iss_of(f, fsc));
		return 1;
	default:
		return av_vm_kill(f->vcpu, "the hardware reports a fault in our shadow tables: ESR %#llx at %#llx",
				  f->esr, f->far);
	}
}

int av_mmu_fault(struct av_vcpu *vcpu, const struct av_abort *abort)
{
	struct fault f = {
		.vcpu = vcpu,
		.esr = abort->esr,
		.far = abort->far,
		.access = access_of(abort->esr),
		.insn = av_esr_ec(abort->esr) == AV_EC_IABT_LOW,
	};
	u32 fsc = FIELD_GET(AV_ESR_FSC, abort->esr), type = fsc & FSC_TYPE;
	int ret, idx;

	if (type != AV_FSC_TRANSLATION && type != AV_FSC_ACCESS_FLAG &&
	    type != AV_FSC_PERMISSION)
		return pass_on(&f, fsc);
	idx = srcu_read_lock(&vcpu->vm->srcu);
	ret = resolve(&f);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	if (ret < TRUE_FAULT && ret != DEVICE)
		return ret;
	if (ret == DEVICE)
		return device(&f);
	av_inject_abort(vcpu, f.insn, f.far, iss_of(&f, AV_FAULT_FSC(ret)));
	return 1;
}
