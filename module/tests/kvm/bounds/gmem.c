// SPDX-License-Identifier: GPL-2.0
/*
 * A protected VM's memory, in the largest files and in the largest number of slots: its creation,
 * its sealing, which measures it, and its zeroing at the end.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE		0x1000UL
#define TIB		(1UL << 40)
/* KVM's largest slot. */
#define LARGEST		(((1UL << 31) - 1) * PAGE)

struct protected {
	int kvm, vm, vcpu, file;
	struct kvm_run *run;
	char *memory;
	size_t size;
};

static int new_file(int vm, u64 size)
{
	struct kvm_create_guest_memfd create = {
		.size = size, .flags = GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED,
	};
	int file = ioctl(vm, KVM_CREATE_GUEST_MEMFD, &create);

	if (file < 0)
		die("KVM_CREATE_GUEST_MEMFD of %llu bytes", (unsigned long long)size);
	return file;
}

static void set(const struct protected *p, u32 slot, u64 gpa, u64 size, u64 offset)
{
	struct kvm_userspace_memory_region2 region = {
		.slot = slot, .flags = KVM_MEM_GUEST_MEMFD, .guest_phys_addr = gpa,
		.memory_size = size, .guest_memfd = p->file, .guest_memfd_offset = offset,
	};

	if (ioctl(p->vm, KVM_SET_USER_MEMORY_REGION2, &region))
		die("slot %u", slot);
}

static void new_protected(struct protected *p, size_t size)
{
	p->kvm = open_kvm();
	p->vm = ioctl(p->kvm, KVM_CREATE_VM, KVM_VM_TYPE_ARM_PROTECTED);
	if (p->vm < 0)
		die("KVM_CREATE_VM");
	p->vcpu = new_vcpu(p->vm, 0);
	p->run = map_run(p->kvm, p->vcpu);
	init_vcpu(p->vcpu);
	p->size = size;
	p->file = new_file(p->vm, size);
	p->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->file, 0);
	if (p->memory == MAP_FAILED)
		die("mmap of a guest_memfd");
}

/* The first run, which ends before the guest has run. */
static void seal(struct protected *p)
{
	p->run->immediate_exit = 1;
	if (!ioctl(p->vcpu, KVM_RUN, 0) || errno != EINTR)
		die("sealing");
	if (!ioctl(p->vm, KVM_CREATE_VCPU, 1) || errno != EPERM)
		die("a VM that is not sealed");
}

static void free_protected(struct protected *p)
{
	munmap(p->run, ioctl(p->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
	munmap(p->memory, p->size);
	close(p->vcpu);
	close(p->vm);
	close(p->file);
	close(p->kvm);
}

/* Memory that the VMM has filled, all of it to be measured and zeroed. */
void bounds_gmem(void)
{
	size_t size = setting("MIB", 32) << 20;
	struct protected p;

	new_protected(&p, size);
	set(&p, 0, size, size, 0);
	memset(p.memory, 0x5a, size);
	meter_begin();
	seal(&p);
	meter_end("gmem.seal");
	meter_begin();
	free_protected(&p);
	meter_end("gmem.close");
}

/* Files with nothing in them. */
void bounds_gmem_large(void)
{
	struct protected p;
	int file;

	new_protected(&p, PAGE);
	meter_begin();
	file = new_file(p.vm, TIB);
	close(file);
	meter_end("gmem_large.tib");
	meter_begin();
	file = new_file(p.vm, LARGEST);
	close(file);
	meter_end("gmem_large.largest");
	free_protected(&p);
}

/* A file in as many slots as there may be, a page each. */
void bounds_gmem_slots(void)
{
	u32 n = setting("SLOTS", 32766), i;
	struct protected p;

	new_protected(&p, (n + 1) * PAGE);
	for (i = 0; i < n; i++)
		set(&p, i, i * 2 * PAGE, PAGE, i * PAGE);
	meter_begin();
	set(&p, n, n * 2 * PAGE, PAGE, n * PAGE);
	meter_end("gmem_slots.create");
	meter_begin();
	set(&p, n, n * 2 * PAGE, 0, n * PAGE);
	meter_end("gmem_slots.delete");
	meter_begin();
	seal(&p);
	meter_end("gmem_slots.seal");
	meter_begin();
	free_protected(&p);
	meter_end("gmem_slots.close");
}

/* guests.S */
extern const u32 guest_private[], guest_private_end[];

/* To the next store: the result of what it did, which must be 0 unless any will do. */
static void guest_does(struct protected *p, const char *name, bool any)
{
	meter_begin();
	if (ioctl(p->vcpu, KVM_RUN, 0) || p->run->exit_reason != KVM_EXIT_MMIO)
		die("%s: exit %u", name, p->run->exit_reason);
	meter_end("private.%s", name);
	if (!any && *(u64 *)p->run->mmio.data)
		die("%s: %llx", name, (unsigned long long)*(u64 *)p->run->mmio.data);
}

/* The guest's own calls: half of its memory is shared, all of which it has used, and taken back. */
void bounds_private(void)
{
	size_t size = setting("MIB", 16) << 20;
	struct protected p;

	new_protected(&p, size);
	set(&p, 0, GUEST_BASE, size, 0);
	memset(p.memory, 0x5a, size);
	memcpy(p.memory, guest_private, (char *)guest_private_end - (char *)guest_private);
	set_reg(p.vcpu, REG_PC, GUEST_BASE);
	set_reg(p.vcpu, REG_X(5), GUEST_BASE + size / 2);
	set_reg(p.vcpu, REG_X(6), size / 2 / PAGE);
	guest_does(&p, "start", true);
	guest_does(&p, "hyp_meminfo", true);
	guest_does(&p, "measurement", false);
	guest_does(&p, "mem_share", false);
	guest_does(&p, "mem_unshare", false);
	free_protected(&p);
}
