// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctls with random numbers and contents, from a fixed seed, on every kind of file while a guest
 * runs. The only expectation is survival.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "siege.h"

static u64 seed = 0x9e3779b97f4a7c15ULL;

static u64 any(void)
{
	return rnd(&seed);
}

static const unsigned long commands[] = {
	KVM_CHECK_EXTENSION, KVM_SET_USER_MEMORY_REGION, KVM_GET_DIRTY_LOG,
	KVM_CLEAR_DIRTY_LOG, KVM_IRQ_LINE, KVM_IRQFD, KVM_IOEVENTFD, KVM_SET_GSI_ROUTING,
	KVM_CREATE_DEVICE, KVM_ARM_SET_DEVICE_ADDR, KVM_ARM_PREFERRED_TARGET, KVM_ENABLE_CAP,
	KVM_HAS_DEVICE_ATTR, KVM_SET_DEVICE_ATTR, KVM_GET_DEVICE_ATTR, KVM_ARM_VCPU_INIT,
	KVM_GET_ONE_REG, KVM_SET_ONE_REG, KVM_GET_REG_LIST, KVM_GET_MP_STATE,
	KVM_SET_MP_STATE, KVM_GET_VCPU_EVENTS, KVM_SET_VCPU_EVENTS, KVM_ARM_VCPU_FINALIZE,
	KVM_SET_SIGNAL_MASK, KVM_SET_GUEST_DEBUG, KVM_SIGNAL_MSI, KVM_CREATE_IRQCHIP,
	KVM_CREATE_GUEST_MEMFD, KVM_SET_USER_MEMORY_REGION2,
};

/* Small numbers, sizes and addresses that mean something, and any bits. */
static u64 rnd_word(void *memory)
{
	switch (any() % 8) {
	case 0:
		return any() % 16;
	case 1:
		return 1ULL << any() % 64;
	case 2:
		return (any() % 1024) << 12;
	case 3:
		return (u64)memory + (any() % 512) * 4096;
	case 4:
		return GUEST_BASE + (any() % 1024) * 4096;
	case 5:
		return KVM_REG_ARM64 | (any() & 0x00f000000013ffffULL);
	case 6:
		return 0;
	}
	return any();
}

static void fill(u64 *words, size_t n, void *memory)
{
	size_t i;

	for (i = 0; i < n; i++) {
		words[i] = rnd_word(memory);
		if (any() % 4 == 0)
			words[i] = (words[i] & 0xffffffff) | rnd_word(memory) << 32;
	}
}

/* One file's turn. Files that calls make are closed at the end of the process's turn. */
static void one_call(const int *fds, size_t n, void *memory, int keep)
{
	u64 words[512];
	unsigned long cmd = commands[any() % ARRAY_SIZE(commands)];
	void *arg = words;
	int fd;

	fill(words, 64, memory);
	if (any() % 16 == 0)
		arg = (void *)rnd_word(memory);
	if (any() % 32 == 0)
		cmd = _IOC(any() % 4, KVMIO, any() % 256, any() % 512);
	/* Neither would come back by itself. */
	if (_IOC_NR(cmd) == _IOC_NR(KVM_RUN))
		return;
	fd = ioctl(fds[any() % n], cmd, arg);
	if (fd > keep)
		close(fd);
	if (cmd == KVM_CREATE_DEVICE && (int)words[0] > keep)
		close((int)words[0]);
}

/* Calls on the files of a VM, which the process has from the first to the last of its numbers. */
static void call_all(const int *fds, size_t n, int vcpu, struct kvm_run *run, int last)
{
	void *spare = map_memory(GUEST_SIZE);
	int i;

	for (i = 0; i < 3000; i++) {
		one_call(fds, n, spare, last);
		if (i % 10 == 0) {
			/* Whatever it is now: a look inside and out again. */
			run->immediate_exit = 1;
			ioctl(vcpu, KVM_RUN, 0);
		}
	}
	munmap(spare, GUEST_SIZE);
	for (i = last; i >= fds[0]; i--)
		close(i);
	munmap(run, 4096);
}

static void random_calls(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct guest g;
	int round;

	for (round = 0; round < times(20); round++) {
		int raw;

		new_guest(&g, guest_mmio, sizeof(guest_mmio));
		raw = new_vcpu(g.vm, 1);
		if (ioctl(g.vm, KVM_CREATE_DEVICE, &dev))
			die("KVM_CREATE_DEVICE");
		call_all((int[]) { g.kvm, g.vm, g.vcpu, raw, dev.fd }, 5, g.vcpu, g.run, dev.fd);
		munmap(g.memory, GUEST_SIZE);
	}
}

/* The same of a protected VM: before its first run, which may be the fifth call, and after it. */
static void random_calls_protected(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct siege s;
	int round, vcpu;

	for (round = 0; round < times(20); round++) {
		if (!new_siege(&s, GUEST_SIZE))
			return;
		add_cpu(&s, guest_mmio, guest_mmio + ARRAY_SIZE(guest_mmio), 0, 0);
		vcpu = s.cpu[0].g.vcpu;
		if (ioctl(s.vm, KVM_CREATE_DEVICE, &dev))
			die("KVM_CREATE_DEVICE");
		call_all((int[]) { s.kvm, s.vm, s.file, vcpu, dev.fd }, 5, vcpu, s.cpu[0].g.run,
			 dev.fd);
		munmap(s.memory, s.size);
	}
}

/* Register values at random, and then the guest runs with them for a moment. */
static void random_registers(void)
{
	struct kvm_reg_list *list;
	struct runner r;
	u64 words[2 + 1024], value[32];
	struct kvm_one_reg reg;
	size_t i;
	int round;

	for (round = 0; round < times(50); round++) {
		memset(&r, 0, sizeof(r));
		new_guest(&r.g, guest_writer, sizeof(guest_writer));
		list = (void *)words;
		list->n = 1024;
		if (ioctl(r.g.vcpu, KVM_GET_REG_LIST, list))
			die("KVM_GET_REG_LIST");
		for (i = 0; i < list->n; i++) {
			if (any() % 4)
				continue;
			fill(value, ARRAY_SIZE(value), r.g.memory);
			reg.id = list->reg[i];
			reg.addr = (u64)value;
			ioctl(r.g.vcpu, KVM_SET_ONE_REG, &reg);
		}
		run_in_thread(&r);
		usleep(5000);
		stop_runner(&r);
		free_guest(&r.g);
	}
}

static int enable(int vm, u32 which, u32 flags, u64 arg)
{
	struct kvm_enable_cap cap = {
		.cap = which, .flags = flags, .args = { arg },
	};

	return ioctl(vm, KVM_ENABLE_CAP, &cap) ? errno : 0;
}

/*
 * The parts that make traps cheap are turned on and off while the guest runs; unknown bits are
 * refused.
 */
static void cheap_traps(void)
{
	struct runner r = { 0 };
	int all, i;

	new_guest(&r.g, guest_writer, sizeof(guest_writer));
	all = ioctl(r.g.vm, KVM_CHECK_EXTENSION, CAP_CHEAP_TRAPS);
	if (enable(r.g.vm, CAP_CHEAP_TRAPS, 0, all + 1) != EINVAL ||
	    enable(r.g.vm, CAP_CHEAP_TRAPS, 0, ~0ULL) != EINVAL ||
	    enable(r.g.vm, CAP_CHEAP_TRAPS, 1, all) != EINVAL)
		die("KVM_ENABLE_CAP of cheap traps");
	run_in_thread(&r);
	for (i = 0; i < 1000; i++)
		if (enable(r.g.vm, CAP_CHEAP_TRAPS, 0, any() & all) && all)
			die("KVM_ENABLE_CAP of cheap traps");
	stop_runner(&r);
	free_guest(&r.g);
}

/* So does accounting, of two VMs at a time. */
static void accounting(void)
{
	struct runner r = { 0 };
	int kvm = open_kvm(), other = new_vm(kvm), has, i;

	new_guest(&r.g, guest_writer, sizeof(guest_writer));
	has = ioctl(r.g.vm, KVM_CHECK_EXTENSION, CAP_ACCOUNTING) > 0;
	if (enable(other, CAP_ACCOUNTING, 0, 2) != EINVAL ||
	    enable(other, CAP_ACCOUNTING, 0, ~0ULL) != EINVAL ||
	    enable(other, CAP_ACCOUNTING, 1, 1) != EINVAL)
		die("KVM_ENABLE_CAP of accounting");
	run_in_thread(&r);
	for (i = 0; i < 1000; i++)
		if (enable(any() & 1 ? other : r.g.vm, CAP_ACCOUNTING, 0, any() & 1) && has)
			die("KVM_ENABLE_CAP of accounting");
	stop_runner(&r);
	free_guest(&r.g);
	close(other);
	close(kvm);
}

#define MOST_VCPUS	254
#define MOST_TIMED	252	/* module/switch/window.c */

/* How many vCPUs can be made, the errno of the next one, and then what accounting says. */
static int count_vcpus(int vm, int *error)
{
	int vcpus[MOST_VCPUS + 1], n = 0, i;

	while (n <= MOST_VCPUS && (vcpus[n] = ioctl(vm, KVM_CREATE_VCPU, n)) >= 0)
		n++;
	*error = errno;
	if (enable(vm, CAP_ACCOUNTING, 0, 1))
		die("KVM_ENABLE_CAP of accounting with %d vCPUs", n);
	for (i = 0; i < n; i++)
		close(vcpus[i]);
	return n;
}

/* The code that times fast traps takes the last vCPUs' place, or there is none if they came first. */
static void accounting_of_many(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), on, error, n;

	on = ioctl(vm, KVM_CHECK_EXTENSION, CAP_ACCOUNTING) > 0;
	close(vm);
	for (; on >= 0; on--) {
		vm = new_vm(kvm);
		if (on && enable(vm, CAP_ACCOUNTING, 0, 1))
			die("KVM_ENABLE_CAP of accounting");
		n = on || ioctl(vm, KVM_CHECK_EXTENSION, CAP_ACCOUNTING) > 0 ?
		    count_vcpus(vm, &error) : MOST_VCPUS;
		if (n != (on ? MOST_TIMED : MOST_VCPUS) || (n < MOST_VCPUS && error != EINVAL))
			die("%d vCPUs with accounting %d, errno %d", n, on, error);
		close(vm);
	}
	close(kvm);
}

void hostile_arguments(void)
{
	cheap_traps();
	accounting();
	accounting_of_many();
	random_calls();
	random_calls_protected();
	random_registers();
}
