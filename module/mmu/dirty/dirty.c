// SPDX-License-Identifier: GPL-2.0
/*
 * The dirty log: KVM_GET_DIRTY_LOG, KVM_CLEAR_DIRTY_LOG.
 *
 * A page of a logged slot becomes writable in the shadow only after a write fault on it has set
 * its bit. To report bits: clear them, remove the write rights and flush, in that order
 * (mmu/dirty/protect.h). A later write faults and sets the bit again.
 *
 * The second half of a bitmap's memory holds the bits being reported or cleared. It is used
 * under slots_lock.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "mmu/dirty/dirty.h"
#include "mmu/dirty/face.h"
#include "mmu/dirty/protect.h"

#define MANUAL_FLAGS	(KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE | KVM_DIRTY_LOG_INITIALLY_SET)

void av_slot_log(struct av_vm *vm, struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn)
{
	unsigned long *dirty = READ_ONCE(slot->dirty);
	u64 page = gfn - slot->base_gfn;

	/*
	 * The ring has room for more than one exit adds, except for an ITS's commands. What
	 * does not fit goes in the bitmap, if there is one. KVM's ring overflows.
	 */
	if (vcpu && vcpu->mmu->ring.size && (av_slot_put_in_ring(vcpu, slot, page) || !dirty))
		return;
	if (dirty && !test_and_set_bit(page, dirty))
		av_vm_stat_add(&vm->stats, AV_VM_DIRTY_PAGES, 1);
}

int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags)
{
	/* INITIALLY_SET is not valid alone. */
	if (flags & ~(u64)MANUAL_FLAGS ||
	    (flags && !(flags & KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE)))
		return -EINVAL;
	mutex_lock(&vm->slots_lock);
	vm->mmu->manual_protect = flags;
	mutex_unlock(&vm->slots_lock);
	return 0;
}

/* Does the VM use bitmaps, with or without rings? */
static bool uses_bitmap(const struct av_vm *vm)
{
	return !READ_ONCE(vm->mmu->ring_bytes) || vm->mmu->ring_bitmap;
}

static int find_logged(struct av_vm *vm, u32 id, struct av_slot **slot)
{
	if (id >= AV_SLOTS_MAX)
		return -EINVAL;
	*slot = av_slot_by_id(av_vm_slots(vm), id);
	return *slot && (*slot)->dirty ? 0 : -ENOENT;
}

/* Words handled or copied before the next cond_resched(). */
#define WORDS_BATCH	2048

/*
 * Take bits out of the log, from word first on: those set in words, or with all every bit.
 * words then has the bits taken. If a page is written through a stale entry before its part of
 * the write protection ends, its bit is among those about to be reported.
 */
static void harvest(struct av_vm *vm, struct av_slot *slot, u64 first, unsigned long *words,
		    u64 n, bool all)
{
	struct av_protect p = { .vm = vm };
	unsigned long *dirty = slot->dirty + first, left;
	u64 i, gfn = slot->base_gfn + first * BITS_PER_LONG;

	for (i = 0; i < n; i++, gfn += BITS_PER_LONG) {
		if (i % WORDS_BATCH == WORDS_BATCH - 1) {
			av_protect_end(&p);
			cond_resched();
		}
		left = READ_ONCE(dirty[i]) & (all ? ~0UL : words[i]);
		if (left)
			left = atomic_long_fetch_andnot(left, (atomic_long_t *)&dirty[i]) & left;
		words[i] = left;
		for (; left; left &= left - 1)
			av_protect_page(&p, slot, gfn + __ffs(left));
	}
	av_protect_end(&p);
}

static int hand_out(unsigned long __user *to, const unsigned long *words, u64 nr)
{
	u64 i, n;

	for (i = 0; i < nr; i += n) {
		n = min_t(u64, nr - i, WORDS_BATCH);
		if (copy_to_user(to + i, words + i, n * sizeof(*words)))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

static int get_log(struct av_vm *vm, const struct kvm_dirty_log *log)
{
	struct av_slot *slot;
	unsigned long *out;
	u64 words;
	int ret;

	if (!uses_bitmap(vm))
		return -ENXIO;
	ret = find_logged(vm, log->slot, &slot);
	if (ret)
		return ret;
	words = BITS_TO_LONGS(slot->npages);
	out = slot->dirty;
	if (!vm->mmu->manual_protect) {
		out += words;
		harvest(vm, slot, 0, out, words, true);
	}
	return hand_out(log->dirty_bitmap, out, words);
}

int av_mmu_get_dirty_log(struct av_vm *vm, const struct kvm_dirty_log *log)
{
	int ret;

	mutex_lock(&vm->slots_lock);
	ret = get_log(vm, log);
	mutex_unlock(&vm->slots_lock);
	return ret;
}

static int fetch(unsigned long *words, const unsigned long __user *from, u64 nr)
{
	u64 i, n;

	for (i = 0; i < nr; i += n) {
		n = min_t(u64, nr - i, WORDS_BATCH);
		if (copy_from_user(words + i, from + i, n * sizeof(*words)))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

/* The log has no bits beyond the last page: ignore the user's. */
static int clear_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log)
{
	u64 first = log->first_page, n = log->num_pages;
	struct av_slot *slot;
	unsigned long *words;
	int ret;

	if (!uses_bitmap(vm))
		return -ENXIO;
	if (log->slot < AV_SLOTS_MAX && first % BITS_PER_LONG)
		return -EINVAL;
	ret = find_logged(vm, log->slot, &slot);
	if (ret)
		return ret;
	if (first > slot->npages || n > slot->npages - first ||
	    (n < slot->npages - first && n % BITS_PER_LONG))
		return -EINVAL;
	words = slot->dirty + BITS_TO_LONGS(slot->npages);
	ret = fetch(words, log->dirty_bitmap, BITS_TO_LONGS(n));
	if (!ret)
		harvest(vm, slot, first / BITS_PER_LONG, words, BITS_TO_LONGS(n), false);
	return ret;
}

int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log)
{
	int ret;

	mutex_lock(&vm->slots_lock);
	ret = clear_log(vm, log);
	mutex_unlock(&vm->slots_lock);
	return ret;
}
