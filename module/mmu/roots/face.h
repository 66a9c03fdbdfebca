/* SPDX-License-Identifier: GPL-2.0 */
/* The trees that a vCPU runs on, for the rest of the module. */
#ifndef AV_MMU_ROOTS_FACE_H
#define AV_MMU_ROOTS_FACE_H

#include "mmu/base/plain.h"
#include "mmu/base/types.h"
#include "mmu/stub/stub.h"
#include "switch/switch.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

/*
 * Where the vCPU enters: its trees' roots and ASIDs. After a successful av_mmu_load();
 * interrupts may be off.
 */
static inline void av_mmu_prepare_entry(struct av_vcpu *vcpu, struct av_entry *out)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	out->root0 = mmu->root[0]->pa;
	out->el = mmu->el;
	out->ttbr1[0] = mmu->ttbr1[0];
	out->ttbr1[1] = mmu->ttbr1[1];
	out->copies = mmu->copies;
	if (mmu->copies)
		mmu->stubs = READ_ONCE(vcpu->vm->mmu->annex.at.va) + AV_STUB_FIRST;
}

/* Load the shadow trees for the current registers and mode. 0 or -ENOMEM. May sleep. */
int av_mmu_load(struct av_vcpu *vcpu);

/*
 * The same at a light exit, after virtual EL1 wrote a TTBR and changed nothing else; interrupts
 * are off. False: call av_mmu_load() before the next entry.
 */
bool av_mmu_load_now(struct av_vcpu *vcpu);

/* AV_REQ_WINDOW: move the vCPU's window to the VM's position. Called by the vCPU's own thread. */
void av_mmu_follow_move(struct av_vcpu *vcpu);

/*
 * Before av_mmu_load(): may virtual EL1 run from copies of its code (mmu/code/copies.h), may the
 * window switch trees itself, and may it read the guest's tables (mmu/guest/switcher_tables.h)?
 */
static inline void av_mmu_want(struct av_vcpu *vcpu, bool copies, bool roots, bool shown)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (unlikely(mmu->plain) && !(--mmu->plain % AV_PLAIN_LOOK))
		av_mmu_count_plain(vcpu);
	if (unlikely(mmu->want_copies != copies || mmu->want_roots != roots ||
		     mmu->want_shown != shown)) {
		mmu->want_copies = copies;
		mmu->want_roots = roots;
		mmu->want_shown = shown;
		mmu->regimes++;
		mmu->stale |= AV_STALE_REGS;
	}
}

/* After a stay in the guest: the window may have switched the exception level or the TTBRs. */
void av_mmu_follow_window(struct av_vcpu *vcpu, int el);

static inline void av_mmu_follow(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;
	int el = av_srf_el1(srf);

	if (unlikely(el != vcpu->mmu->el || !av_srf_at_pair(srf, vcpu->mmu->pair)))
		av_mmu_follow_window(vcpu, el);
}

#endif /* AV_MMU_ROOTS_FACE_H */
