// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts from the guest, on the full exit path: mmu/abort/classify.h classifies them, this
 * file fills hidden faults.
 *
 * A hidden fault: read the sequence numbers; walk the guest's tables (reads guest memory, may
 * sleep); get the host page (may sleep); install the entry under mmu_lock, unless what was read
 * has been invalidated since: then the guest faults again. If the host maps all pages of a
 * block as one, block.c fills the block.
 */
#include <linux/mm.h>

#include "lib/parts.h"
#include "mmu/base/plain.h"
#include "mmu/base/regime.h"
#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/code/face.h"
#include "mmu/dirty/dirty.h"
#include "mmu/fault/face.h"
#include "mmu/fault/fill.h"
#include "mmu/roots/roots.h"
#include "stats/stats.h"
#include "stats/trace.h"

/* The exception level needs rights that the shared tree must not grant: give it its own tree. */
static void split_tree(struct av_hidden *f)
{
	struct av_vm *vm = f->vcpu->vm;

	spin_lock(&vm->mmu_lock);
	f->r->tree->split |= BIT(f->vcpu->mmu->el);
	spin_unlock(&vm->mmu_lock);
	av_mmu_regime_changed(f->vcpu);
}

/* A frame with a copy becomes writable only for a write access, which drops the copy. */
static int write_or_copy(struct av_hidden *f, const struct av_candidate *c, struct av_fill *fill)
{
	if (f->r->copy) {
		/* A neighbour without a copy made for this address may never be executed here. */
		if (c != f->at && !av_copy_made_for(f->vcpu->vm, c->gfn, c->va))
			return -EAGAIN;
		return av_copy_get(f->vcpu, f->r->slot, c->gfn, c->va, c->page, &fill->pa);
	}
	if (!(fill->rights & AV_W) || !f->vcpu->vm->mmu->nr_copies ||
	    likely(!av_copied(f->r->slot, c->gfn)))
		return 0;
	if (c != f->at || !(f->r->access & AV_W)) {
		fill->rights &= ~AV_W;
		return 0;
	}
	/* Code that patches itself by another address: copy and write would alternate. */
	if (av_copy_at(f->vcpu->vm, f->vcpu->mmu->tree[1], f->vcpu->srf->pc, c->gfn)) {
		av_mmu_go_plain(f->vcpu);
		return -EAGAIN;
	}
	return av_copy_drop(f->vcpu->vm, f->r->slot, c->gfn) ? -EAGAIN : 0;
}

int av_hidden_fill(struct av_hidden *f, const struct av_fill *fill)
{
	int ret = av_shadow_fill(&f->vcpu->vm->mmu->shadow, f->r->tree, fill,
				 &f->vcpu->mmu->pool);

	if (!ret)
		av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_FILL);
	/* The guest faults again, and finds the room that was made. */
	if (ret == -ENOSPC && av_mmu_reclaim(f->vcpu->vm, &f->vcpu->mmu->pool))
		return -EAGAIN;
	if (ret == -ESTALE) {
		av_mmu_regime_changed(f->vcpu);
		return -EAGAIN;
	}
	return ret;
}

/* Fill one entry. 0; -EAGAIN: the guest should fault again; or another errno. */
static int fill_one(struct av_hidden *f, const struct av_candidate *c, bool only_new)
{
	struct av_vm *vm = f->vcpu->vm;
	struct av_fill fill = {
		.va = c->va,
		.pa = page_to_phys(c->page),
		.desc = c->desc,
		.table = f->r->walk.desc_ipa & PAGE_MASK,
		.gfn = c->gfn,
		.level = 3,
		.rights = c->rights,
		.gspan = f->r->walk.span,
		.global = f->r->walk.global,
		.only_new = only_new,
	};
	int ret;

	/* Memory that was added after the module was loaded. */
	if (unlikely(fill.pa & ~AV_PTE_ADDR))
		return -EFAULT;
	if (av_mem_raced(vm, f->r->slot, c->gfn, f->seq) || av_hidden_voided(f, c->va, fill.gspan)) {
		av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_RETRY);
		return -EAGAIN;
	}
	ret = write_or_copy(f, c, &fill);
	if (ret)
		return ret;
	ret = av_hidden_fill(f, &fill);
	if (ret || f->r->copy)
		return ret;
	if (fill.rights & AV_X)
		av_mem_set_executed(f->r->slot, c->gfn);
	av_pfn_cache_note(f->r->slot, c->gfn, fill.pa, c->rights & AV_W);
	if (fill.rights & AV_W)
		av_slot_mark_dirty(vm, f->vcpu, f->r->slot, c->gfn);
	return 0;
}

static int fill_locked(struct av_hidden *f)
{
	struct av_vm *vm = f->vcpu->vm;
	unsigned int i;
	int ret;

	/* A dying slot must not be filled from any more. */
	if (f->r->slot->dying)
		return -EAGAIN;
	ret = fill_one(f, &f->at[0], false);
	for (i = 1; i < f->nr && !ret; i++)
		ret = fill_one(f, &f->at[i], true);
	av_shadow_publish(&vm->mmu->shadow);
	return ret;
}

static void release(struct av_hidden *f)
{
	unsigned int i;

	for (i = 0; i < f->nr; i++)
		av_mem_release(f->at[i].page, f->at[i].rights);
}

/* All steps that may sleep. */
static int prepare(struct av_hidden *f)
{
	struct av_candidate *c = &f->at[0];

	return av_mem_prepare(f->r->slot, c->gfn) ?:
	       (f->r->copy ? av_copies_prepare(f->vcpu) : 0) ?:
	       av_mem_hold(f->r->slot, c->gfn, f->r->access, &c->rights, &c->page);
}

/* Fill a hidden fault. 0: the entry is there, or the guest faults again. */
static int fill(struct av_hidden *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	struct av_candidate *c = &f->at[0];
	struct av_mem_huge huge;
	bool around;
	int ret;

	av_hidden_candidate(f);
	ret = av_mmu_fill_memcache(vcpu) ?: av_block_fill(f);
	if (ret != AV_BLOCK_NONE)
		return ret == -EAGAIN ? 0 : ret;
	ret = prepare(f);
	if (ret)
		return ret;
	if (c->rights & AV_X && !f->r->copy)
		av_mem_clean_for_execution(f->r->slot, c->gfn, c->page);
	if (AV_HAS(around))
		av_slow_around(f);
	around = av_mem_find_huge(f->r->slot, c->gfn, c->page, c->rights, &huge);
	av_mmu_lock(vcpu);
	ret = fill_locked(f);
	if (around)
		av_pfn_cache_note_huge(vcpu->vm, f->r->slot, c->gfn, &huge, f->seq);
	av_mmu_unlock(vcpu);
	release(f);
	return ret == -EAGAIN ? 0 : ret;
}

static void flush(struct av_vm *vm)
{
	spin_lock(&vm->mmu_lock);
	vm->mmu->shadow.ops->flush(vm, &(struct av_flush) { .all = true });
	spin_unlock(&vm->mmu_lock);
}

/* Do the work that av_classify() asked for. */
static noinline_for_stack int work(struct av_vcpu *vcpu, struct av_seq seq)
{
	struct av_hidden f = {
		.vcpu = vcpu,
		.seq = seq,
		.r = &vcpu->mmu->resolved,
		.at = vcpu->mmu->candidates,
	};

	switch (f.r->work) {
	case AV_ABORT_FILL:
		return fill(&f);
	case AV_ABORT_SPLIT:
		split_tree(&f);
		return 0;
	case AV_ABORT_PLAIN:
		av_mmu_go_plain(vcpu);
		return 0;
	case AV_ABORT_FLUSH:
		flush(vcpu->vm);
		return 0;
	case AV_ABORT_ANNEX:
		return av_annex_fill(&f);
	case AV_ABORT_WINDOW:
		av_window_give_way(vcpu);
		return 0;
	default:
		return 0;
	}
}

/* Remember a device access. The recorded rights are valid until an invalidation. */
static void note_device(struct av_vcpu_mmu *mmu, struct av_srf *srf, const struct av_view *view,
			struct av_seq seq, const struct av_answer *answer)
{
	if (seq.host != mmu->device_seq.host || seq.tree != mmu->device_seq.tree ||
	    seq.va != mmu->device_seq.va)
		mmu->device.serial = 0;
	av_device_note(&mmu->device, view, &mmu->resolved, answer);
	mmu->device_seq = seq;
	srf->device_page = mmu->device.va >> PAGE_SHIFT;
}

/* Is the abort another access to the remembered device page, and is that still valid? */
static bool device_again(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	bool high = far & BIT_ULL(55);

	if (!av_device_near(&mmu->device, far) ||
	    !av_device_again(&mmu->device, mmu->tree[high], mmu->el, esr, far, answer) ||
	    !av_mmu_seq_current(vcpu, high, mmu->device_seq))
		return false;
	trace_av_fault(vcpu->id, far, answer->ipa, esr, answer->kind);
	return true;
}

/* The input of av_classify() for an abort. Use reader in one srcu section. */
static void look(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_mem_reader *reader,
		 struct av_view *view)
{
	reader->slots = av_vm_slots(vcpu->vm);
	/* Field by field: a memset() call takes longer. */
	view->regime = &vcpu->mmu->regime;
	view->tree = vcpu->mmu->tree;
	view->slots = reader->slots;
	view->mem = &av_mem_reader_ops;
	view->ctx = reader;
	view->esr = esr;
	view->far = far;
	view->pc = vcpu->srf->pc;
	view->annex = av_annex_where(vcpu->vm);
	view->annex_size = (READ_ONCE(vcpu->vm->mmu->annex.pages) + 1) * PAGE_SIZE;
	view->el = vcpu->mmu->el;
	view->ipa_bits = vcpu->vm->ipa_bits;
}

/*
 * The guest has invalidated tables since and may reuse them. So what was read there must not
 * become a guest's fault or a device access: let the guest fault again.
 */
static void recheck(struct av_vcpu *vcpu, bool high, struct av_seq seq, struct av_answer *answer)
{
	/* Read the sequence number after the tables. */
	smp_rmb();
	if (likely(seq.tables == av_mmu_seq_tables(vcpu, high)) ||
	    (answer->kind != AV_ANSWER_ABORT && answer->kind != AV_ANSWER_DEVICE &&
	     answer->kind != AV_ANSWER_SKIP))
		return;
	answer->kind = AV_ANSWER_RESUME;
	answer->cls = answer->insn ? AV_EXIT_PABT_HIDDEN : AV_EXIT_DABT_TRANS;
	av_stat_inc(&vcpu->stats, AV_EVENT_SHADOW_RETRY);
}

/* Resolve an abort from the guest's tables and the slots. */
static void find_out(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer)
{
	struct av_classified *r = &vcpu->mmu->resolved;
	bool high = far & BIT_ULL(55);
	struct av_seq seq = av_mmu_read_seq(vcpu, high);
	int idx = srcu_read_lock(&vcpu->vm->srcu);
	struct av_mem_reader reader = {};
	struct av_view view;

	look(vcpu, esr, far, &reader, &view);
	if (unlikely(vcpu->mmu->learn)) {
		vcpu->mmu->learn = false;
		view.mem = &av_mem_reader_learning_ops;
	}
	av_classify(&view, r, answer);
	if (r->walked) {
		av_stat_inc(&vcpu->stats, AV_EVENT_WALK);
		recheck(vcpu, high, seq, answer);
	}
	if (r->work != AV_ABORT_ANSWERED)
		answer->err = work(vcpu, seq);
	if (unlikely(reader.nr))
		av_mem_learn(vcpu, &reader, seq);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	if (unlikely(answer->kind == AV_ANSWER_DEVICE))
		note_device(vcpu->mmu, vcpu->srf, &view, seq, answer);
	if (answer->err < 0)
		av_mmu_error(answer, answer->err);
	trace_av_fault(vcpu->id, far, r->walked ? r->walk.ipa : 0, esr, answer->kind);
}

void av_mmu_fault(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer)
{
	if (!device_again(vcpu, esr, far, answer))
		find_out(vcpu, esr, far, answer);
	/* A stub in place of the guest's instruction failed: the guest must not see that. */
	if ((answer->kind == AV_ANSWER_ABORT || answer->kind == AV_ANSWER_DEVICE) &&
	    (unlikely(av_mmu_stub_failed(vcpu)) || unlikely(av_annex_failed(vcpu, far))))
		answer->kind = AV_ANSWER_RESUME;
}
