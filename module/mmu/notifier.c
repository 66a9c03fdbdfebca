// SPDX-License-Identifier: GPL-2.0
/*
 * The MMU notifier: applies the host's changes of the VMM's mappings to the shadow tables.
 *
 * Between invalidate_range_start and _end no page of the range is filled (av_mmu_raced()), and
 * a page looked up before the end is not filled after it (seq). So no shadow entry outlives the
 * host's, and swap, migration, KSM, balloons, truncation and unmapping work while the guest
 * runs.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>

#include "compat/mm.h"
#include "mmu/copies.h"
#include "mmu/shown.h"

/* Frames handled before others may take mmu_lock. */
#define BATCH	128

/*
 * Most frames and slots that one ageing call looks at: the host holds locks, and a VMM may have
 * thousands of slots for one address.
 */
#define AGE_FRAMES	600

static struct av_vm *vm_of(struct mmu_notifier *mn)
{
	return container_of(mn, struct av_vm_mmu, notifier)->vm;
}

/*
 * Let others take mmu_lock or the CPU. If the host must not sleep, always release the lock:
 * kernels without preemption cannot tell if anybody waits.
 */
static void offer_lock(struct av_vm *vm, bool may_block)
{
	if (may_block) {
		cond_resched_lock(&vm->mmu_lock);
	} else {
		spin_unlock(&vm->mmu_lock);
		cpu_relax();
		spin_lock(&vm->mmu_lock);
	}
}

/*
 * Drop frames in [gfn, end) until enough is done; returns where to continue. The frames will
 * get other pages, so what is known of the old ones is forgotten.
 */
static u64 unmap_part(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end)
{
	struct av_shadow *sh = &vm->mmu->shadow;
	const u64 start = gfn;
	struct av_gather g;
	bool more = false;

	av_gather_init(&g, sh);
	while (gfn < end && !more) {
		const u32 *head = av_slot_head(slot, gfn);

		/* Most frames of a large range have no entries. */
		if (head && *head)
			more = av_shadow_zap_gfn(sh, gfn, &g);
		gfn += !more;
	}
	av_mem_forget_pages(slot, start, gfn);
	if (g.work)
		av_vm_stat_add(&vm->stats, AV_VM_NOTIFIER_DROP, 1);
	av_gather_finish(&g);
	/* Frames from the result on are handled again, and have at most a copy left. */
	return av_copies_forget(vm, slot, start, gfn);
}

/* Copies of the frames are freed one after the other: av_mmu_part_frees(). */
static u64 unmap_and_rest(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end)
{
	u32 copies = vm->mmu->nr_copies;

	gfn = unmap_part(vm, slot, gfn, end);
	if (vm->mmu->nr_copies != copies) {
		spin_unlock(&vm->mmu_lock);
		av_mmu_part_frees();
		spin_lock(&vm->mmu_lock);
	}
	return gfn;
}

/* Drop the blocks over frames in [gfn, end). No new ones are filled: av_mem_block_raced(). */
static void unmap_blocks(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end, bool may_block)
{
	struct av_gather g;
	bool more;

	for (gfn = av_slot_next_block(slot, ALIGN_DOWN(gfn, AV_BLOCK_FRAMES), end); gfn < end;
	     gfn = av_slot_next_block(slot, gfn, end)) {
		av_gather_init(&g, &vm->mmu->shadow);
		more = av_shadow_zap_blocks(&vm->mmu->shadow, gfn, &g);
		if (g.work)
			av_vm_stat_add(&vm->stats, AV_VM_NOTIFIER_DROP, 1);
		av_gather_finish(&g);
		gfn += more ? 0 : AV_BLOCK_FRAMES;
		offer_lock(vm, may_block);
	}
}

/*
 * The set of slots may change while others have mmu_lock. Then frames of the old set are
 * dropped from the new one, which is harmless; the old set's entries were dropped with it.
 */
static void unmap_range(struct av_vm *vm, unsigned long start, unsigned long end, bool may_block)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_slot *slot;
	u64 gfn, last, stop;
	u32 seen = 0;

	av_for_each_slot(slot, slots) {
		if (++seen % BATCH == 0)
			offer_lock(vm, may_block);
		if (!av_mem_frames(slot, start, end, &gfn, &last))
			continue;
		/* Before any page goes. While in_progress is set, no other page is shown. */
		av_shown_revoke(vm);
		unmap_blocks(vm, slot, gfn, last + 1, may_block);
		while (gfn <= last) {
			stop = min(last + 1, gfn + BATCH);
			gfn = unmap_and_rest(vm, slot, gfn, stop);
			if (gfn == stop)
				gfn = av_slot_next(slot, gfn, last + 1);
			offer_lock(vm, may_block);
		}
	}
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
	unmap_range(vm, range->start, range->end, mmu_notifier_range_blockable(range));
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

/* A call of ageing: how much more it may look at, and its result so far. */
struct ageing {
	struct av_gather g;
	bool clear, young;
	unsigned int left;
};

/* Skipping so many frames without a piece costs as much as looking at one frame. */
#define PASSED_OVER	(16 * AV_PIECE_FRAMES)

static u64 next_to_age(const struct av_slot *slot, u64 gfn, u64 end, struct ageing *a)
{
	u64 next = av_slot_next(slot, gfn, end);

	a->left -= min_t(u64, a->left, (next - gfn) / PASSED_OVER);
	return next;
}

static void age_blocks(struct av_shadow *sh, const struct av_slot *slot, u64 gfn, u64 last,
		       struct ageing *a)
{
	u64 next;

	for (gfn = ALIGN_DOWN(gfn, AV_BLOCK_FRAMES); gfn <= last; gfn = next + AV_BLOCK_FRAMES) {
		next = av_slot_next_block(slot, gfn, last + 1);
		a->left -= min_t(u64, a->left, (next - gfn) / PASSED_OVER);
		if (next > last || !a->left || av_gather_spent(&a->g))
			return;
		a->left--;
		a->young |= av_shadow_age_blocks(sh, next, a->clear, &a->g);
	}
}

static void age_slot(struct av_shadow *sh, const struct av_slot *slot, u64 gfn, u64 last,
		     struct ageing *a)
{
	age_blocks(sh, slot, gfn, last, a);
	gfn = next_to_age(slot, gfn, last + 1, a);
	while (gfn <= last && a->left && !av_gather_spent(&a->g)) {
		const u32 *head = av_slot_head(slot, gfn);

		a->left--;
		a->young |= av_mem_age(slot, gfn, a->clear);
		if (head && *head)
			a->young |= av_shadow_age_head(sh, *head, a->clear, &a->g);
		gfn = next_to_age(slot, gfn + 1, last + 1, a);
	}
}

/*
 * Has the guest used pages of the range? clear: reset that. The host asks for a page or a
 * block. If it is mapped very often, not all entries are looked at, and the others count as
 * unused.
 */
static bool age_range(struct av_vm *vm, unsigned long start, unsigned long end, bool clear)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct ageing a = { .clear = clear, .left = AGE_FRAMES };
	struct av_slot *slot;
	u64 gfn, last;

	av_gather_init(&a.g, &vm->mmu->shadow);
	av_for_each_slot(slot, slots) {
		if (!a.left || av_gather_spent(&a.g) || (a.young && !clear))
			break;
		/* Count the slot before its frames, which may use up the rest. */
		a.left--;
		if (av_mem_frames(slot, start, end, &gfn, &last))
			age_slot(&vm->mmu->shadow, slot, gfn, last, &a);
	}
	av_gather_finish(&a.g);
	return a.young;
}

static bool age(struct mmu_notifier *mn, unsigned long start, unsigned long end, bool clear)
{
	struct av_vm *vm = vm_of(mn);
	int idx = srcu_read_lock(&vm->srcu);
	bool young;

	spin_lock(&vm->mmu_lock);
	young = age_range(vm, start, end, clear);
	spin_unlock(&vm->mmu_lock);
	srcu_read_unlock(&vm->srcu, idx);
	return young;
}

static av_young_t clear_young(struct mmu_notifier *mn, struct mm_struct *mm,
			      unsigned long start, unsigned long end)
{
	return age(mn, start, end, true);
}

static av_young_t test_young(struct mmu_notifier *mn, struct mm_struct *mm,
			     unsigned long address)
{
	return age(mn, address, address + PAGE_SIZE, false);
}

/* The VMM's whole address space is destroyed; nobody can enter the guest again. */
static void release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct av_vm *vm = vm_of(mn);

	spin_lock(&vm->mmu_lock);
	av_mmu_bump_seq(vm);
	av_shown_revoke(vm);
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
