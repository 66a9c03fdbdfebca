/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The meaning of an abort from the guest.
 *
 * If the guest's own tables do not map the address or forbid the access, it is
 * a true fault, the guest's. If they allow it and there is memory, it is a
 * hidden fault, ours, and the shadow entry is filled. If they allow it and
 * there is no memory, it is an access to a device.
 *
 * Pure code: registers, slots and trees are looked at, nothing is changed.
 */
#ifndef AV_MMU_RESOLVE_H
#define AV_MMU_RESOLVE_H

#include "mmu/annex_find.h"
#include "mmu/shadow.h"
#include "mmu/slots.h"
#include "vm/answer.h"

/* Inputs to the judgement of an abort; av_hidden_view() sets each field. */
struct av_view {
	const struct av_regime *regime;
	struct av_tree *const *tree;	/* loaded, low and high */
	const struct av_slots *slots;
	const struct av_mem_ops *mem;
	void *ctx;			/* of mem */
	u64 esr, far;			/* physical ESR_EL1 and FAR_EL1 */
	u64 pc;
	struct av_annex_place annex;	/* mmu/annex.h */
	u32 annex_size;			/* registers, and the pages that have stubs */
	u8 el;				/* the virtual CPU's */
	u8 ipa_bits;			/* of the VM's own addresses */
};

enum av_abort_work {
	AV_ABORT_ANSWERED,	/* the answer says it all */
	/* Hidden faults. The answer is to resume, once this is done: */
	AV_ABORT_FILL,		/* fill the entry */
	AV_ABORT_SPLIT,		/* split off a tree for the level: both cannot have its rights */
	AV_ABORT_PLAIN,		/* this cannot be done from copies: run without for a while */
	AV_ABORT_FLUSH,		/* flush the TLB */
	AV_ABORT_ANNEX,		/* fill the annex's page at walk.va */
};

struct av_resolved {
	enum av_abort_work work;
	bool walked;		/* walk is valid, as far as the guest's tables go */
	bool empty;		/* they have nothing there */
	u8 access;		/* that the guest made */
	u8 rights;		/* AV_ABORT_FILL: for the entry */
	bool copy;		/* AV_ABORT_FILL: with a copy of the page */
	struct av_walk walk;
	struct av_slot *slot;
	struct av_tree *tree;
	struct av_annex_place annex;	/* AV_ABORT_ANNEX: the view's */
};

/* Fill *r (valid by its work) and *answer. */
void av_resolve(const struct av_view *view, struct av_resolved *r, struct av_answer *answer);

/* ---- parts of it, for who walks by themselves (near.c) ---- */

/* A fault status code without its level, where it has one. */
#define AV_FSC_TYPE		GENMASK(5, 2)

/* Is an abort one of the tables', to be walked? */
static inline bool av_abort_walked(u64 esr)
{
	/* Translation, access flag and permission follow each other, with their four levels. */
	return (u32)FIELD_GET(AV_ESR_FSC, esr) - AV_FSC_TRANSLATION <
	       AV_FSC_PERMISSION + 4 - AV_FSC_TRANSLATION;
}

static inline bool av_abort_is_insn(u64 esr)
{
	return av_esr_ec(esr) == AV_EC_IABT_LOW;
}

/* Cache maintenance reports itself as a write but asks for no more than a read. */
static inline u8 av_abort_access(u64 esr)
{
	if (av_abort_is_insn(esr))
		return AV_X;
	return (esr & AV_ESR_WNR) && !(esr & AV_ESR_CM) ? AV_W : AV_R;
}

/* The answer to resume, as long as nothing else is found out. Field by field: see below. */
static inline void av_resolve_begin(u64 esr, u64 far, struct av_answer *answer)
{
	bool insn = av_abort_is_insn(esr);

	answer->kind = AV_ANSWER_RESUME;
	answer->cls = (esr & AV_FSC_TYPE) == AV_FSC_PERMISSION ? AV_EXIT_DABT_PERM :
								 AV_EXIT_DABT_TRANS;
	if (insn)
		answer->cls = AV_EXIT_PABT_HIDDEN;
	answer->insn = insn;
	answer->err = 0;
	answer->far = far;
	answer->iss = 0;
	answer->ipa = 0;
	answer->rom = false;
}

/* After that: the answer for an abort that is the guest's own, with this fault status code. */
static inline void av_resolve_guests(u64 esr, u32 fsc, struct av_answer *answer)
{
	/* Stage 1 as the guest sees it: nothing of how the hardware came by the fault. */
	u64 keep = answer->insn ? 0 : AV_ESR_WNR | AV_ESR_CM;

	/* Not the tables', so the guest's: FAR may be not valid. */
	if (fsc == AV_FSC_EXTERNAL)
		keep |= AV_ESR_FNV | AV_ESR_EA;
	answer->kind = AV_ANSWER_ABORT;
	answer->cls = answer->insn ? AV_EXIT_PABT_TRUE : AV_EXIT_DABT_TRUE;
	answer->iss = fsc | (esr & keep);
}

/*
 * The page of the device accessed last, and how: a translation as a TLB keeps it,
 * of one tree and one level. The caller drops it when the tree's sequence moves
 * (mmu/tlbi.h), when registers of the regime other than the TTBRs change, and when
 * memory comes or goes.
 */
struct av_device_page {
	u64 serial;		/* of the tree; 0: no page */
	u64 va, ipa;		/* va as FAR_EL1 has it, with its tag */
	u8 el;
	u8 access;		/* AV_R, AV_W: those that the guest's tables were seen to allow */
};

/* av_resolve() found an access to a device: keep the page. */
void av_device_note(struct av_device_page *d, const struct av_view *view,
		    const struct av_resolved *r, const struct av_answer *answer);

/* A glance at the address: most aborts are elsewhere. */
static inline bool av_device_near(const struct av_device_page *d, u64 far)
{
	return d->serial && (far & AV_PAGE_MASK) == d->va;
}

/*
 * Is the abort, in that tree and at that level, another access to that page? Then
 * *answer is what av_resolve() would say.
 */
bool av_device_again(const struct av_device_page *d, const struct av_tree *tree, int el,
		     u64 esr, u64 far, struct av_answer *answer);

/*
 * Rights of a walk that a tree grants. With the MMU on, a tree that both levels
 * share grants no execution of pages that EL1 may execute: EL1 on copies must
 * not run there. For all leaves of a table (av_walk_leaf_rights()), and for one.
 */
static inline u64 av_tree_leaf_rights(const struct av_tree *tree, u64 el1, u64 el0)
{
	switch (tree->key.mode) {
	case AV_MODE_EL1:
	case AV_MODE_EL1_COPIES:
		return el1;
	case AV_MODE_EL0:
		return el0;
	default:
		return tree->key.sctlr ? el0 & ~(el1 & AV_LEAVES * AV_X) : el0;
	}
}

static inline u8 av_tree_rights(const struct av_tree *tree, const struct av_walk *walk)
{
	return av_tree_leaf_rights(tree, walk->el1, walk->el0);
}

/*
 * Rights for an entry of a slot's page: no writing to a read-only slot; logged
 * pages become writable one by one, as they are written.
 */
static inline u8 av_slot_rights(const struct av_slot *slot, u8 rights, bool written)
{
	u32 flags = READ_ONCE(slot->flags);

	if (unlikely(flags) && (flags & AV_SLOT_READONLY ||
				(flags & AV_SLOT_LOG_DIRTY && !written)))
		rights &= ~AV_W;
	return rights;
}

/*
 * Rights for a neighbour of the page of a hidden fault, by its own walk; 0 for one that
 * is not to be filled along: it is of another slot, has registers (annex) or, from
 * copies, is not what the page at fault is, code or data.
 */
u8 av_neighbour_rights(const struct av_resolved *r, const struct av_walk *walk, u64 annex);

#endif /* AV_MMU_RESOLVE_H */
