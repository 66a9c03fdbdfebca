// SPDX-License-Identifier: GPL-2.0
/*
 * Fetch instructions as the guest's current mode would.
 *
 * The last page is remembered with its sequence numbers: a change that makes the translation
 * stale increments one of them, and a change of mode or registers marks the vCPU's trees stale.
 */
#include <linux/mm.h>

#include "mmu/base/regime.h"
#include "mmu/guest/face.h"
#include "mmu/memory/memory.h"

/* Translate with el's right to execute. 0 and *ipa, AV_FAULT_CODE(), or an errno. */
static int translate(struct av_vcpu *vcpu, struct av_mem_reader *reader, int el, u64 va, u64 *ipa)
{
	struct av_regime regime;
	struct av_walk walk;
	int ret;

	av_vcpu_regime(vcpu, &regime);
	ret = av_walk(&regime, &av_mem_reader_ops, reader, va, &walk);
	ret = av_walk_permits(&walk, ret, el, AV_X);
	*ipa = walk.ipa;
	return ret;
}

/* Most walks while another vCPU invalidates tables; then the last walk counts. */
#define TRIES	8

/* Find the page at va and remember it. 0, AV_FAULT_CODE(), or an errno. */
static int fetch_page(struct av_vcpu *vcpu, u64 va)
{
	struct av_fetch *fetch = &vcpu->mmu->fetch;
	struct av_mem_reader reader = {};
	const struct av_slot *slot;
	unsigned int tries;
	int ret, idx;
	u64 ipa;

	fetch->valid = false;
	fetch->el = av_srf_el1(vcpu->srf);
	idx = srcu_read_lock(&vcpu->vm->srcu);
	reader.slots = av_vm_slots(vcpu->vm);
	for (tries = 0; tries < TRIES; tries++) {
		fetch->seq = av_mmu_read_seq(vcpu, va & BIT_ULL(55));
		ret = translate(vcpu, &reader, fetch->el, va, &ipa);
		/* Freed tables may be in use for something else. */
		smp_rmb();
		if (likely(fetch->seq.tables == av_mmu_seq_tables(vcpu, va & BIT_ULL(55))))
			break;
	}
	slot = ret ? NULL : av_slot_find(reader.slots, ipa >> PAGE_SHIFT);
	if (slot) {
		fetch->va = va & PAGE_MASK;
		fetch->page = av_mem_page(slot, ipa);
		fetch->valid = true;
	} else if (!ret) {
		ret = AV_FAULT_CODE(AV_FSC_EXTERNAL, 0);
	}
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	return ret;
}

static int fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn)
{
	struct av_fetch *fetch = &vcpu->mmu->fetch;

	if (!fetch->valid || fetch->va != (va & PAGE_MASK) ||
	    fetch->el != av_srf_el1(vcpu->srf) || vcpu->mmu->stale ||
	    !av_mmu_seq_current(vcpu, va & BIT_ULL(55), fetch->seq) ||
	    fetch->seq.tables != av_mmu_seq_tables(vcpu, va & BIT_ULL(55))) {
		int ret = fetch_page(vcpu, va);

		if (ret)
			return ret;
	}
	/* If the slot has been removed, seq has changed, or this reads as if just before that. */
	return av_mem_load_insn(fetch->page, offset_in_page(va), insn);
}

bool av_mmu_fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn, struct av_answer *answer)
{
	int ret = fetch_insn(vcpu, va, insn);

	if (likely(!ret))
		return true;
	*answer = (struct av_answer) {
		.kind = AV_ANSWER_ABORT,
		.cls = AV_EXIT_PABT_TRUE,
		.insn = true,
		.far = va,
		.iss = AV_FAULT_FSC(ret),
	};
	if (ret < 0)
		av_mmu_error(answer, ret);
	return false;
}
