// SPDX-License-Identifier: GPL-2.0
/*
 * Eventfds: one that is the irqfd of many VMs; and a VM with the maximum number of irqfds, with and
 * without resampling, and of ioeventfds.
 *
 *	VMS=n		1,200 (irqfd_shared)
 *	IRQFDS=n	8,192 (irqfd_many)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bounds.h"

#define MOST_FILES	(1 << 15)

static void allow_files(void)
{
	struct rlimit files = { MOST_FILES, MOST_FILES };

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE");
}

static int new_eventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		die("eventfd");
	return fd;
}

static int set_irqfd(int vm, int fd, u32 gsi, u32 flags, int resample)
{
	struct kvm_irqfd args = {
		.fd = (u32)fd, .gsi = gsi, .flags = flags, .resamplefd = (u32)resample,
	};

	return ioctl(vm, KVM_IRQFD, &args);
}

/* A VM that takes irqfds: its file alone keeps it. */
static int ready_vm(int kvm)
{
	int vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);

	init_vcpu(vcpu);
	close(ready_vgic(vm));
	close(vcpu);
	return vm;
}

/* Signalled, and closed for good. How many VMs may share it differs by kernel. */
void bounds_irqfd_shared(void)
{
	u32 vms = setting("VMS", 1200), i, taken = 0;
	int kvm = open_kvm(), event = new_eventfd();

	allow_files();
	for (i = 0; i < vms; i++) {
		if (!set_irqfd(ready_vm(kvm), event, 0, 0, 0))
			taken++;
		else if (errno != EBUSY)
			die("irqfd of VM %u", i);
	}
	result("irqfd_shared.vms", taken, "count");
	meter_begin();
	if (eventfd_write(event, 1))
		die("eventfd_write");
	meter_end("irqfd_shared.signal");
	meter_begin();
	close(event);
	meter_end("irqfd_shared.close");
	close(kvm);
}

static void assign_all(int vm, const int *events, u32 n, u32 flags, const char *name)
{
	u32 i;

	meter_begin();
	for (i = 0; i < n; i++)
		/* Each at a pin of its own, as far as there are any: there is a resampler for each. */
		if (set_irqfd(vm, events[i], i % 4096, flags, events[n - 1 - i]))
			die("irqfd %u", i);
	meter_end("irqfd_many.%s", name);
}

/* Irqfds of one VM: assigned, its routes changed, taken away, gone with the VM. */
void bounds_irqfd_many(void)
{
	u32 n = setting("IRQFDS", 8192), i;
	int kvm = open_kvm(), vm = ready_vm(kvm);
	int *events = calloc(n, sizeof(*events));
	struct kvm_irq_routing routing = {};

	allow_files();
	for (i = 0; i < n; i++)
		events[i] = new_eventfd();
	assign_all(vm, events, n, 0, "assign");
	meter_begin();
	for (i = 0; i < 64; i++)
		if (set_irqfd(vm, events[i], i, KVM_IRQFD_FLAG_DEASSIGN, 0))
			die("deassign");
	meter_end("irqfd_many.deassign");
	meter_begin();
	for (i = 64; i < n; i++)
		close(events[i]);
	meter_end("irqfd_many.close");
	for (i = 64; i < n; i++)
		events[i] = new_eventfd();
	/* The ends of the last ones may be under way. */
	sleep(1);
	assign_all(vm, events, n, KVM_IRQFD_FLAG_RESAMPLE, "resample");
	meter_begin();
	if (ioctl(vm, KVM_SET_GSI_ROUTING, &routing))
		die("KVM_SET_GSI_ROUTING");
	meter_end("irqfd_many.routes");
	meter_begin();
	for (i = 0; i < 64; i++)
		if (set_irqfd(vm, events[i], i, KVM_IRQFD_FLAG_DEASSIGN, 0))
			die("deassign");
	meter_end("irqfd_many.resample_deassign");
	meter_begin();
	close(vm);
	meter_end("irqfd_many.vm");
	close(kvm);
	for (i = 0; i < n; i++)
		close(events[i]);
	free(events);
}

#define IOEVENTFDS	1000

static void set_ioeventfd(int vm, int fd, u64 addr, u32 flags)
{
	struct kvm_ioeventfd io = { .addr = addr, .len = 4, .fd = fd, .flags = flags };

	if (ioctl(vm, KVM_IOEVENTFD, &io))
		die("ioeventfd at %#llx", (unsigned long long)addr);
}

/* Those that a VM has had last keep eventfds alive that nobody else has any more. */
void bounds_ioeventfd(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), events[IOEVENTFDS], i;

	allow_files();
	for (i = 0; i < IOEVENTFDS; i++)
		events[i] = new_eventfd();
	meter_begin();
	for (i = IOEVENTFDS; i--;)
		set_ioeventfd(vm, events[i], i * 8, 0);
	meter_end("ioeventfd.assign");
	meter_begin();
	for (i = 0; i < 16; i++) {
		set_ioeventfd(vm, events[i], i * 8, KVM_IOEVENTFD_FLAG_DEASSIGN);
		set_ioeventfd(vm, events[i], i * 8, 0);
	}
	meter_end("ioeventfd.deassign");
	for (i = 0; i < IOEVENTFDS; i++)
		close(events[i]);
	meter_begin();
	close(vm);
	meter_end("ioeventfd.close");
	close(kvm);
}

/* The same number of zones, all of which go at once. */
void bounds_coalesced(void)
{
	struct kvm_coalesced_mmio_zone zone = { .addr = 0x1000000, .size = 0x1000 };
	int kvm = open_kvm(), vm = new_vm(kvm), i;

	meter_begin();
	for (i = 0; i < IOEVENTFDS; i++)
		if (ioctl(vm, KVM_REGISTER_COALESCED_MMIO, &zone))
			die("KVM_REGISTER_COALESCED_MMIO");
	meter_end("coalesced.register");
	meter_begin();
	if (ioctl(vm, KVM_UNREGISTER_COALESCED_MMIO, &zone))
		die("KVM_UNREGISTER_COALESCED_MMIO");
	meter_end("coalesced.unregister");
	for (i = 0; i < IOEVENTFDS; i++)
		if (ioctl(vm, KVM_REGISTER_COALESCED_MMIO, &zone))
			die("KVM_REGISTER_COALESCED_MMIO");
	meter_begin();
	close(vm);
	meter_end("coalesced.close");
	close(kvm);
}
