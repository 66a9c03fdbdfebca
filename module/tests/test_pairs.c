// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs of TTBRs that the window gets (mmu/roots/ttbr_cache.c, root_cache.c, root.c), at
 * random. Two vCPUs of a VM change their registers, levels and copies, partly in the window, run
 * out of ASIDs and of memory, and have their trees split and dropped. After each load, every pair
 * in a vCPU's window leads to trees for the registers of that pair, under their ASID, and the TLB
 * has nothing of others for the trees that the guest runs on.
 *
 *	test_pairs [stays [seed]]
 */
#include "pairs_checks.h"

#define NR_BASES	24

static unsigned long stays = 60000;
/* As Linux: ASIDs in TTBR1, a global upper half, and nothing in the tables between two processes. */
static bool tidy;

/* ---- the guest ------------------------------------------------------------- */

/* Few tables most of the time, each by a few ASIDs. */
static u64 some_ttbr(bool high)
{
	bool few = below(4);
	u64 base = below(high ? 2 : few ? 3 : NR_BASES), asid = below(few ? 2 : 8);

	if (!high && tidy && below(2))
		base = 0;
	if (!high && (tidy || !base))
		asid = 0;
	return (1 + base) << 20 | asid << 49;
}

/* As pair_of() in cpu/fast.c. */
static unsigned int window_finds(const struct av_srf *srf, u64 ttbr0, u64 ttbr1)
{
	const struct av_srf_roots *idle = &srf->roots[AV_SRF_IDLE], *roots;
	unsigned int i = av_srf_set_of(ttbr0, ttbr1), end = i + AV_SRF_WAYS;

	if (idle->ttbr0 == ttbr0)
		return av_srf_same_base(idle->ttbr1, ttbr1) && idle->root1[1] ? AV_SRF_IDLE :
										AV_SRF_ROOTS;
	for (; i < end; i++) {
		roots = &srf->roots[i];
		if (roots->ttbr0 == ttbr0 && roots->ttbr1 == ttbr1 && roots->root1[1])
			return i;
	}
	return AV_SRF_ROOTS;
}

/* As fast_ttbr() in cpu/fast.c. */
static bool window_writes(struct av_vcpu *vcpu, bool high, u64 val)
{
	struct av_srf *srf = vcpu->srf;
	u64 ttbr0 = high ? av_srf_get(srf, AV_TTBR0_EL1) : val;
	u64 ttbr1 = high ? val : av_srf_get(srf, AV_TTBR1_EL1);
	unsigned int i = window_finds(srf, ttbr0, ttbr1);
	const struct av_srf_roots *roots = &srf->roots[i];

	if (i == AV_SRF_ROOTS)
		return false;
	tried.idle += i == AV_SRF_IDLE && av_srf_at_pair(srf, i);
	av_srf_set(srf, high ? AV_TTBR1_EL1 : AV_TTBR0_EL1, val);
	av_srf_set_pair(srf, i);
	srf->root0 = roots->root0;
	srf->ttbr1[0] = roots->root1[0];
	srf->ttbr1[1] = roots->root1[1];
	return true;
}

static void set_el(struct av_vcpu *vcpu, int el)
{
	vcpu->srf->vmode = el ? AV_PSR_EL1H : 0;
}

/* As answer_ttbr() in cpu/light.c. */
static bool writes_now(struct av_vcpu *vcpu, bool high, u64 val)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_srf *srf = vcpu->srf;
	bool done;

	if (!av_srf_at_pair(srf, mmu->pair) || !mmu->el)
		av_mmu_follow_window(vcpu, 1);
	if (mmu->stale)
		return false;
	av_srf_set(srf, high ? AV_TTBR1_EL1 : AV_TTBR0_EL1, val);
	no_memory = true;
	done = av_mmu_load_now(vcpu);
	no_memory = false;
	REQUIRE(!vm.mmu_lock);
	tried.now[done]++;
	if (!done) {
		CHECK(mmu->stale);
		return false;
	}
	CHECK(!mmu->stale);
	srf->root0 = mmu->root[0]->pa;
	memcpy(srf->ttbr1, mmu->ttbr1, sizeof(srf->ttbr1));
	check_shown(vcpu);
	return true;
}

/* In the window, and out of it as cpu/ does. */
static void stay(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_srf *srf = vcpu->srf;
	unsigned int n = below(6);
	int el = mmu->el;

	srf->root0 = mmu->root[0]->pa;
	memcpy(srf->ttbr1, mmu->ttbr1, sizeof(srf->ttbr1));
	run(vcpu, el);
	if (!el && below(2))
		show_table(vcpu);
	while (n--) {
		bool high = below(3) == 0;
		u64 val = some_ttbr(high);

		if (below(2) && srf->ttbr1[!el])
			el = !el;
		else if (!el)
			continue;
		else if (!window_writes(vcpu, high, val) && (below(2) || !writes_now(vcpu, high, val)))
			break;
		set_el(vcpu, el);
		run(vcpu, el);
	}
	if (el != mmu->el || !av_srf_at_pair(srf, mmu->pair)) {
		tried.followed++;
		av_mmu_follow_window(vcpu, el);
	}
}

/* A page of the half in use, as after a fault. */
static void fill(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	bool high = below(3) == 0;
	struct av_fill f = {
		.va = (high ? GENMASK_ULL(63, 48) : 0) | below(8) << 39 | below(4) << 12,
		.gfn = below(NR_GFNS), .level = 3, .rights = AV_R, .gspan = 12,
		.global = high ? below(50) : below(2),
	};
	int ret;

	if (vcpu->mmu->stale || av_mmu_fill_memcache(vcpu))
		return;
	if (tidy && high)
		f.global = true;
	else if (tidy && mmu->tree[0]->key.base == 1 << 20)
		return;
	f.pa = (u64)f.gfn << 12;
	ret = av_shadow_fill(&vm_mmu.shadow, mmu->tree[high], &f, &mmu->pool);
	if (ret == -ESTALE) {
		tried.stale++;
		av_mmu_regime_changed(vcpu);
	}
}

/* slow.c: the level gets a tree of its own. */
static void split(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (mmu->stale || mmu->tree[0]->key.mode != AV_MODE_SHARED ||
	    !(av_srf_get(vcpu->srf, AV_SCTLR_EL1) & AV_SCTLR_M))
		return;
	mmu->tree[0]->split |= BIT(mmu->el);
	av_mmu_regime_changed(vcpu);
	tried.split++;
}

static void drop_trees(void)
{
	bool more = true;
	unsigned int n = below(20);

	while (n-- && more)
		av_shadow_reclaim(&vm_mmu.shadow, below(2), NULL, &more);
	tried.dropped++;
}

static void want(struct av_vcpu *vcpu, bool copies, bool roots)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (mmu->want_copies == copies && mmu->want_roots == roots)
		return;
	mmu->want_copies = copies;
	mmu->want_roots = roots;
	mmu->regimes++;
	mmu->stale |= AV_STALE_REGS;
}

static void change_regime(struct av_vcpu *vcpu)
{
	/* With the ASID in TTBR0, or in TTBR1 (A1). */
	static const u64 tcr[] = { 16 | 16 << 16, 17 | 16 << 16, 16 | 16 << 16 | 1 << 22 };

	if (below(3))
		av_srf_set(vcpu->srf, AV_TCR_EL1, tcr[tidy ? 2 : below(3)]);
	else
		av_srf_set(vcpu->srf, AV_SCTLR_EL1, below(6) ? AV_SCTLR_M : 0);
	av_mmu_regime_changed(vcpu);
}

/* window.c: the vCPU has the window elsewhere; or follows another one. */
static void move_window(struct av_vcpu *vcpu)
{
	struct av_shadow *sh = &vm_mmu.shadow;

	if (below(2))
		sh->window = below(AV_WINDOW_POSITIONS);
	if (vcpu->sw->position == sh->window)
		return;
	vcpu->sw->position = sh->window;
	av_root_cache_behind(vcpu);
	av_mmu_regime_changed(vcpu);
	tried.moved++;
}

/* What an exit may do. */
static void act(struct av_vcpu *vcpu)
{
	u64 what = below(100);

	if (what < 35) {
		bool high = below(4) == 0;

		av_srf_set(vcpu->srf, high ? AV_TTBR1_EL1 : AV_TTBR0_EL1, some_ttbr(high));
		av_mmu_ttbr_changed(vcpu);
	} else if (what < 60) {
		set_el(vcpu, below(2));
		av_mmu_mode_changed(vcpu);
	} else if (what < 85) {
		fill(vcpu);
	} else if (what < 88) {
		split(vcpu);
	} else if (what < 91) {
		drop_trees();
	} else if (what < 94) {
		if (vcpu->mmu->copies)
			av_mmu_go_plain(vcpu);
		else if (vcpu->mmu->plain)
			av_mmu_count_plain(vcpu);
	} else if (what < 97) {
		change_regime(vcpu);
	} else if (what < 98) {
		move_window(vcpu);
	} else {
		want(vcpu, below(4), below(8));
	}
}

/* Load, again until it succeeds, and look at everything. */
static void load(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	bool looked = mmu->stale;

	no_memory = !below(5);
	while (av_mmu_load(vcpu)) {
		tried.refused++;
		no_memory = below(2);
		if (!below(4))
			act(vcpu);
	}
	no_memory = false;
	REQUIRE(!vm.mmu_lock);
	tried.copied += mmu->copies;
	CHECK_EQ(mmu->el, av_srf_el1(vcpu->srf));
	/* Else another vCPU may have split it since: the level comes to its own by a fault. */
	CHECK(!looked || mmu->tree[0]->key.mode != AV_MODE_SHARED ||
	      !(mmu->tree[0]->split & BIT(mmu->el)));
	CHECK_EQ(mmu->ttbr1[mmu->el] & ~ROOT_PA, av_tlb_asid_of(vcpu->sw, vcpu->sw->current_context));
	/* EL1 comes back to the pair that it is on as it left it; the idle one may not be ready. */
	if (looked && mmu->el && mmu->want_roots && mmu->pair != AV_SRF_IDLE)
		CHECK(!memcmp(vcpu->srf->roots[mmu->pair].root1, mmu->ttbr1, sizeof(mmu->ttbr1)));
	check_shown(vcpu);
}

/* ---- worlds ---------------------------------------------------------------- */

/* As those of a vCPU that has had many trees: every place has its page. */
static void own_all_pages(struct av_vcpu_mmu *mmu)
{
	struct av_root *root;

	for (root = mmu->roots; root < mmu->roots + AV_VCPU_TREES; root++) {
		root->pte = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		root->pa = virt_to_phys(root->pte);
		av_list_init(&root->node);
	}
}

static void begin(void)
{
	const struct av_shadow_limits max = { .trees = AV_MIN_TREES, .pts = MAX_PTS };
	unsigned int v;

	tidy = below(3);
	races = !below(tidy ? 8 : 2);
	memset(&vm_mmu, 0, sizeof(vm_mmu));
	memset(mmus, 0, sizeof(mmus));
	memset(csws, 0, sizeof(csws));
	memset(srfs, 0, sizeof(srfs));
	memset(cached, 0, sizeof(cached));
	memset(rmap, 0, sizeof(rmap));
	av_shadow_init(&vm_mmu.shadow, &ops, NULL, calloc(MAX_PTS, sizeof(struct av_pt *)), &max);
	vm_mmu.shadow.window_pa = 0x7ff000;
	vm_mmu.annex.once = below(2);
	vm = (struct av_vm){ .mmu = &vm_mmu, .sw = &vm_sw, .nr_vcpus = FAKE_VCPUS, .pa_bits = 40 };
	next_asid = 1;
	vm_sw.nr_contexts.counter = FAKE_VCPUS;
	for (v = 0; v < FAKE_VCPUS; v++) {
		vcpus[v] = (struct av_vcpu){
			.vm = &vm, .sw = &csws[v], .mmu = &mmus[v], .srf = &srfs[v], .idx = v,
		};
		vm.vcpus[v] = &vcpus[v];
		/* As api/ makes it. */
		csws[v].context[0].asid.asid = next_asid++;
		csws[v].nr_contexts = 1;
		csws[v].position = vm_mmu.shadow.window;
		av_ttbr_cache_init(&mmus[v]);
		av_sw_tables_hide(&vcpus[v]);
		srfs[v].roots[AV_SRF_IDLE].ttbr0 = AV_NO_TTBR;
		if (below(2))
			own_all_pages(&mmus[v]);
		av_list_init(&mmus[v].pool.pts);
		mmus[v].stale = AV_STALE_REGS;
		mmus[v].regimes = 1;
		av_srf_set(&srfs[v], AV_SCTLR_EL1, AV_SCTLR_M);
		av_srf_set(&srfs[v], AV_TCR_EL1, 16 | 16 << 16 | (tidy ? 1 << 22 : 0));
		set_el(&vcpus[v], 1);
		want(&vcpus[v], below(2), true);
	}
	/* None but the first, some, or as many as they like. */
	asids_left = below(3) ? below(3 * AV_FIRST_CONTEXTS) : 2 * AV_NR_CONTEXTS;
	tried.worlds++;
}

static void end(void)
{
	bool more = true;
	unsigned int v, i;

	for (v = 0; v < FAKE_VCPUS; v++) {
		struct av_pt *pt, *tmp;

		for (i = 0; i < AV_VCPU_TREES; i++) {
			if (mmus[v].trees[i]) {
				av_root_detach(&mmus[v].roots[i], mmus[v].trees[i]);
				av_tree_put(&vm_mmu.shadow, mmus[v].trees[i]);
			}
			free(mmus[v].roots[i].pte);
		}
		av_list_for_each(pt, tmp, &mmus[v].pool.pts, node)
			free_pt(NULL, pt, NULL);
		free(mmus[v].pool.tree);
	}
	while (more)
		av_shadow_reclaim(&vm_mmu.shadow, true, NULL, &more);
	CHECK_EQ(vm_mmu.shadow.nr_trees, 0);
	CHECK_EQ(vm_mmu.shadow.nr_pts, 0);
	free(vm_mmu.shadow.by_id);
}

static void test_random(void)
{
	unsigned long failed = check_failed, i;

	begin();
	for (i = 0; i < stays && check_failed == failed; i++) {
		struct av_vcpu *vcpu = &vcpus[below(FAKE_VCPUS)];
		unsigned int n = below(4);

		if (!below(400)) {
			end();
			begin();
			continue;
		}
		load(vcpu);
		stay(vcpu);
		while (n--)
			act(vcpu);
	}
	end();
	if (check_failed != failed) {
		fprintf(stderr, "stay %lu\n", i);
		return;
	}
	/* All of it was tried. */
	CHECK(tried.shown[0] > stays / 4 && tried.shown[1] > stays / 2);
	CHECK(tried.runs > stays);
	CHECK(tried.now[0] > stays / 20 && tried.now[1] > stays / 400);
	CHECK(tried.flushes > stays / 20);
	CHECK(tried.followed > stays / 20);
	CHECK(tried.refused > stays / 200);
	CHECK(tried.split > stays / 200 && tried.stale > stays / 500);
	CHECK(tried.copied > stays / 20);
	CHECK(tried.dropped > stays / 100);
	CHECK(tried.asids > stays / 200);
	CHECK(tried.idle > stays / 800);
	CHECK(tried.tables > stays / 20);
	CHECK(tried.moved > stays / 200);
}

/* How many tables the window may read. */
static unsigned int nr_shown(const struct av_vcpu *vcpu)
{
	unsigned int n, shown = 0;

	for (n = 0; n < AV_SRF_TABLES; n++)
		shown += vcpu->srf->tables[n].region != AV_NO_REGION;
	return shown;
}

/* Virtual EL1 switches to the i'th of many processes. */
static void switch_to(struct av_vcpu *vcpu, unsigned int i)
{
	av_srf_set(vcpu->srf, AV_TTBR0_EL1, (2ULL + i) << 20 | (u64)(1 + i) << 48);
	av_mmu_ttbr_changed(vcpu);
	load(vcpu);
}

/*
 * A vCPU whose registers but TTBR0_EL1 stay the same has more processes than places: a table is
 * hidden with the place that it was shown for, and not before.
 */
static void test_tables_of_a_place(void)
{
	struct av_vcpu *vcpu = &vcpus[0];
	unsigned int round, i, kept = 0, hidden = 0;

	begin();
	races = false;
	asids_left = 2 * AV_NR_CONTEXTS;
	for (round = 0; round < 8; round++) {
		switch_to(vcpu, 0);
		av_sw_tables_hide(vcpu);
		show_table(vcpu);
		for (i = 1; i < 2 * AV_VCPU_TREES; i++) {
			switch_to(vcpu, i);
			if (nr_shown(vcpu))
				kept++;
			else
				hidden++;
		}
		CHECK_EQ(nr_shown(vcpu), 0);
	}
	CHECK(kept && hidden);
	end();
}

/* With any other register a table may be another process's. */
static void test_tables_of_a_regime(void)
{
	struct av_vcpu *vcpu = &vcpus[0];

	begin();
	load(vcpu);
	show_table(vcpu);
	CHECK_EQ(nr_shown(vcpu), 1);
	av_mmu_mode_changed(vcpu);
	load(vcpu);
	CHECK_EQ(nr_shown(vcpu), 1);
	av_mmu_regime_changed(vcpu);
	load(vcpu);
	CHECK_EQ(nr_shown(vcpu), 0);
	end();
}

static int go_to(struct av_vcpu *vcpu, u64 base)
{
	av_srf_set(vcpu->srf, AV_TTBR0_EL1, base << 20 | 1ULL << 48);
	av_mmu_ttbr_changed(vcpu);
	return av_mmu_load(vcpu);
}

static unsigned int places_in_use(const struct av_vcpu_mmu *mmu)
{
	unsigned int i, n = 0;

	for (i = 0; i < AV_VCPU_TREES; i++)
		n += !!mmu->trees[i];
	return n;
}

/* The host has no memory: the vCPU's other places go before KVM_RUN fails. */
static void test_places_go_first(void)
{
	struct av_vcpu *vcpu = &vcpus[0];
	unsigned int i, used;

	begin();
	races = false;
	asids_left = 2 * AV_NR_CONTEXTS;
	for (i = 1; i <= 2 * AV_VCPU_TREES; i++)
		CHECK_EQ(go_to(vcpu, i), 0);
	used = places_in_use(vcpu->mmu);
	CHECK_EQ(used, AV_VCPU_TREES);
	refusals = 5;
	CHECK_EQ(go_to(vcpu, i++), 0);
	CHECK_EQ(refusals, 0);
	CHECK_EQ(places_in_use(vcpu->mmu), used - 5);
	check_shown(vcpu);
	refusals = 1000;
	CHECK_EQ(go_to(vcpu, i++), -ENOMEM);
	CHECK(refusals && places_in_use(vcpu->mmu) <= 2);
	refusals = 0;
	CHECK_EQ(av_mmu_load(vcpu), 0);
	check_shown(vcpu);
	end();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		stays = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	RUN(test_tables_of_a_place);
	RUN(test_tables_of_a_regime);
	RUN(test_random);
	RUN(test_places_go_first);
	return TESTS_DONE();
}
