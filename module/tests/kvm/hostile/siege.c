// SPDX-License-Identifier: GPL-2.0
/* A protected VM under siege, and its guests: see siege.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "siege.h"

int new_gmem(int vm, u64 size, u64 flags)
{
	struct kvm_create_guest_memfd create = { .size = size, .flags = flags };

	return ioctl(vm, KVM_CREATE_GUEST_MEMFD, &create);
}

int set_gmem(int vm, u32 slot, u64 gpa, u64 size, int file, u64 offset)
{
	struct kvm_userspace_memory_region2 region = {
		.slot = slot, .flags = KVM_MEM_GUEST_MEMFD, .guest_phys_addr = gpa,
		.memory_size = size, .guest_memfd = file, .guest_memfd_offset = offset,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION2, &region);
}

bool new_siege(struct siege *s, size_t size)
{
	memset(s, 0, sizeof(*s));
	s->kvm = open_kvm();
	s->size = size;
	s->vm = ioctl(s->kvm, KVM_CREATE_VM, KVM_VM_TYPE_ARM_PROTECTED);
	s->file = s->vm < 0 ? -1 :
			      new_gmem(s->vm, size,
				       GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED);
	if (s->file < 0) {
		close(s->vm);
		close(s->kvm);
		return false;
	}
	s->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, 0);
	if (s->memory == MAP_FAILED || set_gmem(s->vm, 0, GUEST_BASE, size, s->file, 0))
		die("memory of a protected VM");
	return true;
}

void add_cpu(struct siege *s, const u32 *code, const u32 *end, u64 first, u64 pages)
{
	unsigned int cpu = s->nr_cpus++;
	struct runner *r = &s->cpu[cpu];
	/* A piece of code starts at a page, as its vectors need. */
	u64 at = cpu * 2 * SIEGE_PAGE;

	r->tells = true;
	r->g.kvm = s->kvm;
	r->g.vm = s->vm;
	r->g.vcpu = new_vcpu(s->vm, cpu);
	r->g.run = map_run(s->kvm, r->g.vcpu);
	init_vcpu(r->g.vcpu);
	memcpy(s->memory + at, code, (end - code) * sizeof(*code));
	set_reg(r->g.vcpu, REG_PC, GUEST_BASE + at);
	set_reg(r->g.vcpu, REG_X(1), GUEST_BASE + first);
	set_reg(r->g.vcpu, REG_X(2), pages);
}

void add_garrison(struct siege *s)
{
	u64 size = SIEGE_PAGES * SIEGE_PAGE;

	add_cpu(s, guest_sharer, guest_sharer_end, SIEGE_FIRST, SIEGE_PAGES);
	add_cpu(s, guest_sharer, guest_sharer_end, SIEGE_FIRST + size, SIEGE_PAGES);
	add_cpu(s, guest_contender, guest_contender_end, SIEGE_FIRST + 2 * size, SIEGE_PAGES);
}

void start_cpus(struct siege *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_cpus; i++)
		run_in_thread(&s->cpu[i]);
}

bool stop_cpus(struct siege *s)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < s->nr_cpus; i++)
		if (stop_runner(&s->cpu[i])) {
			expect(false, "vCPU %u of a protected VM: %s, after %lu rounds", i,
			       strerror(s->cpu[i].error), s->cpu[i].exits);
			good = false;
		}
	return good;
}

void free_siege(struct siege *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_cpus; i++) {
		munmap(s->cpu[i].g.run, ioctl(s->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
		close(s->cpu[i].g.vcpu);
	}
	munmap(s->memory, s->size);
	close(s->file);
	close(s->vm);
	close(s->kvm);
}

void look_for_secret(const char *way, const void *what, size_t size)
{
	const u64 *word = what;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		if (word[i] == SECRET) {
			expect(false, "%s: the guest's secret", way);
			return;
		}
}
