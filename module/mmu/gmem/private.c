// SPDX-License-Identifier: GPL-2.0
/*
 * A protected VM's memory: binding to slots, sealing at the first run, measuring, and sharing
 * by the guest. Rules in face.h and private.h; owners of pages in page_state.h and gmem.h.
 *
 * The slots of a sealed VM do not change: they are read without srcu.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "mmu/base/base.h"
#include "mmu/gmem/face.h"
#include "mmu/gmem/private.h"

/* ---- slots ------------------------------------------------------------------- */

int av_private_bind(struct av_vm *vm, struct av_slot *slot, const struct av_private *from)
{
	u64 first = from->offset >> PAGE_SHIFT;
	struct av_gmem *gmem;
	struct file *file;
	int ret;

	ret = av_gmem_get(vm, from->fd, &file, &gmem);
	if (ret)
		return ret;
	if (!PAGE_ALIGNED(from->offset) || first > gmem->nr || slot->npages > gmem->nr - first)
		ret = -EINVAL;
	else
		ret = av_gmem_bind(gmem, first, slot->npages);
	if (ret) {
		fput(file);
		return ret;
	}
	slot->gmem = gmem;
	slot->gmem_first = first;
	slot->gmem_file = file;
	return 0;
}

void av_private_unbind(struct av_slot *slot)
{
	if (!slot->gmem)
		return;
	/* A slot of a sealed VM is freed only with its VM. */
	av_gmem_unseal(slot->gmem);
	av_gmem_unbind(slot->gmem, slot->gmem_first);
	fput(slot->gmem_file);
}

/* ---- sealing ----------------------------------------------------------------- */

static int seal_slots(struct av_vm *vm)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_slot *slot;
	int ret = 0;

	av_for_each_slot(slot, slots) {
		cond_resched();
		if (slot->gmem && !slot->gmem->sealed)
			ret = av_gmem_seal(slot->gmem);
		if (ret)
			break;
	}
	return ret;
}

static void reopen_slots(struct av_vm *vm)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_slot *slot;

	av_for_each_slot(slot, slots) {
		cond_resched();
		if (slot->gmem)
			WRITE_ONCE(slot->gmem->sealed, false);
	}
}

/* Pages that were never used read as zeroes, so they count as zero pages. */
static int measure_slot(const struct av_slot *slot, av_measure_fn *fn, void *ctx)
{
	int ret = fn(ctx, slot->base_gfn << PAGE_SHIFT, slot->npages << PAGE_SHIFT, NULL);
	u64 i;

	for (i = 0; i < slot->npages && !ret; i++) {
		u64 nr = slot->gmem_first + i;
		const void *page;

		/* Measuring a page may take more than 100,000 instructions. */
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!av_gmem_word(slot->gmem, nr)) {
			/* Skip to the last page of the missing table. */
			i += AV_GMEM_FANOUT - 1 - nr % AV_GMEM_FANOUT;
			continue;
		}
		page = av_gmem_page(slot->gmem, nr);
		if (page && av_gmem_is_bad(page))
			return -EHWPOISON;
		if (page && memchr_inv(page, 0, PAGE_SIZE))
			ret = fn(ctx, (slot->base_gfn + i) << PAGE_SHIFT, PAGE_SIZE, page);
	}
	return ret;
}

static int measure_slots(struct av_vm *vm, av_measure_fn *fn, void *ctx)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_slot *slot;
	int ret = 0;

	av_for_each_slot(slot, slots) {
		if (slot->gmem)
			ret = measure_slot(slot, fn, ctx);
		if (ret)
			break;
	}
	return ret;
}

int av_mmu_seal(struct av_vm *vm, av_measure_fn *fn, void *ctx)
{
	int ret;

	if (mutex_lock_killable(&vm->slots_lock))
		return -EINTR;
	ret = seal_slots(vm) ?: measure_slots(vm, fn, ctx);
	if (ret)
		reopen_slots(vm);
	mutex_unlock(&vm->slots_lock);
	return ret;
}

/* ---- sharing ----------------------------------------------------------------- */

static noinline const struct av_slot *find_slot(struct av_vm *vm, u64 gfn)
{
	struct av_slots *slots = rcu_dereference_protected(vm->mmu->slots, vm->sealed);
	const struct av_slot *slot = av_slot_find(slots, gfn);

	if (slot)
		WRITE_ONCE(vm->mmu->shared_last, slot);
	return slot;
}

/* The slot of a page that the guest of a sealed VM names, or NULL. */
static __always_inline const struct av_slot *slot_of(struct av_vm *vm, u64 gpa)
{
	const struct av_slot *slot = READ_ONCE(vm->mmu->shared_last);
	u64 gfn = gpa >> PAGE_SHIFT;

	return likely(slot && gfn - slot->base_gfn < slot->npages) ? slot : find_slot(vm, gfn);
}

/* The i-th page from gpa on, which is in the slot. */
static __always_inline u64 page_of(const struct av_slot *slot, u64 gpa, u64 i)
{
	return slot->gmem_first +
	       array_index_nospec((gpa >> PAGE_SHIFT) - slot->base_gfn + i, slot->npages);
}

/* The owner of that page; NULL: the page was never used. */
static __always_inline u64 *word_of(const struct av_slot *slot, u64 gpa, u64 i)
{
	return av_gmem_word(slot->gmem, page_of(slot, gpa, i));
}

/* How many of nr pages one call can do, all of them in the slot. */
static __always_inline u64 at_once(const struct av_slot *slot, u64 gpa, u64 nr)
{
	u64 left = slot->npages - ((gpa >> PAGE_SHIFT) - slot->base_gfn);

	return min3(nr, left, (u64)AV_SHARE_MOST);
}

static bool is_page(const struct av_vm *vm, u64 gpa)
{
	return PAGE_ALIGNED(gpa) && !(gpa >> vm->ipa_bits);
}

static __always_inline int share_one(const struct av_slot *slot, u64 gpa, u64 i, bool may_sleep)
{
	u64 *word = may_sleep ? av_gmem_make_word(slot->gmem, page_of(slot, gpa, i)) :
				word_of(slot, gpa, i);

	if (!word)
		return may_sleep ? -ENOMEM : -EAGAIN;
	return av_page_state_share(word) ? 0 : -EINVAL;
}

s64 av_mmu_share(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep)
{
	const struct av_slot *slot;
	u64 done;
	int ret;

	if (!is_page(vm, gpa))
		return -EINVAL;
	slot = slot_of(vm, gpa);
	if (!slot)
		return -ENXIO;
	ret = share_one(slot, gpa, 0, may_sleep);
	if (ret)
		return ret;
	if (likely(nr == 1))
		return 1;
	nr = at_once(slot, gpa, nr);
	for (done = 1; done < nr; done++)
		if (share_one(slot, gpa, done, may_sleep))
			break;
	return done;
}

/*
 * Take back pages that processes may have. Until all are settled nobody owns them, so no call of
 * another vCPU can come in between. Pages behind one that is held stay shared.
 */
static s64 recall(const struct av_slot *slot, u64 gpa, u64 nr)
{
	u64 leaving, free, i;

	for (leaving = 0; leaving < nr; leaving++) {
		u64 *word = word_of(slot, gpa, leaving);

		if (!word || !av_page_state_recall(word))
			break;
	}
	if (!leaving)
		return -EINVAL;
	free = av_gmem_recall(slot->gmem, page_of(slot, gpa, 0), leaving);
	for (i = 0; i < leaving; i++)
		av_page_state_settle(word_of(slot, gpa, i), i < free);
	return free ?: -EAGAIN;
}

static __always_inline bool take_one(const struct av_slot *slot, u64 gpa, u64 i)
{
	u64 *word = word_of(slot, gpa, i);

	return word && av_page_state_take(word);
}

s64 av_mmu_unshare(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep)
{
	const struct av_slot *slot = is_page(vm, gpa) ? slot_of(vm, gpa) : NULL;
	u64 done;

	if (!slot)
		return -EINVAL;
	if (!take_one(slot, gpa, 0)) {
		/* Only the full exit path checks if the page was shared at all. */
		return may_sleep ? recall(slot, gpa, at_once(slot, gpa, nr)) : -EAGAIN;
	}
	if (likely(nr == 1))
		return 1;
	nr = at_once(slot, gpa, nr);
	for (done = 1; done < nr; done++)
		if (!take_one(slot, gpa, done))
			break;
	return done;
}
