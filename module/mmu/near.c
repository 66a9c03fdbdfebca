// SPDX-License-Identifier: GPL-2.0
/*
 * An abort in the 2 MiB of the one before, where the guest has 4 KiB pages: all that
 * light.c looks for is known already. The rules are light.c's. What is not just that is
 * left to it.
 *
 * A hidden fault is filled under one hold of mmu_lock, in which the guest's descriptor
 * is read once more: an invalidation of it that came before has been carried out, and
 * one that comes after finds the entry. That the table is the guest's still is what
 * seq_tables says.
 */
#include <linux/uaccess.h>

#include "mmu/annex.h"
#include "mmu/copies.h"
#include "mmu/hidden.h"
#include "stats/stats.h"

struct abort {
	struct av_vcpu *vcpu;
	struct av_near *near;
	struct av_tree *tree;
	struct av_seq seq;
	u64 far;
	u64 desc;
};

void av_near_note(struct av_vcpu *vcpu, bool high, const struct av_slot *tables, u64 seq)
{
	struct av_near *near = &vcpu->mmu->near[high];

	near->words = av_mem_page(tables, near->at.ipa);
	near->seq = seq;
	near->slot = NULL;
	near->pt = NULL;
}

/* Is the table that of the address, and still the guest's? Before av_mmu_read_seq(). */
static bool begin(struct abort *a)
{
	const struct av_vm_mmu *mmu = a->vcpu->vm->mmu;
	const struct av_near *near = a->near;

	return near->words.hva && !((a->far ^ near->at.va) & ~AV_TABLE_SPAN) &&
	       near->serial == a->tree->serial &&
	       near->seq_tables == READ_ONCE(mmu->shadow.seq_tables) &&
	       near->seq == READ_ONCE(mmu->seq);
}

static bool load(const struct abort *a, u64 *desc)
{
	unsigned int offset = av_walk_desc_ipa(&a->near->at, a->far) & ~PAGE_MASK;
	bool loaded;

	pagefault_disable();
	loaded = !av_mem_load_word_now(a->near->words, offset, desc);
	pagefault_enable();
	return loaded;
}

/* Under mmu_lock: the slot of a frame. That of the page before is there as long as seq is. */
static struct av_slot *slot_of(const struct abort *a, u64 gfn)
{
	struct av_slot *slot = a->near->slot;

	if (unlikely(!slot || gfn - slot->base_gfn >= slot->npages))
		a->near->slot = slot = av_vm_slot(a->vcpu->vm, gfn);
	return slot;
}

/* Under mmu_lock: the shadow's table for the address, or NULL. */
static struct av_pt *table_of(const struct abort *a)
{
	const struct av_shadow *sh = &a->vcpu->vm->mmu->shadow;
	struct av_near *near = a->near;

	if (!near->pt || near->unlinks != sh->unlinks) {
		near->pt = av_shadow_table(a->tree, near->at.va);
		near->unlinks = sh->unlinks;
	}
	return near->pt;
}

/* The tree's rights for the page, as av_resolve() has them; 0 for what is not filled here. */
static u8 rights_of(const struct abort *a, const struct av_resolved *r)
{
	u8 rights = av_tree_rights(a->tree, &r->walk);

	if (a->tree->key.mode == AV_MODE_EL1_COPIES) {
		if (r->access & AV_X || (r->walk.va ^ a->vcpu->srf->pc) < PAGE_SIZE)
			return 0;
		rights &= ~AV_X;
	}
	return av_slot_rights(r->slot, rights, r->access & AV_W);
}

/* What av_shadow_fill() would say of the page, where the table is there: nothing to do? */
static bool fits(const struct abort *a, const struct av_walk *walk, const struct av_pt *pt)
{
	return walk->span == PAGE_SHIFT && !pt->pte[av_pt_index(walk->va, 3)] &&
	       (walk->global ? a->tree->has_global : a->tree->key.asid != AV_ASID_ANY);
}

/* Under mmu_lock: fill the entry with the page that is known, if it is. */
static bool install(struct abort *a, struct av_resolved *r, struct av_pt *pt)
{
	struct av_shadow *sh = &a->vcpu->vm->mmu->shadow;
	u64 gfn = r->walk.ipa >> PAGE_SHIFT, frame;
	struct av_piece *piece;
	unsigned int n;
	u8 rights;

	r->slot = slot_of(a, gfn);
	if (!r->slot || r->slot->dying)
		return false;
	frame = array_index_nospec(gfn - r->slot->base_gfn, r->slot->npages);
	piece = av_frames_piece(&r->slot->frames, frame);
	if (!piece)
		return false;
	n = frame % AV_PIECE_FRAMES;
	r->rights = rights_of(a, r);
	rights = av_frame_rights(piece, n, r->rights);
	/* A page that is logged may make the vCPU leave. */
	if (r->access & ~rights || (rights & AV_W && av_slot_logged(r->slot)))
		return false;
	av_shadow_add(sh, pt, av_pt_index(r->walk.va, 3), gfn, &piece->head[n],
		      av_leaf_desc(sh, 3, rights) | (piece->page[n] & AV_FRAME_PAGE));
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

/* Fill the neighbours along, as light.c does. */
static void fill_around(struct abort *a, struct av_resolved *r)
{
	struct av_hidden f = {
		.vcpu = a->vcpu,
		.seq = a->seq,
		.r = r,
		.at = a->vcpu->mmu->candidates,
	};

	r->tree = a->tree;
	r->copy = false;
	av_light_around(&f);
}

static bool fill_locked(struct abort *a, struct av_resolved *r)
{
	struct av_vm_mmu *mmu = a->vcpu->vm->mmu;
	struct av_pt *pt = table_of(a);
	bool alone;
	u64 desc;

	if (!pt || mmu->in_progress || !fits(a, &r->walk, pt) || !begin(a) || !load(a, &desc) ||
	    desc != a->desc)
		return false;
	alone = av_pt_group(pt, av_around(r->walk.va), AV_AROUND) ||
		av_light_remapped(a->tree, r->walk.va & PAGE_MASK);
	if (!install(a, r, pt))
		return false;
	av_stat_inc(&a->vcpu->stats, AV_EVENT_SHADOW_FILL);
	if (!alone)
		fill_around(a, r);
	av_shadow_publish(&mmu->shadow);
	return true;
}

static bool fill(struct abort *a, struct av_resolved *r)
{
	bool filled;

	if (!av_light_lock(a->vcpu))
		return false;
	filled = fill_locked(a, r);
	av_mmu_unlock(a->vcpu);
	return filled;
}

bool av_near_abort(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		   struct av_answer *answer)
{
	bool high = far & BIT_ULL(55);
	struct abort a = {
		.vcpu = vcpu,
		.near = &vcpu->mmu->near[high],
		.tree = vcpu->mmu->tree[high],
		.far = far,
	};
	struct av_resolved *r = &vcpu->mmu->resolved;
	int ret;

	if (!begin(&a) || !av_resolve_begin(esr, far, r, answer) || av_annex_holds(vcpu->vm, far))
		return false;
	a.seq = av_mmu_read_seq(vcpu, high);
	if (!load(&a, &a.desc))
		return false;
	ret = av_walk_page(&vcpu->mmu->regime, &a.near->at, far, a.desc, &r->walk) ?:
	      av_walk_permits(&r->walk, vcpu->mmu->el, r->access);
	if (!ret)
		return fill(&a, r);
	if (!may_inject || !av_light_current(vcpu, high, a.seq))
		return false;
	av_resolve_guests(esr, AV_FAULT_FSC(ret), answer);
	return true;
}
