// SPDX-License-Identifier: GPL-2.0
/* Classifies aborts: rules in classify.h. */
#include "mmu/abort/classify.h"
#include "mmu/stub/stub.h"

/* Pass on faults that have nothing to do with the shadow tables. */
static enum av_abort_work pass_on(const struct av_view *view, u32 fsc, struct av_answer *answer)
{
	switch (fsc) {
	case AV_FSC_TLB_CONFLICT:
		/* Only the module can have caused a conflict: start over. */
		return AV_ABORT_FLUSH;
	case AV_FSC_ALIGNMENT:
	case AV_FSC_EXTERNAL:
	case AV_FSC_LOCKDOWN:
	case AV_FSC_EXCLUSIVE:
	case AV_FSC_ATOMIC_UPDATE:
		av_classify_guests(view->esr, fsc, answer);
		if (fsc == AV_FSC_ALIGNMENT)
			answer->cls = AV_EXIT_ALIGN;
		break;
	default:
		answer->kind = AV_ANSWER_KILL;
		answer->iss = view->esr;
	}
	return AV_ABORT_ANSWERED;
}

static enum av_abort_work device(const struct av_view *view, u64 ipa, struct av_answer *answer)
{
	av_classify_guests(view->esr, AV_FSC_EXTERNAL, answer);
	answer->iss &= ~(AV_ESR_FNV | AV_ESR_EA);
	answer->ipa = ipa;
	/* Device memory cannot be executed. */
	if (answer->insn)
		return AV_ABORT_ANSWERED;
	/* Cache maintenance of a device, or of nothing, has no effect. */
	if (view->esr & AV_ESR_CM) {
		answer->kind = AV_ANSWER_SKIP;
		answer->cls = AV_EXIT_CACHE;
		return AV_ABORT_ANSWERED;
	}
	answer->kind = AV_ANSWER_DEVICE;
	return AV_ABORT_ANSWERED;
}

/* Low half: only rare EL1 code (identity map, firmware's services), not worth copies. */
static enum av_abort_work in_copy(struct av_classified *r)
{
	if (!r->walk.high)
		return AV_ABORT_PLAIN;
	r->copy = true;
	r->rights = AV_X;
	return AV_ABORT_FILL;
}

/* There is memory, and the guest may access it. */
static enum av_abort_work hidden(const struct av_view *view, struct av_classified *r)
{
	u8 rights;

	r->tree = view->tree[r->walk.high];
	rights = av_tree_rights(r->tree, &r->walk);
	/* A shared tree grants only rights that both exception levels have. */
	if (r->access & ~rights)
		return AV_ABORT_SPLIT;
	r->copy = false;
	if (r->tree->key.mode == AV_MODE_EL1_COPIES) {
		if (r->access & AV_X)
			return in_copy(r);
		/* An instruction that accesses its own page: it would have to be code and data. */
		if (av_plan_own_page(r->tree, r->walk.va, view->pc))
			return AV_ABORT_PLAIN;
		rights &= ~AV_X;
	}
	r->rights = av_slot_rights(r->slot, rights, r->access & AV_W);
	return AV_ABORT_FILL;
}

/* Is this the address space of the kernel whose hole the annex is in? */
static bool anchored(const struct av_view *view)
{
	struct av_walk walk;

	return !av_walk(view->regime, view->mem, view->ctx, view->annex.anchor, &walk) &&
	       walk.ipa == view->annex.ipa;
}

/*
 * Is the fault in the annex: its registers or stubs, at addresses that the guest has reserved
 * and mapped, or in a hole? Whoever fills them checks that this is still so. The guest's rights
 * do not matter: it does not know of the annex.
 */
static bool in_annex(const struct av_view *view, const struct av_classified *r, int ret)
{
	u64 at = r->walk.va - view->annex.va;

	if (likely(!view->annex.va || at >= view->annex_size) || !r->walk.high)
		return false;
	/* The guest's own code at the annex's address reads itself: the guest reserved nothing. */
	if (at < AV_PAGE_SIZE && (r->walk.va ^ view->pc) < AV_PAGE_SIZE)
		return false;
	if (view->tree[1]->key.mode != AV_MODE_EL1_COPIES ||
	    !(r->access & AV_X) != (at < AV_PAGE_SIZE))
		return false;
	return view->annex.hole ? anchored(view) : !ret;
}

/* Translation, access flag and permission faults: walk the guest's tables. */
static enum av_abort_work look(const struct av_view *view, struct av_classified *r,
			       struct av_answer *answer)
{
	int ret = av_walk(view->regime, view->mem, view->ctx, view->far, &r->walk);
	u64 ipa = r->walk.ipa;

	r->empty = av_walk_empty(ret);
	if (ret >= 0 && in_annex(view, r, ret)) {
		r->tree = view->tree[1];
		r->annex = view->annex;
		if (ret) {
			/* As a global page: invalidations there drop the entry. */
			r->walk.span = AV_PAGE_SHIFT;
			r->walk.global = true;
		}
		return AV_ABORT_ANNEX;
	}
	ret = av_walk_permits(&r->walk, ret, view->el, r->access);
	if (ret < 0) {
		answer->kind = AV_ANSWER_ERROR;
		answer->err = ret;
		return AV_ABORT_ANSWERED;
	}
	if (ret) {
		av_classify_guests(view->esr, AV_FAULT_FSC(ret), answer);
		return AV_ABORT_ANSWERED;
	}
	/* For a device's page too, or each access would need a walk (av_device_again()). */
	if (unlikely(r->walk.va >= AV_WINDOW_GIB) &&
	    av_window_holds(view->tree[1]->key.window, r->walk.va))
		return AV_ABORT_WINDOW;
	/* Beyond the VM's physical addresses: as KVM does, treat it as beyond PARange. */
	if (ipa >> view->ipa_bits) {
		av_classify_guests(view->esr, AV_FSC_ADDRESS_SIZE, answer);
		return AV_ABORT_ANSWERED;
	}
	r->slot = av_slot_find(view->slots, ipa >> AV_PAGE_SHIFT);
	answer->rom = r->slot && r->access & AV_W && r->slot->flags & AV_SLOT_READONLY;
	if (!r->slot || answer->rom)
		return device(view, ipa, answer);
	return hidden(view, r);
}

void av_classify(const struct av_view *view, struct av_classified *r, struct av_answer *answer)
{
	av_classify_begin(view->esr, view->far, answer);
	r->access = av_abort_access(view->esr);
	r->walked = av_abort_walked(view->esr);
	if (r->walked)
		r->work = look(view, r, answer);
	else
		r->work = pass_on(view, FIELD_GET(AV_ESR_FSC, view->esr), answer);
}

void av_device_note(struct av_device_page *d, const struct av_view *view,
		    const struct av_classified *r, const struct av_answer *answer)
{
	struct av_device_page page = {
		.serial = view->tree[r->walk.high]->serial,
		.va = view->far & AV_PAGE_MASK,
		.ipa = answer->ipa & AV_PAGE_MASK,
		.el = view->el,
	};

	/*
	 * With read-only memory there, reads are not a device's. And a tree of every ASID does
	 * not learn of a TLBI by ASID, as long as it has no entry of a single ASID.
	 */
	if (answer->rom || (!r->walk.global &&
			    view->tree[r->walk.high]->key.asid == AV_ASID_ANY))
		page.serial = 0;
	if (page.serial == d->serial && page.va == d->va && page.ipa == d->ipa &&
	    page.el == d->el)
		page.access = d->access;
	page.access |= r->access;
	*d = page;
}

bool av_device_again(const struct av_device_page *d, const struct av_tree *tree, int el,
		     u64 esr, u64 far, struct av_answer *answer)
{
	if (!av_device_near(d, far) || el != d->el || tree->serial != d->serial ||
	    av_esr_ec(esr) != AV_EC_DABT_LOW ||
	    (esr & AV_FSC_TYPE) != AV_FSC_TRANSLATION ||
	    esr & AV_ESR_CM || !(av_abort_access(esr) & d->access))
		return false;
	/* Field by field: a memset() call takes longer. */
	answer->kind = AV_ANSWER_DEVICE;
	answer->cls = AV_EXIT_DABT_TRUE;
	answer->insn = false;
	answer->err = 0;
	answer->far = far;
	answer->iss = AV_FSC_EXTERNAL | (esr & AV_ESR_WNR);
	answer->ipa = d->ipa | (far & ~AV_PAGE_MASK);
	answer->rom = false;
	return true;
}
