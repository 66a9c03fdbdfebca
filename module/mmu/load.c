// SPDX-License-Identifier: GPL-2.0
/*
 * Which trees a vCPU runs on.
 *
 * A vCPU keeps references on the last few trees it used, so that going between
 * virtual EL1 and EL0, or between a few processes, takes no lock.
 */
#include "mmu/internal.h"

void av_vcpu_regime(struct av_vcpu *vcpu, struct av_regime *regime)
{
	const u64 *sys = vcpu->srf->sys;

	*regime = (struct av_regime) {
		.sctlr = sys[AV_SCTLR_EL1],
		.tcr = sys[AV_TCR_EL1],
		.ttbr0 = sys[AV_TTBR0_EL1],
		.ttbr1 = sys[AV_TTBR1_EL1],
		.mair = sys[AV_MAIR_EL1],
		.ipa_bits = vcpu->vm->pa_bits,
	};
}

static struct av_tree *find_own(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	int i;

	for (i = 0; i < AV_VCPU_TREES; i++) {
		struct av_tree *tree = vcpu->mmu->trees[i];

		if (tree && av_tree_key_equal(&tree->key, key))
			return tree;
	}
	return NULL;
}

static struct av_tree *get_locked(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	struct av_tree *tree;

	vcpu->vm->mmu->spare = &vcpu->mmu->spare;
	tree = av_tree_get(sh, key);
	if (!tree) {
		/* Not enough is left of the budget: what is loaded is emptied, if need be. */
		av_mmu_reclaim(vcpu->vm);
		tree = av_tree_get(sh, key);
	}
	vcpu->vm->mmu->spare = NULL;
	return tree;
}

/* Get a tree from the VM's, for one of the vCPU's places that is not loaded. */
static struct av_tree *adopt(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	struct av_tree *tree;
	unsigned int i;

	if (av_spare_fill(&mmu->spare))
		return NULL;
	do {
		i = mmu->next_tree++ % AV_VCPU_TREES;
	} while (mmu->trees[i] && (mmu->trees[i] == mmu->tree[0] ||
				   mmu->trees[i] == mmu->tree[1]));
	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_MISS);
	spin_lock(&vm->mmu_lock);
	if (mmu->trees[i])
		av_tree_put(&vm->mmu->shadow, mmu->trees[i]);
	tree = get_locked(vcpu, key);
	mmu->trees[i] = tree;
	spin_unlock(&vm->mmu_lock);
	return tree;
}

static struct av_tree *choose(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	return find_own(vcpu, key) ?: adopt(vcpu, key);
}

static int load_half(struct av_vcpu *vcpu, const struct av_regime *regime, bool high, int el)
{
	struct av_tree_key key;
	struct av_tree *tree;

	av_tree_key(&vcpu->vm->mmu->shadow, regime, high, el, &key);
	tree = choose(vcpu, &key);
	if (tree && !high && el && READ_ONCE(tree->split)) {
		vcpu->mmu->tree[0] = tree;	/* keep its place */
		key.mode = AV_MODE_EL1;
		tree = choose(vcpu, &key);
	}
	if (vcpu->mmu->tree[high] != tree)
		av_stat_inc(&vcpu->stats, AV_EVENT_TREE_SWITCH);
	vcpu->mmu->tree[high] = tree;
	return tree ? 0 : -ENOMEM;
}

int av_mmu_load(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int el = av_srf_el1(vcpu->srf), ret;

	if (!mmu->stale)
		return 0;
	av_vcpu_regime(vcpu, &mmu->regime);
	mmu->el = el;
	mmu->fetch.valid = false;
	ret = load_half(vcpu, &mmu->regime, false, el);
	if (!ret)
		ret = load_half(vcpu, &mmu->regime, true, el);
	mmu->stale = ret;
	return ret;
}

void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale = true;
}

void av_mmu_prepare_entry(struct av_vcpu *vcpu, struct av_entry *out)
{
	const struct av_tree *low = vcpu->mmu->tree[0], *high = vcpu->mmu->tree[1];

	out->root0 = low->root->pa;
	out->root1 = high->root->pa;
	out->serial0 = low->serial;
	out->serial1 = high->serial;
}
