// SPDX-License-Identifier: GPL-2.0
/*
 * Memory slots, kernel side: KVM_SET_USER_MEMORY_REGION.
 *
 * Changes are made under slots_lock. To remove a slot: mark it dying under mmu_lock, so that no
 * fault fills from it any more; drop its entries, in parts; publish the set without it under
 * mmu_lock; free it after an srcu grace period. A fault that finds a dying slot returns to the
 * guest, which faults again.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/tlbflush.h>

#include "compat/mm.h"
#include "mmu/code/copies.h"
#include "mmu/gmem/gmem_plain.h"
#include "mmu/gmem/private.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/host/face.h"
#include "mmu/host/host.h"
#include "mmu/memory/memory.h"
#include "switch/image.h"

/* The VMM chooses these sizes: a failure is an errno and needs no log. */
#define GFP_SLOT	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/* Frames per hold of mmu_lock. */
#define ZAP_BATCH	256

void av_slot_free(struct av_slot *slot)
{
	if (!slot)
		return;
	av_private_unbind(slot);
	av_gmem_plain_unbind(slot);
	av_mem_free_frames(slot);
	av_image_kvfree(slot->dirty);
	av_image_kvfree(slot->ringed);
	kfree(slot);
}

/* Free a slot, except bitmaps that it shares with other. */
static void free_beside(struct av_slot *slot, const struct av_slot *other)
{
	if (slot && other && slot->dirty == other->dirty)
		slot->dirty = NULL;
	if (slot && other && slot->ringed == other->ringed)
		slot->ringed = NULL;
	av_slot_free(slot);
}

/* Bits set before the next cond_resched(): the largest slot has 256 MiB of them. */
#define SET_BATCH	BIT(18)

static void set_all(unsigned long *bits, u64 n)
{
	u64 i;

	for (i = 0; i < n; i += SET_BATCH) {
		bitmap_set(bits + BIT_WORD(i), 0, min_t(u64, n - i, SET_BATCH));
		cond_resched();
	}
}

/* The bitmaps of a logged slot. */
struct logs {
	unsigned long *dirty, *ringed;
};

static void free_logs(struct logs *logs)
{
	av_image_kvfree(logs->dirty);
	av_image_kvfree(logs->ringed);
}

/* Page by page: huge pages would be cleared in one go. */
static void *alloc_bits(size_t words)
{
	return av_image_own(av_vcalloc(words, sizeof(long), GFP_SLOT), words * sizeof(long));
}

/* Allocate the bitmap, with a second one behind it to report from; and the one for rings. */
static int alloc_logs(const struct av_vm *vm, u64 npages, struct logs *logs)
{
	bool ring = READ_ONCE(vm->mmu->ring_bytes), bitmap = !ring || vm->mmu->ring_bitmap;
	size_t words = BITS_TO_LONGS(npages);

	if (bitmap)
		logs->dirty = alloc_bits(2 * words);
	if (ring)
		logs->ringed = alloc_bits(words);
	if ((bitmap && !logs->dirty) || (ring && !logs->ringed)) {
		free_logs(logs);
		*logs = (struct logs) {};
		return -ENOMEM;
	}
	if (bitmap && vm->mmu->manual_protect & KVM_DIRTY_LOG_INITIALLY_SET)
		set_all(logs->dirty, npages);
	return 0;
}

/*
 * A logged slot that moves keeps its bitmaps. Until the old slot is freed both slots have them,
 * and a write is recorded through either.
 */
static int find_logs(const struct av_vm *vm, struct av_slot *slot, const struct av_slot *old)
{
	struct logs logs = {};
	int ret = 0;

	if (old && av_slot_logged(old))
		logs = (struct logs) { .dirty = old->dirty, .ringed = old->ringed };
	else
		ret = alloc_logs(vm, slot->npages, &logs);
	slot->dirty = logs.dirty;
	slot->ringed = logs.ringed;
	return ret;
}

static struct av_slot *new_slot(const struct av_vm *vm, const struct av_region *req,
				const struct av_slot *old)
{
	struct av_slot *slot = kzalloc(sizeof(*slot), GFP_SLOT);

	if (!slot)
		return NULL;
	slot->id = req->slot;
	slot->flags = req->flags;
	slot->base_gfn = req->gpa >> PAGE_SHIFT;
	slot->npages = req->size >> PAGE_SHIFT;
	slot->hva = req->hva;
	slot->frames.nr = slot->npages;
	if (!av_slot_logged(slot) || !find_logs(vm, slot, old))
		return slot;
	av_slot_free(slot);
	return NULL;
}

/* av_shadow_zap_gfn() or av_shadow_wrprotect_gfn(). True if the frame has more entries. */
typedef bool gfn_fn(struct av_shadow *sh, u32 gfn, struct av_gather *g);

/* Is any of these frames mapped? The caller ensures that no new entries are filled. */
static bool any_mapped(const struct av_slot *slot, u64 gfn, u64 end)
{
	for (; gfn < end; gfn++) {
		const u32 *head = av_slot_head(slot, gfn);

		if (head && READ_ONCE(*head))
			return true;
	}
	return false;
}

/* Call fn for frames in [gfn, end) until enough is done. Returns where to continue. */
static u64 for_part(struct av_vm *vm, const struct av_slot *slot, u64 gfn, u64 end, gfn_fn *fn)
{
	struct av_shadow *sh = &vm->mmu->shadow;
	struct av_gather g;

	spin_lock(&vm->mmu_lock);
	av_gather_init(&g, sh);
	for (; gfn < end; gfn++) {
		const u32 *head = av_slot_head(slot, gfn);

		/* This check is cheap; fn would have to find the frame's slot again. */
		if (head && *head && fn(sh, gfn, &g))
			break;
	}
	av_gather_finish(&g);
	spin_unlock(&vm->mmu_lock);
	return gfn;
}

/* Drop a slot's blocks in parts, whatever happens to its frames. */
static void drop_blocks(struct av_vm *vm, const struct av_slot *slot)
{
	u64 gfn = slot->base_gfn, end = gfn + slot->npages;
	struct av_gather g;
	bool more;

	for (gfn = av_slot_next_block(slot, ALIGN_DOWN(gfn, AV_BLOCK_FRAMES), end); gfn < end;
	     gfn = av_slot_next_block(slot, gfn, end)) {
		spin_lock(&vm->mmu_lock);
		av_gather_init(&g, &vm->mmu->shadow);
		more = av_shadow_zap_blocks(&vm->mmu->shadow, gfn, &g);
		av_gather_finish(&g);
		spin_unlock(&vm->mmu_lock);
		gfn += more ? 0 : AV_BLOCK_FRAMES;
		cond_resched();
	}
}

/* Call fn for a slot's frames in parts; each part is flushed before mmu_lock is released. */
static void for_slot(struct av_vm *vm, const struct av_slot *slot, gfn_fn *fn)
{
	u64 gfn = slot->base_gfn, end = gfn + slot->npages;

	drop_blocks(vm, slot);
	/* Frames without a piece are not mapped. */
	while ((gfn = av_slot_next(slot, gfn, end)) < end) {
		u64 stop = min(end, gfn + ZAP_BATCH);

		if (any_mapped(slot, gfn, stop))
			gfn = for_part(vm, slot, gfn, stop, fn);
		else
			gfn = stop;
		cond_resched();
	}
}

/* Stop fills from a slot, and drop its entries and copies. */
static void retire(struct av_vm *vm, struct av_slot *slot)
{
	bool more;

	spin_lock(&vm->mmu_lock);
	WRITE_ONCE(slot->dying, true);
	av_mmu_bump_seq(vm);
	spin_unlock(&vm->mmu_lock);
	for_slot(vm, slot, av_shadow_zap_gfn);
	do {
		spin_lock(&vm->mmu_lock);
		more = av_copies_forget_slot(vm, slot);
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	} while (more);
}

static void free_edit(struct av_slot_edit *edit)
{
	if (!edit)
		return;
	while (edit->spares)
		kfree(edit->spare[--edit->spares]);
	while (edit->gone)
		kfree(edit->old[--edit->gone]);
	kfree(edit);
}

/* Preallocate the nodes for a change of the set. */
static struct av_slot_edit *alloc_edit(const struct av_slots *slots, bool drop, bool add)
{
	unsigned int need = av_slots_need(slots, drop, add);
	struct av_slot_edit *edit = kmalloc(sizeof(*edit), GFP_KERNEL | __GFP_NOWARN);
	struct av_slot_node *node;

	if (!edit)
		return NULL;
	edit->gone = 0;
	for (edit->spares = 0; edit->spares < need; edit->spares++) {
		node = kmalloc(sizeof(*node), GFP_SLOT);
		if (!node) {
			free_edit(edit);
			return NULL;
		}
		edit->spare[edit->spares] = node;
	}
	return edit;
}

/* Publish a set without old and with slot; either may be NULL. */
static int publish(struct av_vm *vm, struct av_slot *old, struct av_slot *slot)
{
	struct av_slots *slots = av_vm_slots(vm);
	struct av_slots *next = kmalloc(sizeof(*next), GFP_SLOT);
	struct av_slot_edit *edit = alloc_edit(slots, old, slot);

	if (!next || !edit ||
	    av_mmu_raise_limits(vm, 0, slots->npages + (slot ? slot->npages : 0))) {
		free_edit(edit);
		kfree(next);
		return -ENOMEM;
	}
	av_slots_replace(slots, old, slot, next, edit);
	if (old)
		retire(vm, old);
	spin_lock(&vm->mmu_lock);
	rcu_assign_pointer(vm->mmu->slots, next);
	vm->mmu->last_slot = NULL;
	vm->mmu->shadow.last_part.nr = 0;
	av_mmu_bump_seq(vm);
	av_sw_tables_revoke(vm);
	spin_unlock(&vm->mmu_lock);
	/* Expedited, as in KVM: a VMM may add thousands of slots. */
	synchronize_srcu_expedited(&vm->srcu);
	free_edit(edit);
	kfree(slots);
	free_beside(old, slot);
	return 0;
}

static int create(struct av_vm *vm, const struct av_region *req, struct av_slot *old,
		  const struct av_private *private)
{
	struct av_slot *slot = new_slot(vm, req, old);
	int ret;

	if (!slot)
		return -ENOMEM;
	ret = (private ? av_private_bind(vm, slot, private) : 0) ?: publish(vm, old, slot);
	if (ret)
		free_beside(slot, old);
	return ret;
}

/* Turn the dirty log on or off. */
static int change_flags(struct av_vm *vm, const struct av_region *req, struct av_slot *slot)
{
	bool on = req->flags & AV_SLOT_LOG_DIRTY;
	struct logs logs = {};

	if (on && alloc_logs(vm, slot->npages, &logs))
		return -ENOMEM;
	spin_lock(&vm->mmu_lock);
	swap(slot->dirty, logs.dirty);
	swap(slot->ringed, logs.ringed);
	WRITE_ONCE(slot->flags, req->flags);
	av_mmu_bump_seq(vm);
	spin_unlock(&vm->mmu_lock);
	if (on && !(vm->mmu->manual_protect & KVM_DIRTY_LOG_INITIALLY_SET))
		for_slot(vm, slot, av_shadow_wrprotect_gfn);
	/* Pages that replaced blocks for logging may become blocks again. */
	if (!on && READ_ONCE(slot->frames.blocks))
		for_slot(vm, slot, av_shadow_zap_gfn);
	synchronize_srcu_expedited(&vm->srcu);
	free_logs(&logs);
	return 0;
}

/* A guest_memfd's slot is created and deleted; KVM permits no other change. */
static int set_private(struct av_vm *vm, const struct av_region *req,
		       const struct av_private *private)
{
	enum av_slot_change change;
	struct av_slot *old;
	int ret;

	if (vm->sealed)
		return -EPERM;
	/* Neither read-only nor logged. */
	if (private && req->flags)
		return -EINVAL;
	ret = av_slot_check(av_vm_slots(vm), req, vm->ipa_bits, &change, &old);
	if (ret)
		return ret;
	if (change == AV_SLOT_DELETE)
		return publish(vm, old, NULL);
	if (!private)
		return -EPERM;
	return change == AV_SLOT_CREATE ? create(vm, req, NULL, private) : -EINVAL;
}

/* A new slot of a plain VM's guest_memfd, unless the request is bad (ret). */
static int create_plain(struct av_vm *vm, const struct av_region *req,
			const struct av_private *from, int ret)
{
	struct av_slot *slot;
	struct file *file = av_gmem_plain_get(vm, from, req->size >> PAGE_SHIFT);

	if (IS_ERR(file))
		return PTR_ERR(file);
	slot = ret ? ERR_PTR(ret) : new_slot(vm, req, NULL) ?: ERR_PTR(-ENOMEM);
	ret = PTR_ERR_OR_ZERO(slot);
	if (!ret) {
		ret = av_gmem_plain_bind(slot, file, from->offset) ?: publish(vm, NULL, slot);
		if (ret)
			av_slot_free(slot);
	}
	fput(file);
	return ret;
}

/* As in KVM, errors of the file come before errors of the address. */
static int set_plain(struct av_vm *vm, const struct av_region *req, const struct av_private *from)
{
	enum av_slot_change change;
	struct av_slot *old;
	int ret;

	if (!PAGE_ALIGNED(from->offset) || from->offset + req->size < from->offset)
		return -EINVAL;
	ret = av_slot_check(av_vm_slots(vm), req, vm->ipa_bits, &change, &old);
	if (ret && ret != -EFAULT)
		return ret;
	if (change == AV_SLOT_DELETE)
		return publish(vm, old, NULL);
	return create_plain(vm, req, from, ret);
}

static int set_slot(struct av_vm *vm, const struct av_region *req)
{
	enum av_slot_change change;
	struct av_slot *old;
	int ret;

	ret = av_slot_check(av_vm_slots(vm), req, vm->ipa_bits, &change, &old);
	if (ret)
		return ret;
	switch (change) {
	case AV_SLOT_CREATE:
	case AV_SLOT_MOVE:
		return create(vm, req, old, NULL);
	case AV_SLOT_DELETE:
		return publish(vm, old, NULL);
	case AV_SLOT_FLAGS:
		return change_flags(vm, req, old);
	default:
		return 0;
	}
}

int av_mmu_set_slot(struct av_vm *vm, const struct kvm_userspace_memory_region2 *mem)
{
	const struct av_private private = {
		.fd = mem->guest_memfd,
		.offset = mem->guest_memfd_offset,
	};
	bool is_gmem = mem->flags & KVM_MEM_GUEST_MEMFD;
	struct av_region req = {
		.slot = mem->slot,
		.flags = mem->flags,
		.gpa = mem->guest_phys_addr,
		.size = mem->memory_size,
		.hva = mem->userspace_addr,
	};
	int ret;

	if (req.hva != untagged_addr(req.hva) ||
	    !access_ok((void __user *)req.hva, req.size))
		return -EINVAL;
	if (is_gmem && !vm->protected && !AV_KVM_GUEST_MEMFD)
		return -EINVAL;
	if (vm->protected)
		req.flags &= ~KVM_MEM_GUEST_MEMFD;
	mutex_lock(&vm->slots_lock);
	if (vm->protected)
		ret = set_private(vm, &req, is_gmem ? &private : NULL);
	else if (is_gmem)
		ret = set_plain(vm, &req, &private);
	else
		ret = set_slot(vm, &req);
	mutex_unlock(&vm->slots_lock);
	return ret;
}
