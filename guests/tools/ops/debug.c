// SPDX-License-Identifier: GPL-2.0
/* What debuggers and profilers do: ptrace, watchpoints, breakpoints, counters. */
#define _GNU_SOURCE
#include "ops.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/elf.h>

static pid_t traced;

static void await_stop(void)
{
	int status;

	ops_must(waitpid(traced, &status, 0) == traced && WIFSTOPPED(status),
		 "the traced process does not stop");
}

static void start_child(void)
{
	traced = fork();
	ops_must(traced >= 0, "cannot fork");
	if (traced)
		return;
	for (;;)
		syscall(SYS_getppid);
}

static void start_traced(void)
{
	start_child();
	ops_must(!ptrace(PTRACE_SEIZE, traced, NULL, NULL) &&
		 !ptrace(PTRACE_INTERRUPT, traced, NULL, NULL), "PTRACE_SEIZE");
	await_stop();
}

static void stop_traced(void)
{
	kill(traced, SIGKILL);
	waitpid(traced, NULL, 0);
}

static void run_step(uint64_t loops)
{
	while (loops--) {
		ops_must(!ptrace(PTRACE_SINGLESTEP, traced, NULL, NULL), "PTRACE_SINGLESTEP");
		await_stop();
	}
}

/* One stop: at a system call's begin or end. */
static void run_syscall(uint64_t loops)
{
	while (loops--) {
		ops_must(!ptrace(PTRACE_SYSCALL, traced, NULL, NULL), "PTRACE_SYSCALL");
		await_stop();
	}
}

static void run_registers(uint64_t loops)
{
	struct user_regs_struct registers;
	struct iovec set = { &registers, sizeof(registers) };

	while (loops--)
		ops_must(!ptrace(PTRACE_GETREGSET, traced, (void *)NT_PRSTATUS, &set) &&
			 !ptrace(PTRACE_SETREGSET, traced, (void *)NT_PRSTATUS, &set),
			 "PTRACE_GETREGSET");
}

static void run_peek(uint64_t loops)
{
	static long word = 1;

	while (loops--)
		ops_must(ptrace(PTRACE_PEEKDATA, traced, &word, NULL) == 1, "PTRACE_PEEKDATA");
}

static void run_attach(uint64_t loops)
{
	while (loops--) {
		ops_must(!ptrace(PTRACE_SEIZE, traced, NULL, NULL) &&
			 !ptrace(PTRACE_INTERRUPT, traced, NULL, NULL), "PTRACE_SEIZE");
		await_stop();
		ops_must(!ptrace(PTRACE_DETACH, traced, NULL, NULL), "PTRACE_DETACH");
	}
}

static int perf(struct perf_event_attr *about, pid_t pid)
{
	about->size = sizeof(*about);
	return (int)syscall(SYS_perf_event_open, about, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static volatile uint64_t watched;
static int counting = -1;

static __attribute__((noinline)) void called(void)
{
	asm volatile("");
}

static int watch(uint32_t kind, uintptr_t address, uint64_t length)
{
	struct perf_event_attr about = {
		.type = PERF_TYPE_BREAKPOINT, .bp_type = kind, .bp_addr = address,
		.bp_len = length, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = perf(&about, 0);

	ops_must(fd >= 0, "perf_event_open: a breakpoint");
	return fd;
}

static void watch_writes(void)
{
	counting = watch(HW_BREAKPOINT_W, (uintptr_t)&watched, HW_BREAKPOINT_LEN_8);
}

static void watch_calls(void)
{
	counting = watch(HW_BREAKPOINT_X, (uintptr_t)called, sizeof(long));
}

static uint64_t count(void)
{
	uint64_t value;

	ops_must(read(counting, &value, sizeof(value)) == sizeof(value), "a counter");
	return value;
}

static void stop_counting(void)
{
	close(counting);
}

static void run_writes(uint64_t loops)
{
	uint64_t before = count(), i;

	for (i = 0; i < loops; i++)
		watched = i;
	ops_must(count() - before == loops, "a watchpoint was not hit");
}

static void run_calls(uint64_t loops)
{
	uint64_t before = count(), i;

	for (i = 0; i < loops; i++)
		called();
	ops_must(count() - before == loops, "a breakpoint was not hit");
}

static void run_watch(uint64_t loops)
{
	while (loops--)
		close(watch(HW_BREAKPOINT_W, (uintptr_t)&watched, HW_BREAKPOINT_LEN_8));
}

static pid_t partner;
static int there[2], back[2];

static void start_partner(void)
{
	char byte;

	ops_must(!pipe(there) && !pipe(back), "pipe");
	partner = fork();
	ops_must(partner >= 0, "cannot fork");
	if (!partner) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			ops_must(write(back[1], &byte, 1) == 1, "pipe");
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	watch_writes();
}

static void stop_partner(void)
{
	stop_counting();
	close(there[1]);
	close(back[0]);
	waitpid(partner, NULL, 0);
}

/* Only this process has the watchpoint, so it comes and goes with each switch. */
static void run_switch(uint64_t loops)
{
	char byte = 0;

	while (loops--)
		ops_must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1,
			 "the other process does not answer");
}

static int open_software(void)
{
	struct perf_event_attr about = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	int fd = perf(&about, 0);

	ops_must(fd >= 0, "perf_event_open");
	return fd;
}

static void start_software(void)
{
	counting = open_software();
}

static void run_perf_open(uint64_t loops)
{
	while (loops--)
		close(open_software());
}

static void run_perf_read(uint64_t loops)
{
	while (loops--)
		count();
}

const struct lat_row ops_debug[] = {
	{ "ptrace-step", start_traced, run_step, stop_traced, 50 },
	{ "ptrace-syscall", start_traced, run_syscall, stop_traced, 50 },
	{ "ptrace-registers", start_traced, run_registers, stop_traced, 100 },
	{ "ptrace-peek", start_traced, run_peek, stop_traced, 100 },
	{ "ptrace-attach", start_child, run_attach, stop_traced, 20 },
	{ "watchpoint-hit", watch_writes, run_writes, stop_counting, 50 },
	{ "watchpoint-set", NULL, run_watch, NULL, 20 },
	{ "watchpoint-switch", start_partner, run_switch, stop_partner, 50 },
	{ "breakpoint-hit", watch_calls, run_calls, stop_counting, 50 },
	{ "perf-open", NULL, run_perf_open, NULL, 20 },
	{ "perf-read", start_software, run_perf_read, stop_counting, 200 },
	{ 0 },
};
