// SPDX-License-Identifier: GPL-2.0
/* Trapped AT instructions, by the guest's tables. */
#include "mmu/base/regime.h"
#include "mmu/guest/face.h"
#include "mmu/memory/memory.h"

/* PAR_EL1 */
#define PAR_F		BIT_ULL(0)
#define PAR_FST		GENMASK_ULL(6, 1)
#define PAR_SH		GENMASK_ULL(8, 7)
#define PAR_NS		BIT_ULL(9)
#define PAR_RES1	BIT_ULL(11)
#define PAR_PA		GENMASK_ULL(47, 12)
#define PAR_ATTR	GENMASK_ULL(63, 56)

#define SH_OUTER	2

/* Device and non-cacheable memory is outer shareable whatever SH says. */
static u8 effective_sh(const struct av_walk *walk)
{
	bool device = !(walk->attr & 0xf0), uncached = walk->attr == 0x44;

	return device || uncached ? SH_OUTER : walk->sh;
}

int av_mmu_at(struct av_vcpu *vcpu, u32 sys, u64 va, u64 *par)
{
	/* op2: bit 0 is a write, bit 1 is EL0; CRm 9 has the PAN forms. */
	u32 op2 = FIELD_GET(AV_SYS_OP2, sys);
	struct av_mem_reader reader = {};
	struct av_regime regime;
	struct av_walk walk;
	int idx, ret;

	av_vcpu_regime(vcpu, &regime);
	idx = srcu_read_lock(&vcpu->vm->srcu);
	reader.slots = av_vm_slots(vcpu->vm);
	ret = av_walk(&regime, &av_mem_reader_ops, &reader, va, &walk);
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	if (ret < 0)
		return ret;
	ret = av_walk_permits(&walk, ret, op2 & 2 ? 0 : 1, op2 & 1 ? AV_W : AV_R);
	if (ret)
		*par = PAR_F | PAR_RES1 | FIELD_PREP(PAR_FST, AV_FAULT_FSC(ret));
	else
		*par = PAR_RES1 | PAR_NS | FIELD_PREP(PAR_ATTR, walk.attr) |
		       FIELD_PREP(PAR_SH, effective_sh(&walk)) | (walk.ipa & PAR_PA);
	return 0;
}
