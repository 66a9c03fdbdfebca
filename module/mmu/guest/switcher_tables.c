// SPDX-License-Identifier: GPL-2.0
/* Guest tables in the window: rules in switcher_tables.h. */
#include <linux/io.h>

#include "mmu/guest/switcher_tables.h"
#include "switch/leave.h"
#include "switch/offsets.h"
#include "switch/switch.h"
#include "switch/tlb.h"

static_assert(BIT_ULL(DESC_VALID_BIT) + BIT_ULL(DESC_PAGE_BIT) == AV_DESC_PAGE);
static_assert(BIT_ULL(DESC_AF_BIT) == AV_DESC_AF);
static_assert(DESC_FAR_AWAY == GENMASK_ULL(47, AV_SHOWN_PA_BITS));
static_assert(TABLE_REGION_SHIFT == AV_BLOCK_SHIFT);
static_assert(FSC_TRANSLATION == AV_FAULT_FSC(AV_FAULT_CODE(AV_FSC_TRANSLATION, 3)) &&
	      FSC_ACCESS == AV_FAULT_FSC(AV_FAULT_CODE(AV_FSC_ACCESS_FLAG, 3)) &&
	      FSC_PERMISSION == AV_FAULT_FSC(AV_FAULT_CODE(AV_FSC_PERMISSION, 3)));

/* Unmap one of a vCPU's tables. The caller flushes. */
static void unmap(struct av_vcpu *vcpu, unsigned int n)
{
	WRITE_ONCE(vcpu->srf->tables[n].region, AV_NO_REGION);
	av_switch_hide_table(vcpu->vm->sw, vcpu->idx, n);
	vcpu->mmu->shown[n] = 0;
	vcpu->vm->mmu->nr_shown--;
}

static void map(struct av_vcpu *vcpu, unsigned int n, u64 pa)
{
	if (vcpu->mmu->shown[n]) {
		unmap(vcpu, n);
		av_tlb_flush_begin();
		av_switch_flush_table(vcpu->vm->sw, vcpu->idx, n);
		av_tlb_flush_end();
	}
	av_switch_show_table(vcpu->vm->sw, vcpu->idx, n, pa);
	vcpu->mmu->shown[n] = pa;
	vcpu->vm->mmu->nr_shown++;
}

/* Only pages with a kernel address: the walk cache forgets them at the notifier. */
static bool may_show(const struct av_vcpu *vcpu, const struct av_walk_cache *near)
{
	return vcpu->mmu->want_shown && !vcpu->vm->mmu->shown_off && av_cpus_meltdown_safe() &&
	       vcpu->idx < AV_TABLE_VCPUS &&
	       !(near->at.beyond & GENMASK_ULL(AV_SHOWN_PA_BITS - 1, 0)) && !near->at.e0pd &&
	       !vcpu->vm->protected && (long)near->words.hva < 0;
}

void av_sw_tables_note(struct av_vcpu *vcpu, const struct av_walk_cache *near, u64 va)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	u64 region = va >> AV_BLOCK_SHIFT, pa;
	unsigned int n = region % AV_SRF_TABLES;
	struct av_srf_table *table = &vcpu->srf->tables[n];

	lockdep_assert_held(&vcpu->vm->mmu_lock);
	if (mmu->last_true != near) {
		mmu->last_true = near;
		return;
	}
	if (!may_show(vcpu, near))
		return;
	pa = virt_to_phys((void *)near->words.hva);
	if (mmu->shown[n] != pa)
		map(vcpu, n, pa);
	vcpu->vm->mmu->shown_any = true;
	table->root0 = mmu->root[0]->pa;
	WRITE_ONCE(table->region, region);
}

void av_sw_tables_hide_all(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	lockdep_assert_held(&vm->mmu_lock);
	if (!vm->mmu->shown_any)
		return;
	av_for_each_vcpu(i, vcpu, vm)
		av_sw_tables_hide(vcpu);
	vm->mmu->shown_any = false;
}

/* Unmap and flush all tables that a vCPU shows. The caller waits for the flush. */
static void unmap_all(struct av_vcpu *vcpu)
{
	unsigned long bits = 0;
	unsigned int n;

	for (n = 0; n < AV_SRF_TABLES; n++) {
		if (!vcpu->mmu->shown[n])
			continue;
		unmap(vcpu, n);
		bits |= BIT(n);
	}
	if (bits)
		av_tlb_flush_begin();
	for_each_set_bit(n, &bits, AV_SRF_TABLES)
		av_switch_flush_table(vcpu->vm->sw, vcpu->idx, n);
}

void av_sw_tables_revoke(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	lockdep_assert_held(&vm->mmu_lock);
	if (likely(!vm->mmu->nr_shown))
		return;
	av_for_each_vcpu(i, vcpu, vm)
		unmap_all(vcpu);
	av_tlb_flush_end();
}

/* Show no table any more. */
static void stop(struct av_vm *vm)
{
	vm->mmu->shown_off = true;
	av_sw_tables_revoke(vm);
}

void av_sw_tables_make_room(struct av_vm *vm, unsigned int idx)
{
	if (idx < AV_TABLES_MOST_VCPUS)
		return;
	spin_lock(&vm->mmu_lock);
	stop(vm);
	spin_unlock(&vm->mmu_lock);
}

void av_sw_tables_position(struct av_vm *vm)
{
	if (vm->sw->nr_positions >= AV_SHOWN_POSITIONS)
		stop(vm);
}

void av_sw_tables_end(struct av_vcpu *vcpu)
{
	spin_lock(&vcpu->vm->mmu_lock);
	unmap_all(vcpu);
	av_tlb_flush_end();
	spin_unlock(&vcpu->vm->mmu_lock);
}
