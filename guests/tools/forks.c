// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that fork at the same time, one on each CPU: the cost of a fork, the child's end and
 * the wait for it, by the virtual counter. On a counted board that is the instructions of all CPUs
 * together, divided by the forks of all.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/mark.h"
#include "counter.h"
#include "layout.h"

#define ROUNDS 5
#define FORKS 40
#define MAX_PROCESSES 64

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("forks: cannot run on this CPU");
}

static void fork_and_wait(unsigned int times)
{
	int status;
	pid_t pid;

	while (times--) {
		pid = fork();
		if (pid < 0)
			fail("forks: cannot fork");
		if (!pid)
			_exit(0);
		if (waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "forks: a child did not end well\n");
			exit(1);
		}
	}
}

/* A process on its CPU: says that it is ready, waits for its byte of the start, forks. */
static void forker(unsigned int cpu, int ready, int start)
{
	char byte = 0;

	run_on(cpu);
	fork_and_wait(1);
	if (write(ready, &byte, 1) != 1 || read(start, &byte, 1) != 1)
		fail("forks: cannot begin");
	fork_and_wait(FORKS);
	_exit(0);
}

/* Ticks from the start of `processes` forkers to the end of the last one. */
static uint64_t one_round(unsigned int processes)
{
	char bytes[MAX_PROCESSES] = { 0 };
	int ready[2], start[2], status;
	unsigned int i;
	uint64_t begun;

	if (pipe(ready) || pipe(start))
		fail("forks: cannot make a pipe");
	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("forks: cannot fork");
		if (!pid)
			forker(i, ready[1], start[0]);
	}
	for (i = 0; i < processes; i++)
		if (read(ready[0], bytes, 1) != 1)
			fail("forks: a process does not begin");
	MARK_COUNT;
	begun = counter();
	if (write(start[1], bytes, processes) != (ssize_t)processes)
		fail("forks: cannot start them");
	for (i = 0; i < processes; i++)
		if (wait(&status) < 0 || status)
			exit(1);
	begun = counter() - begun;
	MARK_END;
	for (i = 0; i < 2; i++) {
		close(ready[i]);
		close(start[i]);
	}
	return begun;
}

int main(int argc, char **argv)
{
	unsigned int processes = argc > 1 ? (unsigned int)atoi(argv[1])
					  : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t best = UINT64_MAX, took;
	int round;

	if (processes < 1 || processes > MAX_PROCESSES) {
		fprintf(stderr, "usage: forks [PROCESSES]   1 to %d, default one a CPU\n",
			MAX_PROCESSES);
		return 2;
	}
	if (!have_one_layout(argv))
		fail("forks: cannot begin again without randomization (is /proc mounted?)");
	for (round = 0; round < ROUNDS; round++) {
		took = one_round(processes);
		if (took < best)
			best = took;
	}
	took = best * 1000 / (FORKS * processes);
	printf("result forks.processes %u count\n", processes);
	printf("result forks.forks %u count\n", FORKS * processes);
	printf("result forks.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	printf("result forks.fork %" PRIu64 ".%03" PRIu64 " ticks\n", took / 1000, took % 1000);
	return 0;
}
