// SPDX-License-Identifier: GPL-2.0
/* Which trees a vCPU runs on, and whether virtual EL1 runs from copies. */
#include <linux/minmax.h>
#include <linux/module.h>

#include "mmu/annex.h"
#include "mmu/pairs.h"

void av_vcpu_regime(struct av_vcpu *vcpu, struct av_regime *regime)
{
	const struct av_srf *srf = vcpu->srf;

	*regime = (struct av_regime) {
		.sctlr = av_srf_get(srf, AV_SCTLR_EL1),
		.tcr = av_srf_get(srf, AV_TCR_EL1),
		.ttbr0 = av_srf_get(srf, AV_TTBR0_EL1),
		.ttbr1 = av_srf_get(srf, AV_TTBR1_EL1),
		.mair = av_srf_get(srf, AV_MAIR_EL1),
		.ipa_bits = vcpu->vm->pa_bits,
	};
}

/* The mode of EL1's own trees: with or without copies. */
static u8 el1_mode(const struct av_vcpu *vcpu)
{
	return vcpu->mmu->copies ? AV_MODE_EL1_COPIES : AV_MODE_EL1;
}

/* How to find the place for a tree: av_place_choose(), or its variant with interrupts off. */
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
	av_pair_changed(mmu, mmu->pair);
	mmu->fetch.valid = false;
	mmu->el = el;
	ret = load_half(vcpu, false, el, choose);
	if (!ret)
		ret = load_half(vcpu, true, el, choose);
	if (!ret && el)
		av_pair_foresee_el0(vcpu, now);
	if (!ret)
		ret = av_pair_context(vcpu, now);
	if (!ret)
		av_pair_note(vcpu);
	return ret;
}

/*
 * Instructions that copies cannot execute come in bursts (a kernel boots, firmware's services).
 * So copies are given up for twice as many traps each time, and for half as many once no burst
 * has come for a while. One instruction may need a few traps: for its page, its data's pages,
 * FP registers. Traps handled in the window are counted too, once in so many entries.
 */
#define PLAIN_MIN	8U
#define GOOD_LOADS	64

static unsigned int copies_left_for = 4096;
module_param(copies_left_for, uint, 0644);
MODULE_PARM_DESC(copies_left_for, "traps at most that a vCPU runs without copies after what they cannot do (default 4096, at least 8)");

static u64 ended_in_window(const struct av_srf *srf)
{
	unsigned int i;
	u64 n = 0;

	for (i = 0; i < AV_NR_FAST; i++)
		n += srf->fast[i];
	return n;
}

void av_mmu_count_plain(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	u64 now = ended_in_window(vcpu->srf), traps = now - mmu->plain_since;

	mmu->plain_since = now;
	if (mmu->plain > traps) {
		mmu->plain -= traps;
		return;
	}
	mmu->plain = 0;
	mmu->back = true;
	mmu->stale |= AV_STALE_MODE;
}

void av_mmu_go_plain(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned int most = clamp(READ_ONCE(copies_left_for), PLAIN_MIN, (unsigned int)U16_MAX);

	av_stat_inc(&vcpu->stats, AV_EVENT_COPIES_LEFT);
	mmu->plain = mmu->plain_next = clamp(2U * mmu->plain_next, PLAIN_MIN, most);
	mmu->plain_since = ended_in_window(vcpu->srf);
	mmu->good_loads = 0;
	mmu->stale |= AV_STALE_MODE;
}

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
	if (!av_annex_check(vcpu)) {
		mmu->plain = PLAIN_MIN;
		mmu->plain_since = ended_in_window(vcpu->srf);
	}
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
	i = av_pair_find(vcpu, &mmu->regime);
	if (i != mmu->pair)
		mmu->fetch.valid = false;
	av_pair_use(mmu, i);
}

static void loaded(struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->ttbr1[el] = av_pair_ttbr1(vcpu, pair, el);
	mmu->ttbr1[!el] = av_pair_ttbr1_of_other(vcpu, pair, el);
	av_pairs_show(vcpu);
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
	if (av_pair_at_hand(vcpu, pair, el)) {
		av_pair_take(vcpu, el);
	} else {
		ret = load(vcpu, el, av_place_choose, false);
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
	return vcpu->sw->nr_contexts > 1 && !load(vcpu, 1, av_place_choose_now, true);
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
	if (av_pair_at_hand(vcpu, pair, 1)) {
		av_pair_take(vcpu, 1);
	} else if (!load_now(vcpu)) {
		/* Trees of the window's pair may be gone: make sure that nothing returns to it. */
		av_srf_set_pair(vcpu->srf, mmu->pair);
		return false;
	}
	loaded(vcpu, pair, 1);
	mmu->stale = 0;
	return true;
}

void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->regimes++;
	vcpu->mmu->stale |= AV_STALE_REGS;
	/* With the MMU off, one tree serves all regimes: its serial does not distinguish them. */
	vcpu->mmu->device.serial = 0;
}

void av_mmu_ttbr_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale |= AV_STALE_REGS;
}

void av_mmu_mode_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale |= AV_STALE_MODE;
}

void av_mmu_follow_window(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (!av_srf_at_pair(vcpu->srf, mmu->pair)) {
		av_pair_use(mmu, av_srf_pair(vcpu->srf));
		mmu->fetch.valid = false;
	}
	/* The ASID may have changed without the pair: AV_SRF_IDLE. */
	mmu->regime.ttbr0 = av_srf_get(vcpu->srf, AV_TTBR0_EL1);
	mmu->regime.ttbr1 = av_srf_get(vcpu->srf, AV_TTBR1_EL1);
	av_pair_take(vcpu, el);
	if (unlikely(mmu->back))
		mmu->stale |= AV_STALE_MODE;
	mmu->ttbr1[0] = vcpu->srf->ttbr1[0];
	mmu->ttbr1[1] = vcpu->srf->ttbr1[1];
}
