// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "vgic_world.h"

struct av_vgic vgic;
struct av_vgic_cpu cpus[2];
struct av_virq spis[NR_SPIS];
unsigned int kicks[2];

static void kick(struct av_vgic *v, struct av_vgic_cpu *cpu)
{
	kicks[cpu->index]++;
}

static bool is_last(const struct av_vgic *v, const struct av_vgic_cpu *cpu)
{
	return cpu->index == 1;
}

static void no_lock(struct av_vgic *v)
{
}

static bool rest(struct av_vgic *v)
{
	return false;
}

static const struct av_vgic_ops ops = {
	.kick = kick, .is_last = is_last, .lock = no_lock, .unlock = no_lock, .rest = rest,
};

u64 icc(int cpu, u32 reg)
{
	u64 val = 0xdeadbeef;

	if (!av_vgic_icc(&vgic, &cpus[cpu], reg, false, &val))
		abort();
	return val;
}

void icc_set(int cpu, u32 reg, u64 val)
{
	if (!av_vgic_icc(&vgic, &cpus[cpu], reg, true, &val))
		abort();
}

struct av_vgic_io io_at(int cpu, u32 offset, u8 len, bool user)
{
	return (struct av_vgic_io) {
		.vgic = &vgic, .cpu = &cpus[cpu], .offset = offset, .len = len, .user = user,
	};
}

u64 dist(u32 offset)
{
	struct av_vgic_io io = io_at(0, offset, 4, false);
	u64 val;

	av_vgic_dist_read(&io, &val);
	return val;
}

void dist_set(u32 offset, u64 val)
{
	struct av_vgic_io io = io_at(0, offset, 4, false);

	av_vgic_dist_write(&io, val);
}

u64 redist(int cpu, u32 offset)
{
	struct av_vgic_io io = io_at(cpu, offset, 4, false);
	u64 val;

	av_vgic_redist_read(&io, &val);
	return val;
}

void redist_set(int cpu, u32 offset, u64 val)
{
	struct av_vgic_io io = io_at(cpu, offset, 4, false);

	av_vgic_redist_write(&io, val);
}

void reset(void)
{
	int cpu;

	memset(&vgic, 0, sizeof(vgic));
	memset(spis, 0, sizeof(spis));
	memset(kicks, 0, sizeof(kicks));
	vgic.ops = &ops;
	vgic.nr_spis = NR_SPIS;
	for (cpu = 0; cpu < 2; cpu++) {
		av_vgic_cpu_init(&cpus[cpu], (u32)cpu);
		av_vgic_add_cpu(&vgic, &cpus[cpu]);
	}
	av_vgic_init(&vgic, spis);
}

void boot(void)
{
	int cpu, i;

	reset();
	dist_set(0, 2);
	for (cpu = 0; cpu < 2; cpu++) {
		icc_set(cpu, PMR, 0xf0);
		icc_set(cpu, GRPEN1, 1);
		for (i = 0; i < 32; i += 4)
			redist_set(cpu, SGI_BASE + 0x400 + i, 0xa0a0a0a0);
	}
	for (i = 32; i < 32 + NR_SPIS; i += 4)
		dist_set(0x400 + i, 0xa0a0a0a0);
	for (i = 32; i < 32 + NR_SPIS; i += 16)
		dist_set(0xc00 + i / 4, 0);
}
