// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty rings: KVM_CAP_DIRTY_LOG_RING_ACQ_REL, KVM_RESET_DIRTY_RINGS.
 *
 * A page of a logged slot is writable in the shadow only while it is in a ring; slot->ringed
 * has a bit for that. The first vCPU's write fault puts the page in its ring, once until it is
 * reset. A reset clears the page's bit in slot->ringed, then write-protects the page
 * (mmu/dirty/protect.h), like the bitmap's log. The VMM reads the page after that.
 *
 * Pages not written by a vCPU (an ITS's tables, which the VMM has saved) go in no ring but in
 * the slot's bitmap, if the VMM has enabled one (KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP).
 *
 * The vCPU's own thread owns ring->put; ring->reset is under slots_lock. The ring lives as long
 * as the vCPU; a page of it may live longer in somebody's pipe.
 */
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "mmu/dirty/dirty.h"
#include "mmu/dirty/face.h"
#include "mmu/dirty/protect.h"
#include "switch/image.h"

static_assert(sizeof(struct av_ring_entry) == sizeof(struct kvm_dirty_gfn));
static_assert(offsetof(struct av_ring_entry, offset) == offsetof(struct kvm_dirty_gfn, offset));
static_assert(AV_RING_DIRTY == KVM_DIRTY_GFN_F_DIRTY && AV_RING_TAKEN == KVM_DIRTY_GFN_F_RESET);

int av_mmu_enable_ring(struct av_vm *vm, u32 bytes)
{
	int ret = av_ring_check_size(bytes);

	if (ret)
		return ret;
	mutex_lock(&vm->lock);
	if (vm->mmu->ring_bytes || vm->nr_vcpus)
		ret = -EINVAL;
	else
		WRITE_ONCE(vm->mmu->ring_bytes, bytes);
	mutex_unlock(&vm->lock);
	return ret;
}

/* Only before there are slots, so that all of them have a bitmap or none does. */
int av_mmu_enable_ring_bitmap(struct av_vm *vm)
{
	int ret = -EINVAL;

	mutex_lock(&vm->slots_lock);
	if (READ_ONCE(vm->mmu->ring_bytes) && !av_vm_slots(vm)->nr) {
		vm->mmu->ring_bitmap = true;
		ret = 0;
	}
	mutex_unlock(&vm->slots_lock);
	return ret;
}

int av_ring_create(struct av_vcpu *vcpu)
{
	u32 bytes = vcpu->vm->mmu->ring_bytes;
	void *at;

	if (!bytes)
		return 0;
	/* The VMM chooses the size: a failure is an errno and needs no log. */
	at = av_vcalloc(bytes / PAGE_SIZE, PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	at = av_image_own(at, bytes);
	if (!at)
		return -ENOMEM;
	av_ring_init(&vcpu->mmu->ring, at, bytes);
	return 0;
}

void av_ring_destroy(struct av_vcpu *vcpu)
{
	av_image_kvfree(vcpu->mmu->ring.at);
}

bool av_mmu_is_ring_page(const struct av_vm *vm, unsigned long pgoff)
{
	return pgoff >= KVM_DIRTY_LOG_PAGE_OFFSET &&
	       pgoff - KVM_DIRTY_LOG_PAGE_OFFSET < READ_ONCE(vm->mmu->ring_bytes) / PAGE_SIZE;
}

struct page *av_mmu_ring_page(struct av_vcpu *vcpu, unsigned long pgoff)
{
	void *at = vcpu->mmu->ring.at;

	return vmalloc_to_page(at + (pgoff - KVM_DIRTY_LOG_PAGE_OFFSET) * PAGE_SIZE);
}

bool av_mmu_ring_full(struct av_vcpu *vcpu)
{
	if (!av_vcpu_take_request(vcpu, AV_REQ_RING) || !av_ring_soft_full(&vcpu->mmu->ring))
		return false;
	/* Until the VMM has made room. */
	av_vcpu_request(vcpu, AV_REQ_RING);
	return true;
}

bool av_slot_put_in_ring(struct av_vcpu *vcpu, struct av_slot *slot, u64 page)
{
	struct av_ring *ring = &vcpu->mmu->ring;
	unsigned long *ringed = READ_ONCE(slot->ringed);
	bool put;

	/* A slot that was logged before there were rings has no such bits. */
	if (ringed && test_and_set_bit(page, ringed))
		return true;
	put = av_ring_put(ring, slot->id, page);
	if (put)
		av_vm_stat_add(&vcpu->vm->stats, AV_VM_DIRTY_PAGES, 1);
	else if (ringed)
		clear_bit(page, ringed);
	if (av_ring_soft_full(ring))
		av_vcpu_request(vcpu, AV_REQ_RING);
	return put;
}

/* An entry that was reset is only a hint from the VMM: check it. */
static void protect_run(struct av_protect *p, struct av_ring_run *run)
{
	const struct av_slot *slot = av_slot_by_id(av_vm_slots(p->vm), run->slot);
	u64 mask;

	if (!slot || !av_slot_logged(slot) || !av_ring_clip(run, slot->npages))
		return;
	for (mask = run->mask; mask; mask &= mask - 1) {
		u64 page = run->offset + __ffs64(mask);

		if (slot->ringed)
			clear_bit(page, slot->ringed);
		av_protect_page(p, slot, slot->base_gfn + page);
	}
}

/*
 * Reset the entries that a vCPU's ring has now. Entries added meanwhile stay, however fast the
 * VMM takes them: so this ends.
 */
static unsigned int reset_ring(struct av_vm *vm, struct av_ring *ring)
{
	struct av_protect p = { .vm = vm };
	unsigned int n, part = 0, all = 0;
	u32 end = av_ring_end(ring);
	struct av_ring_run run;

	while ((n = av_ring_reset(ring, end, &run))) {
		protect_run(&p, &run);
		all += n;
		/* Invalid or repeated entries are work too, and so is finding the slot. */
		part += n + 1;
		if (part >= AV_PROTECT_PART) {
			part = 0;
			av_protect_end(&p);
			cond_resched();
		}
		if (fatal_signal_pending(current))
			break;
	}
	av_protect_end(&p);
	return all;
}

int av_mmu_reset_rings(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i, n = 0;

	if (!READ_ONCE(vm->mmu->ring_bytes))
		return -EINVAL;
	mutex_lock(&vm->slots_lock);
	av_for_each_vcpu(i, vcpu, vm)
		n += reset_ring(vm, &vcpu->mmu->ring);
	mutex_unlock(&vm->slots_lock);
	return n;
}
