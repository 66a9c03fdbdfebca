/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The annex: lets virtual EL1 access its virtual registers without a trap.
 *
 * The annex is AV_STUB_AREA bytes of the guest's address space, in one of two places:
 *
 *  - from the first page of the kernel's Image up to its code: Linux (6.9 and later) maps these
 *    pages non-executable and never uses them;
 *  - in the hole that Linux leaves in its image when it frees its init sections: it never
 *    reuses the addresses (free_initmem()).
 *
 * The first page maps the shared page of the vCPU's own register file (vm/regfile.h), readable and
 * writable. The other pages hold the VM's stubs (mmu/stub/stub.h), execute-only: a data access
 * there reaches the guest's own mapping. A hole is valid while the anchor, a page of the image
 * below it, translates as before and nothing is mapped at the annex. Tables without the anchor,
 * such as a kernel's tables for user space, have no annex. If a guest maps something in the hole
 * later, pages that the annex already uses hide it until a site next faults there or the annex is
 * checked; then the annex ends. A jump there may continue at a site. Linux does neither.
 *
 * A site is an instruction in a copy that is replaced by an access to the register page or a branch
 * to a stub. Sites are found by sampling: each AV_TOKEN_SAMPLE'th token of a kind (vm/token.h)
 * exits, or an earlier one if sites were made lately (cpu/exit.c). The vCPU then changes the
 * instruction in the copy, if no other vCPU may be executing it (patch_sites.c). Otherwise a new
 * copy is made, because a CPU may have fetched the old instruction.
 *
 * The register page differs between vCPUs, so with an annex each vCPU has its own trees for
 * virtual EL1's copies (struct av_tree_key.owner).
 *
 * Stubs never change. They stay until the VM is destroyed or the guest has another kernel.
 * Outside the guest, PC is never in a stub: av_mmu_leave_stub().
 *
 * Locks: everything is under mmu_lock unless stated otherwise below.
 */
#ifndef AV_MMU_ANNEX_H
#define AV_MMU_ANNEX_H

#include "mmu/base/hidden.h"
#include "mmu/stub/stub.h"

/* ---- annex.c ---- */

void av_annex_init(struct av_vm *vm);
void av_annex_free(struct av_vm *vm);

/* Is there an annex ready to use? Finds one if possible. Under srcu. Takes mmu_lock, may sleep. */
bool av_annex_have(struct av_vcpu *vcpu);

/*
 * A vCPU is about to run from copies again and has executed no site for a while. Ends an annex
 * that the guest has mapped something over, or that has been absent for long. False: there is
 * an annex, but not in these tables, so no site would work. Takes mmu_lock, may sleep.
 */
bool av_annex_check(struct av_vcpu *vcpu);

/* Without mmu_lock, so the fields may belong to two places: compare under the lock before use. */
static inline struct av_annex_place av_annex_where(const struct av_vm *vm)
{
	const struct av_annex_place *at = &vm->mmu->annex.at;
	u64 va = READ_ONCE(at->va);

	return (struct av_annex_place) {
		.va = va, .anchor = READ_ONCE(at->anchor), .ipa = READ_ONCE(at->ipa),
		.hole = READ_ONCE(at->hole),
	};
}

/* Is an address, with or without a tag, in the annex? Without mmu_lock, as above. */
static inline bool av_annex_holds(const struct av_vm *vm, u64 va)
{
	const struct av_annex *annex = &vm->mmu->annex;
	u64 at = READ_ONCE(annex->at.va);

	return at && (va | GENMASK_ULL(63, 56)) - at < (READ_ONCE(annex->pages) + 1) * PAGE_SIZE;
}

/* Do the work of AV_ABORT_ANNEX. 0 or an errno. Takes mmu_lock, may sleep. */
int av_annex_fill(struct av_hidden *f);

/*
 * Was an abort at far caused by a site that accessed the annex's first page, where the guest
 * has nothing mapped now? If so, the guest runs without sites for a while.
 */
bool av_annex_failed(struct av_vcpu *vcpu, u64 far);

/* Under srcu: translate va in the current regime; read n words of one page at ipa. */
bool av_annex_translate(struct av_vcpu *vcpu, u64 va, u64 *ipa);
int av_annex_read(struct av_vcpu *vcpu, u64 ipa, u64 *words, unsigned int n);

/* ---- patch_sites.c ---- */

/* Write the sites' words into a frame's patched copy for va. Returns whether there are any. */
bool av_patch_sites_patch(struct av_vm *vm, u64 gfn, u64 va, u64 *code);

/* The frame is executed at two addresses, but a branch fits only one: allow no more sites. */
void av_patch_sites_none(struct av_vm *vm, u64 gfn);

/* Forget all sites, but leave copies unchanged. Takes mmu_lock, may sleep. */
void av_patch_sites_forget(struct av_vm *vm);

/* Find the stub that contains pc, its site, and how to leave it. False: pc is in none. No lock. */
bool av_patch_sites_rest(struct av_vm *vm, u64 stubs, u64 pc, u64 *site, struct av_stub_rest *rest);

void av_patch_sites_free(struct av_vm *vm);

#endif /* AV_MMU_ANNEX_H */
