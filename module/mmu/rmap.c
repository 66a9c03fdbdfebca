// SPDX-License-Identifier: GPL-2.0
/*
 * The reverse map: from a guest frame to the shadow entries that map it.
 *
 * An entry's name is its table's id and its index, in 31 bits. A frame's head
 * holds the first name, each entry the next and the previous one, so that an
 * entry is removed without a search however many map the same frame. A block
 * hangs on its first frame, beside entries that map that frame alone.
 */
#include "mmu/shadow.h"

static u32 name_of(const struct av_pt *pt, u32 idx)
{
	return pt->id * AV_ENTRIES + idx;
}

static struct av_pt *pt_of(struct av_shadow *sh, u32 name)
{
	return sh->by_id[name / AV_ENTRIES];
}

static union av_aux *aux_of(struct av_shadow *sh, u32 name)
{
	return &pt_of(sh, name)->aux[name % AV_ENTRIES];
}

static void set_head(struct av_shadow *sh, u32 gfn, u32 name)
{
	u32 *head = sh->ops->rmap(sh->ctx, gfn);

	if (head)
		*head = (*head & AV_RMAP_FLAG) | name;
}

void av_rmap_add(struct av_shadow *sh, u32 gfn, struct av_pt *pt, u32 idx)
{
	u32 *head = sh->ops->rmap(sh->ctx, gfn);
	u32 first = head ? *head & AV_RMAP_ENTRY : 0;

	pt->aux[idx].next = first;
	pt->aux[idx].prev = AV_RMAP_FLAG | gfn;
	if (first)
		aux_of(sh, first)->prev = name_of(pt, idx);
	set_head(sh, gfn, name_of(pt, idx));
}

void av_rmap_del(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	union av_aux *aux = &pt->aux[idx];

	if (aux->next)
		aux_of(sh, aux->next)->prev = aux->prev;
	if (aux->prev & AV_RMAP_FLAG)
		set_head(sh, aux->prev & ~AV_RMAP_FLAG, aux->next);
	else
		aux_of(sh, aux->prev)->next = aux->next;
	aux->next = 0;
	aux->prev = 0;
}

typedef bool entry_fn(struct av_pt *pt, u32 idx, struct av_gather *g);

/*
 * How many entries of a frame tell its age: a guest may have made millions of
 * them, and whoever asks holds locks of the host's.
 */
#define AGE_ENTRIES	64

/* Call fn on the entries that hang on gfn, most of them at most: all, or only blocks. */
static bool visit_frame(struct av_shadow *sh, u32 gfn, bool blocks_only, u32 most, entry_fn *fn,
			struct av_gather *g)
{
	u32 *head = sh->ops->rmap(sh->ctx, gfn);
	u32 name = head ? *head & AV_RMAP_ENTRY : 0;
	bool any = false;

	while (name && most--) {
		struct av_pt *pt = pt_of(sh, name);
		u32 idx = name % AV_ENTRIES;

		name = pt->aux[idx].next;	/* fn may take the entry away */
		if (!blocks_only || pt->level < 3)
			any |= fn(pt, idx, g);
	}
	return any;
}

/* The entries that map gfn: its own, and blocks that begin before it. */
static bool visit_mappings(struct av_shadow *sh, u32 gfn, u32 most, entry_fn *fn,
			   struct av_gather *g)
{
	u32 first = ALIGN_DOWN(gfn, AV_BLOCK_PAGES);
	bool any = visit_frame(sh, gfn, false, most, fn, g);

	if (first != gfn)
		any |= visit_frame(sh, first, true, most, fn, g);
	return any;
}

static bool zap_entry(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	av_shadow_clear(pt, idx, g);
	return true;
}

void av_shadow_zap_gfns(struct av_shadow *sh, u32 gfn, u32 end, struct av_gather *g)
{
	if (gfn >= end)
		return;
	visit_mappings(sh, gfn, ~0U, zap_entry, g);
	for (gfn++; gfn < end; gfn++)
		visit_frame(sh, gfn, false, ~0U, zap_entry, g);
}

static bool wrprotect_entry(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	u64 pte = pt->pte[idx];

	if (pt->level < 3) {
		/* The log counts pages: the block comes back as pages. */
		av_shadow_clear(pt, idx, g);
		return true;
	}
	if (pte & AV_PTE_RDONLY)
		return false;
	WRITE_ONCE(pt->pte[idx], (pte & ~AV_PTE_DBM) | AV_PTE_RDONLY);
	av_gather_entry(g, pt, idx);
	return true;
}

void av_shadow_wrprotect_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g)
{
	visit_mappings(sh, gfn, ~0U, wrprotect_entry, g);
}

static bool is_young(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	return pt->pte[idx] & AV_PTE_AF;
}

static bool make_old(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	if (!is_young(pt, idx, g))
		return false;
	WRITE_ONCE(pt->pte[idx], pt->pte[idx] & ~AV_PTE_AF);
	av_gather_entry(g, pt, idx);
	return true;
}

bool av_shadow_age_gfn(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g)
{
	return visit_mappings(sh, gfn, AGE_ENTRIES, clear ? make_old : is_young, g);
}
