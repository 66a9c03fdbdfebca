// SPDX-License-Identifier: GPL-2.0
/* Hidden faults in blocks of the guest's: filled with a block, or with pages. */
#include "fault_checks.h"

static void set_big(void)
{
	guest_set_slot(BIG);
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
	guest_run(0, PROC_A, 0);
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
	unsigned int i;
	u64 gfn;

	guest_start(&(struct guest_how) {});
	gfn = guest_slots[ODD].gfn + BLOCK_PAGES;
	map_block(gfn, 0);
	for (i = 16; gfn + i < guest_slots[ODD].gfn + guest_slots[ODD].npages; i++)
		make_known(gfn + i, AV_W);
	fault_by(SLOW, block_va(i - 1), AV_W, 0);
	CHECK_EQ(rights_at(block_va(i - 1)), RW);
	CHECK_EQ(rights_at(block_va(16)), RW);
	CHECK_EQ(rights_at(block_va(i)), 0);
	guest_end();
}

/* The host's memory is one there, but not all of it is the slot's: no block. */
static void test_block_larger_than_the_slot(void)
{
	u64 gfn;

	guest_start(&(struct guest_how) {});
	gfn = guest_slots[RAM].gfn;
	vmm_map(guest_slots[RAM].hva, BLOCK_PAGES);
	CHECK(vmm_collapse(guest_slots[RAM].hva));
	map_block(gfn, 0);
	access_page(PROC_A, block_va(30), AV_R, 0);
	CHECK_EQ(level_at(block_va(30)), 3);
	access_page(PROC_A, block_va(500), AV_R, 0);
	guest_check();
	CHECK(!guest_wrong);
	guest_end();
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

int main(void)
{
	RUN(test_block);
	RUN(test_block_larger_than_the_slot);
	RUN(test_block_over_the_slot);
	RUN(test_blocks_with_care);
	return TESTS_DONE();
}
