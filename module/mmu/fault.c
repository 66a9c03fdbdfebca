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

#include "compat/icache.h"
#include "cpu/cpu.h"
#include "mmio/mmio.h"
#include "mmu/fault.h"
#include "stats/stats.h"
#include "stats/trace.h"

#define FSC_TYPE		GENMASK(5, 2)

/* What the handling of a fault came to, when it is no errno. */
enum outcome {
	RESUME = 1,		/* go on in the guest */
	DEVICE,			/* an access to walk.ipa, where no memory is */
	TRUE_FAULT = AV_FAULT,	/* and its code */
};

static u64 iss_of(const struct av_fault *f, u32 fsc)
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

/* The tree that both levels share holds EL0's rights: where EL1 needs more, a tree of its own. */
static int split_tree(struct av_fault *f)
{
	struct av_vm *vm = f->vcpu->vm;

	spin_lock(&vm->mmu_lock);
	f->tree->split = true;
	spin_unlock(&vm->mmu_lock);
	av_mmu_regime_changed(f->vcpu);
	return RESUME;
}

/* The host's page behind the frame, for writing too where that costs nothing. */
static int get_page_of(struct av_fault *f)
{
	unsigned long hva = av_slot_hva(f->slot, f->walk.ipa) & PAGE_MASK;
	struct av_candidate *c = &f->at[0];
	bool write = f->access & AV_W;
	long n;

	if (f->slot->flags & AV_SLOT_READONLY || (READ_ONCE(f->slot->dirty) && !write))
		c->rights &= ~AV_W;
	if (c->rights & AV_W && !write) {
		if (get_user_page_fast_only(hva, FOLL_WRITE, &c->page))
			return 0;
		c->rights &= ~AV_W;
	}
	n = get_user_pages_fast(hva, 1, write ? FOLL_WRITE : 0, &c->page);
	if (n == 1)
		return 0;
	if (n == -EINTR || n == -ERESTARTSYS || n == -ENOMEM)
		return n == -ENOMEM ? -ENOMEM : -EINTR;
	/* No page, though the slot says so: the VMM took it away. KVM's answer. */
	return -EFAULT;
}

/*
 * Instructions the VMM, or a device through the page cache, wrote here may
 * not have reached the point of unification. What the guest writes is its own
 * business: its cache maintenance is carried out by the hardware. The flag on
 * the reverse map says that it was done since the page came.
 */
void av_clean_for_execution(struct av_slot *slot, u64 gfn, struct page *page)
{
	unsigned long va = (unsigned long)page_address(page);

	if (!(READ_ONCE(slot->rmap[gfn - slot->base_gfn]) & AV_RMAP_FLAG))
		av_sync_icache_aliases(va, PAGE_SIZE);
}

static int fill_one(struct av_fault *f, const struct av_candidate *c, bool only_new)
{
	struct av_vm *vm = f->vcpu->vm;
	struct av_fill fill = {
		.va = c->va,
		.pa = page_to_phys(c->page),
		.gfn = c->gfn,
		.level = 3,
		.rights = c->rights,
		.gspan = c->span,
		.global = c->global,
		.only_new = only_new,
	};
	int ret;

	if (av_mmu_raced(vm, f->tree, f->seq, av_slot_hva(f->slot, c->gfn << PAGE_SHIFT))) {
		av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_RETRY);
		return RESUME;
	}
	ret = av_shadow_fill(&vm->mmu->shadow, f->tree, &fill, &f->vcpu->mmu->pool);
	/* The access comes again, and finds room that was made. */
	if (ret == -ENOSPC && av_mmu_reclaim(vm, &f->vcpu->mmu->pool))
		return RESUME;
	if (ret == -ESTALE) {
		av_mmu_regime_changed(f->vcpu);
		return RESUME;
	}
	if (ret)
		return ret;
	av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_FILL);
	if (c->rights & AV_X)
		f->slot->rmap[c->gfn - f->slot->base_gfn] |= AV_RMAP_FLAG;
	if (c->rights & AV_W)
		av_slot_mark_dirty(vm, f->slot, c->gfn);
	return RESUME;
}

static int fill_locked(struct av_fault *f)
{
	struct av_vm *vm = f->vcpu->vm;
	unsigned int i;
	int ret;

	/* A slot on its way out, or a log begun since the rights were chosen. */
	if (f->slot->dying)
		return RESUME;
	ret = fill_one(f, &f->at[0], false);
	for (i = 1; i < f->nr && ret == RESUME; i++)
		ret = fill_one(f, &f->at[i], true);
	av_shadow_publish(&vm->mmu->shadow);
	return ret;
}

static void put_pages(struct av_fault *f)
{
	unsigned int i;

	for (i = 0; i < f->nr; i++) {
		if (f->at[i].rights & AV_W)
			SetPageDirty(f->at[i].page);
		put_page(f->at[i].page);
	}
}

/* There is memory, and the guest may have it. */
static int fill(struct av_fault *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	struct av_candidate *c = &f->at[0];
	int ret;

	f->tree = vcpu->mmu->tree[f->walk.high];
	c->va = f->walk.va & PAGE_MASK;
	c->gfn = f->walk.ipa >> PAGE_SHIFT;
	c->rights = av_tree_rights(f->tree, &f->walk);
	c->span = f->walk.span;
	c->global = f->walk.global;
	if (f->access & ~c->rights)
		return split_tree(f);
	ret = av_pool_fill(&vcpu->mmu->pool) ?: get_page_of(f);
	if (ret)
		return ret;
	f->nr = 1;
	if (c->rights & AV_X)
		av_clean_for_execution(f->slot, c->gfn, c->page);
	av_fault_around(f);
	spin_lock(&vcpu->vm->mmu_lock);
	ret = fill_locked(f);
	spin_unlock(&vcpu->vm->mmu_lock);
	put_pages(f);
	return ret;
}

/* Translation, access flag and permission faults: look in the guest's tables. */
static int resolve(struct av_fault *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	int ret;

	av_stat_inc(&vcpu->stats, AV_EVENT_WALK);
	f->seq = av_mmu_read_seq(vcpu, f->far & BIT_ULL(55));
	ret = av_walk(&vcpu->mmu->regime, &av_guest_mem_ops, vcpu->vm, f->far, &f->walk);
	if (!ret)
		ret = av_walk_permits(&f->walk, vcpu->mmu->el, f->access);
	if (ret)
		return ret;
	if (f->walk.va >= AV_WINDOW_START)
		return av_vm_kill(vcpu, "the guest uses %#llx, in the top 2 MiB of its address space, which the hypervisor needs",
				  f->walk.va);
	/* Beyond the VM's own addresses: as KVM, as if beyond PARange. */
	if (f->walk.ipa >> vcpu->vm->ipa_bits)
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, 0);
	f->slot = av_vm_slot(vcpu->vm, f->walk.ipa >> PAGE_SHIFT);
	if (!f->slot || (f->access & AV_W && f->slot->flags & AV_SLOT_READONLY))
		return DEVICE;
	return fill(f);
}

static int device(struct av_fault *f)
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
static int pass_on(struct av_fault *f, u32 fsc)
{
	switch (fsc) {
	case AV_FSC_TLB_CONFLICT:
		/* Ours, if anybody's: start over. */
		spin_lock(&f->vcpu->vm->mmu_lock);
		av_host_ops.flush(f->vcpu->vm, &(struct av_flush) { .all = true, .tables = true });
		spin_unlock(&f->vcpu->vm->mmu_lock);
		return 1;
	case AV_FSC_ALIGNMENT:
		av_count(&f->vcpu->stats, AV_EXIT_ALIGN);
		fallthrough;
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

static void count_fault(const struct av_fault *f, u32 type, bool guests)
{
	enum av_exit_class cls = type == AV_FSC_PERMISSION ? AV_EXIT_DABT_PERM :
							     AV_EXIT_DABT_TRANS;

	if (f->insn)
		cls = guests ? AV_EXIT_PABT_TRUE : AV_EXIT_PABT_HIDDEN;
	else if (guests)
		cls = AV_EXIT_DABT_TRUE;
	av_count(&f->vcpu->stats, cls);
}

int av_mmu_fault(struct av_vcpu *vcpu, const struct av_abort *abort)
{
	struct av_fault f = {
		.vcpu = vcpu,
		.esr = abort->esr,
		.far = abort->far,
		.access = access_of(abort->esr),
		.insn = av_esr_ec(abort->esr) == AV_EC_IABT_LOW,
		.at = vcpu->mmu->candidates,
	};
	u32 fsc = FIELD_GET(AV_ESR_FSC, abort->esr), type = fsc & FSC_TYPE;
	int ret, idx;

	if (type != AV_FSC_TRANSLATION && type != AV_FSC_ACCESS_FLAG &&
	    type != AV_FSC_PERMISSION)
		return pass_on(&f, fsc);
	idx = srcu_read_lock(&vcpu->vm->srcu);
	ret = resolve(&f);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	trace_av_fault(vcpu->id, f.walk.va, f.walk.ipa, f.esr, ret);
	if (ret == DEVICE)
		return device(&f);
	count_fault(&f, type, ret >= TRUE_FAULT);
	if (ret < TRUE_FAULT)
		return ret;
	av_inject_abort(vcpu, f.insn, f.far, iss_of(&f, AV_FAULT_FSC(ret)));
	return 1;
}
