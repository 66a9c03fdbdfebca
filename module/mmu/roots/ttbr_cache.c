// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs of TTBRs that a vCPU used recently, with their trees and contexts, and the part of them
 * that the window may use.
 */
#include "mmu/guest/switcher_tables.h"
#include "mmu/roots/ttbr_cache.h"
#include "stats/stats.h"
#include "switch/tlb.h"

/* The index of an exception level in av_ttbr_pair.mode[], with virtual EL1's current mode. */
static int mode_of(const struct av_vcpu *vcpu, int el)
{
	return el && vcpu->mmu->copies ? 2 : el;
}

/*
 * May these trees be used with a pair? The idle pair needs trees of every ASID, and another vCPU
 * may have bound one of them to a single ASID since is_idle() looked.
 */
static bool may_pair(const struct av_vcpu_mmu *mmu, const struct av_ttbr_pair *pair,
		     const struct av_tree *low, const struct av_tree *high)
{
	return likely(pair != &mmu->pairs[AV_SRF_IDLE]) ||
	       (low->key.asid == AV_ASID_ANY && high->key.asid == AV_ASID_ANY);
}

bool av_ttbr_cache_at_hand(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];
	const struct av_tree *low = mmu->trees[m->place[0]], *high = mmu->trees[m->place[1]];

	return pair->regimes == mmu->regimes && m->serial[0] &&
	       low && low->serial == m->serial[0] && high && high->serial == m->serial[1] &&
	       !(low->key.mode == AV_MODE_SHARED && READ_ONCE(low->split) & BIT(el)) &&
	       may_pair(mmu, pair, low, high) &&
	       av_tlb_holds(vcpu->sw, m->context, m->serial[0], m->serial[1]);
}

u64 av_ttbr_cache_ttbr1(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el)
{
	const struct av_mode_trees *m = &pair->mode[mode_of(vcpu, el)];

	return vcpu->mmu->roots[m->place[1]].pa | av_tlb_asid_of(vcpu->sw, m->context);
}

u64 av_ttbr_cache_ttbr1_of_other(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair,
				 int el)
{
	bool same = pair->mode[0].serial[0] == pair->mode[mode_of(vcpu, 1)].serial[0];

	if (!same || !av_ttbr_cache_at_hand(vcpu, pair, !el))
		return 0;
	return av_ttbr_cache_ttbr1(vcpu, pair, !el);
}

static void unlink_context(struct av_vcpu_mmu *mmu, unsigned int c)
{
	const struct av_mmu_context *ctx = &mmu->contexts[c];

	mmu->contexts[ctx->before].after = ctx->after;
	mmu->contexts[ctx->after].before = ctx->before;
}

static void link_context(struct av_vcpu_mmu *mmu, unsigned int c, unsigned int before)
{
	struct av_mmu_context *ctx = &mmu->contexts[c];

	ctx->before = before;
	ctx->after = mmu->contexts[before].after;
	mmu->contexts[ctx->after].before = c;
	mmu->contexts[before].after = c;
}

void av_ttbr_cache_init(struct av_vcpu_mmu *mmu)
{
	unsigned int c;

	/* A context that does not exist yet is linked to itself. */
	for (c = 0; c <= AV_NR_CONTEXTS; c++)
		mmu->contexts[c].before = mmu->contexts[c].after = c;
	link_context(mmu, 0, AV_NR_CONTEXTS);
}

/* This context was used last. */
static void use_context(struct av_vcpu_mmu *mmu, unsigned int c)
{
	mmu->contexts[c].left = false;
	if (mmu->contexts[AV_NR_CONTEXTS].before == c)
		return;
	unlink_context(mmu, c);
	link_context(mmu, c, mmu->contexts[AV_NR_CONTEXTS].before);
}

void av_ttbr_cache_leave_context(struct av_vcpu_mmu *mmu, unsigned int c)
{
	mmu->contexts[c].left = true;
	unlink_context(mmu, c);
	link_context(mmu, c, AV_NR_CONTEXTS);
}

void av_ttbr_cache_take(struct av_vcpu *vcpu, int el)
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
	use_context(mmu, m->context);
}

void av_ttbr_cache_note(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->pairs[mmu->pair].mode[mode_of(vcpu, mmu->el)] = (struct av_mode_trees) {
		.serial = { mmu->tree[0]->serial, mmu->tree[1]->serial },
		.place = { mmu->root[0] - mmu->roots, mmu->root[1] - mmu->roots },
		.context = vcpu->sw->current_context,
	};
}

/* The values of TTBR1_EL1 to show for a pair, as in av_srf_roots.root1. */
static void roots_of_pair(const struct av_vcpu *vcpu, unsigned int i, u64 *root1)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_ttbr_pair *pair = &mmu->pairs[i];

	root1[0] = root1[1] = 0;
	if (!mmu->want_roots)
		return;
	if (i == mmu->pair && mmu->el && may_pair(mmu, pair, mmu->tree[0], mmu->tree[1])) {
		memcpy(root1, mmu->ttbr1, sizeof(mmu->ttbr1));
	} else if (av_ttbr_cache_at_hand(vcpu, pair, 1)) {
		root1[0] = av_ttbr_cache_ttbr1_of_other(vcpu, pair, 1);
		root1[1] = av_ttbr_cache_ttbr1(vcpu, pair, 1);
	}
}

/* Is more of the current pair ready than the window has? It was shown before it was complete. */
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

	roots_of_pair(vcpu, i, out->root1);
	if (!out->root1[1]) {
		/* Or the window would not look for another pair with this TTBR0. */
		if (i == AV_SRF_IDLE)
			out->ttbr0 = AV_NO_TTBR;
		return;
	}
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
 * Show the window the pairs that virtual EL1 may switch to. A pair in the window is valid until
 *  - a place or context in it is given to others: leave_place() and av_ttbr_cache_context() use
 *    place_pairs[] and contexts[].pairs, which have every pair that was shown with them;
 *  - a mode of the pair is loaded with other trees or another context, or the pair is replaced:
 *    av_ttbr_cache_changed();
 *  - other registers, or copies, or want_roots change: all pairs are shown again here. All of
 *    this happens before or causes a load, and each load, even after others that failed, ends
 *    here before the guest is entered. If the window lacks a pair that could be ready, the next
 *    load of the pair shows it.
 */
void av_ttbr_cache_show(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned long pairs;
	unsigned int i;

	if (shown_less(vcpu))
		av_ttbr_cache_changed(mmu, mmu->pair);
	pairs = mmu->to_show;
	if (unlikely(mmu->shown_regimes != mmu->regimes || mmu->shown_copies != mmu->copies)) {
		pairs = GENMASK(AV_SRF_ROOTS - 1, 0);
		av_sw_tables_hide(vcpu);
	}
	for_each_set_bit(i, &pairs, AV_SRF_ROOTS)
		show_pair(vcpu, i);
	mmu->to_show = 0;
	mmu->shown_regimes = mmu->regimes;
	mmu->shown_copies = mmu->copies;
}

/* The context of the loaded tree of the low half with this one of the high half, or -1. */
static int find_context(const struct av_vcpu *vcpu, unsigned int mode, u64 high)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_tree *low = mmu->tree[0];
	unsigned int c = mmu->place_context[mmu->root[0] - mmu->roots][mode];

	if (likely(c < vcpu->sw->nr_contexts && av_tlb_holds(vcpu->sw, c, low->serial, high)))
		return c;
	/* Only a tree of all ASIDs is used with more than one tree per mode. */
	if (low->key.asid != AV_ASID_ANY)
		return -1;
	for (c = 0; c < vcpu->sw->nr_contexts; c++)
		if (av_tlb_holds(vcpu->sw, c, low->serial, high))
			return c;
	return -1;
}

/* Load the context of the loaded tree of the low half with this one of the high half, by serial. */
static int load_context(struct av_vcpu *vcpu, unsigned int mode, u64 high, bool now)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vcpu_switch *csw = vcpu->sw;
	unsigned int oldest = mmu->contexts[AV_NR_CONTEXTS].after;
	int c = find_context(vcpu, mode, high), ret;

	if (c >= 0) {
		csw->current_context = c;
	} else {
		/* That may have to wait for an ASID. */
		if (now && !mmu->contexts[oldest].left && !av_tlb_complete(vcpu))
			return -EAGAIN;
		av_tlb_offer(csw, oldest);
		/* Another context is only made while the trees of all have places. */
		ret = av_tlb_load(vcpu, mmu->tree[0]->serial, high,
				  now || mmu->contexts[oldest].left);
		if (ret)
			return ret;
		c = csw->current_context;
		mmu->to_show |= mmu->contexts[c].pairs;
		mmu->contexts[c].pairs = 0;
		mmu->place_context[mmu->root[0] - mmu->roots][mode] = c;
	}
	use_context(mmu, c);
	return 0;
}

int av_ttbr_cache_context(struct av_vcpu *vcpu, bool now)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;

	return load_context(vcpu, mode_of(vcpu, mmu->el), mmu->tree[1]->serial, now);
}

/* The place of EL0's tree of the high half: most often the same as before. */
static int find_el0(struct av_vcpu_mmu *mmu, const struct av_tree_key *key)
{
	const struct av_tree *last = mmu->trees[mmu->el0_place];
	int i;

	if (likely(last && av_tree_key_equal(&last->key, key)))
		return mmu->el0_place;
	i = av_root_cache_find(mmu, key);
	if (i >= 0)
		mmu->el0_place = i;
	return i;
}

/*
 * After a TTBR change, EL1 will soon go to EL0, except with the tables that a kernel uses
 * between two processes: make that possible in the window. EL0's context is loaded before EL1's
 * own, which may have to be loaded again.
 */
void av_ttbr_cache_foresee_el0(struct av_vcpu *vcpu, bool now)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_ttbr_pair *pair = &mmu->pairs[mmu->pair];
	const struct av_tree *low = mmu->tree[0];
	struct av_tree_key key;
	int i;

	if (low->key.mode != AV_MODE_SHARED || low->key.asid == AV_ASID_ANY ||
	    READ_ONCE(low->split) & BIT(0) || av_ttbr_cache_at_hand(vcpu, pair, 0))
		return;
	av_vcpu_tree_key(vcpu, true, 0, &key);
	i = find_el0(mmu, &key);
	if (i < 0 || load_context(vcpu, 0, mmu->trees[i]->serial, now))
		return;
	pair->mode[0] = (struct av_mode_trees) {
		.serial = { low->serial, mmu->trees[i]->serial },
		.place = { mmu->root[0] - mmu->roots, i },
		.context = vcpu->sw->current_context,
	};
}

void av_ttbr_cache_use(struct av_vcpu_mmu *mmu, unsigned int i)
{
	mmu->pair = i;
	mmu->pairs[i].used = mmu->pairs[mmu->pairs[i].with].used = ++mmu->uses;
}

/*
 * Make a new pair in place of the least recently used one of its set. Between two processes,
 * kernels change one TTBR at a time, so the window passes through a pair that has one of the new
 * TTBRs; that use goes unnoticed. If the ASID is in TTBR1, that pair is in the same set.
 */
static unsigned int new_pair(struct av_vcpu_mmu *mmu, const struct av_regime *regime,
			     unsigned int set)
{
	unsigned int n, i = set, with;

	for (n = set + 1; n < set + AV_SRF_WAYS; n++)
		if (mmu->pairs[n].used < mmu->pairs[i].used)
			i = n;
	for (n = set, with = i; n < set + AV_SRF_WAYS; n++)
		if (n != i && mmu->pairs[n].ttbr1 == regime->ttbr1)
			with = n;
	av_ttbr_cache_changed(mmu, i);
	mmu->pairs[i] = (struct av_ttbr_pair) {
		.ttbr0 = regime->ttbr0, .ttbr1 = regime->ttbr1, .regimes = mmu->regimes,
		.with = with,
	};
	mmu->pairs[with].with = i;
	return i;
}

/* The pair with the tables that a kernel uses between two processes. */
static unsigned int idle_pair(struct av_vcpu_mmu *mmu, const struct av_regime *regime)
{
	struct av_ttbr_pair *pair = &mmu->pairs[AV_SRF_IDLE];

	if (pair->ttbr0 != regime->ttbr0 || !av_srf_same_base(pair->ttbr1, regime->ttbr1) ||
	    pair->regimes != mmu->regimes) {
		av_ttbr_cache_changed(mmu, AV_SRF_IDLE);
		*pair = (struct av_ttbr_pair) {
			.ttbr0 = regime->ttbr0, .ttbr1 = regime->ttbr1,
			.regimes = mmu->regimes, .with = AV_SRF_IDLE,
		};
	}
	return AV_SRF_IDLE;
}

/* Are both trees of the pair the same for every ASID? */
static bool is_idle(const struct av_shadow *sh, const struct av_regime *regime)
{
	return regime->ttbr0 == READ_ONCE(sh->idle_base) && !READ_ONCE(sh->high_tagged) &&
	       av_regime_mmu_on(regime);
}

unsigned int av_ttbr_cache_find(struct av_vcpu *vcpu, const struct av_regime *regime)
{
	unsigned int set = av_srf_set_of(regime->ttbr0, regime->ttbr1), i;
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (is_idle(&vcpu->vm->mmu->shadow, regime))
		return idle_pair(mmu, regime);

	for (i = set; i < set + AV_SRF_WAYS; i++) {
		const struct av_ttbr_pair *pair = &mmu->pairs[i];

		if (pair->ttbr0 == regime->ttbr0 && pair->ttbr1 == regime->ttbr1 &&
		    pair->regimes == mmu->regimes)
			return i;
	}
	return new_pair(mmu, regime, set);
}
