// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow tables' connection to the host: memory for tables, TLB flushes, the reverse map,
 * and the guest's memory.
 */
#include <linux/uaccess.h>

#include "mmu/guest/switcher_tables.h"
#include "mmu/host_ops.h"
#include "mmu/memory/memory.h"
#include "switch/tlb.h"

static void used(void *ctx, int pages, int trees)
{
	struct av_vm *vm = ctx;

	if (pages) {
		av_vm_stat_add(&vm->stats, AV_VM_SHADOW_PAGES, pages);
		av_shrink_count(pages);
	}
	if (trees)
		av_vm_stat_add(&vm->stats, AV_VM_SHADOW_TREES, trees);
}

static void give_pt(void *ctx, struct av_pt *pt, struct av_memcache *pool)
{
	used(ctx, pt->desc ? -AV_PT_PAGES - 1 : -AV_PT_PAGES, 0);
	av_memcache_give_pt(pool, pt);
}

static void give_tree(void *ctx, struct av_tree *tree, struct av_memcache *pool)
{
	used(ctx, 0, -1);
	av_memcache_give_tree(pool, tree);
}

static void publish(void *ctx)
{
	av_mmu_publish();
}

/*
 * Finding each page or tree of a flush means checking every context of the VM. If that is too much,
 * flush the few trees that have the pages as a whole instead, in one pass.
 */
#define FEW_LOOKS	4096

/* The trees that a flush names, each once. Returns 0 if there are more than AV_FLUSH_TREES. */
static unsigned int trees_of(const struct av_flush *f, u64 *tree)
{
	unsigned int i, j, n = f->nr_trees;

	memcpy(tree, f->tree, sizeof(f->tree));
	for (i = 0; i < f->nr_pages; i++) {
		for (j = 0; j < n && tree[j] != f->page[i].serial; j++)
			;
		if (j < n)
			continue;
		if (n == AV_FLUSH_TREES)
			return 0;
		tree[n++] = f->page[i].serial;
	}
	return n;
}

static noinline unsigned int flush_in_one_pass(struct av_vm *vm, const struct av_flush *f)
{
	u64 tree[AV_FLUSH_TREES];
	unsigned int n = trees_of(f, tree);

	return n ? av_tlb_flush_trees(vm, tree, n) : av_tlb_flush_vm(vm);
}

static unsigned int flush(void *ctx, const struct av_flush *f)
{
	struct av_vm *vm = ctx;
	unsigned int contexts = av_tlb_nr_contexts(vm), i, n = 0;

	av_vm_stat_add_locked(&vm->stats, AV_VM_REMOTE_TLB_FLUSH_REQUESTS, 1);
	av_tlb_flush_begin();
	if (f->all) {
		n += av_tlb_flush_vm(vm);
	} else if ((f->nr_trees + f->nr_pages) * contexts > FEW_LOOKS) {
		n += flush_in_one_pass(vm, f);
	} else {
		for (i = 0; i < f->nr_trees; i++)
			n += av_tlb_flush_trees(vm, &f->tree[i], 1);
		for (i = 0; i < f->nr_pages; i++)
			n += av_tlb_flush_page(vm, f->page[i].serial, f->page[i].va);
	}
	if (!n)
		return 0;
	av_tlb_flush_end();
	av_vm_stat_add_locked(&vm->stats, AV_VM_REMOTE_TLB_FLUSH, 1);
	return n;
}

/* Neighbours are mostly in the same slot, and with very many slots the search tree is high. */
static struct av_slot *slot_of(struct av_vm *vm, u32 gfn)
{
	struct av_slot *slot = vm->mmu->last_slot;

	lockdep_assert_held(&vm->mmu_lock);
	if (slot && gfn - slot->base_gfn < slot->npages)
		return slot;
	slot = av_vm_slot(vm, gfn);
	vm->mmu->last_slot = slot;
	return slot;
}

/* For a frame in another part than the last. */
static u32 *find_head(struct av_vm *vm, u32 gfn)
{
	struct av_slot *slot = slot_of(vm, gfn);

	if (!slot)
		return NULL;
	av_gfn_info_find_part(&slot->frames, slot->base_gfn, gfn, &vm->mmu->shadow.last_part);
	return av_gfn_info_part_head(&vm->mmu->shadow.last_part, gfn);
}

static u32 *rmap_head(void *ctx, u32 gfn, int level)
{
	struct av_vm *vm = ctx;
	struct av_slot *slot;

	if (level == 3)
		return find_head(vm, gfn);
	slot = slot_of(vm, gfn);
	return slot ? av_slot_block_head(slot, gfn) : NULL;
}

static void relinked(void *ctx, unsigned int entries)
{
	struct av_vm *vm = ctx;

	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_RELINKED, 1);
	av_vm_stat_add(&vm->stats, AV_VM_SHADOW_AGREED, entries);
}

static void tables_gone(void *ctx)
{
	av_sw_tables_hide_all(ctx);
}

/* In a vCPU's own thread, for a fault. Does not wait for words that cannot be read at once. */
static const u64 *look(void *ctx, u64 ipa, u64 *copy, unsigned int n)
{
	const struct av_slot *slot = slot_of(ctx, ipa >> PAGE_SHIFT);
	const u64 *words;

	if (!slot)
		return NULL;
	pagefault_disable();
	words = av_mem_look(av_mem_words(slot, ipa), ipa & ~PAGE_MASK, copy, n);
	pagefault_enable();
	return words;
}

const struct av_shadow_ops av_host_ops = {
	.free_pt = give_pt,
	.free_tree = give_tree,
	.used = used,
	.tables_gone = tables_gone,
	.relinked = relinked,
	.look = look,
	.publish = publish,
	.flush = flush,
	.rmap = rmap_head,
};
