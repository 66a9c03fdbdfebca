// SPDX-License-Identifier: GPL-2.0
/*
 * Hidden faults one by one, by each way: with which rights a page is filled, which of its
 * neighbours come along, and what must not be filled any more when it could be.
 */
#include "fault_checks.h"

#define RX		(AV_R | AV_X)
#define RWX		(RW | AV_X)

static const char *const way_names[] = { "fast", "slow" };

/* The host asks if a frame's page was used, and forgets that. */
static bool host_asks_young(u64 gfn, bool clear)
{
	unsigned long hva = vmm_of(gfn);

	return vmm_age(hva, clear);
}

struct row {
	const char *name;
	u64 flip;		/* bits of the neighbour's descriptor, from DATA */
	u8 used;		/* of the neighbour's frame: AV_*, 0: never */
	bool absent;		/* the host does not have it */
	unsigned int slot;	/* of the group */
	u64 frame;		/* of the group's first page in it */
	u64 other;		/* the neighbour's frame, if it is another */
	u8 fast, slow;		/* its rights, by way */
};

#define KNOWN	.used = AV_W, .slot = ODD, .frame = 20

static const struct row rows[] = {
	{ "mapped alike", KNOWN, .fast = RW, .slow = RW },
	{ "not valid", D_PAGE, KNOWN },
	{ "reserved", D_PAGE & ~1ULL, KNOWN },
	{ "not accessed", D_AF, KNOWN },
	{ "read-only", D_RDONLY, KNOWN, .fast = AV_R, .slow = AV_R },
	{ "of the kernel alone", D_USER, KNOWN },
	{ "global", D_NG, KNOWN },
	{ "in a run of 16", D_CONT, KNOWN },
	{ "an address that the guest has not", BIT_ULL(40), KNOWN },
	{ "to be executed, was not", D_UXN, KNOWN, .slow = RWX },
	{ "to be executed, was", D_UXN, .used = AV_X, .slot = ODD, .frame = 20,
	  .fast = RX, .slow = RWX },
	{ "for the kernel to execute", D_PXN | D_RDONLY, KNOWN, .fast = AV_R, .slow = AV_R },
	{ "never used", .slot = ODD, .frame = 20, .slow = RW },
	{ "never used, not there", .absent = true, .slot = ODD, .frame = 20 },
	{ "known for reading", .used = AV_R, .slot = ODD, .frame = 21,
	  .fast = AV_R, .slow = AV_R },
	{ "of a read-only slot", .used = AV_R, .slot = ROM, .frame = 8,
	  .fast = AV_R, .slow = AV_R },
	{ "logged, and written once", .used = AV_W, .slot = LOGGED, .frame = 8,
	  .fast = AV_R, .slow = AV_R },
	{ "the slot's last", .used = AV_W, .slot = RAM, .frame = 300 - MET - 1,
	  .fast = RW, .slow = RW },
	{ "behind the slot", .used = AV_W, .slot = RAM, .frame = 300 - MET },
	{ "before the slot", .used = AV_W, .slot = NEXT, .frame = -1, .other = 0x40000 + 299 },
	{ "of no slot", KNOWN, .other = DEVICE_GFN },
	{ "of another piece", .used = AV_W, .slot = ODD, .frame = 315 - MET, .fast = RW, .slow = RW },
	{ "a frame far away", .used = AV_W, .slot = ODD, .frame = 20, .other = 0x43200 + 500,
	  .fast = RW, .slow = RW },
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
			CHECK_EQ(rights_at(page_va(MET)),
				 way == FAST ? row->fast : way == SLOW ? row->slow : 0);
			guest_end();
			if (check_failed > before)
				fprintf(stderr, "  in the row: %s, %s\n", row->name, way_names[way]);
		}
}

/* ---- the group --------------------------------------------------------------------- */

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
	static const unsigned int want[] = { 1, GROUP - 1 };
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
		CHECK_EQ(host_asks_young(gfn + MET, true), way == FAST);
		guest_tlbi_all(0);
		CHECK(!host_asks_young(gfn + MET, true));
		/* Filled by a known page and dropped since: it was used all the same. */
		fault_by(way, page_va(AT), AV_R, 0);
		guest_tlbi_all(0);
		CHECK(host_asks_young(gfn + AT, true));
		CHECK_EQ(host_asks_young(gfn + MET, true), way == FAST);
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
		/* Nor if the host has taken the copy back. */
		CHECK(host_shrink(10000));
		CHECK_EQ(rights_at(va), 0);
		CHECK(!guest_fault(0, way, va + 16, guest_esr(AV_R, false), &answer));
		CHECK_EQ(rights_at(va), 0);
		CHECK(!vcpus[0].mmu->plain);
		guest_fault(0, SLOW, va + 16, guest_esr(AV_R, true), &answer);
		CHECK(vcpus[0].mmu->plain);
		access_page(PROC_A, va + 16, AV_R, 1);
		guest_end();
	}
}

/* Code that virtual EL1 runs from copies is read without unmapping them. */
static void test_read_code(void)
{
	struct av_code_read read = {};
	u64 gfn, pc, code, *words;
	unsigned int i;

	guest_start(&(struct guest_how) { .copies = true });
	gfn = guest_slots[ODD].gfn;
	pc = region_va(KERNEL, 0) + 8;
	code = region_va(KERNEL, 0) + AT * PAGE_SIZE;
	*(u32 *)((u8 *)guest_word(gfn << PAGE_SHIFT) + 8) = 0xf9400820;	/* ldr x0, [x1, #16] */
	words = guest_word((gfn + 1) << PAGE_SHIFT);
	for (i = 0; i < PAGE_SIZE / 8; i++)
		words[i] = 0x0807060504030201ULL * (i % 31 + 1);
	/* Two MRS of TPIDR_EL1, which copies replace. */
	words[3] = 0xd538d080d538d080;
	guest_map(KERNEL, 0, 0, gfn << PAGE_SHIFT | D_PAGE | D_AF | D_UXN);
	guest_map(KERNEL, 0, AT, (gfn + 1) << PAGE_SHIFT | D_PAGE | D_AF | D_UXN);
	access_page(PROC_A, pc, AV_X, 1);
	vcpus[0].srf->pc = pc;
	/* Not executed yet. */
	CHECK(!av_mmu_read_code(&vcpus[0], code, &read));
	access_page(PROC_A, code, AV_X, 1);
	vcpus[0].srf->pc = pc;
	for (i = 0; i < PAGE_SIZE; i += i < PAGE_SIZE - 40 ? 37 : 1) {
		u64 want = 0;

		CHECK(av_mmu_read_code(&vcpus[0], code + i, &read));
		memcpy(&want, (u8 *)words + i, min_t(u64, 8, PAGE_SIZE - i));
		CHECK_EQ(read.val, want);
		CHECK_EQ(read.insn, 0xf9400820);
		/* A word apart, so that this is no reading of the whole page. */
		CHECK(av_mmu_read_code(&vcpus[0], code, &read));
	}
	CHECK(av_mmu_read_code(&vcpus[0], code + 24, &read));
	CHECK_EQ(read.val, words[3]);
	CHECK_EQ(rights_at(code), AV_X);
	/* Who reads the whole page gets it. */
	for (i = 0; i < 17; i++)
		CHECK(av_mmu_read_code(&vcpus[0], code + 64 + i * 8, &read));
	CHECK(!av_mmu_read_code(&vcpus[0], code + 64 + 17 * 8, &read));
	CHECK(av_mmu_read_code(&vcpus[0], code, &read));
	/* A site reads its register page, where the guest has put code. */
	vm.mmu->annex.at.va = code;
	CHECK(!av_mmu_read_code(&vcpus[0], code, &read));
	vm.mmu->annex.at.va = 0;
	CHECK(av_mmu_read_code(&vcpus[0], code, &read));
	/* The instruction's own page runs in place. */
	CHECK(!av_mmu_read_code(&vcpus[0], pc + 64, &read));
	CHECK(!vcpus[0].mmu->plain);
	/* The host takes the page back, or moves it. */
	vmm_migrate(guest_slots[ODD].hva + PAGE_SIZE);
	CHECK(!av_mmu_read_code(&vcpus[0], code, &read));
	access_page(PROC_A, code, AV_X, 1);
	vcpus[0].srf->pc = pc;
	CHECK(av_mmu_read_code(&vcpus[0], code, &read));
	CHECK_EQ(read.val, 0x0807060504030201);
	CHECK(host_shrink(10000));
	CHECK(!av_mmu_read_code(&vcpus[0], code, &read));
	/* Another process's kernel half is the same; EL0's is not. */
	access_page(PROC_A, pc, AV_X, 1);
	access_page(PROC_A, code, AV_X, 1);
	vcpus[0].srf->pc = pc;
	guest_run(0, PROC_B, 1);
	CHECK(av_mmu_read_code(&vcpus[0], code, &read));
	guest_run(0, PROC_B, 0);
	CHECK(!av_mmu_read_code(&vcpus[0], code, &read));
	guest_check();
	CHECK(!guest_wrong);
	guest_end();
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
		CHECK(guest_check() - n >= GROUP - 1 || way != FAST);
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
static void test_mapped_again(void)
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

/* Code that virtual EL1 executes a copy of may be read elsewhere; a write drops the copy. */
static void test_code_is_data(void)
{
	u64 gfn, code, va;

	guest_start(&(struct guest_how) { .copies = true });
	gfn = guest_slots[ODD].gfn;
	code = region_va(KERNEL, 0);
	/* The host lets the guest write both pages. */
	guest_word(gfn << PAGE_SHIFT);
	guest_word((gfn + 1) << PAGE_SHIFT);
	guest_map(KERNEL, 0, 0, gfn << PAGE_SHIFT | D_PAGE | D_AF | D_UXN);
	access_page(PROC_A, code, AV_X, 1);
	guest_map(PROC_A, 0, AT, gfn << PAGE_SHIFT | DATA);
	guest_map(PROC_A, 0, MET, (gfn + 1) << PAGE_SHIFT | DATA);
	fault_by(SLOW, page_va(AT), AV_R, 0);
	CHECK_EQ(rights_at(page_va(AT)), AV_R);
	guest_tlbi_page(0, PROC_A, page_va(AT), true);
	/* As a neighbour, too. */
	va = page_va(MET);
	fault_by(SLOW, va, AV_W, 0);
	CHECK_EQ(rights_at(page_va(AT)), AV_R);
	CHECK_EQ(rights_at(va), RW);
	access_page(PROC_A, page_va(AT), AV_W, 0);
	CHECK_EQ(rights_at(page_va(AT)), RW);
	guest_run(0, PROC_A, 1);
	CHECK_EQ(rights_at(code), 0);
	guest_check();
	CHECK(!guest_wrong);
	guest_end();
}

/* The kernel's first page of a single ASID does not go in the tree of every ASID. */
static void test_first_of_an_asid(void)
{
	struct av_answer answer;
	unsigned int way;
	u64 gfn, va;

	for (way = FAST; way < SLOW; way++) {
		guest_start(&(struct guest_how) {});
		gfn = guest_slots[ODD].gfn;
		va = region_va(KERNEL, 0);
		guest_map(KERNEL, 0, 0, (gfn << PAGE_SHIFT | DATA) & ~(D_NG | D_USER));
		guest_map(KERNEL, 0, 20, ((gfn + 1) << PAGE_SHIFT | DATA) & ~D_USER);
		make_known(gfn, AV_W);
		make_known(gfn + 1, AV_W);
		fault_by(way, va, AV_R, 1);
		guest_fault(0, way, va + 20 * PAGE_SIZE, guest_esr(AV_R, false), &answer);
		guest_check();
		CHECK(!guest_wrong);
		access_page(PROC_A, va + 20 * PAGE_SIZE, AV_R, 1);
		access_page(PROC_B, va + 20 * PAGE_SIZE, AV_R, 1);
		guest_check();
		CHECK(!guest_wrong);
		guest_end();
	}
}

/* In the image user memory is not mapped: tables are read by their known pages only. */
static void test_image(void)
{
	struct av_answer answer;
	u64 first, hva, n;

	guest_start(&(struct guest_how) { .image = true });
	first = guest_slots[ODD].gfn;
	map_group(0, first);
	map_group(GROUP, first + GROUP);
	guest_run(0, PROC_A, 0);
	CHECK(!guest_fault(0, FAST, page_va(0), guest_esr(AV_R, false), &answer));
	/* The full path gets to know them. */
	fault_by(SLOW, page_va(0), AV_R, 0);
	make_known(first + GROUP, AV_W);
	fault_by(FAST, page_va(GROUP), AV_R, 0);
	/* The host takes the tables' pages back, and they are unknown again. */
	hva = guest_slots[RAM].hva;
	for (n = 0; n < guest_slots[RAM].npages; n++)
		vmm_migrate(hva + n * PAGE_SIZE);
	CHECK(!guest_fault(0, FAST, page_va(GROUP + 1), guest_esr(AV_R, false), &answer));
	fault_by(SLOW, page_va(GROUP + 1), AV_R, 0);
	guest_end();
}

/* An alignment fault of user space is the guest's; one of its kernel is left to the full exit path. */
static void test_unaligned(void)
{
	u64 esr = (guest_esr(AV_W, false) & ~AV_ESR_FSC) | AV_FSC_ALIGNMENT;
	struct av_answer fast, slow;

	guest_start(&(struct guest_how) {});
	map_group(0, guest_slots[ODD].gfn);
	guest_run(0, PROC_A, 0);
	CHECK(guest_fault(0, FAST, page_va(AT) + 3, esr, &fast));
	CHECK(guest_fault(0, SLOW, page_va(AT) + 3, esr, &slow));
	CHECK_EQ(fast.kind, AV_ANSWER_ABORT);
	CHECK_EQ(slow.kind, AV_ANSWER_ABORT);
	CHECK_EQ(fast.iss, AV_ESR_WNR | AV_FSC_ALIGNMENT);
	CHECK_EQ(fast.iss, slow.iss);
	CHECK_EQ(fast.cls, slow.cls);
	CHECK_EQ(fast.far, slow.far);
	guest_run(0, PROC_A, 1);
	CHECK(!guest_fault(0, FAST, page_va(AT) + 3, esr, &fast));
	guest_end();
}

int main(void)
{
	RUN(test_image);
	RUN(test_neighbours);
	RUN(test_whole_groups);
	RUN(test_group_with_an_entry);
	RUN(test_neighbour_is_filled);
	RUN(test_register_page);
	RUN(test_logged);
	RUN(test_young);
	RUN(test_own_page);
	RUN(test_read_code);
	RUN(test_sleepers);
	RUN(test_mapped_again);
	RUN(test_no_memory);
	RUN(test_code_is_data);
	RUN(test_unaligned);
	RUN(test_first_of_an_asid);
	return TESTS_DONE();
}
