// SPDX-License-Identifier: GPL-2.0
/*
 * Other processes: children with copies of the memory and of the files, processes on the same
 * memory that are killed alone, a process that is stopped, a program that is executed, CPUs of the
 * host that go offline.
 *
 * A child of fork() in a program of many threads only calls the kernel. Each child is waited for;
 * the supervisor ends those of a world that was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define STACK	0x8000

static void wait_child(struct actor *a, pid_t child)
{
	int status;

	if (child < 0)
		return;
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	a->done = true;
}

/* The child has its own copy: the guest's later writes are not in it. */
static void look_at_copy(struct actor *a, const struct area *area)
{
	size_t size;
	const char *at = any_part(a, (struct area *)area, &size);
	u64 before[64], after[64];
	int pipes[2];

	if (area->kind != PRIVATE || pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return;
	if (write(pipes[1], at, sizeof(before)) != sizeof(before) ||
	    read(pipes[0], before, sizeof(before)) != sizeof(before))
		return;
	usleep(pick(a, 2000));
	if (write(pipes[1], at, sizeof(after)) != sizeof(after) ||
	    read(pipes[0], after, sizeof(after)) != sizeof(after))
		return;
	if (memcmp(before, after, sizeof(before)))
		complain("seed %llu: a guest wrote to a child's memory",
			 (unsigned long long)a->w->seed);
}

static void in_child(struct actor *a)
{
	struct world *w = a->w;
	u64 one = 1;
	int i;

	if (one_in(a, 2))
		close(get_file(&w->vm));
	if (!ioctl(get_file(&w->vcpu[pick(a, MAX_CPUS)]), KVM_RUN, 0))
		complain("seed %llu: a vCPU runs in a child", (unsigned long long)w->seed);
	for (i = 0; i < 10; i++) {
		if (one_in(a, 2) && write(get_file(&w->event[pick(a, NR_EVENTS)]), &one, 8) < 0)
			continue;
		if (one_in(a, 2) && pread(get_file(&w->stats), a->buffer, BUFFER_SIZE, 0) < 0)
			continue;
		ioctl(get_file(&w->vm), KVM_CHECK_EXTENSION, i);
	}
	look_at_copy(a, &w->area[pick(a, NR_AREAS)]);
	/* A copy of its own, a page or more. */
	if (w->area[0].kind == PRIVATE && pread(w->junk, w->area[0].at, JUNK_SIZE, 0) < 0)
		usleep(100);
	usleep(pick(a, 3000));
}

static void forks(struct actor *a)
{
	unsigned int delay = pick(a, 2000);
	bool kills = one_in(a, 4);
	pid_t child = fork();

	if (!child) {
		in_child(a);
		_exit(0);
	}
	if (child > 0 && kills) {
		usleep(delay);
		kill(child, SIGKILL);
	}
	wait_child(a, child);
}

/* Left to itself: it has the files for a while after the world has ended. */
static void forks_away(struct actor *a)
{
	unsigned int life = pick(a, 20000);
	pid_t child = fork();

	if (!child) {
		if (!fork()) {
			usleep(life);
			in_child(a);
		}
		_exit(0);
	}
	wait_child(a, child);
}

static void executes(struct actor *a)
{
	pid_t child = fork();

	if (!child) {
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
		execl("/proc/self/exe", "fuzz_api", "nothing", NULL);
		_exit(127);
	}
	wait_child(a, child);
}

/* What a process on our memory does: run a vCPU until it is killed. */
static int run_beside(void *arg)
{
	const int *vcpu = arg;
	int i;

	for (i = 0; i < 1000; i++)
		if (ioctl(get_file(vcpu), KVM_RUN, 0))
			usleep(50);
	_exit(0);
}

/* Not a thread: a process with our memory, whose death is not ours. */
static void process_beside(struct actor *a)
{
	int *vcpu = &a->w->vcpu[pick(a, MAX_CPUS)];
	unsigned int delay = pick(a, 4000);
	int files = one_in(a, 2) ? CLONE_FILES : 0;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (stack == MAP_FAILED)
		return;
	child = clone(run_beside, stack + STACK, CLONE_VM | files | SIGCHLD, vcpu);
	usleep(delay);
	if (child > 0)
		kill(child, SIGKILL);
	wait_child(a, child);
	munmap(stack, STACK);
}

static void stopped(struct actor *a)
{
	unsigned int delay = pick(a, 5000);
	pid_t world = getpid(), child = fork();

	if (!child) {
		kill(world, SIGSTOP);
		usleep(delay);
		kill(world, SIGCONT);
		_exit(0);
	}
	wait_child(a, child);
}

/* A CPU of the host goes off or on; the supervisor puts all on after a seed. */
static void host_cpu(struct actor *a)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
		 (unsigned int)pick(a, get_nprocs_conf()));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	judge(a, write(fd, one_in(a, 2) ? "0" : "1", 1));
	close(fd);
}

const struct op process_ops[] = {
	{ "fork",		8, forks },
	{ "fork_away",		3, forks_away },
	{ "exec",		2, executes },
	{ "process_beside",	6, process_beside },
	{ "stop",		2, stopped },
	{ "host_cpu",		1, host_cpu },
	{ }
};
