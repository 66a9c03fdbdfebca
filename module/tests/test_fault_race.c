// SPDX-License-Identifier: GPL-2.0
/*
 * Something else happens during a hidden fault, at each moment at which it could: what is filled
 * is right all the same.
 */
#include "fault_checks.h"

static unsigned int moments, fire_at;
static bool fired;
static void (*action)(void);

static void others(void)
{
	if (moments++ != fire_at)
		return;
	fired = true;
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

/* The walk of one page may be on its way to what is no table any more. */
static void guest_reuses_the_table(void)
{
	guest_set_region(PROC_A, 0, 0);
	guest_tlbi_page(1, PROC_A, page_va(MET), false);
	*guest_word(guest_table(PROC_A, 0) + AT * 8) = DATA | (guest_slots[ODD].gfn + 300) << PAGE_SHIFT;
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

static void host_takes_the_block_apart(void)
{
	vmm_split(guest_slots[BIG].hva);
}

static void guest_remaps_the_block(void)
{
	guest_set_region(PROC_A, 1, 0);
	guest_tlbi_page(1, PROC_A, block_va(7), true);
	guest_set_region(PROC_A, 1, (guest_slots[BIG].gfn + BLOCK_PAGES) << PAGE_SHIFT | D_BLOCK |
			 (DATA & ~D_PAGE));
}

static void block_is_logged(void)
{
	changed_slot = BIG;
	guest_slots[BIG].flags = AV_SLOT_LOG_DIRTY;
	host_thread(set_changed);
}

static void (*const block_actions[])(void) = {
	host_takes_the_block_apart, guest_remaps_the_block, block_is_logged,
};

static void (*const actions[])(void) = {
	host_moves_it, host_moves_neighbour, host_protects_it, host_protects_neighbour,
	host_moves_the_table, guest_remaps_it, guest_remaps_neighbour, guest_unmaps_by_asid,
	guest_frees_the_table, guest_reuses_the_table, slot_goes, slot_is_logged,
};

static void known_group(void)
{
	map_group(0, guest_slots[ODD].gfn);
}

static void unknown_group(void)
{
	unsigned int i;

	map_group(0, guest_slots[ODD].gfn);
	for (i = 0; i < GROUP; i++)
		vmm_migrate(vmm_of(guest_slots[ODD].gfn + i));
}

static void a_block(void)
{
	CHECK(vmm_collapse(guest_slots[BIG].hva));
	map_block(guest_slots[BIG].gfn, 0);
}

/* At each moment of a fault at which something else may happen, it happens. */
static unsigned int try_moments(void (*set)(void), enum way way, u64 va, u8 access)
{
	struct av_answer answer;
	unsigned int tried = 0;

	/* It may make the fault end early: until the fault has not so many moments without it. */
	for (fire_at = 0, fired = true; fired; fire_at++, tried++) {
		guest_start(&(struct guest_how) {});
		set();
		guest_run(0, PROC_A, 0);
		moments = 0;
		fired = false;
		host_others = others;
		guest_fault(0, way, va, guest_esr(access, false), &answer);
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
			tried += try_moments(known_group, way, page_va(AT), AV_R);
			tried += try_moments(known_group, way, page_va(AT), AV_W);
		}
		tried += try_moments(unknown_group, SLOW, page_va(AT), AV_W);
	}
	for (i = 0; i < ARRAY_SIZE(block_actions); i++) {
		action = block_actions[i];
		tried += try_moments(a_block, SLOW, block_va(7), AV_W);
	}
	CHECK(tried > 10 * ARRAY_SIZE(actions));
}

int main(void)
{
	RUN(test_meanwhile);
	return TESTS_DONE();
}
