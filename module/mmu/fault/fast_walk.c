// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts that need little work, handled at light exits (cpu/light.c): between two stays in the
 * guest, with interrupts off. Nothing sleeps, and no lock is waited for longer than a moment.
 * Everything else is declined and done on the full exit path (slow.c) from its beginning; work
 * done here is then done twice.
 *
 *  - an abort that is the guest's own fault by its tables;
 *  - a hidden fault of a page that was filled before, so that the host page is known
 *    (mmu/slots/frames.h). Neighbours that were filled before are filled too.
 *
 * The guest's tables are read through the VMM's mapping with page faults disabled.
 */
#include <linux/uaccess.h>

#include "mmu/code/annex.h"
#include "mmu/fault/fill.h"
#include "stats/stats.h"

/* Under mmu_lock: fill the entry with the known host page. False: it is not known any more. */
static bool install(struct av_hidden *f)
{
	const struct av_candidate *c = f->at;
	struct av_slot *slot = f->r->slot;
	u64 frame = array_index_nospec(c->gfn - slot->base_gfn, slot->npages);
	struct av_piece *piece = av_frames_piece(&slot->frames, frame);
	unsigned int n = frame % AV_PIECE_FRAMES;
	struct av_fill fill = {
		.va = c->va,
		.pa = piece->page[n] & AV_FRAME_PAGE,
		.desc = c->desc,
		.table = f->r->walk.desc_ipa & PAGE_MASK,
		.gfn = c->gfn,
		.head = &piece->head[n],
		.level = 3,
		.rights = av_known_rights(slot, piece, n, c->rights, f->r->access),
		.gspan = c->span,
		.global = c->global,
	};

	if (slot->dying || !fill.rights ||
	    f->seq.tables != av_tree_seq_tables(&f->vcpu->vm->mmu->shadow, f->r->tree) ||
	    av_mem_raced(f->vcpu->vm, slot, c->gfn, f->seq) || av_hidden_voided(f, c) ||
	    av_hidden_install(f, &fill))
		return false;
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

static bool fill(struct av_hidden *f)
{
	bool filled, alone;

	av_hidden_candidate(f);
	if (f->r->copy || !av_mem_known_page(f->r->slot, f->at[0].gfn) || !av_mmu_lock_soon(f->vcpu))
		return false;
	/* A block may be possible: leave it to the full path. Pages would stay in its way. */
	if (unlikely(av_block_leaf(&f->r->walk)) && av_block_wanted(f)) {
		av_mmu_unlock(f->vcpu);
		return false;
	}
	alone = av_shadow_present(f->r->tree, av_around(f->at[0].va), AV_AROUND) ||
		av_light_remapped(&f->vcpu->vm->mmu->shadow, f->r->tree, f->at[0].va);
	filled = install(f);
	if (filled && !alone)
		av_light_around(f);
	av_shadow_publish(&f->vcpu->vm->mmu->shadow);
	av_mmu_unlock(f->vcpu);
	return filled;
}

/* Fill the page, or answer that the guest's fault may be injected. */
static bool resolve(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		    struct av_answer *answer)
{
	struct av_resolved *r = &vcpu->mmu->resolved;
	bool high = far & BIT_ULL(55);
	struct av_hidden f = {
		.vcpu = vcpu,
		.seq = av_mmu_read_seq(vcpu, high),
		.r = r,
		.at = vcpu->mmu->candidates,
	};
	struct av_mem_reader reader = {};
	struct av_view view;

	av_hidden_view(vcpu, esr, far, &reader, &view);
	view.mem = &av_mem_reader_now_ops;
	if (av_annex_holds(vcpu->vm, far))
		return false;
	av_resolve(&view, r, answer);
	if (!r->walked)
		return false;
	if (r->work == AV_ABORT_FILL)
		return fill(&f);
	return r->work == AV_ABORT_ANSWERED && answer->kind == AV_ANSWER_ABORT && may_inject &&
	       av_light_current(vcpu, high, f.seq);
}

bool av_light_abort(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
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
