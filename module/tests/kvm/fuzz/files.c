// SPDX-License-Identifier: GPL-2.0
/* Files closed, copied and exchanged under the threads that use them; statistics. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fuzz.h"

static int *any_file(struct actor *a)
{
	int *files[] = { &a->w->vgic, &a->w->its, &a->w->stats, &a->w->vcpu[pick(a, MAX_CPUS)],
			 &a->w->vcpu[pick(a, MAX_CPUS)], &a->w->vm };

	return files[pick(a, ARRAY_SIZE(files))];
}

/* A copy keeps what the original would have ended. */
static void file_copy(struct actor *a)
{
	int fd = dup(get_file(any_file(a)));

	judge(a, fd);
	put_file(&a->w->spare[pick(a, NR_SPARES)], fd);
}

static void file_close(struct actor *a)
{
	int *file = one_in(a, 4) ? any_file(a) : &a->w->spare[pick(a, NR_SPARES)];

	a->done = get_file(file) >= 0;
	put_file(file, -1);
}

/* One number, another file: from one instant to the next. */
static void file_exchange(struct actor *a)
{
	int from = get_file(any_file(a)), to = get_file(&a->w->spare[pick(a, NR_SPARES)]);

	if (from >= 0 && to >= 0)
		judge(a, dup2(from, to));
}

static void file_lend(struct actor *a)
{
	int pair[2], fd = get_file(any_file(a));
	char space[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);

	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	judge(a, sendmsg(pair[0], &message, MSG_DONTWAIT));
	/* Never received: the file goes with its socket. */
	usleep(pick(a, 1000));
	close(pair[0]);
	close(pair[1]);
}

static void vm_renew(struct actor *a)
{
	renew_vm(a->w, &a->rng);
	a->done = true;
}

/* Another VM for a moment, of which nothing runs, closed in some order. */
static void vm_passing(struct actor *a)
{
	int vm = call_number(a, get_file(&a->w->kvm), KVM_CREATE_VM, one_in(a, 4) ? pick(a, 64) : 0);
	int vcpu = vm < 0 ? -1 : call_number(a, vm, KVM_CREATE_VCPU, pick(a, 2));

	if (vm < 0)
		return;
	if (one_in(a, 2))
		close(vm);
	if (vcpu >= 0)
		close(vcpu);
	if (one_in(a, 2))
		return;		/* its number is some other file's by now, perhaps */
	put_file(&a->w->spare[pick(a, NR_SPARES)], dup(get_file(&a->w->vm)));
}

static void stats_open(struct actor *a)
{
	int from = one_in(a, 2) ? get_file(&a->w->vm) : get_file(&a->w->vcpu[pick(a, MAX_CPUS)]);
	int fd = call_number(a, from, KVM_GET_STATS_FD, 0);

	if (fd >= 0)
		put_file(&a->w->stats, fd);
}

static void stats_read(struct actor *a)
{
	int i, times = pick(a, 10);

	for (i = 0; i <= times; i++)
		judge(a, pread(get_file(&a->w->stats), any_buffer(a), BUFFER_SIZE,
			       one_in(a, 2) ? 0 : pick(a, 8000)));
}

/* ---- threads --------------------------------------------------------------------------- */

static void interrupt_storm(struct actor *a)
{
	unsigned int cpu = pick(a, MAX_CPUS), i, times = pick(a, 50);

	for (i = 0; i < times; i++) {
		if (__atomic_load_n(&a->w->runs[cpu], __ATOMIC_ACQUIRE))
			a->done |= !pthread_kill(a->w->runner[cpu], SIGUSR1);
		if (one_in(a, 4))
			usleep(pick(a, 100));
	}
}

/* A vCPU's thread to other CPUs of the host. */
static void affinity(struct actor *a)
{
	unsigned int cpu = pick(a, MAX_CPUS), host = pick(a, get_nprocs_conf());
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(host, &set);
	if (one_in(a, 3))
		CPU_SET(0, &set);
	if (__atomic_load_n(&a->w->runs[cpu], __ATOMIC_ACQUIRE))
		a->done |= !pthread_setaffinity_np(a->w->runner[cpu], sizeof(set), &set);
}

static void nap(struct actor *a)
{
	usleep(pick(a, 4000));
	a->done = true;
}

const struct op file_ops[] = {
	{ "file_copy",		4, file_copy },
	{ "file_close",		5, file_close },
	{ "file_exchange",	3, file_exchange },
	{ "file_lend",		2, file_lend },
	{ "vm_renew",		4, vm_renew },
	{ "vm_passing",		3, vm_passing },
	{ "stats_open",		3, stats_open },
	{ "stats_read",		6, stats_read },
	{ "interrupt_storm",	4, interrupt_storm },
	{ "affinity",		6, affinity },
	{ "nap",		10, nap },
	{ }
};
