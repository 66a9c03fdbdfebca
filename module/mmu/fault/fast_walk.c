// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts at light exits by a walk of the guest's tables, by fast.c's rules: where the guest's
 * leaf is a block or has another granule, with the MMU off, or while the host takes memory back.
 * Fills the page alone.
 *
 * The guest's tables are read through the VMM's mapping with page faults disabled.
 */
#include <linux/uaccess.h>

#include "mmu/code/annex.h"
#include "mmu/fault/fill.h"
#include "stats/stats.h"

bool av_fast_install(struct av_vcpu *vcpu, struct av_tree *tree, const struct av_walk *walk,
		     struct av_piece *piece, unsigned int n, u8 rights)
{
	struct av_fill fill = {
		.va = walk->va & PAGE_MASK,
		.pa = piece->page[n] & AV_FRAME_PAGE,
		.desc = av_hidden_desc(tree, walk),
		.table = walk->desc_ipa & PAGE_MASK,
		.gfn = walk->ipa >> PAGE_SHIFT,
		.head = &piece->head[n],
		.level = 3,
		.rights = rights,
		.gspan = walk->span,
		.global = walk->global,
	};

	return !av_shadow_fill(&vcpu->vm->mmu->shadow, tree, &fill, &vcpu->mmu->pool);
}

/* Under mmu_lock: fill the entry with the known host page. False: it is not known any more. */
static bool fill_locked(struct av_hidden *f)
{
	const struct av_walk *walk = &f->r->walk;
	struct av_slot *slot = f->r->slot;
	u64 gfn = walk->ipa >> PAGE_SHIFT;
	u64 frame = array_index_nospec(gfn - slot->base_gfn, slot->npages);
	struct av_piece *piece = av_gfn_info_piece(&slot->frames, frame);
	unsigned int n = frame % AV_PIECE_FRAMES;
	u8 rights;

	/* A block may be possible: leave it to the full path. Pages would stay in its way. */
	if (unlikely(av_block_leaf(walk)) && av_block_wanted(f))
		return false;
	rights = av_plan_known(slot, piece, n, f->r->rights, f->r->access);
	if (slot->dying || !rights || av_mem_raced(f->vcpu->vm, slot, gfn, f->seq) ||
	    av_hidden_voided(f, walk->va & PAGE_MASK, walk->span) ||
	    !av_fast_install(f->vcpu, f->r->tree, walk, piece, n, rights))
		return false;
	piece->state[n] |= AV_FRAME_YOUNG;
	av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_FILL);
	av_mmu_publish();
	return true;
}

static bool fill(struct av_hidden *f)
{
	bool filled;

	if (f->r->copy || !av_pfn_cache_page(f->r->slot, f->r->walk.ipa >> PAGE_SHIFT) ||
	    !av_mmu_lock_soon(f->vcpu))
		return false;
	filled = fill_locked(f);
	av_mmu_unlock(f->vcpu);
	return filled;
}

/* Is everything that a walk since seq has read still valid? */
static bool is_current(struct av_vcpu *vcpu, bool high, struct av_seq seq)
{
	/* Read the sequence numbers after the tables. */
	smp_rmb();
	return seq.tables == av_mmu_seq_tables(vcpu, high) && av_mmu_seq_current(vcpu, high, seq);
}

/* Fill the page, or answer that the guest's fault may be injected. */
static bool resolve(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		    struct av_answer *answer)
{
	struct av_classified *r = &vcpu->mmu->resolved;
	bool high = far & BIT_ULL(55);
	struct av_hidden f = {
		.vcpu = vcpu,
		.seq = av_mmu_read_seq(vcpu, high),
		.r = r,
	};
	struct av_mem_reader reader = {};
	struct av_view view;

	av_hidden_view(vcpu, esr, far, &reader, &view);
	view.mem = &av_mem_reader_now_ops;
	if (av_annex_holds(vcpu->vm, far))
		return false;
	av_classify(&view, r, answer);
	if (!r->walked) {
		vcpu->mmu->learn = true;
		return false;
	}
	if (r->work == AV_ABORT_FILL)
		return fill(&f);
	return r->work == AV_ABORT_ANSWERED && answer->kind == AV_ANSWER_ABORT && may_inject &&
	       is_current(vcpu, high, f.seq);
}

bool av_fast_walk(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		  struct av_answer *answer)
{
	bool done;
	int idx;

	pagefault_disable();
	idx = srcu_read_lock(&vcpu->vm->srcu);
	done = resolve(vcpu, esr, far, may_inject, answer);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	pagefault_enable();
	return done;
}
