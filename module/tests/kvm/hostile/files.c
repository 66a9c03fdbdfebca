// SPDX-License-Identifier: GPL-2.0
/* Files closed under a running vCPU, and many threads on one vCPU. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

static void close_running(void)
{
	struct runner r;
	int i;

	for (i = 0; i < 20; i++) {
		start_runner(&r, guest_writer, sizeof(guest_writer));
		usleep(1000 * i);
		close(r.g.kvm);
		close(r.g.vm);
		close(r.g.vcpu);
		munmap(r.g.run, 4096);
		/* The ioctl that runs holds the file; the next one has none. */
		stop_runner(&r);
		expect(!r.error || r.error == EBADF, "closed files: %s", strerror(r.error));
		munmap(r.g.memory, GUEST_SIZE);
	}
}

static void *same_vcpu(void *arg)
{
	struct guest *g = arg;
	struct kvm_mp_state state;
	int i;

	for (i = 0; i < 200; i++) {
		if (ioctl(g->vcpu, KVM_RUN, 0) && errno != EINTR)
			return (void *)(long)errno;
		ioctl(g->vcpu, KVM_GET_MP_STATE, &state);
	}
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[8];
	struct guest g;
	void *error;
	size_t i;

	new_guest(&g, guest_mmio, sizeof(guest_mmio));
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, same_vcpu, &g);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &error);
		expect(!error, "threads at one vCPU: %s", strerror((long)error));
	}
	free_guest(&g);
}

/* The page shared with the VMM, scribbled over while it is in use. */
static void scribble(void)
{
	struct runner r;
	volatile u64 *page;
	u64 seed = 88172645463325252ULL;
	int i;

	start_runner(&r, guest_mmio, sizeof(guest_mmio));
	page = (volatile u64 *)r.g.run;
	for (i = 0; i < 2000000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		page[(seed >> 8) % 512] = seed;
	}
	memset(r.g.run, 0, 4096);
	stop_runner(&r);
	free_guest(&r.g);
}

/* An eventfd closed while it is an interrupt and a doorbell. */
static void dead_eventfds(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct kvm_ioeventfd bell = { .addr = GUEST_MMIO, .len = 8 };
	struct kvm_irqfd irq = { .gsi = 1 };
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };
	int kvm = open_kvm(), vm, i;
	u64 one = 1;

	for (i = 0; i < 20; i++) {
		vm = new_vm(kvm);
		init_vcpu(new_vcpu(vm, 0));
		expect(!ioctl(vm, KVM_CREATE_DEVICE, &dev), "KVM_CREATE_DEVICE");
		ioctl((int)dev.fd, KVM_SET_DEVICE_ATTR, &attr);
		irq.fd = bell.fd = eventfd(0, 0);
		expect(!ioctl(vm, KVM_IRQFD, &irq), "KVM_IRQFD: %s", strerror(errno));
		expect(!ioctl(vm, KVM_IOEVENTFD, &bell), "KVM_IOEVENTFD: %s", strerror(errno));
		expect(write(irq.fd, &one, 8) == 8, "write to an eventfd");
		if (i % 2) {
			close(irq.fd);
			close(vm);
		} else {
			close(vm);
			expect(write(irq.fd, &one, 8) == 8, "write to an eventfd");
			close(irq.fd);
		}
		close(dev.fd);
	}
	close(kvm);
}

struct search {
	int vgic;
	bool stop;
};

/* Looks for the second vCPU, by all attributes that name one. */
static void *searcher(void *arg)
{
	static const u32 groups[] = {
		KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS,
		KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO,
	};
	struct search *s = arg;
	u64 val = 0;
	size_t i;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < ARRAY_SIZE(groups); i++) {
			struct kvm_device_attr attr = {
				.group = groups[i], .attr = 1ULL << 32, .addr = (u64)&val,
			};

			ioctl(s->vgic, KVM_HAS_DEVICE_ATTR, &attr);
			ioctl(s->vgic, KVM_GET_DEVICE_ATTR, &attr);
			ioctl(s->vgic, KVM_SET_DEVICE_ATTR, &attr);
		}
	}
	return NULL;
}

/* vCPUs that fail for want of a file's number, and are looked for meanwhile. */
static void vcpus_without_files(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0), i, fd;
	struct rlimit limit, none;
	struct search s = { 0 };
	pthread_t thread;

	if (ioctl(vm, KVM_CREATE_DEVICE, &dev) || getrlimit(RLIMIT_NOFILE, &limit))
		die("KVM_CREATE_DEVICE");
	s.vgic = dev.fd;
	fd = dup(0);
	close(fd);
	none = (struct rlimit) { .rlim_cur = fd, .rlim_max = limit.rlim_max };
	if (pthread_create(&thread, NULL, searcher, &s) || setrlimit(RLIMIT_NOFILE, &none))
		die("pthread_create");
	for (i = 0; i < 2000; i++)
		expect(ioctl(vm, KVM_CREATE_VCPU, 1) == -1 && errno == EMFILE,
		       "a vCPU without a file: %s", strerror(errno));
	setrlimit(RLIMIT_NOFILE, &limit);
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* It is there when it can have one. */
	close(new_vcpu(vm, 1));
	close(dev.fd);
	close(vcpu);
	close(vm);
	close(kvm);
}

/* As long as any file of ours is open the module stays. */
static void no_unload(void)
{
	static const struct { const char *name; int which; } left[] = {
		{ "vm", 0 }, { "vcpu", 1 }, { "stats", 2 }, { "device", 3 },
	};
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	int kvm, fds[4];
	size_t i, j;

	if (access("/sys/module/armvisor", F_OK))
		return;
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		kvm = open_kvm();
		fds[0] = new_vm(kvm);
		fds[1] = new_vcpu(fds[0], 0);
		fds[2] = ioctl(fds[0], KVM_GET_STATS_FD, 0);
		ioctl(fds[0], KVM_CREATE_DEVICE, &dev);
		fds[3] = dev.fd;
		close(kvm);
		for (j = 0; j < ARRAY_SIZE(fds); j++)
			if (j != i)
				close(fds[j]);
		expect(syscall(SYS_delete_module, "armvisor", O_NONBLOCK) == -1 &&
		       errno == EWOULDBLOCK, "the module unloads under a %s file",
		       left[i].name);
		close(fds[i]);
	}
}

void hostile_files(void)
{
	close_running();
	many_threads();
	scribble();
	dead_eventfds();
	vcpus_without_files();
	no_unload();
}
