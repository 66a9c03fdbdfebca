// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow as a whole: its lock and limits, and making room, dropping and freeing tables in
 * parts, so that no hold of mmu_lock is long.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mmu/base/base.h"
#include "switch/image.h"

/* How often to try a lock that is held: some microseconds. */
#define LOCK_LOOKS	64

noinline bool av_mmu_lock_waits(struct av_vcpu *vcpu)
{
	unsigned int n;

	av_stat_inc(&vcpu->stats, AV_EVENT_SHADOW_CONTENDED);
	for (n = 0; n < LOCK_LOOKS; n++) {
		cpu_relax();
		if (spin_trylock(&vcpu->vm->mmu_lock)) {
			/* Sparse: av_mmu_lock_soon() acquires it. */
			__release(&vcpu->vm->mmu_lock);
			return true;
		}
	}
	return false;
}

int av_mmu_raise_limits(struct av_vm *vm, unsigned int vcpus, u64 npages)
{
	struct av_vm_mmu *mmu = vm->mmu;
	const struct av_shadow_limits *old = &mmu->shadow.max;
	struct av_shadow_limits max;
	struct av_pt **by_id;

	lockdep_assert_held(&vm->slots_lock);
	mmu->vcpus = max(mmu->vcpus, vcpus);
	max = av_vm_limits(mmu->vcpus, npages);
	/* Limits never get lower: ids are in use. */
	max.pts = max(max.pts, old->pts);
	if (max.pts == old->pts && max.loaded_pts == old->loaded_pts)
		return 0;
	by_id = av_image_kvcalloc(max.pts, sizeof(*by_id), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!by_id)
		return -ENOMEM;
	spin_lock(&vm->mmu_lock);
	by_id = av_shadow_grow(&mmu->shadow, by_id, &max);
	spin_unlock(&vm->mmu_lock);
	av_image_kvfree(by_id);
	return 0;
}

bool av_mmu_reclaim(struct av_vm *vm, struct av_memcache *pool)
{
	bool more;

	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_RECLAIM, 1);
	av_shadow_reclaim(&vm->mmu->shadow, true, pool, &more);
	return more;
}

int av_mmu_fill_memcache(struct av_vcpu *vcpu)
{
	struct av_memcache *pool = &vcpu->mmu->pool;
	struct av_vm *vm = vcpu->vm;
	int ret = av_memcache_fill(pool);
	bool more = true;

	while (unlikely(ret) && more && !fatal_signal_pending(current)) {
		spin_lock(&vm->mmu_lock);
		more = av_mmu_reclaim(vm, pool);
		spin_unlock(&vm->mmu_lock);
		cond_resched();
		ret = av_memcache_fill(pool);
	}
	return ret;
}

/*
 * The page allocator returns pages to the zone with interrupts off, all that were freed in a row at
 * once: up to two thousand, which takes 700,000 instructions. An allocation in between halves that
 * number. So allocate two pages here: a part then adds little to the next part's number. Does not
 * sleep.
 */
void av_mmu_part_frees(void)
{
	const gfp_t how = GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC;
	unsigned long first = get_zeroed_page(how), second = get_zeroed_page(how);

	free_page(first);
	free_page(second);
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

void av_mmu_reap(struct av_vm *vm, struct av_memcache *pool)
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
