// SPDX-License-Identifier: GPL-2.0
/*
 * Hidden faults one by one, by each way: with which rights a page is filled, which of its
 * neighbours come along, and what must not be filled any more when it could be.
 */
#include <stdio.h>

#include "check.h"
#include "guest_world.h"

#define RW		(AV_R | AV_W)
#define RX		(AV_R | AV_X)
#define RWX		(RW | AV_X)

static const char *const way_names[] = { "fast", "light", "slow" };

/* The group of pages around the page at fault, which is AT; MET is the neighbour looked at. */
#define GROUP		16
#define AT		3
#define MET		9

static u64 page_va(unsigned int idx)
{
	return region_va(PROC_A, 0) + idx * PAGE_SIZE;
}

static u8 rights_at(u64 va)
{
	u64 pte = guest_entry(0, va);

	if (!(pte & AV_PTE_VALID))
		return 0;
	return (pte & AV_PTE_USER ? AV_R : 0) | (pte & AV_PTE_RDONLY ? 0 : AV_W) |
	       (pte & AV_PTE_UXN ? 0 : AV_X);
}

/* The guest accesses a page until it may. */
static void access_page(unsigned int proc, u64 va, u8 access, int el)
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
static void fault_by(enum way way, u64 va, u8 access, int el)
{
	struct av_answer answer = {};

	guest_run(0, PROC_A, el);
	CHECK(guest_fault(0, way, va, guest_esr(access, false), &answer));
	CHECK_EQ(answer.kind, AV_ANSWER_RESUME);
	guest_check();
	CHECK(!guest_wrong);
}

static unsigned long vmm_of(u64 gfn)
{
	return guest_slot_of(gfn)->hva + (gfn - guest_slot_of(gfn)->gfn) * PAGE_SIZE;
}

/* The host asks if a frame's page was used, and forgets that. */
static bool host_asks_young(u64 gfn, bool clear)
{
	unsigned long hva = vmm_of(gfn);

	return vmm_age(hva, clear);
}

static void set_big(void)
{
	guest_set_slot(BIG);
}

/* What a frame's host page was last used for, by another process: 0: for nothing. */
static void make_known(u64 gfn, u8 access)
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

struct row {
	const char *name;
	u64 flip;		/* bits of the neighbour's descriptor, from DATA */
	u8 used;		/* of the neighbour's frame: AV_*, 0: never */
	bool absent;		/* the host does not have it */
	unsigned int slot;	/* of the group */
	u64 frame;		/* of the group's first page in it */
	u64 other;		/* the neighbour's frame, if it is another */
	u8 want[3];		/* its rights, by way */
};

#define KNOWN	.used = AV_W, .slot = ODD, .frame = 20

static const struct row rows[] = {
	{ "mapped alike", KNOWN, .want = { RW, RW, RW } },
	{ "not valid", D_PAGE, KNOWN },
	{ "reserved", D_PAGE & ~1ULL, KNOWN },
	{ "not accessed", D_AF, KNOWN },
	{ "read-only", D_RDONLY, KNOWN, .want = { AV_R, AV_R, AV_R } },
	{ "of the kernel alone", D_USER | D_UXN, KNOWN, .want = { 0, 0, AV_X } },
	{ "global", D_NG, KNOWN, .want = { 0, 0, RW } },
	{ "in a run of 16", D_CONT, KNOWN, .want = { 0, 0, RW } },
	{ "an address that the guest has not", BIT_ULL(40), KNOWN },
	{ "to be executed, was not", D_UXN, KNOWN, .want = { 0, 0, RWX } },
	{ "to be executed, was", D_UXN, .used = AV_X, .slot = ODD, .frame = 20,
	  .want = { RX, RX, RWX } },
	{ "for the kernel to execute", D_PXN | D_RDONLY, KNOWN, .want = { AV_R, AV_R, AV_R } },
	{ "never used", .slot = ODD, .frame = 20, .want = { 0, 0, RW } },
	{ "never used, not there", .absent = true, .slot = ODD, .frame = 20 },
	{ "known for reading", .used = AV_R, .slot = ODD, .frame = 21,
	  .want = { AV_R, AV_R, AV_R } },
	{ "of a read-only slot", .used = AV_R, .slot = ROM, .frame = 8,
	  .want = { AV_R, AV_R, AV_R } },
	{ "logged, and written once", .used = AV_W, .slot = LOGGED, .frame = 8,
	  .want = { AV_R, AV_R, AV_R } },
	{ "the slot's last", .used = AV_W, .slot = RAM, .frame = 300 - MET - 1,
	  .want = { RW, RW, RW } },
	{ "behind the slot", .used = AV_W, .slot = RAM, .frame = 300 - MET },
	{ "before the slot", .used = AV_W, .slot = NEXT, .frame = -1, .other = 0x40000 + 299 },
	{ "of no slot", KNOWN, .other = DEVICE_GFN },
	{ "of another piece", .used = AV_W, .slot = ODD, .frame = 315 - MET, .want = { RW, RW, RW } },
	{ "a frame far away", .used = AV_W, .slot = ODD, .frame = 20, .other = 0x43200 + 500,
	  .want = { RW, RW, RW } },
};

static void set_up(const struct row *row)
{
	u64 first = guest_slots[row->slot].gfn + row->frame, gfn = row->other ?: first + MET;
	unsigned int i;

	for (i = 0; i < GROUP; i++) {
		if (i != MET)
			guest_map(PROC_A, 0, i, 0);
		else
			guest_map(PROC_A, 0, i, (gfn << PAGE_SHIFT | DATA) ^ row->flip);
	}
	guest_map(PROC_A, 0, AT, (first + AT) << PAGE_SHIFT | DATA);
	guest_tlbi_all(0);
	make_known(first + AT, row->slot == ROM ? AV_R : AV_W);
	if (guest_slot_of(gfn)) {
		if (!row->absent)
			guest_word(gfn << PAGE_SHIFT);
		if (row->used == AV_R)
			vmm_write_protect(vmm_of(gfn));
		make_known(gfn, row->used);
	}
	guest_run(0, PROC_A, 0);
}

static void test_neighbours(void)
{
	unsigned int i, way;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (way = FAST; way <= SLOW; way++) {
			const struct row *row = &rows[i];
			unsigned long before = check_failed;

			guest_start(&(struct guest_how) {});
			set_up(row);
			fault_by(way, page_va(AT), AV_R, 0);
			CHECK(guest_allows(0, page_va(AT), AV_R));
			CHECK_EQ(rights_at(page_va(MET)), row->want[way]);
			guest_end();
			if (check_failed > before)
				fprintf(stderr, "  in the row: %s, %s\n", row->name, way_names[way]);
		}
}

/* ---- the group --------------------------------------------------------------------- */

/* Data in consecutive frames, all used before. */
static void map_group(unsigned int idx, u64 gfn)
{
	unsigned int i;

	for (i = 0; i < GROUP; i++) {
		guest_map(PROC_A, 0, idx + i, (gfn + i) << PAGE_SHIFT | DATA);
		make_known(gfn + i, AV_W);
	}
	guest_tlbi_all(0);
	guest_run(0, PROC_A, 0);
}

/* All pages of the group and none beside it, at the table's begin and end. */
static void test_whole_groups(void)
{
	static const unsigned int idx[] = { 0, 16, PTES - GROUP };
	unsigned int i, way, at, n;

	for (way = FAST; way <= SLOW; way++)
		for (i = 0; i < ARRAY_SIZE(idx); i++)
			for (at = 0; at < GROUP; at += GROUP - 1) {
				guest_start(&(struct guest_how) {});
				for (n = 0; n < ARRAY_SIZE(idx); n++)
					map_group(idx[n], guest_slots[ODD].gfn + idx[n]);
				n = guest_check();
				fault_by(way, page_va(idx[i] + at), AV_W, 0);
				CHECK_EQ(guest_check() - n, GROUP);
				guest_end();
			}
}

/* With an entry in the group, pages are used one by one: nothing but the page is filled. */
static void test_group_with_an_entry(void)
{
	static const unsigned int want[] = { 1, 1, GROUP - 1 };
	unsigned int way, n;

	for (way = FAST; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		map_group(0, guest_slots[ODD].gfn);
		fault_by(way, page_va(0), AV_R, 0);
		for (n = 1; n < GROUP; n++)
			guest_tlbi_page(0, PROC_A, page_va(n), true);
		guest_run(0, PROC_A, 0);
		CHECK_EQ(rights_at(page_va(0)), RW);
		n = guest_check();
		fault_by(way, page_va(AT), AV_R, 0);
		CHECK_EQ(guest_check() - n, want[way]);
		guest_end();
	}
}

/* What is there already stays as it is. */
static void test_neighbour_is_filled(void)
{
	unsigned int way;
	u64 before;

	for (way = FAST; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		map_group(0, guest_slots[ODD].gfn);
		fault_by(SLOW, page_va(AT), AV_R, 0);
		before = guest_entry(0, page_va(MET));
		CHECK(before & AV_PTE_VALID);
		/* No TLBI yet. */
		guest_map(PROC_A, 0, MET, (guest_slots[ODD].gfn + 100) << PAGE_SHIFT | DATA);
		make_known(guest_slots[ODD].gfn + 100, AV_W);
		guest_tlbi_page(0, PROC_A, page_va(AT), true);
		fault_by(way, page_va(AT), AV_R, 0);
		CHECK_EQ(guest_entry(0, page_va(MET)), before);
		guest_end();
	}
}

/* The annex's page of registers is not the guest's, whatever the guest has mapped there. */
static void test_register_page(void)
{
	unsigned int way, i;
	u64 gfn, va;

	for (way = FAST; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[ODD].gfn;
		va = region_va(KERNEL, 0);
		for (i = 0; i < GROUP; i++) {
			guest_map(KERNEL, 0, i, ((gfn + i) << PAGE_SHIFT | DATA) & ~(D_NG | D_USER));
			make_known(gfn + i, AV_W);
		}
		vm.mmu->annex.at.va = va + MET * PAGE_SIZE;
		fault_by(way, va + AT * PAGE_SIZE, AV_W, 1);
		CHECK_EQ(rights_at(va + (MET - 1) * PAGE_SIZE), RW);
		CHECK_EQ(rights_at(va + MET * PAGE_SIZE), 0);
		CHECK_EQ(rights_at(va + (MET + 1) * PAGE_SIZE), RW);
		vm.mmu->annex.at.va = 0;
		guest_end();
	}
}

/* ---- the page ------------------------------------------------------------------------ */

/* A logged page is written by the long way only, which logs it. */
static void test_logged(void)
{
	struct av_answer answer;
	unsigned int way;
	u64 gfn;

	for (way = FAST; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[LOGGED].gfn + 5;
		guest_map(PROC_A, 0, AT, gfn << PAGE_SHIFT | DATA);
		make_known(gfn, AV_W);
		fault_by(way, page_va(AT), AV_R, 0);
		CHECK_EQ(rights_at(page_va(AT)), AV_R);
		CHECK_EQ(guest_fault(0, way, page_va(AT), guest_esr(AV_W, true), &answer),
			 way == SLOW);
		CHECK_EQ(rights_at(page_va(AT)), way == SLOW ? RW : AV_R);
		guest_check();
		CHECK(!guest_wrong);
		guest_end();
	}
}

/* What is known of the host: was the page filled by the guest lately? */
static void test_young(void)
{
	unsigned int way;
	u64 gfn;

	for (way = FAST; way < SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[ODD].gfn;
		map_group(0, gfn);
		fault_by(way, page_va(AT), AV_R, 0);
		CHECK(host_asks_young(gfn + AT, true));
		CHECK(host_asks_young(gfn + MET, true));
		guest_tlbi_all(0);
		CHECK(!host_asks_young(gfn + MET, true));
		/* Filled by a known page and dropped since: it was used all the same. */
		fault_by(way, page_va(AT), AV_R, 0);
		guest_tlbi_all(0);
		CHECK(host_asks_young(gfn + AT, true));
		CHECK(host_asks_young(gfn + MET, true));
		CHECK(!host_asks_young(gfn + MET, true));
		guest_end();
	}
}

/* An access to the page that the vCPU executes a copy of is for the code as it is. */
static void test_own_page(void)
{
	struct av_answer answer;
	unsigned int way;
	u64 va;

	for (way = FAST; way < SLOW; way++) {
		guest_start(&(struct guest_how) { .copies = true });
		va = region_va(KERNEL, 0) + AT * PAGE_SIZE;
		guest_map(KERNEL, 0, AT, (guest_slots[ODD].gfn << PAGE_SHIFT) | D_PAGE | D_AF | D_UXN);
		make_known(guest_slots[ODD].gfn, AV_W);
		access_page(PROC_A, va, AV_X, 1);
		CHECK_EQ(rights_at(va), AV_X);
		vcpus[0].srf->pc = va + 8;
		CHECK(!guest_fault(0, way, va + 16, guest_esr(AV_R, true), &answer));
		CHECK_EQ(rights_at(va), AV_X);
		CHECK(!vcpus[0].mmu->plain);
		guest_fault(0, SLOW, va + 16, guest_esr(AV_R, true), &answer);
		CHECK(vcpus[0].mmu->plain);
		access_page(PROC_A, va + 16, AV_R, 1);
		guest_end();
	}
}

/* Entries of a table that was kept: asleep while the guest has nothing there, then as before. */
static void test_sleepers(void)
{
	u64 gfn, entry;
	unsigned int way, i, n;

	for (way = FAST; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[ODD].gfn;
		map_group(0, gfn);
		fault_by(FAST, page_va(0), AV_R, 0);
		entry = guest_entry(0, page_va(AT));
		for (i = 0; i < GROUP; i++)
			guest_map(PROC_A, 0, i, 0);
		guest_map(PROC_A, 0, GROUP, (gfn + GROUP) << PAGE_SHIFT | DATA);
		guest_tlbi_asid(0, PROC_A);
		access_page(PROC_A, page_va(GROUP), AV_R, 0);
		for (i = 0; i < GROUP; i++)
			CHECK_EQ(rights_at(page_va(i)), 0);
		n = guest_check();
		/* All as before, but one. */
		for (i = 0; i < GROUP; i++)
			guest_map(PROC_A, 0, i, (gfn + (i == MET ? 100 : i)) << PAGE_SHIFT | DATA);
		fault_by(way, page_va(AT), AV_W, 0);
		CHECK_EQ(guest_entry(0, page_va(AT)), entry);
		CHECK_EQ(rights_at(page_va(MET)), 0);
		CHECK(guest_check() - n >= GROUP - 1 || way == SLOW);
		guest_end();
	}
}

/* What may have changed between two fills of the same page of the kernel's. */
static void nothing_changes(u64 gfn) { }
static void host_moves(u64 gfn) { vmm_migrate(vmm_of(gfn)); }
static void host_protects(u64 gfn) { vmm_write_protect(vmm_of(gfn)); }
static void guest_protects(u64 gfn)
{
	guest_map(KERNEL, 0, AT, (gfn << PAGE_SHIFT | DATA | D_RDONLY) & ~(D_NG | D_USER));
}

static void guest_moves(u64 gfn)
{
	guest_map(KERNEL, 0, AT, ((gfn + 1) << PAGE_SHIFT | DATA) & ~(D_NG | D_USER));
}

/* A page that the kernel maps and invalidates again and again, as to patch its text through it. */
static void test_refill(void)
{
	static void (*const changes[])(u64 gfn) = {
		nothing_changes, host_moves, host_protects, guest_protects, guest_moves,
	};
	struct av_answer answer;
	unsigned int i, n;
	u64 va, gfn;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		guest_start(&(struct guest_how) {});
		va = region_va(KERNEL, 0) + AT * PAGE_SIZE;
		gfn = guest_slots[ODD].gfn;
		make_known(gfn, AV_W);
		make_known(gfn + 1, AV_W);
		guest_map(KERNEL, 0, AT, (gfn << PAGE_SHIFT | DATA) & ~(D_NG | D_USER));
		for (n = 0; n < 4; n++) {
			fault_by(FAST, va, AV_W, 1);
			guest_tlbi_page(0, KERNEL, va, true);
		}
		changes[i](gfn);
		guest_tlbi_page(0, KERNEL, va, true);
		CHECK_EQ(guest_fault(0, FAST, va, guest_esr(AV_W, false), &answer), i != 1 && i != 2);
		guest_check();
		CHECK(!guest_wrong);
		CHECK_EQ(rights_at(va), i && i < 4 ? 0 : RW);
		guest_end();
	}
}

/* The VMM has no memory there, or it has failed. */
static void test_no_memory(void)
{
	u64 gfn = guest_slots[ODD].gfn;
	struct av_answer answer;

	guest_start(&(struct guest_how) {});
	map_group(0, guest_slots[ODD].gfn);
	vmm_unmap(vmm_of(gfn + AT), 1);
	guest_fault(0, SLOW, page_va(AT), guest_esr(AV_R, false), &answer);
	CHECK_EQ(answer.kind, AV_ANSWER_ERROR);
	CHECK_EQ(answer.err, -EFAULT);
	vmm_poison(vmm_of(gfn + MET));
	guest_fault(0, SLOW, page_va(MET), guest_esr(AV_R, false), &answer);
	CHECK_EQ(answer.kind, AV_ANSWER_RESUME);
	CHECK_EQ(host_sigbus, 1);
	guest_check();
	CHECK(!guest_wrong);
	guest_end();
}

/* ---- blocks ---------------------------------------------------------------------------- */

/* Region 1 is a block of the guest's. */
static u64 block_va(unsigned int idx)
{
	return region_va(PROC_A, 1) + idx * PAGE_SIZE;
}

static int level_at(u64 va)
{
	int level = 0;

	av_shadow_lookup(vcpus[0].mmu->tree[va >> 55 & 1], va, &level);
	return level;
}

static void map_block(u64 gfn, u64 flip)
{
	guest_set_region(PROC_A, 1, 0);
	guest_tlbi_all(0);
	guest_set_region(PROC_A, 1, (gfn << PAGE_SHIFT | D_BLOCK | (DATA & ~D_PAGE)) ^ flip);
	guest_run(0, PROC_A, 0);
}

static void test_block(void)
{
	struct guest_slot *big = &guest_slots[BIG];
	struct av_answer answer;

	guest_start(&(struct guest_how) {});
	CHECK(vmm_collapse(big->hva));
	map_block(big->gfn, 0);
	/* Not by known pages, which would be in its way. */
	make_known(big->gfn + 7, AV_W);
	CHECK(!guest_fault(0, LIGHT, block_va(7), guest_esr(AV_R, false), &answer));
	CHECK(!guest_fault(0, FAST, block_va(7), guest_esr(AV_R, false), &answer));
	fault_by(SLOW, block_va(7), AV_W, 0);
	CHECK_EQ(level_at(block_va(7)), 2);
	CHECK_EQ(rights_at(block_va(500)), RW);
	guest_end();
	/* Pages, if the host has pages; only those of the group. */
	guest_start(&(struct guest_how) {});
	map_block(big->gfn, 0);
	guest_word((big->gfn + 8) << PAGE_SHIFT);
	fault_by(SLOW, block_va(7), AV_W, 0);
	CHECK_EQ(level_at(block_va(7)), 3);
	CHECK_EQ(rights_at(block_va(8)), RW);
	CHECK_EQ(rights_at(block_va(9)), 0);
	CHECK_EQ(rights_at(block_va(16)), 0);
	guest_end();
	/* Pages, to be executed. */
	guest_start(&(struct guest_how) {});
	CHECK(vmm_collapse(big->hva));
	map_block(big->gfn, D_UXN);
	fault_by(SLOW, block_va(7), AV_X, 0);
	CHECK_EQ(level_at(block_va(7)), 3);
	guest_end();
}

/* The slot ends within the guest's block: pages up to its last. */
static void test_block_over_the_slot(void)
{
	unsigned int way, i;
	u64 gfn;

	for (way = LIGHT; way <= SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[ODD].gfn + BLOCK_PAGES;
		map_block(gfn, 0);
		for (i = 16; gfn + i < guest_slots[ODD].gfn + guest_slots[ODD].npages; i++)
			make_known(gfn + i, AV_W);
		fault_by(way, block_va(i - 1), AV_W, 0);
		CHECK_EQ(rights_at(block_va(i - 1)), RW);
		CHECK_EQ(rights_at(block_va(16)), way == SLOW ? RW : 0);
		CHECK_EQ(rights_at(block_va(i)), 0);
		guest_end();
	}
}

/* No block where a page needs care; none that grants more than the host does. */
static void test_blocks_with_care(void)
{
	struct guest_slot *big = &guest_slots[BIG];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		guest_start(&(struct guest_how) { .copies = true });
		CHECK(vmm_collapse(big->hva));
		if (i == 0) {
			big->flags = AV_SLOT_LOG_DIRTY;
			host_thread(set_big);
		} else if (i == 1) {
			/* A copy of one of its pages. */
			guest_map(KERNEL, 0, 0, (big->gfn + 40) << PAGE_SHIFT | D_PAGE | D_AF | D_UXN);
			access_page(PROC_A, region_va(KERNEL, 0), AV_X, 1);
		} else {
			/* The host lets nobody write. */
			vmm_page(big->hva)->writable = false;
		}
		map_block(big->gfn, 0);
		access_page(PROC_A, block_va(7), i == 2 ? AV_R : AV_W, 0);
		CHECK_EQ(level_at(block_va(7)), i == 2 ? 2 : 3);
		CHECK_EQ(rights_at(block_va(7)), i == 2 ? AV_R : RW);
		guest_check();
		CHECK(!guest_wrong);
		guest_end();
	}
}

/* ---- meanwhile ---------------------------------------------------------------------------- */

static unsigned int moments, fire_at;
static void (*action)(void);

static void others(void)
{
	if (moments++ == fire_at)
		action();
}

static void host_moves_it(void)
{
	vmm_migrate(vmm_of(guest_slots[ODD].gfn + AT));
}

static void host_moves_neighbour(void)
{
	vmm_migrate(vmm_of(guest_slots[ODD].gfn + MET));
}

static void host_protects_it(void)
{
	vmm_write_protect(vmm_of(guest_slots[ODD].gfn + AT));
}

static void host_protects_neighbour(void)
{
	vmm_write_protect(vmm_of(guest_slots[ODD].gfn + MET));
}

static void host_moves_the_table(void)
{
	vmm_migrate(vmm_of(guest_table(PROC_A, 0) >> PAGE_SHIFT));
}

static void remap(unsigned int idx)
{
	guest_map(PROC_A, 0, idx, (guest_slots[ODD].gfn + 200) << PAGE_SHIFT | DATA | D_RDONLY);
	guest_tlbi_page(1, PROC_A, page_va(idx), true);
}

static void guest_remaps_it(void)
{
	remap(AT);
}

static void guest_remaps_neighbour(void)
{
	remap(MET);
}

static void guest_unmaps_by_asid(void)
{
	guest_map(PROC_A, 0, AT, 0);
	guest_map(PROC_A, 0, MET, 0);
	guest_tlbi_asid(1, PROC_A);
}

static void guest_frees_the_table(void)
{
	unsigned int i;

	guest_set_region(PROC_A, 0, 0);
	guest_tlbi_page(1, PROC_A, page_va(AT), false);
	guest_tlbi_asid(1, PROC_A);
	/* It is data from now on. */
	for (i = 0; i < GROUP; i++)
		*guest_word(guest_table(PROC_A, 0) + i * 8) = DATA | guest_slots[ROM].gfn << PAGE_SHIFT;
}

static unsigned int changed_slot;

static void set_changed(void)
{
	guest_set_slot(changed_slot);
}

static void slot_goes(void)
{
	changed_slot = ODD;
	guest_slots[ODD].there = false;
	host_thread(set_changed);
}

static void slot_is_logged(void)
{
	changed_slot = ODD;
	guest_slots[ODD].flags = AV_SLOT_LOG_DIRTY;
	host_thread(set_changed);
}

static void (*const actions[])(void) = {
	host_moves_it, host_moves_neighbour, host_protects_it, host_protects_neighbour,
	host_moves_the_table, guest_remaps_it, guest_remaps_neighbour, guest_unmaps_by_asid,
	guest_frees_the_table, slot_goes, slot_is_logged,
};

/* At each moment of a fault at which something else may happen, it happens. */
static unsigned int try_moments(enum way way, u8 access, bool known)
{
	struct av_answer answer;
	unsigned int i, tried = 0;

	for (fire_at = 0, moments = 1; fire_at < moments; fire_at++, tried++) {
		guest_start(&(struct guest_how) {});
		map_group(0, guest_slots[ODD].gfn);
		for (i = 0; i < GROUP && !known; i++)
			vmm_migrate(vmm_of(guest_slots[ODD].gfn + i));
		guest_run(0, PROC_A, 0);
		moments = 0;
		host_others = others;
		guest_fault(0, way, page_va(AT), guest_esr(access, false), &answer);
		host_others = NULL;
		guest_check();
		CHECK(!guest_wrong);
		guest_end();
	}
	return tried;
}

static void test_meanwhile(void)
{
	unsigned int way, i, tried = 0;

	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		action = actions[i];
		for (way = FAST; way <= SLOW; way++) {
			tried += try_moments(way, AV_R, true);
			tried += try_moments(way, AV_W, true);
		}
		tried += try_moments(SLOW, AV_W, false);
	}
	CHECK(tried > 10 * ARRAY_SIZE(actions));
}

int main(void)
{
	RUN(test_neighbours);
	RUN(test_whole_groups);
	RUN(test_group_with_an_entry);
	RUN(test_neighbour_is_filled);
	RUN(test_register_page);
	RUN(test_logged);
	RUN(test_young);
	RUN(test_own_page);
	RUN(test_sleepers);
	RUN(test_refill);
	RUN(test_no_memory);
	RUN(test_block);
	RUN(test_block_over_the_slot);
	RUN(test_blocks_with_care);
	RUN(test_meanwhile);
	return TESTS_DONE();
}
