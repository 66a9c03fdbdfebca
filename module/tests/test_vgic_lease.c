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
		.what = (u32)rand() % 7,
		.intid = (u32)rand() & 1 ? (u32)rand() % 32 : (u32)rand() % (32 + NR_SPIS),
		.val = (u64)rand() << 32 ^ (u64)rand() << 8 ^ (u64)rand(),
	};
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
	default:
		dist_set(0x100 + (e->val & 0x80) + e->intid / 32 * 4, 1U << (e->intid & 31));
		break;
	}
	/* Whoever relies on it that nothing waits is told. */
	if (cpus[0].out & ~was)
		CHECK(kicks[0] > kicked);
}

static void do_events(const struct event *events)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		do_event(&events[i]);
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

static unsigned int leased[3], refused, quiet;

/* As the guest has it that makes each access when it comes. */
static void run_plain(enum av_lease_end how, u32 intid, const struct event *events)
{
	if (how != AV_LEASE_BACK)
		CHECK_EQ(icc(0, IAR1), intid);
	do_events(events);
	if (how == AV_LEASE_ENDED)
		icc_set(0, EOIR1, intid);
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

static void one(void)
{
	enum av_lease_end how = (enum av_lease_end)(rand() % 3);
	struct event events[EVENTS];
	struct world before, plain;
	unsigned int i;
	u32 intid;

	draw_world();
	for (i = 0; i < EVENTS; i++)
		events[i] = draw_event();
	keep(&before);
	intid = av_vgic_lease(&vgic, &cpus[0]);
	if (intid == AV_VGIC_SPURIOUS) {
		refused++;
		CHECK(is_now(&before));
		return;
	}
	CHECK(intid < 32);
	bring_back(&before);
	run_plain(how, intid, events);
	keep(&plain);
	bring_back(&before);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), intid);
	do_events(events);
	check_quiet(how);
	CHECK(is_now(&plain));
	leased[how]++;
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
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(av_vgic_lease(&vgic, &cpus[0]), AV_VGIC_SPURIOUS);	/* an SPI */
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
	RUN(changed);
	return TESTS_DONE();
}
