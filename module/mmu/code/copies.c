// SPDX-License-Identifier: GPL-2.0
/* Copies of the pages that virtual EL1 executes: rules in copies.h. */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat/icache.h"
#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/code/face.h"
#include "mmu/stub/patch.h"

/* Copies freed at once: their pages go back to the page allocator in one go. */
#define BATCH	32

void av_copies_init(struct av_vm *vm)
{
	hash_init(vm->mmu->copies);
	INIT_LIST_HEAD(&vm->mmu->copies_by_age);
}

static void release(struct av_copy *copy)
{
	set_page_private(virt_to_page(copy->code), 0);
	free_page((unsigned long)copy->code);
	kfree(copy);
}

int av_copies_prepare(struct av_vcpu *vcpu)
{
	struct av_copy *copy;

	if (vcpu->mmu->spare_copy)
		return 0;
	copy = kzalloc(sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	copy->code = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!copy->code) {
		kfree(copy);
		return -ENOMEM;
	}
	vcpu->mmu->spare_copy = copy;
	return 0;
}

void av_copies_unprepare(struct av_vcpu *vcpu)
{
	if (vcpu->mmu->spare_copy)
		release(vcpu->mmu->spare_copy);
	vcpu->mmu->spare_copy = NULL;
}

bool av_copied(const struct av_slot *slot, u64 gfn)
{
	const u8 *state = av_gfn_info_state(&slot->frames, gfn - slot->base_gfn);

	return state && READ_ONCE(*state) & AV_FRAME_COPIED;
}

static void set_copied(const struct av_slot *slot, u64 gfn, bool copied)
{
	u8 *state = av_gfn_info_state(&slot->frames, gfn - slot->base_gfn);

	WRITE_ONCE(*state, (*state & ~AV_FRAME_COPIED) | (copied ? AV_FRAME_COPIED : 0));
}

static struct av_copy *find(struct av_vm *vm, u64 gfn)
{
	struct av_copy *copy;

	hash_for_each_possible(vm->mmu->copies, copy, hash, gfn)
		if (copy->gfn == gfn)
			return copy;
	return NULL;
}

/* Free a copy that no entry maps. */
static void forget(struct av_vm *vm, struct av_slot *slot, struct av_copy *copy)
{
	set_copied(slot, copy->gfn, false);
	hash_del(&copy->hash);
	list_del(&copy->node);
	vm->mmu->nr_copies--;
	av_shrink_count(-1);
	av_vm_stat_add(&vm->stats, AV_VM_CODE_COPIES, -1);
	release(copy);
}

u64 *av_copy_code(struct av_vm *vm, u64 gfn)
{
	struct av_copy *copy = find(vm, gfn);

	if (!copy)
		return NULL;
	copy->has_sites = true;
	return copy->code;
}

const struct av_copy *av_copy_mapped(u64 pa)
{
	return (const struct av_copy *)page_private(phys_to_page(pa));
}

bool av_copy_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn)
{
	const struct av_copy *copy = find(vm, gfn);

	return copy && (av_shadow_lookup(tree, va, NULL) & AV_PTE_ADDR) == virt_to_phys(copy->code);
}

bool av_copy_made_for(struct av_vm *vm, u64 gfn, u64 va)
{
	const struct av_copy *copy = find(vm, gfn);

	return copy && copy->va == va;
}

bool av_copy_only_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn)
{
	const struct av_copy *copy = find(vm, gfn);

	return copy && !copy->aliased && av_copy_at(vm, tree, va, gfn);
}

bool av_copy_drop(struct av_vm *vm, struct av_slot *slot, u64 gfn)
{
	struct av_copy *copy = find(vm, gfn);
	struct av_gather g;
	bool more;

	av_gather_init(&g, &vm->mmu->shadow);
	more = av_shadow_zap_gfn(&vm->mmu->shadow, gfn, &g);
	av_gather_finish(&g);
	if (more)
		return true;
	if (copy)
		forget(vm, slot, copy);
	return false;
}

static struct av_copy *oldest(struct av_vm *vm)
{
	return list_first_entry_or_null(&vm->mmu->copies_by_age, struct av_copy, node);
}

bool av_copies_shrink(struct av_vm *vm)
{
	struct av_copy *copy = oldest(vm);

	if (!copy)
		return false;
	av_copy_drop(vm, av_vm_slot(vm, copy->gfn), copy->gfn);
	return true;
}

u64 av_copies_forget(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end)
{
	unsigned int n = 0;

	if (!vm->mmu->nr_copies)
		return end;
	for (; gfn < end && n < BATCH; gfn++) {
		if (av_copied(slot, gfn)) {
			forget(vm, slot, find(vm, gfn));
			n++;
		}
	}
	return gfn;
}

bool av_copies_forget_slot(struct av_vm *vm, struct av_slot *slot)
{
	struct av_copy *copy, *tmp;
	unsigned int n = 0;

	list_for_each_entry_safe(copy, tmp, &vm->mmu->copies_by_age, node) {
		if (copy->gfn - slot->base_gfn >= slot->npages)
			continue;
		if (n++ == BATCH)
			return true;
		forget(vm, slot, copy);
	}
	return false;
}

void av_copy_written(struct av_vm *vm, struct av_slot *slot, u64 gfn)
{
	bool more = true;

	while (more) {
		spin_lock(&vm->mmu_lock);
		more = av_copied(slot, gfn) && av_copy_drop(vm, slot, gfn);
		spin_unlock(&vm->mmu_lock);
	}
}

void av_copies_free(struct av_vm *vm)
{
	struct av_copy *copy, *tmp;
	unsigned int n = 0;

	av_shrink_count(-(long)vm->mmu->nr_copies);
	list_for_each_entry_safe(copy, tmp, &vm->mmu->copies_by_age, node) {
		release(copy);
		if (++n % BATCH == 0)
			av_mmu_offer();
	}
}

/* Remove all write rights for the frame. */
static int protect(struct av_vm *vm, u64 gfn)
{
	struct av_gather g;
	bool more;

	av_gather_init(&g, &vm->mmu->shadow);
	more = av_shadow_wrprotect_gfn(&vm->mmu->shadow, gfn, &g);
	av_gather_finish(&g);
	return more ? -EAGAIN : 0;
}

static u32 limit(struct av_vm *vm)
{
	return clamp_t(u64, av_vm_slots(vm)->npages / AV_PAGES_PER_COPY,
		       AV_COPIES_MIN, AV_COPIES_MAX);
}

/* A copy with branches is correct at only one address: drop it, and make one without sites. */
static int alias(struct av_vm *vm, struct av_slot *slot, struct av_copy *copy)
{
	copy->aliased = true;
	av_patch_sites_none(vm, copy->gfn);
	if (!copy->has_sites)
		return 0;
	/* The drop may be incomplete. Next time the copy is still aliased and has sites. */
	av_copy_drop(vm, slot, copy->gfn);
	return -EAGAIN;
}

int av_copy_get(struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn, u64 va,
		struct page *from, u64 *pa)
{
	struct av_vm *vm = vcpu->vm;
	struct av_copy *copy;
	int ret;

	if (av_copied(slot, gfn)) {
		copy = find(vm, gfn);
		*pa = virt_to_phys(copy->code);
		return likely(copy->va == va) ? 0 : alias(vm, slot, copy);
	}
	if (vm->mmu->nr_copies >= limit(vm)) {
		av_copies_shrink(vm);
		return -EAGAIN;
	}
	ret = protect(vm, gfn);
	if (ret)
		return ret;
	copy = vcpu->mmu->spare_copy;
	vcpu->mmu->spare_copy = NULL;
	copy->gfn = gfn;
	copy->va = va;
	copy->from = page_address(from);
	set_page_private(virt_to_page(copy->code), (unsigned long)copy);
	copy->nr = ++vm->mmu->copies_made;
	av_patch_copy(copy->code, page_address(from), PAGE_SIZE / AV_INSN_SIZE);
	copy->has_sites = av_patch_sites_patch(vm, gfn, va, copy->code);
	av_sync_icache_aliases((unsigned long)copy->code, PAGE_SIZE);
	hash_add(vm->mmu->copies, &copy->hash, gfn);
	list_add_tail(&copy->node, &vm->mmu->copies_by_age);
	vm->mmu->nr_copies++;
	av_shrink_count(1);
	set_copied(slot, gfn, true);
	av_vm_stat_add(&vm->stats, AV_VM_CODE_COPIES, 1);
	av_vm_stat_add(&vm->stats, AV_VM_CODE_COPIES_MADE, 1);
	*pa = virt_to_phys(copy->code);
	return 0;
}

/* The VMM may have written to any page. Copies that other vCPUs make meanwhile are up to date. */
void av_mmu_forget_copies(struct av_vm *vm)
{
	int idx = srcu_read_lock(&vm->srcu);
	struct av_copy *copy;
	u64 last;
	bool more;

	spin_lock(&vm->mmu_lock);
	last = vm->mmu->copies_made;
	spin_unlock(&vm->mmu_lock);
	/* Release the lock after each copy: one that is mapped very often is work enough. */
	do {
		spin_lock(&vm->mmu_lock);
		av_copies_shrink(vm);
		copy = oldest(vm);
		more = copy && copy->nr <= last;
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	} while (more);
	srcu_read_unlock(&vm->srcu, idx);
}
