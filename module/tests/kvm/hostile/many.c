// SPDX-License-Identifier: GPL-2.0
/*
 * Many VMs and vCPUs: all their resources come back.
 *
 *	VMS=n		number of VMs, where 60 take too long
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hostile.h"

static long meminfo(const char *name)
{
	return read_figure("/proc/meminfo", name);
}

/* What the kernel holds for itself and cannot drop. */
static long kernel_memory(void)
{
	return meminfo("SUnreclaim") + meminfo("PageTables") + meminfo("VmallocUsed");
}

static void one_vm(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct guest g;

	new_guest(&g, guest_writer, sizeof(guest_writer));
	expect(!ioctl(g.vm, KVM_CREATE_DEVICE, &dev), "KVM_CREATE_DEVICE: %s",
	       strerror(errno));
	close(ioctl(g.vm, KVM_GET_STATS_FD, 0));
	close(dev.fd);
	free_guest(&g);

	new_guest(&g, guest_writer, sizeof(guest_writer));
	expect(!ioctl(g.vcpu, KVM_RUN, 0), "KVM_RUN: %s", strerror(errno));
	free_guest(&g);
}

/* Where a checker holds on to freed memory, there is nothing to measure. */
static bool measurable(void)
{
	return access("/sys/kernel/debug/kmemleak", F_OK);
}

static void comes_back(void)
{
	int vms = getenv("VMS") ? atoi(getenv("VMS")) : 60;
	long before, after, free_before, free_after;
	int i;

	for (i = 0; i < 20; i++)
		one_vm();
	usleep(300000);
	before = kernel_memory();
	free_before = meminfo("MemFree");
	for (i = 0; i < vms; i++)
		one_vm();
	usleep(300000);
	after = kernel_memory();
	free_after = meminfo("MemFree");
	if (!measurable())
		return;
	/* 60 VMs have some 12 pages each of their own, and a table a megabyte. */
	expect(after - before < 2048, "%d VMs left %ld KiB in the kernel", vms,
	       after - before);
	expect(free_before - free_after < 4096, "%d VMs left %ld KiB less", vms,
	       free_before - free_after);
}

static void many_vcpus(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), limit, i;
	struct rlimit files = { 2048, 2048 };

	setrlimit(RLIMIT_NOFILE, &files);
	limit = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS);
	for (i = 0; i < limit; i++) {
		int vcpu = ioctl(vm, KVM_CREATE_VCPU, i);

		expect(vcpu >= 0, "vCPU %d of %d: %s", i, limit, strerror(errno));
		if (vcpu < 0)
			break;
		close(vcpu);
	}
	expect(ioctl(vm, KVM_CREATE_VCPU, limit) == -1 && errno == EINVAL,
	       "vCPU %d of %d can be made", limit, limit);
	close(vm);
	close(kvm);
}

/* State that may only be looked at with every vCPU out of its ioctls. */
static void stopped_vcpus(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vgic, i;
	u32 value = 0;
	struct kvm_device_attr attr = {
		.group = KVM_DEV_ARM_VGIC_GRP_DIST_REGS, .addr = (u64)&value,
	};

	for (i = 0; i < 100; i++)
		close(new_vcpu(vm, i));
	vgic = ready_vgic(vm);
	expect(!ioctl(vgic, KVM_GET_DEVICE_ATTR, &attr), "GICD_CTLR of 100 vCPUs: %s",
	       strerror(errno));
	close(vgic);
	close(vm);
	close(kvm);
}

void hostile_many(void)
{
	many_vcpus();
	stopped_vcpus();
	comes_back();
}
