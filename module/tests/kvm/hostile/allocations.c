// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation fails once: a VM with every feature is made and run again and again, first with
 * the kernel's first allocation failing, then with the second, and so on until none fails. Any call
 * may fail. Nothing may be left behind; the kernel's own checkers verify that. Needs a kernel with
 * fault injection.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

#define MOST	2000

static int fail_file = -1;

static void fail_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(fail_file, text, len, 0) != len)
		die("fail-nth");
}

/* Has the allocation that was to fail been asked for? Ends the waiting for it. */
static bool has_failed(void)
{
	char text[16] = "";

	if (pread(fail_file, text, sizeof(text) - 1, 0) < 1)
		die("fail-nth");
	fail_nth(0);
	return text[0] == '0';
}

static void set_memory(int vm, void *memory, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.flags = flags, .guest_phys_addr = GUEST_BASE, .memory_size = GUEST_SIZE,
		.userspace_addr = (u64)memory,
	};

	ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem);
}

static void use_vcpu(int kvm, int vcpu)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 },
	};
	u64 pc = GUEST_BASE;
	struct kvm_one_reg reg = { .id = REG_PC, .addr = (u64)&pc };
	struct kvm_run *run;
	int i;

	ioctl(vcpu, KVM_ARM_VCPU_INIT, &init);
	ioctl(vcpu, KVM_SET_ONE_REG, &reg);
	run = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	for (i = 0; i < 3 && !ioctl(vcpu, KVM_RUN, 0); i++)
		;
	close(ioctl(vcpu, KVM_GET_STATS_FD, 0));
	if (run != MAP_FAILED)
		munmap(run, 4096);
}

static void use_vm(int kvm, int vm, void *memory)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3, .fd = -1 };
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };
	struct { struct kvm_irq_routing head; struct kvm_irq_routing_entry entry; } routes = {
		.head.nr = 1, .entry = { .gsi = 1, .type = KVM_IRQ_ROUTING_IRQCHIP },
	};
	struct kvm_irqfd irq = { .gsi = 1, .fd = eventfd(0, EFD_CLOEXEC) };
	struct kvm_ioeventfd bell = { .addr = GUEST_MMIO + 64, .len = 8, .fd = irq.fd };
	struct kvm_enable_cap bitmap = { .cap = KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP };
	int vcpu;

	enable_ring(vm, 4096);
	ioctl(vm, KVM_ENABLE_CAP, &bitmap);
	set_memory(vm, memory, KVM_MEM_LOG_DIRTY_PAGES);
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	ioctl(vm, KVM_CREATE_DEVICE, &dev);
	ioctl((int)dev.fd, KVM_SET_DEVICE_ATTR, &attr);
	ioctl(vm, KVM_SET_GSI_ROUTING, &routes);
	ioctl(vm, KVM_IRQFD, &irq);
	ioctl(vm, KVM_IOEVENTFD, &bell);
	if (vcpu >= 0)
		use_vcpu(kvm, vcpu);
	set_memory(vm, memory, 0);
	close(ioctl(vm, KVM_GET_STATS_FD, 0));
	close(vcpu);
	close(dev.fd);
	close(irq.fd);
}

static void everything(void *memory)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm;

	if (kvm < 0)
		return;
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm >= 0) {
		use_vm(kvm, vm, memory);
		close(vm);
	}
	close(kvm);
}

/* Allocations that may sleep fail too, single pages too, and without a word. */
static void prepare(void)
{
	static const char *const words[][2] = {
		{ "failslab/ignore-gfp-wait", "N" }, { "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" }, { "fail_page_alloc/verbose", "0" },
		{ "fail_page_alloc/min-order", "0" },
	};
	char path[80];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", words[i][0]);
		if (!write_file(path, words[i][1]))
			die("%s", path);
	}
}

void hostile_allocations(void)
{
	void *memory = map_memory(GUEST_SIZE);
	int n;

	fail_file = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_file < 0) {
		printf("no fault injection in this kernel\n");
		return;
	}
	prepare();
	memcpy(memory, guest_writer, sizeof(guest_writer));
	everything(memory);
	for (n = 1; n < MOST; n++) {
		fail_nth(n);
		everything(memory);
		if (!has_failed())
			break;
	}
	expect(n > 50 && n < MOST, "%d allocations failed in turn", n - 1);
	printf("%d allocations failed in turn\n", n - 1);
	munmap(memory, GUEST_SIZE);
}
