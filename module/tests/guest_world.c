// SPDX-License-Identifier: GPL-2.0
/* A VM and its guest, and what its shadow tables may have: rules in guest_world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "guest_world.h"
#include "mmu/code/copies.h"
#include "mmu/fault/fill.h"
#include "mmu/gmem/private.h"
#include "mmu/host/host.h"
#include "mmu/roots/ttbr_cache.h"
#include "stats/stats.h"
#include "switch/image.h"
#include "switch/tlb.h"

struct av_vm vm;
struct av_vcpu vcpus[2];

static struct av_vm_mmu vm_mmu;
static struct av_vm_switch vm_sw;
static struct av_vcpu_mmu mmus[2];
static struct av_vcpu_switch csws[2];
static struct av_srf srfs[2];
static u64 window[PTES] __aligned(4096);
struct guest_how guest_how;
unsigned int guest_running[2];

/* ---- what mmu/ needs of other folders ------------------------------------------- */

static u16 next_asid;

int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares)
{
	a->asid = next_asid++;
	return 0;
}

bool av_asid_spare(struct av_asid_share *const *shares)
{
	return true;
}

void av_switch_set_position(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    struct av_srf *srf, unsigned int idx, unsigned int position)
{
	csw->position = position;
}

void av_switch_show_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n, u64 pa)
{
}

void av_switch_hide_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
}

void av_switch_flush_table(const struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
}

struct av_vcpu *av_vm_running_vcpu(struct av_vm *vm)
{
	return NULL;
}

/* ---- slots ------------------------------------------------------------------------ */

#define HVA(page)	(VMM_BASE + (page) * PAGE_SIZE)
/* Neighbours by frame, but not in the VMM; blocks; not aligned to the host's. */
static const struct guest_slot all_slots[NR_SLOTS] = {
	[RAM] = { 0x40000, 300, HVA(0) },
	[NEXT] = { 0x40000 + 300, 212, HVA(1024) },
	[BIG] = { 0x40400, 1024, HVA(2048) },
	[ROM] = { 0x41000, 64, HVA(4096), AV_SLOT_READONLY },
	[LOGGED] = { 0x42000, 64, HVA(4352), AV_SLOT_LOG_DIRTY },
	[ODD] = { 0x43200, BLOCK_PAGES + 24, HVA(5121) },
};

struct guest_slot guest_slots[NR_SLOTS];

/* A protected VM's memory. */
int guest_fd;
struct av_gmem *guest_gmem;

static u64 file_page(const struct guest_slot *slot, u64 gfn)
{
	return (slot->hva - VMM_BASE) / PAGE_SIZE + gfn - slot->gfn;
}

static void open_file(void)
{
	struct file *file;

	guest_fd = av_mmu_create_gmem(&vm, GUEST_FILE_PAGES * PAGE_SIZE, guest_how.file_flags);
	REQUIRE(guest_fd >= 0 && !av_gmem_get(&vm, guest_fd, &file, &guest_gmem));
	/* Its slots hold it. */
	fput(file);
}

void guest_set_slot(unsigned int n)
{
	const struct guest_slot *slot = &guest_slots[n];
	const struct kvm_userspace_memory_region2 mem = {
		.slot = n, .guest_phys_addr = slot->gfn << PAGE_SHIFT,
		.memory_size = slot->there ? slot->npages << PAGE_SHIFT : 0,
		.userspace_addr = slot->hva,
		.flags = guest_how.protected && slot->there ? KVM_MEM_GUEST_MEMFD : slot->flags,
		.guest_memfd = guest_fd, .guest_memfd_offset = slot->hva - VMM_BASE,
	};

	REQUIRE(!av_mmu_set_slot(&vm, &mem));
}

const struct guest_slot *guest_slot_of(u64 gfn)
{
	unsigned int n;

	for (n = 0; n < NR_SLOTS; n++)
		if (guest_slots[n].there && gfn - guest_slots[n].gfn < guest_slots[n].npages)
			return &guest_slots[n];
	return NULL;
}

struct vmm_page *guest_page(u64 gfn)
{
	const struct guest_slot *slot = guest_slot_of(gfn);

	return slot ? vmm_page(slot->hva + (gfn - slot->gfn) * PAGE_SIZE) : NULL;
}

u64 *guest_word(u64 gpa)
{
	const struct guest_slot *slot = guest_slot_of(gpa >> PAGE_SHIFT);

	if (!slot)
		return NULL;
	if (!guest_how.protected)
		return vmm_word(slot->hva + gpa - (slot->gfn << PAGE_SHIFT));
	return fake_kva((u8 *)av_gmem_make_page(guest_gmem, file_page(slot, gpa >> PAGE_SHIFT)) +
			gpa % PAGE_SIZE);
}

static u64 peek(u64 gpa)
{
	const struct guest_slot *slot = guest_slot_of(gpa >> PAGE_SHIFT);
	const u8 *page;

	if (!slot)
		return 0;
	if (!guest_how.protected)
		return *vmm_peek(slot->hva + gpa - (slot->gfn << PAGE_SHIFT));
	page = fake_kva(av_gmem_page(guest_gmem, file_page(slot, gpa >> PAGE_SHIFT)));
	return page ? *(u64 *)(page + gpa % PAGE_SIZE) : 0;
}

/* The host's page of a frame now, or NULL. */
struct page *guest_host_page(u64 gfn, bool *writable)
{
	const struct guest_slot *slot = guest_slot_of(gfn);
	const struct vmm_page *v = guest_page(gfn);

	*writable = guest_how.protected || (v && v->writable);
	if (!guest_how.protected)
		return v && v->present ? v->page : NULL;
	return slot ? virt_to_page(av_gmem_page(guest_gmem, file_page(slot, gfn))) : NULL;
}

/* ---- tables ------------------------------------------------------------------------- */

/* In the first frames of RAM: for each space a table of levels 0 to 2, and of level 3 a region. */
static u64 table_gpa(unsigned int space, unsigned int n)
{
	return (guest_slots[RAM].gfn + space * 8 + n) << PAGE_SHIFT;
}

u64 guest_table(unsigned int space, unsigned int region)
{
	return table_gpa(space, 3 + region);
}

u64 guest_space_base(unsigned int space)
{
	return table_gpa(space, guest_how.short_walk ? 1 : 0);
}

u16 space_asid(unsigned int space)
{
	return space == PROC_A ? 6 : 9;
}

u64 region_va(unsigned int space, unsigned int region)
{
	static const u64 at[REGIONS] = { 0x400000, 0x600000, 0x3fe00000 };
	u64 high = guest_how.short_walk ? 0xffffff8000000000ULL : 0xffff000000000000ULL;

	return at[region] + (space == KERNEL ? high : 0);
}

static u64 region_entry(unsigned int space, unsigned int region)
{
	return table_gpa(space, 2) + (region_va(space, region) >> 21 & 511) * 8;
}

u64 guest_desc(unsigned int space, unsigned int region, unsigned int idx)
{
	return peek(guest_table(space, region) + idx * 8);
}

/* By the manual, D8.4: what AP, UXN, PXN and the tables' limits permit; PXN of what EL0 writes. */
static void rights_of(u64 desc, u64 limits, struct leaf *leaf)
{
	bool user = desc & D_USER && !(limits & D_NO_USER);
	bool write = !(desc & D_RDONLY || limits & D_NO_WRITE);

	leaf->el0 = (user ? AV_R : 0) | (user && write ? AV_W : 0) |
		    (desc & D_UXN || limits & D_NO_UXEC ? 0 : AV_X);
	leaf->el1 = AV_R | (write ? AV_W : 0) |
		    (desc & D_PXN || limits & D_NO_PEXEC || (user && write) ? 0 : AV_X);
}

struct leaf guest_leaf(unsigned int space, unsigned int region, unsigned int idx)
{
	u64 entry = peek(region_entry(space, region)), desc = entry;
	struct leaf leaf = {};

	if (!(entry & 1))
		return leaf;
	leaf.block = !(entry & 2);
	if (!leaf.block)
		desc = guest_desc(space, region, idx);
	leaf.gfn = ((desc & GENMASK_ULL(47, 12)) >> PAGE_SHIFT) + (leaf.block ? idx : 0);
	leaf.ng = desc & D_NG;
	rights_of(desc, leaf.block ? 0 : entry, &leaf);
	leaf.valid = desc & D_AF && (leaf.block || (desc & 3) == D_PAGE);
	return leaf;
}

struct past guest_past[VIEWS][REGIONS][USED];

unsigned int guest_view_of(unsigned int space, unsigned int proc)
{
	return space == KERNEL ? 2 + proc : space;
}

unsigned int guest_view_space(unsigned int view)
{
	return view < KERNEL ? view : KERNEL;
}

static bool same_leaf(const struct leaf *a, const struct leaf *b)
{
	return a->valid == b->valid && a->block == b->block && a->ng == b->ng &&
	       a->gfn == b->gfn && a->el1 == b->el1 && a->el0 == b->el0;
}

static bool note_leaf(struct past *p, struct leaf leaf)
{
	if (p->nr && same_leaf(&p->leaf[p->nr - 1], &leaf))
		return true;
	if (p->nr == HISTORY)
		return false;
	p->leaf[p->nr++] = leaf;
	return true;
}

/* The entries of a space have changed, for one page or all. */
static void note(unsigned int space, unsigned int region, unsigned int first, unsigned int end)
{
	unsigned int view, n;

	for (view = 0; view < VIEWS; view++) {
		if (guest_view_space(view) != space)
			continue;
		for (n = first; n < end; n++)
			if (!note_leaf(&guest_past[view][region][n],
				       guest_leaf(space, region, used_idx(n))))
				guest_tlbi_all(1);
	}
}

unsigned int guest_used_nr(unsigned int idx)
{
	unsigned int n = idx < 32 ? idx : idx - (PTES - USED);

	REQUIRE(n < USED && used_idx(n) == idx);
	return n;
}

void guest_map(unsigned int space, unsigned int region, unsigned int idx, u64 desc)
{
	*guest_word(guest_table(space, region) + idx * 8) = desc;
	note(space, region, guest_used_nr(idx), guest_used_nr(idx) + 1);
}

void guest_set_region(unsigned int space, unsigned int region, u64 desc)
{
	*guest_word(region_entry(space, region)) = desc;
	note(space, region, 0, USED);
}

static void build_tables(void)
{
	unsigned int space, region;

	for (space = 0; space < NR_SPACES; space++) {
		*guest_word(table_gpa(space, 0) + 0) = table_gpa(space, 1) | D_TABLE;
		*guest_word(table_gpa(space, 1) + 0) = table_gpa(space, 2) | D_TABLE;
		for (region = 0; region < REGIONS; region++)
			guest_set_region(space, region, guest_table(space, region) | D_TABLE);
	}
}

/* Forget what a page was, where gone() says so. */
typedef bool gone_fn(const struct leaf *leaf, unsigned int view, u16 asid);

static void forget(struct past *p, unsigned int view, unsigned int region, unsigned int n,
		   gone_fn *gone, u16 asid)
{
	unsigned int i, kept = 0;

	for (i = 0; i < p->nr; i++)
		if (!gone(&p->leaf[i], view, asid))
			p->leaf[kept++] = p->leaf[i];
	p->nr = kept;
	REQUIRE(note_leaf(p, guest_leaf(guest_view_space(view), region, used_idx(n))));
}

u16 guest_view_asid(unsigned int view)
{
	return space_asid(view % 2);
}

static bool gone_by_va(const struct leaf *leaf, unsigned int view, u16 asid)
{
	return !leaf->ng || guest_view_asid(view) == asid;
}

static bool gone_by_asid(const struct leaf *leaf, unsigned int view, u16 asid)
{
	return leaf->ng && guest_view_asid(view) == asid;
}

static bool gone_block_by_va(const struct leaf *leaf, unsigned int view, u16 asid)
{
	return leaf->block && gone_by_va(leaf, view, asid);
}

static bool gone_all(const struct leaf *leaf, unsigned int view, u16 asid)
{
	return true;
}

static void forget_everywhere(gone_fn *gone, u16 asid)
{
	unsigned int view, region, n;

	for (view = 0; view < VIEWS; view++)
		for (region = 0; region < REGIONS; region++)
			for (n = 0; n < USED; n++)
				forget(&guest_past[view][region][n], view, region, n, gone, asid);
}

static void issue(unsigned int vcpu, unsigned int op2, u64 xt)
{
	u32 sys = AV_SYS(1, 0, 8, 3, op2);

	if (!av_mmu_tlbi_light(&vcpus[vcpu], sys, xt))
		REQUIRE(av_mmu_tlbi(&vcpus[vcpu], sys, xt));
}

static void forget_page(unsigned int view, unsigned int region, u64 offset, u16 asid)
{
	unsigned int n;

	for (n = 0; n < USED; n++)
		forget(&guest_past[view][region][n], view, region, n,
		       used_idx(n) == offset >> PAGE_SHIFT ? gone_by_va : gone_block_by_va, asid);
}

void guest_tlbi_page(unsigned int vcpu, unsigned int space, u64 va, bool leaf)
{
	u16 asid = space_asid(space == KERNEL ? guest_running[vcpu] : space);
	unsigned int view, region;

	issue(vcpu, leaf ? 5 : 1, (u64)asid << 48 | (va >> 12 & GENMASK_ULL(43, 0)));
	for (view = 0; view < VIEWS; view++)
		for (region = 0; region < REGIONS; region++) {
			u64 offset = va - region_va(guest_view_space(view), region);

			if (offset < PTES * PAGE_SIZE)
				forget_page(view, region, offset, asid);
		}
}

void guest_tlbi_asid(unsigned int vcpu, unsigned int space)
{
	issue(vcpu, 2, (u64)space_asid(space) << 48);
	forget_everywhere(gone_by_asid, space_asid(space));
}

void guest_tlbi_all(unsigned int vcpu)
{
	issue(vcpu, 0, 0);
	forget_everywhere(gone_all, 0);
}

/* ---- vCPUs -------------------------------------------------------------------------- */

static void start_vcpu(unsigned int i)
{
	struct av_vcpu *vcpu = &vcpus[i];
	unsigned int bits = guest_how.short_walk ? 25 : 16;

	*vcpu = (struct av_vcpu) {
		.vm = &vm, .id = i, .idx = i, .srf = &srfs[i], .sw = &csws[i], .mmu = &mmus[i],
	};
	csws[i].context[0].asid.asid = next_asid++;
	csws[i].nr_contexts = 1;
	csws[i].position = AV_WINDOW_HOME;
	atomic_inc(&vm_sw.nr_contexts);
	av_srf_set(&srfs[i], AV_SCTLR_EL1, AV_SCTLR_M);
	av_srf_set(&srfs[i], AV_TCR_EL1, bits | bits << 16 | FIELD_PREP(AV_TCR_TG1, 2) | AV_TCR_AS |
		   FIELD_PREP(AV_TCR_IPS, 2));
	av_srf_set(&srfs[i], AV_MAIR_EL1, 0xff);
	av_srf_set(&srfs[i], AV_TTBR1_EL1, guest_space_base(KERNEL));
	srfs[i].pc = 0x1000;
	srfs[i].vmode = AV_PSR_EL1H;
	srfs[i].roots[AV_SRF_IDLE].ttbr0 = AV_NO_TTBR;
	REQUIRE(!av_mmu_vcpu_init(vcpu));
	vm.vcpus[i] = vcpu;
	vm.nr_vcpus = i + 1;
}

void guest_start(const struct guest_how *with)
{
	unsigned int i;

	host_start();
	guest_how = *with;
	memset(&vm, 0, sizeof(vm));
	memset(&vm_mmu, 0, sizeof(vm_mmu));
	memset(&vm_sw, 0, sizeof(vm_sw));
	memset(mmus, 0, sizeof(mmus));
	memset(csws, 0, sizeof(csws));
	memset(srfs, 0, sizeof(srfs));
	memset(guest_past, 0, sizeof(guest_past));
	next_asid = 1;
	vm.mm = current->mm;
	vm.mmu = &vm_mmu;
	vm.sw = &vm_sw;
	vm.ipa_bits = vm.pa_bits = 40;
	vm.protected = guest_how.protected;
	vm_sw.l3 = window;
	REQUIRE(!av_mmu_init() && !av_mmu_vm_init(&vm));
	memcpy(guest_slots, all_slots, sizeof(guest_slots));
	if (guest_how.protected)
		open_file();
	for (i = 0; i < NR_SLOTS; i++) {
		guest_slots[i].there = true;
		/* Neither read-only nor logged. */
		if (guest_how.protected)
			guest_slots[i].flags = 0;
		vmm_map(guest_slots[i].hva, guest_slots[i].npages);
		guest_set_slot(i);
	}
	/* Before there are vCPUs: what is noted needs no TLBI. */
	build_tables();
	for (i = 0; i < 2; i++) {
		start_vcpu(i);
		guest_run(i, PROC_A, 1);
	}
}

void guest_stop(void)
{
	unsigned int i;

	host_others = NULL;
	if (guest_how.protected)
		process_close(guest_fd);
	av_mmu_vm_stop(&vm);
	for (i = 0; i < 2; i++)
		av_mmu_vcpu_destroy(&vcpus[i]);
	av_mmu_vm_destroy(&vm);
	av_mmu_exit();
	REQUIRE(!av_shrink_counted());
}

void guest_end(void)
{
	guest_stop();
	host_end();
}

void guest_run(unsigned int i, unsigned int proc, int el)
{
	struct av_vcpu *vcpu = &vcpus[i];
	u64 ttbr0 = guest_space_base(proc) | (u64)space_asid(proc) << 48;

	av_mmu_follow(vcpu);
	if (av_srf_get(vcpu->srf, AV_TTBR0_EL1) != ttbr0) {
		av_srf_set(vcpu->srf, AV_TTBR0_EL1, ttbr0);
		av_mmu_ttbr_changed(vcpu);
	}
	if (av_srf_el1(vcpu->srf) != el) {
		vcpu->srf->vmode = el ? AV_PSR_EL1H : AV_PSR_EL0T;
		av_mmu_mode_changed(vcpu);
	}
	guest_running[i] = proc;
	av_mmu_want(vcpu, guest_how.copies, false, false);
	while (vcpu->mmu->stale & AV_STALE_REGS || vcpu->mmu->el != el || vcpu->mmu->stale)
		REQUIRE(!av_mmu_load(vcpu));
}

u64 guest_esr(u8 access, bool permission)
{
	return FIELD_PREP(AV_ESR_EC, access & AV_X ? AV_EC_IABT_LOW : AV_EC_DABT_LOW) | AV_ESR_IL |
	       (access & AV_W ? AV_ESR_WNR : 0) |
	       ((permission ? AV_FSC_PERMISSION : AV_FSC_TRANSLATION) | 3);
}

/* What cpu/light.c does with the fast way's answer. */
static void unpack(u64 done, u64 far, struct av_answer *answer)
{
	*answer = (struct av_answer) {
		.kind = done & AV_LIGHT_INJECT ? AV_ANSWER_ABORT : AV_ANSWER_RESUME,
		.cls = FIELD_GET(AV_LIGHT_CLASS, done), .iss = FIELD_GET(AV_LIGHT_ISS, done),
		.far = far,
	};
}

bool guest_fault(unsigned int i, enum way way, u64 va, u64 esr, struct av_answer *answer)
{
	struct av_vcpu *vcpu = &vcpus[i];
	u64 done;

	switch (way) {
	case FAST:
		fake_in_image = guest_how.image;
		done = av_mmu_fault_light(vcpu, esr, va, true);
		fake_in_image = false;
		unpack(done, va, answer);
		return done;
	default:
		av_mmu_fault(vcpu, esr, va, answer);
		return true;
	}
}

u64 guest_entry(unsigned int i, u64 va)
{
	return av_shadow_lookup(mmus[i].tree[va >> 55 & 1], va, NULL);
}

static u8 pte_rights(u64 pte)
{
	return (pte & AV_PTE_USER ? AV_R : 0) | (pte & AV_PTE_RDONLY ? 0 : AV_W) |
	       (pte & AV_PTE_UXN ? 0 : AV_X);
}

bool guest_allows(unsigned int i, u64 va, u8 access)
{
	u64 pte = guest_entry(i, va);

	return pte & AV_PTE_VALID && !(access & ~pte_rights(pte));
}
