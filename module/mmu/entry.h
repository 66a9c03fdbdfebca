/* SPDX-License-Identifier: GPL-2.0 */
/* Entries of shadow tables: on the reverse map and off it, and into a table in few instructions. Pure. */
#ifndef AV_MMU_ENTRY_H
#define AV_MMU_ENTRY_H

#include "mmu/shadow.h"

/* Put an entry on the reverse map of gfn, whose head this is; or NULL. */
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

/* The head of a frame's reverse map, or of a block's. */
static inline u32 *av_rmap_head(struct av_shadow *sh, u32 gfn, int level)
{
	u32 *head = level == 3 ? av_frames_part_head(&sh->last_part, gfn) : NULL;

	return head ?: sh->ops->rmap(sh->ctx, gfn, level);
}

/* Take an entry off. */
static inline void av_rmap_del(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	union av_aux *aux = &pt->aux[idx];
	u32 next = aux->next, prev = aux->prev;

	/* Both at once. */
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

/* Take a leaf away; the flush is the caller's. */
static __always_inline void av_shadow_take(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], 0);
	av_pt_note_used(pt, idx, false);
	av_rmap_del(sh, pt, idx);
	pt->live--;
}

/* An entry was changed, and is to be flushed. One address is enough for a block. */
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

/* What an entry was filled from, av_fill.desc: of use where the table has room for it. */
static inline void av_pt_note_desc(struct av_pt *pt, u32 idx, u64 desc)
{
	if (pt->desc)
		pt->desc[idx] = desc;
}

/* A tree is about to get an entry: it may have any page now. */
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
 * Another entry for a table that has been filled, of a page that has none there, with
 * gspan and global as those before. The caller publishes, and counts the entry (av_pt_count()).
 */
static inline void av_shadow_put(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 gfn,
				 u32 *head, u64 pte, u64 desc)
{
	av_rmap_add(sh, pt, idx, gfn, head);
	av_pt_note_desc(pt, idx, desc);
	WRITE_ONCE(pt->pte[idx], pte);
}

/* n entries that were put into a table: a bit for each, from idx on, in one word of used. */
static inline void av_pt_count(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 added,
			       unsigned int n)
{
	av_tree_fills(sh, pt->tree);
	pt->used[idx / 64] |= (u64)added << idx % 64;
	pt->live += n;
}

/* The same for one entry. */
static inline void av_shadow_add(struct av_shadow *sh, struct av_pt *pt, u32 idx, u32 gfn,
				 u32 *head, u64 pte, u64 desc)
{
	av_tree_fills(sh, pt->tree);
	pt->live++;
	av_pt_note_used(pt, idx, true);
	av_shadow_put(sh, pt, idx, gfn, head, pte, desc);
}

#endif /* AV_MMU_ENTRY_H */
