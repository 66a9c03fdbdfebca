// SPDX-License-Identifier: GPL-2.0
/*
 * Any file closed at any time: a VM with all kinds of files, two running vCPUs, a thread that makes
 * calls on whatever has these file numbers, and the files closed in an order that the seed
 * determines.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

#define ROUNDS	60

enum { KVM, VM, VCPU0, VCPU1, GIC, STATS0, STATS1, IRQFD, BELL, NR_FILES };

struct victim {
	int files[NR_FILES];
	struct kvm_run *run[2];
	void *memory;
	bool stop;
	pthread_t threads[3];
};

static void make(struct victim *v)
{
	struct kvm_irqfd irq = { .gsi = 1 };
	struct kvm_ioeventfd bell = { .addr = GUEST_MMIO + 0x100, .len = 8 };
	int *f = v->files, i;

	memset(v, 0, sizeof(*v));
	f[KVM] = open_kvm();
	f[VM] = new_vm(f[KVM]);
	v->memory = new_slot(f[VM], 0, GUEST_BASE, GUEST_SIZE);
	memcpy(v->memory, guest_writer, sizeof(guest_writer));
	for (i = 0; i < 2; i++) {
		f[VCPU0 + i] = new_vcpu(f[VM], i);
		v->run[i] = map_run(f[KVM], f[VCPU0 + i]);
		init_vcpu(f[VCPU0 + i]);
		set_reg(f[VCPU0 + i], REG_PC, GUEST_BASE);
	}
	f[GIC] = ready_vgic(f[VM]);
	f[STATS0] = ioctl(f[VM], KVM_GET_STATS_FD, 0);
	f[STATS1] = ioctl(f[VCPU1], KVM_GET_STATS_FD, 0);
	f[IRQFD] = irq.fd = eventfd(0, EFD_CLOEXEC);
	f[BELL] = bell.fd = eventfd(0, EFD_CLOEXEC);
	if (ioctl(f[VM], KVM_IRQFD, &irq) || ioctl(f[VM], KVM_IOEVENTFD, &bell))
		die("eventfds");
}

static bool stopped(struct victim *v)
{
	return __atomic_load_n(&v->stop, __ATOMIC_ACQUIRE);
}

static void run(struct victim *v, int file)
{
	while (!stopped(v))
		if (ioctl(v->files[file], KVM_RUN, 0) && errno != EINTR)
			break;
}

static void *run_first(void *v)
{
	run(v, VCPU0);
	return NULL;
}

static void *run_second(void *v)
{
	run(v, VCPU1);
	return NULL;
}

/* Calls of every kind; whether they succeed is a matter of the moment. */
static void *call(void *arg)
{
	struct kvm_irq_level level = { .irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | 40 };
	struct victim *v = arg;
	char buffer[4096];
	u64 one = 1;
	int i;

	for (i = 0; !stopped(v); i++) {
		struct kvm_irqfd irq = { .gsi = i % 8, .fd = v->files[IRQFD],
					 .flags = i % 2 ? KVM_IRQFD_FLAG_DEASSIGN : 0 };
		struct kvm_ioeventfd bell = { .addr = GUEST_MMIO + 8 * (i % 64), .len = 8,
					      .fd = v->files[BELL] };

		level.level = i & 1;
		ioctl(v->files[VM], KVM_IRQ_LINE, &level);
		ioctl(v->files[VM], KVM_IRQFD, &irq);
		ioctl(v->files[VM], KVM_IOEVENTFD, &bell);
		if (write(v->files[IRQFD], &one, 8) == 8 && pread(v->files[STATS0], buffer, 4096, 0))
			buffer[0] = 0;
		close(ioctl(v->files[VM], KVM_GET_STATS_FD, 0));
		if (pread(v->files[STATS1], buffer, 4096, 0) < 0)
			usleep(100);
	}
	return NULL;
}

static void one_round(u64 *seed)
{
	static void *(*const bodies[])(void *) = { run_first, run_second, call };
	struct victim v;
	size_t i;

	make(&v);
	for (i = 0; i < ARRAY_SIZE(bodies); i++)
		if (pthread_create(&v.threads[i], NULL, bodies[i], &v))
			die("pthread_create");
	usleep(rnd(seed) % 3000);
	for (i = 0; i < NR_FILES; i++) {
		int left = (int)(rnd(seed) % NR_FILES);

		while (v.files[left] < 0)
			left = (left + 1) % NR_FILES;
		close(v.files[left]);
		v.files[left] = -1;
		if (rnd(seed) % 3 == 0)
			usleep(rnd(seed) % 500);
		if (i == NR_FILES / 2 && rnd(seed) % 2)
			munmap(v.run[rnd(seed) % 2], 4096);
	}
	__atomic_store_n(&v.stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < ARRAY_SIZE(bodies); i++)
		while (pthread_tryjoin_np(v.threads[i], NULL)) {
			pthread_kill(v.threads[i], SIGUSR1);
			usleep(500);
		}
	munmap(v.run[0], 4096);
	munmap(v.run[1], 4096);
	munmap(v.memory, GUEST_SIZE);
}

void hostile_close(void)
{
	u64 seed = 0x2545f4914f6cdd1dULL;
	int i;

	for (i = 0; i < ROUNDS; i++)
		one_round(&seed);
}
