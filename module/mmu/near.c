// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts where the guest has 4 KiB pages, by light.c's rules: of the last few tables of the
 * guest's that a vCPU came through it remembers all that an abort in their 2 MiB needs. What
 * is not just that is left to light.c.
 *
 * Order, as in fault.c: read the sequence numbers; find the table, and read the descriptor;
 * install under mmu_lock, if the guest and the host have invalidated nothing since.
 */
#include <linux/uaccess.h>

#include "mmu/annex.h"
#include "mmu/copies.h"
#include "mmu/hidden.h"
#include "stats/stats.h"

/* Is the table that of the address, and still the guest's? */
static bool current_table(const struct av_abort *a)
{
	const struct av_near *near = a->near;

	return !((a->va ^ near->at.va) & ~AV_TABLE_SPAN) && near->serial == a->tree->serial &&
	       near->seq_tables == a->seq.tables && near->seq == a->seq.host;
}

/* Remember the table that a walk came through, or that there is a block. */
static void remember(struct av_abort *a, const struct av_mem_reader *reader,
		     const struct av_walk *walk, int ret)
{
	struct av_near *near = a->near;

	near->words.hva = 0;
	near->at.va = walk->va & ~AV_TABLE_SPAN;
	if (ret >= 0 && av_walk_keep(&a->vcpu->mmu->regime, walk, &near->at) && reader->slot)
		/* The word read last was the table's. */
		near->words = av_mem_page(reader->slot, near->at.ipa);
	else if (ret)
		near->serial = 0;
}

/* Walk the guest's tables to the one that the address is in. */
static bool find_table(struct av_abort *a)
{
	struct av_vcpu *vcpu = a->vcpu;
	struct av_mem_reader reader = {};
	struct av_near *near = a->near;
	struct av_walk walk;
	int idx, ret;

	near->serial = a->tree->serial;
	near->seq_tables = a->seq.tables;
	near->seq = a->seq.host;
	near->slot = NULL;
	near->pt = NULL;
	pagefault_disable();
	idx = srcu_read_lock(&vcpu->vm->srcu);
	reader.slots = av_vm_slots(vcpu->vm);
	ret = av_walk(&vcpu->mmu->regime, &av_mem_reader_now_ops, &reader, a->va, &walk);
	remember(a, &reader, &walk, ret);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	pagefault_enable();
	return near->words.hva;
}

static __always_inline bool load(const struct av_abort *a, u64 *desc)
{
	unsigned int offset = av_walk_desc_ipa(&a->near->at, a->va) & ~PAGE_MASK;
	bool loaded;

	pagefault_disable();
	loaded = !av_mem_load_word_now(a->near->words, offset, desc);
	pagefault_enable();
	return loaded;
}

/* Under mmu_lock: the slot of a frame. That of the page before is there as long as seq is. */
static struct av_slot *slot_of(const struct av_abort *a, u64 gfn)
{
	struct av_slot *slot = a->near->slot;

	if (unlikely(!slot || gfn - slot->base_gfn >= slot->npages))
		a->near->slot = slot = av_vm_slot(a->vcpu->vm, gfn);
	return slot;
}

/* Under mmu_lock: the shadow's table for the address, or NULL. */
static struct av_pt *table_of(const struct av_abort *a)
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
static u8 rights_of(const struct av_abort *a, const struct av_resolved *r)
{
	u8 rights = av_tree_rights(a->tree, &r->walk);

	if (a->tree->key.mode == AV_MODE_EL1_COPIES) {
		if (r->access & AV_X || (r->walk.va ^ a->vcpu->srf->pc) < PAGE_SIZE)
			return 0;
		rights &= ~AV_X;
	}
	return av_slot_rights(r->slot, rights, r->access & AV_W);
}

/* Would av_shadow_fill() do no more than add an entry? */
static bool fits(const struct av_abort *a, const struct av_walk *walk, const struct av_pt *pt)
{
	return pt && (pt->desc || walk->high) && walk->span <= pt->gspan &&
	       !pt->pte[av_pt_index(walk->va, 3)] &&
	       (walk->global ? a->tree->has_global : a->tree->key.asid != AV_ASID_ANY);
}

/* The n'th frame of the piece, with rights that it has. */
static bool add(struct av_abort *a, const struct av_walk *walk, struct av_pt *pt,
		struct av_piece *piece, unsigned int n, u8 rights)
{
	struct av_shadow *sh = &a->vcpu->vm->mmu->shadow;
	u64 gfn = walk->ipa >> PAGE_SHIFT, pa = piece->page[n] & AV_FRAME_PAGE;
	u64 desc = walk->high ? 0 : av_walk_key(walk->desc, walk->limits);
	struct av_fill fill;

	if (fits(a, walk, pt)) {
		av_shadow_add(sh, pt, av_pt_index(walk->va, 3), gfn, &piece->head[n],
			      av_leaf_desc(sh, 3, rights) | pa, desc);
		return true;
	}
	fill = (struct av_fill) {
		.va = walk->va & PAGE_MASK, .pa = pa, .gfn = gfn, .head = &piece->head[n],
		.desc = desc, .table = a->near->at.ipa, .level = 3, .rights = rights,
		.gspan = walk->span, .global = walk->global,
	};
	return !av_shadow_fill(sh, a->tree, &fill, &a->vcpu->mmu->pool);
}

/* Under mmu_lock: fill the entry with the page that is known, if it is. */
static bool install(struct av_abort *a, struct av_resolved *r, struct av_pt *pt)
{
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
	if (r->access & ~rights || (rights & AV_W && av_slot_logged(r->slot)) ||
	    !add(a, &r->walk, pt, piece, n, rights))
		return false;
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

/* Fill the neighbours along, as light.c does. */
static void fill_around(struct av_abort *a, struct av_resolved *r)
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

static bool fill_locked(struct av_vcpu *vcpu, struct av_abort *a, struct av_resolved *r)
{
	struct av_pt *pt = table_of(a);
	bool alone;

	if (vcpu->vm->mmu->in_progress || !av_light_current(vcpu, r->walk.high, a->seq))
		return false;
	alone = (pt && av_pt_group(pt, av_around(a->va), AV_AROUND)) ||
		av_light_remapped(a->tree, a->va & PAGE_MASK);
	if (!install(a, r, pt))
		return false;
	av_stat_inc(&vcpu->stats, AV_EVENT_SHADOW_FILL);
	if (!alone)
		fill_around(a, r);
	av_shadow_publish(&vcpu->vm->mmu->shadow);
	return true;
}

static bool fill(struct av_vcpu *vcpu, struct av_abort *a, struct av_resolved *r)
{
	bool filled;

	if (!av_light_lock(vcpu))
		return false;
	filled = fill_locked(vcpu, a, r);
	av_mmu_unlock(vcpu);
	return filled;
}

bool av_near_abort(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		   struct av_answer *answer)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_resolved *r = &mmu->resolved;
	struct av_abort *a = &mmu->abort;
	bool high = far & BIT_ULL(55);
	u64 desc;
	int ret;

	if (!av_resolve_begin(esr, far, r, answer) || av_annex_holds(vcpu->vm, far))
		return false;
	a->vcpu = vcpu;
	a->tree = mmu->tree[high];
	a->va = av_untag(&mmu->regime, far);
	a->seq = av_mmu_read_seq(vcpu, high);
	a->near = &mmu->near[(a->va >> AV_BLOCK_SHIFT ^ a->tree->serial) % AV_NEARS];
	if (!(current_table(a) ? a->near->words.hva : find_table(a)) || !load(a, &desc))
		return false;
	ret = av_walk_page(&mmu->regime, &a->near->at, a->va, desc, &r->walk);
	ret = av_walk_permits(&r->walk, ret, mmu->el, r->access);
	if (!ret)
		return fill(vcpu, a, r);
	if (!may_inject || !av_light_current(vcpu, high, a->seq))
		return false;
	av_resolve_guests(esr, AV_FAULT_FSC(ret), answer);
	return true;
}
