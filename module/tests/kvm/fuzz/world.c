// SPDX-License-Identifier: GPL-2.0
/*
 * A world: its memory, its VM, the threads that run it, and its end.
 *
 * A runner is a thread that runs the vCPU with its number, whichever that is. The ticker interrupts
 * runners and actors from time to time, so that a call that waits for a vCPU succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "fuzz.h"
#include "its_machine.h"

static struct world world;

int get_file(const int *file)
{
	return __atomic_load_n(file, __ATOMIC_ACQUIRE);
}

void put_file(int *file, int fd)
{
	int old = __atomic_exchange_n(file, fd, __ATOMIC_ACQ_REL);

	if (old >= 0)
		close(old);
}

int new_event(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static bool stopped(const struct world *w)
{
	return __atomic_load_n(&w->stop, __ATOMIC_ACQUIRE);
}

/* ---- memory -------------------------------------------------------------------------- */

/* At a multiple of 2 MiB, so that it can have huge pages. */
static void make_area(struct area *area, enum area_kind kind)
{
	static const int flags[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS,
				     MAP_SHARED };
	char *at = mmap(NULL, AREA_SIZE + 0x200000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	area->at = (char *)(((unsigned long)at + 0x1fffff) & ~0x1fffffUL);
	area->kind = kind;
	area->file = kind == FILE_BACKED ? memfd_create("area", MFD_CLOEXEC) : -1;
	if (kind == FILE_BACKED && ftruncate(area->file, AREA_SIZE))
		die("memfd");
	if (mmap(area->at, AREA_SIZE, PROT_READ | PROT_WRITE, flags[kind] | MAP_FIXED, area->file,
		 0) == MAP_FAILED)
		die("mmap");
	pthread_rwlock_init(&area->lock, NULL);
}

/* The guest's program and tables as they were, as far as their memory is there. */
static void restore_image(struct world *w)
{
	static const struct {
		size_t from, size;
	} parts[] = { { 0, 0x4000 }, { TABLES - GUEST_BASE, 0x10000 }, { 0x200000, 0x6000 } };
	ssize_t n;
	size_t i;

	pthread_rwlock_rdlock(&w->area[0].lock);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		n = pread(w->image, w->area[0].at + parts[i].from, parts[i].size, parts[i].from);
		if (n < 0 && errno != EFAULT)
			complain("seed %llu: image: %s", (unsigned long long)w->seed,
				 strerror(errno));
	}
	pthread_rwlock_unlock(&w->area[0].lock);
}

/* ---- the VM -------------------------------------------------------------------------- */

static void start_devices(struct world *w, u64 *rng)
{
	u64 kind = rnd(rng) >> 16 & 7;

	/* None; one that an operation may finish; ready; ready and with an ITS. */
	if (!kind)
		return;
	put_file(&w->vgic, new_device(w->vm, KVM_DEV_TYPE_ARM_VGIC_V3));
	if (kind == 1)
		return;
	attr_set(w->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, GUEST_DIST);
	attr_set(w->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, GUEST_REDIST);
	if (kind > 3) {
		put_file(&w->its, new_device(w->vm, KVM_DEV_TYPE_ARM_VGIC_ITS));
		attr_set(w->its, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE, ITS_BASE);
	}
	attr_set(w->vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, 0);
	if (kind > 3)
		boot_its(w, rng);
}

/* Counters that are on and overflow soon, each in some of the modes. */
static void start_pmu(int vcpu, u64 *rng)
{
	u64 modes = rnd(rng) >> 16 & 3, irq = 23;

	attr_set(vcpu, KVM_ARM_VCPU_PMU_V3_CTRL, KVM_ARM_VCPU_PMU_V3_IRQ, irq);
	attr_set(vcpu, KVM_ARM_VCPU_PMU_V3_CTRL, KVM_ARM_VCPU_PMU_V3_INIT, 0);
	try_set_reg(vcpu, ARM64_SYS_REG(3, 3, 9, 12, 0), 1);
	try_set_reg(vcpu, ARM64_SYS_REG(3, 3, 9, 12, 1), ~0ULL);
	try_set_reg(vcpu, ARM64_SYS_REG(3, 0, 9, 14, 1), ~0ULL);
	try_set_reg(vcpu, ARM64_SYS_REG(3, 3, 14, 12, 1), 0x11 | modes << 30);
	try_set_reg(vcpu, ARM64_SYS_REG(3, 3, 14, 8, 1), -(rnd(rng) >> 46));
	try_set_reg(vcpu, ARM64_SYS_REG(3, 3, 9, 13, 0), -(rnd(rng) >> 46));
}

static bool try_init(const struct world *w, int vcpu, bool off)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 | off << KVM_ARM_VCPU_POWER_OFF |
			      w->pmu << KVM_ARM_VCPU_PMU_V3 },
	};

	return !ioctl(vcpu, KVM_ARM_VCPU_INIT, &init);
}

void renew_vm(struct world *w, u64 *rng)
{
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = GUEST_BASE, .memory_size = MAIN_SIZE,
		.userspace_addr = (u64)w->area[0].at,
	};
	struct kvm_enable_cap by_hand = {
		.cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2,
		.args = { KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE },
	};
	int vm = rnd(rng) >> 16 & 3 ? -1 : new_protected_vm(w), vcpu;
	bool off = rnd(rng) >> 16 & 1;
	unsigned int i;

	if (vm < 0)
		vm = ioctl(get_file(&w->kvm), KVM_CREATE_VM, 0);
	if (vm < 0)
		return;
	/* A protected VM takes neither, and has its memory already. */
	give_ring(vm, rnd(rng) >> 16 & 7);
	ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem);
	if (rnd(rng) >> 16 & 1)
		ioctl(vm, KVM_ENABLE_CAP, &by_hand);
	w->pmu = rnd(rng) >> 16 & 1;
	put_file(&w->vm, vm);
	put_file(&w->vgic, -1);
	put_file(&w->its, -1);
	put_file(&w->stats, ioctl(vm, KVM_GET_STATS_FD, 0));
	for (i = 0; i < MAX_CPUS; i++) {
		vcpu = i < w->nr_cpus ? ioctl(vm, KVM_CREATE_VCPU, i) : -1;
		if (vcpu >= 0 && try_init(w, vcpu, i && off))
			start_cpu(w, vcpu, i, rng);
		put_file(&w->vcpu[i], vcpu);
	}
	start_devices(w, rng);
	for (i = 0; w->pmu && i < w->nr_cpus; i++)
		start_pmu(get_file(&w->vcpu[i]), rng);
}

/* ---- threads ------------------------------------------------------------------------- */

/* KVM_RUN has returned. Act as a VMM does: answer, or restart the vCPU. */
static void after_run(struct world *w, unsigned int cpu, int vcpu, struct kvm_run *run, u64 *rng)
{
	u32 reason = run->exit_reason % 64;

	__atomic_fetch_add(&tally->exits[reason], 1, __ATOMIC_RELAXED);
	if (reason == KVM_EXIT_MMIO) {
		*(u64 *)run->mmio.data = rnd(rng);
		return;
	}
	if (reason == KVM_EXIT_DIRTY_RING_FULL) {
		/* Of a larger ring, another part each time. */
		take_ring(vcpu, rnd(rng) >> 16 & 14);
		ioctl(get_file(&w->vm), KVM_RESET_DIRTY_RINGS, 0);
	}
	if (reason == KVM_EXIT_INTERNAL_ERROR)
		usleep(1000);
	if (reason == KVM_EXIT_SYSTEM_EVENT && try_init(w, vcpu, false)) {
		restore_image(w);
		start_cpu(w, vcpu, cpu, rng);
	}
}

static void failed_run(struct world *w, unsigned int cpu, int vcpu, u64 *rng)
{
	switch (errno) {
	case EINTR:
		tally->exits[KVM_EXIT_INTR]++;
		return;
	case ENOEXEC:
	case EFAULT:
	case ENOSYS:
	case EPERM:
		usleep(200);
		if (try_init(w, vcpu, false)) {
			restore_image(w);
			start_cpu(w, vcpu, cpu, rng);
		}
		return;
	}
	if (errno > EHWPOISON)
		complain("seed %llu: KVM_RUN: errno %d is the kernel's own",
			 (unsigned long long)w->seed, errno);
	usleep(500);
}

static void *run_cpu(void *arg)
{
	struct world *w = &world;
	unsigned int cpu = (unsigned long)arg;
	u64 rng = stream(w->seed, 100 + cpu, 0);
	struct kvm_run *run = MAP_FAILED;
	int vcpu, mapped = -1;

	__atomic_store_n(&w->tid[cpu], gettid(), __ATOMIC_RELEASE);
	while (!stopped(w)) {
		vcpu = __atomic_load_n(&w->paused, __ATOMIC_ACQUIRE) ? -1 :
								      get_file(&w->vcpu[cpu]);
		if (vcpu >= 0 && (vcpu != mapped || run == MAP_FAILED)) {
			if (run != MAP_FAILED)
				munmap(run, PAGE);
			run = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
			mapped = vcpu;
		}
		if (vcpu < 0 || run == MAP_FAILED)
			usleep(300);
		else if (ioctl(vcpu, KVM_RUN, 0))
			failed_run(w, cpu, vcpu, &rng);
		else
			after_run(w, cpu, vcpu, run, &rng);
	}
	return NULL;
}

static void *act(void *arg)
{
	struct actor a = { .w = &world, .index = (unsigned long)arg };
	unsigned int step;

	a.buffer = map_memory(BUFFER_SIZE);
	for (step = 0; !stopped(a.w); step++) {
		if (step >= a.w->nr_steps && a.w->end != KILLED)
			break;
		do_op(&a, step);
	}
	if (a.index == 0 && a.w->end == EXITS)
		_exit(0);
	if (a.index == 0 && a.w->end == ABORTS)
		abort();
	__atomic_fetch_add(&a.w->finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void interrupt(struct world *w, u64 n)
{
	u64 runner = n % MAX_CPUS, actor = n / MAX_CPUS % MAX_ACTORS;

	if (__atomic_load_n(&w->runs[runner], __ATOMIC_ACQUIRE))
		pthread_kill(w->runner[runner], SIGUSR1);
	if (__atomic_load_n(&w->acts[actor], __ATOMIC_ACQUIRE))
		pthread_kill(w->actor[actor], SIGUSR1);
}

void pause_runners(struct world *w)
{
	unsigned int i;

	__atomic_fetch_add(&w->paused, 1, __ATOMIC_ACQ_REL);
	for (i = 0; i < MAX_CPUS; i++)
		interrupt(w, i);
	usleep(500);
}

void resume_runners(struct world *w)
{
	__atomic_fetch_sub(&w->paused, 1, __ATOMIC_ACQ_REL);
}

static void *tick(void *arg)
{
	u64 rng = stream(world.seed, 200, 0);

	while (!stopped(&world)) {
		usleep(200 + (rnd(&rng) >> 16) % 2000);
		interrupt(&world, rnd(&rng) >> 16);
	}
	return NULL;
}

/* ---- a world's life -------------------------------------------------------------------- */

static void make_world(struct world *w, u64 seed, unsigned int cpus)
{
	u64 rng = stream(seed, 0, 0);
	unsigned int i;

	w->seed = seed;
	w->end = fate_of(seed).end;
	w->nr_cpus = 1 + (rnd(&rng) >> 16) % cpus;
	w->nr_actors = 1 + (rnd(&rng) >> 16) % MAX_ACTORS;
	w->nr_steps = 20 + (rnd(&rng) >> 16) % 100;
	w->random_code = (rnd(&rng) >> 16) % 4 == 0;
	w->mmu_on = (rnd(&rng) >> 16) % 4;
	w->vm = w->vgic = w->its = w->stats = -1;
	for (i = 0; i < MAX_CPUS; i++)
		w->vcpu[i] = -1;
	for (i = 0; i < NR_SPARES; i++)
		w->spare[i] = -1;
	for (i = 0; i < NR_EVENTS; i++)
		w->event[i] = new_event();
	for (i = 0; i < NR_AREAS; i++)
		make_area(&w->area[i], (rnd(&rng) >> 16) % NR_KINDS);
	w->odd = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lay_image(w);
	if (pread(w->image, w->area[0].at, MAIN_SIZE, 0) < 0)
		die("image");
	w->kvm = open_kvm();
	reserve_gmem(w);
	renew_vm(w, &rng);
	if (w->vm < 0)
		complain("seed %llu: no VM: %s", (unsigned long long)seed, strerror(errno));
}

/* This program's own fault, or a guest that wrote where it has nothing: say where, and die of it. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	dprintf(1, "seed %llu: signal %d of address %p, pc %#llx lr %#llx sp %#llx x0 %#llx x1 %#llx\n",
		(unsigned long long)world.seed, number, info->si_addr, u->uc_mcontext.pc,
		u->uc_mcontext.regs[30], u->uc_mcontext.sp, u->uc_mcontext.regs[0],
		u->uc_mcontext.regs[1]);
	signal(number, SIG_DFL);
}

static void start(pthread_t *thread, bool *there, void *(*body)(void *), unsigned long arg)
{
	if (pthread_create(thread, NULL, body, (void *)arg))
		die("pthread_create");
	if (there)
		__atomic_store_n(there, true, __ATOMIC_RELEASE);
}

/* One may wait for a vCPU that another runs: tell all of them until all have ended. */
static void join_runners(struct world *w)
{
	unsigned int i, left = MAX_CPUS;

	while (left) {
		for (i = 0; i < MAX_CPUS; i++) {
			if (!w->runs[i])
				continue;
			if (!pthread_tryjoin_np(w->runner[i], NULL)) {
				w->runs[i] = false;
				left--;
			} else {
				pthread_kill(w->runner[i], SIGUSR1);
			}
		}
		usleep(500);
	}
}

void live(u64 seed, unsigned int cpus)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct world *w = &world;
	unsigned int i;

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	make_world(w, seed, cpus < MAX_CPUS ? cpus : MAX_CPUS);
	for (i = 0; i < MAX_CPUS; i++)
		start(&w->runner[i], &w->runs[i], run_cpu, i);
	for (i = 0; i < w->nr_actors; i++)
		start(&w->actor[i], &w->acts[i], act, i);
	start(&w->ticker, NULL, tick, 0);
	while (__atomic_load_n(&w->finished, __ATOMIC_ACQUIRE) < w->nr_actors)
		usleep(500);
	__atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
	/* Before those that it signals. */
	pthread_join(w->ticker, NULL);
	for (i = 0; i < w->nr_actors; i++)
		pthread_join(w->actor[i], NULL);
	join_runners(w);
	_exit(0);
}
