/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of single faults share: a group of pages of a process, used by another before. */
#ifndef AV_TESTS_FAULT_CHECKS_H
#define AV_TESTS_FAULT_CHECKS_H

#include <stdio.h>

#include "check.h"
#include "guest_world.h"

#define RW		(AV_R | AV_W)

/* The group of pages around the page at fault, which is AT; MET is the neighbour looked at. */
#define GROUP		16
#define AT		3
#define MET		9

static inline u64 page_va(unsigned int idx)
{
	return region_va(PROC_A, 0) + idx * PAGE_SIZE;
}

static inline u8 rights_at(u64 va)
{
	u64 pte = guest_entry(0, va);

	if (!(pte & AV_PTE_VALID))
		return 0;
	return (pte & AV_PTE_USER ? AV_R : 0) | (pte & AV_PTE_RDONLY ? 0 : AV_W) |
	       (pte & AV_PTE_UXN ? 0 : AV_X);
}

/* The guest accesses a page until it may. */
static inline void access_page(unsigned int proc, u64 va, u8 access, int el)
{
	struct av_answer answer;
	unsigned int tries;

	for (tries = 0; tries < 5; tries++) {
		guest_run(0, proc, el);
		if (guest_allows(0, va, access))
			return;
		guest_fault(0, SLOW, va, guest_esr(access, false), &answer);
	}
	CHECK(!"accessed");
}

/* One fault by a way, which must be able to do it. */
static inline void fault_by(enum way way, u64 va, u8 access, int el)
{
	struct av_answer answer = {};

	guest_run(0, PROC_A, el);
	CHECK(guest_fault(0, way, va, guest_esr(access, false), &answer));
	CHECK_EQ(answer.kind, AV_ANSWER_RESUME);
	guest_check();
	CHECK(!guest_wrong);
}

static inline unsigned long vmm_of(u64 gfn)
{
	return guest_slot_of(gfn)->hva + (gfn - guest_slot_of(gfn)->gfn) * PAGE_SIZE;
}

/* What a frame's host page was last used for, by another process: 0: for nothing. */
static inline void make_known(u64 gfn, u8 access)
{
	u64 va = region_va(PROC_B, 2);

	if (!access)
		return;
	guest_map(PROC_B, 2, 0, gfn << PAGE_SHIFT | D_PAGE | D_AF | D_NG | D_USER | D_PXN |
		  (access & AV_X ? D_RDONLY : D_UXN));
	access_page(PROC_B, va, access, 0);
	guest_map(PROC_B, 2, 0, 0);
	guest_tlbi_page(0, PROC_B, va, true);
}

/* Attributes of the group's pages. */
#define DATA	(D_PAGE | D_AF | D_NG | D_USER | D_PXN | D_UXN)
#define CODE	(D_PAGE | D_AF | D_NG | D_USER | D_PXN)

/* Data in consecutive frames, all used before. */
static inline void map_group(unsigned int idx, u64 gfn)
{
	unsigned int i;

	for (i = 0; i < GROUP; i++) {
		guest_map(PROC_A, 0, idx + i, (gfn + i) << PAGE_SHIFT | DATA);
		make_known(gfn + i, AV_W);
	}
	guest_tlbi_all(0);
	guest_run(0, PROC_A, 0);
}

/* Region 1 is a block of the guest's. */
static inline u64 block_va(unsigned int idx)
{
	return region_va(PROC_A, 1) + idx * PAGE_SIZE;
}

static inline int level_at(u64 va)
{
	int level = 0;

	av_shadow_lookup(vcpus[0].mmu->tree[va >> 55 & 1], va, &level);
	return level;
}

static inline void map_block(u64 gfn, u64 flip)
{
	guest_set_region(PROC_A, 1, 0);
	guest_tlbi_all(0);
	guest_set_region(PROC_A, 1, (gfn << PAGE_SHIFT | D_BLOCK | (DATA & ~D_PAGE)) ^ flip);
	guest_run(0, PROC_A, 0);
}

#endif /* AV_TESTS_FAULT_CHECKS_H */
