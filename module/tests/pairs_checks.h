/* SPDX-License-Identifier: GPL-2.0 */
/* Invariants of a vCPU's trees, contexts and window, and of the TLB, in test_pairs.c. */
#ifndef AV_TESTS_PAIRS_CHECKS_H
#define AV_TESTS_PAIRS_CHECKS_H

#include "pairs_world.h"

/* Is it a tree that a level may run on by these registers? */
static bool suits(const struct av_vcpu *vcpu, const struct av_tree *tree,
		  const struct av_regime *regime, bool high, int el)
{
	struct av_tree_key key, has = tree->key;
	u8 own = !el ? AV_MODE_EL0 : vcpu->mmu->copies ? AV_MODE_EL1_COPIES : AV_MODE_EL1;

	av_tree_key(&vm_mmu.shadow, regime, high, el, &key);
	/* Of all ASIDs, or of this one: which it is may have changed since. */
	if (has.asid == AV_ASID_ANY || has.asid == av_regime_asid(regime))
		has.asid = key.asid;
	if (high ? key.mode : has.mode != AV_MODE_SHARED)
		key.mode = own;
	/* The annex is in the upper half. */
	if (high && key.mode == AV_MODE_EL1_COPIES)
		key.owner = av_tree_owner(vcpu);
	/* The CPU would lose the window. */
	key.window = high ? vcpu->sw->position : 0;
	return av_tree_key_equal(&has, &key);
}

static int place_of(const struct av_vcpu_mmu *mmu, u64 pa)
{
	int i;

	for (i = 0; i < AV_VCPU_TREES; i++)
		if (mmu->trees[i] && mmu->roots[i].pa == pa)
			return i;
	return -1;
}

/* The trees of root tables and ASID, as the CPU has them. False: nobody's. */
static bool whose(const struct av_vcpu *vcpu, u64 root0, u64 root1, const struct av_tree **tree)
{
	int low = place_of(vcpu->mmu, root0), high = place_of(vcpu->mmu, root1 & ROOT_PA);
	unsigned int c;

	CHECK(low >= 0 && high >= 0);
	if (low < 0 || high < 0)
		return false;
	tree[0] = vcpu->mmu->trees[low];
	tree[1] = vcpu->mmu->trees[high];
	for (c = 0; c < vcpu->sw->nr_contexts; c++)
		if (av_tlb_asid_of(vcpu->sw, c) == (root1 & ~ROOT_PA))
			break;
	CHECK(c < vcpu->sw->nr_contexts);
	return c < vcpu->sw->nr_contexts;
}

static void check_roots(const struct av_vcpu *vcpu, const struct av_regime *regime, u64 root0,
			u64 root1, int el)
{
	const struct av_tree *tree[2];
	unsigned int c = 0;

	if (!whose(vcpu, root0, root1, tree))
		return;
	CHECK(suits(vcpu, tree[0], regime, false, el));
	CHECK(suits(vcpu, tree[1], regime, true, el));
	while (av_tlb_asid_of(vcpu->sw, c) != (root1 & ~ROOT_PA))
		c++;
	CHECK(av_tlb_holds(vcpu->sw, c, tree[0]->serial, tree[1]->serial));
}

/* The tree and registers for which the window may read a table of the guest. */
static struct {
	u64 serial, regimes;
} noted[FAKE_VCPUS][AV_SRF_TABLES];

/* As mmu/guest/switcher_tables.c. */
static void show_table(struct av_vcpu *vcpu)
{
	unsigned int n = below(AV_SRF_TABLES);

	vcpu->srf->tables[n] = (struct av_srf_table) {
		.region = n, .root0 = vcpu->mmu->root[0]->pa,
	};
	noted[vcpu->idx][n].serial = vcpu->mmu->tree[0]->serial;
	noted[vcpu->idx][n].regimes = vcpu->mmu->regimes;
}

/* What it may read is still for the tree that has that root. */
static void check_tables(const struct av_vcpu *vcpu)
{
	unsigned int n;

	for (n = 0; n < AV_SRF_TABLES; n++) {
		const struct av_srf_table *table = &vcpu->srf->tables[n];
		int place;

		if (table->region == AV_NO_REGION)
			continue;
		tried.tables++;
		place = place_of(vcpu->mmu, table->root0);
		CHECK(place >= 0);
		CHECK(place < 0 ||
		      vcpu->mmu->trees[place]->serial == noted[vcpu->idx][n].serial);
		CHECK_EQ(vcpu->mmu->regimes, noted[vcpu->idx][n].regimes);
	}
}

/* What a vCPU has noted of its places' trees. */
static void check_places(const struct av_vcpu_mmu *mmu)
{
	u8 asids[AV_PLACE_ASIDS] = {};
	u32 tagged = 0;
	unsigned int i;

	for (i = 0; i < AV_VCPU_TREES; i++) {
		const struct av_tree *tree = mmu->trees[i];

		if (!tree)
			continue;
		asids[tree->key.asid % AV_PLACE_ASIDS]++;
		tagged |= tree->key.asid == AV_ASID_ANY ? 0 : BIT(i);
	}
	CHECK(!memcmp(asids, mmu->place_asids, sizeof(asids)));
	CHECK_EQ(mmu->place_tagged, tagged);
}

/* All that the window has. */
static void check_shown(struct av_vcpu *vcpu)
{
	struct av_regime regime;
	unsigned int i;
	int el;

	check_places(vcpu->mmu);
	check_tables(vcpu);
	av_vcpu_regime(vcpu, &regime);
	for (i = 0; i < AV_SRF_ROOTS; i++) {
		const struct av_srf_roots *roots = &vcpu->srf->roots[i];

		if (!roots->root1[1])
			continue;
		CHECK(vcpu->mmu->want_roots);
		regime.ttbr0 = roots->ttbr0;
		regime.ttbr1 = roots->ttbr1;
		/* With any ASID. */
		if (i == AV_SRF_IDLE)
			regime.ttbr1 ^= (u64)below(8) << 49;
		else
			CHECK_EQ(av_srf_set_of(roots->ttbr0, roots->ttbr1), i - i % AV_SRF_WAYS);
		for (el = 0; el < 2; el++) {
			if (!roots->root1[el])
				continue;
			tried.shown[el]++;
			check_roots(vcpu, &regime, roots->root0, roots->root1[el], el);
		}
	}
}

/* The guest runs: its copies of the roots are whole, and the TLB has nothing of others'. */
static void run(struct av_vcpu *vcpu, int el)
{
	const struct av_srf *srf = vcpu->srf;
	const struct av_tree *tree[2];
	struct av_regime regime;
	u16 asid = srf->ttbr1[el] >> 48;
	int half;

	av_vcpu_regime(vcpu, &regime);
	check_roots(vcpu, &regime, srf->root0, srf->ttbr1[el], el);
	if (!whose(vcpu, srf->root0, srf->ttbr1[el], tree))
		return;
	CHECK(!memcmp((void *)(uintptr_t)srf->root0, tree[0]->root->pte, 4096));
	CHECK(!memcmp((void *)(uintptr_t)(srf->ttbr1[el] & ROOT_PA), tree[1]->root->pte, 4096));
	for (half = 0; half < 2; half++) {
		CHECK(!cached[asid].serial[half] ||
		      cached[asid].serial[half] == tree[half]->serial);
		cached[asid].serial[half] = tree[half]->serial;
	}
	tried.runs++;
}

#endif /* AV_TESTS_PAIRS_CHECKS_H */
