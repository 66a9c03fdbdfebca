// SPDX-License-Identifier: GPL-2.0
/*
 * The work of the largest vGIC, 256 vCPUs and 988 SPIs, in one hold of its lock: the number of
 * instructions does not depend on the number of pending interrupts, and a bounded number of vCPUs
 * is woken.
 */
#include "check.h"
#include "irq/vgic.h"
#include "steps.h"

#define ICC(crm, op2)	AV_SYS(3, 0, 12, crm, op2)
#define PMR		AV_SYS(3, 0, 4, 6, 0)
#define SGI1R		ICC(11, 5)
#define IAR1		ICC(12, 0)
#define EOIR1		ICC(12, 1)
#define GRPEN1		ICC(12, 7)
#define BROADCAST	BIT_ULL(40)

#define VCPUS		AV_VGIC_MAX_CPUS
#define NR_SPIS		(1020 - AV_VGIC_PRIVATE)
#define SGI_BASE	0x10000
#define ISENABLER	0x100
#define ICENABLER	0x180
#define ISPENDR		0x200
#define ICPENDR		0x280
#define ISACTIVER	0x300
#define ICACTIVER	0x380
#define IPRIORITYR	0x400
#define ICFGR		0xc00
#define IROUTER		0x6000

/* Instructions of 32 changes, without the kicks. */
#define WORST_WRITE	10000

static struct av_vgic vgic;
static struct av_vgic_cpu cpus[VCPUS];
static struct av_virq spis[NR_SPIS];
static bool locked;
static unsigned int kicks, kicks_in_hold, most_in_hold, holds, broken;

static void kick(struct av_vgic *v, struct av_vgic_cpu *cpu)
{
	broken += !locked;
	kicks++;
	kicks_in_hold++;
	most_in_hold = max(most_in_hold, kicks_in_hold);
}

static bool is_last(const struct av_vgic *v, const struct av_vgic_cpu *cpu)
{
	return cpu->index == VCPUS - 1;
}

static void lock(struct av_vgic *v)
{
	broken += locked;
	locked = true;
	kicks_in_hold = 0;
	holds++;
}

static void unlock(struct av_vgic *v)
{
	broken += !locked;
	locked = false;
}

static bool rest(struct av_vgic *v)
{
	broken += locked;
	return false;
}

static const struct av_vgic_ops ops = {
	.kick = kick, .is_last = is_last, .lock = lock, .unlock = unlock, .rest = rest,
};

static void dist_set(u32 offset, u64 val)
{
	struct av_vgic_io io = { .vgic = &vgic, .cpu = &cpus[0], .offset = offset, .len = 4 };

	lock(&vgic);
	av_vgic_dist_write(&io, val);
	unlock(&vgic);
}

static void redist_set(unsigned int cpu, u32 offset, u64 val)
{
	struct av_vgic_io io = { .vgic = &vgic, .cpu = &cpus[cpu], .offset = offset, .len = 4 };

	lock(&vgic);
	av_vgic_redist_write(&io, val);
	unlock(&vgic);
}

static void icc_set(unsigned int cpu, u32 reg, u64 val)
{
	lock(&vgic);
	av_vgic_icc(&vgic, &cpus[cpu], reg, true, &val);
	unlock(&vgic);
}

static u64 icc_get(unsigned int cpu, u32 reg)
{
	u64 val = 0;

	lock(&vgic);
	av_vgic_icc(&vgic, &cpus[cpu], reg, false, &val);
	unlock(&vgic);
	return val;
}

static void reset_counts(void)
{
	kicks = 0;
	most_in_hold = 0;
	holds = 0;
}

/* All SPIs are of the first vCPU, enabled, and of one priority. */
static void boot(void)
{
	unsigned int i;

	memset(&vgic, 0, sizeof(vgic));
	memset(spis, 0, sizeof(spis));
	vgic.ops = &ops;
	vgic.nr_spis = NR_SPIS;
	for (i = 0; i < VCPUS; i++) {
		av_vgic_cpu_init(&cpus[i], i);
		av_vgic_add_cpu(&vgic, &cpus[i]);
	}
	av_vgic_init(&vgic, spis);
	dist_set(0, 2);
	for (i = 0; i < VCPUS; i++) {
		icc_set(i, PMR, 0xf8);
		icc_set(i, GRPEN1, 1);
		redist_set(i, SGI_BASE + ISENABLER, ~0u);
	}
	for (i = 32; i < 1020; i += 32)
		dist_set(ISENABLER + i / 8, ~0u);
	reset_counts();
}

/* Each of its 1,020 interrupts is pending on the first vCPU. */
static void all_pending(void)
{
	unsigned int i;

	redist_set(0, SGI_BASE + ISPENDR, ~0u);
	for (i = 32; i < 1020; i += 32)
		dist_set(ISPENDR + i / 8, ~0u);
}

/* ---- one access of each kind, to the last 32 SPIs ---------------------------- */

#define LAST	(1020 - 28)

static void write_disable(void)
{
	dist_set(ICENABLER + LAST / 8, ~0u);
}

static void write_enable(void)
{
	dist_set(ISENABLER + LAST / 8, ~0u);
}

static void write_pending(void)
{
	dist_set(ISPENDR + LAST / 8, ~0u);
}

static void write_not_pending(void)
{
	dist_set(ICPENDR + LAST / 8, ~0u);
}

static void write_active(void)
{
	dist_set(ISACTIVER + LAST / 8, ~0u);
}

static void write_not_active(void)
{
	dist_set(ICACTIVER + LAST / 8, ~0u);
}

static void write_priority(void)
{
	dist_set(IPRIORITYR + LAST, 0x80808080);
}

static void write_config(void)
{
	dist_set(ICFGR + LAST / 4, 0xaaaaaaaa);
}

static void write_group(void)
{
	dist_set(0x80 + LAST / 8, 0);
}

static void write_route(void)
{
	dist_set(IROUTER + LAST * 8, 0xf0f);
}

static void write_lines(void)
{
	lock(&vgic);
	av_vgic_lines_write(&vgic, &cpus[0], LAST, ~0u);
	unlock(&vgic);
}

static void take_one(void)
{
	icc_set(0, EOIR1, icc_get(0, IAR1));
}

static void mask_all(void)
{
	icc_set(0, PMR, 0);
}

static void (*const accesses[])(void) = {
	write_disable, write_enable, write_pending, write_not_pending, write_active,
	write_not_active, write_priority, write_config, write_group, write_route, write_lines,
	take_one, mask_all,
};

static void writes_do_not_depend_on_how_many_are_pending(void)
{
	unsigned long one[ARRAY_SIZE(accesses)], all;
	unsigned int i;

	boot();
	redist_set(0, SGI_BASE + ISPENDR, 1);
	for (i = 0; i < ARRAY_SIZE(accesses); i++)
		one[i] = steps_of(accesses[i]);
	all_pending();
	for (i = 0; i < ARRAY_SIZE(accesses); i++) {
		all = steps_of(accesses[i]);
		CHECK(all > 0);
		/* What is pending is moved: so much more, an interrupt, and no search. */
		if (all > 2 * one[i] || all > WORST_WRITE)
			fprintf(stderr, "access %u: %lu steps, %lu with one pending\n", i, all,
				one[i]);
		CHECK(all <= 2 * one[i]);
		CHECK(all <= WORST_WRITE);
	}
}

/* 32 SPIs of as many vCPUs. */
static void a_write_wakes_32_at_most(void)
{
	unsigned int i;

	boot();
	for (i = 0; i < 32; i++)
		dist_set(IROUTER + (32 + i) * 8, av_vgic_affinity(100 + i));
	reset_counts();
	dist_set(ISPENDR + 4, ~0u);
	CHECK_EQ(kicks, 32);
	CHECK_EQ(most_in_hold, 32);
	CHECK_EQ(holds, 1);
}

static void a_broadcast_is_done_in_parts(void)
{
	unsigned int i;

	boot();
	icc_set(7, SGI1R, BROADCAST | 5ULL << 24);
	CHECK_EQ(kicks, VCPUS - 1);
	CHECK_EQ(most_in_hold, AV_VGIC_BATCH);
	CHECK_EQ(broken, 0);
	for (i = 0; i < VCPUS; i++)
		CHECK_EQ(icc_get(i, IAR1), i == 7 ? 1023 : 5);
}

static void the_distributor_goes_on_in_parts(void)
{
	unsigned int i;

	boot();
	dist_set(0, 0);
	for (i = 0; i < VCPUS; i++)
		redist_set(i, SGI_BASE + ISPENDR, ~0u);
	CHECK_EQ(kicks, 0);
	reset_counts();
	dist_set(0, 2);
	CHECK_EQ(kicks, VCPUS);
	CHECK_EQ(most_in_hold, AV_VGIC_BATCH);
	CHECK_EQ(broken, 0);
	for (i = 0; i < VCPUS; i++)
		CHECK_EQ(cpus[i].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	dist_set(0, 0);
	for (i = 0; i < VCPUS; i++)
		CHECK_EQ(cpus[i].out & AV_VGIC_LINES, 0);
}

static void vcpus_are_found_by_affinity(void)
{
	static const u32 ids[] = { 0, 15, 16, 255, 77 };
	unsigned int i;

	boot();
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		CHECK(av_vgic_cpu_by_mpidr(&vgic, av_vgic_affinity(ids[i])) == &cpus[ids[i]]);
	CHECK(!av_vgic_cpu_by_mpidr(&vgic, 0x10));	/* Aff0 ends at 15 */
	CHECK(!av_vgic_cpu_by_mpidr(&vgic, 0x1000));
	CHECK(!av_vgic_cpu_by_mpidr(&vgic, 0x10000));
	CHECK(!av_vgic_cpu_by_mpidr(&vgic, 0x1000000));
	/* The VMM's own affinities, also that of another vCPU by default. */
	cpus[15].mpidr = 0x1020304;
	CHECK(av_vgic_cpu_by_mpidr(&vgic, 0x1020304) == &cpus[15]);
	CHECK(!av_vgic_cpu_by_mpidr(&vgic, 15));
	cpus[77].mpidr = 15;
	CHECK(av_vgic_cpu_by_mpidr(&vgic, 15) == &cpus[77]);
}

int main(void)
{
	RUN(writes_do_not_depend_on_how_many_are_pending);
	RUN(a_write_wakes_32_at_most);
	RUN(a_broadcast_is_done_in_parts);
	RUN(the_distributor_goes_on_in_parts);
	RUN(vcpus_are_found_by_affinity);
	return TESTS_DONE();
}
