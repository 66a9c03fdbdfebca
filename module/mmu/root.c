// SPDX-License-Identifier: GPL-2.0
/*
 * Which trees a vCPU runs on, and its roots.
 *
 * A vCPU keeps references on the last few trees that it used, so that going
 * between virtual EL1 and EL0, or between a few processes, takes no lock. It
 * runs on its own copy of a tree's root table, so that what stands at one
 * address may differ from vCPU to vCPU.
 *
 * A place of trees[] has its copy's page for life. The page is filled anew
 * when the place goes to another tree: it is in no TTBR then, and what the
 * TLB keeps of the former tree under that tree's contexts stays right.
 */
#include <linux/gfp.h>
#include <linux/io.h>

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

/* Room is made a part at a time, with the lock let go between. */
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

/* A place of the vCPU's whose tree is not loaded, emptied. */
static int free_place(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	int i;

	do {
		i = mmu->next_tree++ % AV_VCPU_TREES;
	} while (mmu->trees[i] && (mmu->trees[i] == mmu->tree[0] ||
				   mmu->trees[i] == mmu->tree[1]));
	if (mmu->trees[i]) {
		spin_lock(&vm->mmu_lock);
		av_root_detach(&mmu->roots[i]);
		av_tree_put(&vm->mmu->shadow, mmu->trees[i]);
		spin_unlock(&vm->mmu_lock);
		mmu->trees[i] = NULL;
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

	ret = av_pool_fill(&mmu->pool);
	if (ret)
		return ret;
	i = free_place(vcpu);
	if (i < 0)
		return i;
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

/* EL1's tree of a half, as it is to run. */
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
	return 0;
}

/* Is what a mode was last run with still what it would be given now? */
static bool mode_at_hand(const struct av_vcpu *vcpu, int el)
{
	const struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_mode_trees *m = &mmu->mode[el];
	const struct av_tree *high = mmu->trees[m->place], *low = mmu->tree[0];

	return m->regimes == mmu->regimes && low->serial == m->serial[0] &&
	       (!el || m->copies == mmu->copies) &&
	       !(READ_ONCE(low->split) & BIT(el)) && high && high->serial == m->serial[1] &&
	       av_tlb_holds(vcpu->sw, m->context, m->serial[0], m->serial[1]);
}

static u64 ttbr1_of(const struct av_vcpu *vcpu, int el)
{
	const struct av_mode_trees *m = &vcpu->mmu->mode[el];

	return vcpu->mmu->roots[m->place].pa | av_tlb_asid_of(vcpu->sw, m->context);
}

/* Go on with what a mode was last run with. */
static void take_mode(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_mode_trees *m = &mmu->mode[el];

	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_SWITCH);
	mmu->el = el;
	mmu->tree[1] = mmu->trees[m->place];
	mmu->root[1] = &mmu->roots[m->place];
	mmu->ttbr1[el] = ttbr1_of(vcpu, el);
	vcpu->sw->current_context = m->context;
}

/* What was just loaded; and is the other mode at hand? It stays so until the next time. */
static void note_mode(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int other = !mmu->el;

	mmu->mode[mmu->el] = (struct av_mode_trees) {
		.regimes = mmu->regimes,
		.serial = { mmu->tree[0]->serial, mmu->tree[1]->serial },
		.place = mmu->root[1] - mmu->roots,
		.context = vcpu->sw->current_context,
		.copies = mmu->el && mmu->copies,
	};
	mmu->ttbr1[mmu->el] = ttbr1_of(vcpu, mmu->el);
	mmu->ttbr1[other] = mode_at_hand(vcpu, other) ? ttbr1_of(vcpu, other) : 0;
}

static int load(struct av_vcpu *vcpu, int el)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int ret;

	/* Where this fails half-way what the other mode had may be gone: note_mode() looks anew. */
	mmu->ttbr1[0] = mmu->ttbr1[1] = 0;
	av_vcpu_regime(vcpu, &mmu->regime);
	mmu->el = el;
	mmu->fetch.valid = false;
	ret = load_half(vcpu, &mmu->regime, false, el);
	if (!ret)
		ret = load_half(vcpu, &mmu->regime, true, el);
	if (!ret)
		ret = av_tlb_load(vcpu, mmu->tree[0]->serial, mmu->tree[1]->serial);
	if (!ret)
		note_mode(vcpu);
	return ret;
}

/*
 * What copies cannot do comes in bursts (a kernel that starts, firmware's
 * services): each time they are left for longer, and for less again where it
 * stays away.
 */
#define PLAIN_MIN	8
#define PLAIN_MAX	1024

void av_mmu_go_plain(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	mmu->plain = mmu->plain_next = clamp(2 * mmu->plain_next, PLAIN_MIN, PLAIN_MAX);
	av_mmu_regime_changed(vcpu);
}

/* From here on until the next time. With the MMU off there is but one tree, which is plain. */
static void choose_copies(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (mmu->plain)
		mmu->plain--;
	else if (mmu->plain_next)
		mmu->plain_next--;
	mmu->copies = mmu->want_copies && !mmu->plain &&
		      av_srf_get(vcpu->srf, AV_SCTLR_EL1) & AV_SCTLR_M;
}

int av_mmu_load(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int el = av_srf_el1(vcpu->srf), ret = 0;

	if (!mmu->stale)
		return 0;
	choose_copies(vcpu);
	if (mode_at_hand(vcpu, el))
		take_mode(vcpu, el);
	else
		ret = load(vcpu, el);
	mmu->stale = ret;
	return ret;
}

void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->regimes++;
	vcpu->mmu->stale = true;
}

void av_mmu_mode_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale = true;
}

void av_mmu_follow_mode(struct av_vcpu *vcpu, int el)
{
	take_mode(vcpu, el);
}
