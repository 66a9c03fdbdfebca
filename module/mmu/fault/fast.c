// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts that need little work, handled at light exits (cpu/light.c): between two stays in the
 * guest, with interrupts off. Nothing sleeps, and no lock is waited for longer than a moment.
 * This file declines everything else. The full exit path (slow.c) then starts over, and repeats
 * work that was done here.
 *
 *  - an abort that is the guest's own fault by its tables, or an alignment fault of its user space;
 *  - a hidden fault of a page that was filled before, so that the host page is known
 *    (mmu/slots/gfn_info.h). Neighbours that were filled before are filled too.
 *
 * This file is for leaves of 4 KiB in tables that the vCPU remembers (mmu/guest/walk_cache.h).
 *
 * Everything is done under mmu_lock. Nothing that is read or filled here can be invalidated
 * before the lock is released.
 *
 * Most aborts are handled without a function call; rare cases are functions of their own.
 */
#include "lib/parts.h"
#include "mmu/code/annex.h"
#include "mmu/fault/face.h"
#include "mmu/fault/fill.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/guest/walk_cache.h"
#include "mmu/roots/face.h"
#include "mmu/shadow/entry.h"
#include "mmu/shadow/resync.h"
#include "stats/stats.h"
#include "stats/trace.h"

/* Find the part of the frames that gfn is in, if it is not the last page's. */
static noinline bool find_part(struct av_vcpu *vcpu, struct av_walk_cache *near, u64 gfn)
{
	struct av_slot *slot = av_vm_slot(vcpu->vm, gfn);

	near->part.nr = 0;
	if (!slot || slot->dying)
		return false;
	near->slot = slot;
	av_gfn_info_find_part(&slot->frames, slot->base_gfn, gfn, &near->part);
	return near->part.nr;
}

/* The shadow table for near's 2 MiB, or NULL. */
static __always_inline struct av_pt *table_of(const struct av_shadow *sh,
					      struct av_walk_cache *near,
					      const struct av_tree *tree)
{
	if (unlikely(!near->pt || near->shape != sh->shape)) {
		near->pt = av_shadow_table(tree, near->at.va);
		near->shape = sh->shape;
	}
	return near->pt;
}

/*
 * The tree's rights for the page, as in av_classify(). Rights that the access needs are missing
 * if the page must not be filled here.
 */
static __always_inline u8 rights_of(const struct av_vcpu *vcpu, const struct av_walk_cache *near,
				    const struct av_tree *tree, u64 va, u64 desc, u8 access)
{
	if (av_plan_own_page(tree, va, vcpu->srf->pc))
		return 0;
	return av_slot_rights(near->slot, av_walk_leaf_rights(near->rights, desc), access & AV_W);
}

/* Under mmu_lock: was this page the last that the guest invalidated, to map another one there? */
static inline bool remapped(const struct av_shadow *sh, const struct av_tree *tree, u64 va)
{
	const struct av_recent *r = &sh->recent_va[1][sh->seq_va[1] % AV_RECENT];

	return tree->key.high && r->start == va && r->last == (va | ~PAGE_MASK);
}

/* Would av_shadow_fill() only add an entry? */
static __always_inline bool fits(const struct av_tree *tree, const struct av_pt *pt,
				 unsigned int idx, u64 desc)
{
	return pt && (pt->desc || tree->key.high) && !av_pt_has(pt, idx) &&
	       pt->gspan >= (desc & AV_DESC_CONT ? PAGE_SHIFT + 4 : PAGE_SHIFT) &&
	       (desc & AV_DESC_NG ? tree->key.asid != AV_ASID_ANY : tree->has_global);
}

/* Fill the part's n'th frame if more than adding an entry is needed, for example new tables. */
static noinline bool fill_long(struct av_vcpu *vcpu, struct av_walk_cache *near,
			       struct av_tree *tree, u64 va, u64 desc, unsigned int n, u8 rights)
{
	struct av_walk *walk = &vcpu->mmu->resolved.walk;
	struct av_piece *piece = near->part.piece;
	struct av_fill fill;

	av_walk_page(&vcpu->mmu->regime, &near->at, va, desc, walk);
	fill = (struct av_fill) {
		.va = va & PAGE_MASK,
		.pa = piece->page[n] & AV_FRAME_PAGE,
		.desc = av_hidden_desc(tree, walk),
		.table = near->at.ipa,
		.gfn = walk->ipa >> PAGE_SHIFT,
		.head = &piece->head[n],
		.level = 3,
		.rights = rights,
		.gspan = walk->span,
		.global = walk->global,
	};
	/* False also if the pool is short. */
	return !av_shadow_fill(&vcpu->vm->mmu->shadow, tree, &fill, &vcpu->mmu->pool);
}

/* Fill the page's neighbours too. */
static noinline void fill_around(struct av_vcpu *vcpu, struct av_walk_cache *near,
				 const struct av_tree *tree, u64 va, u64 desc)
{
	struct av_pt *pt = table_of(&vcpu->vm->mmu->shadow, near, tree);

	/* The window has no table of ours. */
	if (likely(pt))
		av_fast_around(vcpu, near, tree, pt, va, desc);
}

/* Does an entry permit an access? */
static bool allows(u64 pte, u8 access)
{
	return pte & AV_PTE_VALID && !(access & AV_R && !(pte & AV_PTE_USER)) &&
	       !(access & AV_W && pte & AV_PTE_RDONLY) && !(access & AV_X && pte & AV_PTE_UXN);
}

/* Validate the page's sleeping entry and those around it. False: the page must be filled. */
static noinline bool wake(struct av_vcpu *vcpu, const struct av_walk_cache *near, struct av_pt *pt,
			  u64 va, u8 access)
{
	unsigned int idx = av_pt_index(va, 3), woken = 0;
	u64 first = av_around(va);
	const u64 *words;

	if (!av_pte_is_asleep(pt, idx) || pt->tree->key.mode == AV_MODE_EL1_COPIES)
		return false;
	pagefault_disable();
	words = av_mem_look(near->words, av_walk_desc_ipa(&near->at, first) & ~PAGE_MASK,
			    vcpu->mmu->words, AV_AROUND);
	if (words)
		woken = av_resync_wake(&vcpu->vm->mmu->shadow, pt, first, AV_AROUND, words,
				       near->at.limits);
	pagefault_enable();
	if (!woken)
		return false;
	av_mmu_publish();
	av_vm_stat_add(&vcpu->vm->stats, AV_VM_SHADOW_AGREED, woken);
	return allows(pt->pte[idx], access);
}

/* Fill the entry with the known host page, if there is one. */
static __always_inline bool fill(struct av_vcpu *vcpu, struct av_walk_cache *near,
				 struct av_tree *tree, u64 va, u64 desc, u8 access)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	u64 gfn = (desc & GENMASK_ULL(47, 12)) >> PAGE_SHIFT;
	struct av_pt *pt = table_of(sh, near, tree);
	unsigned int idx = av_pt_index(va, 3), n;
	struct av_piece *piece;
	bool alone;
	u8 rights;

	if (unlikely(pt && pt->asleep) && wake(vcpu, near, pt, va, access)) {
		vcpu->mmu->resolved.walk.ipa = gfn << PAGE_SHIFT | (va & ~PAGE_MASK);
		return true;
	}
	if (unlikely(gfn - near->part.gfn >= near->part.nr) && !find_part(vcpu, near, gfn))
		return false;
	vcpu->mmu->resolved.walk.ipa = gfn << PAGE_SHIFT | (va & ~PAGE_MASK);
	n = array_index_nospec(gfn - near->part.gfn, near->part.nr);
	piece = near->part.piece;
	rights = av_plan_known(near->slot, piece, n,
			       rights_of(vcpu, near, tree, va, desc, access), access);
	if (unlikely(!rights))
		return false;
	alone = (pt && av_pt_present(pt, av_around(va), AV_AROUND)) ||
		remapped(sh, tree, va & PAGE_MASK);
	if (likely(fits(tree, pt, idx, desc))) {
		av_shadow_add(sh, pt, idx, gfn, &piece->head[n],
			      av_leaf_desc(sh, 3, rights) | (piece->page[n] & AV_FRAME_PAGE),
			      av_walk_key(desc, near->at.limits));
	} else if (!fill_long(vcpu, near, tree, va, desc, n, rights)) {
		return false;
	}
	piece->state[n] |= AV_FRAME_YOUNG;
	av_stat_inc(&vcpu->stats, AV_EVENT_SHADOW_FILL);
	if (unlikely(!alone) && AV_HAS(around))
		fill_around(vcpu, near, tree, va, desc);
	av_mmu_publish();
	return true;
}

/* The answer to a hidden fault. The compiler drops the stores of fields that nobody reads. */
static __always_inline u64 hidden(u64 esr, u64 far)
{
	struct av_answer answer;

	av_classify_begin(esr, far, &answer);
	return AV_LIGHT_DONE | FIELD_PREP(AV_LIGHT_CLASS, answer.cls);
}

/* The answer to the guest's own fault. */
static __always_inline u64 guests(u64 esr, u64 far, int fault)
{
	struct av_answer answer;

	av_classify_begin(esr, far, &answer);
	av_classify_guests(esr, AV_FAULT_FSC(fault), &answer);
	return AV_LIGHT_DONE | AV_LIGHT_INJECT | FIELD_PREP(AV_LIGHT_CLASS, answer.cls) |
	       FIELD_PREP(AV_LIGHT_ISS, answer.iss);
}

/* Under mmu_lock: fill the page, or answer that the guest's fault may be injected. */
static __always_inline u64 resolve(struct av_vcpu *vcpu, struct av_vcpu_mmu *mmu, u64 esr, u64 far,
				   bool may_inject)
{
	u64 va = av_untag(&mmu->regime, far);
	struct av_tree *tree = mmu->tree[far >> 55 & 1];
	struct av_walk_cache *near = av_walk_cache_of(mmu, tree, va);
	u8 access = av_abort_access(esr);
	struct av_mem_word desc;
	int ret, fault;

	/* Keep one pointer in a register: the offset in *mmu is a large one. */
	OPTIMIZER_HIDE_VAR(near);
	desc = av_walk_cache_descriptor(vcpu, near, tree, va, &fault);
	if (unlikely(!desc.loaded)) {
		mmu->learn = true;
		return 0;
	}
	ret = unlikely(fault) ? fault :
				av_walk_table_permits(&near->at, desc.val, mmu->el, access);
	if (!ret)
		return fill(vcpu, near, tree, va, desc.val, access) ? hidden(esr, far) : 0;
	if (!may_inject || (!mmu->el && near->at.e0pd))
		return 0;
	if (!mmu->el && !fault && !tree->key.high)
		av_sw_tables_note(vcpu, near, va);
	mmu->resolved.walk.ipa = 0;
	return guests(esr, far, ret);
}

static __always_inline u64 near_abort(struct av_vcpu *vcpu, struct av_vcpu_mmu *mmu, u64 esr,
				      u64 far, bool may_inject)
{
	u64 done = 0;

	if (!AV_HAS(near) || !av_abort_walked(esr) || !av_mmu_lock_soon(vcpu))
		return done;
	if (!av_annex_holds(vcpu->vm, far))
		done = resolve(vcpu, mmu, esr, far, may_inject);
	av_mmu_unlock(vcpu);
	return done;
}

/* Alignment faults have nothing to do with tables; programs of the guest's user space have them. */
static noinline u64 unaligned(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject)
{
	struct av_answer answer;

	if (FIELD_GET(AV_ESR_FSC, esr) != AV_FSC_ALIGNMENT || vcpu->mmu->el || !may_inject)
		return 0;
	av_classify_begin(esr, far, &answer);
	av_classify_guests(esr, AV_FSC_ALIGNMENT, &answer);
	trace_av_fault(vcpu->id, far, 0, esr, answer.kind);
	return AV_LIGHT_DONE | AV_LIGHT_INJECT | FIELD_PREP(AV_LIGHT_CLASS, AV_EXIT_ALIGN) |
	       FIELD_PREP(AV_LIGHT_ISS, answer.iss);
}

u64 av_mmu_fault_light(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	u64 done = 0;

	/* mmu->plain counts down by exits on the full path. */
	if (unlikely(mmu->plain))
		return done;
	av_mmu_follow(vcpu);
	if (unlikely(mmu->stale))
		return done;
	done = near_abort(vcpu, mmu, esr, far, may_inject);
	if (unlikely(!done))
		return unaligned(vcpu, esr, far, may_inject);
	av_stat_inc(&vcpu->stats, AV_EVENT_WALK);
	trace_av_fault(vcpu->id, far, mmu->resolved.walk.ipa, esr,
		       done & AV_LIGHT_INJECT ? AV_ANSWER_ABORT : AV_ANSWER_RESUME);
	return done;
}
