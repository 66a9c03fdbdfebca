// SPDX-License-Identifier: GPL-2.0
/*
 * The TLB entries that a flush names (switch/tlb.c). Two VMs of two vCPUs each have trees with the
 * same serial numbers, and ASIDs interleaved with each other's and the host's. Flushes are compared
 * with a model of the trees under each ASID: all entries that were named, and no others. The same
 * TLBIs are applied to a TLB in which the host and both VMs have entries: entries of others must
 * stay.
 *
 *	test_tlb [operations [seed]]
 */
#include <stdlib.h>

#include "check.h"
#include "tlb_world.h"

#define NR_SERIALS	10	/* 100 pairs: more than contexts */
/* No guest's, and the host has none there. */
#define WINDOW		0xffffff8000200000ULL

/* ---- contexts -------------------------------------------------------------- */

static unsigned long news, recycles, unused_recycles, known;

static bool is_pair(const struct av_vcpu_switch *csw, unsigned int i, u64 serial0, u64 serial1)
{
	return csw->context[i].serial0 == serial0 && csw->context[i].serial1 == serial1;
}

/* Every vCPU of every VM agrees with the model. */
static void check_contexts(void)
{
	unsigned int m, v, i;

	for (m = 0; m < NR_VMS; m++)
		for (v = 0; v < FAKE_VCPUS; v++) {
			const struct av_vcpu_switch *csw = &world[m].csw[v];
			const struct model *model = &world[m].model[v];

			CHECK_EQ(csw->nr_contexts, model->nr);
			for (i = 0; i < model->nr; i++) {
				CHECK(is_pair(csw, i, model->context[i].serial0,
					      model->context[i].serial1));
				CHECK_EQ(csw->context[i].asid.asid, model->context[i].asid);
			}
		}
}

/* Complete before it is counted; visible to flushes before the vCPU runs under it. */
static void check_new(const struct av_vcpu_switch *before, u64 serial0, u64 serial1)
{
	unsigned int i = before->nr_contexts;

	news++;
	CHECK(!strcmp(order, "SCD"));
	if (nr_events != 3)
		return;
	CHECK_EQ(event[0].csw.nr_contexts, i);
	CHECK(is_pair(&event[0].csw, i, serial0, serial1));
	CHECK_EQ(event[0].csw.context[i].asid.asid, asid_given);
	CHECK_EQ(event[1].csw.nr_contexts, i + 1);
	CHECK_EQ(event[1].csw.current_context, i);
	CHECK(is_pair(&event[1].csw, i, serial0, serial1));
	CHECK_EQ(event[2].csw.nr_contexts, i + 1);
	CHECK(is_pair(&event[2].csw, i, serial0, serial1));
}

/* Flushed while it still names the old trees, all of it done before it names others. */
static void check_recycled(const struct av_vcpu_switch *before, unsigned int i, u64 serial0,
			   u64 serial1)
{
	const struct av_context *old = &before->context[i];
	const struct event *last;
	unsigned int n;

	/* The new ones' barrier is the last. One that nothing ran under has nothing to flush. */
	CHECK(!strcmp(order, old->serial0 ? "DTDRCD" : "CD"));
	if (nr_events != (old->serial0 ? 6 : 2))
		return;
	/* Counted when it is the new ones'. */
	CHECK(is_pair(&event[nr_events - 2].csw, i, serial0, serial1));
	last = &event[nr_events - 1];
	CHECK(is_pair(&last->csw, i, serial0, serial1));
	CHECK_EQ(last->csw.current_context, i);
	unused_recycles += !old->serial0;
	if (!old->serial0)
		return;
	recycles++;
	CHECK(!strcmp(event[1].op, "aside1is"));
	CHECK_EQ(event[1].nr_operands, 1);
	CHECK_EQ(event[1].operand, (u64)old->asid.asid << 48);
	for (n = 0; n < 4; n++)
		CHECK(is_pair(&event[n].csw, i, old->serial0, old->serial1));
}

/* The vCPU walks under its ASID from here on: nothing there is of other trees. */
static void check_no_strangers(unsigned int m, u16 asid, u64 serial0, u64 serial1)
{
	const struct entry *t;

	for (t = tlb; t < tlb + NR_ENTRIES; t++)
		if (t->valid && t->asid == asid)
			CHECK(t->owner == m && (t->serial == serial0 || t->serial == serial1));
}

/* The VM's contexts, and the vCPU's: is there to be another one? */
static bool gets_one(unsigned int m, const struct av_vcpu_switch *csw)
{
	unsigned int v, nr = 0;

	for (v = 0; v < FAKE_VCPUS; v++)
		nr += world[m].csw[v].nr_contexts;
	CHECK_EQ(av_tlb_nr_contexts(&world[m].vm), nr);
	if (csw->nr_contexts < AV_FIRST_CONTEXTS)
		return true;
	return csw->nr_contexts < AV_NR_CONTEXTS && nr < AV_VM_CONTEXTS && asid_spare;
}

/* Not to be made: only the ones that there are. */
static bool reuse;

static void load(unsigned int m, unsigned int v, u64 serial0, u64 serial1)
{
	struct world *w = &world[m];
	struct av_vcpu_switch *csw = &w->csw[v], before = *csw;
	struct model *model = &w->model[v];
	u64 flushes = w->vcpu[v].stats.event[AV_EVENT_TLB_FLUSH], recycled = recycles;
	bool more = gets_one(m, csw);
	unsigned int i, had = asids_given;

	for (i = 0; i < before.nr_contexts && !is_pair(&before, i, serial0, serial1); i++)
		;
	CHECK_EQ(av_tlb_complete(&w->vcpu[v]), !more);
	if (i < before.nr_contexts) {
		/* The caller finds it. */
		known++;
		csw->current_context = i;
		return;
	}
	flusher = m;
	forget_events(csw);
	CHECK_EQ(av_tlb_load(&w->vcpu[v], serial0, serial1, reuse), 0);
	CHECK_EQ(lost, 0);
	CHECK(csw->current_context < csw->nr_contexts);
	if (csw->current_context >= csw->nr_contexts)
		return;
	if (more && !reuse && !asid_error) {
		CHECK_EQ(asids_given, had + 1);
		check_new(&before, serial0, serial1);
		model->context[model->nr++].asid = asid_given;
	} else {
		CHECK_EQ(asids_given, had);
		check_recycled(&before, csw->current_context, serial0, serial1);
	}
	memset(w->found, 0, sizeof(w->found));
	i = csw->current_context;
	model->context[i].serial0 = serial0;
	model->context[i].serial1 = serial1;
	CHECK(av_tlb_holds(csw, i, serial0, serial1));
	CHECK_EQ(av_tlb_asid_of(csw, i), (u64)model->context[i].asid << 48);
	CHECK_EQ(w->vcpu[v].stats.event[AV_EVENT_TLB_FLUSH] - flushes, recycles - recycled);
	check_contexts();
	check_no_strangers(m, model->context[i].asid, serial0, serial1);
}

static void test_contexts(void)
{
	u64 n;

	begin_world(false);
	for (n = 1; n <= AV_NR_CONTEXTS; n++)
		load(0, 0, n, n + 1);
	CHECK_EQ(news, AV_NR_CONTEXTS);
	for (n = 1; n <= AV_NR_CONTEXTS; n++)
		load(0, 0, n, n + 1);
	CHECK_EQ(known, AV_NR_CONTEXTS);
	/* The same trees the other way round; on another vCPU; in another VM. */
	load(0, 0, 2, 1);
	CHECK_EQ(recycles, 1);
	load(0, 1, 2, 1);
	load(1, 0, 2, 1);
	CHECK_EQ(news, AV_NR_CONTEXTS + 2);
	/* All of them go before one goes twice. */
	for (n = 1; n < AV_NR_CONTEXTS; n++)
		load(0, 0, 100 + n, 100);
	CHECK(is_pair(&world[0].csw[0], world[0].csw[0].next_victim, 2, 1));
	CHECK_EQ(recycles, AV_NR_CONTEXTS);
}

/* After the first few, only while that leaves ASIDs for others; or if it was offered. */
static void test_few_contexts(void)
{
	const struct av_vcpu_switch *csw = &world[0].csw[0];
	unsigned long had = recycles;
	u64 n;

	begin_world(false);
	asid_spare = false;
	for (n = 1; n <= AV_FIRST_CONTEXTS + 3; n++)
		load(0, 0, n, 100);
	CHECK_EQ(csw->nr_contexts, AV_FIRST_CONTEXTS);
	CHECK_EQ(recycles, had + 3);
	asid_spare = true;
	load(0, 0, 50, 100);
	CHECK_EQ(csw->nr_contexts, AV_FIRST_CONTEXTS + 1);
	reuse = true;
	av_tlb_offer(&world[0].csw[0], 4);
	load(0, 0, 51, 100);
	CHECK(is_pair(csw, 4, 51, 100));
	reuse = false;
	CHECK_EQ(csw->nr_contexts, AV_FIRST_CONTEXTS + 1);
}

static void test_no_asids(void)
{
	struct av_vcpu *vcpu = &world[0].vcpu[0];
	unsigned long had = recycles;

	begin_world(false);
	forget_events(vcpu->sw);
	asid_error = -ENOMEM;
	CHECK_EQ(av_tlb_load(vcpu, 1, 2, false), -ENOMEM);
	CHECK_EQ(warnings, 0);
	asid_error = -ENOSPC;
	CHECK_EQ(av_tlb_load(vcpu, 1, 2, false), -ENOSPC);
	CHECK_EQ(warnings, 1);
	CHECK_EQ(nr_events, 0);
	check_contexts();
	/* Those that there are go round. */
	asid_error = 0;
	load(0, 0, 1, 2);
	load(0, 0, 3, 4);
	asid_error = -ENOSPC;
	load(0, 0, 5, 6);
	asid_error = -ENOMEM;
	load(0, 0, 1, 2);
	load(0, 0, 3, 4);
	CHECK_EQ(recycles, had + 3);
	CHECK_EQ(warnings, 1);
	/* One that nothing ran under yet has nothing to flush. */
	begin_world(true);
	asid_error = -ENOSPC;
	load(1, 1, 1, 2);
	CHECK_EQ(unused_recycles, 1);
	load(1, 1, 3, 4);
	CHECK_EQ(recycles, had + 4);
}

/* ---- flushes --------------------------------------------------------------- */

static struct { const char *op; bool seen; u64 operand; } want[256];
static unsigned int nr_want, flush_vm;
static unsigned long named_none, named_many, named_shared, found_again;

static bool holds(const struct model *model, unsigned int i, const u64 *serials, unsigned int nr)
{
	unsigned int n;

	for (n = 0; n < nr; n++)
		if (model->context[i].serial0 == serials[n] ||
		    model->context[i].serial1 == serials[n])
			return true;
	return false;
}

static void want_one(const char *op, u64 operand)
{
	want[nr_want].op = op;
	want[nr_want].seen = false;
	want[nr_want++].operand = operand;
}

/* What has to be named: of these trees, or of all, one page or all; how many these are. */
static unsigned int expect(const u64 *serials, unsigned int nr, const u64 *va)
{
	unsigned int v, i, had = nr_want;

	for (v = 0; v < FAKE_VCPUS; v++)
		for (i = 0; i < world[flush_vm].model[v].nr; i++) {
			const struct model *model = &world[flush_vm].model[v];

			if (serials && !holds(model, i, serials, nr))
				continue;
			want_one(va ? "vae1is" : "aside1is",
				 (u64)model->context[i].asid << 48 | (va ? *va << 8 >> 20 : 0));
		}
	/* A page of many contexts, at once. */
	if (va && nr_want - had > AV_FEW_CONTEXTS) {
		nr_want = had;
		want_one("vaae1is", *va << 8 >> 20);
		named_shared++;
	}
	return nr_want - had;
}

static void begin_flush(unsigned int m)
{
	flush_vm = m;
	flusher = m;
	nr_want = 0;
	forget_events(NULL);
	av_tlb_flush_begin();
}

/* One that is to be, each once; said apart, of nobody else. */
static void check_named(const struct event *e)
{
	unsigned int i;

	CHECK_EQ(e->nr_operands, 1);
	CHECK(!strcmp(e->op, "vaae1is") || owner_of(e->operand >> 48) == flush_vm);
	for (i = 0; i < nr_want; i++)
		if (!want[i].seen && !strcmp(want[i].op, e->op) && want[i].operand == e->operand)
			break;
	CHECK(i < nr_want);
	if (i < nr_want)
		want[i].seen = true;
}

/* After what was written, and waited for; no more and no less than what is to be. */
static void check_flushed(void)
{
	unsigned int i;

	CHECK_EQ(nr_events, nr_want + 3);
	if (nr_events < 3)
		return;
	CHECK_EQ(order[0], FAKE_DSB);
	CHECK(!strcmp(&order[nr_events - 2], "DR"));
	for (i = 1; i + 2 < nr_events; i++) {
		CHECK_EQ(order[i], FAKE_TLBI);
		check_named(&event[i]);
	}
	for (i = 0; i < nr_want; i++)
		CHECK(want[i].seen);
	CHECK_EQ(lost, shared);
	check_contexts();
	named_none += !nr_want;
	named_many += nr_want > 8;
}

static void end_flush(void)
{
	av_tlb_flush_end();
	check_flushed();
}

/* None of these is left in the machine: pages of a tree, or of all. */
static void check_gone(const u64 *serials, unsigned int nr, const u64 *va)
{
	const struct entry *t;
	unsigned int i;

	for (t = tlb; t < tlb + NR_ENTRIES; t++) {
		if (!t->valid || t->owner != flush_vm || (va && *va >> 12 != t->va >> 12))
			continue;
		for (i = 0; i < nr && serials[i] != t->serial; i++)
			;
		CHECK(serials && i == nr);
	}
}

/* How often the vCPUs are gone through for a page of a tree. */
static unsigned int searches(struct world *w, u64 serial)
{
	unsigned int i;

	for (i = 0; i < AV_FOUND_TREES; i++)
		if (w->found[i] == serial) {
			found_again++;
			return 0;
		}
	w->found[w->next_found++ % AV_FOUND_TREES] = serial;
	return 1;
}

static void flush_pages(unsigned int m, const u64 *serials, const u64 *vas, unsigned int nr)
{
	unsigned int i, n, expected = 0;

	begin_flush(m);
	for (i = 0; i < nr; i++) {
		n = expect(&serials[i], 1, &vas[i]);
		expected += searches(&world[m], serials[i]);
		CHECK_EQ(av_tlb_flush_page(&world[m].vm, serials[i], vas[i]), n);
	}
	CHECK_EQ(acquires, expected * FAKE_VCPUS);
	CHECK_EQ(looks, nr);
	end_flush();
	for (i = 0; i < nr; i++)
		check_gone(&serials[i], 1, &vas[i]);
}

/* A page by itself, barriers included; where no context has the tree nothing is waited for. */
static void flush_one(unsigned int m, u64 serial, u64 va)
{
	unsigned int n;

	flush_vm = m;
	flusher = m;
	nr_want = 0;
	forget_events(NULL);
	n = expect(&serial, 1, &va);
	CHECK_EQ(av_tlb_flush_one(&world[m].vm, serial, va), n);
	CHECK_EQ(acquires, searches(&world[m], serial) * FAKE_VCPUS);
	CHECK_EQ(looks, 1);
	if (n)
		check_flushed();
	else
		CHECK(!strcmp(order, "D"));
	check_gone(&serial, 1, &va);
}

/* A single tree's contexts are remembered, if they are few. */
static void flush_trees(unsigned int m, const u64 *serials, unsigned int nr)
{
	unsigned int n, expected = 1;

	begin_flush(m);
	n = expect(serials, nr, NULL);
	CHECK_EQ(av_tlb_flush_trees(&world[m].vm, serials, nr), n);
	if (nr == 1)
		expected = searches(&world[m], *serials) + (n > AV_FEW_CONTEXTS);
	CHECK_EQ(acquires, expected * FAKE_VCPUS);
	CHECK_EQ(looks, nr == 1);
	end_flush();
	check_gone(serials, nr, NULL);
}

static void flush_all(unsigned int m)
{
	unsigned int n;

	begin_flush(m);
	n = expect(NULL, 0, NULL);
	CHECK_EQ(av_tlb_flush_vm(&world[m].vm), n);
	CHECK_EQ(acquires, FAKE_VCPUS);
	end_flush();
	check_gone(NULL, 0, NULL);
}

static void flush_hops(unsigned int m)
{
	begin_flush(m);
	want_one("aside1is", (u64)world[m].sw.host_hop.asid << 48);
	want_one("aside1is", (u64)world[m].sw.guest_hop.asid << 48);
	av_tlb_flush_hops(&world[m].vm);
	end_flush();
}

/* The one that reaches all ASIDs: of a page that nobody but the module has. */
static void flush_window(void)
{
	flusher = HOST;
	forget_events(NULL);
	av_tlb_flush_window(WINDOW);
	CHECK(!strcmp(order, "T"));
	CHECK(!strcmp(event[0].op, "vaae1is"));
	CHECK_EQ(event[0].nr_operands, 1);
	CHECK_EQ(event[0].operand, WINDOW << 8 >> 20);
	CHECK_EQ(lost, 0);
}

/* Somebody, the host too, has an entry of some page where he runs now. */
static void random_walk(void)
{
	unsigned int m = below(NR_VMS + 1), v = below(FAKE_VCPUS), i;
	const struct av_context *ctx;

	if (m == HOST) {
		i = below(NR_ASIDS);
		if (asids[i].owner == HOST)
			add_entry(HOST, asids[i].asid, 0);
		return;
	}
	ctx = &world[m].csw[v].context[world[m].csw[v].current_context];
	if (ctx->serial0)
		add_entry(m, ctx->asid.asid, below(2) ? ctx->serial0 : ctx->serial1);
}

static void test_flushes(void)
{
	static const u64 trees[] = { 1, 4, 9, 3 };
	u64 serial, n;
	unsigned int m;

	begin_world(true);
	/* 1 is on both vCPUs, 2 in both places, 4 and 5 on one vCPU each, 9 nowhere. */
	for (m = 0; m < NR_VMS; m++) {
		load(m, 0, 1, 2);
		load(m, 0, 2, 3);
		load(m, 0, 4, 2);
		load(m, 1, 1, 5);
		load(m, 1, 3, 3);
	}
	for (m = 0; m < NR_VMS; m++) {
		for (n = 0; n < NR_ENTRIES; n++)
			random_walk();
		for (serial = 1; serial < 10; serial++) {
			for (n = 0; n < NR_PAGES; n++)
				flush_one(m, serial, pages[n]);
			flush_trees(m, &serial, 1);
		}
		flush_pages(m, trees, &pages[2], 4);
		flush_pages(m, trees, pages, 4);
		for (n = 1; n <= ARRAY_SIZE(trees); n++)
			flush_trees(m, trees, n);
		flush_all(m);
	}
	flush_window();
	flush_hops(0);
	/* By hand once, not by the model: tree 4 of the second VM. */
	begin_flush(1);
	CHECK_EQ(av_tlb_flush_trees(&world[1].vm, &trees[1], 1), 1);
	CHECK_EQ(event[1].operand, (u64)world[1].csw[0].context[3].asid.asid << 48);
	/* A page is its number: 55 bits of the address less 12, no hint of a level. */
	CHECK_EQ(av_tlb_flush_page(&world[1].vm, 4, 0xffff800010203456), 1);
	CHECK_EQ(event[2].operand & GENMASK_ULL(47, 0), 0x00000ff800010203ULL);
}

/* ---- at random ------------------------------------------------------------- */

static unsigned long operations = 50000, flushed[4], restarts;

static void random_flush(unsigned int m)
{
	u64 serials[4], vas[4];
	unsigned int i, n = 1 + below(4), how = below(40) ? below(3) : 3;

	for (i = 0; i < n; i++) {
		serials[i] = 1 + below(NR_SERIALS + 1);
		vas[i] = pages[below(NR_PAGES)] | below(0x1000);
	}
	flushed[how]++;
	if (how == 0)
		flush_one(m, serials[0], vas[0]);
	else if (how == 1)
		flush_pages(m, serials, vas, n);
	else if (how == 2)
		flush_trees(m, serials, n);
	else
		flush_all(m);
}

static void one(void)
{
	unsigned int m = below(NR_VMS), v = below(FAKE_VCPUS), i;

	if (!below(500)) {
		restarts++;
		end_vm(m);
		begin_vm(m, below(2));
	} else if (!below(100)) {
		flush_window();
	} else if (below(3)) {
		/* A vCPU's first one must have an ASID. */
		asid_error = !world[m].model[v].nr || below(4) ? 0 :
			     below(2) ? -ENOSPC : -ENOMEM;
		asid_spare = below(4);
		reuse = world[m].model[v].nr && !below(4);
		load(m, v, 1 + below(NR_SERIALS), 1 + below(NR_SERIALS));
	} else {
		random_flush(m);
	}
	for (i = below(16); i; i--)
		random_walk();
}

static void test_random(void)
{
	unsigned long i, failed = check_failed;

	news = known = recycles = unused_recycles = named_none = named_many = found_again = 0;
	named_shared = 0;
	begin_world(true);
	for (i = 0; i < operations && check_failed == failed; i++)
		one();
	if (check_failed != failed) {
		fprintf(stderr, "operation %lu\n", i);
		return;
	}
	CHECK_EQ(warnings, 0);
	/* All of it was tried. */
	CHECK(news > operations / 200);
	CHECK(known > operations / 50);
	CHECK(recycles > operations / 50);
	CHECK(unused_recycles > operations / 5000);
	CHECK(named_none > operations / 500);
	CHECK(named_many > operations / 500);
	CHECK(found_again > operations / 500);
	CHECK(named_shared > operations / 500);
	CHECK(restarts > operations / 1000);
	for (i = 0; i < ARRAY_SIZE(flushed); i++)
		CHECK(flushed[i] > operations / 500);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		operations = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	RUN(test_contexts);
	RUN(test_few_contexts);
	RUN(test_no_asids);
	RUN(test_flushes);
	RUN(test_random);
	return TESTS_DONE();
}
