// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts from the guest: mmu/resolve.h says what one is; hidden faults are
 * filled here.
 *
 * Order of a hidden fault: read mmu_seq; walk (guest memory, may sleep); get
 * the host's page (may sleep); under mmu_lock, when nothing was invalidated
 * since, install. Else the guest runs into the fault again.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "compat/icache.h"
#include "mmu/hidden.h"
#include "stats/stats.h"
#include "stats/trace.h"

/* EL1 needs what EL0 may not do: from here on it has a tree of its own. */
static void split_tree(struct av_hidden *f)
{
	struct av_vm *vm = f->vcpu->vm;

	spin_lock(&vm->mmu_lock);
	f->r.tree->split = true;
	spin_unlock(&vm->mmu_lock);
	av_mmu_regime_changed(f->vcpu);
}

/* The host's page behind the frame, for writing too where that costs nothing. */
static int get_page_of(struct av_hidden *f)
{
	unsigned long hva = av_slot_hva(f->r.slot, f->r.walk.ipa) & PAGE_MASK;
	struct av_candidate *c = &f->at[0];
	bool write = f->r.access & AV_W;
	long n;

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

/* 0, -EAGAIN to look once more, or another errno. */
static int fill_one(struct av_hidden *f, const struct av_candidate *c, bool only_new)
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

	if (av_mmu_raced(vm, f->r.tree, f->seq, av_slot_hva(f->r.slot, c->gfn << PAGE_SHIFT))) {
		av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_RETRY);
		return -EAGAIN;
	}
	ret = av_shadow_fill(&vm->mmu->shadow, f->r.tree, &fill, &f->vcpu->mmu->pool);
	/* The access comes again, and finds room that was made. */
	if (ret == -ENOSPC && av_mmu_reclaim(vm, &f->vcpu->mmu->pool))
		return -EAGAIN;
	if (ret == -ESTALE) {
		av_mmu_regime_changed(f->vcpu);
		return -EAGAIN;
	}
	if (ret)
		return ret;
	av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_FILL);
	if (c->rights & AV_X)
		f->r.slot->rmap[c->gfn - f->r.slot->base_gfn] |= AV_RMAP_FLAG;
	if (c->rights & AV_W)
		av_slot_mark_dirty(vm, f->r.slot, c->gfn);
	return 0;
}

static int fill_locked(struct av_hidden *f)
{
	struct av_vm *vm = f->vcpu->vm;
	unsigned int i;
	int ret;

	/* A slot on its way out, or a log begun since the rights were chosen. */
	if (f->r.slot->dying)
		return -EAGAIN;
	ret = fill_one(f, &f->at[0], false);
	for (i = 1; i < f->nr && !ret; i++)
		ret = fill_one(f, &f->at[i], true);
	av_shadow_publish(&vm->mmu->shadow);
	return ret;
}

static void put_pages(struct av_hidden *f)
{
	unsigned int i;

	for (i = 0; i < f->nr; i++) {
		if (f->at[i].rights & AV_W)
			SetPageDirty(f->at[i].page);
		put_page(f->at[i].page);
	}
}

/* 0: the entry is there, or the guest runs into the fault again. */
static int fill(struct av_hidden *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	struct av_candidate *c = &f->at[0];
	int ret;

	c->va = f->r.walk.va & PAGE_MASK;
	c->gfn = f->r.walk.ipa >> PAGE_SHIFT;
	c->rights = f->r.rights;
	c->span = f->r.walk.span;
	c->global = f->r.walk.global;
	ret = av_pool_fill(&vcpu->mmu->pool) ?: get_page_of(f);
	if (ret)
		return ret;
	f->nr = 1;
	if (c->rights & AV_X)
		av_clean_for_execution(f->r.slot, c->gfn, c->page);
	av_fault_around(f);
	spin_lock(&vcpu->vm->mmu_lock);
	ret = fill_locked(f);
	spin_unlock(&vcpu->vm->mmu_lock);
	put_pages(f);
	return ret == -EAGAIN ? 0 : ret;
}

static void flush(struct av_vm *vm)
{
	spin_lock(&vm->mmu_lock);
	av_host_ops.flush(vm, &(struct av_flush) { .all = true, .tables = true });
	spin_unlock(&vm->mmu_lock);
}

/* What is left to do of a fault that is ours. */
static int work(struct av_hidden *f)
{
	switch (f->r.work) {
	case AV_ABORT_FILL:
		return fill(f);
	case AV_ABORT_SPLIT:
		split_tree(f);
		return 0;
	case AV_ABORT_FLUSH:
		flush(f->vcpu->vm);
		return 0;
	default:
		return 0;
	}
}

void av_mmu_fault(struct av_vcpu *vcpu, const struct av_abort *abort, struct av_answer *answer)
{
	struct av_hidden f = {
		.vcpu = vcpu,
		.seq = av_mmu_read_seq(vcpu, abort->far & BIT_ULL(55)),
		.at = vcpu->mmu->candidates,
	};
	int idx = srcu_read_lock(&vcpu->vm->srcu), ret;
	struct av_view view = {
		.regime = &vcpu->mmu->regime,
		.el = vcpu->mmu->el,
		.tree = vcpu->mmu->tree,
		.slots = av_vm_slots(vcpu->vm),
		.mem = &av_guest_mem_ops,
		.ctx = vcpu->vm,
		.esr = abort->esr,
		.far = abort->far,
		.ipa_bits = vcpu->vm->ipa_bits,
	};

	av_resolve(&view, &f.r, answer);
	if (f.r.walked)
		av_stat_inc(&vcpu->stats, AV_EVENT_WALK);
	ret = work(&f);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	if (ret) {
		answer->kind = AV_ANSWER_ERROR;
		answer->err = ret;
	}
	trace_av_fault(vcpu->id, abort->far, f.r.walk.ipa, abort->esr, answer->kind);
}
