// SPDX-License-Identifier: GPL-2.0
/*
 * ASIDs, which VMs share. One program takes as many as it can get; others must find some, and the
 * host's own processes must run as before. A TLBI in one VM must not affect another.
 *
 *	VMS=n VCPUS=n CONTEXTS=n	32, 256 and 8: all 65,536 ASIDs
 *					(contexts: 254 and 8, of one VM)
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"

#define ROUNDS	2000

/* Two processes that wait for each other, ROUNDS times there and back. */
static void switches(const char *name)
{
	int there[2], back[2], i;
	char byte = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		die("pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	meter_begin();
	for (i = 0; i < ROUNDS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
	meter_end("%s", name);
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	waitpid(pid, NULL, 0);
}

/* One vCPU in several address spaces; how many it could be run in. */
static u32 use_contexts(int vm, int id, u32 contexts)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, id);
	u32 i;

	if (vcpu < 0)
		return 0;
	init_vcpu(vcpu);
	mapper_vcpu(vcpu, 1);
	for (i = 0; i < contexts; i++) {
		mapper_set_asid(vcpu, 1 + i);
		if (ioctl(vcpu, KVM_RUN, 0))
			break;
	}
	return i;
}

/* All on one memory; files stay open. */
static void take_all(int kvm, void *memory)
{
	u32 vms = setting("VMS", 32), vcpus = setting("VCPUS", 256);
	u32 contexts = setting("CONTEXTS", 8), vm, id, got = 0, used;

	for (vm = 0; vm < vms; vm++) {
		struct kvm_userspace_memory_region mem = {
			.guest_phys_addr = GUEST_BASE, .memory_size = GUEST_SIZE,
			.userspace_addr = (u64)memory,
		};
		int fd = ioctl(kvm, KVM_CREATE_VM, 0);

		if (fd < 0)
			break;
		if (ioctl(fd, KVM_SET_USER_MEMORY_REGION, &mem))
			die("KVM_SET_USER_MEMORY_REGION");
		for (id = 0; id < vcpus; id++) {
			used = use_contexts(fd, id, contexts);
			got += used;
			if (!used)
				break;
		}
	}
	result("asids.contexts", got, "count");
}

/* Another user's program makes a VM and runs it; its errno, or 0. */
static int other_user(void)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		struct mapper m;

		if (setgid(1000) || setuid(1000))
			_exit(99);
		new_mapper(&m, ONE_FRAME, false);
		mapper_touch(&m, MAPPER_VA, 1, 0x1000);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

void bounds_asids(void)
{
	struct rlimit files = { 1 << 16, 1 << 16 };
	struct mapper m;

	chmod("/dev/kvm", 0666);
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE");
	new_mapper(&m, ONE_FRAME, false);
	switches("asids.before");
	take_all(m.g.kvm, m.g.memory);
	switches("asids.after");
	result("asids.other_user", other_user(), "status");
	free_mapper(&m);
}

/* As many contexts as a VM may have: each flush looks for its trees in all of them. */
void bounds_contexts(void)
{
	u32 vcpus = setting("VCPUS", 254), contexts = setting("CONTEXTS", 8), id, made = 0;
	struct rlimit files = { 1 << 12, 1 << 12 };
	struct mapper m;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE");
	new_mapper(&m, EACH_ITS_OWN, false);
	for (id = 1; id < vcpus; id++)
		made += use_contexts(m.g.vm, id, contexts);
	result("entries", made, "count");
	mapper_touch(&m, MAPPER_VA, MAPPER_FRAMES_SIZE, 0x1000);
	meter_begin();
	mapper_tlbi_asid(&m);
	meter_end("contexts.asid");
	mapper_touch(&m, MAPPER_VA, MAPPER_FRAMES_SIZE, 0x1000);
	meter_begin();
	if (madvise(m.frames, MAPPER_FRAMES_SIZE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	meter_end("contexts.zap");
	free_mapper(&m);
}

/* Of all figures that count flushes of the hardware's TLB: what was asked for, and all. */
struct flushes {
	u64 asked, all;
};

static struct flushes read_flushes(const struct mapper *m, int vm_stats)
{
	struct flushes f = { .asked = read_stat(vm_stats, "remote_tlb_flush_requests") };

	f.all = f.asked + read_stat(vm_stats, "remote_tlb_flush") +
		read_stat(m->stats, "tlb_flush") + read_stat(m->stats, "context_recycle");
	return f;
}

static void say_flushes(const char *act, const char *what, u64 value)
{
	char name[48];

	snprintf(name, sizeof(name), "flushes.%s.%s", act, what);
	result(name, value, "count");
}

/* One VM of four vCPUs invalidates, another one has nothing to do with it. */
void bounds_flushes(void)
{
	static const struct {
		const char *name;
		void (*act)(struct mapper *m);
	} acts[] = {
		{ "va", mapper_tlbi_va },
		{ "asid", mapper_tlbi_asid },
		{ "all", mapper_tlbi_all },
	};
	struct mapper a, b;
	int vm_a, vm_b, i;

	new_mapper(&a, EACH_ITS_OWN, false);
	new_mapper(&b, EACH_ITS_OWN, false);
	for (i = 1; i < 4; i++)
		use_contexts(a.g.vm, i, 1);
	vm_a = ioctl(a.g.vm, KVM_GET_STATS_FD, 0);
	vm_b = ioctl(b.g.vm, KVM_GET_STATS_FD, 0);
	for (i = 0; i < (int)ARRAY_SIZE(acts); i++) {
		struct flushes of_a, of_b;
		u64 fills;

		mapper_touch(&a, MAPPER_VA, 1 << 21, 0x1000);
		mapper_touch(&b, MAPPER_VA, 1 << 21, 0x1000);
		of_a = read_flushes(&a, vm_a);
		of_b = read_flushes(&b, vm_b);
		fills = read_stat(b.stats, "shadow_fill");
		acts[i].act(&a);
		say_flushes(acts[i].name, "asked", read_flushes(&a, vm_a).asked - of_a.asked);
		mapper_touch(&b, MAPPER_VA, 1 << 21, 0x1000);
		say_flushes(acts[i].name, "others", read_flushes(&b, vm_b).all - of_b.all);
		say_flushes(acts[i].name, "filled", read_stat(b.stats, "shadow_fill") - fills);
	}
	/* More address spaces than a vCPU has numbers for. */
	for (i = 0; i < 32; i++) {
		mapper_set_asid(b.g.vcpu, 1 + i);
		mapper_touch(&b, MAPPER_VA, 1, 0x1000);
	}
	result("flushes.recycled", read_stat(b.stats, "context_recycle"), "count");
	free_mapper(&b);
	free_mapper(&a);
}
