// SPDX-License-Identifier: GPL-2.0
/* KVM_CREATE_DEVICE, and the rules of the vGICv3's attributes. */
#include <string.h>
#include <unistd.h>

#include "conform.h"

static long attr_call(int fd, unsigned long cmd, u32 group, u64 number, void *addr)
{
	struct kvm_device_attr attr = { .group = group, .attr = number, .addr = (u64)addr };

	return ioctl(fd, cmd, &attr);
}

static long set(int fd, u32 group, u64 number, void *addr)
{
	return attr_call(fd, KVM_SET_DEVICE_ATTR, group, number, addr);
}

static long get(int fd, u32 group, u64 number, void *addr)
{
	return attr_call(fd, KVM_GET_DEVICE_ATTR, group, number, addr);
}

static void create_types(int kvm)
{
	struct kvm_create_device dev = { 0 };
	int vm, type;

	for (type = 0; type < 16; type++) {
		vm = new_vm(kvm);
		dev.type = type;
		dev.flags = KVM_CREATE_DEVICE_TEST;
		dev.fd = 77;
		say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "test_type_%d", type);
		note(dev.fd, "test_type_%d.fd", type);
		dev.flags = 2;
		if (!say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "flags_type_%d", type))
			close(dev.fd);
		close(vm);
	}
	dev.type = 1000;
	dev.flags = 0;
	vm = new_vm(kvm);
	say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "type_1000");
	close(vm);
}

static int new_vgic(int vm)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };

	return ioctl(vm, KVM_CREATE_DEVICE, &dev) ? -1 : (int)dev.fd;
}

static void has_all(int vgic, const char *when)
{
	u32 group, number;

	for (group = 0; group < 12; group++)
		for (number = 0; number < 8; number++)
			say(attr_call(vgic, KVM_HAS_DEVICE_ATTR, group, number, NULL),
			    "%s.has_%u_%u", when, group, number);
}

static void addresses(int vgic)
{
	static const struct { const char *name; u64 attr, value; } rows[] = {
		{ "dist_unaligned", KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8000100 },
		{ "dist_4k", KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8001000 },
		{ "dist_far", KVM_VGIC_V3_ADDR_TYPE_DIST, 1ULL << 40 },
		{ "dist_end", KVM_VGIC_V3_ADDR_TYPE_DIST, 0xffffffffffff0000 },
		{ "v2_dist", KVM_VGIC_V2_ADDR_TYPE_DIST, 0x8000000 },
		{ "v2_cpu", KVM_VGIC_V2_ADDR_TYPE_CPU, 0x8010000 },
		{ "dist", KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8000000 },
		{ "dist_again", KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8000000 },
		{ "dist_elsewhere", KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8800000 },
		{ "redist_on_dist", KVM_VGIC_V3_ADDR_TYPE_REDIST, 0x8000000 },
		{ "redist_unaligned", KVM_VGIC_V3_ADDR_TYPE_REDIST, 0x80a1000 },
		{ "redist", KVM_VGIC_V3_ADDR_TYPE_REDIST, 0x80a0000 },
		{ "redist_again", KVM_VGIC_V3_ADDR_TYPE_REDIST, 0x80a0000 },
		{ "region_after_redist", KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
		  1ULL << 52 | 0x9000000 },
		{ "unknown", 9, 0x8000000 },
	};
	u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		value = rows[i].value;
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, rows[i].attr, &value), "addr.%s",
		    rows[i].name);
	}
	value = 0;
	say(get(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, &value),
	    "addr.get_dist");
	note(value, "addr.dist_value");
	say(get(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, &value),
	    "addr.get_redist");
	note(value, "addr.redist_value");
	say(set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, WILD_LOW),
	    "addr.wild");
}

/* Redistributor regions: count in 52..63, base in 16..51, flags 12..15, index. */
static void regions(int kvm)
{
	static const struct { const char *name; u64 value; } rows[] = {
		{ "count_0", 0x8100000 },
		{ "flags", 1ULL << 52 | 0x8100000 | 1 << 12 },
		{ "index_1_first", 1ULL << 52 | 0x8100000 | 1 },
		{ "first", 1ULL << 52 | 0x8100000 },
		{ "first_again", 1ULL << 52 | 0x8100000 },
		{ "overlapping", 2ULL << 52 | 0x8100000 | 1 },
		{ "second", 2ULL << 52 | 0x8200000 | 1 },
		{ "index_3", 2ULL << 52 | 0x8300000 | 3 },
	};
	int vm = new_vm(kvm), vgic, i;
	u64 value;

	new_vcpu(vm, 0);
	vgic = new_vgic(vm);
	for (i = 0; i < (int)ARRAY_SIZE(rows); i++) {
		value = rows[i].value;
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
			&value), "region.%s", rows[i].name);
	}
	for (i = 0; i < 3; i++) {
		value = i;
		say(get(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
			&value), "region.get_%d", i);
		note(value, "region.value_%d", i);
	}
	value = 0x9000000;
	say(set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, &value),
	    "region.then_redist");
	close(vgic);
	close(vm);
}

static void irq_numbers(int vgic)
{
	static const u32 numbers[] = { 0, 32, 63, 64, 65, 96, 100, 256, 1024, 1025, 1056 };
	u32 value = 0;
	size_t i;

	say(get(vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &value), "nr_irqs.get_first");
	note(value, "nr_irqs.first");
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		value = numbers[i];
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &value), "nr_irqs.set_%u",
		    numbers[i]);
	}
	say(get(vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &value), "nr_irqs.get");
	note(value, "nr_irqs.value");
	say(set(vgic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, WILD_LOW), "nr_irqs.wild");
}

/* Registers of distributor and redistributor: value, and value after a write. */
static void gic_registers(int vgic, const char *when)
{
	static const struct { const char *name; u32 group; u64 attr; u32 value; } rows[] = {
		{ "ctlr", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x0, 0x12 },
		{ "typer", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x4, ~0U },
		{ "iidr", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x8, 0 },
		{ "typer2", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0xc, 0 },
		{ "igroupr0", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x80, ~0U },
		{ "igroupr1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x84, 0xf0f0f0f0 },
		{ "isenabler1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x104, 0x0f },
		{ "icenabler1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x184, 0x03 },
		{ "ispendr1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x204, 0x11 },
		{ "icpendr1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x284, 0x01 },
		{ "isactiver1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x304, 0x22 },
		{ "icactiver1", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x384, 0x02 },
		{ "ipriorityr8", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x420, 0xa5f0ff08 },
		{ "itargetsr8", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x820, 0x01010101 },
		{ "icfgr2", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0xc08, 0xaaaaffff },
		{ "irouter32_lo", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x6100, 0 },
		{ "irouter32_hi", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x6104, 0 },
		{ "pidr2", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0xffe8, 0 },
		{ "beyond", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x10000, 0 },
		{ "unaligned", KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0x82, 0 },
		{ "r_ctlr", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x0, 0 },
		{ "r_iidr", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x4, 0 },
		{ "r_typer_lo", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x8, 0 },
		{ "r_typer_hi", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0xc, 0 },
		{ "r_waker", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x14, 2 },
		{ "r_igroupr0", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10080, ~0U },
		{ "r_isenabler0", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10100, 0xffff },
		{ "r_ispendr0", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10200, 0x8000001 },
		{ "r_ipriorityr0", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10400, 0x10a0ffff },
		{ "r_icfgr0", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10c00, 0 },
		{ "r_icfgr1", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 0x10c04, 0xaaaaaaaa },
		{ "r_no_such_cpu", KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, 5ULL << 32, 0 },
	};
	u32 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		say(attr_call(vgic, KVM_HAS_DEVICE_ATTR, rows[i].group, rows[i].attr, NULL),
		    "%s.%s.has", when, rows[i].name);
		value = 0x77777777;
		if (!say(get(vgic, rows[i].group, rows[i].attr, &value), "%s.%s.get", when,
			 rows[i].name))
			note(value, "%s.%s.value", when, rows[i].name);
		value = rows[i].value;
		say(set(vgic, rows[i].group, rows[i].attr, &value), "%s.%s.set", when,
		    rows[i].name);
		if (!get(vgic, rows[i].group, rows[i].attr, &value))
			note(value, "%s.%s.then", when, rows[i].name);
	}
}

#define ICC(op0, op1, crn, crm, op2) \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

static void cpu_registers(int vgic, const char *when)
{
	static const struct { const char *name; u64 attr, value; } rows[] = {
		{ "pmr", ICC(3, 0, 4, 6, 0), 0xf8 },
		{ "bpr0", ICC(3, 0, 12, 8, 3), 0 },
		{ "ap0r0", ICC(3, 0, 12, 8, 4), 1 },
		{ "ap0r1", ICC(3, 0, 12, 8, 5), 1 },
		{ "ap1r0", ICC(3, 0, 12, 9, 0), 1 },
		{ "ap1r1", ICC(3, 0, 12, 9, 1), 1 },
		{ "ap1r3", ICC(3, 0, 12, 9, 3), 1 },
		{ "bpr1", ICC(3, 0, 12, 12, 3), 4 },
		{ "ctlr", ICC(3, 0, 12, 12, 4), 0x400 },
		{ "ctlr_junk", ICC(3, 0, 12, 12, 4), ~0ULL },
		{ "sre", ICC(3, 0, 12, 12, 5), 7 },
		{ "sre_off", ICC(3, 0, 12, 12, 5), 0 },
		{ "igrpen0", ICC(3, 0, 12, 12, 6), 1 },
		{ "igrpen1", ICC(3, 0, 12, 12, 7), 1 },
		{ "iar1", ICC(3, 0, 12, 12, 0), 1 },
		{ "no_such_cpu", 5ULL << 32 | ICC(3, 0, 4, 6, 0), 0 },
	};
	u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		say(attr_call(vgic, KVM_HAS_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS,
			      rows[i].attr, NULL), "%s.icc_%s.has", when, rows[i].name);
		value = 0x7777;
		if (!say(get(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, rows[i].attr, &value),
			 "%s.icc_%s.get", when, rows[i].name))
			note(value, "%s.icc_%s.value", when, rows[i].name);
		value = rows[i].value;
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, rows[i].attr, &value),
		    "%s.icc_%s.set", when, rows[i].name);
		if (!get(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, rows[i].attr, &value))
			note(value, "%s.icc_%s.then", when, rows[i].name);
	}
}

static void line_levels(int vgic)
{
	u64 level_info = (u64)VGIC_LEVEL_INFO_LINE_LEVEL << KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_SHIFT;
	static const u64 intids[] = { 0, 16, 17, 32, 33, 64, 1000 };
	u32 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(intids); i++) {
		value = 1;
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, level_info | intids[i], &value),
		    "level.set_%llu", (unsigned long long)intids[i]);
		say(get(vgic, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, level_info | intids[i], &value),
		    "level.get_%llu", (unsigned long long)intids[i]);
		note(value, "level.value_%llu", (unsigned long long)intids[i]);
	}
	say(get(vgic, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, 32, &value), "level.other_info");
}

void conform_device(void)
{
	int kvm = open_kvm(), vm, vgic, vcpu, i;

	create_types(kvm);
	regions(kvm);

	vm = new_vm(kvm);
	say(new_vgic(vm) < 0 ? -1 : 0, "before_vcpus");
	vcpu = say_fd(ioctl(vm, KVM_CREATE_VCPU, 0), "vcpu_after_vgic");
	close(vm);
	close(vcpu);

	vm = new_vm(kvm);
	vcpu = new_vcpu(vm, 0);
	new_vcpu(vm, 1);
	vgic = say_fd(new_vgic(vm), "create");
	say(new_vgic(vm), "create_twice");
	has_all(vgic, "early");
	irq_numbers(vgic);
	gic_registers(vgic, "early");
	cpu_registers(vgic, "early");
	say(set(vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL),
	    "init_before_vcpu_init");
	init_vcpu(vcpu);
	addresses(vgic);
	for (i = 0; i < 6; i++)
		say(set(vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, i, NULL), "ctrl.%d", i);
	say_fd(ioctl(vm, KVM_CREATE_VCPU, 2), "vcpu_after_init");
	irq_numbers(vgic);
	has_all(vgic, "late");
	gic_registers(vgic, "late");
	cpu_registers(vgic, "late");
	line_levels(vgic);
	say(ioctl(vgic, _IO(KVMIO, 0xff), 0), "unknown_ioctl");
	say(ioctl(vgic, KVM_RUN, 0), "vcpu_ioctl");
	close(vgic);
	close(vcpu);
	close(vm);
	close(kvm);
}
