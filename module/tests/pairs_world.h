/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two vCPUs of a VM for tests of the pairs of TTBRs, and a fake kernel: memory and ASIDs that
 * sometimes run out, and a TLB that records what each ASID may have cached.
 */
#ifndef AV_TESTS_PAIRS_WORLD_H
#define AV_TESTS_PAIRS_WORLD_H

#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "mmu/roots/ttbr_cache.h"
#include "mmu/base/plain.h"
#include "mmu/base/regime.h"
#include "mmu/shadow/resync.h"
#include "mmu/roots/face.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/guest/walk_cache.h"
#include "require.h"
#include "switch/tlb.h"

#define NR_GFNS		64
#define MAX_PTS		1024
#define ROOT_PA		GENMASK_ULL(47, 0)

static struct av_vm vm;
static struct av_vm_mmu vm_mmu;
static struct av_vm_switch vm_sw;
static struct av_vcpu vcpus[FAKE_VCPUS];
static struct av_vcpu_mmu mmus[FAKE_VCPUS];
static struct av_vcpu_switch csws[FAKE_VCPUS];
static struct av_srf srfs[FAKE_VCPUS];
static u32 rmap[NR_GFNS];

/* What was tried. */
static struct {
	unsigned long shown[2], now[2], runs, flushes, idle, tables, followed, refused, split, stale, copied,
		      dropped, asids, worlds, moved;
} tried;

/* ---- the kernel ------------------------------------------------------------ */

static bool no_memory;		/* now and then it is refused */
static unsigned int refusals;	/* a pool is so many times */
static bool races;		/* other vCPUs do something meanwhile */
static unsigned int asids_left;
static u16 next_asid;

/* By ASID: the entries that the TLB may have. */
static struct { u64 serial[2]; } cached[1 + 2 * AV_NR_CONTEXTS + FAKE_VCPUS];

unsigned long get_zeroed_page(int how)
{
	void *page;

	if (no_memory && !below(4))
		return 0;
	page = aligned_alloc(4096, 4096);
	memset(page, 0, 4096);
	return (unsigned long)page;
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

bool fake_lock_waits(void)
{
	return !below(8);
}

void fake_warn(const char *fmt, ...)
{
}

void fake_event(char what, const char *op, const u64 *operand, unsigned int nr_operands)
{
	if (what != FAKE_TLBI)
		return;
	REQUIRE(!strcmp(op, "aside1is") && nr_operands == 1);
	memset(&cached[*operand >> 48], 0, sizeof(cached[0]));
	tried.flushes++;
}

int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares)
{
	if (!asids_left || (no_memory && below(2)))
		return asids_left ? -ENOMEM : -ENOSPC;
	asids_left--;
	a->asid = next_asid++;
	tried.asids++;
	return 0;
}

bool av_asid_spare(struct av_asid_share *const *shares)
{
	return asids_left;
}

bool av_annex_check(struct av_vcpu *vcpu)
{
	return below(2);
}

/* ---- the shadow's memory --------------------------------------------------- */

static void free_pt(void *ctx, struct av_pt *pt, struct av_memcache *to)
{
	free(pt->pte);
	free(pt->aux);
	free(pt);
}

static void free_tree(void *ctx, struct av_tree *tree, struct av_memcache *to)
{
	REQUIRE(av_list_empty(&tree->copies));
	free(tree);
}

static void used(void *ctx, int pages, int trees)
{
}

static void relinked(void *ctx, unsigned int entries)
{
}

static const u64 *look(void *ctx, u64 ipa, u64 *copy, unsigned int n)
{
	return NULL;
}

static void publish(void *ctx)
{
}

static void tables_gone(void *ctx)
{
}

static unsigned int flush(void *ctx, const struct av_flush *f)
{
	return 0;
}

static u32 *rmap_head(void *ctx, u32 gfn, int level)
{
	return gfn < NR_GFNS && level == 3 ? &rmap[gfn] : NULL;
}

static const struct av_shadow_ops ops = {
	.free_pt = free_pt, .free_tree = free_tree, .used = used, .relinked = relinked,
	.tables_gone = tables_gone, .look = look, .publish = publish, .flush = flush, .rmap = rmap_head,
};

int av_mmu_fill_memcache(struct av_vcpu *vcpu)
{
	struct av_memcache *pool = &vcpu->mmu->pool;

	/* Sometimes only until the vCPU has given back a few places. */
	if (no_memory && !refusals && !below(8))
		refusals = 1 + below(2 * AV_VCPU_TREES);
	if (refusals) {
		refusals--;
		return -ENOMEM;
	}
	/* It sleeps, and another vCPU finds that a tree does not serve every ASID. */
	if (races && pool == &mmus[0].pool && mmus[0].pair == AV_SRF_IDLE && !below(4))
		vm_mmu.shadow.high_tagged = true;
	if (races && pool == &mmus[1].pool && mmus[1].pair == AV_SRF_IDLE && !below(4))
		vm_mmu.shadow.idle_base = AV_NO_BASE;
	while (pool->nr < AV_POOL_PTS) {
		struct av_pt *pt = calloc(1, sizeof(*pt));

		pt->pte = aligned_alloc(4096, 4096);
		memset(pt->pte, 0, 4096);
		pt->aux = calloc(AV_ENTRIES, sizeof(*pt->aux));
		pt->pa = (u64)(uintptr_t)pt->pte;
		av_list_add_tail(&pt->node, &pool->pts);
		pool->nr++;
	}
	if (!pool->tree)
		pool->tree = calloc(1, sizeof(*pool->tree));
	return 0;
}

void av_mmu_offer(void)
{
}

void av_mmu_reap(struct av_vm *vm, struct av_memcache *pool)
{
	while (av_shadow_reap(&vm->mmu->shadow, NULL))
		;
}

bool av_mmu_reclaim(struct av_vm *vm, struct av_memcache *pool)
{
	bool more;

	av_shadow_reclaim(&vm->mmu->shadow, true, NULL, &more);
	return more;
}

/* What is in tables plays no part here: none can be compared. */
static enum av_found_table no_table(const struct av_resync *how, u64 va, struct av_fill *f)
{
	return AV_TABLE_NONE;
}

void av_resync_inherited(struct av_vcpu *vcpu, struct av_tree *tree)
{
	const struct av_resync renew = { .tree = tree, .kept = true, .find = no_table };
	u32 work = 0;

	CHECK(!av_tree_resync(&vcpu->vm->mmu->shadow, tree, &renew, &work));
}

#endif /* AV_TESTS_PAIRS_WORLD_H */
