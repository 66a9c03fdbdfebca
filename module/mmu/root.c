// SPDX-License-Identifier: GPL-2.0
/*
 * The trees that a vCPU runs on, and its roots.
 *
 * A vCPU keeps references on the last few trees that it used, so that going
 * between virtual EL1 and EL0, or between a few processes, takes no lock. It
 * runs on its own copy of a tree's root table, so that the page at one address
 * may differ from vCPU to vCPU.
 *
 * A place of trees[] has its copy's page for life. The page is filled anew when
 * the place goes to another tree: it is in no TTBR then, and TLB entries of the
 * former tree, under that tree's contexts, stay right.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include "mmu/annex.h"
#include "mmu/internal.h"
#include "switch/tlb.h"

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

/* The place of a tree among the vCPU's own, or -1. */
static int find_own(const struct av_vcpu_mmu *mmu, const struct av_tree_key *key)
{
	int i;

	for (i = 0; i < AV_VCPU_TREES; i++) {
		const struct av_tree *tree = mmu->trees[i];

		if (tree && av_tree_key_equal(&tree->key, key))
			return i;
	}
	return -1;
}

/* Get a tree. Room is made a part at a time, with the lock let go between. */
static struct av_tree *get_tree(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_vm *vm = vcpu->vm;
	struct av_tree *tree;
	bool more = true;

	spin_lock(&vm->mmu_lock);
	for (;;) {
		tree = av_tree_get(&vm->mmu->shadow, key, &vcpu->mmu->pool);
		if (tree || !more)
			break;
		more = av_mmu_reclaim(vm, &vcpu->mmu->pool);
		cond_resched_lock(&vm->mmu_lock);
	}
	spin_unlock(&vm->mmu_lock);
	return tree;
}

/* The next place whose tree is not loaded, and was not since all others were passed over. */
static int next_place(struct av_vcpu_mmu *mmu)
{
	for (;;) {
		int i = mmu->next_tree++ % AV_VCPU_TREES;
		const struct av_tree *tree = mmu->trees[i];

		if (tree && (tree == mmu->tree[0] || tree == mmu->tree[1]))
			continue;
		if (!tree || !(mmu->in_use & BIT(i)))
			return i;
		mmu->in_use &= ~BIT(i);
	}
}

/* Empty one of the vCPU's places whose tree is not loaded: its index, or -ENOMEM. */
static int free_place(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	int i;

	i = next_place(mmu);
	if (mmu->trees[i]) {
		spin_lock(&vm->mmu_lock);
		av_root_detach(&mmu->roots[i], mmu->trees[i]);
		av_tree_put(&vm->mmu->shadow, mmu->trees[i]);
		av_tree_retire(&vm->mmu->shadow, mmu->trees[i]);
		spin_unlock(&vm->mmu_lock);
		mmu->trees[i] = NULL;
		/* What it had is for the next process. */
		av_mmu_reap(vm, &mmu->pool);
	}
	if (!mmu->roots[i].pte) {
		mmu->roots[i].pte = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!mmu->roots[i].pte)
			return -ENOMEM;
		mmu->roots[i].pa = virt_to_phys(mmu->roots[i].pte);
		av_list_init(&mmu->roots[i].node);
	}
	return i;
}

/* Get a tree from the VM's, for one of the vCPU's places that is not loaded. */
static int adopt(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	int i, ret;

	i = free_place(vcpu);
	if (i < 0)
		return i;
	ret = av_pool_fill(&mmu->pool);
	if (ret)
		return ret;
	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_MISS);
	mmu->trees[i] = get_tree(vcpu, key);
	if (!mmu->trees[i])
		return -ENOMEM;
	spin_lock(&vm->mmu_lock);
	av_root_attach(&mmu->roots[i], mmu->trees[i]);
	av_shadow_publish(&vm->mmu->shadow);
	spin_unlock(&vm->mmu_lock);
	return i;
}

static int choose(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	int i = find_own(vcpu->mmu, key);

	return i >= 0 ? i : adopt(vcpu, key);
}

/* The mode of EL1's own trees: with copies or without. */
static u8 el1_mode(const struct av_vcpu *vcpu)
{
	return vcpu->mmu->copies ? AV_MODE_EL1_COPIES : AV_MODE_EL1;
}

static int load_half(struct av_vcpu *vcpu, const struct av_regime *regime, bool high, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_tree_key key;
	int i;

	av_tree_key(&vcpu->vm->mmu->shadow, regime, high, el, &key);
	if (key.mode == AV_MODE_EL1)
		key.mode = el1_mode(vcpu);
	if (key.mode == AV_MODE_EL1_COPIES)
		key.owner = av_tree_owner(vcpu);
	i = choose(vcpu, &key);
	if (i >= 0 && !high && READ_ONCE(mmu->trees[i]->split) & BIT(el)) {
		mmu->tree[0] = mmu->trees[i];	/* keep its place */
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

/* A level's index in av_ttbr_pair.mode[], as virtual EL1 runs now. */
static int mode_of(const struct av_vcpu *vcpu, int el)
{
	return el && vcpu->mmu->copies ? 2 : el;
}

/* Would a mode of a pair be given the trees and the context now that it last ran with? */
static bool mode_at_hand(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];
	const struct av_tree *low = mmu->trees[m->place[0]], *high = mmu->trees[m->place[1]];

	return pair->regimes == mmu->regimes && m->serial[0] &&
	       low && low->serial == m->serial[0] && high && high->serial == m->serial[1] &&
	       !(low->key.mode == AV_MODE_SHARED && READ_ONCE(low->split) & BIT(el)) &&
	       av_tlb_holds(vcpu->sw, m->context, m->serial[0], m->serial[1]);
}

/* TTBR1_EL1 for a mode of a pair. */
static u64 ttbr1_of(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];

	return vcpu->mmu->roots[m->place[1]].pa | av_tlb_asid_of(vcpu->sw, m->context);
}

/* TTBR1_EL1 for the other mode if that is at hand and has the same TTBR0_EL1; else 0. */
static u64 ttbr1_of_other(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	bool same = pair->mode[0].serial[0] == pair->mode[mode_of(vcpu, 1)].serial[0];

	return same && mode_at_hand(vcpu, pair, !el) ? ttbr1_of(vcpu, pair, !el) : 0;
}

/* Load the trees and the context that a mode of the pair in use last ran with. */
static void take_mode(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_ttbr_pair *pair = &mmu->pairs[mmu->pair];
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];
	int half;

	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_SWITCH);
	mmu->el = el;
	for (half = 0; half < 2; half++) {
		mmu->tree[half] = mmu->trees[m->place[half]];
		mmu->root[half] = &mmu->roots[m->place[half]];
		mmu->in_use |= BIT(m->place[half]);
	}
	vcpu->sw->current_context = m->context;
}

/* Record the trees and the context that were just loaded. */
static void note_mode(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->pairs[mmu->pair].mode[mode_of(vcpu, mmu->el)] = (struct av_mode_trees) {
		.serial = { mmu->tree[0]->serial, mmu->tree[1]->serial },
		.place = { mmu->root[0] - mmu->roots, mmu->root[1] - mmu->roots },
		.context = vcpu->sw->current_context,
	};
}

/*
 * Tell the window of the pairs that virtual EL1 may change to. Places and
 * contexts change hands in load() only, so the pairs stay right until the next
 * load().
 */
static void show_pairs(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned int i;

	for (i = 0; i < AV_SRF_ROOTS; i++) {
		const struct av_ttbr_pair *pair = &mmu->pairs[i];
		struct av_srf_roots *out = &vcpu->srf->roots[i];

		out->root1[1] = 0;
		out->at = i;
		if (!mmu->want_roots || !mode_at_hand(vcpu, pair, 1))
			continue;
		out->root1[0] = ttbr1_of_other(vcpu, pair, 1);
		out->root1[1] = ttbr1_of(vcpu, pair, 1);
		out->ttbr0 = pair->ttbr0;
		out->ttbr1 = pair->ttbr1;
		out->root0 = mmu->roots[pair->mode[mode_of(vcpu, 1)].place[0]].pa;
	}
	mmu->shown_copies = mmu->copies;
	mmu->shown = true;
}

static int load(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int ret;

	/* Trees that were at hand may be gone if this fails half-way. */
	mmu->ttbr1[0] = mmu->ttbr1[1] = 0;
	mmu->shown = false;
	mmu->fetch.valid = false;
	mmu->el = el;
	ret = load_half(vcpu, &mmu->regime, false, el);
	if (!ret)
		ret = load_half(vcpu, &mmu->regime, true, el);
	if (!ret)
		ret = av_tlb_load(vcpu, mmu->tree[0]->serial, mmu->tree[1]->serial);
	if (!ret)
		note_mode(vcpu);
	return ret;
}

/* The place in pairs[] of the registers' TTBRs. */
static unsigned int pair_of(struct av_vcpu_mmu *mmu, const struct av_regime *regime)
{
	struct av_ttbr_pair *pair;
	unsigned int i = mmu->pair, n;

	for (n = 0; n < AV_SRF_ROOTS; n++, i = (i + 1) % AV_SRF_ROOTS) {
		pair = &mmu->pairs[i];
		if (pair->regimes == mmu->regimes && pair->ttbr0 == regime->ttbr0 &&
		    pair->ttbr1 == regime->ttbr1)
			return i;
	}
	i = mmu->next_pair++ % AV_SRF_ROOTS;
	mmu->pairs[i] = (struct av_ttbr_pair) {
		.ttbr0 = regime->ttbr0, .ttbr1 = regime->ttbr1, .regimes = mmu->regimes,
	};
	return i;
}

/*
 * Instructions that copies cannot do come in bursts (a kernel that starts,
 * firmware's services): each time copies are left for twice as many traps, and
 * for half as many again where no burst comes. One instruction may take a few
 * traps to be done: its page, those of its data, FP registers. Traps that end in
 * the window count too, and are looked at after so many entries.
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

/* With the MMU off there is but one tree, which is plain. */
static bool may_use_copies(const struct av_vcpu *vcpu)
{
	return vcpu->mmu->want_copies && av_srf_get(vcpu->srf, AV_SCTLR_EL1) & AV_SCTLR_M;
}

/* Back to copies, unless their sites would not work, in tables without the annex. */
static void come_back(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->back = false;
	if (!av_annex_check(vcpu)) {
		mmu->plain = PLAIN_MIN;
		mmu->plain_since = ended_in_window(vcpu->srf);
	}
}

/* Decide on copies until the next load. */
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
	i = pair_of(mmu, &mmu->regime);
	if (i != mmu->pair)
		mmu->fetch.valid = false;
	mmu->pair = i;
}

int av_mmu_load(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int el = av_srf_el1(vcpu->srf), ret = 0;
	struct av_ttbr_pair *pair;

	if (!mmu->stale)
		return 0;
	if (mmu->stale & AV_STALE_REGS)
		choose_pair(vcpu);
	/* An exception from virtual EL0 may begin in other tables than its handler's. */
	if (unlikely(mmu->back) && el && mmu->el && may_use_copies(vcpu))
		come_back(vcpu);
	choose_copies(vcpu);
	pair = &mmu->pairs[mmu->pair];
	if (mode_at_hand(vcpu, pair, el)) {
		take_mode(vcpu, el);
	} else {
		ret = load(vcpu, el);
		if (ret)
			return ret;
	}
	mmu->ttbr1[el] = ttbr1_of(vcpu, pair, el);
	mmu->ttbr1[!el] = ttbr1_of_other(vcpu, pair, el);
	if (!mmu->shown || mmu->shown_copies != mmu->copies)
		show_pairs(vcpu);
	vcpu->srf->roots_at = mmu->pair;
	av_srf_show_regime(vcpu->srf);
	/* The next entry looks. */
	mmu->stale = unlikely(mmu->back) && el ? AV_STALE_MODE : 0;
	return 0;
}

void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->regimes++;
	vcpu->mmu->stale |= AV_STALE_REGS;
	/* With the MMU off, one tree serves all regimes: its serial does not tell them apart. */
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

	if (mmu->pair != vcpu->srf->roots_at) {
		mmu->pair = vcpu->srf->roots_at;
		mmu->regime.ttbr0 = mmu->pairs[mmu->pair].ttbr0;
		mmu->regime.ttbr1 = mmu->pairs[mmu->pair].ttbr1;
		mmu->fetch.valid = false;
	}
	take_mode(vcpu, el);
	if (unlikely(mmu->back))
		mmu->stale |= AV_STALE_MODE;
	mmu->ttbr1[0] = vcpu->srf->ttbr1[0];
	mmu->ttbr1[1] = vcpu->srf->ttbr1[1];
}
