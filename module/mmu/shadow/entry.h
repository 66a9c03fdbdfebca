/* SPDX-License-Identifier: GPL-2.0 */
/* Shadow entries: the reverse map, and adding or removing entries in few instructions. Pure. */
#ifndef AV_MMU_ENTRY_H
#define AV_MMU_ENTRY_H

#include "mmu/shadow/shadow.h"

/* Put an entry on gfn's reverse map; head is the map's head, or NULL. */
static inline void av_rmap_add(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 gfn, u32 *head)
{
	u32 first = head ? *head : 0, name = pt->id * AV_ENTRIES + idx;
	union av_aux *aux = &pt->aux[idx];

	aux->next = first;
	aux->prev = AV_RMAP_FLAG | gfn;
	if (first)
		sh->by_id[first / AV_ENTRIES]->aux[first % AV_ENTRIES].prev = name;
	if (head)
		*head = name;
}

/* The reverse map head of a frame, or of a block. */
static inline u32 *av_rmap_head(struct av_shadow *sh, u32 gfn, int level)
{
	u32 *head = level == 3 ? av_gfn_info_part_head(&sh->last_part, gfn) : NULL;

	return head ?: sh->ops->rmap(sh->ctx, gfn, level);
}

/* Take an entry off its reverse map. */
static inline void av_rmap_del(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	union av_aux *aux = &pt->aux[idx];
	u32 next = aux->next, prev = aux->prev;

	/* Clears next and prev. */
	aux->child = NULL;
	if (next)
		sh->by_id[next / AV_ENTRIES]->aux[next % AV_ENTRIES].prev = prev;
	if (likely(prev & AV_RMAP_FLAG)) {
		u32 *head = av_rmap_head(sh, prev & ~AV_RMAP_FLAG, pt->level);

		if (head)
			*head = next;
	} else {
		sh->by_id[prev / AV_ENTRIES]->aux[prev % AV_ENTRIES].next = next;
	}
}

/* Remove a leaf. The caller flushes. */
static __always_inline void av_shadow_take(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], 0);
	av_pt_note_used(pt, idx, false);
	av_rmap_del(sh, pt, idx);
	pt->live--;
}

/* Have a changed entry flushed. One address is enough for a block. */
static inline void av_gather_entry(struct av_gather *g, const struct av_pt *pt, u32 idx)
{
	struct av_flush *f = &g->flush;

	if (unlikely(f->nr_pages == AV_FLUSH_PAGES)) {
		av_gather_flush_tree(f, pt->tree->serial);
		return;
	}
	f->page[f->nr_pages].serial = pt->tree->serial;
	f->page[f->nr_pages++].va = pt->va + ((u64)idx << av_level_shift(pt->level));
}

/* Record av_fill.desc of an entry, if its table has room. */
static inline void av_pt_note_desc(struct av_pt *pt, u32 idx, u64 desc)
{
	if (pt->desc)
		pt->desc[idx] = desc;
}

/* A tree is about to get an entry: any page may be in it from now on. */
static inline void av_tree_fills(struct av_shadow *sh, struct av_tree *tree)
{
	struct av_swept *swept = &sh->swept[tree->key.high];

	tree->clean = AV_CLEAN_NONE;
	if (unlikely(swept->filled != tree)) {
		swept->several = swept->filled;
		swept->filled = tree;
	}
}

/*
 * Put an entry in a table that has been filled before, for a page that has none, with the same
 * gspan and global as before. The caller publishes, and counts it (av_pt_count()).
 */
static inline void av_shadow_put(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 gfn,
				 u32 *head, u64 pte, u64 desc)
{
	av_rmap_add(sh, pt, idx, gfn, head);
	av_pt_note_desc(pt, idx, desc);
	WRITE_ONCE(pt->pte[idx], pte);
}

/* Count n entries put in a table: a bit each in added, from idx on, in one word of used. */
static inline void av_pt_count(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 added,
			       unsigned int n)
{
	av_tree_fills(sh, pt->tree);
	pt->used[idx / 64] |= (u64)added << idx % 64;
	pt->live += n;
}

/* Put one entry, and count it. */
static inline void av_shadow_add(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 gfn,
				 u32 *head, u64 pte, u64 desc)
{
	av_tree_fills(sh, pt->tree);
	pt->live++;
	av_pt_note_used(pt, idx, true);
	av_shadow_put(sh, pt, idx, gfn, head, pte, desc);
}

#endif /* AV_MMU_ENTRY_H */
