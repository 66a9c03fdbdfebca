// SPDX-License-Identifier: GPL-2.0
/*
 * The registers that a VMM reads and writes back around each change of its VM, in the order of
 * QEMU, Firecracker, Cloud Hypervisor and kvmtool. Other groups compare the set of registers and
 * their values. This one compares which can be written back as read, and which changed by
 * themselves in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

#define MAX_REGS	1024
#define PFR0		ARM64_SYS_REG(3, 0, 0, 4, 0)
#define PFR0_GIC	0xfULL

/* Two stores to a device, so that the guest can be run twice. */
GUEST(two_stores, "mov x1, #0x0a000000\n str x2, [x1]\n str x2, [x1]\n b .\n");

struct saved {
	struct kvm_reg_list list;
	u64 ids[MAX_REGS];
	u8 value[MAX_REGS][256];
};

static long reg_ioctl(int vcpu, unsigned long request, u64 id, void *value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)value };

	return ioctl(vcpu, request, &reg);
}

/* A size's worth of all registers. */
static struct saved *read_all(int vcpu, const char *when)
{
	struct saved *saved = calloc(1, sizeof(*saved));
	u64 i, failed = 0;

	saved->list.n = MAX_REGS;
	if (ioctl(vcpu, KVM_GET_REG_LIST, &saved->list))
		die("KVM_GET_REG_LIST");
	for (i = 0; i < saved->list.n; i++)
		failed += !!reg_ioctl(vcpu, KVM_GET_ONE_REG, saved->ids[i], saved->value[i]);
	note(failed, "%s.unreadable", when);
	return saved;
}

static void write_all(int vcpu, struct saved *saved, const char *when)
{
	u64 i, failed = 0;

	for (i = 0; i < saved->list.n; i++) {
		if (!reg_ioctl(vcpu, KVM_SET_ONE_REG, saved->ids[i], saved->value[i]))
			continue;
		say(-1, "%s.write_%#llx", when, (unsigned long long)saved->ids[i]);
		failed++;
	}
	note(failed, "%s.unwritable", when);
}

/* Counters run by themselves. */
static bool runs(u64 id)
{
	return id == KVM_REG_ARM_TIMER_CNT || id == KVM_REG_ARM_PTIMER_CNT;
}

static void what_changed(const struct saved *was, const struct saved *is, const char *when)
{
	u64 i, a, b;

	note(was->list.n == is->list.n, "%s.same_list", when);
	for (i = 0; i < was->list.n && i < is->list.n; i++) {
		if (runs(was->ids[i]) || !memcmp(was->value[i], is->value[i], 256))
			continue;
		memcpy(&a, was->value[i], sizeof(a));
		memcpy(&b, is->value[i], sizeof(b));
		note(a ^ b, "%s.changed_%#llx", when, (unsigned long long)was->ids[i]);
	}
}

static void gic_field(int vcpu, const char *when)
{
	note(get_reg(vcpu, PFR0) >> 24 & PFR0_GIC, "%s.gic_field", when);
}

static void create_vgic(int vm, struct kvm_create_device *dev)
{
	dev->type = KVM_DEV_TYPE_ARM_VGIC_V3;
	if (ioctl(vm, KVM_CREATE_DEVICE, dev))
		die("KVM_CREATE_DEVICE");
}

static void place(int vgic, u64 what, u64 address)
{
	struct kvm_device_attr attr = {
		.group = KVM_DEV_ARM_VGIC_GRP_ADDR, .attr = what, .addr = (u64)&address,
	};

	if (ioctl(vgic, KVM_SET_DEVICE_ATTR, &attr))
		die("KVM_DEV_ARM_VGIC_GRP_ADDR");
}

static void ready(int vgic)
{
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };

	place(vgic, KVM_VGIC_V3_ADDR_TYPE_DIST, GUEST_DIST);
	place(vgic, KVM_VGIC_V3_ADDR_TYPE_REDIST, GUEST_REDIST);
	if (ioctl(vgic, KVM_SET_DEVICE_ATTR, &attr))
		die("KVM_DEV_ARM_VGIC_CTRL_INIT");
}

/* Run to the next store and complete it, and look. */
static struct saved *after_run(struct guest *g, struct saved *was, const char *when)
{
	struct saved *is;

	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", when);
	note(g->run->exit_reason, "%s.exit", when);
	g->run->immediate_exit = 1;
	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.complete", when);
	g->run->immediate_exit = 0;
	is = read_all(g->vcpu, when);
	what_changed(was, is, when);
	gic_field(g->vcpu, when);
	free(was);
	write_all(g->vcpu, is, when);
	return is;
}

/* Registers are read before the vGIC exists, and written back after. */
static void as_qemu(void)
{
	struct kvm_create_device dev = { 0 };
	struct saved *saved, *again;
	struct guest g;

	NEW_GUEST(&g, two_stores);
	saved = read_all(g.vcpu, "qemu.first");
	gic_field(g.vcpu, "qemu.first");
	write_all(g.vcpu, saved, "qemu.first");
	create_vgic(g.vm, &dev);
	gic_field(g.vcpu, "qemu.created");
	ready(dev.fd);
	gic_field(g.vcpu, "qemu.ready");
	init_vcpu(g.vcpu);
	write_all(g.vcpu, saved, "qemu.ready");
	again = read_all(g.vcpu, "qemu.ready");
	what_changed(saved, again, "qemu.ready");
	free(saved);
	again = after_run(&g, again, "qemu.ran");
	/* A reset of the machine: the vCPU is initialised once more and loaded. */
	init_vcpu(g.vcpu);
	write_all(g.vcpu, again, "qemu.reset");
	free(after_run(&g, again, "qemu.ran_again"));
	close(dev.fd);
	free_guest(&g);
}

/* vCPU and vGIC, then initialisation: nothing is read before both are there. */
static void as_firecracker(void)
{
	struct kvm_create_device dev = { 0 };
	struct guest g;

	NEW_GUEST(&g, two_stores);
	create_vgic(g.vm, &dev);
	ready(dev.fd);
	init_vcpu(g.vcpu);
	set_reg(g.vcpu, REG_PC, GUEST_BASE);
	gic_field(g.vcpu, "firecracker.first");
	free(after_run(&g, read_all(g.vcpu, "firecracker.first"), "firecracker.ran"));
	close(dev.fd);
	free_guest(&g);
}

/* The vGIC exists before the first vCPU, and is initialised as late as can be. */
static void as_kvmtool(void)
{
	struct kvm_create_device dev = { 0 };
	struct saved *saved;
	struct guest g;

	g.kvm = open_kvm();
	g.vm = new_vm(g.kvm);
	create_vgic(g.vm, &dev);
	g.vcpu = new_vcpu(g.vm, 0);
	g.run = map_run(g.kvm, g.vcpu);
	g.memory = new_slot(g.vm, 0, GUEST_BASE, GUEST_SIZE);
	memcpy(g.memory, guest_two_stores, 4 * sizeof(u32));
	init_vcpu(g.vcpu);
	set_reg(g.vcpu, REG_PC, GUEST_BASE);
	gic_field(g.vcpu, "kvmtool.first");
	saved = read_all(g.vcpu, "kvmtool.first");
	ready(dev.fd);
	write_all(g.vcpu, saved, "kvmtool.ready");
	gic_field(g.vcpu, "kvmtool.ready");
	free(after_run(&g, saved, "kvmtool.ran"));
	close(dev.fd);
	free_guest(&g);
}

/* A vGIC that is not ready at the first run is the end of its VM. */
static void too_early(bool placed)
{
	const char *when = placed ? "early.placed" : "early";
	struct kvm_create_device dev = { 0 };
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };
	struct guest g;
	u64 value;

	NEW_GUEST(&g, two_stores);
	create_vgic(g.vm, &dev);
	if (placed) {
		place(dev.fd, KVM_VGIC_V3_ADDR_TYPE_DIST, GUEST_DIST);
		place(dev.fd, KVM_VGIC_V3_ADDR_TYPE_REDIST, GUEST_REDIST);
	}
	say(ioctl(g.vcpu, KVM_RUN, 0), "%s.run", when);
	say(ioctl(g.vcpu, KVM_RUN, 0), "%s.run_again", when);
	say(reg_ioctl(g.vcpu, KVM_GET_ONE_REG, PFR0, &value), "%s.get", when);
	say(ioctl(g.vcpu, _IO('x', 0), 0), "%s.foreign", when);
	say(ioctl(g.vm, KVM_CHECK_EXTENSION, KVM_CAP_ONE_REG), "%s.check_extension", when);
	say_fd(ioctl(g.vm, KVM_CREATE_VCPU, 5), "%s.create_vcpu", when);
	say(ioctl(dev.fd, KVM_SET_DEVICE_ATTR, &attr), "%s.set_attr", when);
	say(ioctl(g.kvm, KVM_CHECK_EXTENSION, KVM_CAP_ONE_REG), "%s.node", when);
	close(dev.fd);
	free_guest(&g);
}

/* A field that was taken away stays away; one that the first run takes away, too. */
static void without_vgic(void)
{
	struct saved *saved;
	struct guest g;
	int other;
	u64 value;

	NEW_GUEST(&g, two_stores);
	other = new_vcpu(g.vm, 1);
	init_vcpu(other);
	gic_field(g.vcpu, "none.first");
	saved = after_run(&g, read_all(g.vcpu, "none.first"), "none.ran");
	gic_field(other, "none.other");
	value = get_reg(g.vcpu, PFR0) | 1ULL << 24;
	say(reg_ioctl(g.vcpu, KVM_SET_ONE_REG, PFR0, &value), "none.set_gic");
	init_vcpu(g.vcpu);
	write_all(g.vcpu, saved, "none.reset");
	free(after_run(&g, saved, "none.ran_again"));
	close(other);
	free_guest(&g);
}

static void taken_away(void)
{
	struct kvm_create_device dev = { 0 };
	struct guest g;
	u64 value;

	NEW_GUEST(&g, two_stores);
	value = get_reg(g.vcpu, PFR0) & ~(PFR0_GIC << 24);
	say(reg_ioctl(g.vcpu, KVM_SET_ONE_REG, PFR0, &value), "away.set");
	gic_field(g.vcpu, "away.set");
	create_vgic(g.vm, &dev);
	ready(dev.fd);
	gic_field(g.vcpu, "away.ready");
	free(after_run(&g, read_all(g.vcpu, "away.ready"), "away.ran"));
	close(dev.fd);
	free_guest(&g);
	NEW_GUEST(&g, two_stores);
	value = get_reg(g.vcpu, PFR0) + (1ULL << 24);
	say(reg_ioctl(g.vcpu, KVM_SET_ONE_REG, PFR0, &value), "more.set_gic_2");
	gic_field(g.vcpu, "more.set");
	free_guest(&g);
}

/* A vCPU without PSCI 0.2 has the PSCI that came before. */
static void without_psci(void)
{
	struct kvm_vcpu_init init = { .target = KVM_ARM_TARGET_GENERIC_V8 };
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);
	struct saved *saved;

	if (ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		die("KVM_ARM_VCPU_INIT");
	saved = read_all(vcpu, "old_psci");
	note(get_reg(vcpu, KVM_REG_ARM_PSCI_VERSION), "old_psci.version");
	write_all(vcpu, saved, "old_psci");
	free(saved);
	close(vcpu);
	close(vm);
	close(kvm);
}

void conform_order(void)
{
	as_qemu();
	as_firecracker();
	as_kvmtool();
	too_early(false);
	too_early(true);
	without_vgic();
	taken_away();
	without_psci();
}
