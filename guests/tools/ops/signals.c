// SPDX-License-Identifier: GPL-2.0
/* Signals that are sent to oneself or another, with a stack of their own or without a handler. */
#define _GNU_SOURCE
#include "ops.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	(void)number;
	caught++;
}

static char *stack;

static void install_on_stack(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t own = { .ss_size = 16 * OPS_PAGE };

	stack = malloc(own.ss_size);
	own.ss_sp = stack;
	ops_must(stack && !sigaltstack(&own, NULL) && !sigaction(SIGUSR1, &action, NULL),
		 "sigaltstack");
}

static void leave_stack(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	signal(SIGUSR1, SIG_DFL);
	sigaltstack(&none, NULL);
	free(stack);
}

static void run_on_stack(uint64_t loops)
{
	sig_atomic_t before = caught;
	uint64_t i;

	for (i = 0; i < loops; i++)
		raise(SIGUSR1);
	ops_must((uint64_t)(caught - before) == loops, "signals were lost");
}

static sigset_t awaited;

static void block(void)
{
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGRTMIN);
	sigaddset(&awaited, SIGUSR2);
	ops_must(!sigprocmask(SIG_BLOCK, &awaited, NULL), "sigprocmask");
}

static void unblock(void)
{
	ops_must(!sigprocmask(SIG_UNBLOCK, &awaited, NULL), "sigprocmask");
}

static void run_queue(uint64_t loops)
{
	union sigval value = { .sival_int = 1 };
	siginfo_t info;

	while (loops--)
		ops_must(!sigqueue(getpid(), SIGRTMIN, value) &&
			 sigwaitinfo(&awaited, &info) == SIGRTMIN, "sigqueue");
}

static int signal_fd = -1;

static void open_fd(void)
{
	block();
	signal_fd = signalfd(-1, &awaited, SFD_CLOEXEC);
	ops_must(signal_fd >= 0, "signalfd");
}

static void close_fd(void)
{
	close(signal_fd);
	unblock();
}

static void run_fd(uint64_t loops)
{
	struct signalfd_siginfo info;

	while (loops--)
		ops_must(!kill(getpid(), SIGUSR2) &&
			 read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info),
			 "signalfd");
}

static pid_t partner;

/* Answers each signal with one. */
static void start_partner(void)
{
	pid_t parent = getpid();
	siginfo_t info;

	block();
	partner = fork();
	ops_must(partner >= 0, "cannot fork");
	if (partner)
		return;
	while (sigwaitinfo(&awaited, &info) == SIGUSR2)
		kill(parent, SIGUSR2);
	_exit(0);
}

static void stop_partner(void)
{
	kill(partner, SIGKILL);
	waitpid(partner, NULL, 0);
	unblock();
}

static void run_between(uint64_t loops)
{
	siginfo_t info;

	while (loops--)
		ops_must(!kill(partner, SIGUSR2) && sigwaitinfo(&awaited, &info) == SIGUSR2,
			 "the other process does not answer");
}

const struct lat_row ops_signals[] = {
	{ "signal-stack", install_on_stack, run_on_stack, leave_stack, 200 },
	{ "signal-queue", block, run_queue, unblock, 200 },
	{ "signalfd", open_fd, run_fd, close_fd, 200 },
	{ "signal-process", start_partner, run_between, stop_partner, 100 },
	{ 0 },
};
