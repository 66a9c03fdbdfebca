// SPDX-License-Identifier: GPL-2.0
/* The guest's level-3 tables that a vCPU remembers: rules in walk_cache.h. */
#include <linux/uaccess.h>

#include "mmu/guest/walk_cache.h"
#include "mmu/walk/walk_down.h"

/* near->at is the table, and words its page. */
static __always_inline void note_table(struct av_walk_cache *near, const struct av_tree *tree,
				       struct av_mem_page words)
{
	near->rights = av_plan_table(tree, &near->at);
	near->words = words;
}

/* Remember the table that a walk used, or that there is a block. */
static void remember(const struct av_vcpu *vcpu, struct av_walk_cache *near,
		     const struct av_tree *tree, const struct av_slot *slot,
		     const struct av_walk *walk, int ret)
{
	near->words.hva = 0;
	near->at.va = walk->va & ~AV_TABLE_SPAN;
	/* The reader's last word was in the table, so that slot is the table's. */
	if (ret >= 0 && av_walk_keep(&vcpu->mmu->regime, walk, &near->at) && slot)
		note_table(near, tree, av_mem_words(slot, near->at.ipa));
	else if (ret)
		near->serial = 0;
}

/* The kernel's address of a frame of the guest's tables; 0: its page is not known. */
static __always_inline unsigned long page_of(struct av_mem_reader *reader, u64 gfn)
{
	u64 page;

	/* Usually in the same slot as the frame before. */
	if (unlikely(!reader->slot || gfn - reader->slot->base_gfn >= reader->slot->npages)) {
		reader->slot = av_slot_find(reader->slots, gfn);
		if (!reader->slot)
			return 0;
	}
	page = av_pfn_cache_page(reader->slot, gfn) & AV_FRAME_PAGE;
	return likely(page) ? (unsigned long)phys_to_virt(page) : 0;
}

static __always_inline struct av_walk_word load_known(void *reader, u64 ipa)
{
	unsigned long page = page_of(reader, ipa >> PAGE_SHIFT);

	if (unlikely(!page))
		return (struct av_walk_word) {};
	return (struct av_walk_word) { READ_ONCE(*(const u64 *)(page + (ipa & ~PAGE_MASK))), true };
}

/* The same for walks that av_walk_down() gives up on. */
static noinline int find_long(struct av_vcpu *vcpu, struct av_walk_cache *near,
			      const struct av_tree *tree, u64 va)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };
	struct av_walk walk;
	int ret;

	near->serial = tree->serial;
	pagefault_disable();
	ret = av_walk(&vcpu->mmu->regime, &av_mem_reader_now_ops, &reader, va, &walk);
	remember(vcpu, near, tree, reader.slot, &walk, ret);
	pagefault_enable();
	return near->words.hva ? 0 : AV_WALK_LONG;
}

/* The same by known pages only. */
static __always_inline int find_known(struct av_vcpu *vcpu, struct av_walk_cache *near,
				      const struct av_tree *tree, u64 va)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };
	int ret = av_walk_down(&vcpu->mmu->regime, va, load_known, &reader, &near->at);
	unsigned long page;

	if (unlikely(ret)) {
		near->serial = 0;
		return ret;
	}
	page = page_of(&reader, near->at.ipa >> PAGE_SHIFT);
	if (unlikely(!page))
		return AV_WALK_LONG;
	note_table(near, tree, (struct av_mem_page) { page });
	return 0;
}

noinline int av_walk_cache_refill(struct av_vcpu *vcpu, struct av_walk_cache *near,
				  const struct av_tree *tree, u64 va)
{
	struct av_vm_mmu *mmu = vcpu->vm->mmu;
	int ret;

	near->serial = tree->serial;
	near->seq_tables = av_tree_seq_tables(&mmu->shadow, tree);
	near->seq = mmu->seq;
	near->part.nr = 0;
	near->pt = NULL;
	vcpu->mmu->last_true = NULL;
	ret = find_known(vcpu, near, tree, va);
	if (likely(ret >= 0))
		return ret;
	vcpu->mmu->learn = true;
	return find_long(vcpu, near, tree, va);
}

enum av_found_table av_walk_cache_find(const struct av_resync *how, u64 va, struct av_fill *f)
{
	struct av_vcpu *vcpu = how->arg;
	struct av_walk_cache *near = av_walk_cache_of(vcpu->mmu, how->tree, va);
	int ret = vcpu->vm->mmu->in_progress ? AV_WALK_LONG :
					       av_walk_cache_refill(vcpu, near, how->tree, va);

	if (ret)
		return ret > 0 ? AV_TABLE_NONE : AV_TABLE_LATER;
	f->table = near->at.ipa;
	f->desc = AV_PTE_VALID | FIELD_PREP(AV_KEY_LIMITS, near->at.limits);
	return AV_TABLE_FOUND;
}
