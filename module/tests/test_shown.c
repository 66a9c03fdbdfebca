// SPDX-License-Identifier: GPL-2.0
/*
 * Guest tables that the window may read (mmu/guest/switcher_tables.h): only those with two faults
 * in a row, no more than there is room for, and none that must not be shown. A table is flushed
 * before another takes its place, and nothing is mapped when the host takes memory back.
 */
#include "check.h"
#include "draw.h"
#include "mmu/guest/switcher_tables.h"
#include "switch/switch.h"
#include "switch/tlb.h"

#define NR_NEARS	12
#define PAGE(n)		(0xffff000000000000UL + (n) * 4096UL)
#define ROOT		0x5000

static struct av_vm vm;
static struct av_vm_mmu vm_mmu;
static struct av_vm_switch vm_sw;
static struct av_vcpu vcpus[FAKE_VCPUS];
static struct av_vcpu_mmu mmus[FAKE_VCPUS];
static struct av_srf srfs[FAKE_VCPUS];
static struct av_root root = { .pa = ROOT };
static struct av_walk_cache nears[NR_NEARS];

static bool safe;

bool av_cpus_meltdown_safe(void)
{
	return safe;
}

void fake_lock(int *lock)
{
	REQUIRE(!*lock);
	*lock = 1;
}

void fake_unlock(int *lock)
{
	REQUIRE(*lock);
	*lock = 0;
}

/* ---- the window ------------------------------------------------------------ */

/* The mapped pages, and those that a TLB may still have; a flush is complete after the wait. */
static struct { u64 mapped, cached; bool flushed; } window[AV_TABLE_VCPUS][AV_SRF_TABLES];
static unsigned int flushes;

void av_switch_show_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n, u64 pa)
{
	REQUIRE(!window[idx][n].mapped && !window[idx][n].cached);
	window[idx][n].mapped = window[idx][n].cached = pa;
}

void av_switch_hide_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
	REQUIRE(window[idx][n].mapped);
	window[idx][n].mapped = 0;
}

void av_tlb_flush_begin(void)
{
}

void av_switch_flush_table(const struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
	REQUIRE(!window[idx][n].mapped);
	window[idx][n].flushed = true;
	flushes++;
}

void av_tlb_flush_end(void)
{
	unsigned int i, n;

	for (i = 0; i < AV_TABLE_VCPUS; i++) {
		for (n = 0; n < AV_SRF_TABLES; n++) {
			if (window[i][n].flushed)
				window[i][n].cached = 0;
			window[i][n].flushed = false;
		}
	}
}

static unsigned int nr_mapped(void)
{
	unsigned int i, n, mapped = 0;

	for (i = 0; i < AV_TABLE_VCPUS; i++) {
		for (n = 0; n < AV_SRF_TABLES; n++) {
			mapped += !!window[i][n].mapped;
			/* Only mapped pages are reached. */
			CHECK_EQ(window[i][n].cached, window[i][n].mapped);
		}
	}
	CHECK_EQ(mapped, vm_mmu.nr_shown);
	return mapped;
}

/* ---- a VM ------------------------------------------------------------------ */

static void begin(void)
{
	unsigned int i;

	memset(&vm_mmu, 0, sizeof(vm_mmu));
	memset(mmus, 0, sizeof(mmus));
	memset(window, 0, sizeof(window));
	vm = (struct av_vm){ .mmu = &vm_mmu, .sw = &vm_sw, .nr_vcpus = FAKE_VCPUS, .pa_bits = 40 };
	safe = true;
	for (i = 0; i < FAKE_VCPUS; i++) {
		vcpus[i] = (struct av_vcpu){
			.vm = &vm, .mmu = &mmus[i], .srf = &srfs[i], .idx = i,
		};
		vm.vcpus[i] = &vcpus[i];
		mmus[i].want_shown = true;
		mmus[i].root[0] = &root;
		av_sw_tables_hide(&vcpus[i]);
	}
	for (i = 0; i < NR_NEARS; i++)
		nears[i] = (struct av_walk_cache){ .words.hva = PAGE(1 + i) };
}

/* A fault of the i'th table, which is for the i'th 2 MiB. */
static void fault(unsigned int v, unsigned int i)
{
	fake_lock(&vm.mmu_lock);
	av_sw_tables_note(&vcpus[v], &nears[i], ((u64)i << AV_BLOCK_SHIFT) + 0x3456);
	fake_unlock(&vm.mmu_lock);
}

static bool sees(unsigned int v, unsigned int i)
{
	const struct av_srf_table *table = &srfs[v].tables[i % AV_SRF_TABLES];

	return table->region == i && table->root0 == ROOT &&
	       window[vcpus[v].idx][i % AV_SRF_TABLES].mapped ==
	       virt_to_phys((void *)nears[i].words.hva);
}

static void revoke(void)
{
	fake_lock(&vm.mmu_lock);
	av_sw_tables_revoke(&vm);
	fake_unlock(&vm.mmu_lock);
}

static void hide_all(void)
{
	fake_lock(&vm.mmu_lock);
	av_sw_tables_hide_all(&vm);
	fake_unlock(&vm.mmu_lock);
}

static void test_second_fault(void)
{
	begin();
	fault(0, 1);
	CHECK(!sees(0, 1) && !nr_mapped());
	fault(0, 1);
	CHECK(sees(0, 1) && nr_mapped() == 1);
	/* Not in a row. */
	fault(0, 2);
	fault(0, 3);
	fault(0, 2);
	CHECK(!sees(0, 2) && !sees(0, 3) && sees(0, 1));
	CHECK(!sees(1, 1));
}

static void test_places(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < NR_NEARS; i++) {
		fault(0, i);
		fault(0, i);
		CHECK(sees(0, i));
		CHECK_EQ(nr_mapped(), min(i + 1, (unsigned int)AV_SRF_TABLES));
	}
	CHECK(!sees(0, 0) && sees(0, NR_NEARS - AV_SRF_TABLES));
	/* The same page is not mapped again. */
	hide_all();
	flushes = 0;
	fault(0, NR_NEARS - 1);
	CHECK(sees(0, NR_NEARS - 1) && !flushes);
}

static void test_hidden(void)
{
	begin();
	fault(0, 1);
	fault(0, 1);
	fault(1, 2);
	fault(1, 2);
	av_sw_tables_hide(&vcpus[0]);
	CHECK(!sees(0, 1) && sees(1, 2));
	hide_all();
	CHECK(!sees(1, 2) && nr_mapped() == 2);
	fault(1, 2);
	CHECK(sees(1, 2));
	revoke();
	CHECK(!sees(1, 2) && !nr_mapped());
	/* Without work where there is nothing. */
	flushes = 0;
	revoke();
	CHECK_EQ(flushes, 0);
	fault(1, 2);
	CHECK(sees(1, 2));
	av_sw_tables_end(&vcpus[1]);
	CHECK(!nr_mapped());
}

/* One thing that forbids it, and none. */
static void test_forbidden(void)
{
	unsigned int i;

	for (i = 0; i < 9; i++) {
		begin();
		switch (i) {
		case 0:
			safe = false;
			break;
		case 1:
			mmus[0].want_shown = false;
			break;
		case 2:
			vm.protected = true;
			break;
		case 3:
			nears[1].at.beyond = GENMASK_ULL(47, AV_SHOWN_PA_BITS - 1);
			break;
		case 4:
			vcpus[0].idx = AV_TABLE_VCPUS;
			break;
		case 5:
			nears[1].at.e0pd = true;
			break;
		/* The VMM's address, which it may unmap. */
		case 6:
			nears[1].words.hva = 0x7f0000001000;
			break;
		case 7:
			av_sw_tables_make_room(&vm, AV_TABLES_MOST_VCPUS);
			break;
		}
		fault(0, 1);
		fault(0, 1);
		CHECK_EQ(nr_mapped(), i == 8);
		CHECK_EQ(srfs[0].tables[1].region, i == 8 ? 1 : AV_NO_REGION);
	}
	av_sw_tables_make_room(&vm, AV_TABLES_MOST_VCPUS - 1);
	CHECK(sees(0, 1));
	av_sw_tables_make_room(&vm, AV_TABLES_MOST_VCPUS);
	CHECK(!nr_mapped() && !sees(0, 1));
}

/* A guest that makes the window move again and again: few positions, then none. */
static void test_positions(void)
{
	begin();
	for (vm_sw.nr_positions = 1; vm_sw.nr_positions <= AV_SHOWN_POSITIONS;
	     vm_sw.nr_positions++) {
		fault(0, 1);
		fault(0, 1);
		CHECK(sees(0, 1));
		fake_lock(&vm.mmu_lock);
		av_sw_tables_position(&vm);
		fake_unlock(&vm.mmu_lock);
		CHECK_EQ(nr_mapped(), vm_sw.nr_positions < AV_SHOWN_POSITIONS);
	}
	fault(0, 1);
	fault(0, 1);
	CHECK(!nr_mapped() && !sees(0, 1));
}

static void test_random(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 20000; i++) {
		unsigned int v = below(FAKE_VCPUS), n = below(NR_NEARS);

		switch (below(20)) {
		case 0:
			revoke();
			CHECK(!nr_mapped());
			break;
		case 1:
			hide_all();
			break;
		case 2:
			av_sw_tables_hide(&vcpus[v]);
			break;
		case 3:
			mmus[v].last_true = NULL;
			break;
		default:
			fault(v, n);
			if (below(2))
				continue;
			fault(v, n);
			CHECK(sees(v, n));
		}
		nr_mapped();
	}
	revoke();
	CHECK(!nr_mapped());
}

int main(void)
{
	RUN(test_second_fault);
	RUN(test_places);
	RUN(test_hidden);
	RUN(test_forbidden);
	RUN(test_positions);
	RUN(test_random);
	return TESTS_DONE();
}
