// SPDX-License-Identifier: GPL-2.0
/* The PMU as a VMM sees it: attributes, registers, the versions in the ID registers. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmu.h"

#define IRQ		KVM_ARM_VCPU_PMU_V3_IRQ
#define INIT		KVM_ARM_VCPU_PMU_V3_INIT
#define FILTER		KVM_ARM_VCPU_PMU_V3_FILTER
#define SET_PMU		KVM_ARM_VCPU_PMU_V3_SET_PMU
#define DFR0		ARM64_SYS_REG(3, 0, 0, 5, 0)
#define PMCR		ARM64_SYS_REG(3, 3, 9, 12, 0)
#define PMCR_LC		(1 << 6)	/* RES1 in a CPU without AArch32 */

long pmu_attr(int vcpu, u64 number, void *value)
{
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_PMU_V3_CTRL, .attr = number, .addr = (u64)value,
	};

	return ioctl(vcpu, KVM_SET_DEVICE_ATTR, &attr);
}

int pmu_type(void)
{
	static const char *const names[] = { "armv8_pmuv3_0", "armv8_cortex_a72", "armv8_pmuv3" };
	char path[80];
	int type = -1;
	size_t i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(names) && type < 0; i++) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", names[i]);
		f = fopen(path, "r");
		if (f && fscanf(f, "%d", &type) != 1)
			type = -1;
		if (f)
			fclose(f);
	}
	return type;
}

int new_pmu_vcpu(int vm, int id)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 | 1 << KVM_ARM_VCPU_PMU_V3 },
	};
	int vcpu = new_vcpu(vm, id);

	say(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "init");
	return vcpu;
}

static long get_irq(int vcpu, int *irq)
{
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_PMU_V3_CTRL, .attr = IRQ, .addr = (u64)irq,
	};

	return ioctl(vcpu, KVM_GET_DEVICE_ATTR, &attr);
}

static void say_all(int vcpu, const char *when)
{
	struct kvm_device_attr attr = { .group = KVM_ARM_VCPU_PMU_V3_CTRL };
	int value = 0;
	u64 i;

	for (i = 0; i < 6; i++) {
		attr.attr = i;
		attr.addr = (u64)&value;
		say(ioctl(vcpu, KVM_HAS_DEVICE_ATTR, &attr), "%s.has_%d", when, (int)i);
		say(ioctl(vcpu, KVM_GET_DEVICE_ATTR, &attr), "%s.get_%d", when, (int)i);
	}
}

static void run_of(int kvm, int vcpu, const char *when)
{
	struct kvm_run *run = map_run(kvm, vcpu);

	run->immediate_exit = 1;
	say(ioctl(vcpu, KVM_RUN, 0), "%s.run", when);
}

static void interrupts(int kvm)
{
	static const int irqs[] = { -1, 0, 15, 16, 23, 31, 32, 100, 1019, 1020, 8192 };
	int vm = new_vm(kvm), vcpu = new_pmu_vcpu(vm, 0), other = new_pmu_vcpu(vm, 1), vgic, irq;
	size_t i;

	say_all(vcpu, "fresh");
	irq = 23;
	say(pmu_attr(vcpu, IRQ, &irq), "irq.no_vgic");
	say(pmu_attr(vcpu, IRQ, WILD_LOW), "irq.no_vgic_wild");
	vgic = ready_vgic(vm);
	say(get_irq(vcpu, &irq), "irq.get_unset");
	say(pmu_attr(vcpu, INIT, NULL), "init.no_irq");
	run_of(kvm, vcpu, "no_irq");
	say(pmu_attr(vcpu, IRQ, WILD_LOW), "irq.wild");
	for (i = 0; i < ARRAY_SIZE(irqs); i++) {
		int lone_vm = new_vm(kvm), lone = new_pmu_vcpu(lone_vm, 0), lone_gic;

		lone_gic = ready_vgic(lone_vm);
		irq = irqs[i];
		say(pmu_attr(lone, IRQ, &irq), "irq.set_%d", irq);
		say(pmu_attr(lone, INIT, NULL), "irq.init_%d", irq);
		run_of(kvm, lone, "irq");
		close(lone_gic);
		close(lone);
		close(lone_vm);
	}
	irq = 23;
	say(pmu_attr(vcpu, IRQ, &irq), "irq.set");
	say(pmu_attr(vcpu, IRQ, &irq), "irq.again");
	irq = 22;
	say(pmu_attr(vcpu, IRQ, &irq), "irq.other");
	say(pmu_attr(other, IRQ, &irq), "irq.other_vcpu");
	irq = 40;
	say(pmu_attr(other, IRQ, &irq), "irq.other_vcpu_spi");
	irq = 23;
	say(pmu_attr(other, IRQ, &irq), "irq.other_vcpu_same");
	say(pmu_attr(vcpu, INIT, NULL), "init");
	say(pmu_attr(vcpu, INIT, NULL), "init.again");
	say(pmu_attr(vcpu, IRQ, &irq), "irq.late");
	say(get_irq(vcpu, &irq), "irq.get");
	note(irq, "irq.is");
	say(get_irq(vcpu, WILD_LOW), "irq.get_wild");
	run_of(kvm, vcpu, "ready");
	run_of(kvm, other, "not_ready");
	say(pmu_attr(other, INIT, NULL), "init.late");
	run_of(kvm, other, "late");
	say_all(vcpu, "late");
	close(vgic);
	close(other);
	close(vcpu);
	close(vm);
}

/* One whose interrupt a timer has, on this vCPU or before. */
static void timers(int kvm)
{
	int vm = new_vm(kvm), vcpu = new_pmu_vcpu(vm, 0), vgic = ready_vgic(vm), irq = 27;

	say(pmu_attr(vcpu, IRQ, &irq), "timer.irq");
	say(pmu_attr(vcpu, INIT, NULL), "timer.init");
	run_of(kvm, vcpu, "timer");
	close(vgic);
	close(vcpu);
	close(vm);
	/* Without a vGIC there is no interrupt. */
	vm = new_vm(kvm);
	vcpu = new_pmu_vcpu(vm, 0);
	run_of(kvm, vcpu, "no_vgic.no_init");
	say(pmu_attr(vcpu, INIT, NULL), "no_vgic.init");
	vgic = ready_vgic(vm);
	run_of(kvm, vcpu, "no_vgic.late");
	close(vgic);
	close(vcpu);
	close(vm);
}

static void filters(int kvm)
{
	static const struct kvm_pmu_event_filter ranges[] = {
		{ .base_event = 0, .nevents = 0, .action = KVM_PMU_EVENT_DENY },
		{ .base_event = 0x11, .nevents = 1, .action = KVM_PMU_EVENT_DENY },
		{ .base_event = 0, .nevents = 0xffff, .action = KVM_PMU_EVENT_DENY },
		{ .base_event = 0xffff, .nevents = 2, .action = KVM_PMU_EVENT_ALLOW },
		{ .base_event = 0x3ff, .nevents = 1, .action = KVM_PMU_EVENT_ALLOW },
		{ .base_event = 0x3ff, .nevents = 2, .action = KVM_PMU_EVENT_ALLOW },
		{ .base_event = 1, .nevents = 1, .action = 2 },
		{ .base_event = 1, .nevents = 1, .action = 0, .pad = { 1 } },
	};
	int vm = new_vm(kvm), vcpu = new_pmu_vcpu(vm, 0), vgic = ready_vgic(vm), irq = 23, type;
	struct kvm_pmu_event_filter range;
	size_t i;

	type = pmu_type();
	say(pmu_attr(vcpu, SET_PMU, &type), "set_pmu");
	for (type = -1; type < 8; type++)
		if (type != pmu_type())
			say(pmu_attr(vcpu, SET_PMU, &type), "set_pmu.%d", type);
	type = 1 << 30;
	say(pmu_attr(vcpu, SET_PMU, &type), "set_pmu.high");
	say(pmu_attr(vcpu, SET_PMU, WILD_LOW), "set_pmu.wild");
	say(pmu_attr(vcpu, FILTER, WILD_LOW), "filter.wild");
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		range = ranges[i];
		say(pmu_attr(vcpu, FILTER, &range), "filter.%d", (int)i);
	}
	type = pmu_type();
	say(pmu_attr(vcpu, SET_PMU, &type), "set_pmu.after_filter");
	pmu_attr(vcpu, IRQ, &irq);
	say(pmu_attr(vcpu, INIT, NULL), "filter.init");
	say(pmu_attr(vcpu, FILTER, &range), "filter.late");
	close(vgic);
	close(vcpu);
	close(vm);
}

#define SYS(crm, op2) { #crm "_" #op2, ARM64_SYS_REG(3, 3, 9, crm, op2) }

static const struct { const char *name; u64 id; } registers[] = {
	{ "intenset", ARM64_SYS_REG(3, 0, 9, 14, 1) },
	{ "intenclr", ARM64_SYS_REG(3, 0, 9, 14, 2) },
	{ "pmmir", ARM64_SYS_REG(3, 0, 9, 14, 6) },
	SYS(12, 0), SYS(12, 1), SYS(12, 2), SYS(12, 3), SYS(12, 4), SYS(12, 5), SYS(12, 6),
	SYS(12, 7), SYS(13, 0), SYS(13, 1), SYS(13, 2), SYS(14, 0), SYS(14, 3),
	{ "cntr0", ARM64_SYS_REG(3, 3, 14, 8, 0) },
	{ "cntr5", ARM64_SYS_REG(3, 3, 14, 8, 5) },
	{ "cntr6", ARM64_SYS_REG(3, 3, 14, 8, 6) },
	{ "cntr30", ARM64_SYS_REG(3, 3, 14, 11, 6) },
	{ "cntr31", ARM64_SYS_REG(3, 3, 14, 11, 7) },
	{ "type0", ARM64_SYS_REG(3, 3, 14, 12, 0) },
	{ "type30", ARM64_SYS_REG(3, 3, 14, 15, 6) },
	{ "ccfiltr", ARM64_SYS_REG(3, 3, 14, 15, 7) },
};

/* LC is what an AArch32 guest is given. */
static u64 seen(u64 id, u64 value)
{
	return id == PMCR ? value | PMCR_LC : value;
}

static void values(int vcpu)
{
	static const u64 patterns[] = { ~0ULL, 0x5555555555555555, 0 };
	u64 reset, value;
	size_t i, p;

	for (i = 0; i < ARRAY_SIZE(registers); i++) {
		if (say(try_get_reg(vcpu, registers[i].id, &reset), "reg.%s.get", registers[i].name))
			continue;
		note(seen(registers[i].id, reset), "reg.%s.reset", registers[i].name);
		for (p = 0; p < ARRAY_SIZE(patterns); p++) {
			say(try_set_reg(vcpu, registers[i].id, patterns[p]), "reg.%s.set_%#llx",
			    registers[i].name, (unsigned long long)patterns[p]);
			try_get_reg(vcpu, registers[i].id, &value);
			note(seen(registers[i].id, value), "reg.%s.then", registers[i].name);
		}
	}
}

static void listed(int vcpu)
{
	static struct { u64 n, reg[1024]; } list = { .n = 1024 };
	u64 i, sys;

	ioctl(vcpu, KVM_GET_REG_LIST, &list);
	for (i = 0; i < list.n; i++) {
		sys = list.reg[i] ^ ARM64_SYS_REG(0, 0, 0, 0, 0);
		/* CRn 9, or op1 3 with CRn 14 from CRm 8 on. */
		if (sys < 0x10000 && ((sys >> 7 & 15) == 9 ||
				      ((sys >> 7 & 0x7f) == (3 << 4 | 14) && sys & 0x40)))
			note(sys, "listed.%#llx", (unsigned long long)sys);
	}
}

static void versions(int kvm)
{
	int vm = new_vm(kvm), vcpu = new_pmu_vcpu(vm, 0), vgic = ready_vgic(vm), irq = 23, n;
	u64 dfr0, value;

	dfr0 = get_reg(vcpu, DFR0);
	note(dfr0 >> 8 & 15, "version.is");
	for (n = 15; n >= 0; n--) {
		say(try_set_reg(vcpu, DFR0, (dfr0 & ~0xf00ULL) | (u64)n << 8), "version.set_%d", n);
		try_get_reg(vcpu, DFR0, &value);
		note(value >> 8 & 15, "version.then_%d", n);
	}
	try_set_reg(vcpu, DFR0, dfr0);
	/* Fewer counters, never more. */
	for (n = 0; n < 8; n++) {
		say(try_set_reg(vcpu, PMCR, (u64)n << 11), "counters.set_%d", n);
		note(get_reg(vcpu, PMCR) | PMCR_LC, "counters.then_%d", n);
	}
	pmu_attr(vcpu, IRQ, &irq);
	pmu_attr(vcpu, INIT, NULL);
	run_of(kvm, vcpu, "counters");
	say(try_set_reg(vcpu, PMCR, 2 << 11), "counters.late");
	note(get_reg(vcpu, PMCR) | PMCR_LC, "counters.late_then");
	say(try_set_reg(vcpu, DFR0, dfr0 & ~0xf00ULL), "version.late");
	close(vgic);
	close(vcpu);
	close(vm);
}

void conform_pmu(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_pmu_vcpu(vm, 0);

	listed(vcpu);
	values(vcpu);
	close(vcpu);
	close(vm);
	versions(kvm);
	interrupts(kvm);
	timers(kvm);
	filters(kvm);
	close(kvm);
	conform_pmu_guest();
}
