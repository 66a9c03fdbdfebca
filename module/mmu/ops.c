// SPDX-License-Identifier: GPL-2.0
/* Trapped TLBI and AT instructions, applied to the shadow tables and the guest's tables. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "mmu/hidden.h"
#include "mmu/pairs.h"

/* PAR_EL1 */
#define PAR_F		BIT_ULL(0)
#define PAR_FST		GENMASK_ULL(6, 1)
#define PAR_SH		GENMASK_ULL(8, 7)
#define PAR_NS		BIT_ULL(9)
#define PAR_RES1	BIT_ULL(11)
#define PAR_PA		GENMASK_ULL(47, 12)
#define PAR_ATTR	GENMASK_ULL(63, 56)

#define SH_OUTER	2

static bool kept_tables = true;
module_param(kept_tables, bool, 0644);
MODULE_PARM_DESC(kept_tables, "a guest's TLBI of an ASID keeps shadow tables, to be compared with the guest's when they are used again (default Y)");

static bool kept_at_once = true;
module_param(kept_at_once, bool, 0644);
MODULE_PARM_DESC(kept_at_once, "with kept_tables, a few tables are compared with the guest's by the TLBI itself, and a few of those that a process inherits as it begins (default Y)");

/*
 * Of trees, the one that the vCPU has loaded for the low half can be compared, if a TLBI of an ASID
 * keeps it.
 */
static void renew_loaded(struct av_vcpu *vcpu, struct av_renew *renew, struct av_tlbi_walk *walk)
{
	if (walk->op.scope != AV_TLBI_ASID || !walk->keep || !READ_ONCE(kept_at_once))
		return;
	av_mmu_follow(vcpu);
	if (vcpu->mmu->stale)
		return;
	*renew = (struct av_renew) {
		.tree = vcpu->mmu->tree[0], .find = av_near_find, .arg = vcpu,
	};
	walk->renew = renew;
}

bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	struct av_vm *vm = vcpu->vm;
	bool asid16 = av_srf_get(vcpu->srf, AV_TCR_EL1) & AV_TCR_AS;
	struct av_tlbi_walk walk = { .keep = READ_ONCE(kept_tables) };
	struct av_renew renew;
	struct av_gather g;
	bool more;

	if (!av_tlbi_decode(sys, xt, asid16, AV_TLBI_HAS_RANGE | AV_TLBI_HAS_OUTER, &walk.op))
		return false;
	renew_loaded(vcpu, &renew, &walk);
	if (walk.op.scope == AV_TLBI_ALL || walk.op.scope == AV_TLBI_ASID)
		av_vm_stat_add(&vm->stats, AV_VM_SHADOW_DROP, 1);
	do {
		av_mmu_lock(vcpu);
		av_gather_init(&g, &vm->mmu->shadow);
		more = av_shadow_tlbi(&vm->mmu->shadow, &walk, &g);
		av_stat_add(&vcpu->stats, AV_EVENT_TLB_FLUSH, av_gather_finish(&g));
		av_mmu_unlock(vcpu);
		if (more)
			cond_resched();
	} while (more);
	av_mmu_reap(vm, &vcpu->mmu->pool);
	return true;
}

/* How much of AV_WORK a light exit may use with interrupts off: about 25,000 instructions. */
#define LIGHT_WORK	128

/* May op take only one short part that frees no tables? A range of 2 MiB would free them. */
static bool may_be_short(const struct av_tlbi *op)
{
	return op->scope != AV_TLBI_ALL &&
	       (op->scope == AV_TLBI_ASID || op->last - op->start < AV_BLOCK_SIZE);
}

void av_renew_inherited(struct av_vcpu *vcpu, struct av_tree *tree)
{
	const struct av_renew renew = {
		.tree = tree, .kept = true, .find = av_near_find, .arg = vcpu,
	};
	u32 work = 0;

	if (READ_ONCE(kept_at_once))
		av_tree_renew(&vcpu->vm->mmu->shadow, tree, &renew, &work);
}

bool av_light_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	bool asid16 = av_srf_get(vcpu->srf, AV_TCR_EL1) & AV_TCR_AS, done;
	struct av_tlbi_walk walk = { .keep = READ_ONCE(kept_tables) };
	struct av_gather *g = &vcpu->mmu->gather;
	struct av_renew renew;

	if (!av_tlbi_decode(sys, xt, asid16, AV_TLBI_HAS_RANGE | AV_TLBI_HAS_OUTER, &walk.op) ||
	    !may_be_short(&walk.op) || !av_mmu_lock_soon(vcpu))
		return false;
	av_gather_init(g, sh);
	g->work = AV_WORK - LIGHT_WORK;
	/* Tables that wait to be freed are left to the full exit path, with everything else. */
	if (unlikely(!av_list_empty(&sh->doomed))) {
		av_mmu_unlock(vcpu);
		return false;
	}
	renew_loaded(vcpu, &renew, &walk);
	done = !av_shadow_tlbi(sh, &walk, g);
	av_stat_add(&vcpu->stats, AV_EVENT_TLB_FLUSH, av_gather_finish(g));
	/* The same, which then has nothing else to do. */
	done = done && av_list_empty(&sh->doomed);
	av_mmu_unlock(vcpu);
	if (done && walk.op.scope == AV_TLBI_ASID)
		av_vm_stat_add(&vcpu->vm->stats, AV_VM_SHADOW_DROP, 1);
	return done;
}

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
