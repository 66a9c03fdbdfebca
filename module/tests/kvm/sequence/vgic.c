// SPDX-License-Identifier: GPL-2.0
/*
 * Sequences: the vGIC. Its attributes, right and wrong ones; all of its state, printed; and all of
 * it carried over to a new VM, as in a migration.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sequence.h"

#define NR_IRQS		64	/* what steps meet; ready_vgic() has 256 by default */
#define MPIDR(cpu)	((u64)(cpu) << 32)
#define ISPENDR		0x200
#define ISACTIVER	0x300
#define IPRIORITYR	0x400
#define ICFGR		0xc00

static long attr(int fd, unsigned long cmd, u32 group, u64 number, void *addr)
{
	struct kvm_device_attr attr = { .group = group, .attr = number, .addr = (u64)addr };

	return ioctl(fd, cmd, &attr);
}

bool level_sensitive(u32 intid)
{
	return (intid >= 16 && intid < 32) || intid == 33 || intid == 63;
}

u32 any_intid(struct world *w)
{
	return w->intid[pick(w, NR_INTIDS)];
}

u8 any_priority(struct world *w, u32 intid)
{
	unsigned int i = 0;

	while (i < NR_INTIDS - 1 && w->intid[i] != intid)
		i++;
	return (pick(w, 32 / NR_INTIDS) * NR_INTIDS + i) << 3;
}

/*
 * A small CPU interface has at most this many list registers: KVM does not signal an interrupt
 * without one.
 */
void draw_intids(struct world *w)
{
	static const u32 intids[] = { 0, 1, 5, 15, 20, 22, 31, 32, 33, 40, 63 };
	unsigned int i;

	for (i = 0; i < NR_INTIDS; i++)
		w->intid[i] = intids[(i * 3 + pick(w, 3)) % ARRAY_SIZE(intids)];
}

/* The bits in a word of the world's interrupts, with or without those of lines. */
static u32 intid_bits(const struct world *w, u32 first, bool level)
{
	u32 bits = 0, i;

	for (i = 0; i < NR_INTIDS; i++)
		if (w->intid[i] / 32 == first / 32 && (level || !level_sensitive(w->intid[i])))
			bits |= 1U << w->intid[i] % 32;
	return bits;
}

/* ICFGR for sixteen interrupts: edge-triggered, except those of lines. */
static u32 config_of(u32 first)
{
	u32 bits = 0, i;

	for (i = 0; i < 16; i++)
		if (!level_sensitive(first + i))
			bits |= 2U << i * 2;
	return bits;
}

/* IPRIORITYR for four interrupts, at the start. */
static u32 priorities_of(const struct world *w, u32 first)
{
	u32 word = 0;
	unsigned int i;

	for (i = 0; i < NR_INTIDS; i++)
		if (w->intid[i] / 4 == first / 4)
			word |= (0x80 + i * 8) << w->intid[i] % 4 * 8;
	return word;
}

void prepare_vgic(struct world *w)
{
	u32 on = 3, word, intid;
	unsigned int cpu;

	attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0, &on);
	for (intid = 32; intid < NR_IRQS; intid += 16) {
		word = config_of(intid);
		attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_DIST_REGS,
		     ICFGR + intid / 4, &word);
	}
	for (intid = 0; intid < NR_IRQS; intid += 4) {
		word = priorities_of(w, intid);
		if (intid >= 32)
			attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_DIST_REGS,
			     IPRIORITYR + intid, &word);
		for (cpu = 0; intid < 32 && cpu < NR_VCPUS; cpu++)
			attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS,
			     MPIDR(cpu) | (SGI_FRAME + IPRIORITYR + intid), &word);
	}
}

struct state_reg {
	u32 group;
	u64 number;
};

/* One more of @list if there is a register of that number. */
static unsigned int each_reg(unsigned int at, struct state_reg *reg)
{
	/* In the order in which QEMU writes them. Enabled last, so that no line is lost. */
	static const struct { u32 offset, bits; } banked[] = {
		{ 0x80, 1 }, { 0x100, 1 }, { 0xc00, 2 }, { 0x200, 1 }, { 0x300, 1 }, { 0x400, 8 },
	};
	static const u32 spi_words[] = { 1, 1, 2, 1, 1, 8 };
	unsigned int i, cpu, k;

	if (at == 0) {
		*reg = (struct state_reg){ KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0 };
		return true;
	}
	at -= 1;
	for (i = 0; i < ARRAY_SIZE(banked); i++) {
		for (cpu = 0; cpu < NR_VCPUS; cpu++) {
			k = spi_words[i];
			if (at < k) {
				*reg = (struct state_reg){ KVM_DEV_ARM_VGIC_GRP_REDIST_REGS,
					MPIDR(cpu) | (SGI_FRAME + banked[i].offset + at * 4) };
				return true;
			}
			at -= k;
		}
		k = spi_words[i] * (NR_IRQS - 32) / 32;
		if (at < k) {
			*reg = (struct state_reg){ KVM_DEV_ARM_VGIC_GRP_DIST_REGS,
				banked[i].offset + (spi_words[i] + at) * 4 };
			return true;
		}
		at -= k;
	}
	return false;
}

static const u16 cpu_regs[] = {
	/* PMR, BPR0, AP0R0, AP1R0, BPR1, CTLR, SRE, IGRPEN0, IGRPEN1: op0 op1 CRn CRm op2 */
	0xc230, 0xc643, 0xc644, 0xc648, 0xc663, 0xc664, 0xc665, 0xc666, 0xc667,
};

#define CTLR_REG	0xc664
#define PMR_REG		0xc230
#define BPR0_REG	0xc643
#define BPR1_REG	0xc663

/*
 * What both hosts' CPU interfaces have: CTLR also says what the host's is. A
 * binary point that is too low is raised when its vCPU first runs, and the mask
 * loses the bits that priorities have not got.
 */
static u64 common(u16 reg, u64 value)
{
	if (reg == CTLR_REG)
		return value & 3;
	if (reg == PMR_REG)
		return value & 0xf8;
	if (reg == BPR0_REG && value < 2)
		return 2;
	if (reg == BPR1_REG && value < 3)
		return 3;
	return value;
}

static void dump(struct world *w)
{
	struct state_reg reg;
	unsigned int at, cpu, i;
	u64 wide;
	u32 value;
	long ret;

	for (at = 0; each_reg(at, &reg); at++) {
		value = 0;
		ret = attr(w->vgic, KVM_GET_DEVICE_ATTR, reg.group, reg.number, &value);
		if (ret || value)
			say(ret ? ret : (long)value, "%u_%#llx", reg.group,
			    (unsigned long long)reg.number);
	}
	for (cpu = 0; cpu < NR_VCPUS; cpu++) {
		for (i = 0; i < ARRAY_SIZE(cpu_regs); i++) {
			wide = 0;
			ret = attr(w->vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS,
				   MPIDR(cpu) | cpu_regs[i], &wide);
			say(ret ? ret : (long)common(cpu_regs[i], wide), "cpu_%u_%#x", cpu, cpu_regs[i]);
		}
	}
}

void migrate(struct world *w)
{
	u32 regs[256], lines[NR_VCPUS + 1] = { 0 };
	u64 wide[NR_VCPUS][ARRAY_SIZE(cpu_regs)];
	struct world old = *w;
	struct state_reg reg;
	unsigned int at, cpu, i, failed = 0, nr = 0;

	for (at = 0; each_reg(at, &reg); at++)
		failed += !!attr(w->vgic, KVM_GET_DEVICE_ATTR, reg.group, reg.number, &regs[at]);
	for (cpu = 0; cpu < NR_VCPUS; cpu++) {
		failed += !!attr(w->vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO,
				 MPIDR(cpu), &lines[cpu]);
		for (i = 0; i < ARRAY_SIZE(cpu_regs); i++)
			failed += !!attr(w->vgic, KVM_GET_DEVICE_ATTR,
					 KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, MPIDR(cpu) | cpu_regs[i],
					 &wide[cpu][i]);
		nr += w->vcpu[cpu] >= 0;
	}
	failed += !!attr(w->vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, 32,
			 &lines[NR_VCPUS]);
	note(failed, "unread");
	if (failed || nr != NR_VCPUS)
		return;
	new_world(w, nr, true);
	end_world(&old);
	for (at = 0; each_reg(at, &reg); at++)
		failed += !!attr(w->vgic, KVM_SET_DEVICE_ATTR, reg.group, reg.number, &regs[at]);
	for (cpu = 0; cpu < NR_VCPUS; cpu++) {
		failed += !!attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO,
				 MPIDR(cpu), &lines[cpu]);
		for (i = 0; i < ARRAY_SIZE(cpu_regs); i++)
			failed += !!attr(w->vgic, KVM_SET_DEVICE_ATTR,
					 KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, MPIDR(cpu) | cpu_regs[i],
					 &wide[cpu][i]);
	}
	failed += !!attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, 32,
			 &lines[NR_VCPUS]);
	note(failed, "unwritten");
}

static const u64 dist_regs[] = {
	0, 4, 8, 0x80, 0x84, 0x88, 0x100, 0x104, 0x180, 0x184, 0x200, 0x204, 0x284, 0x300, 0x304,
	0x384, 0x400, 0x420, 0x43c, 0xc00, 0xc04, 0xc08, 0x6100, 0x6104, 0x7ffc, 0xffe8, 0xfffc,
	0x10000, 2, 0x40,
};
static const u64 redist_regs[] = {
	0, 4, 8, 0xc, 0x14, 0x70, 0x78, 0x10080, 0x10100, 0x10180, 0x10200, 0x10280, 0x10300,
	0x10380, 0x10400, 0x1041c, 0x10c00, 0x10c04, 0xffe8, 0x20000, 2,
};

/* Registers by attribute; the numbers of vCPUs that are not there, too. */
static void reg_attr(struct world *w)
{
	static const u32 values[] = { 0, 1, 2, 3, 0x80, 0xff, 0xaaaaaaaa, ~0U };
	bool redist = pick(w, 2), write = pick(w, 2);
	u64 number = redist ? pick_of(w, redist_regs) : pick_of(w, dist_regs);
	u32 group = redist ? KVM_DEV_ARM_VGIC_GRP_REDIST_REGS : KVM_DEV_ARM_VGIC_GRP_DIST_REGS;
	u32 value = pick_of(w, values), offset;
	long ret;

	offset = number & ~(redist ? SGI_FRAME : 0);
	/* IIDR: which revision a VMM may set is the kernel's matter. The rest: prepare_vgic(). */
	if ((!redist && (number == 0 || number == 8)) || offset / 0x100 == ICFGR / 0x100 ||
	    offset / 0x400 == IPRIORITYR / 0x400)
		write = false;
	if (offset / 0x80 == ISPENDR / 0x80 || offset / 0x80 == ISACTIVER / 0x80)
		value &= intid_bits(w, offset % 0x80 * 8, offset / 0x80 != ISPENDR / 0x80);
	number |= MPIDR(pick(w, 4) ? 0 : pick(w, 3));
	ret = attr(w->vgic, write ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR, group, number,
		   &value);
	say(ret, "%u_%#llx_%u_%#x", group, (unsigned long long)number, write,
	    write ? value : 0);
	if (!write && !ret)
		note(value, "value");
}

static void sysreg_attr(struct world *w)
{
	static const u64 values[] = { 0, 1, 2, 3, 7, 0x80, 0xf8, 0xff };
	u64 number = MPIDR(pick(w, 3)) | pick_of(w, cpu_regs), value = pick_of(w, values);
	u16 reg = number;

	if (!pick(w, 8))
		number = MPIDR(pick(w, 3)) | pick(w, 0x10000);
	/* AP*R hold what runs, and CTLR what the host's CPU interface is. */
	if (reg == 0xc644 || reg == 0xc648 || reg == CTLR_REG)
		return;
	say(attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, number, &value),
	    "set_%#llx_%#llx", (unsigned long long)number, (unsigned long long)value);
	value = 0;
	say(attr(w->vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, number, &value),
	    "get");
	note(common(reg, value), "value");
}

static void address(struct world *w)
{
	static const u64 kinds[] = {
		KVM_VGIC_V3_ADDR_TYPE_DIST, KVM_VGIC_V3_ADDR_TYPE_REDIST,
		KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION, KVM_VGIC_V2_ADDR_TYPE_DIST, 9,
	};
	static const u64 values[] = {
		GUEST_DIST, GUEST_REDIST, GUEST_DIST + 0x1000, 0x09000000, 1ULL << 40,
		2ULL << 52 | 0x08200000, 1ULL << 52 | 0x08300001, 0,
	};
	u64 kind = pick_of(w, kinds), value = pick_of(w, values);
	bool write = pick(w, 4);

	say(attr(w->vgic, write ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR,
		 KVM_DEV_ARM_VGIC_GRP_ADDR, kind, &value), "%llu_%d_%#llx",
	    (unsigned long long)kind, write, write ? (unsigned long long)value : 0);
}

static void control(struct world *w)
{
	static const u32 numbers[] = { 32, 64, 96, 100, 1024, 1056, 0 };
	u32 value = pick_of(w, numbers);
	u64 what = pick(w, 6);

	if (pick(w, 2))
		say(attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &value),
		    "nr_irqs_%u", value);
	else
		say(attr(w->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL, what, NULL),
		    "ctrl_%llu", (unsigned long long)what);
}

static void line_info(struct world *w)
{
	static const u32 values[] = { 0, 1, 1U << 20, 1U << 8, ~0U };
	u32 value = pick_of(w, values);
	u64 number = MPIDR(pick(w, 3)) | pick(w, 3) * 32;
	bool write = pick(w, 2);

	say(attr(w->vgic, write ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR,
		 KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, number, &value), "%#llx_%d_%#x",
	    (unsigned long long)number, write, write ? value : 0);
	if (!write)
		note(value, "value");
}

static void has(struct world *w)
{
	u32 group = pick(w, 11);
	u64 number = pick(w, 2) ? pick(w, 8) : pick_of(w, dist_regs);

	say(attr(w->vgic, KVM_HAS_DEVICE_ATTR, group, number, NULL), "%u_%#llx", group,
	    (unsigned long long)number);
}

/* The first VGIC_ONLY are the rows of a world that tests the vGIC only. */
const struct op vgic_ops[] = {
	{ "program", 24, guest_program },
	{ "preemption", 8, guest_preemption },
	{ "dump", 4, dump },
	{ "migrate", 3, migrate },
	{ "set_line", 4, irq_line },
	{ "reg", 20, reg_attr },
	{ "sysreg", 10, sysreg_attr },
	{ "address", 6, address },
	{ "control", 6, control },
	{ "line", 4, line_info },
	{ "has", 3, has },
	{ 0 }
};
