// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of a guest whose tables, slots, logs and host pages change at random, also while a fault
 * is filled: by all ways, and each entry is what the world says (guest_world.h). What two ways
 * fill for the same fault is the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "guest_world.h"

/* What was tried. */
static struct {
	unsigned long faults, by[3], aborts, devices, errors, entries, blocks, compared, meanwhile,
		      waited, stale, copies, relinked, shrunk;
} tried;

static unsigned int running_proc;
static bool changed;		/* during a fault: tables, or slots */
static struct guest_how how;

static u64 any_gfn(unsigned int idx)
{
	const struct guest_slot *slot = &guest_slots[below(NR_SLOTS)];

	switch (below(12)) {
	case 0:
		return DEVICE_GFN + idx;
	case 1:
		return slot->gfn + below(slot->npages);
	case 2:
		/* Across a slot's end, or near its begin. */
		return slot->gfn + slot->npages - below(8);
	case 3:
		return slot->gfn;
	default:
		return slot->gfn + 40 + idx % 16 + (slot->npages > 500 ? idx : 0);
	}
}

static u64 any_attributes(unsigned int space)
{
	bool user = space == KERNEL ? !below(4) : below(4);
	u64 desc = D_AF | (user ? D_USER : 0) | (below(3) ? 0 : D_RDONLY) |
		   (user || below(2) ? D_PXN : 0) | (below(2) ? D_UXN : 0);

	if (space == KERNEL ? !below(8) : below(8))
		desc |= D_NG;
	if (!below(12))
		desc &= ~D_AF;
	if (!below(12))
		desc |= D_CONT;
	return desc;
}

static void tlbi_somehow(unsigned int vcpu, unsigned int space, u64 va)
{
	if (below(8))
		guest_tlbi_page(vcpu, space, va, below(2));
	else if (below(3))
		guest_tlbi_asid(vcpu, below(2));
	else
		guest_tlbi_all(vcpu);
}

static u64 before[NR_SPACES][REGIONS][PTES];

/* Unmap a page, or map it as it was. */
static void map_or_unmap(unsigned int vcpu, unsigned int space, unsigned int region, unsigned int idx)
{
	u64 desc = guest_desc(space, region, idx);

	if (desc)
		before[space][region][idx] = desc;
	guest_map(space, region, idx, desc ? 0 : before[space][region][idx]);
	if (desc)
		tlbi_somehow(vcpu, space, region_va(space, region) + idx * PAGE_SIZE);
}

static void change_presence(unsigned int vcpu)
{
	unsigned int space = below(NR_SPACES), region = below(REGIONS), n;
	unsigned int first = below(USED) & ~15, nr = 1 + below(16);

	for (n = first; n < first + nr; n++)
		map_or_unmap(vcpu, space, region, used_idx(n));
}

/* A run of pages that are mapped alike, or one page. */
static void change_pages(unsigned int vcpu)
{
	unsigned int space = below(NR_SPACES), region = below(REGIONS), n = below(USED), i;
	u64 va = region_va(space, region), attributes = any_attributes(space);
	unsigned int nr = below(3) ? 1 : 1 + below(16);
	u64 gfn = any_gfn(used_idx(n));

	for (i = n; i < min(n + nr, (unsigned int)USED); i++) {
		u64 desc = guest_desc(space, region, used_idx(i));

		if (desc & 1 && below(2))
			guest_map(space, region, used_idx(i), 0);
		if (below(8))
			guest_map(space, region, used_idx(i),
				  (gfn + i - n) << PAGE_SHIFT | attributes | D_PAGE);
		if (below(4))
			tlbi_somehow(vcpu, space, va + used_idx(i) * PAGE_SIZE);
	}
}

/* The table of a region goes, comes with limits, or is a block. Nothing in between is seen. */
static void change_region(unsigned int vcpu)
{
	static const u64 limits[] = { 0, 0, D_NO_WRITE, D_NO_USER, D_NO_UXEC, D_NO_PEXEC };
	unsigned int space = below(NR_SPACES), region = below(REGIONS);
	u64 desc = guest_table(space, region) | D_TABLE | limits[below(ARRAY_SIZE(limits))];

	if (!below(3))
		desc = (guest_slots[BIG].gfn + below(2) * BLOCK_PAGES) << PAGE_SHIFT | D_BLOCK |
		       (any_attributes(space) & ~D_CONT);
	guest_set_region(space, region, 0);
	guest_tlbi_all(vcpu);
	guest_set_region(space, region, desc);
}

static void change_guest(unsigned int vcpu)
{
	changed = true;
	if (below(3))
		change_presence(vcpu);
	else if (below(8))
		change_pages(vcpu);
	else
		change_region(vcpu);
}

static u64 any_page(void)
{
	const struct guest_slot *slot = &guest_slots[below(NR_SLOTS)];

	return slot->hva + below(min(slot->npages, 100UL)) * PAGE_SIZE;
}

static void change_host(void)
{
	unsigned long hva = any_page();

	switch (below(9)) {
	case 8:
		tried.shrunk += host_shrink(1 + below(100));
		break;
	case 0:
		vmm_swap_out(hva);
		break;
	case 1:
		vmm_write_protect(hva);
		break;
	case 2:
		vmm_clean(hva);
		break;
	case 3:
		vmm_collapse(guest_slots[BIG].hva + below(2) * PMD_SIZE);
		break;
	case 4:
		vmm_split(guest_slots[BIG].hva + below(2) * PMD_SIZE);
		break;
	default:
		vmm_migrate(hva);
	}
}

static unsigned int slot_to_change;

static void set_slot(void)
{
	guest_set_slot(slot_to_change);
}

static void change_slots(void)
{
	struct guest_slot *slot;
	unsigned int i;

	if (vm.slots_lock.held || host_thread_waits())
		return;
	/* Not the one with the tables; mostly one that is not there. */
	slot_to_change = 1 + below(NR_SLOTS - 1);
	for (i = 1; i < NR_SLOTS; i++)
		if (!guest_slots[i].there && below(8))
			slot_to_change = i;
	slot = &guest_slots[slot_to_change];
	if (!slot->there || how.protected || !below(3))
		slot->there = !slot->there;
	else if (!(slot->flags & AV_SLOT_READONLY))
		slot->flags ^= AV_SLOT_LOG_DIRTY;
	changed = true;
	host_thread(set_slot);
	tried.waited += host_thread_waits();
}

static void take_log(void)
{
	unsigned int n = below(NR_SLOTS);
	/* In the VMM's memory, which is another's page here. */
	const struct kvm_dirty_log log = {
		.slot = n, .dirty_bitmap = (void *)(VMM_BASE + 8000 * PAGE_SIZE),
	};

	if (vm.slots_lock.held || !(guest_slots[n].flags & AV_SLOT_LOG_DIRTY))
		return;
	av_mmu_get_dirty_log(&vm, &log);
}

static void others(void)
{
	if (below(12))
		return;
	tried.meanwhile++;
	switch (below(8)) {
	case 0:
	case 1:
	case 2:
		change_guest(1);
		break;
	case 3:
		change_slots();
		break;
	case 4:
		take_log();
		break;
	case 5:
		host_lock_busy = below(100);
		break;
	default:
		change_host();
	}
}

static struct {
	unsigned int space, region, idx;
	u64 va;
	u8 access;
	int el;
} at;

static void choose_any_access(void)
{
	static const u8 accesses[] = { AV_R, AV_R, AV_W, AV_W, AV_X };

	running_proc = below(2);
	at.el = below(2);
	at.space = below(2) ? KERNEL : running_proc;
	at.region = below(REGIONS);
	at.idx = used_idx(below(USED));
	at.va = region_va(at.space, at.region) + at.idx * PAGE_SIZE + below(PAGE_SIZE);
	at.access = accesses[below(ARRAY_SIZE(accesses))];
}

/* Mostly one that the guest's tables allow. */
static void choose_access(void)
{
	unsigned int tries;

	for (tries = 1 + below(12); tries; tries--) {
		struct leaf leaf;

		choose_any_access();
		leaf = guest_leaf(at.space, at.region, at.idx);
		if (leaf.valid && !(at.access & ~(at.el ? leaf.el1 : leaf.el0)))
			break;
	}
	vcpus[0].srf->pc = below(20) ? 0x1000 : at.va & ~3ULL;
}

static void checked(const struct av_answer *answer, enum way way)
{
	tried.by[way]++;
	tried.aborts += answer->kind == AV_ANSWER_ABORT;
	tried.devices += answer->kind == AV_ANSWER_DEVICE;
	tried.errors += answer->kind == AV_ANSWER_ERROR;
	/* With a change since, it was right when it was found. */
	CHECK(answer->kind == AV_ANSWER_ERROR || changed ||
	      guest_may_answer(0, at.va, at.access, answer));
	changed = false;
	guest_check();
	CHECK(!guest_wrong);
}

static enum way fault_once(struct av_answer *answer)
{
	u64 esr = guest_esr(at.access, guest_entry(0, at.va) & AV_PTE_VALID);
	enum way way = draw() % 3;

	guest_run(0, running_proc, at.el);
	if (!guest_fault(0, way, at.va, esr, answer)) {
		guest_run(0, running_proc, at.el);
		way = SLOW;
		guest_fault(0, way, at.va, esr, answer);
	}
	tried.faults++;
	checked(answer, way);
	return way;
}

/* With others at work: whatever is filled is right. */
static void fault_meanwhile(void)
{
	struct av_answer answer;

	choose_access();
	guest_run(0, running_proc, at.el);
	if (guest_allows(0, at.va, at.access))
		return;
	host_others = others;
	fault_once(&answer);
	host_others = NULL;
}

/* Alone: in the end the guest has its access, or its fault. */
static void fault_alone(void)
{
	struct av_answer answer = {};
	unsigned int tries;

	choose_access();
	guest_run(0, running_proc, at.el);
	for (tries = 0; !guest_allows(0, at.va, at.access); tries++) {
		fault_once(&answer);
		if (answer.kind != AV_ANSWER_RESUME)
			return;
		guest_run(0, running_proc, at.el);
		CHECK(tries < 6);
		if (tries >= 6)
			return;
	}
}

#define PAGE_DESC	BIT_ULL(1)	/* of a valid entry: a page, not a block */

/* One fault by two ways, with nothing left of the first. */
static void fault_twice(void)
{
	struct av_answer first, second;
	u64 esr, pte, entry[2];

	choose_access();
	guest_run(0, running_proc, at.el);
	tlbi_somehow(0, at.space, at.va);
	pte = guest_entry(0, at.va);
	if (pte & AV_PTE_VALID)
		return;
	esr = guest_esr(at.access, false);
	if (!guest_fault(0, FAST, at.va, esr, &first))
		return;
	checked(&first, FAST);
	entry[0] = guest_entry(0, at.va);
	guest_tlbi_page(0, at.space, at.va, true);
	guest_run(0, running_proc, at.el);
	if (!vcpus[0].mmu->stale && !(guest_entry(0, at.va) & AV_PTE_VALID)) {
		guest_fault(0, SLOW, at.va, esr, &second);
		checked(&second, SLOW);
		entry[1] = guest_entry(0, at.va);
		CHECK_EQ(first.kind, second.kind);
		CHECK_EQ(first.iss, second.iss);
		CHECK_EQ(first.cls, second.cls);
		/* The slow way fills a block where it can, the fast ways a page. */
		if (!(entry[1] & PAGE_DESC))
			return;
		/* Known for reading only, a page may be writable by now. */
		if ((entry[0] ^ entry[1]) & ~(AV_PTE_RDONLY | AV_PTE_DBM) || !(entry[0] & AV_PTE_RDONLY))
			CHECK_EQ(entry[0], entry[1]);
		tried.compared++;
	}
}

/* A page of the kernel's that is invalidated and used again and again. */
static void fault_again(void)
{
	struct av_answer answer;
	unsigned int n;

	do
		choose_access();
	while (at.space != KERNEL);
	for (n = 0; n < 4; n++) {
		guest_run(0, running_proc, at.el);
		guest_tlbi_page(0, KERNEL, at.va, true);
		if (guest_allows(0, at.va, at.access) || vcpus[0].mmu->stale)
			return;
		if (n > 1 && !below(4))
			host_others = others;
		if (guest_fault(0, FAST, at.va, guest_esr(at.access, false), &answer))
			checked(&answer, FAST);
		host_others = NULL;
	}
}

static void run(unsigned int steps)
{
	unsigned int i;

	guest_start(&how);
	vmm_map(VMM_BASE + 8000 * PAGE_SIZE, 8);
	for (i = 0; i < 60; i++)
		change_pages(0);
	for (i = 0; i < steps && check_failed < 20; i++) {
		changed = false;
		switch (below(8)) {
		case 0:
			change_guest(0);
			break;
		case 1:
			if (below(2))
				change_host();
			else if (below(2))
				change_slots();
			else
				take_log();
			break;
		case 2:
			fault_twice();
			break;
		case 3:
			fault_again();
			break;
		case 4:
			fault_alone();
			break;
		default:
			fault_meanwhile();
		}
	}
	tried.entries += vcpus[0].stats.event[AV_EVENT_SHADOW_FILL];
	tried.blocks += vcpus[0].stats.event[AV_EVENT_BLOCK_FILL];
	tried.stale += vcpus[0].stats.event[AV_EVENT_SHADOW_RETRY];
	tried.copies += vm.stats.figure[AV_VM_CODE_COPIES_MADE].counter;
	tried.relinked += vm.stats.figure[AV_VM_SHADOW_AGREED].counter;
	guest_end();
}

static u64 first = 1;		/* the first round's seed */

static void test_faults(void)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		seed = first + i;
		how = (struct guest_how) {
			.copies = i & 1, .short_walk = i & 2, .protected = (i & 7) == 4,
			.image = i & 8,
		};
		run(1500);
	}
	/* Enough of all was tried. */
	CHECK(tried.by[FAST] > 500 && tried.by[SLOW] > 1000);
	CHECK(tried.compared > 100 && tried.aborts > 100 && tried.devices > 100);
	CHECK(tried.entries > 5000 && tried.blocks > 20 && tried.copies > 5 && tried.relinked > 50);
	CHECK(tried.waited > 50 && tried.stale > 100 && tried.shrunk);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		first = strtoull(argv[1], NULL, 0);
	RUN(test_faults);
	printf("%lu faults: %lu fast, %lu slow\n", tried.faults, tried.by[FAST],
	       tried.by[SLOW]);
	printf("%lu aborts, %lu devices, %lu errors; %lu entries, %lu blocks, %lu copies, %lu agreed\n",
	       tried.aborts, tried.devices, tried.errors, tried.entries, tried.blocks, tried.copies,
	       tried.relinked);
	printf("meanwhile %lu changes, %lu that waited; %lu stale fills, %lu pages taken back\n",
	       tried.meanwhile, tried.waited, tried.stale, tried.shrunk);
	return TESTS_DONE();
}
