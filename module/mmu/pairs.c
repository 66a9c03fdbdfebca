// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs of TTBRs that a vCPU used recently, their trees and contexts, and what the window
 * may use of them.
 */
#include "mmu/pairs.h"
#include "stats/stats.h"
#include "switch/tlb.h"

/* The index of an exception level in av_ttbr_pair.mode[], with virtual EL1's current mode. */
static int mode_of(const struct av_vcpu *vcpu, int el)
{
	return el && vcpu->mmu->copies ? 2 : el;
}

bool av_pair_at_hand(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];
	const struct av_tree *low = mmu->trees[m->place[0]], *high = mmu->trees[m->place[1]];

	return pair->regimes == mmu->regimes && m->serial[0] &&
	       low && low->serial == m->serial[0] && high && high->serial == m->serial[1] &&
	       !(low->key.mode == AV_MODE_SHARED && READ_ONCE(low->split) & BIT(el)) &&
	       av_tlb_holds(vcpu->sw, m->context, m->serial[0], m->serial[1]);
}

u64 av_pair_ttbr1(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];

	return vcpu->mmu->roots[m->place[1]].pa | av_tlb_asid_of(vcpu->sw, m->context);
}

u64 av_pair_ttbr1_of_other(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	bool same = pair->mode[0].serial[0] == pair->mode[mode_of(vcpu, 1)].serial[0];

	return same && av_pair_at_hand(vcpu, pair, !el) ? av_pair_ttbr1(vcpu, pair, !el) : 0;
}

void av_pair_take(struct av_vcpu *vcpu, int el)
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
	mmu->contexts[m->context].used = ++mmu->uses;
}

void av_pair_note(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->pairs[mmu->pair].mode[mode_of(vcpu, mmu->el)] = (struct av_mode_trees) {
		.serial = { mmu->tree[0]->serial, mmu->tree[1]->serial },
		.place = { mmu->root[0] - mmu->roots, mmu->root[1] - mmu->roots },
		.context = vcpu->sw->current_context,
	};
}

/* What to show of a pair: TTBR1_EL1 by level; 0 as in struct av_srf_roots. */
static void roots_of_pair(const struct av_vcpu *vcpu, unsigned int i, u64 *root1)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_ttbr_pair *pair = &mmu->pairs[i];

	root1[0] = root1[1] = 0;
	if (!mmu->want_roots)
		return;
	if (i == mmu->pair && mmu->el) {
		memcpy(root1, mmu->ttbr1, sizeof(mmu->ttbr1));
	} else if (av_pair_at_hand(vcpu, pair, 1)) {
		root1[0] = av_pair_ttbr1_of_other(vcpu, pair, 1);
		root1[1] = av_pair_ttbr1(vcpu, pair, 1);
	}
}

/* Has the window less of the current pair than is ready? It was shown before it was complete. */
static bool shown_less(const struct av_vcpu *vcpu)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const u64 *shown = vcpu->srf->roots[mmu->pair].root1;

	return mmu->el && (shown[0] != mmu->ttbr1[0] || shown[1] != mmu->ttbr1[1]);
}

static void show_pair(struct av_vcpu *vcpu, unsigned int i)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_ttbr_pair *pair = &mmu->pairs[i];
	struct av_srf_roots *out = &vcpu->srf->roots[i];
	const struct av_mode_trees *m;
	int el;

	out->at = i;
	roots_of_pair(vcpu, i, out->root1);
	if (!out->root1[1])
		return;
	for (el = out->root1[0] ? 0 : 1; el < 2; el++) {
		m = &pair->mode[mode_of(vcpu, el)];
		mmu->place_pairs[m->place[0]] |= BIT(i);
		mmu->place_pairs[m->place[1]] |= BIT(i);
		mmu->contexts[m->context].pairs |= BIT(i);
	}
	out->ttbr0 = pair->ttbr0;
	out->ttbr1 = pair->ttbr1;
	out->root0 = mmu->roots[m->place[0]].pa;
}

/*
 * Show the window the pairs that virtual EL1 may switch to. What it has of a pair is valid
 * until
 *  - a place or context in it is given to others: leave_place() and av_pair_context() use
 *    place_pairs[] and contexts[].pairs, which have every pair that was shown with them;
 *  - a mode of the pair is loaded with other trees or another context, or the pair is replaced:
 *    av_pair_changed();
 *  - other registers, or copies, or want_roots change: all pairs are shown again here. All of
 *    this happens before or causes a load, and each load, even after others that failed, ends
 *    here before the guest is entered. If the window lacks a pair that could be ready, the next
 *    load of the pair shows it.
 */
void av_pairs_show(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned long pairs;
	unsigned int i;

	if (shown_less(vcpu))
		av_pair_changed(mmu, mmu->pair);
	pairs = mmu->to_show;
	if (unlikely(mmu->shown_regimes != mmu->regimes || mmu->shown_copies != mmu->copies))
		pairs = GENMASK(AV_SRF_ROOTS - 1, 0);
	for_each_set_bit(i, &pairs, AV_SRF_ROOTS)
		show_pair(vcpu, i);
	mmu->to_show = 0;
	mmu->shown_regimes = mmu->regimes;
	mmu->shown_copies = mmu->copies;
}

/* The least recently used context; those whose trees have no place come first. */
static unsigned int oldest_context(const struct av_vcpu_mmu *mmu, unsigned int nr)
{
	unsigned int c, oldest = 0;

	for (c = 1; c < nr; c++)
		if (mmu->contexts[c].used < mmu->contexts[oldest].used)
			oldest = c;
	return oldest;
}

int av_pair_context(struct av_vcpu *vcpu, u64 low, u64 high)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vcpu_switch *csw = vcpu->sw;
	unsigned int c;
	int ret;

	for (c = 0; c < csw->nr_contexts && !av_tlb_holds(csw, c, low, high); c++)
		;
	if (c < csw->nr_contexts) {
		csw->current_context = c;
	} else {
		av_tlb_offer(csw, oldest_context(mmu, c));
		ret = av_tlb_load(vcpu, low, high);
		if (ret)
			return ret;
		c = csw->current_context;
		mmu->to_show |= mmu->contexts[c].pairs;
		mmu->contexts[c].pairs = 0;
	}
	mmu->contexts[c].used = ++mmu->uses;
	return 0;
}

/*
 * After a TTBR change, EL1 will soon go to EL0, except with the tables that a kernel uses
 * between two processes: make that possible in the window. EL0's context is loaded before EL1's
 * own, which may have to be loaded again.
 */
void av_pair_foresee_el0(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_ttbr_pair *pair = &mmu->pairs[mmu->pair];
	const struct av_tree *low = mmu->tree[0];
	struct av_tree_key key;
	int i;

	if (low->key.mode != AV_MODE_SHARED || low->key.asid == AV_ASID_ANY ||
	    READ_ONCE(low->split) & BIT(0) || av_pair_at_hand(vcpu, pair, 0))
		return;
	av_tree_key(&vcpu->vm->mmu->shadow, &mmu->regime, true, 0, &key);
	i = av_place_find(mmu, &key);
	if (i < 0 || av_pair_context(vcpu, low->serial, mmu->trees[i]->serial))
		return;
	pair->mode[0] = (struct av_mode_trees) {
		.serial = { low->serial, mmu->trees[i]->serial },
		.place = { mmu->root[0] - mmu->roots, i },
		.context = vcpu->sw->current_context,
	};
}

void av_pair_use(struct av_vcpu_mmu *mmu, unsigned int i)
{
	mmu->pair = i;
	mmu->pairs[i].used = mmu->pairs[mmu->pairs[i].with].used = ++mmu->uses;
}

/*
 * Make a new pair in place of the least recently used one. Between two processes, kernels
 * change one TTBR at a time, so the window passes through a pair that has one of the new TTBRs;
 * nobody sees that this pair is used. with: another pair with the same TTBR1; or this one.
 */
static void new_pair(struct av_vcpu_mmu *mmu, const struct av_regime *regime, unsigned int i,
		     unsigned int with)
{
	av_pair_changed(mmu, i);
	mmu->pairs[i] = (struct av_ttbr_pair) {
		.ttbr0 = regime->ttbr0, .ttbr1 = regime->ttbr1, .regimes = mmu->regimes,
		.with = with,
	};
	mmu->pairs[with].with = i;
}

/* The last pair with this TTBR1 but i; or i. */
static unsigned int companion(const struct av_vcpu_mmu *mmu, u64 ttbr1, unsigned int i)
{
	unsigned int n;

	for (n = AV_SRF_ROOTS; n--;)
		if (mmu->pairs[n].ttbr1 == ttbr1 && n != i)
			return n;
	return i;
}

unsigned int av_pair_find(struct av_vcpu_mmu *mmu, const struct av_regime *regime)
{
	const struct av_ttbr_pair *pair = mmu->pairs;
	unsigned int n, oldest = 0;

	for (n = 0; n < AV_SRF_ROOTS; n++, pair++) {
		if (pair->ttbr0 == regime->ttbr0 && pair->ttbr1 == regime->ttbr1 &&
		    pair->regimes == mmu->regimes)
			return n;
		if (pair->used < mmu->pairs[oldest].used)
			oldest = n;
	}
	new_pair(mmu, regime, oldest, companion(mmu, regime->ttbr1, oldest));
	return oldest;
}
