/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classifies an abort from the guest.
 *
 * If the guest's own tables do not map the address, or forbid the access, the abort is a true
 * fault and the guest gets it. If they permit the access and there is memory, it is a hidden
 * fault: the shadow entry is filled. If they permit it and there is no memory, it is an access
 * to a device.
 *
 * Pure code: looks at registers, slots and trees, and changes nothing.
 */
#ifndef AV_MMU_CLASSIFY_H
#define AV_MMU_CLASSIFY_H

#include "mmu/abort/plan.h"
#include "mmu/shadow/shadow.h"
#include "mmu/slots/slots.h"
#include "mmu/stub/annex_find.h"
#include "vm/answer.h"

/* Input of av_classify(); av_hidden_view() sets every field. */
struct av_view {
	const struct av_regime *regime;
	struct av_tree *const *tree;	/* loaded, low and high */
	const struct av_slots *slots;
	const struct av_mem_ops *mem;
	void *ctx;			/* of mem */
	u64 esr, far;			/* physical ESR_EL1 and FAR_EL1 */
	u64 pc;
	struct av_annex_place annex;	/* see mmu/code/annex.h */
	u32 annex_size;			/* its registers and the pages with stubs */
	u8 el;				/* virtual exception level */
	u8 ipa_bits;			/* size of the VM's physical address space */
};

enum av_abort_work {
	AV_ABORT_ANSWERED,	/* answered, nothing else to do */
	/* Hidden faults: resume after this work */
	AV_ABORT_FILL,		/* fill the entry */
	AV_ABORT_SPLIT,		/* give the exception level a tree of its own: rights conflict */
	AV_ABORT_PLAIN,		/* impossible in copies: run without them for a while */
	AV_ABORT_FLUSH,		/* flush the TLB */
	AV_ABORT_ANNEX,		/* fill the annex's page at walk.va */
	AV_ABORT_WINDOW,	/* move the window, which is at walk.va */
};

struct av_classified {
	enum av_abort_work work;
	bool walked;		/* walk is valid, as far as the guest's tables go */
	bool empty;		/* the guest has nothing mapped there */
	u8 access;		/* access by the guest */
	u8 rights;		/* AV_ABORT_FILL: rights for the entry */
	bool copy;		/* AV_ABORT_FILL: map a copy of the page */
	struct av_walk walk;
	struct av_slot *slot;
	struct av_tree *tree;
	struct av_annex_place annex;	/* AV_ABORT_ANNEX: the view's */
};

/* Fill in *answer, and *r as far as its work needs. */
void av_classify(const struct av_view *view, struct av_classified *r, struct av_answer *answer);

/* ---- parts for callers that walk themselves (mmu/fault/fast.c) ---- */

/* A fault status code without its level. */
#define AV_FSC_TYPE		GENMASK(5, 2)

/* Is the abort about translation, so that the guest's tables must be walked? */
static inline bool av_abort_walked(u64 esr)
{
	/* Translation, access flag and permission faults are consecutive, four levels each. */
	return (u32)FIELD_GET(AV_ESR_FSC, esr) - AV_FSC_TRANSLATION <
	       AV_FSC_PERMISSION + 4 - AV_FSC_TRANSLATION;
}

static inline bool av_abort_is_insn(u64 esr)
{
	return av_esr_ec(esr) == AV_EC_IABT_LOW;
}

/* Cache maintenance is reported as a write but needs only permission to read. */
static inline u8 av_abort_access(u64 esr)
{
	if (av_abort_is_insn(esr))
		return AV_X;
	return (esr & AV_ESR_WNR) && !(esr & AV_ESR_CM) ? AV_W : AV_R;
}

/* Initialize the answer to resume. Field by field: a memset() call takes longer. */
static inline void av_classify_begin(u64 esr, u64 far, struct av_answer *answer)
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

/* After av_classify_begin(), for a true fault: the answer with this fault status code. */
static inline void av_classify_guests(u64 esr, u32 fsc, struct av_answer *answer)
{
	/* Show the guest a stage 1 fault of its own; hide how the hardware found it. */
	u64 keep = answer->insn ? 0 : AV_ESR_WNR | AV_ESR_CM;

	/* Not a fault of any table: the FAR may be invalid. */
	if (fsc == AV_FSC_EXTERNAL)
		keep |= AV_ESR_FNV | AV_ESR_EA;
	answer->kind = AV_ANSWER_ABORT;
	answer->cls = answer->insn ? AV_EXIT_PABT_TRUE : AV_EXIT_DABT_TRUE;
	answer->iss = fsc | (esr & keep);
}

/*
 * The page of the last device access, with the rights seen so far: a translation cached as in a
 * TLB, for one tree and one exception level. The caller drops it when a sequence number of struct
 * av_seq changes (mmu/base/types.h), when a register of the regime other than a TTBR changes, and
 * when memory is added or removed.
 */
struct av_device_page {
	u64 serial;		/* of the tree; 0: no page */
	u64 va, ipa;		/* va is FAR_EL1's page, with the tag */
	u8 el;
	u8 access;		/* AV_R, AV_W: seen to be permitted by the guest's tables */
};

/* av_classify() found a device access: remember the page. */
void av_device_note(struct av_device_page *d, const struct av_view *view,
		    const struct av_classified *r, const struct av_answer *answer);

/* Quick check of the address: most aborts are elsewhere. */
static inline bool av_device_near(const struct av_device_page *d, u64 far)
{
	return d->serial && (far & AV_PAGE_MASK) == d->va;
}

/*
 * Is the abort, in that tree and at that exception level, another access to the page? Then
 * *answer is as av_classify() would make it.
 */
bool av_device_again(const struct av_device_page *d, const struct av_tree *tree, int el,
		     u64 esr, u64 far, struct av_answer *answer);

#endif /* AV_MMU_CLASSIFY_H */
