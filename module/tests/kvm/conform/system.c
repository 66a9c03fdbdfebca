// SPDX-License-Identifier: GPL-2.0
/* The device node, and a VM's file with good arguments. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

static void create_vm_types(int kvm)
{
	static const u64 types[] = {
		0, 1, 31, 32, 33, 36, 39, 40, 41, 42, 44, 45, 48, 49, 52, 64, 255, 0x100,
		0x128, 0x80000000, 0x8000000000000000,
	};
	size_t i;
	int vm;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		vm = say_fd(ioctl(kvm, KVM_CREATE_VM, types[i]), "create_vm.type_%#llx",
			    (unsigned long long)types[i]);
		if (vm >= 0)
			close(vm);
	}
}

static void capabilities(int fd, const char *where)
{
	int cap;

	for (cap = 0; cap < 260; cap++)
		say(ioctl(fd, KVM_CHECK_EXTENSION, cap), "%s.cap_%d", where, cap);
	say(ioctl(fd, KVM_CHECK_EXTENSION, ~0UL), "%s.cap_all_ones", where);
}

void conform_system(void)
{
	int kvm = open_kvm();
	int vm = new_vm(kvm);
	char byte = 0;

	say(ioctl(kvm, KVM_GET_API_VERSION, 0), "api_version");
	say(ioctl(kvm, KVM_GET_API_VERSION, 1), "api_version.argument");
	say(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "mmap_size");
	say(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 1), "mmap_size.argument");
	say(ioctl(kvm, _IO(KVMIO, 0xff), 0), "unknown_ioctl");
	say(ioctl(kvm, _IO('x', 0x00), 0), "foreign_ioctl");
	say(ioctl(kvm, KVM_RUN, 0), "vcpu_ioctl");
	say(ioctl(kvm, KVM_CREATE_VCPU, 0), "vm_ioctl");
	say(read(kvm, &byte, 1), "read");
	say(write(kvm, &byte, 1), "write");
	say(lseek(kvm, 0, SEEK_END), "lseek");
	say(mmap(NULL, 4096, PROT_READ, MAP_SHARED, kvm, 0) == MAP_FAILED ? -1 : 0, "mmap");
	create_vm_types(kvm);
	capabilities(kvm, "node");
	capabilities(vm, "vm");
	close(vm);
	close(kvm);
}

static void enable_cap(int vm)
{
	static const u32 caps[] = { 0, KVM_CAP_ARM_NISV_TO_USER, KVM_CAP_MAX_VCPUS,
				    KVM_CAP_ARM_MTE, KVM_CAP_HALT_POLL, 100000 };
	struct kvm_enable_cap cap = { 0 };
	size_t i;

	cap.cap = KVM_CAP_ARM_MTE;
	cap.flags = 1;
	say(ioctl(vm, KVM_ENABLE_CAP, &cap), "enable_cap.flags");
	cap.flags = 0;
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		cap.cap = caps[i];
		say(ioctl(vm, KVM_ENABLE_CAP, &cap), "enable_cap.%u", caps[i]);
	}
	cap.cap = KVM_CAP_HALT_POLL;
	cap.args[0] = 1ULL << 32;
	say(ioctl(vm, KVM_ENABLE_CAP, &cap), "enable_cap.halt_poll_too_long");
	cap.args[0] = ~0U;
	say(ioctl(vm, KVM_ENABLE_CAP, &cap), "enable_cap.halt_poll_longest");
}

static void create_vcpus(int vm)
{
	static const u64 ids[] = { 0, 0, 1, 3, 1, 255, 512, 513, 0x10000, 0x80000000,
				   0xffffffff, 0x100000000, ~0ULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++)
		say_fd(ioctl(vm, KVM_CREATE_VCPU, ids[i]), "create_vcpu.%zu.id_%#llx", i,
		       (unsigned long long)ids[i]);
}

static void device_addr(int vm)
{
	static const u64 ids[] = { 0, 1, 2, 0x10000, 0x20000, ~0ULL };
	struct kvm_arm_device_addr addr = { .addr = 0x8000000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		addr.id = ids[i];
		say(ioctl(vm, KVM_ARM_SET_DEVICE_ADDR, &addr), "device_addr.%#llx",
		    (unsigned long long)ids[i]);
	}
}

static void vm_attributes(int vm)
{
	struct kvm_device_attr attr = { 0 };
	int group;

	for (group = 0; group < 3; group++) {
		attr.group = group;
		attr.attr = 99;
		say(ioctl(vm, KVM_HAS_DEVICE_ATTR, &attr), "has_attr.%d", group);
		say(ioctl(vm, KVM_SET_DEVICE_ATTR, &attr), "set_attr.%d", group);
		say(ioctl(vm, KVM_GET_DEVICE_ATTR, &attr), "get_attr.%d", group);
	}
}

void conform_vm(void)
{
	struct kvm_vcpu_init init = { .target = ~0U, .features = { ~0U } };
	int kvm = open_kvm();
	int vm = new_vm(kvm);

	say(ioctl(vm, _IO(KVMIO, 0xff), 0), "unknown_ioctl");
	say(ioctl(vm, _IO('x', 0x00), 0), "foreign_ioctl");
	say(ioctl(vm, KVM_CREATE_VM, 0), "node_ioctl");
	say(ioctl(vm, KVM_RUN, 0), "vcpu_ioctl");
	say(ioctl(vm, KVM_GET_API_VERSION, 0), "api_version");
	say(ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init), "preferred_target");
	note(init.target, "preferred_target.target");
	note(init.features[0], "preferred_target.features");
	say(ioctl(vm, KVM_CREATE_IRQCHIP, 0), "create_irqchip");
	say(ioctl(vm, KVM_CREATE_PIT2, 0), "create_pit2");
	say(ioctl(vm, KVM_SET_TSS_ADDR, 0), "set_tss_addr");
	say(ioctl(vm, KVM_SET_IDENTITY_MAP_ADDR, WILD_LOW), "set_identity_map");
	say(ioctl(vm, KVM_GET_IRQCHIP, WILD_LOW), "get_irqchip");
	say(ioctl(vm, KVM_GET_CLOCK, WILD_LOW), "get_clock");
	say(ioctl(vm, KVM_SET_NR_MMU_PAGES, 100), "set_nr_mmu_pages");
	say(ioctl(vm, KVM_RESET_DIRTY_RINGS, 0), "reset_dirty_rings");
	say(ioctl(vm, KVM_SET_BOOT_CPU_ID, 0), "set_boot_cpu_id");
	enable_cap(vm);
	device_addr(vm);
	vm_attributes(vm);
	create_vcpus(vm);
	close(vm);
	close(kvm);
}
