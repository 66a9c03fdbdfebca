// SPDX-License-Identifier: GPL-2.0
/* Files that outlive other files, other processes' memory, and limits on files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

static const u32 store[] = { 0xd2a14001, 0xb9000022, 0x14000000 }; /* mov; str w2,[x1]; b . */

/* What another process may do with files that it was given by fork(). */
static void forked(struct guest *g, int vgic)
{
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };
	struct kvm_mp_state state;
	pid_t child;
	u64 value;
	struct kvm_one_reg reg = { .id = REG_PC, .addr = (u64)&value };

	fflush(NULL);
	child = fork();
	if (child < 0)
		die("fork");
	if (child) {
		waitpid(child, NULL, 0);
		return;
	}
	say(ioctl(g->kvm, KVM_GET_API_VERSION, 0), "fork.api_version");
	say(ioctl(g->vm, KVM_CHECK_EXTENSION, KVM_CAP_USER_MEMORY), "fork.check_extension");
	say_fd(ioctl(g->vm, KVM_CREATE_VCPU, 7), "fork.create_vcpu");
	say(ioctl(g->vm, _IO(KVMIO, 0xff), 7), "fork.vm_unknown");
	say(ioctl(g->vcpu, KVM_RUN, 0), "fork.run");
	say(ioctl(g->vcpu, KVM_GET_MP_STATE, &state), "fork.get_mp_state");
	say(ioctl(g->vcpu, KVM_GET_ONE_REG, &reg), "fork.get_one_reg");
	say(ioctl(g->vcpu, _IO('x', 0), 7), "fork.vcpu_foreign");
	say_fd(ioctl(g->vcpu, KVM_GET_STATS_FD, 0), "fork.stats_fd");
	say(ioctl(vgic, KVM_SET_DEVICE_ATTR, &attr), "fork.set_attr");
	say(ioctl(vgic, _IO(KVMIO, 0xff), 0), "fork.device_unknown");
	/* The page is the file's, so a child sees it. */
	note(g->run->exit_reason == 0, "fork.page_readable");
	_exit(0);
}

static void closed_early(void)
{
	struct guest g;
	int stats;
	char byte;

	new_guest(&g, store, sizeof(store));
	stats = ioctl(g.vm, KVM_GET_STATS_FD, 0);
	close(g.kvm);
	close(g.vm);
	say(ioctl(g.vcpu, KVM_RUN, 0), "no_vm_file.run");
	note(g.run->exit_reason, "no_vm_file.exit");
	close(g.vcpu);
	note(g.run->exit_reason, "no_vcpu_file.page");
	munmap(g.run, 4096);
	say(stats < 0 ? -1 : read(stats, &byte, 1), "no_vcpu_file.stats_read");
	close(stats);
	munmap(g.memory, GUEST_SIZE);
}

/* The memory under a slot goes away, and comes back as something else. */
static void unmapped(void)
{
	struct guest g;

	new_guest(&g, store, sizeof(store));
	munmap(g.memory, GUEST_SIZE);
	say(ioctl(g.vcpu, KVM_RUN, 0), "unmapped.run");
	if (mmap(g.memory, GUEST_SIZE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		die("mmap");
	memcpy(g.memory, store, sizeof(store));
	say(ioctl(g.vcpu, KVM_RUN, 0), "mapped_again.run");
	note(g.run->exit_reason, "mapped_again.exit");
	free_guest(&g);
}

static void no_files(void)
{
	struct rlimit limit, none;
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu;
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };

	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	say_fd(ioctl(kvm, KVM_CREATE_VM, 0), "no_files.create_vm");
	say_fd(ioctl(vm, KVM_CREATE_VCPU, 0), "no_files.create_vcpu");
	say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "no_files.create_device");
	say_fd(ioctl(vm, KVM_GET_STATS_FD, 0), "no_files.stats_fd");
	setrlimit(RLIMIT_NOFILE, &limit);
	/* What failed left nothing behind. */
	vcpu = say_fd(ioctl(vm, KVM_CREATE_VCPU, 0), "files_again.create_vcpu");
	say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "files_again.create_device");
	close(vcpu);
	close(vm);
	close(kvm);
}

void conform_life(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct guest g;

	new_guest(&g, store, sizeof(store));
	if (ioctl(g.vm, KVM_CREATE_DEVICE, &dev))
		die("KVM_CREATE_DEVICE");
	forked(&g, dev.fd);
	close(dev.fd);
	free_guest(&g);

	closed_early();
	unmapped();
	no_files();

	new_guest(&g, store, sizeof(store));
	close(g.vcpu);
	say_fd(ioctl(g.vm, KVM_CREATE_VCPU, 0), "closed_vcpu.create_same");
	close(g.vm);
	close(g.kvm);
}
