// SPDX-License-Identifier: GPL-2.0
/*
 * The worst writes to the vGIC: all interrupts are enabled and pending, all SPIs at one vCPU, and
 * words of them change, by the VMM (attributes) and by the guest (stores to the frames,
 * ICC_SGI1R_EL1).
 *
 *	VCPUS=n		number of vCPUs (default 64; 240 at most, below GUEST_MMIO)
 */
#include <unistd.h>

#include "bounds.h"
#include "its_machine.h"

/* The most that KVM gives a VM. */
#define IRQS		992
#define WORDS		(IRQS / 32)

#define GICD_CTLR	0x0
#define GICD_IGROUPR	0x80
#define GICD_ISENABLER	0x100
#define GICD_ICENABLER	0x180
#define GICD_ISPENDR	0x200
#define GICD_ICPENDR	0x280
#define GICD_ISACTIVER	0x300
#define GICD_ICACTIVER	0x380
#define GICD_IPRIORITYR	0x400
#define GICD_ICFGR	0xc00
#define GICD_IROUTER	0x6000
#define SGI_FRAME	0x10000
#define ICC_PMR		0xc230
#define ICC_IGRPEN1	0xc667
#define SGI_ALL		(1ULL << 40)

struct gic {
	struct mapper m;
	int vgic;
	u32 vcpus;
};

static u64 affinity(u32 id)
{
	return (u64)(id & 15) | (u64)(id >> 4) << 8;
}

static void set32(const struct gic *g, u32 group, u64 cpu, u64 offset, u32 val)
{
	if (attr_call(g->vgic, KVM_SET_DEVICE_ATTR, group, cpu << 32 | offset, &val))
		die("vGIC attribute %u, %#llx", group, (unsigned long long)offset);
}

static void dist(const struct gic *g, u64 offset, u32 val)
{
	set32(g, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0, offset, val);
}

static void cpu_interface(const struct gic *g, u32 id, u64 reg, u64 val)
{
	if (attr_set(g->vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, affinity(id) << 32 | reg, val))
		die("register of vCPU %u", id);
}

static void must_set(int fd, u32 group, u64 number, void *addr)
{
	if (attr_call(fd, KVM_SET_DEVICE_ATTR, group, number, addr))
		die("attribute %u %llu", group, (unsigned long long)number);
}

static void create(struct gic *g)
{
	u64 at_dist = GUEST_DIST, at_redist = GUEST_REDIST;
	u32 irqs = IRQS, i;

	for (i = 1; i < g->vcpus; i++)
		init_vcpu(new_vcpu(g->m.g.vm, i));
	g->vgic = new_device(g->m.g.vm, KVM_DEV_TYPE_ARM_VGIC_V3);
	must_set(g->vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &irqs);
	must_set(g->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, &at_dist);
	must_set(g->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, &at_redist);
	must_set(g->vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
}

/* The later a number, the higher its priority: the search finds a better one each time. */
static void raise_all(const struct gic *g)
{
	u32 i;

	for (i = 32; i < IRQS; i += 4)
		dist(g, GICD_IPRIORITYR + i, 0x01010101 * (0xf0 - (i / 64 * 8 & 0xf8)));
	for (i = 1; i < WORDS; i++) {
		dist(g, GICD_ICFGR + i * 8, ~0U);
		dist(g, GICD_ICFGR + i * 8 + 4, ~0U);
		dist(g, GICD_ISENABLER + i * 4, ~0U);
		dist(g, GICD_ISPENDR + i * 4, ~0U);
	}
	for (i = 0; i < g->vcpus; i++) {
		set32(g, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, affinity(i), SGI_FRAME + GICD_ISENABLER,
		      ~0U);
		set32(g, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, affinity(i), SGI_FRAME + GICD_ISPENDR,
		      ~0U);
		cpu_interface(g, i, ICC_PMR, 0xf8);
		cpu_interface(g, i, ICC_IGRPEN1, 1);
	}
	dist(g, GICD_CTLR, 2);
}

/* What is written to each word of all interrupts: a bank, its bits an interrupt, a value. */
static const struct {
	u64 offset;
	u32 bits, val;
} banks[] = {
	{ GICD_ICENABLER, 1, ~0U },
	{ GICD_ISENABLER, 1, ~0U },
	{ GICD_ICPENDR, 1, ~0U },
	{ GICD_ISPENDR, 1, ~0U },
	{ GICD_ISACTIVER, 1, ~0U },
	{ GICD_ICACTIVER, 1, ~0U },
	{ GICD_IGROUPR, 1, 0 },
	{ GICD_IGROUPR, 1, ~0U },
	{ GICD_IPRIORITYR, 8, 0 },
	{ GICD_ICFGR, 2, 0 },
	{ GICD_ICFGR, 2, ~0U },
};

static void user_writes(struct gic *g)
{
	u32 i, at;

	meter_begin();
	for (i = 0; i < ARRAY_SIZE(banks); i++)
		for (at = banks[i].bits * 4; at < IRQS / 8 * banks[i].bits; at += 4)
			dist(g, banks[i].offset + at, banks[i].val);
	meter_end("gic.user");
	raise_all(g);
	meter_begin();
	for (i = 0; i < 4; i++)
		dist(g, GICD_CTLR, i & 1 ? 2 : 0);
	meter_end("gic.user_control");
	meter_begin();
	for (i = 0; i < 2 * WORDS; i++) {
		u32 lines = i < WORDS ? ~0U : 0;
		u64 first = i % WORDS * 32;

		if (first)
			set32(g, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, 0, first, lines);
	}
	meter_end("gic.user_levels");
}

static void guest_writes(struct gic *g)
{
	u32 i, at;

	raise_all(g);
	meter_begin();
	for (i = 0; i < ARRAY_SIZE(banks); i++)
		for (at = banks[i].bits * 4; at < IRQS / 8 * banks[i].bits; at += 4)
			mapper_poke(&g->m, GUEST_DIST + banks[i].offset + at, banks[i].val);
	meter_end("gic.guest");
	raise_all(g);
	meter_begin();
	for (i = 0; i < 4; i++)
		mapper_poke(&g->m, GUEST_DIST + GICD_CTLR, i & 1 ? 2 : 0);
	meter_end("gic.guest_control");
	/* To another vCPU, and back. */
	meter_begin();
	for (i = 32; i < 64; i++) {
		mapper_poke(&g->m, GUEST_DIST + GICD_IROUTER + i * 8, (u32)affinity(g->vcpus - 1));
		mapper_poke(&g->m, GUEST_DIST + GICD_IROUTER + i * 8, 0);
	}
	meter_end("gic.guest_route");
	meter_begin();
	mapper_sgi(&g->m, SGI_ALL);
	meter_end("gic.guest_sgi");
}

static void lines(struct gic *g)
{
	struct kvm_irq_level level;
	u32 i;

	meter_begin();
	for (i = 0; i < 2 * IRQS; i++) {
		level.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | i % IRQS;
		level.level = i < IRQS;
		/* The last numbers are none. */
		ioctl(g->m.g.vm, KVM_IRQ_LINE, &level);
	}
	meter_end("gic.lines");
}

void bounds_gic(void)
{
	struct gic g = { .vcpus = setting("VCPUS", 64) };

	new_mapper(&g.m, EACH_ITS_OWN, false);
	meter_begin();
	create(&g);
	meter_end("gic.create");
	raise_all(&g);
	user_writes(&g);
	guest_writes(&g);
	lines(&g);
	close(g.vgic);
	meter_begin();
	free_mapper(&g.m);
	meter_end("gic.close");
}
