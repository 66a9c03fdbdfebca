// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "tinyvm.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE		(2UL << 20)
#define BOOT_PSTATE	0x3c5	/* EL1 with its own stack pointer, all masked */
#define CORE(word)	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | (word))
#define REG_PC		CORE(64)
#define REG_PSTATE	CORE(66)
#define NR_IRQS		64

/* Translation: blocks of 1 GiB. */
#define BLOCK		(1UL | 1UL << 10)			/* with its access flag */
#define DEVICE		(BLOCK | 3UL << 53)			/* never executed */
#define NORMAL		(BLOCK | 1UL << 2 | 3UL << 8)		/* MAIR's 1, inner shareable */

#ifndef KVM_ARM_SET_COUNTER_OFFSET
#define KVM_CAP_COUNTER_OFFSET 227
struct kvm_arm_counter_offset {
	__u64 counter_offset;
	__u64 reserved;
};
#define KVM_ARM_SET_COUNTER_OFFSET _IOW(KVMIO, 0xb5, struct kvm_arm_counter_offset)
#endif

noreturn void tinyvm_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static int call(int fd, unsigned long request, const void *argument, const char *name)
{
	int ret = ioctl(fd, request, argument);

	if (ret < 0)
		tinyvm_fail(name);
	return ret;
}

static void set_register(struct tinyvm *tiny, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (uintptr_t)&value };

	call(tiny->vcpu, KVM_SET_ONE_REG, &reg, "KVM_SET_ONE_REG");
}

static char *new_memory(const char *code, const char *end)
{
	char *ram = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *table = (uint64_t *)(ram + (TINYVM_TABLE - TINYVM_RAM));

	if (ram == MAP_FAILED)
		tinyvm_fail("memory");
	memset(ram, 0, SIZE);
	memcpy(ram, code, end - code);
	table[0] = DEVICE;
	table[1] = TINYVM_RAM | NORMAL;
	__builtin___clear_cache(ram, ram + (end - code));
	return ram;
}

void tinyvm_new(struct tinyvm *tiny, const char *code, const char *end)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = TINYVM_RAM,
		.memory_size = SIZE,
	};
	struct kvm_vcpu_init init = { 0 };
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	char *ram = new_memory(code, end);

	if (kvm < 0)
		tinyvm_fail("/dev/kvm");
	tiny->vm = call(kvm, KVM_CREATE_VM, NULL, "KVM_CREATE_VM");
	tiny->shared = (uint64_t *)(ram + (TINYVM_SHARED - TINYVM_RAM));
	region.userspace_addr = (uintptr_t)ram;
	call(tiny->vm, KVM_SET_USER_MEMORY_REGION, &region, "KVM_SET_USER_MEMORY_REGION");
	tiny->vcpu = call(tiny->vm, KVM_CREATE_VCPU, NULL, "KVM_CREATE_VCPU");
	call(tiny->vm, KVM_ARM_PREFERRED_TARGET, &init, "KVM_ARM_PREFERRED_TARGET");
	init.features[0] = 1 << KVM_ARM_VCPU_PSCI_0_2;
	call(tiny->vcpu, KVM_ARM_VCPU_INIT, &init, "KVM_ARM_VCPU_INIT");
	tiny->run = mmap(NULL, call(kvm, KVM_GET_VCPU_MMAP_SIZE, NULL, "KVM_GET_VCPU_MMAP_SIZE"),
			 PROT_READ | PROT_WRITE, MAP_SHARED, tiny->vcpu, 0);
	if (tiny->run == MAP_FAILED)
		tinyvm_fail("mmap of the vCPU");
	set_register(tiny, REG_PC, TINYVM_RAM);
	set_register(tiny, REG_PSTATE, BOOT_PSTATE);
	close(kvm);
}

static void set_device(int device, uint32_t group, uint64_t attribute, void *value)
{
	struct kvm_device_attr attr = {
		.group = group,
		.attr = attribute,
		.addr = (uintptr_t)value,
	};

	call(device, KVM_SET_DEVICE_ATTR, &attr, "KVM_SET_DEVICE_ATTR");
}

void tinyvm_add_gic(struct tinyvm *tiny)
{
	struct kvm_create_device gic = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	uint64_t distributor = TINYVM_GICD, redistributor = TINYVM_GICR;
	uint32_t irqs = NR_IRQS;

	call(tiny->vm, KVM_CREATE_DEVICE, &gic, "KVM_CREATE_DEVICE");
	set_device(gic.fd, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &irqs);
	set_device(gic.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, &distributor);
	set_device(gic.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST,
		   &redistributor);
	set_device(gic.fd, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
}

static int new_eventfd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		tinyvm_fail("eventfd");
	return fd;
}

int tinyvm_irqfd(struct tinyvm *tiny)
{
	struct kvm_irqfd irqfd = { .fd = new_eventfd(), .gsi = TINYVM_SPI - 32 };

	call(tiny->vm, KVM_IRQFD, &irqfd, "KVM_IRQFD");
	return irqfd.fd;
}

int tinyvm_ioeventfd(struct tinyvm *tiny)
{
	struct kvm_ioeventfd bell = { .addr = TINYVM_DEVICE, .len = 4, .fd = new_eventfd() };

	call(tiny->vm, KVM_IOEVENTFD, &bell, "KVM_IOEVENTFD");
	return bell.fd;
}

/* KVM's guest counters begin at 0 unless set; a KVM that cannot set them leaves them alone. */
void tinyvm_share_counter(struct tinyvm *tiny)
{
	struct kvm_arm_counter_offset offset = { 0 };

	if (ioctl(tiny->vm, KVM_CHECK_EXTENSION, KVM_CAP_COUNTER_OFFSET) > 0)
		call(tiny->vm, KVM_ARM_SET_COUNTER_OFFSET, &offset, "KVM_ARM_SET_COUNTER_OFFSET");
}

void tinyvm_run(struct tinyvm *tiny)
{
	const struct kvm_run *run = tiny->run;

	while (ioctl(tiny->vcpu, KVM_RUN, 0))
		if (errno != EINTR)
			tinyvm_fail("KVM_RUN");
	if (run->exit_reason == KVM_EXIT_MMIO && run->mmio.is_write &&
	    run->mmio.phys_addr == TINYVM_DEVICE)
		return;
	fprintf(stderr, "%s: the guest left with exit %u, address %#llx\n",
		program_invocation_short_name, run->exit_reason,
		run->exit_reason == KVM_EXIT_MMIO ? run->mmio.phys_addr : 0);
	exit(1);
}

void tinyvm_run_on(unsigned int cpu, int first)
{
	struct sched_param priority = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tinyvm_fail("cannot run on that CPU");
	if (first && sched_setscheduler(0, SCHED_FIFO, &priority))
		tinyvm_fail("cannot run before others");
}
