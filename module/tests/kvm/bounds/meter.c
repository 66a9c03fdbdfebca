// SPDX-License-Identifier: GPL-2.0
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "meter.h"

/* What both processes see. */
static struct shared {
	u64 longest, at, begin;
	bool stop;
} *shared;

static int to_meter[2], from_meter[2];

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void sleep_until(u64 ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void tick(void)
{
	u64 from = now();

	do {
		u64 to;

		sleep_until(from + METER_PERIOD);
		to = now();
		if (to - from > shared->longest) {
			shared->longest = to - from;
			shared->at = from;
		}
		from = now();
	} while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE));
}

static void be_the_meter(void)
{
	struct sched_param param = { .sched_priority = 99 };
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setscheduler(0, SCHED_FIFO, &param) || mlockall(MCL_CURRENT | MCL_FUTURE))
		die("the meter has no real-time priority");
	/* Once for nothing: all pages that it uses are there before it counts. */
	shared->stop = true;
	tick();
	while (write(from_meter[1], "", 1) == 1 && read(to_meter[0], &byte, 1) == 1) {
		if (write(from_meter[1], "", 1) != 1)
			break;
		tick();
	}
	_exit(0);
}

static void wait_for_meter(void)
{
	char byte;

	if (read(from_meter[0], &byte, 1) != 1)
		die("the meter is gone");
}

void meter_init(void)
{
	shared = map_memory(sizeof(*shared));
	if (pipe(to_meter) || pipe(from_meter))
		die("pipe");
	fflush(NULL);
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		be_the_meter();
	}
	close(from_meter[1]);
	wait_for_meter();
}

void meter_begin(void)
{
	memset(shared, 0, sizeof(*shared));
	if (write(to_meter[1], "", 1) != 1)
		die("the meter is gone");
	wait_for_meter();
	shared->begin = now();
}

static void result(const char *name, const char *what, u64 value)
{
	printf("result %s.%s %llu instructions\n", name, what, (unsigned long long)value);
}

u64 meter_end(const char *format, ...)
{
	u64 total = now() - shared->begin;
	char name[64];
	va_list args;

	__atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
	wait_for_meter();
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	result(name, "longest", shared->longest);
	result(name, "at", shared->at > shared->begin ? shared->at - shared->begin : 0);
	result(name, "total", total);
	fflush(stdout);
	return shared->longest;
}
