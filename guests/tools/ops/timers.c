// SPDX-License-Identifier: GPL-2.0
/* Timers of each kind that expire at once, and one that is set and taken back. */
#define _GNU_SOURCE
#include "ops.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_NOW 1
#define S_LATER 1000

/* Otherwise a sleep waits for others that end within 50 microseconds. */
static void no_slack(void)
{
	ops_must(!prctl(PR_SET_TIMERSLACK, 1), "PR_SET_TIMERSLACK");
}

static void slack(void)
{
	ops_must(!prctl(PR_SET_TIMERSLACK, 0), "PR_SET_TIMERSLACK");
}

static void run_nanosleep(uint64_t loops)
{
	struct timespec little = { .tv_nsec = NS_NOW };

	while (loops--)
		ops_must(!nanosleep(&little, NULL), "nanosleep");
}

static int timer_fd = -1;

static void open_timer(void)
{
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	ops_must(timer_fd >= 0, "timerfd_create");
}

static void close_timer(void)
{
	close(timer_fd);
}

static void run_timerfd(uint64_t loops)
{
	struct itimerspec soon = { .it_value.tv_nsec = NS_NOW };
	uint64_t times;

	while (loops--)
		ops_must(!timerfd_settime(timer_fd, 0, &soon, NULL) &&
			 read(timer_fd, &times, sizeof(times)) == sizeof(times), "timerfd");
}

static void run_timer_set(uint64_t loops)
{
	struct itimerspec later = { .it_value.tv_sec = S_LATER }, never = { 0 };

	while (loops--)
		ops_must(!timerfd_settime(timer_fd, 0, &later, NULL) &&
			 !timerfd_settime(timer_fd, 0, &never, NULL), "timerfd_settime");
}

static sigset_t awaited;

/* The signal is waited for, and has no handler. */
static void block(int number)
{
	sigemptyset(&awaited);
	sigaddset(&awaited, number);
	ops_must(!sigprocmask(SIG_BLOCK, &awaited, NULL), "sigprocmask");
}

static void unblock(void)
{
	ops_must(!sigprocmask(SIG_UNBLOCK, &awaited, NULL), "sigprocmask");
}

static void block_alarm(void)
{
	block(SIGALRM);
}

static void run_itimer(uint64_t loops)
{
	struct itimerval soon = { .it_value.tv_usec = 1 };
	int number;

	while (loops--)
		ops_must(!setitimer(ITIMER_REAL, &soon, NULL) && !sigwait(&awaited, &number),
			 "setitimer");
}

static timer_t timer;

static void make_timer(void)
{
	struct sigevent tell = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };

	block(SIGUSR1);
	ops_must(!timer_create(CLOCK_MONOTONIC, &tell, &timer), "timer_create");
}

static void drop_timer(void)
{
	timer_delete(timer);
	unblock();
}

static void run_posix_timer(uint64_t loops)
{
	struct itimerspec soon = { .it_value.tv_nsec = NS_NOW };
	int number;

	while (loops--)
		ops_must(!timer_settime(timer, 0, &soon, NULL) && !sigwait(&awaited, &number),
			 "timer_settime");
}

const struct lat_row ops_timers[] = {
	{ "nanosleep", no_slack, run_nanosleep, slack, 50 },
	{ "timerfd", open_timer, run_timerfd, close_timer, 100 },
	{ "timer-set", open_timer, run_timer_set, close_timer, 200 },
	{ "itimer", block_alarm, run_itimer, unblock, 50 },
	{ "posix-timer", make_timer, run_posix_timer, drop_timer, 50 },
	{ 0 },
};
