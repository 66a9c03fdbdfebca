// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that a vCPU handles by itself (irq/lease.c): from random states, with random events in
 * between, the result is the same as if each access had trapped.
 *
 *	test_vgic_lease [sequences [seed]]
 */
#include <stdlib.h>

#include "check.h"
#include "vgic_world.h"

#define EVENTS	6

static unsigned int sequences = 100000;

/* ---- the world, kept and brought back -------------------------------------------- */

struct world {
	struct av_vgic vgic;
	struct av_vgic_cpu cpus[2];
	struct av_virq spis[NR_SPIS];
};

static void keep(struct world *to)
{
	to->vgic = vgic;
	memcpy(to->cpus, cpus, sizeof(cpus));
	memcpy(to->spis, spis, sizeof(spis));
}

static void bring_back(const struct world *from)
{
	vgic = from->vgic;
	memcpy(cpus, from->cpus, sizeof(cpus));
	memcpy(spis, from->spis, sizeof(spis));
}

/* Where one stood that is no candidate any more means nothing; nor does what a lease knew. */
static void forget_places(struct av_virq *irq, unsigned int n)
{
	for (; n--; irq++) {
		irq->lease_latch = false;
		irq->lease_active = false;
		irq->leased = false;
		if (irq->queued)
			continue;
		irq->queued_group1 = false;
		irq->queued_level = 0;
	}
}

/* Nothing is leased; the lease's state is void. */
static bool is_now(struct world *was)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (cpus[i].lease != AV_VGIC_NO_LEASE || was->cpus[i].lease != AV_VGIC_NO_LEASE)
			return false;
		was->cpus[i].lease_ap1r = cpus[i].lease_ap1r;
		was->cpus[i].acknowledges = cpus[i].acknowledges;
		if (!(cpus[i].out & AV_VGIC_LINES)) {
			was->cpus[i].best = cpus[i].best;
			was->cpus[i].best_irq = cpus[i].best_irq;
		}
		forget_places(was->cpus[i].private, AV_VGIC_PRIVATE);
		forget_places(cpus[i].private, AV_VGIC_PRIVATE);
	}
	forget_places(was->spis, NR_SPIS);
	forget_places(spis, NR_SPIS);
	return !memcmp(was->cpus, cpus, sizeof(cpus)) && !memcmp(was->spis, spis, sizeof(spis));
}

/* ---- actions of others -------------------------------------------------------------- */

struct event {
	u32 what, intid;
	u64 val;
};

static struct event draw_event(void)
{
	return (struct event) {
		.what = (u32)rand() % 9,
		.intid = (u32)rand() & 1 ? (u32)rand() % 32 : (u32)rand() % (32 + NR_SPIS),
		.val = (u64)rand() << 32 ^ (u64)rand() << 8 ^ (u64)rand(),
	};
}

/* A register of the distributor for e->intid. */
static u32 dist_offset(const struct event *e)
{
	static const u32 bits[] = { 0x80, 0x100, 0x180, 0x200, 0x280, 0x300, 0x380 };

	switch (e->val >> 40 & 3) {
	case 0:
		return 0x400 + (e->intid & ~3U);
	case 1:
		return 0xc00 + e->intid / 16 * 4;
	case 2:
		return 0x6000 + e->intid * 8;
	}
	return bits[(e->val >> 48) % 7] + e->intid / 32 * 4;
}

/* Does the event end the lease of this SPI? The first and number of all whose lease it ends. */
static bool observes(const struct event *e, u32 intid, u32 *first, u32 *n)
{
	struct av_vgic_io io = io_at(0, dist_offset(e), 4, false);

	*first = e->intid;
	*n = 1;
	if (e->what == 7)
		*n = av_vgic_dist_observes(&io, true, first);
	else if (e->what == 6)
		return intid >= 32 && e->intid / 32 == intid / 32;
	else if (e->what != 8)
		return false;
	return intid >= 32 && intid >= *first && intid < *first + *n;
}

/* Lines, SGIs, and writes to the frames' registers. */
static void do_event(const struct event *e)
{
	u8 was = cpus[0].out;
	unsigned int kicked = kicks[0];

	switch (e->what) {
	case 0:
		av_vgic_inject(&vgic, &cpus[e->val & 1], e->intid, e->val & 2, true);
		break;
	case 1:
		icc_set(1, SGI1R, (e->val & 0xf) << 24 | (e->val >> 8 & 3));
		break;
	case 2:
		redist_set(0, SGI_BASE + 0x100 + (e->val & 0x80), 1U << (e->intid & 31));
		break;
	case 3:
		redist_set(0, SGI_BASE + 0x400 + (e->intid & 0x1c), e->val & 0xf8f8f8f8);
		break;
	case 4:		/* not pending */
		redist_set(0, SGI_BASE + 0x280, 1U << (e->intid & 31));
		break;
	case 5:		/* active, or not */
		redist_set(0, SGI_BASE + 0x300 + (e->val & 0x80), 1U << (e->intid & 31));
		break;
	case 7:
		dist_set(dist_offset(e), e->val & 0xf8f8f8f9);
		break;
	case 8:		/* the other vCPU deactivates it */
		icc_set(1, CTLR, 2);
		icc_set(1, DIR, e->intid);
		icc_set(1, CTLR, 0);
		break;
	default:
		dist_set(0x100 + (e->val & 0x80) + e->intid / 32 * 4, 1U << (e->intid & 31));
		break;
	}
	/* Whoever relies on it that nothing waits is told. */
	if (cpus[0].out & ~was)
		CHECK(kicks[0] > kicked);
}

static void do_events(const struct event *events, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		do_event(&events[from]);
}

/* How many events come before the first that ends the lease of this interrupt. */
static unsigned int until_observed(const struct event *events, u32 intid)
{
	unsigned int i;
	u32 first, n;

	for (i = 0; i < EVENTS; i++)
		if (observes(&events[i], intid, &first, &n))
			return i;
	return EVENTS;
}

/* A state of the first CPU's interface with something for it. */
static void draw_world(void)
{
	struct event e;
	unsigned int i;

	boot();
	for (i = 0; i < 8; i++)
		redist_set(0, SGI_BASE + 0x400 + i * 4, (u32)rand() & 0xf8f8f8f8);
	for (i = 0; i < 12; i++) {
		e = draw_event();
		do_event(&e);
	}
	for (i = 0; i < NR_SPIS && rand() & 7; i += 32)
		dist_set(0x104 + i / 8, (u32)rand());
	for (i = 0; i < 8 && rand() & 3; i++)
		av_vgic_inject(&vgic, NULL, 32 + (u32)rand() % NR_SPIS, true, false);
	for (i = 0; i < NR_SPIS; i++) {
		spis[i].notify = !(rand() & 7);
		spis[i].priority = (u8)rand() & 0xf8;
		av_virq_changed(&vgic, NULL, &spis[i], 32 + i);
	}
	icc_set(0, PMR, (u64)rand());
	icc_set(0, BPR1, (u64)rand() & 7);
	if (!(rand() & 3))
		icc_set(0, AP1R0, 1ULL << (rand() & 31));
	if (!(rand() & 7))
		icc_set(0, GRPEN0, 1);
	if (!(rand() & 7))
		redist_set(0, SGI_BASE + 0x80, (u64)rand());
}

/* ---- the same twice ------------------------------------------------------------------- */

static unsigned int leased[3], refused, quiet, of_spis, observed;

/* As the guest has it that makes each access when it comes. */
static void run_plain(enum av_lease_end how, u32 intid, const struct event *events,
		      unsigned int until)
{
	if (how != AV_LEASE_BACK)
		CHECK_EQ(icc(0, IAR1), intid);
	do_events(events, 0, until);
	if (how == AV_LEASE_ENDED)
		icc_set(0, EOIR1, intid);
	do_events(events, until, EVENTS);
}

/* With nothing that waits, neither the end of the interrupt nor any mask lets something in. */
static void check_quiet(enum av_lease_end how)
{
	bool waits = cpus[0].out & AV_VGIC_WAITS;
	struct world was;

	av_vgic_lease_end(&vgic, &cpus[0], how);
	if (waits || how != AV_LEASE_ENDED)
		return;
	quiet++;
	keep(&was);
	CHECK(!(cpus[0].out & AV_VGIC_LINES));
	icc_set(0, PMR, 0xf8);
	CHECK(!(cpus[0].out & AV_VGIC_LINES));
	bring_back(&was);
}

/* Only the vCPU with the lease is asked to end it, and only while it has it. */
static void run_leased(enum av_lease_end how, u32 intid, const struct event *events,
		       unsigned int until)
{
	bool is_observed = until < EVENTS;
	u32 first, n;

	do_events(events, 0, until);
	CHECK_EQ(cpus[0].lease, intid);
	CHECK(!av_vgic_lessee(&vgic, 0, 32 + NR_SPIS) == (intid < 32));
	if (is_observed && observes(&events[until], intid, &first, &n))
		CHECK(av_vgic_lessee(&vgic, first, n) == &cpus[0] || events[until].what == 6);
	CHECK_EQ(vgic.leased, intid >= 32);
	check_quiet(how);
	CHECK(!vgic.leased && !av_vgic_lessee(&vgic, 0, 32 + NR_SPIS));
	CHECK(intid < 32 || !spis[intid - 32].leased);
	do_events(events, until, EVENTS);
	observed += is_observed;
}

static void one(void)
{
	enum av_lease_end how = (enum av_lease_end)(rand() % 3);
	struct event events[EVENTS];
	struct world before, plain;
	unsigned int i, until;
	u32 intid;

	draw_world();
	for (i = 0; i < EVENTS; i++)
		events[i] = draw_event();
	keep(&before);
	if (cpus[0].out & AV_VGIC_LINES) {
		CHECK_EQ(cpus[0].best, av_vgic_highest(&vgic, &cpus[0]));
		CHECK(cpus[0].best_irq == av_vgic_irq(&vgic, &cpus[0], cpus[0].best));
	}
	intid = av_vgic_lease(&vgic, &cpus[0]);
	if (intid == AV_VGIC_SPURIOUS) {
		refused++;
		CHECK(is_now(&before));
		return;
	}
	CHECK(intid < 32 || !spis[intid - 32].notify);
	bring_back(&before);
	until = until_observed(events, intid);
	run_plain(how, intid, events, until);
	keep(&plain);
	bring_back(&before);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), intid);
	run_leased(how, intid, events, until);
	CHECK(is_now(&plain));
	leased[how]++;
	of_spis += intid >= 32;
}

static void random_leases(void)
{
	unsigned int i;

	for (i = 0; i < sequences && !check_failed; i++)
		one();
	for (i = 0; i < 3; i++)
		CHECK(leased[i] > sequences / 50);
	CHECK(refused > sequences / 50);
	CHECK(quiet > sequences / 500);
	CHECK(of_spis > sequences / 50);
	CHECK(observed > sequences / 200);
}

/* ---- interrupts that are not leased --------------------------------------------------- */

static void raise(u32 intid)
{
	redist_set(0, SGI_BASE + 0x100, 0xffffffff);
	av_vgic_inject(&vgic, &cpus[0], intid, true, true);
}

static void refusals(void)
{
	boot();
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);	/* nothing is there */
	raise(32);
	dist_set(0x104, 1);
	spis[0].notify = true;
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);	/* it has a resampler */
	spis[0].notify = false;
	vgic.observers = 1;
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);	/* it is looked at */
	raise(27);
	redist_set(0, SGI_BASE + 0x418, 0x80808080);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), 27);			/* a PPI is not */
	boot();
	raise(27);
	icc_set(0, CTLR, 2);						/* EOImode */
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);
	icc_set(0, CTLR, 0);
	icc_set(0, PMR, 0);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);	/* masked */
	icc_set(0, PMR, 0xf8);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), 27);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS);				/* its line is up */
	av_vgic_inject(&vgic, &cpus[0], 27, false, true);
	CHECK_EQ(cpus[0].out, 0);
	av_vgic_lease_end(&vgic, &cpus[0], AV_LEASE_ENDED);
	CHECK_EQ(cpus[0].out, 0);
	CHECK_EQ(icc(0, RPR), 0xff);
}

/* The same SGI again, while the first one is being dealt with. */
static void again(void)
{
	boot();
	icc_set(1, SGI1R, 3 << 24 | 1);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), 3);
	CHECK_EQ(cpus[0].out, 0);
	kicks[0] = 0;
	icc_set(1, SGI1R, 3 << 24 | 1);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS);
	CHECK_EQ(kicks[0], 1);
	av_vgic_lease_end(&vgic, &cpus[0], AV_LEASE_ENDED);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
	CHECK_EQ(icc(0, IAR1), 3);
}

/* An SPI, pending again by an edge or by its line before it has ended. */
static void again_spi(bool level)
{
	boot();
	dist_set(0xc08, level ? 0 : 2);
	dist_set(0x104, 1);
	av_vgic_inject(&vgic, NULL, 32, true, false);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), 32);
	CHECK_EQ(cpus[0].out, level ? AV_VGIC_WAITS : 0);
	CHECK(av_vgic_lessee(&vgic, 32, 1) == &cpus[0]);
	CHECK(!av_vgic_lessee(&vgic, 33, 31));
	CHECK(!av_vgic_lessee(&vgic, 0, 32));
	av_vgic_inject(&vgic, NULL, 32, false, false);
	CHECK_EQ(cpus[0].out, 0);
	kicks[0] = 0;
	av_vgic_inject(&vgic, NULL, 32, true, false);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS);
	CHECK_EQ(kicks[0], 1);
	av_vgic_lease_end(&vgic, &cpus[0], AV_LEASE_ENDED);
	CHECK(!av_vgic_lessee(&vgic, 32, 1));
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
	CHECK_EQ(dist(0x304), 0);
	CHECK_EQ(dist(0x204), 1);
	CHECK_EQ(icc(0, IAR1), 32);
}

static void spis_again(void)
{
	again_spi(false);
	again_spi(true);
}

static u32 observed_by(u32 offset, u8 len, bool write, u32 *first)
{
	struct av_vgic_io io = io_at(1, offset, len, false);

	return av_vgic_dist_observes(&io, write, first);
}

/* Which accesses of the distributor look at which SPIs. */
static void accesses(void)
{
	static const u32 states[] = { 0x204, 0x284, 0x304, 0x384 };
	static const u32 fields[] = { 0x84, 0x104, 0x184, 0x424, 0xc0c, 0x6120 };
	static const u32 number[] = { 32, 32, 32, 4, 16, 1 };
	unsigned int i;
	u32 first;

	boot();
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		CHECK_EQ(observed_by(states[i], 4, false, &first), 32);
		CHECK_EQ(first, 32);
		CHECK_EQ(observed_by(states[i], 4, true, &first), 32);
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		CHECK_EQ(observed_by(fields[i], 4, false, &first), 0);
		CHECK_EQ(observed_by(fields[i], 4, true, &first), number[i]);
	}
	CHECK_EQ(first, 36);
	CHECK_EQ(observed_by(0x425, 1, true, &first), 1);
	CHECK_EQ(first, 37);
	CHECK_EQ(observed_by(0, 4, true, &first), 0);
	CHECK_EQ(observed_by(0x304, 8, false, &first), 0);
}

/* With another priority its end is another one: who has it looks again. */
static void changed(void)
{
	boot();
	icc_set(1, SGI1R, 3 << 24 | 1);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), 3);
	kicks[0] = 0;
	redist_set(0, SGI_BASE + 0x400, 0xa0a0a0a0);
	CHECK_EQ(kicks[0], 1);
	redist_set(0, SGI_BASE + 0x404, 0xa0a0a0a0);
	redist_set(1, SGI_BASE + 0x400, 0xa0a0a0a0);
	CHECK_EQ(kicks[0], 1);
	redist_set(0, SGI_BASE + 0x80, ~0U);
	CHECK_EQ(kicks[0], 2);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		sequences = (unsigned int)strtoul(argv[1], NULL, 0);
	srand(argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 1);
	RUN(random_leases);
	RUN(refusals);
	RUN(again);
	RUN(spis_again);
	RUN(accesses);
	RUN(changed);
	return TESTS_DONE();
}
