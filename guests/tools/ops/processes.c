// SPDX-License-Identifier: GPL-2.0
/* Processes and threads that begin, end, and wait for each other. */
#define _GNU_SOURCE
#include "ops.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void await(pid_t pid)
{
	int status;

	ops_must(pid > 0 && waitpid(pid, &status, 0) == pid && !status,
		 "the child did not end well");
}

static void run_vfork(uint64_t loops)
{
	while (loops--) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		await(pid);
	}
}

static void run_vfork_exec(uint64_t loops)
{
	while (loops--) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/proc/self/exe", "ops", LAT_NOTHING, NULL);
			_exit(127);
		}
		await(pid);
	}
}

static char *const nothing[] = { (char *)"ops", (char *)LAT_NOTHING, NULL };
static char *const empty[] = { NULL };

static void run_spawn(uint64_t loops)
{
	pid_t pid;

	while (loops--) {
		ops_must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, nothing, empty),
			 "posix_spawn");
		await(pid);
	}
}

static void *idle(void *unused)
{
	return unused;
}

static void run_thread(uint64_t loops)
{
	pthread_t thread;

	while (loops--)
		ops_must(!pthread_create(&thread, NULL, idle, NULL) && !pthread_join(thread, NULL),
			 "cannot make a thread");
}

/* Two threads in turn: `turn` says whose. */
static uint32_t turn;
static bool over;
static pthread_t partner;

static void pass(uint32_t from, uint32_t to)
{
	__atomic_store_n(&turn, to, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != from)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, to, NULL, NULL, 0);
}

static void *answer(void *unused)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 1)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		pass(1, 0);
	return unused;
}

static void start_partner(void)
{
	turn = 0;
	over = false;
	ops_must(!pthread_create(&partner, NULL, answer, NULL), "cannot make a thread");
}

static void stop_partner(void)
{
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(partner, NULL);
}

static void run_turns(uint64_t loops)
{
	while (loops--)
		pass(0, 1);
}

/* As the first process of a container. */
static void run_namespace(uint64_t loops)
{
	while (loops--) {
		pid_t pid = fork();

		if (!pid)
			_exit(!!unshare(CLONE_NEWUTS | CLONE_NEWIPC));
		await(pid);
	}
}

/* A program of some megabytes: the shell of this system. */
static void run_busybox(uint64_t loops)
{
	while (loops--) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/busybox", "busybox", "true", NULL);
			_exit(127);
		}
		await(pid);
	}
}

const struct lat_row ops_processes[] = {
	{ "vfork", NULL, run_vfork, NULL, 20 },
	{ "vfork-exec", NULL, run_vfork_exec, NULL, 10 },
	{ "spawn", NULL, run_spawn, NULL, 10 },
	{ "exec-busybox", NULL, run_busybox, NULL, 10 },
	{ "thread", NULL, run_thread, NULL, 20 },
	{ "thread-turns", start_partner, run_turns, stop_partner, 100 },
	{ "namespaces", NULL, run_namespace, NULL, 10 },
	{ 0 },
};
