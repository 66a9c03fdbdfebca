// SPDX-License-Identifier: GPL-2.0
/*
 * Fault-around: a hidden fault costs an exit, a walk and a look at the host's tables. To fill the
 * neighbours at the same time costs little more. mmu/abort/plan.h says which neighbours are
 * filled. Those that have an entry are left alone.
 *
 * The fast way has the guest's table at hand, and fills neighbours whose host pages are known. It
 * has held mmu_lock since it found the table to be the guest's. The slow way reads the
 * descriptors, and holds those pages that the host has present.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "mmu/code/copies.h"
#include "mmu/fault/fill.h"
#include "mmu/shadow/entry.h"
#include "mmu/shadow/resync.h"
#include "stats/stats.h"

#define DESC_FRAME(desc)	(((desc) & GENMASK_ULL(47, 12)) >> PAGE_SHIFT)

static __always_inline u32 wanted_of(const struct av_vcpu *vcpu, u64 first, u32 present)
{
	return av_plan_wanted(first, present, READ_ONCE(vcpu->vm->mmu->annex.at.va));
}

/* ---- the fast way ---------------------------------------------------------------- */

struct around {
	struct av_plan plan;
	struct av_shadow *sh;
	struct av_pt *pt;
	struct av_gfn_info_part part;	/* of the last frame */
	u8 last;			/* rights of the last entry, 0: none … */
	u64 pte;			/* … and its descriptor without the address */
};

/* Find the part of another frame. False: not in the slot, or unknown. */
static noinline bool find_part(struct around *a, u64 gfn)
{
	const struct av_slot *slot = a->plan.slot;

	av_gfn_info_find_part(&slot->frames, slot->base_gfn, gfn, &a->part);
	return a->part.nr;
}

/* Put an entry if its host page is known. The caller counts it. */
static __always_inline bool add(struct around *a, unsigned int idx, u64 desc)
{
	u64 gfn = DESC_FRAME(desc);
	struct av_piece *piece;
	unsigned int n;
	u8 rights;

	if (unlikely(gfn - a->part.gfn >= a->part.nr) && !find_part(a, gfn))
		return false;
	n = array_index_nospec(gfn - a->part.gfn, a->part.nr);
	piece = a->part.piece;
	rights = av_frame_rights(piece, n, av_plan_neighbour(&a->plan, desc));
	if (!rights)
		return false;
	if (unlikely(rights != a->last)) {
		a->last = rights;
		a->pte = av_leaf_desc(a->sh, 3, rights);
	}
	av_shadow_put(a->sh, a->pt, idx, gfn, &piece->head[n],
		      a->pte | (piece->page[n] & AV_FRAME_PAGE),
		      av_walk_key(desc, a->plan.table->limits));
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

static unsigned int fill_group(struct av_vcpu *vcpu, struct around *a, u64 first, const u64 *words)
{
	unsigned int idx = av_pt_index(first, 3), n = 0;
	u32 wanted = wanted_of(vcpu, first, av_pt_group(a->pt, first, AV_AROUND)), filled = 0;

	for (; wanted; wanted &= wanted - 1) {
		unsigned int i = __ffs(wanted);
		u64 desc = READ_ONCE(words[i]);

		if ((desc & AV_DESC_PAGE) == AV_DESC_PAGE && add(a, idx + i, desc)) {
			filled |= BIT(i);
			n++;
		}
	}
	av_pt_count(a->sh, a->pt, idx, filled, n);
	return n;
}

void av_fast_around(struct av_vcpu *vcpu, const struct av_walk_cache *near,
		    const struct av_tree *tree, struct av_pt *pt, u64 va, u64 desc)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	struct around a = {
		.plan = {
			.tree = tree, .slot = near->slot, .table = &near->at,
			.rights = near->rights, .desc = desc,
		},
		.sh = sh, .pt = pt, .part = near->part,
	};
	u64 first = av_around(va);
	const u64 *words;
	unsigned int n;

	pagefault_disable();
	words = av_mem_look(near->words, av_walk_desc_ipa(&near->at, first) & ~PAGE_MASK,
			    vcpu->mmu->words, AV_AROUND);
	pagefault_enable();
	if (!words)
		return;
	if (unlikely(pt->asleep))
		av_resync_wake(sh, pt, first, AV_AROUND, words, near->at.limits);
	n = fill_group(vcpu, &a, first, words);
	av_stat_add(&vcpu->stats, AV_EVENT_SHADOW_FILL, n);
}

/* ---- the slow way ---------------------------------------------------------------- */

/* Fields in which a neighbour's leaf differs from the faulting page's. */
struct leaf {
	u64 gfn, desc;
	u8 rights;
};

/* One leaf covers the group, or the MMU is off. */
static struct leaf same_leaf(const struct av_hidden *f, u64 va)
{
	const struct av_classified *r = f->r;

	if (av_plan_other_kind(r->tree, r->walk.el1, r->copy))
		return (struct leaf) {};
	return (struct leaf) {
		.gfn = (r->walk.ipa + (va - r->walk.va)) >> PAGE_SHIFT,
		.rights = r->copy ? AV_X : av_slot_rights(r->slot, r->rights, false),
	};
}

/* desc is a page. */
static struct leaf leaf_of(const struct av_plan *plan, u64 desc)
{
	return (struct leaf) {
		.gfn = DESC_FRAME(desc), .rights = av_plan_neighbour(plan, desc),
		.desc = plan->tree->key.high ? 0 : av_walk_key(desc, plan->table->limits),
	};
}

/* Add a neighbour that may be filled, before its page is looked for. */
static void want(struct av_hidden *f, u64 va, struct leaf leaf)
{
	struct av_slot *slot = f->r->slot;
	struct av_candidate *c = &f->at[f->nr];

	if (!leaf.rights || leaf.gfn - slot->base_gfn >= slot->npages ||
	    (f->r->copy && !av_copied(slot, leaf.gfn)))
		return;
	c->va = va;
	c->gfn = leaf.gfn;
	c->desc = leaf.desc;
	c->rights = leaf.rights;
	/* Usually the page before is in the same piece. */
	if (av_mem_same_piece(slot, c->gfn, c[-1].gfn) || !av_mem_prepare(slot, c->gfn))
		f->nr++;
}

/* Read the group's descriptors. False also with larger granules: a leaf is no 4 KiB page then. */
static bool read_table(struct av_hidden *f, struct av_walk_table *table)
{
	u64 ipa = f->r->walk.desc_ipa & ~(sizeof(f->vcpu->mmu->words) - 1);
	const struct av_slot *slot = av_vm_slot(f->vcpu->vm, ipa >> PAGE_SHIFT);

	return av_walk_keep(&f->vcpu->mmu->regime, &f->r->walk, table) && slot &&
	       !av_mem_load_words(slot, ipa, f->vcpu->mmu->words, AV_AROUND);
}

static void want_all(struct av_hidden *f, u64 first, u32 wanted)
{
	const struct av_classified *r = f->r;
	struct av_walk_table table;
	struct av_plan plan = {
		.tree = r->tree, .slot = r->slot, .table = &table, .desc = r->walk.desc,
		.copy = r->copy,
	};
	bool same = r->walk.level < 3;

	if (!same && !read_table(f, &table))
		return;
	if (!same)
		plan.rights = av_plan_table(r->tree, &table);
	for (; wanted; wanted &= wanted - 1) {
		unsigned int i = __ffs(wanted);
		u64 va = first + i * PAGE_SIZE, desc = f->vcpu->mmu->words[i];

		if (same)
			want(f, va, same_leaf(f, va));
		else if ((desc & AV_DESC_PAGE) == AV_DESC_PAGE)
			want(f, va, leaf_of(&plan, desc));
	}
}

/* Number of candidates from c on with consecutive frames and the same AV_W. */
static unsigned int run_length(const struct av_hidden *f, unsigned int c)
{
	const struct av_candidate *at = f->at;
	unsigned int n = 1;

	while (c + n < f->nr && at[c + n].gfn == at[c].gfn + n &&
	       !((at[c + n].rights ^ at[c].rights) & AV_W))
		n++;
	return n;
}

/* Hold the pages of one run that are present, and return their number. */
static unsigned int get_run(struct av_hidden *f, unsigned int c, unsigned int n)
{
	struct page *pages[AV_AROUND];
	u8 rights = f->at[c].rights;
	unsigned int got, i;

	got = av_mem_hold_present(f->r->slot, f->at[c].gfn, n, &rights, pages);
	for (i = 0; i < got; i++) {
		f->at[c + i].page = pages[i];
		if (!(rights & AV_W))
			f->at[c + i].rights &= ~AV_W;
	}
	return got;
}

/* Hold the neighbours' pages, and remove candidates without a page. */
static void get_pages(struct av_hidden *f)
{
	unsigned int c, n, got, i, kept = 1;

	for (c = 1; c < f->nr; c += n) {
		n = run_length(f, c);
		got = get_run(f, c, n);
		for (i = 0; i < got; i++)
			f->at[kept++] = f->at[c + i];
	}
	f->nr = kept;
}

void av_slow_around(struct av_hidden *f)
{
	u64 va = f->r->walk.va, first = av_around(va);
	u32 present, wanted;
	unsigned int i;

	av_mmu_lock(f->vcpu);
	present = av_shadow_present(f->r->tree, first, AV_AROUND);
	av_mmu_unlock(f->vcpu);
	wanted = wanted_of(f->vcpu, first, present | BIT((va - first) / PAGE_SIZE));
	if (!wanted)
		return;
	want_all(f, first, wanted);
	get_pages(f);
	if (f->r->copy)
		return;
	for (i = 1; i < f->nr; i++)
		if (f->at[i].rights & AV_X)
			av_mem_clean_for_execution(f->r->slot, f->at[i].gfn, f->at[i].page);
}
