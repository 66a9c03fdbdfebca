// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of calls, to compare two hosts:
 *
 *	sequence FIRST COUNT	the worlds of seeds FIRST to FIRST + COUNT - 1
 *
 * A line is "sSEED.STEP.CALL… = ANSWER". `sequence SEED 1` repeats one seed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "sequence.h"

#define MOST_STEPS	24
#define RUN_US		200000

static const struct op *const tables[] = { vm_ops, vcpu_ops, vgic_ops };

/* splitmix64: good enough, and short. */
static u64 mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

u64 pick(struct world *w, u64 n)
{
	w->rng = mix(w->rng);
	return (w->rng >> 16) % n;
}

void keep_vcpu(struct world *w, unsigned int index, int fd)
{
	if (w->vcpu[index] >= 0) {
		munmap(w->run[index], w->run_size);
		close(w->vcpu[index]);
	}
	w->vcpu[index] = fd;
	w->run[index] = fd < 0 ? NULL : map_run(w->kvm, fd);
}

static void lay_memory(struct world *w)
{
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = GUEST_BASE, .memory_size = GUEST_SIZE,
		.userspace_addr = (u64)w->memory,
	};

	if (ioctl(w->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

void new_world(struct world *w, unsigned int nr, bool ready)
{
	unsigned int i;

	w->vm = new_vm(w->kvm);
	if (w->ring && enable_ring(w->vm, PAGE))
		die("a dirty ring");
	w->vgic = -1;
	for (i = 0; i < NR_VCPUS; i++)
		w->vcpu[i] = -1;
	for (i = 0; i < NR_EVENTS; i++)
		w->event[i] = eventfd(0, EFD_NONBLOCK);
	lay_memory(w);
	for (i = 0; i < nr; i++) {
		keep_vcpu(w, i, new_vcpu(w->vm, i));
		init_vcpu(w->vcpu[i]);
	}
	if (!ready)
		return;
	w->vgic = ready_vgic(w->vm);
	prepare_vgic(w);
}

void end_world(struct world *w)
{
	unsigned int i;

	for (i = 0; i < NR_VCPUS; i++)
		keep_vcpu(w, i, -1);
	for (i = 0; i < NR_EVENTS; i++)
		close(w->event[i]);
	if (w->vgic >= 0)
		close(w->vgic);
	close(w->vm);
}

static void on_alarm(int signal)
{
}

long run_vcpu(struct world *w, unsigned int index)
{
	struct itimerval limit = { .it_value.tv_usec = RUN_US }, off = { 0 };
	int err;
	long ret;

	if (w->vcpu[index] < 0) {
		errno = EBADF;
		return -1;
	}
	setitimer(ITIMER_REAL, &limit, NULL);
	ret = ioctl(w->vcpu[index], KVM_RUN, 0);
	err = errno;
	setitimer(ITIMER_REAL, &off, NULL);
	if (!ret) {
		/* An access is complete before the next step. */
		w->run[index]->immediate_exit = 1;
		ioctl(w->vcpu[index], KVM_RUN, 0);
		w->run[index]->immediate_exit = 0;
	}
	errno = err;
	return ret;
}

static const struct op *draw(struct world *w)
{
	u64 total = 0, at;
	const struct op *op;
	size_t t;

	for (t = 0; t < ARRAY_SIZE(tables); t++)
		for (op = tables[t]; op->name; op++)
			total += op->weight;
	at = pick(w, total);
	for (t = 0; t < ARRAY_SIZE(tables); t++) {
		for (op = tables[t]; op->name; op++) {
			if (at < op->weight)
				return op;
			at -= op->weight;
		}
	}
	return tables[0];
}

/* A third of the worlds is all about the vGIC, as guests and VMMs use it. */
static void step(struct world *w, unsigned int number, bool vgic_only)
{
	char name[48];
	const struct op *op;

	w->rng = mix(w->seed * 1000 + number);
	op = draw(w);
	if (vgic_only)
		op = vgic_ops + pick(w, VGIC_ONLY);
	snprintf(name, sizeof(name), "s%llu.%u.%s", (unsigned long long)w->seed, number, op->name);
	group(name);
	op->run(w);
}

static void live(struct world *w)
{
	unsigned int i, steps, nr;
	bool vgic_only;

	w->rng = mix(w->seed);
	vgic_only = w->seed % 3 == 0;
	nr = vgic_only ? NR_VCPUS : pick(w, NR_VCPUS + 1);
	draw_intids(w);
	steps = 4 + pick(w, MOST_STEPS - 3);
	w->ring = !pick(w, 4);
	memset(w->memory, 0, GUEST_SIZE);
	memset(w->spare, 0, SPARE_SIZE);
	new_world(w, nr, vgic_only || (nr && pick(w, 2)));
	for (i = 0; i < steps; i++)
		step(w, i, vgic_only);
	end_world(w);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	u64 first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	u64 count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct world w = { .kvm = open_kvm() };

	sigaction(SIGALRM, &action, NULL);
	w.run_size = ioctl(w.kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	w.memory = map_memory(GUEST_SIZE);
	w.spare = map_memory(SPARE_SIZE);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (w.seed = first; w.seed < first + count; w.seed++)
		live(&w);
	printf("done\n");
	return 0;
}
