// SPDX-License-Identifier: GPL-2.0
/*
 * Tracing, for which the kernel changes its own code: turned on and off, and a traced call. The
 * rows leave tracing as it was.
 */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define FUNCTION "vfs_read"

/* A change of code waits until no CPU runs the old one. */
static void mount_tracing(void)
{
	lat_waits();
	ops_must(!mount("tracefs", TRACING, "tracefs", 0, NULL) || errno == EBUSY, "tracefs");
}

static void run_event(uint64_t loops)
{
	while (loops--) {
		ops_tell(TRACING "events/sched/sched_switch/enable", "1");
		ops_tell(TRACING "events/sched/sched_switch/enable", "0");
	}
}

/* A switch of the scheduler's that is a branch in its code. */
static void run_static_key(uint64_t loops)
{
	while (loops--) {
		ops_tell("/proc/sys/kernel/sched_schedstats", "1");
		ops_tell("/proc/sys/kernel/sched_schedstats", "0");
	}
}

static void choose_function(void)
{
	mount_tracing();
	ops_tell(TRACING "set_ftrace_filter", FUNCTION);
}

static void choose_all(void)
{
	ops_tell(TRACING "set_ftrace_filter", "");
	ops_tell(TRACING "trace", "");
}

static void set_tracer(const char *name)
{
	ops_tell(TRACING "current_tracer", name);
}

static void run_tracer(uint64_t loops)
{
	while (loops--) {
		set_tracer("function");
		set_tracer("nop");
	}
}

static int zero = -1;

static void open_zero(void)
{
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ops_must(zero >= 0, "/dev/zero");
}

static void trace_with(const char *name)
{
	choose_function();
	set_tracer(name);
	open_zero();
}

static void trace_function(void)
{
	trace_with("function");
}

static void trace_graph(void)
{
	trace_with("function_graph");
}

static void stop_tracing(void)
{
	close(zero);
	set_tracer("nop");
	choose_all();
}

static void run_read(uint64_t loops)
{
	char byte;

	while (loops--)
		ops_must(read(zero, &byte, 1) == 1, "/dev/zero");
}

static void add_probe(void)
{
	mount_tracing();
	ops_tell(TRACING "kprobe_events", "p:ops/ours " FUNCTION "+8");
}

static void drop_probe(void)
{
	ops_tell(TRACING "kprobe_events", "");
	ops_tell(TRACING "trace", "");
}

static void run_probe(uint64_t loops)
{
	while (loops--) {
		ops_tell(TRACING "events/ops/ours/enable", "1");
		ops_tell(TRACING "events/ops/ours/enable", "0");
	}
}

static void trace_probe(void)
{
	add_probe();
	ops_tell(TRACING "events/ops/ours/enable", "1");
	open_zero();
}

static void stop_probe(void)
{
	close(zero);
	ops_tell(TRACING "events/ops/ours/enable", "0");
	drop_probe();
}

static int console = -1;

static void open_console(void)
{
	console = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	ops_must(console >= 0, "/dev/console");
}

static void close_console(void)
{
	ops_must(write(console, "\n", 1) == 1, "/dev/console");
	close(console);
}

/* A blank, until the device has it. */
static void run_console(uint64_t loops)
{
	while (loops--)
		ops_must(write(console, " ", 1) == 1 && !tcdrain(console), "/dev/console");
}

const struct lat_row ops_trace[] = {
	{ "trace-event", mount_tracing, run_event, NULL, 5 },
	{ "static-key", mount_tracing, run_static_key, NULL, 5 },
	{ "tracer-one", choose_function, run_tracer, choose_all, 2 },
	{ "traced-read", trace_function, run_read, stop_tracing, 200 },
	{ "graph-read", trace_graph, run_read, stop_tracing, 200 },
	{ "kprobe", add_probe, run_probe, drop_probe, 3 },
	{ "kprobe-read", trace_probe, run_read, stop_probe, 100 },
	{ "tracer-all", mount_tracing, run_tracer, NULL, 1 },
	{ "console-byte", open_console, run_console, close_console, 20 },
	{ 0 },
};
