// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual EL1 reads code that it runs from a copy, as its tracers do at each call that they trace.
 * The load is emulated, and the copy stays mapped: a change to the guest's page and back is two
 * hidden faults, of thousands of instructions each.
 *
 * For light exits: interrupts are off, nothing sleeps, and no lock is waited for longer than a
 * moment. A shadow entry that maps a copy says that the guest's EL1 may execute the page. So it may
 * read it, and no table of the guest's is walked.
 */
#include <linux/mm.h>

#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/fault/face.h"
#include "mmu/roots/face.h"

/* So many loads in a row from next to each other: somebody reads the page as a whole. */
#define MOST_IN_A_ROW	16
#define NEXT		16

/* The level-3 table for va, or NULL. The last few are remembered. */
static const struct av_pt *table_of(struct av_vcpu *vcpu, const struct av_tree *tree, u64 va)
{
	struct av_code_table *t = &vcpu->mmu->code_tables[(va >> AV_BLOCK_SHIFT) % AV_CODE_TABLES];
	const struct av_shadow *sh = &vcpu->vm->mmu->shadow;

	if (unlikely(!t->pt || t->shape != sh->shape || t->serial != tree->serial ||
		     t->block != va >> AV_BLOCK_SHIFT))
		*t = (struct av_code_table) {
			.block = va >> AV_BLOCK_SHIFT,
			.serial = tree->serial,
			.shape = sh->shape,
			.pt = av_shadow_table(tree, va),
		};
	return t->pt;
}

/* The address of the page that virtual EL1 executes at va; 0: it cannot. */
static u64 executable(struct av_vcpu *vcpu, u64 va)
{
	const struct av_tree *tree = vcpu->mmu->tree[va >> 55 & 1];
	const struct av_pt *pt;
	u64 pte;

	if (tree->key.mode != AV_MODE_EL1_COPIES)
		return 0;
	pt = table_of(vcpu, tree, va);
	pte = pt ? pt->pte[av_pt_index(va, 3)] : 0;
	if ((pte & (AV_PTE_VALID | AV_PTE_USER | AV_PTE_UXN)) != AV_PTE_VALID)
		return 0;
	return pte & AV_PTE_ADDR;
}

static bool reads_the_page(struct av_vcpu_mmu *mmu, u64 va)
{
	/* A traced call reads the same word each time. */
	mmu->reads_in_a_row = va - mmu->last_read - 1 < NEXT ? mmu->reads_in_a_row + 1 : 0;
	mmu->last_read = va;
	return mmu->reads_in_a_row > MOST_IN_A_ROW;
}

/* The 8 bytes at an address, those behind its page as 0. Each aligned word is loaded once. */
static u64 load(const u64 *page, unsigned int offset)
{
	unsigned int shift = offset % sizeof(u64) * 8, n = offset / sizeof(u64);
	u64 val = READ_ONCE(page[n]) >> shift;

	if (shift && n + 1 < PAGE_SIZE / sizeof(u64))
		val |= READ_ONCE(page[n + 1]) << (64 - shift);
	return val;
}

/* Under mmu_lock. */
static bool look(struct av_vcpu *vcpu, u64 va, struct av_code_read *read)
{
	u64 pc = vcpu->srf->pc, runs, code;
	const struct av_copy *copy;

	/*
	 * A site that finds code where its register page was: the annex ends (code/annex.h).
	 * Instructions that read their own page run in place (slow.c).
	 */
	if (vcpu->vm->mmu->in_progress || av_annex_holds(vcpu->vm, va) || (va ^ pc) < PAGE_SIZE ||
	    reads_the_page(vcpu->mmu, va))
		return false;
	runs = executable(vcpu, pc);
	code = executable(vcpu, va);
	if (!runs || !code)
		return false;
	copy = av_copy_mapped(code);
	if (!copy)
		return false;
	/* A copy has all of the guest's loads. */
	read->insn = READ_ONCE(*(u32 *)(phys_to_virt(runs) + offset_in_page(pc)));
	read->val = load(copy->from, offset_in_page(va));
	return true;
}

bool av_mmu_read_code(struct av_vcpu *vcpu, u64 far, struct av_code_read *read)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	bool found;

	av_mmu_follow(vcpu);
	if (mmu->stale || !av_mmu_lock_soon(vcpu))
		return false;
	found = look(vcpu, av_untag(&mmu->regime, far), read);
	av_mmu_unlock(vcpu);
	return found;
}
