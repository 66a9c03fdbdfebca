// SPDX-License-Identifier: GPL-2.0
/*
 * Fault-around: a hidden fault costs an exit, a walk and a look at the host's tables, and its
 * neighbours cost little more at the same time. Only neighbours that are ready are filled: the
 * guest has valid descriptors, the host has the pages present, and the shadow has no entries.
 */
#include <linux/mm.h>

#include "mmu/code/copies.h"
#include "mmu/fault/fill.h"

struct around {
	struct av_hidden *f;
	u64 first;		/* address of the group */
	u64 desc[AV_AROUND];
	bool have_desc;
};

/*
 * Read the group's descriptors, if there are any: not if one guest leaf covers the group, or
 * the MMU is off.
 */
static bool read_descs(struct around *a)
{
	const struct av_walk *walk = &a->f->r->walk;
	u64 ipa = walk->desc_ipa & ~(sizeof(a->desc) - 1);
	struct av_slot *slot;

	/* With the MMU off, a walk has level 0. */
	if (walk->level < 3)
		return true;
	/* With larger granules, a descriptor is not for one 4 KiB page. */
	if (av_regime_granule(&a->f->vcpu->mmu->regime, walk->high) != 12)
		return false;
	slot = av_vm_slot(a->f->vcpu->vm, ipa >> PAGE_SHIFT);
	if (!slot)
		return false;
	a->have_desc = true;
	return !av_mem_load_words(slot, ipa, a->desc, AV_AROUND);
}

/* A bit per page of the group that may be mapped: valid descriptor, or not read. */
static unsigned long valid_descs(const struct around *a)
{
	unsigned long bits = 0;
	unsigned int i;

	if (!a->have_desc)
		return GENMASK(AV_AROUND - 1, 0);
	for (i = AV_AROUND; i--;)
		bits = bits << 1 | (a->desc[i] & 1);
	return bits;
}

/* Get the guest's leaf for the i'th page. False: do not fill it. */
static bool neighbour(const struct around *a, unsigned int i, struct av_walk *walk)
{
	const struct av_hidden *f = a->f;
	u64 va = a->first + i * PAGE_SIZE;

	if (a->have_desc)
		return !av_walk_sibling(&f->vcpu->mmu->regime, &f->r->walk, va, a->desc[i], walk);
	*walk = f->r->walk;
	walk->va = va;
	walk->ipa = f->r->walk.ipa + (va - f->r->walk.va);
	return true;
}

static void want(struct av_hidden *f, const struct av_walk *walk)
{
	u8 rights = av_neighbour_rights(f->r, walk, READ_ONCE(f->vcpu->vm->mmu->annex.at.va));
	struct av_candidate *c = &f->at[f->nr];

	if (!rights || (f->r->copy && !av_copied(f->r->slot, walk->ipa >> PAGE_SHIFT)))
		return;

	c->va = walk->va;
	c->gfn = walk->ipa >> PAGE_SHIFT;
	c->desc = av_hidden_desc(f, walk);
	c->rights = rights;
	c->span = walk->span;
	c->global = walk->global;
	/* Usually the page before is in the same piece. */
	if (av_mem_same_piece(f->r->slot, c->gfn, c[-1].gfn) ||
	    !av_mem_prepare(f->r->slot, c->gfn))
		f->nr++;
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

void av_fault_around(struct av_hidden *f)
{
	struct around a = {
		.f = f,
		.first = av_around(f->r->walk.va),
	};
	unsigned long wanted;
	struct av_walk walk;
	unsigned int i;
	u32 present;

	av_mmu_lock(f->vcpu);
	present = av_shadow_present(f->r->tree, a.first, AV_AROUND);
	av_mmu_unlock(f->vcpu);
	if (present == GENMASK(AV_AROUND - 1, 0) || !read_descs(&a))
		return;
	/* Often none is wanted: some guest pages are mapped and unmapped alone (fixmap). */
	wanted = ~present & valid_descs(&a) & ~BIT((f->r->walk.va - a.first) / PAGE_SIZE);
	if (!wanted)
		return;
	for_each_set_bit(i, &wanted, AV_AROUND)
		if (neighbour(&a, i, &walk))
			want(f, &walk);
	get_pages(f);
	if (f->r->copy)
		return;
	for (i = 1; i < f->nr; i++)
		if (f->at[i].rights & AV_X)
			av_mem_clean_for_execution(f->r->slot, f->at[i].gfn, f->at[i].page);
}
