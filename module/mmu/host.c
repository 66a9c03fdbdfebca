// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow tables' hold on the host: memory for tables, the real TLB, and
 * the life of what mmu/ keeps in VMs and vCPUs.
 *
 * Tables are set aside by a vCPU before it takes mmu_lock (av_spare_fill()),
 * as nothing may be allocated under it.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/memory.h>
#include <asm/tlbflush.h>

#include "compat/tlb.h"
#include "mmu/internal.h"

/* With more vCPUs than this one flush of everything is less work than one an ASID. */
#define FLUSH_BY_ASID_VCPUS	2

void av_pt_free(struct av_pt *pt)
{
	free_page((unsigned long)pt->pte);
	free_page((unsigned long)pt->aux);
	kfree(pt);
}

static struct av_pt *pt_alloc(void)
{
	struct av_pt *pt = kzalloc(sizeof(*pt), GFP_KERNEL_ACCOUNT);

	if (!pt)
		return NULL;
	pt->pte = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	pt->aux = (union av_aux *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!pt->pte || !pt->aux) {
		av_pt_free(pt);
		return NULL;
	}
	pt->pa = virt_to_phys(pt->pte);
	return pt;
}

int av_spare_fill(struct av_spare *spare)
{
	while (spare->nr < AV_SPARE_PTS) {
		struct av_pt *pt = pt_alloc();

		if (!pt)
			return -ENOMEM;
		av_list_add_tail(&pt->node, &spare->pts);
		spare->nr++;
	}
	if (!spare->tree)
		spare->tree = kzalloc(sizeof(*spare->tree), GFP_KERNEL_ACCOUNT);
	return spare->tree ? 0 : -ENOMEM;
}

void av_spare_empty(struct av_spare *spare)
{
	struct av_pt *pt, *tmp;

	av_list_for_each(pt, tmp, &spare->pts, node)
		av_pt_free(pt);
	av_list_init(&spare->pts);
	spare->nr = 0;
	kfree(spare->tree);
	spare->tree = NULL;
}

static struct av_pt *take_pt(void *ctx)
{
	struct av_vm *vm = ctx;
	struct av_spare *spare = vm->mmu->spare;
	struct av_pt *pt;

	if (!spare || !spare->nr)
		return NULL;
	pt = av_list_entry(spare->pts.next, struct av_pt, node);
	av_list_del(&pt->node);
	spare->nr--;
	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_PAGES, 2);
	return pt;
}

/* Back to the vCPU at work, if it has room: clear tables are as good as new. */
static void give_pt(void *ctx, struct av_pt *pt)
{
	struct av_vm *vm = ctx;
	struct av_spare *spare = vm->mmu->spare;

	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_PAGES, -2);
	if (!spare || spare->nr >= AV_SPARE_MAX || pt->fixed) {
		av_pt_free(pt);
		return;
	}
	av_list_add_tail(&pt->node, &spare->pts);
	spare->nr++;
}

static struct av_tree *take_tree(void *ctx)
{
	struct av_vm *vm = ctx;
	struct av_spare *spare = vm->mmu->spare;
	struct av_tree *tree = spare ? spare->tree : NULL;

	if (spare)
		spare->tree = NULL;
	if (tree)
		av_vm_stat_add(&vm->stats, AV_VM_SHADOW_TREES, 1);
	return tree;
}

static void give_tree(void *ctx, struct av_tree *tree)
{
	struct av_vm *vm = ctx;
	struct av_spare *spare = vm->mmu->spare;

	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_TREES, -1);
	if (spare && !spare->tree)
		spare->tree = tree;
	else
		kfree(tree);
}

/* Table walkers of all CPUs see what was written; no stale order with what follows. */
static void publish(void *ctx)
{
	dsb(ishst);
}

/* Entries of every ASID: the same address may be cached under several contexts. */
static void flush_page(void *ctx, u64 va)
{
	av_vm_stat_add(ctx, AV_VM_REMOTE_TLB_FLUSH, 1);
	dsb(ishst);
	__tlbi(vaae1is, (va >> 12) & GENMASK_ULL(43, 0));
	av_tlbi_sync();
}

static void flush_asid(u16 asid)
{
	__tlbi(aside1is, (u64)asid << 48);
}

static void flush_vcpu(const struct av_vcpu *vcpu)
{
	const struct av_vcpu_switch *csw = vcpu->sw;
	unsigned int i;

	for (i = 0; i < csw->nr_contexts; i++)
		flush_asid(csw->context[i].asid.asid);
}

/* All that this VM can have cached, and of the host's as little as can be. */
static void flush_all(void *ctx)
{
	struct av_vm *vm = ctx;
	struct av_vcpu *vcpu;
	unsigned int i;

	av_vm_stat_add(&vm->stats, AV_VM_REMOTE_TLB_FLUSH, 1);
	dsb(ishst);
	if (READ_ONCE(vm->nr_vcpus) > FLUSH_BY_ASID_VCPUS) {
		__tlbi(vmalle1is);
	} else {
		flush_asid(vm->sw->guest_hop.asid);
		av_for_each_vcpu(i, vcpu, vm)
			flush_vcpu(vcpu);
	}
	av_tlbi_sync();
}

static u32 *rmap_head(void *ctx, u32 gfn)
{
	struct av_vm *vm = ctx;
	struct av_slot *slot = av_vm_slot(vm, gfn);

	return slot ? &slot->rmap[gfn - slot->base_gfn] : NULL;
}

const struct av_shadow_ops av_host_ops = {
	.alloc_pt = take_pt,
	.free_pt = give_pt,
	.alloc_tree = take_tree,
	.free_tree = give_tree,
	.publish = publish,
	.flush_page = flush_page,
	.flush_all = flush_all,
	.rmap = rmap_head,
};

int av_mmu_vm_init(struct av_vm *vm)
{
	struct av_vm_mmu *mmu = vm->mmu;
	struct av_slots *slots = kzalloc(sizeof(*slots), GFP_KERNEL_ACCOUNT);
	struct av_pt **by_id = kvcalloc(AV_MIN_PTS, sizeof(*by_id), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!slots || !by_id)
		goto fail;
	av_shadow_init(&mmu->shadow, &av_host_ops, vm, by_id, AV_MIN_PTS);
	mmu->vm = vm;
	mmu->shadow.window_pa = virt_to_phys(vm->sw->l3);
	mmu->shadow.attr_normal = MT_NORMAL;
	mmu->budget = AV_MIN_PTS;
	RCU_INIT_POINTER(mmu->slots, slots);
	ret = av_notifier_register(vm);
	if (ret)
		goto fail;
	av_shrink_add(vm);
	mmu->registered = true;
	return 0;
fail:
	kvfree(by_id);
	kfree(slots);
	return ret;
}

void av_mmu_reclaim(struct av_vm *vm)
{
	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_RECLAIM, 1);
	av_shadow_reclaim(&vm->mmu->shadow, AV_RECLAIM, true);
}

void av_mmu_drop_all(struct av_vm *vm)
{
	u32 freed;

	do {
		spin_lock(&vm->mmu_lock);
		freed = av_shadow_reclaim(&vm->mmu->shadow, AV_RECLAIM, true);
		spin_unlock(&vm->mmu_lock);
		cond_resched();
	} while (freed);
}

static void free_slots(struct av_vm *vm)
{
	struct av_slots *slots = rcu_dereference_protected(vm->mmu->slots, true);
	u32 i;

	for (i = 0; i < slots->nr; i++)
		av_slot_free(slots->slot[i]);
	kvfree(slots);
}

void av_mmu_vm_stop(struct av_vm *vm)
{
	if (!vm->mmu->registered)
		return;
	vm->mmu->registered = false;
	av_shrink_remove(vm);
	av_notifier_unregister(vm);
}

/* Nobody can reach the VM any more; its vCPUs have given their trees back. */
void av_mmu_vm_destroy(struct av_vm *vm)
{
	struct av_vm_mmu *mmu = vm->mmu;

	av_mmu_vm_stop(vm);
	av_mmu_drop_all(vm);
	kvfree(mmu->shadow.by_id);
	free_slots(vm);
}

int av_mmu_vcpu_init(struct av_vcpu *vcpu)
{
	av_list_init(&vcpu->mmu->spare.pts);
	vcpu->mmu->stale = true;
	return 0;
}

void av_mmu_vcpu_destroy(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	int i;

	spin_lock(&vm->mmu_lock);
	for (i = 0; i < AV_VCPU_TREES; i++)
		if (vcpu->mmu->trees[i])
			av_tree_put(&vm->mmu->shadow, vcpu->mmu->trees[i]);
	spin_unlock(&vm->mmu_lock);
	av_spare_empty(&vcpu->mmu->spare);
}
