// SPDX-License-Identifier: GPL-2.0
/*
 * The dirty log: KVM_GET_DIRTY_LOG, KVM_CLEAR_DIRTY_LOG.
 *
 * While a slot is logged a page is writable in the shadow only after a write
 * fault on it has set its bit. To hand the bits out is to clear them, take the
 * write rights away and flush, under mmu_lock, in that order; a write that
 * comes later faults and sets the bit again.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "mmu/internal.h"

#define MANUAL_FLAGS	(KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE | KVM_DIRTY_LOG_INITIALLY_SET)

int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags)
{
	/* INITIALLY_SET means nothing alone. */
	if (flags & ~(u64)MANUAL_FLAGS ||
	    (flags && !(flags & KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE)))
		return -EINVAL;
	mutex_lock(&vm->slots_lock);
	vm->mmu->manual_protect = flags;
	mutex_unlock(&vm->slots_lock);
	return 0;
}

static int find_logged(struct av_vm *vm, u32 id, struct av_slot **slot)
{
	if (id >= AV_SLOTS_MAX)
		return -EINVAL;
	*slot = av_slot_by_id(av_vm_slots(vm), id);
	return *slot && (*slot)->dirty ? 0 : -ENOENT;
}

/* Write-protect pages of one word of the log, a part, and flush: those that are left. */
static unsigned long protect_part(struct av_vm *vm, u64 gfn, unsigned long bits)
{
	struct av_shadow *sh = &vm->mmu->shadow;
	struct av_gather g;

	av_gather_init(&g, sh);
	while (bits && !av_shadow_wrprotect_gfn(sh, gfn + __ffs(bits), &g))
		bits &= bits - 1;
	av_gather_finish(&g);
	return bits;
}

/*
 * Clear the bits of mask in one word; what was set. Where the lock is let go
 * before all pages are protected, a page that is written meanwhile without a
 * fault is in the bits that are about to be handed out.
 */
static unsigned long harvest(struct av_vm *vm, struct av_slot *slot, u64 word,
			     unsigned long mask)
{
	unsigned long bits, left;

	if (!(READ_ONCE(slot->dirty[word]) & mask))
		return 0;
	spin_lock(&vm->mmu_lock);
	bits = mask & atomic_long_fetch_andnot(mask, (atomic_long_t *)&slot->dirty[word]);
	left = bits;
	while (left) {
		left = protect_part(vm, slot->base_gfn + word * BITS_PER_LONG, left);
		if (left)
			cond_resched_lock(&vm->mmu_lock);
	}
	spin_unlock(&vm->mmu_lock);
	cond_resched();
	return bits;
}

/* Words that are looked at, or copied, before the CPU is offered. */
#define WORDS_BATCH	2048

static void rest(u64 i)
{
	if (i % WORDS_BATCH == WORDS_BATCH - 1)
		cond_resched();
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
	u64 words, i;
	int ret;

	ret = find_logged(vm, log->slot, &slot);
	if (ret)
		return ret;
	words = BITS_TO_LONGS(slot->npages);
	out = slot->dirty;
	if (!vm->mmu->manual_protect) {
		/* The second half of the bitmap's memory is for this. */
		out += words;
		for (i = 0; i < words; i++) {
			rest(i);
			out[i] = harvest(vm, slot, i, ~0UL);
		}
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

static int clear_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log)
{
	u64 first = log->first_page, n = log->num_pages, i;
	unsigned long __user *bitmap = log->dirty_bitmap;
	struct av_slot *slot;
	unsigned long mask;
	int ret;

	if (log->slot < AV_SLOTS_MAX && first % BITS_PER_LONG)
		return -EINVAL;
	ret = find_logged(vm, log->slot, &slot);
	if (ret)
		return ret;
	if (first > slot->npages || n > slot->npages - first ||
	    (n < slot->npages - first && n % BITS_PER_LONG))
		return -EINVAL;
	for (i = 0; i < BITS_TO_LONGS(n); i++) {
		rest(i);
		if (get_user(mask, bitmap + i))
			return -EFAULT;
		/* The user's bits past the last page mean nothing. */
		if ((i + 1) * BITS_PER_LONG > n)
			mask &= BIT(n % BITS_PER_LONG) - 1;
		harvest(vm, slot, first / BITS_PER_LONG + i, mask);
	}
	return 0;
}

int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log)
{
	int ret;

	mutex_lock(&vm->slots_lock);
	ret = clear_log(vm, log);
	mutex_unlock(&vm->slots_lock);
	return ret;
}
