/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The annex: where virtual EL1 reaches its virtual registers without a trap.
 *
 * It is AV_STUB_AREA bytes of the guest's address space, in one of two places:
 *
 *  - from the first page of its kernel's Image up to the code: Linux maps them
 *    (6.9 and later), never to be executed, and never uses them;
 *  - in the hole that Linux leaves in its image when it gives back the memory
 *    of its init sections: it keeps the addresses, so that nothing else comes
 *    there (free_initmem()).
 *
 * In its first page a vCPU has the shared page of its own register file
 * (vm/regfile.h), readable and writable; in the others the VM's stubs (mmu/stub.h)
 * are executed, and only that: an access to data there shows what the guest has
 * there. A hole is one while the anchor, a page of the image below it, is mapped
 * where it was, and nothing at the annex: in tables without the anchor, as those that
 * a kernel has for user space, there is no annex. A guest that maps something in the
 * hole later does not see it in the pages that are in use before the annex is gone,
 * which is when a site next faults there, or is looked at; a jump there may go on at
 * a site. Linux does neither.
 *
 * A site is an instruction in a copy that is replaced by an access to the
 * register page, or a branch to a stub. Sites are found by sampling: every
 * thousandth token of each kind (vm/token.h) leaves the window. A copy is made
 * anew for each site, as no instruction may be changed under a CPU's feet.
 *
 * The register page differs from vCPU to vCPU, so with an annex each vCPU has
 * trees of its own for virtual EL1's copies (struct av_tree_key.owner).
 *
 * Stubs are not changed, and stay until the VM goes or the guest has another
 * kernel. Outside the guest PC is never in one: av_mmu_leave_stub().
 *
 * Locks: mmu_lock for all but what is said below.
 */
#ifndef AV_MMU_ANNEX_H
#define AV_MMU_ANNEX_H

#include "mmu/hidden.h"
#include "mmu/stub.h"

/* ---- annex.c ---- */

void av_annex_init(struct av_vm *vm);
void av_annex_free(struct av_vm *vm);

/* Is there an annex in use, also by now? Takes the lock, may sleep; under srcu. */
bool av_annex_have(struct av_vcpu *vcpu);

/*
 * A vCPU is about to run from copies again, and has executed no site for a while: an
 * annex where the guest has something by now ends, or that has not been there for
 * long. False: there is one, but not in these tables, so that no site would work.
 * Takes the lock, may sleep.
 */
bool av_annex_check(struct av_vcpu *vcpu);

/* Without the lock, and so perhaps of two: whoever acts on it compares it under the lock. */
static inline struct av_annex_place av_annex_place(const struct av_vm *vm)
{
	const struct av_annex_place *at = &vm->mmu->annex.at;
	u64 va = READ_ONCE(at->va);

	return (struct av_annex_place) {
		.va = va, .anchor = READ_ONCE(at->anchor), .ipa = READ_ONCE(at->ipa),
		.hole = READ_ONCE(at->hole),
	};
}

/* Is the address, with or without a tag, in the annex? Without the lock, as above. */
static inline bool av_annex_holds(const struct av_vm *vm, u64 va)
{
	const struct av_annex *annex = &vm->mmu->annex;
	u64 at = READ_ONCE(annex->at.va);

	return at && (va | GENMASK_ULL(63, 56)) - at < (READ_ONCE(annex->pages) + 1) * PAGE_SIZE;
}

/* AV_ABORT_ANNEX: 0 or an errno. Takes the lock, may sleep. */
int av_annex_fill(struct av_hidden *f);

/*
 * Was an abort at far a site's, whose word is in the annex's first page, and which the
 * guest has not mapped now? If so, it runs without sites for a while.
 */
bool av_annex_failed(struct av_vcpu *vcpu, u64 far);

/* Under srcu: the address that va has in the regime in use; n words of one page at ipa. */
bool av_annex_translate(struct av_vcpu *vcpu, u64 va, u64 *ipa);
int av_annex_read(struct av_vcpu *vcpu, u64 ipa, u64 *words, unsigned int n);

/* ---- sites.c ---- */

/* Put what stands at sites into a frame's copy, which has been patched, for va. Is there any? */
bool av_sites_patch(struct av_vm *vm, u64 gfn, u64 va, u64 *code);

/* The frame is executed at two addresses, and a branch is right at one: it has no more sites. */
void av_sites_none(struct av_vm *vm, u64 gfn);

/* Forget all; copies are as they were. Takes the lock, may sleep. */
void av_sites_forget(struct av_vm *vm);

/* Whose of the stubs from there on is pc in, and how is it left? False: in none. Without a lock. */
bool av_sites_rest(struct av_vm *vm, u64 stubs, u64 pc, u64 *site, struct av_stub_rest *rest);

void av_sites_free(struct av_vm *vm);

#endif /* AV_MMU_ANNEX_H */
