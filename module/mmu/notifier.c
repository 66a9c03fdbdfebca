// SPDX-License-Identifier: GPL-2.0
/*
 * The MMU notifier: what the host does to the VMM's mappings, done to the
 * shadow tables.
 *
 * Between invalidate_range_start and _end no page of the range is mapped
 * (av_mmu_raced()), and what was looked up before the end is not mapped after
 * it (seq). So a shadow entry never outlives the host's, and swap, migration,
 * KSM, balloons, truncation and unmapping under a running guest work.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>

#include "compat/mm.h"
#include "mmu/internal.h"

/* Frames looked at before the lock is offered to others. */
#define BATCH	512

static struct av_vm *vm_of(struct mmu_notifier *mn)
{
	return container_of(mn, struct av_vm_mmu, notifier)->vm;
}

typedef bool gfn_fn(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end,
		    struct av_gather *g);

/* The frames of a slot that an address range holds. */
static bool slot_range(const struct av_slot *slot, unsigned long start, unsigned long end,
		       u64 *first, u64 *last)
{
	u64 slot_end = slot->hva + (slot->npages << PAGE_SHIFT);
	u64 from = max_t(u64, start, slot->hva), to = min_t(u64, end, slot_end);

	if (from >= to)
		return false;
	*first = slot->base_gfn + ((from - slot->hva) >> PAGE_SHIFT);
	*last = slot->base_gfn + ((to - 1 - slot->hva) >> PAGE_SHIFT);
	return true;
}

/*
 * Call fn over the frames of [start, end), under mmu_lock, flushing after each
 * batch. Where the lock is offered the set of slots may change: fn then works
 * on frames by the new set, which is harmless, and what the old set mapped was
 * dropped with it.
 */
static bool for_range(struct av_vm *vm, unsigned long start, unsigned long end, bool may_block,
		      gfn_fn *fn)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_gather g;
	bool any = false;
	u64 gfn, last;
	u32 i;

	for (i = 0; i < slots->nr; i++) {
		struct av_slot *slot = slots->slot[i];

		if (!slot_range(slot, start, end, &gfn, &last))
			continue;
		for (; gfn <= last; gfn += BATCH) {
			av_gather_init(&g, &vm->mmu->shadow);
			any |= fn(vm, slot, gfn, min(last + 1, gfn + BATCH), &g);
			av_gather_finish(&g);
			if (may_block)
				cond_resched_lock(&vm->mmu_lock);
		}
	}
	return any;
}

/* The page at a frame will be another: drop it, and forget that its instructions are clean. */
static bool unmap(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end,
		  struct av_gather *g)
{
	u64 start = gfn;

	for (; gfn < end; gfn++) {
		u32 *head = &slot->rmap[gfn - slot->base_gfn];

		/* Most frames of a large range have none; a block hangs on its first. */
		if (!*head && (gfn != start || IS_ALIGNED(gfn, AV_BLOCK_PAGES)))
			continue;
		av_shadow_zap_gfns(&vm->mmu->shadow, gfn, gfn + 1, g);
		*head &= ~AV_RMAP_FLAG;
	}
	if (g->nr || g->all)
		av_vm_stat_add(&vm->stats, AV_VM_NOTIFIER_DROP, 1);
	return false;
}

static void widen(struct av_vm_mmu *mmu, unsigned long start, unsigned long end)
{
	if (!mmu->in_progress++) {
		mmu->invalidate_start = start;
		mmu->invalidate_end = end;
		return;
	}
	mmu->invalidate_start = min(mmu->invalidate_start, start);
	mmu->invalidate_end = max(mmu->invalidate_end, end);
}

static int range_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	struct av_vm *vm = vm_of(mn);
	int idx = srcu_read_lock(&vm->srcu);

	spin_lock(&vm->mmu_lock);
	widen(vm->mmu, range->start, range->end);
	for_range(vm, range->start, range->end, mmu_notifier_range_blockable(range), unmap);
	spin_unlock(&vm->mmu_lock);
	srcu_read_unlock(&vm->srcu, idx);
	return 0;
}

static void range_end(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	struct av_vm *vm = vm_of(mn);

	spin_lock(&vm->mmu_lock);
	av_mmu_bump_seq(vm);
	vm->mmu->in_progress--;
	spin_unlock(&vm->mmu_lock);
}

static bool test_age(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end,
		     struct av_gather *g)
{
	bool young = false;

	for (; gfn < end && !young; gfn++)
		young = av_shadow_age_gfn(&vm->mmu->shadow, gfn, false, g);
	return young;
}

static bool clear_age(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end,
		      struct av_gather *g)
{
	bool young = false;

	for (; gfn < end; gfn++)
		young |= av_shadow_age_gfn(&vm->mmu->shadow, gfn, true, g);
	return young;
}

static bool age(struct mmu_notifier *mn, unsigned long start, unsigned long end, gfn_fn *fn)
{
	struct av_vm *vm = vm_of(mn);
	int idx = srcu_read_lock(&vm->srcu);
	bool young;

	spin_lock(&vm->mmu_lock);
	young = for_range(vm, start, end, false, fn);
	spin_unlock(&vm->mmu_lock);
	srcu_read_unlock(&vm->srcu, idx);
	return young;
}

static av_young_t clear_young(struct mmu_notifier *mn, struct mm_struct *mm,
			      unsigned long start, unsigned long end)
{
	return age(mn, start, end, clear_age);
}

static av_young_t test_young(struct mmu_notifier *mn, struct mm_struct *mm,
			     unsigned long address)
{
	return age(mn, address, address + PAGE_SIZE, test_age);
}

/* The VMM's memory goes away as a whole; nobody can enter the guest again. */
static void release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct av_vm *vm = vm_of(mn);

	spin_lock(&vm->mmu_lock);
	av_mmu_bump_seq(vm);
	spin_unlock(&vm->mmu_lock);
	av_mmu_drop_all(vm);
}

static const struct mmu_notifier_ops ops = {
	.invalidate_range_start = range_start,
	.invalidate_range_end = range_end,
	.clear_flush_young = clear_young,
	.clear_young = clear_young,
	.test_young = test_young,
	.release = release,
};

int av_notifier_register(struct av_vm *vm)
{
	vm->mmu->notifier.ops = &ops;
	return mmu_notifier_register(&vm->mmu->notifier, vm->mm);
}

void av_notifier_unregister(struct av_vm *vm)
{
	mmu_notifier_unregister(&vm->mmu->notifier, vm->mm);
}
