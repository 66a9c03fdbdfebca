// SPDX-License-Identifier: GPL-2.0
/*
 * Trapped TLBI instructions, applied to the shadow tables: on the full exit path, or at a light
 * exit (cpu/light.c). A light exit has interrupts off, so it handles only a TLBI of one page, or
 * one of an ASID or a few pages that is a single short part.
 */
#include <linux/module.h>
#include <linux/sched.h>

#include "lib/parts.h"
#include "mmu/guest/walk_cache.h"
#include "mmu/roots/face.h"
#include "mmu/shadow/again.h"
#include "mmu/tlbi/face.h"

static bool kept_tables = true;
module_param(kept_tables, bool, 0644);
MODULE_PARM_DESC(kept_tables, "keep shadow tables at a guest's TLBI of an ASID, and compare them with the guest's tables before they are used again (default Y)");

/*
 * The only tree that can be compared is the one that the vCPU has loaded for the low half, if a
 * TLBI of an ASID keeps it.
 */
static void renew_loaded(struct av_vcpu *vcpu, struct av_resync *renew, struct av_tlbi_walk *walk)
{
	if (walk->op.scope != AV_TLBI_ASID || !walk->keep || !av_resync_at_once())
		return;
	av_mmu_follow(vcpu);
	if (vcpu->mmu->stale)
		return;
	*renew = (struct av_resync) {
		.tree = vcpu->mmu->tree[0], .find = av_walk_cache_find, .arg = vcpu,
	};
	walk->renew = renew;
}

bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	struct av_vm *vm = vcpu->vm;
	bool asid16 = av_srf_get(vcpu->srf, AV_TCR_EL1) & AV_TCR_AS;
	struct av_tlbi_walk walk = { .keep = READ_ONCE(kept_tables) };
	struct av_resync renew;
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

/* An ASID or a range. False: use the full exit path; some of the work may have been done. */
static noinline bool light_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	bool asid16 = av_srf_get(vcpu->srf, AV_TCR_EL1) & AV_TCR_AS, done;
	struct av_tlbi_walk walk = { .keep = READ_ONCE(kept_tables) };
	struct av_gather *g = &vcpu->mmu->gather;
	struct av_resync renew;

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
	/* So are those of this TLBI; the full exit path then has nothing else to do. */
	done = done && av_list_empty(&sh->doomed);
	av_mmu_unlock(vcpu);
	if (done && walk.op.scope == AV_TLBI_ASID)
		av_vm_stat_add(&vcpu->vm->stats, AV_VM_SHADOW_DROP, 1);
	return done;
}

/* Returns the number of TLBIs, or -1: use the full exit path. */
static noinline int tlbi_page(struct av_vcpu *vcpu, struct av_tlbi_page op)
{
	struct av_zapped *z = &vcpu->mmu->zapped;
	bool done = av_shadow_tlbi_page(&vcpu->vm->mmu->shadow, op, z);
	unsigned int i;
	int n = 0;

	for (i = 0; i < z->nr; i++)
		n += av_mmu_flush_page(vcpu->vm, z->serial[i], op.va);
	return done ? n : -1;
}

bool av_mmu_tlbi_light(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	struct av_tlbi_page op;
	u64 serial;
	int n = 0;

	if (vcpu->mmu->plain)
		return false;
	if (unlikely(!av_tlbi_is_page(sys)))
		return light_tlbi(vcpu, sys, xt);
	if (!av_mmu_lock_soon(vcpu))
		return false;
	op = av_tlbi_page(sys, xt, av_srf_get(vcpu->srf, AV_TCR_EL1) & AV_TCR_AS);
	serial = AV_HAS(swept) ? av_shadow_tlbi_again(&vcpu->vm->mmu->shadow, op) : AV_NOT_SWEPT;
	if (unlikely(serial == AV_NOT_SWEPT))
		n = tlbi_page(vcpu, op);
	else if (serial)
		n = av_mmu_flush_page(vcpu->vm, serial, op.va);
	if (likely(n > 0))
		av_stat_add(&vcpu->stats, AV_EVENT_TLB_FLUSH, n);
	av_mmu_unlock(vcpu);
	return n >= 0;
}
