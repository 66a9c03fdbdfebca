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
#include "mmu/code/copies.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/host/host.h"
#include "mmu/memory/memory.h"
#include "mmu/shadow/resync.h"

/* Slots and frames looked at before others may take mmu_lock. */
#define BATCH	128

/* Skipping this many frames without a piece costs as much as looking at one frame. */
#define PASSED_OVER	(16 * AV_PIECE_FRAMES)

/* So does visiting this many nodes of the tree of slots. */
#define NODES		8

static struct av_vm *vm_of(struct mmu_notifier *mn)
{
	return container_of(mn, struct av_vm_mmu, notifier)->vm;
}

/*
 * Most frames and slots that one ageing call looks at: the host holds locks, and a VMM may have
 * tens of thousands of slots for one address.
 */
#define AGE_FRAMES	600

/* The cost of the walk's last step, in looks. */
static unsigned int slot_looks(struct av_hva_walk *walk)
{
	unsigned int looks = 1 + walk->visited / NODES;

	walk->visited = 0;
	return looks;
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
 * An invalidation by the host, in parts: mmu_lock is released after each part, with everything
 * flushed.
 *
 * Entries are dropped one by one up to a limit, so that the host does not pay for a guest or a VMM:
 * millions of entries may map a frame, and tens of thousands of slots may have the same memory. At
 * the limit the tables of all trees are unlinked, in few steps. vCPUs free these tables, and refill
 * the entries that their guests use.
 */
struct unmapping {
	struct av_vm *vm;
	bool may_block;
	bool revoked;		/* no guest's table is shown any more */
	bool all;		/* all tables were unlinked … */
	u64 left;		/* … or the number of entries that may still be dropped */
	unsigned int looks;	/* slots and frames of this part */
	struct av_gather g;	/* of this part */
};

/*
 * The limit. Thousands of processes that share a page stay below it. If the VMM itself takes away
 * much memory, each page may be mapped a few times.
 */
#define MOST_ENTRIES		8192
#define ENTRIES_PER_PAGE	8

static void begin_part(struct unmapping *u)
{
	av_gather_init(&u->g, &u->vm->mmu->shadow);
	u->looks = 0;
}

static void finish_part(struct unmapping *u)
{
	if (u->g.work)
		av_vm_stat_add(&u->vm->stats, AV_VM_NOTIFIER_DROP, 1);
	av_gather_finish(&u->g);
	u->left -= min_t(u64, u->left, u->g.work);
}

static void next_part(struct unmapping *u)
{
	finish_part(u);
	offer_lock(u->vm, u->may_block);
	begin_part(u);
}

/*
 * Unlink all tables, kept ones as well. No page of the range is filled before range_end(), so from
 * now on no walker reaches an entry of the range.
 */
static void unmap_all(struct unmapping *u)
{
	struct av_tlbi_walk walk = { .op = { .scope = AV_TLBI_ALL } };
	struct av_shadow *sh = &u->vm->mmu->shadow;

	av_vm_stat_add(&u->vm->stats, AV_VM_SHADOW_DROP, 1);
	av_shadow_forbid_heirs(sh);
	while (av_shadow_tlbi(sh, &walk, &u->g))
		next_part(u);
	av_shadow_permit_heirs(sh);
	u->all = true;
}

/* Go on to the next part if this one has done enough. */
static void look_up(struct unmapping *u)
{
	if (u->looks >= BATCH || av_gather_spent(&u->g))
		next_part(u);
	if (!u->left && !u->all)
		unmap_all(u);
}

/* The part has passed over frames from gfn to next without looking at each. Returns next. */
static u64 passed_over(struct unmapping *u, u64 gfn, u64 next)
{
	u->looks += min_t(u64, (next - gfn) / PASSED_OVER, BATCH);
	return next;
}

/*
 * Drop frames in [gfn, end), within this part; returns where to continue. The frames will get other
 * pages, so forget the known ones.
 */
static u64 unmap_some(struct unmapping *u, struct av_slot *slot, u64 gfn, u64 end)
{
	struct av_shadow *sh = &u->vm->mmu->shadow;
	const u64 start = gfn;

	for (; gfn < end && u->looks < BATCH; gfn++, u->looks++) {
		const u32 *head = av_slot_head(slot, gfn);

		/* Most frames of a large range have no entries. */
		if (head && *head && !u->all && av_shadow_zap_gfn(sh, gfn, &u->g))
			break;
	}
	av_mem_forget_pages(slot, start, gfn);
	return gfn;
}

/* Does any of the next frames of this part have a copy? */
static bool any_copied(const struct unmapping *u, const struct av_slot *slot, u64 gfn, u64 end)
{
	return u->vm->mmu->nr_copies &&
	       av_gfn_info_any(&slot->frames, gfn - slot->base_gfn, min_t(u64, end - gfn, BATCH),
			       AV_FRAME_COPIED);
}

/*
 * The same, and free the copies of the frames, in a part of its own. Frames from the result on are
 * handled again, and have at most a copy left.
 */
static u64 unmap_copies(struct unmapping *u, struct av_slot *slot, u64 gfn, u64 end)
	__must_hold(&u->vm->mmu_lock)
{
	u64 next = unmap_some(u, slot, gfn, end);

	finish_part(u);
	next = av_copies_forget(u->vm, slot, gfn, next);
	/* Copies are freed one at a time: av_mmu_part_frees(). */
	spin_unlock(&u->vm->mmu_lock);
	av_mmu_part_frees();
	if (u->may_block)
		cond_resched();
	spin_lock(&u->vm->mmu_lock);
	begin_part(u);
	return next;
}

/* Drop the blocks over frames in [gfn, end). No new ones are filled: av_mem_block_raced(). */
static void unmap_blocks(struct unmapping *u, struct av_slot *slot, u64 gfn, u64 end)
{
	struct av_shadow *sh = &u->vm->mmu->shadow;

	gfn = ALIGN_DOWN(gfn, AV_BLOCK_FRAMES);
	while (gfn < end && !u->all) {
		gfn = passed_over(u, gfn, av_slot_next_block(slot, gfn, end));
		if (gfn >= end)
			return;
		if (!av_shadow_zap_blocks(sh, gfn, &u->g))
			gfn += AV_BLOCK_FRAMES;
		u->looks++;
		look_up(u);
	}
}

static void unmap_slot(struct unmapping *u, struct av_slot *slot, u64 gfn, u64 end)
{
	/* Before any page goes. While in_progress is set, no other page is shown. */
	if (!u->revoked)
		av_sw_tables_revoke(u->vm);
	u->revoked = true;
	unmap_blocks(u, slot, gfn, end);
	for (;;) {
		gfn = passed_over(u, gfn, av_slot_next(slot, gfn, end));
		if (gfn >= end)
			return;
		if (any_copied(u, slot, gfn, end))
			gfn = unmap_copies(u, slot, gfn, end);
		else
			gfn = unmap_some(u, slot, gfn, end);
		look_up(u);
	}
}

/*
 * The set of slots may change while others have mmu_lock. Then frames of the old set are
 * dropped from the new one, which is harmless; the old set's entries were dropped with it.
 */
static noinline void unmap_range(struct av_vm *vm, const struct mmu_notifier_range *range)
{
	u64 pages = (range->end - range->start) >> PAGE_SHIFT;
	struct unmapping u = {
		.vm = vm,
		.may_block = mmu_notifier_range_blockable(range),
		.left = MOST_ENTRIES + ENTRIES_PER_PAGE * pages,
	};
	struct av_hva_walk walk;
	struct av_slot *slot;
	u64 gfn, last;

	begin_part(&u);
	av_hva_begin(&walk, av_vm_slots(vm), range->start, range->end);
	while ((slot = av_hva_next(&walk))) {
		u.looks += slot_looks(&walk);
		if (!av_slot_unused(slot) &&
		    av_mem_frames(slot, range->start, range->end, &gfn, &last))
			unmap_slot(&u, slot, gfn, last + 1);
		look_up(&u);
	}
	finish_part(&u);
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
	if (av_hva_may_have(av_vm_slots(vm), range->start))
		unmap_range(vm, range);
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

/* A call of ageing: its remaining budget, and its result so far. */
struct ageing {
	struct av_gather g;
	bool clear, young;
	unsigned int left;
};

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
	struct ageing a = { .clear = clear, .left = AGE_FRAMES };
	struct av_hva_walk walk;
	struct av_slot *slot;
	u64 gfn, last;

	av_gather_init(&a.g, &vm->mmu->shadow);
	av_hva_begin(&walk, av_vm_slots(vm), start, end);
	while ((slot = av_hva_next(&walk))) {
		if (!a.left || av_gather_spent(&a.g) || (a.young && !clear))
			break;
		/* Count the slot before its frames, which may use up the rest. */
		a.left -= min(a.left, slot_looks(&walk));
		if (!av_slot_unused(slot) && av_mem_frames(slot, start, end, &gfn, &last))
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
	av_sw_tables_revoke(vm);
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
