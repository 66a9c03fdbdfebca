/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk cache: a vCPU remembers the last few level-3 tables of the guest that it walked
 * through, with all that an abort in their 2 MiB needs (struct av_walk_cache).
 *
 * Under mmu_lock. An entry is valid as long as its sequence numbers are current and the host is not
 * taking memory back. The lookup is inline: most aborts are handled without a call.
 */
#ifndef AV_MMU_WALK_CACHE_H
#define AV_MMU_WALK_CACHE_H

#include "mmu/memory/memory.h"
#include "mmu/shadow/resync.h"

/* Is near the table for va, and still the guest's? The host may have taken back its page. */
static __always_inline bool av_walk_cache_current(const struct av_vm_mmu *mmu,
						  const struct av_walk_cache *near,
						  const struct av_tree *tree, u64 va)
{
	return !((va ^ near->at.va) & ~AV_TABLE_SPAN) && near->serial == tree->serial &&
	       near->seq_tables == av_tree_seq_tables(&mmu->shadow, tree);
}

/* Not 0: the host has taken memory back since, or is about to. */
static __always_inline u64 av_walk_cache_taken_back(const struct av_vm_mmu *mmu,
						    const struct av_walk_cache *near)
{
	return (near->seq ^ mmu->seq) | mmu->in_progress;
}

/* The entry of the walk cache for va's table. */
static __always_inline struct av_walk_cache *av_walk_cache_of(struct av_vcpu_mmu *mmu,
							      const struct av_tree *tree, u64 va)
{
	return &mmu->near[(va >> AV_BLOCK_SHIFT ^ tree->serial) % AV_WALK_CACHES];
}

/*
 * Walk the guest's tables to the one for va. 0; AV_FAULT_CODE(): there is none; AV_WALK_LONG: it
 * cannot be found without waiting.
 */
int av_walk_cache_refill(struct av_vcpu *vcpu, struct av_walk_cache *near,
			 const struct av_tree *tree, u64 va);

/*
 * Read the descriptor for va, from the remembered table or after a walk. If there is no table,
 * *fault is the walk's AV_FAULT_CODE().
 */
static __always_inline struct av_mem_word
av_walk_cache_descriptor(struct av_vcpu *vcpu, struct av_walk_cache *near,
			 const struct av_tree *tree, u64 va, int *fault)
{
	const struct av_vm_mmu *mmu = vcpu->vm->mmu;
	u64 gone = av_walk_cache_taken_back(mmu, near);
	/* A CPU that speculates must not read the page either: it may belong to anybody by now. */
	unsigned long mask = array_index_mask_nospec(gone, 1);
	struct av_mem_page words;

	*fault = 0;
	if (unlikely(gone || !av_walk_cache_current(mmu, near, tree, va))) {
		if (mmu->in_progress)
			return (struct av_mem_word) {};
		*fault = av_walk_cache_refill(vcpu, near, tree, va);
		if (unlikely(*fault))
			return (struct av_mem_word) { 0, *fault > 0 };
		mask = ~0UL;
	}
	words.hva = near->words.hva & mask;
	if (unlikely(!words.hva))
		return (struct av_mem_word) {};
	return av_mem_load_word(words, av_walk_desc_ipa(&near->at, va) & ~PAGE_MASK);
}

/* av_resync.find() by the regime of the vCPU in arg, which remembers the table for faults. */
enum av_found_table av_walk_cache_find(const struct av_resync *how, u64 va, struct av_fill *f);

/* resync_loaded.c: may tables be compared at once (resync.h)? */
bool av_resync_at_once(void);
/* Under mmu_lock: compare and link tables that a process's new tree has inherited. */
void av_resync_inherited(struct av_vcpu *vcpu, struct av_tree *tree);

#endif /* AV_MMU_WALK_CACHE_H */
