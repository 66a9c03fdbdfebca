// SPDX-License-Identifier: GPL-2.0
/*
 * Random guests: code, registers, page tables and system registers from a seed, on two CPUs that
 * share memory, so that one changes the tables that the other uses. Each runs for a moment and may
 * do anything. KVM_RUN must return when asked to, with an exit or an errno of KVM's, and if the
 * module ends a VM it must say why.
 *
 *	SEEDS=n FIRST=n		other seeds than the first hundreds
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

#define SEEDS		300
#define VM_SEEDS	16		/* that one VM has */
#define CPUS		2
#define RUN_US		3000
#define REASON_MAGIC	0x726f7369766d7261ULL

struct cpu {
	int fd;
	struct kvm_run *run;
	pthread_t thread;
	bool *stop;
	int error;
	bool dead;
};

struct vm {
	int kvm, fd, gic;
	char *memory;
	struct cpu cpu[CPUS];
	bool stop;
};

static unsigned long exits[64];
static unsigned long given_up;

static void *run_cpu(void *arg)
{
	struct cpu *cpu = arg;

	while (!__atomic_load_n(cpu->stop, __ATOMIC_ACQUIRE)) {
		if (ioctl(cpu->fd, KVM_RUN, 0)) {
			if (errno == EINTR)
				continue;
			cpu->error = errno;
			break;
		}
		__atomic_fetch_add(&exits[cpu->run->exit_reason % 64], 1, __ATOMIC_RELAXED);
		if (cpu->run->exit_reason == KVM_EXIT_INTERNAL_ERROR) {
			cpu->dead = true;
			break;
		}
	}
	return NULL;
}

static void make_vm(struct vm *vm)
{
	int i;

	memset(vm, 0, sizeof(*vm));
	vm->kvm = open_kvm();
	vm->fd = new_vm(vm->kvm);
	vm->memory = new_slot(vm->fd, 0, GUEST_BASE, GUEST_SIZE);
	for (i = 0; i < CPUS; i++) {
		vm->cpu[i].fd = new_vcpu(vm->fd, i);
		vm->cpu[i].run = map_run(vm->kvm, vm->cpu[i].fd);
		vm->cpu[i].stop = &vm->stop;
	}
	vm->gic = ready_vgic(vm->fd);
}

static void end_vm(struct vm *vm)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		munmap(vm->cpu[i].run, 4096);
		close(vm->cpu[i].fd);
	}
	munmap(vm->memory, GUEST_SIZE);
	close(vm->gic);
	close(vm->fd);
	close(vm->kvm);
}

static void judge(const struct cpu *cpu, u64 seed)
{
	char reason[121] = "";

	expect(!cpu->error || cpu->error == EFAULT || cpu->error == ENOSYS ||
	       cpu->error == ENOEXEC || cpu->error == EPERM,
	       "seed %llu: KVM_RUN: %s", (unsigned long long)seed, strerror(cpu->error));
	if (!cpu->dead || access("/sys/module/armvisor", F_OK))
		return;
	memcpy(reason, &cpu->run->internal.data[1], sizeof(reason) - 1);
	expect(cpu->run->internal.ndata == 16 && cpu->run->internal.data[0] == REASON_MAGIC &&
	       strlen(reason) > 20, "seed %llu: given up without a reason",
	       (unsigned long long)seed);
	if (given_up++ < 8)
		printf("seed %llu: %s\n", (unsigned long long)seed, reason);
}

/* False when the VM is of no more use. */
static bool one_seed(struct vm *vm, u64 number)
{
	u64 seed = number * 0x9e3779b97f4a7c15ULL;
	bool good = true;
	int i;

	lay_code(vm->memory, CPUS, &seed);
	lay_tables(vm->memory, &seed);
	vm->stop = false;
	for (i = 0; i < CPUS; i++) {
		vm->cpu[i].error = 0;
		init_vcpu(vm->cpu[i].fd);
		lay_registers(vm->cpu[i].fd, i, &seed);
	}
	for (i = 0; i < CPUS; i++)
		if (pthread_create(&vm->cpu[i].thread, NULL, run_cpu, &vm->cpu[i]))
			die("pthread_create");
	usleep(RUN_US);
	__atomic_store_n(&vm->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < CPUS; i++) {
		while (pthread_tryjoin_np(vm->cpu[i].thread, NULL)) {
			pthread_kill(vm->cpu[i].thread, SIGUSR1);
			usleep(300);
		}
		judge(&vm->cpu[i], number);
		good &= !vm->cpu[i].dead;
	}
	return good;
}

void hostile_guests(void)
{
	u64 first = number_of("FIRST", 1), end = first + number_of("SEEDS", SEEDS), seed;
	unsigned int used = 0;
	struct vm vm;

	make_vm(&vm);
	for (seed = first; seed < end; seed++) {
		if (!one_seed(&vm, seed) || ++used == VM_SEEDS) {
			end_vm(&vm);
			make_vm(&vm);
			used = 0;
		}
	}
	end_vm(&vm);
	printf("exits: %lu mmio, %lu system event, %lu internal error, %lu VMs given up\n",
	       exits[KVM_EXIT_MMIO], exits[KVM_EXIT_SYSTEM_EVENT],
	       exits[KVM_EXIT_INTERNAL_ERROR], given_up);
}
