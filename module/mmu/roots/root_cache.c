// SPDX-License-Identifier: GPL-2.0
/*
 * The root cache (prev_roots in KVM for x86): a vCPU's references on the trees that it used last,
 * so that switching between virtual EL1 and EL0, or a few processes, takes no lock. A place is an
 * entry of the cache, with a reference and a copy of the tree's root.
 *
 * A place keeps the page of its root copy for life. When the place gets another tree, the page
 * is refilled: it is in no TTBR then, and TLB entries of the old tree, under that tree's
 * contexts, stay valid.
 */
#include <linux/gfp.h>
#include <linux/io.h>

#include "mmu/guest/switcher_tables.h"
#include "mmu/guest/walk_cache.h"
#include "mmu/roots/ttbr_cache.h"
#include "mmu/shadow/position.h"
#include "mmu/shadow/resync.h"
#include "switch/tlb.h"

/* The vCPU's place of a tree, or -1. Starts with the loaded tree: the high half rarely changes. */
int av_root_cache_find(const struct av_vcpu_mmu *mmu, const struct av_tree_key *key)
{
	const struct av_root *loaded = mmu->root[key->high];
	int i = loaded ? loaded - mmu->roots : 0;

	if (mmu->trees[i] && av_tree_key_equal(&mmu->trees[i]->key, key))
		return i;
	if (!mmu->place_asids[key->asid % AV_PLACE_ASIDS])
		return -1;
	for (i = 0; i < AV_VCPU_TREES; i++) {
		const struct av_tree *tree = mmu->trees[i];

		/* Most differ in this. */
		if (tree && tree->key.asid == key->asid && av_tree_key_equal(&tree->key, key))
			return i;
	}
	return -1;
}

/* Get a tree under mmu_lock. Makes room in parts, releasing the lock in between. */
static struct av_tree *find_tree(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_vm *vm = vcpu->vm;
	struct av_tree *tree;
	bool more = true;

	for (;;) {
		tree = av_tree_get(&vm->mmu->shadow, key, &vcpu->mmu->pool);
		if (tree || !more)
			return tree;
		more = av_mmu_reclaim(vm, &vcpu->mmu->pool);
		cond_resched_lock(&vm->mmu_lock);
	}
}

/* Get a tree, and make root a copy of its root. */
static struct av_tree *get_tree(struct av_vcpu *vcpu, const struct av_tree_key *key,
				struct av_root *root)
{
	struct av_vm *vm = vcpu->vm;
	struct av_tree *tree;

	av_mmu_lock(vcpu);
	tree = find_tree(vcpu, key);
	if (tree) {
		if (av_tree_inherits(tree))
			av_resync_inherited(vcpu, tree);
		av_root_attach(root, tree);
		av_shadow_publish(&vm->mmu->shadow);
	}
	spin_unlock(&vm->mmu_lock);
	return tree;
}

/*
 * Has the guest invalidated the tree's one ASID, and not used the tree since? Then its process
 * has probably exited. Without mmu_lock: a wrong answer costs some work.
 */
static bool is_left(const struct av_tree *tree)
{
	return READ_ONCE(tree->abandoned);
}

void av_root_cache_behind(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned int i;

	mmu->place_behind = 0;
	for (i = 0; i < AV_VCPU_TREES; i++) {
		const struct av_tree *tree = mmu->trees[i];

		if (tree && tree->key.high && tree->key.window != vcpu->sw->position)
			mmu->place_behind |= BIT(i);
	}
}

/*
 * The place to empty next. Its tree is not loaded. First come trees that are behind or whose
 * process has exited, then those not loaded since next_place() last passed over them.
 */
static int next_place(struct av_vcpu_mmu *mmu)
{
	u32 left;
	int i;

	for (left = mmu->place_behind; unlikely(left); left &= left - 1) {
		i = __builtin_ctz(left);
		if (mmu->trees[i] != mmu->tree[1])
			return i;
	}
	for (left = mmu->place_tagged; left; left &= left - 1) {
		const struct av_tree *tree;

		i = __builtin_ctz(left);
		tree = mmu->trees[i];
		if (tree != mmu->tree[0] && tree != mmu->tree[1] && is_left(tree))
			return i;
	}
	for (;;) {
		const struct av_tree *tree;

		i = mmu->next_tree++ % AV_VCPU_TREES;
		tree = mmu->trees[i];
		if (tree && (tree == mmu->tree[0] || tree == mmu->tree[1]))
			continue;
		if (!tree || !(mmu->in_use & BIT(i)))
			return i;
		mmu->in_use &= ~BIT(i);
	}
}

/* A place is about to get another tree: update the window's pairs and the old tree's contexts. */
static void leave_place(struct av_vcpu *vcpu, unsigned int i)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	const struct av_tree *tree = mmu->trees[i];
	unsigned int c, mode;

	mmu->to_show |= mmu->place_pairs[i];
	mmu->place_pairs[i] = 0;
	av_sw_tables_hide(vcpu);
	if (!tree->key.high && tree->key.asid != AV_ASID_ANY) {
		/* The last context of each mode; older ones are recycled in their turn. */
		for (mode = 0; mode < AV_PAIR_MODES; mode++) {
			c = mmu->place_context[i][mode];
			if (c < vcpu->sw->nr_contexts && av_tlb_has(vcpu->sw, c, tree->serial))
				av_ttbr_cache_leave_context(mmu, c);
		}
	} else {
		for (c = 0; c < vcpu->sw->nr_contexts; c++)
			if (av_tlb_has(vcpu->sw, c, tree->serial))
				av_ttbr_cache_leave_context(mmu, c);
	}
	mmu->place_asids[tree->key.asid % AV_PLACE_ASIDS]--;
	mmu->place_tagged &= ~BIT(i);
	mmu->place_behind &= ~BIT(i);
	mmu->trees[i] = NULL;
}

/* Install a tree in an emptied place. */
static void take_place(struct av_vcpu_mmu *mmu, unsigned int i, struct av_tree *tree)
{
	mmu->trees[i] = tree;
	mmu->place_asids[tree->key.asid % AV_PLACE_ASIDS]++;
	if (tree->key.asid != AV_ASID_ANY)
		mmu->place_tagged |= BIT(i);
}

/* Under mmu_lock: a place gives its tree back. */
static void empty_place(struct av_vcpu *vcpu, unsigned int i, struct av_tree *tree)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;

	av_root_detach(&vcpu->mmu->roots[i], tree);
	av_tree_put(sh, tree);
	av_tree_note_idle(sh, tree);
	av_tree_retire(sh, tree);
}

/* Drop trees that are behind (mmu/shadow/position.h) and that no vCPU has loaded, in parts. */
static void drop_behind(struct av_vm *vm, struct av_memcache *pool)
{
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		more = av_shadow_drop_behind(&vm->mmu->shadow, pool);
		spin_unlock(&vm->mmu_lock);
		if (more)
			av_mmu_offer();
	} while (more);
}

static void give_back(struct av_vcpu *vcpu, unsigned int i)
{
	bool behind = vcpu->mmu->place_behind & BIT(i);
	struct av_tree *tree = vcpu->mmu->trees[i];
	struct av_vm *vm = vcpu->vm;

	leave_place(vcpu, i);
	av_mmu_lock(vcpu);
	empty_place(vcpu, i, tree);
	spin_unlock(&vm->mmu_lock);
	if (unlikely(behind))
		drop_behind(vm, &vcpu->mmu->pool);
	/* Its tables serve the next process. */
	av_mmu_reap(vm, &vcpu->mmu->pool);
}

/* Empty a place whose tree is not loaded. Returns its index, or -ENOMEM. */
static int free_place(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int i;

	i = next_place(mmu);
	if (mmu->trees[i])
		give_back(vcpu, i);
	if (!mmu->roots[i].pte) {
		mmu->roots[i].pte = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!mmu->roots[i].pte)
			return -ENOMEM;
		mmu->roots[i].pa = virt_to_phys(mmu->roots[i].pte);
		av_list_init(&mmu->roots[i].node);
	}
	return i;
}

/* A place that can be given back, or -1. */
static int spare_place(const struct av_vcpu_mmu *mmu)
{
	int i;

	for (i = 0; i < AV_VCPU_TREES; i++)
		if (mmu->trees[i] && mmu->trees[i] != mmu->tree[0] && mmu->trees[i] != mmu->tree[1])
			return i;
	return -1;
}

/* Fill the pool. If the host has no memory, give back the vCPU's other places for it. */
static int fill_pool(struct av_vcpu *vcpu)
{
	int ret = av_mmu_fill_memcache(vcpu), i;

	while (ret == -ENOMEM && (i = spare_place(vcpu->mmu)) >= 0) {
		give_back(vcpu, i);
		ret = av_mmu_fill_memcache(vcpu);
	}
	return ret;
}

/* Get one of the VM's trees, or a new one, for a place that is not loaded. */
static int adopt(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_tree *tree;
	int i, ret;

	i = free_place(vcpu);
	if (i < 0)
		return i;
	ret = fill_pool(vcpu);
	if (ret)
		return ret;
	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_MISS);
	tree = get_tree(vcpu, key, &mmu->roots[i]);
	if (!tree)
		return -ENOMEM;
	take_place(mmu, i, tree);
	return i;
}

int av_root_cache_choose(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	int i = av_root_cache_find(vcpu->mmu, key);

	return i >= 0 ? i : adopt(vcpu, key);
}

int av_root_cache_choose_now(struct av_vcpu *vcpu, const struct av_tree_key *key)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	int i = av_root_cache_find(mmu, key);
	struct av_tree *tree;

	if (i >= 0)
		return i;
	i = next_place(mmu);
	if (!mmu->roots[i].pte || !av_mmu_lock_soon(vcpu))
		return -EAGAIN;
	tree = mmu->trees[i];
	if (tree) {
		leave_place(vcpu, i);
		empty_place(vcpu, i, tree);
		av_shadow_reap_few(sh, &mmu->pool);
	}
	tree = av_tree_get(sh, key, &mmu->pool);
	if (tree) {
		if (av_tree_inherits(tree))
			av_resync_inherited(vcpu, tree);
		av_root_attach(&mmu->roots[i], tree);
		av_shadow_publish(sh);
		take_place(mmu, i, tree);
	}
	av_mmu_unlock(vcpu);
	if (!tree)
		return -EAGAIN;
	av_stat_inc(&vcpu->stats, AV_EVENT_TREE_MISS);
	return i;
}
