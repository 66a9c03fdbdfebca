// SPDX-License-Identifier: GPL-2.0
/* Life of mmu/'s state in VMs and vCPUs, and of the shadow as a whole. */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/memory.h>

#include "mmu/annex.h"
#include "mmu/copies.h"
#include "mmu/pairs.h"
#include "mmu/shown.h"

/* How often to try a lock that is held: some microseconds. */
#define LOCK_LOOKS	64

noinline bool av_mmu_lock_waits(struct av_vcpu *vcpu)
{
	unsigned int n;

	av_stat_inc(&vcpu->stats, AV_EVENT_SHADOW_CONTENDED);
	for (n = 0; n < LOCK_LOOKS; n++) {
		cpu_relax();
		if (spin_trylock(&vcpu->vm->mmu_lock))
			return true;
	}
	return false;
}

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
	av_copies_init(vm);
	av_annex_init(vm);
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

void av_mmu_count_leaves(struct av_vm *vm, u64 *pages, u64 *blocks)
{
	struct av_leaves n = {};
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		more = av_shadow_count(&vm->mmu->shadow, &n);
		spin_unlock(&vm->mmu_lock);
		cond_resched();
	} while (more);
	*pages = n.pages;
	*blocks = n.blocks;
}

bool av_mmu_reclaim(struct av_vm *vm, struct av_pool *pool)
{
	bool more;

	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_RECLAIM, 1);
	av_shadow_reclaim(&vm->mmu->shadow, true, pool, &more);
	return more;
}

/*
 * The page allocator returns pages to the zone with interrupts off, and at once as many as were
 * freed in a row: two thousand, 700,000 instructions. Allocating a page in between restarts its
 * count. Does not sleep.
 */
void av_mmu_part_frees(void)
{
	free_page(get_zeroed_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC));
}

/* Between two parts of long work, without mmu_lock. */
void av_mmu_offer(void)
{
	av_mmu_part_frees();
	cond_resched();
}

void av_mmu_drop_all(struct av_vm *vm)
{
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		av_shadow_reclaim(&vm->mmu->shadow, true, NULL, &more);
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	} while (more);
}

void av_mmu_reap(struct av_vm *vm, struct av_pool *pool)
{
	bool more;

	/* Check without the lock: whoever dooms tables later reaps them. */
	if (READ_ONCE(vm->mmu->shadow.doomed.next) == &vm->mmu->shadow.doomed)
		return;
	cond_resched();
	do {
		spin_lock(&vm->mmu_lock);
		more = av_shadow_reap(&vm->mmu->shadow, pool);
		spin_unlock(&vm->mmu_lock);
		if (more)
			av_mmu_offer();
	} while (more);
}

static void free_slots(struct av_vm *vm)
{
	struct av_slots *slots = rcu_dereference_protected(vm->mmu->slots, true);
	struct av_slot_node *node;

	while ((node = av_slots_take_apart(slots, AV_BY_GFN))) {
		kfree(node);
		cond_resched();
	}
	while ((node = av_slots_take_apart(slots, AV_BY_ID))) {
		av_slot_free(node->slot);
		kfree(node);
		cond_resched();
	}
	kfree(slots);
}

void av_mmu_vm_stop(struct av_vm *vm)
{
	if (!vm->mmu->registered)
		return;
	vm->mmu->registered = false;
	av_shrink_remove(vm);
	av_notifier_unregister(vm);
}

/* Nobody can reach the VM any more; its vCPUs have returned their trees. */
void av_mmu_vm_destroy(struct av_vm *vm)
{
	struct av_vm_mmu *mmu = vm->mmu;

	av_mmu_vm_stop(vm);
	av_mmu_drop_all(vm);
	av_copies_free(vm);
	av_annex_free(vm);
	kvfree(mmu->shadow.by_id);
	free_slots(vm);
}

int av_mmu_vcpu_init(struct av_vcpu *vcpu)
{
	av_list_init(&vcpu->mmu->pool.pts);
	vcpu->mmu->stale = AV_STALE_REGS;
	vcpu->mmu->regimes = 1;
	av_pairs_init(vcpu->mmu);
	av_shown_make_room(vcpu->vm, vcpu->idx);
	return av_ring_create(vcpu);
}

void av_mmu_vcpu_destroy(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	int i;

	av_shown_end(vcpu);
	spin_lock(&vm->mmu_lock);
	for (i = 0; i < AV_VCPU_TREES; i++) {
		if (!mmu->trees[i])
			continue;
		av_root_detach(&mmu->roots[i], mmu->trees[i]);
		av_tree_put(&vm->mmu->shadow, mmu->trees[i]);
	}
	spin_unlock(&vm->mmu_lock);
	/* The vCPU's contexts were flushed with its ASIDs: no walker has its roots. */
	for (i = 0; i < AV_VCPU_TREES; i++)
		free_page((unsigned long)mmu->roots[i].pte);
	av_pool_empty(&mmu->pool);
	av_copies_unprepare(vcpu);
	av_ring_destroy(vcpu);
}
