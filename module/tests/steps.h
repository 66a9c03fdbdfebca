/* SPDX-License-Identifier: GPL-2.0 */
/*
 * steps_of(fn): the exact number of instructions that fn() executes, on any PC: a child runs it
 * under ptrace, one instruction at a time. Changes that fn() makes stay in the child.
 */
#ifndef AV_TESTS_STEPS_H
#define AV_TESTS_STEPS_H

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* From one stop to the next, which fn() is between. */
static unsigned long steps_between_stops(void (*fn)(void))
{
	unsigned long steps = 0;
	int status = 0;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		fn();
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		abort();
	do {
		steps++;
		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0))
			abort();
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status))
			abort();
	} while (WSTOPSIG(status) == SIGTRAP);
	if (WSTOPSIG(status) != SIGSTOP)
		abort();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return steps;
}

static void steps_of_nothing(void)
{
}

static unsigned long steps_of(void (*fn)(void))
{
	unsigned long nothing = steps_between_stops(steps_of_nothing);
	unsigned long all = steps_between_stops(fn);

	return all > nothing ? all - nothing : 0;
}

#endif /* AV_TESTS_STEPS_H */
