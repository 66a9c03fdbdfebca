// SPDX-License-Identifier: GPL-2.0
/* Contexts, and every TLBI except those of ASIDs that change hands (asid.c). Rules in tlb.h. */
#include <linux/ratelimit.h>

#include "compat/tlb.h"
#include "stats/stats.h"
#include "switch/tlb.h"

#define TLBI_VA		GENMASK_ULL(43, 0)

static void set_context(struct av_vcpu *vcpu, unsigned int i, u64 serial0, u64 serial1)
{
	struct av_vcpu_switch *csw = vcpu->sw;

	WRITE_ONCE(csw->context[i].serial0, serial0);
	WRITE_ONCE(csw->context[i].serial1, serial1);
	csw->current_context = i;
	/* Pairs with the acquire in flush_page(): whoever sees the count sees the context. */
	atomic64_inc_return_release(&vcpu->vm->sw->changes);
	/* Pairs with av_tlb_flush_begin(). A table walker needs a DSB, not a DMB. */
	dsb(ish);
}

/*
 * Reuse a context of other trees for these. Flush on all CPUs: the vCPU may have run on any of
 * them.
 */
static void recycle(struct av_vcpu *vcpu, u64 serial0, u64 serial1)
{
	struct av_vcpu_switch *csw = vcpu->sw;
	unsigned int i = csw->next_victim;

	csw->next_victim = (i + 1) % csw->nr_contexts;
	if (csw->context[i].serial0) {
		av_tlb_flush_begin();
		__tlbi(aside1is, (u64)csw->context[i].asid.asid << 48);
		av_tlb_flush_end();
		av_stat_inc(&vcpu->stats, AV_EVENT_CONTEXT_RECYCLE);
		av_stat_inc(&vcpu->stats, AV_EVENT_TLB_FLUSH);
	}
	set_context(vcpu, i, serial0, serial1);
}

/* May a vCPU that has its first contexts take more? Without a lock. */
static bool may_have_more(const struct av_vcpu *vcpu)
{
	struct av_vm_switch *vsw = vcpu->vm->sw;

	return vcpu->sw->nr_contexts < AV_NR_CONTEXTS &&
	       atomic_read(&vsw->nr_contexts) < AV_VM_CONTEXTS && av_asid_spare(vsw->share);
}

bool av_tlb_complete(const struct av_vcpu *vcpu)
{
	return vcpu->sw->nr_contexts >= AV_FIRST_CONTEXTS && !may_have_more(vcpu);
}

/* One context is enough to run; more of them save flushes. */
static int add_context(struct av_vcpu *vcpu, u64 serial0, u64 serial1)
{
	struct av_vcpu_switch *csw = vcpu->sw;
	unsigned int i = csw->nr_contexts;
	int ret;

	if (i >= AV_FIRST_CONTEXTS && !may_have_more(vcpu))
		return -ENOSPC;
	ret = av_asid_get(&csw->context[i].asid, vcpu->vm->sw->share);
	if (ret)
		return ret;
	csw->next_victim = 0;
	/* Flushers expect contexts below nr_contexts to be complete. */
	WRITE_ONCE(csw->context[i].serial0, serial0);
	WRITE_ONCE(csw->context[i].serial1, serial1);
	/* Pairs with the acquire in for_each_context(). */
	smp_store_release(&csw->nr_contexts, i + 1);
	atomic_inc(&vcpu->vm->sw->nr_contexts);
	set_context(vcpu, i, serial0, serial1);
	return 0;
}

int av_tlb_load(struct av_vcpu *vcpu, u64 serial0, u64 serial1, bool reuse)
{
	struct av_vcpu_switch *csw = vcpu->sw;
	int ret = 0;

	if (!reuse) {
		ret = add_context(vcpu, serial0, serial1);
		if (!ret)
			return 0;
	}
	if (csw->nr_contexts) {
		recycle(vcpu, serial0, serial1);
		return 0;
	}
	if (ret == -ENOSPC)
		pr_warn_ratelimited("armvisor: VM %u: no ASIDs are left for this program, its user or the host: end other VMs first\n",
				    vcpu->vm->serial);
	return ret;
}

void av_tlb_flush_begin(void)
{
	/* Shadow entries are visible to table walkers, and before contexts are read. */
	dsb(ish);
}

void av_tlb_flush_end(void)
{
	av_tlbi_sync();
}

static bool has_tree(const struct av_context *ctx, u64 serial)
{
	return READ_ONCE(ctx->serial0) == serial || READ_ONCE(ctx->serial1) == serial;
}

static unsigned int nr_contexts(const struct av_vcpu_switch *csw)
{
	/* Pairs with the release in av_tlb_load(). */
	return smp_load_acquire(&csw->nr_contexts);
}

/* Execute the next statement for each context of the VM. */
#define for_each_context(ctx, vcpu, v, i, vm)						\
	av_for_each_vcpu(v, vcpu, vm)							\
		for ((i) = nr_contexts((vcpu)->sw), (ctx) = (vcpu)->sw->context;	\
		     (i); (i)--, (ctx)++)

static __always_inline bool has_any(const struct av_context *ctx, const u64 *serials,
				    unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (has_tree(ctx, serials[i]))
			return true;
	return false;
}

/* Flush one page, or all (!va), in the contexts that have one of the trees, or in all (nr is 0). */
static __always_inline unsigned int flush(struct av_vm *vm, const u64 *serials, unsigned int nr,
					  const u64 *va)
{
	const struct av_context *ctx;
	struct av_vcpu *vcpu;
	unsigned int v, i, n = 0;

	for_each_context(ctx, vcpu, v, i, vm) {
		u64 asid = (u64)ctx->asid.asid << 48;

		if (nr && !has_any(ctx, serials, nr))
			continue;
		if (va)
			__tlbi(vae1is, ((*va >> 12) & TLBI_VA) | asid);
		else
			__tlbi(aside1is, asid);
		n++;
	}
	return n;
}

/* Find the contexts that have a tree. The caller has read changes before. */
static noinline const struct av_tree_contexts *look_for(struct av_vm *vm, u64 serial, s64 changes)
{
	struct av_vm_switch *vsw = vm->sw;
	struct av_tree_contexts *found = &vsw->found[vsw->next_found++ % AV_FOUND_TREES];
	const struct av_context *ctx;
	struct av_vcpu *vcpu;
	unsigned int v, i;

	*found = (struct av_tree_contexts) { .serial = serial, .changes = changes };
	for_each_context(ctx, vcpu, v, i, vm) {
		if (!has_tree(ctx, serial))
			continue;
		if (found->nr < AV_FEW_CONTEXTS)
			found->asid[found->nr] = ctx->asid.asid;
		found->nr++;
	}
	return found;
}

/* The guest's kernel flushes pages of the same few trees again and again. */
static __always_inline const struct av_tree_contexts *contexts_of(struct av_vm *vm, u64 serial)
{
	s64 changes = atomic64_read_acquire(&vm->sw->changes);
	const struct av_tree_contexts *found = vm->sw->found;
	unsigned int i;

	for (i = 0; i < AV_FOUND_TREES; i++, found++)
		if (found->serial == serial && found->changes == changes)
			return found;
	return look_for(vm, serial, changes);
}

static __always_inline unsigned int flush_page(struct av_vm *vm, u64 serial, u64 va)
{
	const struct av_tree_contexts *found = contexts_of(vm, serial);
	u64 page = (va >> 12) & TLBI_VA;
	unsigned int i;

	if (unlikely(found->nr > AV_FEW_CONTEXTS)) {
		/* A kernel's page, under the ASIDs of all its processes. */
		__tlbi(vaae1is, page);
		return 1;
	}
	for (i = 0; i < found->nr; i++)
		__tlbi(vae1is, page | (u64)found->asid[i] << 48);
	return found->nr;
}

unsigned int av_tlb_flush_page(struct av_vm *vm, u64 serial, u64 va)
{
	return flush_page(vm, serial, va);
}

unsigned int av_tlb_flush_one(struct av_vm *vm, u64 serial, u64 va)
{
	unsigned int n;

	av_tlb_flush_begin();
	n = flush_page(vm, serial, va);
	if (n)
		av_tlb_flush_end();
	return n;
}

/* A process's tree is in few contexts. */
static __always_inline unsigned int flush_tree(struct av_vm *vm, u64 serial)
{
	const struct av_tree_contexts *found = contexts_of(vm, serial);
	unsigned int i;

	if (unlikely(found->nr > AV_FEW_CONTEXTS))
		return flush(vm, &serial, 1, NULL);
	for (i = 0; i < found->nr; i++)
		__tlbi(aside1is, (u64)found->asid[i] << 48);
	return found->nr;
}

unsigned int av_tlb_flush_trees(struct av_vm *vm, const u64 *serials, unsigned int nr)
{
	return nr == 1 ? flush_tree(vm, *serials) : flush(vm, serials, nr, NULL);
}

unsigned int av_tlb_flush_vm(struct av_vm *vm)
{
	return flush(vm, NULL, 0, NULL);
}

void av_tlb_flush_hops(struct av_vm *vm)
{
	__tlbi(aside1is, (u64)vm->sw->host_hop.asid << 48);
	__tlbi(aside1is, (u64)vm->sw->guest_hop.asid << 48);
	if (vm->sw->own_image.token)
		av_tlb_flush_image(vm->sw);
}

void av_tlb_flush_window(u64 va)
{
	__tlbi(vaae1is, (va >> 12) & TLBI_VA);
}

void av_tlb_flush_image(const struct av_vm_switch *vsw)
{
	__tlbi(aside1is, (u64)av_image_asid(vsw) << 48);
}
