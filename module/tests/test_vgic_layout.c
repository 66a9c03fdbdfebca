// SPDX-License-Identifier: GPL-2.0
/* KVM's rules for placing a vGICv3's frames, and the lookup of frames. */
#include "check.h"
#include "irq/layout.h"

#define D	0x08000000ULL
#define R	0x080a0000ULL
#define RSIZE	((u64)AV_VGIC_REDIST_SIZE)

static struct av_vgic_layout lay;

static void distributor(void)
{
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, D + 0x1000), -EINVAL);
	CHECK_EQ(av_layout_set_dist(&lay, 1ULL << 40), -E2BIG);
	CHECK_EQ(av_layout_set_dist(&lay, (1ULL << 40) - 0x10000), 0);
	CHECK_EQ(av_layout_set_dist(&lay, D), -EEXIST);
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, ~0ULL - 0xffff), -EINVAL);
	CHECK_EQ(av_layout_check(&lay, 0), -ENXIO);
}

static void one_region(void)
{
	u32 offset, cpu;

	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, D), 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, D, 0, 2), -EINVAL);
	CHECK_EQ(av_layout_add_region(&lay, 0, R + 1, 0, 2), -EINVAL);
	CHECK_EQ(av_layout_add_region(&lay, 1, R, 0, 2), -EINVAL);
	CHECK_EQ(av_layout_check(&lay, 2), -ENXIO);
	CHECK_EQ(av_layout_add_region(&lay, 0, R, 0, 2), 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, R + 0x1000000, 0, 2), -EEXIST);
	/* KVM does not mind a sized one behind it; no vCPU will ever get there. */
	CHECK_EQ(av_layout_add_region(&lay, 1, R + 0x1000000, 4, 2), 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, R + 0x2000000, 0, 2), -EINVAL);
	CHECK_EQ(av_layout_check(&lay, 2), 0);
	/* A third vCPU comes later. */
	CHECK_EQ(av_layout_place(&lay, 3), 0);
	CHECK(!av_layout_is_last(&lay, 1));
	CHECK(av_layout_is_last(&lay, 2));
	CHECK(!av_layout_is_last(&lay, 3));
	CHECK_EQ(av_layout_find(&lay, D, &offset, &cpu), AV_FRAME_DIST);
	CHECK_EQ(offset, 0);
	CHECK_EQ(av_layout_find(&lay, D + 0xffff, &offset, &cpu), AV_FRAME_DIST);
	CHECK_EQ(offset, 0xffff);
	CHECK_EQ(av_layout_find(&lay, D + 0x10000, &offset, &cpu), AV_FRAME_NONE);
	CHECK_EQ(av_layout_find(&lay, D - 1, &offset, &cpu), AV_FRAME_NONE);
	CHECK_EQ(av_layout_find(&lay, R + 2 * RSIZE + 0x10080, &offset, &cpu), AV_FRAME_REDIST);
	CHECK_EQ(offset, 0x10080);
	CHECK_EQ(cpu, 2);
	CHECK_EQ(av_layout_find(&lay, R + 3 * RSIZE, &offset, &cpu), AV_FRAME_NONE);
}

/* Frames may touch, and not by a byte more. */
static void neighbours(void)
{
	static const struct { u64 base; u32 count; int ret; } rows[] = {
		{ D + AV_VGIC_DIST_SIZE, 0, 0 },
		{ D - 2 * RSIZE, 0, 0 },
		{ D + AV_VGIC_DIST_SIZE - 0x10000, 0, -EINVAL },
		{ D - 2 * RSIZE + 0x10000, 0, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		av_layout_init(&lay, 40);
		CHECK_EQ(av_layout_set_dist(&lay, D), 0);
		CHECK_EQ(av_layout_add_region(&lay, 0, rows[i].base, rows[i].count, 2), rows[i].ret);
	}
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_add_region(&lay, 0, R, 2, 2), 0);
	CHECK_EQ(av_layout_add_region(&lay, 1, R + 2 * RSIZE - 0x10000, 2, 2), -EINVAL);
	CHECK_EQ(av_layout_add_region(&lay, 1, R + 2 * RSIZE, 2, 2), 0);
}

static void growing_into_the_distributor(void)
{
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_add_region(&lay, 0, D - RSIZE, 0, 1), 0);
	CHECK_EQ(av_layout_set_dist(&lay, D), 0);
	CHECK_EQ(av_layout_check(&lay, 1), 0);
	CHECK_EQ(av_layout_place(&lay, 2), -EINVAL);
	CHECK_EQ(lay.nr_placed, 1);
	/* A vCPU that is created is told at its first run, and the next one at once. */
	CHECK_EQ(av_layout_add_cpu(&lay, 2), 0);
	CHECK_EQ(lay.nr_placed, 2);
	CHECK_EQ(av_layout_check(&lay, 2), -EINVAL);
	CHECK_EQ(av_layout_add_cpu(&lay, 3), -EINVAL);
	CHECK_EQ(lay.nr_placed, 2);
}

static void growing_out_of_range(void)
{
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, D), 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, (1ULL << 40) - 3 * RSIZE, 0, 1), 0);
	CHECK_EQ(av_layout_add_cpu(&lay, 2), 0);
	CHECK_EQ(av_layout_add_cpu(&lay, 3), 0);
	CHECK_EQ(av_layout_check(&lay, 3), 0);
	CHECK_EQ(av_layout_add_cpu(&lay, 4), 0);
	CHECK_EQ(av_layout_check(&lay, 4), -EINVAL);
}

static void several_regions(void)
{
	u32 offset, cpu;

	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, D), 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, R, 2, 5), 0);
	CHECK_EQ(av_layout_check(&lay, 5), -ENXIO);
	CHECK(av_layout_is_last(&lay, 1));
	CHECK_EQ(av_layout_add_region(&lay, 2, R + 2 * RSIZE, 1, 5), -EINVAL);
	CHECK_EQ(av_layout_add_region(&lay, 1, R + RSIZE, 1, 5), -EINVAL);
	CHECK_EQ(av_layout_add_region(&lay, 1, R + 2 * RSIZE, 1, 5), 0);
	CHECK(!av_layout_is_last(&lay, 1));		/* the next is right behind it */
	CHECK(av_layout_is_last(&lay, 2));
	CHECK_EQ(av_layout_add_region(&lay, 2, 0x10000000, 8, 5), 0);
	CHECK_EQ(av_layout_check(&lay, 5), 0);
	CHECK(av_layout_is_last(&lay, 2));
	CHECK(!av_layout_is_last(&lay, 3));
	CHECK(av_layout_is_last(&lay, 4));
	CHECK_EQ(av_layout_find(&lay, 0x10000000 + RSIZE, &offset, &cpu), AV_FRAME_REDIST);
	CHECK_EQ(cpu, 4);
	CHECK_EQ(av_layout_find(&lay, 0x10000000 + 2 * RSIZE, &offset, &cpu), AV_FRAME_NONE);
	CHECK_EQ(av_layout_add_region(&lay, 3, (1ULL << 40) - RSIZE, 2, 5), -E2BIG);
}

/* A vCPU whose creation failed gives its slot back, to the next one. */
static void unplaced(void)
{
	u32 offset, cpu;

	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_add_region(&lay, 0, R, 1, 1), 0);
	CHECK_EQ(av_layout_add_region(&lay, 1, 0x10000000, 2, 1), 0);
	CHECK_EQ(av_layout_place(&lay, 2), 0);
	av_layout_unplace(&lay, 1);
	CHECK_EQ(lay.nr_placed, 1);
	CHECK_EQ(lay.regions[1].used, 0);
	CHECK_EQ(av_layout_find(&lay, 0x10000000, &offset, &cpu), AV_FRAME_NONE);
	CHECK_EQ(av_layout_place(&lay, 2), 0);
	CHECK_EQ(av_layout_find(&lay, 0x10000000, &offset, &cpu), AV_FRAME_REDIST);
	CHECK_EQ(cpu, 1);
}

static void overlap_found_late(void)
{
	av_layout_init(&lay, 40);
	CHECK_EQ(av_layout_set_dist(&lay, D), 0);
	/* Discrete regions over the distributor: KVM finds out when it places vCPUs. */
	CHECK_EQ(av_layout_add_region(&lay, 0, D - RSIZE, 2, 1), -EINVAL);
	CHECK_EQ(lay.nr_regions, 0);
	CHECK_EQ(lay.nr_placed, 0);
	CHECK_EQ(av_layout_add_region(&lay, 0, D - RSIZE, 2, 0), 0);
	CHECK_EQ(av_layout_place(&lay, 1), -EINVAL);
}

int main(void)
{
	RUN(distributor);
	RUN(one_region);
	RUN(neighbours);
	RUN(growing_into_the_distributor);
	RUN(growing_out_of_range);
	RUN(several_regions);
	RUN(unplaced);
	RUN(overlap_found_late);
	return TESTS_DONE();
}
