// SPDX-License-Identifier: GPL-2.0
/* Chooses the trees that a vCPU runs on, and whether virtual EL1 runs from copies. */
#include "mmu/base/plain.h"
#include "mmu/base/regime.h"
#include "mmu/code/annex.h"
#include "mmu/roots/face.h"
#include "mmu/roots/ttbr_cache.h"

/* The mode of EL1's own trees: with or without copies. */
static u8 el1_mode(const struct av_vcpu *vcpu)
{
	return vcpu->mmu->copies ? AV_MODE_EL1_COPIES : AV_MODE_EL1;
}

/* How to find the place for a tree: av_root_cache_choose(), or its variant with interrupts off. */
typedef int choose_fn(struct av_vcpu *vcpu, const struct av_tree_key *key);

static int load_half(struct av_vcpu *vcpu, bool high, int el, choose_fn *choose)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_tree_key key;
	int i;

	av_vcpu_tree_key(vcpu, high, el, &key);
	if (key.mode == AV_MODE_EL1)
		key.mode = el1_mode(vcpu);
	if (key.mode == AV_MODE_EL1_COPIES)
		key.owner = av_tree_owner(vcpu);
	i = choose(vcpu, &key);
	if (i >= 0 && !high && READ_ONCE(mmu->trees[i]->split) & BIT(el)) {
		mmu->tree[0] = mmu->trees[i];	/* keep its place in use */
		key.mode = el ? el1_mode(vcpu) : AV_MODE_EL0;
		i = choose(vcpu, &key);
	}
	if (i < 0)
		return i;
	if (mmu->tree[high] != mmu->trees[i])
		av_stat_inc(&vcpu->stats, AV_EVENT_TREE_SWITCH);
	mmu->tree[high] = mmu->trees[i];
	mmu->root[high] = &mmu->roots[i];
	mmu->in_use |= BIT(i);
	return 0;
}

static int load(struct av_vcpu *vcpu, int el, choose_fn *choose, bool now)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int ret;

	/* If this fails half-way, trees that were ready may be gone. */
	mmu->ttbr1[0] = mmu->ttbr1[1] = 0;
	av_ttbr_cache_changed(mmu, mmu->pair);
	mmu->fetch.valid = false;
	mmu->el = el;
	ret = load_half(vcpu, false, el, choose);
	if (!ret)
		ret = load_half(vcpu, true, el, choose);
	if (!ret && el)
		av_ttbr_cache_foresee_el0(vcpu, now);
	if (!ret)
		ret = av_ttbr_cache_context(vcpu, now);
	if (!ret)
		av_ttbr_cache_note(vcpu);
	return ret;
}

/* After this many loads with copies, the next time without them is half as long (plain.h). */
#define GOOD_LOADS	64

/* With the MMU off there is only one tree, which has no copies. */
static bool may_use_copies(const struct av_vcpu *vcpu)
{
	return vcpu->mmu->want_copies && av_srf_get(vcpu->srf, AV_SCTLR_EL1) & AV_SCTLR_M;
}

/* Return to copies, unless the current tables lack the annex: then sites would not work. */
static void come_back(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->back = false;
	if (!av_annex_check(vcpu))
		av_mmu_stay_plain(vcpu);
}

/* Decide whether to use copies until the next load. */
static void choose_copies(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (!mmu->plain && !mmu->back && ++mmu->good_loads == GOOD_LOADS) {
		mmu->good_loads = 0;
		mmu->plain_next /= 2;
	}
	mmu->copies = !mmu->plain && !mmu->back && may_use_copies(vcpu);
}

static void choose_pair(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned int i;

	av_vcpu_regime(vcpu, &mmu->regime);
	i = av_ttbr_cache_find(vcpu, &mmu->regime);
	if (i != mmu->pair)
		mmu->fetch.valid = false;
	av_ttbr_cache_use(mmu, i);
}

static void loaded(struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->ttbr1[el] = av_ttbr_cache_ttbr1(vcpu, pair, el);
	mmu->ttbr1[!el] = av_ttbr_cache_ttbr1_of_other(vcpu, pair, el);
	av_ttbr_cache_show(vcpu);
	av_srf_set_pair(vcpu->srf, mmu->pair);
	av_srf_show_regime(vcpu->srf);
}

int av_mmu_load(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int el = av_srf_el1(vcpu->srf), ret = 0;
	struct av_ttbr_pair *pair;

	if (!mmu->stale)
		return 0;
	/* The idle pair is the same for all ASIDs, which regime may not be up to date with. */
	if (mmu->stale & AV_STALE_REGS || mmu->pair == AV_SRF_IDLE)
		choose_pair(vcpu);
	/* An exception from virtual EL0 may start in tables that are not its handler's. */
	if (unlikely(mmu->back) && el && mmu->el && may_use_copies(vcpu))
		come_back(vcpu);
	choose_copies(vcpu);
	pair = &mmu->pairs[mmu->pair];
	if (av_ttbr_cache_at_hand(vcpu, pair, el)) {
		av_ttbr_cache_take(vcpu, el);
	} else {
		ret = load(vcpu, el, av_root_cache_choose, false);
		if (ret)
			return ret;
	}
	loaded(vcpu, pair, el);
	/* If back is still set, the next entry must check again. */
	mmu->stale = unlikely(mmu->back) && el ? AV_STALE_MODE : 0;
	return 0;
}

/* Two contexts are used, and none is made: that may have to wait for an ASID. */
static bool load_now(struct av_vcpu *vcpu)
{
	return vcpu->sw->nr_contexts > 1 && !load(vcpu, 1, av_root_cache_choose_now, true);
}

bool av_mmu_load_now(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_ttbr_pair *pair;

	mmu->stale |= AV_STALE_REGS;
	if (mmu->plain || mmu->back || mmu->copies != may_use_copies(vcpu))
		return false;
	choose_pair(vcpu);
	choose_copies(vcpu);
	pair = &mmu->pairs[mmu->pair];
	if (av_ttbr_cache_at_hand(vcpu, pair, 1)) {
		av_ttbr_cache_take(vcpu, 1);
	} else if (!load_now(vcpu)) {
		/* Trees of the window's pair may be gone: make sure that nothing returns to it. */
		av_srf_set_pair(vcpu->srf, mmu->pair);
		return false;
	}
	loaded(vcpu, pair, 1);
	mmu->stale = 0;
	return true;
}

void av_mmu_follow_window(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (!av_srf_at_pair(vcpu->srf, mmu->pair)) {
		av_ttbr_cache_use(mmu, av_srf_pair(vcpu->srf));
		mmu->fetch.valid = false;
	}
	/* The ASID may have changed without the pair: AV_SRF_IDLE. */
	mmu->regime.ttbr0 = av_srf_get(vcpu->srf, AV_TTBR0_EL1);
	mmu->regime.ttbr1 = av_srf_get(vcpu->srf, AV_TTBR1_EL1);
	av_ttbr_cache_take(vcpu, el);
	if (unlikely(mmu->back))
		mmu->stale |= AV_STALE_MODE;
	mmu->ttbr1[0] = vcpu->srf->ttbr1[0];
	mmu->ttbr1[1] = vcpu->srf->ttbr1[1];
}
