// SPDX-License-Identifier: GPL-2.0
/* What the shadow tables of guest_world.h's VM may have, and how faults may be answered. */
#include <stdio.h>

#include "guest_world.h"
#include "mmu/code/copies.h"

static u8 pte_rights(u64 pte)
{
	return (pte & AV_PTE_USER ? AV_R : 0) | (pte & AV_PTE_RDONLY ? 0 : AV_W) |
	       (pte & AV_PTE_UXN ? 0 : AV_X);
}

const char *guest_wrong;

/* The rights that a tree may grant of a leaf. */
static u8 tree_rights(const struct av_tree *tree, const struct leaf *leaf)
{
	switch (tree->key.mode) {
	case AV_MODE_EL0:
		return leaf->el0;
	case AV_MODE_SHARED:
		return leaf->el1 & AV_X ? leaf->el0 & ~AV_X : leaf->el0;
	default:
		return leaf->el1;
	}
}

static struct av_slot *module_slot(u64 gfn)
{
	struct av_slot *slot;

	vm.srcu.readers++;
	slot = av_vm_slot(&vm, gfn);
	vm.srcu.readers--;
	return slot;
}

static bool logged_dirty(u64 gfn)
{
	const struct av_slot *slot = module_slot(gfn);

	return slot && slot->dirty && test_bit(gfn - slot->base_gfn, slot->dirty);
}

static const struct av_copy *copy_of(u64 gfn)
{
	struct av_copy *copy;

	hash_for_each_possible(vm.mmu->copies, copy, hash, gfn)
		if (copy->gfn == gfn)
			return copy;
	return NULL;
}

/* What is wrong with rights to the memory of a frame; NULL: nothing. */
static const char *frame_wrong(u64 gfn, u64 pa, u8 rights)
{
	const struct guest_slot *slot = guest_slot_of(gfn);
	bool writable;
	struct page *page = guest_host_page(gfn, &writable);

	if (!slot)
		return "no slot";
	if (!page || page_to_phys(page) != pa)
		return "not the host's page";
	if (page->bad)
		return "bad memory";
	if (rights & AV_X && !page->coherent)
		return "executable, not cleaned";
	if (!(rights & AV_W))
		return NULL;
	if (slot->flags & AV_SLOT_READONLY)
		return "read-only slot";
	if (slot->flags & AV_SLOT_LOG_DIRTY && !logged_dirty(gfn))
		return "not logged";
	if (!writable)
		return "the host writes no more";
	if (!page_dirty(page) && !guest_how.protected)
		return "page not marked dirty";
	return copy_of(gfn) ? "has a copy" : NULL;
}

static const char *copy_wrong(const struct leaf *leaf, u64 pa, u8 rights)
{
	const struct av_copy *copy = copy_of(leaf->gfn);
	bool writable;

	if (!copy || virt_to_phys(copy->code) != pa)
		return "not the frame's copy";
	if (rights != AV_X)
		return "a copy that is data";
	if (copy->from != page_address(guest_host_page(leaf->gfn, &writable)))
		return "a copy of another page";
	return guest_slot_of(leaf->gfn) ? NULL : "no slot";
}

static const char *leaf_wrong(const struct av_tree *tree, u16 asid, const struct leaf *leaf, u64 pa,
			      u8 rights)
{
	if (!leaf->valid)
		return "nothing mapped";
	if (rights & ~tree_rights(tree, leaf))
		return "rights of the guest";
	if (leaf->ng && tree->key.asid != asid)
		return "of another ASID";
	if (tree->key.mode == AV_MODE_EL1_COPIES && rights & AV_X)
		return copy_wrong(leaf, pa, rights);
	return frame_wrong(leaf->gfn, pa, rights);
}

#define PTE_FIXED	(AV_PTE_AF | AV_PTE_NG | AV_PTE_PXN | AV_PTE_SH_INNER)

/* An entry for one page; of a block, its part. */
static const char *entry_wrong(const struct av_tree *tree, unsigned int view, const struct past *p,
			       u64 pte, u64 pa)
{
	const char *wrong = "nothing mapped";
	u8 rights = pte_rights(pte);
	unsigned int i;

	if ((pte & PTE_FIXED) != PTE_FIXED || pte & AV_PTE_ATTR || !rights ||
	    !(pte & AV_PTE_RDONLY) != !!(pte & AV_PTE_DBM))
		return "attributes";
	for (i = 0; i < p->nr && wrong; i++)
		wrong = leaf_wrong(tree, guest_view_asid(view), &p->leaf[i], pa, rights);
	return wrong;
}

static unsigned int count_leaves(const struct av_pt *pt)
{
	unsigned int idx, n = 0;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + 1)) {
		const struct av_pt *below = av_pt_child(pt, idx);

		if (av_pte_is_leaf(pt, idx))
			n++;
		else if (below)
			n += count_leaves(below);
	}
	return n;
}

static void show_past(const struct past *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		const struct leaf *leaf = &p->leaf[i];
		bool writable;
		const struct page *page = guest_host_page(leaf->gfn, &writable);

		fprintf(stderr, "  maps frame %#llx%s, rights %u and %u%s%s; page %#llx\n",
			(unsigned long long)leaf->gfn, leaf->valid ? "" : " (no)", leaf->el1,
			leaf->el0, leaf->ng ? ", nG" : "", leaf->block ? ", block" : "",
			page ? (unsigned long long)page_to_phys(page) : 0ULL);
	}
}

static void complain(const struct av_tree *tree, u64 va, u64 pte, const char *wrong,
		     const struct past *p)
{
	guest_wrong = wrong;
	fprintf(stderr, "tree of mode %u, ASID %#x: %#llx has %#llx: %s\n", tree->key.mode,
		tree->key.asid, (unsigned long long)va, (unsigned long long)pte, wrong);
	if (p)
		show_past(p);
}

static unsigned int check_region(const struct av_tree *tree, unsigned int view, unsigned int region)
{
	unsigned int n, found = 0;
	bool block = false;

	for (n = 0; n < USED; n++) {
		u64 va = region_va(guest_view_space(view), region) + used_idx(n) * PAGE_SIZE;
		int level = 3;
		u64 pte = av_shadow_lookup(tree, va, &level);
		u64 pa = (pte & AV_PTE_ADDR) + (level == 2 ? va & ~PMD_MASK : 0);
		const char *wrong;

		if (!(pte & AV_PTE_VALID))
			continue;
		wrong = entry_wrong(tree, view, &guest_past[view][region][n], pte, pa);
		if (wrong)
			complain(tree, va, pte, wrong, &guest_past[view][region][n]);
		found += level == 3 || !block;
		block |= level == 2;
	}
	return found;
}

static unsigned int check_tree(const struct av_tree *tree)
{
	unsigned int proc = tree->key.asid == space_asid(PROC_B) ? PROC_B : PROC_A, space, region;
	unsigned int found = 0, all = count_leaves(tree->root);

	for (space = 0; space < NR_SPACES && tree->key.base != guest_space_base(space); space++)
		;
	if (space == NR_SPACES)
		return 0;
	for (region = 0; region < REGIONS; region++)
		found += check_region(tree, guest_view_of(space, proc), region);
	if (found != all)
		complain(tree, 0, all - found, "entries where nothing was mapped", NULL);
	return all;
}

unsigned int guest_check(void)
{
	struct av_tree *tree, *tmp;
	unsigned int half, i, n = 0;

	guest_wrong = NULL;
	for (half = 0; half < 2; half++)
		for (i = 0; i <= AV_TREE_BUCKETS; i++)
			av_list_for_each(tree, tmp, &vm.mmu->shadow.trees[half][i], hash)
				n += check_tree(tree);
	return n;
}

/* The answer by one reading of the guest's tables; and what kind of fault it is, or 0. */
static enum av_answer_kind answer_by(const struct leaf *leaf, int el, u8 access, u32 *fsc)
{
	const struct guest_slot *slot = guest_slot_of(leaf->gfn);

	*fsc = leaf->valid ? AV_FSC_PERMISSION : 0;
	if (!leaf->valid || access & ~(el ? leaf->el1 : leaf->el0))
		return AV_ANSWER_ABORT;
	*fsc = AV_FSC_EXTERNAL;
	if (!slot)
		return access & AV_X ? AV_ANSWER_ABORT : AV_ANSWER_DEVICE;
	if (access & AV_W && slot->flags & AV_SLOT_READONLY)
		return AV_ANSWER_DEVICE;
	*fsc = 0;
	return AV_ANSWER_RESUME;
}

bool guest_may_answer(unsigned int i, u64 va, u8 access, const struct av_answer *answer)
{
	unsigned int space = va >> 55 & 1 ? KERNEL : guest_running[i], region, n;
	const struct past *p;
	u32 fsc;

	if (answer->kind == AV_ANSWER_RESUME)
		return true;
	for (region = 0; va - region_va(space, region) >= PTES * PAGE_SIZE; region++)
		;
	p = &guest_past[guest_view_of(space, guest_running[i])][region]
		 [guest_used_nr((va - region_va(space, region)) >> PAGE_SHIFT)];
	for (n = 0; n < p->nr; n++) {
		if (answer_by(&p->leaf[n], vcpus[i].mmu->el, access, &fsc) != answer->kind)
			continue;
		if (answer->kind == AV_ANSWER_ABORT ?
		    (answer->iss & 0x3c) == fsc || (!fsc && (answer->iss & 0x3c) < AV_FSC_PERMISSION) :
		    answer->ipa >> PAGE_SHIFT == p->leaf[n].gfn)
			return true;
	}
	fprintf(stderr, "at EL%d, access %u of %#llx: answer %u, syndrome %#llx, address %#llx\n",
		vcpus[i].mmu->el, access, (unsigned long long)va, answer->kind,
		(unsigned long long)answer->iss, (unsigned long long)answer->ipa);
	show_past(p);
	return false;
}
