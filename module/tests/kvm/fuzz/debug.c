// SPDX-License-Identifier: GPL-2.0
/*
 * The host's debugging facilities while guests run: tracepoints, hardware watchpoints on addresses
 * that guests use, a debugger on a vCPU's thread; and an attempt to unload the module.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

static void unload(struct actor *a)
{
	long ret = syscall(SYS_delete_module, "armvisor", O_NONBLOCK);

	if (!ret)
		complain("seed %llu: the module went away under its VMs",
			 (unsigned long long)a->w->seed);
	a->done = ret < 0 && errno != ENOENT;
}

/* Patches the kernel's text under all CPUs, those too that are with a guest. */
static void tracepoints(struct actor *a)
{
	static const char *const files[] = {
		"/sys/kernel/tracing/events/armvisor/enable", "/sys/kernel/tracing/events/kvm/enable",
	};
	unsigned int i, times = pick(a, 4), delay = pick(a, 1000);

	for (i = 0; i <= times; i++) {
		if (!write_file(files[0], i & 1 ? "0" : "1") &&
		    !write_file(files[1], i & 1 ? "0" : "1"))
			return;
		usleep(delay);
	}
	a->done = true;
	write_file(files[0], "0");
	write_file(files[1], "0");
}

/*
 * Keep perf's hooks in the scheduler for as long as the run lasts. They come
 * and go with the first and the last event that counts a task, by patching the
 * kernel's text. An emulator that runs CPUs in threads of their own was seen to
 * go on with code from before a patch: perf's context then misses a switch, and
 * the host warns in ctx_sched_in() of something that no hypervisor did.
 */
void keep_perf_hooks(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr), .exclude_kernel = 1,
	};

	/* A kernel without perf has no hooks. The file is kept until this process ends. */
	syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* On a CPU of the host's, whatever it runs, or on this thread: at an address of the guest's. */
static void watchpoint(struct actor *a)
{
	static const u64 addresses[] = { GUEST_BASE + 0x140000, GUEST_BASE + 0x1000,
					 GUEST_MMIO, EXTRA_BASE, GUEST_BASE + 0x601000 };
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .exclude_kernel = 1,
		.bp_type = one_in(a, 3) ? HW_BREAKPOINT_X : HW_BREAKPOINT_RW,
		.bp_addr = addresses[pick(a, ARRAY_SIZE(addresses))],
	};
	int cpu = one_in(a, 3) ? -1 : (int)pick(a, get_nprocs_conf()), fd;

	attr.bp_len = attr.bp_type == HW_BREAKPOINT_X ? 4 : HW_BREAKPOINT_LEN_8;
	fd = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	judge(a, fd);
	if (fd < 0)
		return;
	usleep(pick(a, 5000));
	close(fd);
}

/* Until the thread has stopped, or for so long that it may not be there any more. */
static bool stops(pid_t thread)
{
	int i, status;

	for (i = 0; i < 1000; i++) {
		if (waitpid(thread, &status, __WALL | WNOHANG) == thread)
			return WIFSTOPPED(status);
		usleep(100);
	}
	return false;
}

/* The debugger's process: registers read and written back, some system calls followed. */
static void debug(pid_t thread, bool follows)
{
	static const int sets[] = { NT_PRSTATUS, NT_PRFPREG, NT_ARM_TLS, NT_ARM_HW_WATCH };
	u64 registers[128];
	struct iovec io;
	size_t i;

	if (ptrace(PTRACE_SEIZE, thread, 0, 0) || ptrace(PTRACE_INTERRUPT, thread, 0, 0) ||
	    !stops(thread))
		return;
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		io = (struct iovec){ registers, sizeof(registers) };
		if (!ptrace(PTRACE_GETREGSET, thread, sets[i], &io))
			ptrace(PTRACE_SETREGSET, thread, sets[i], &io);
	}
	for (i = 0; i < 4 && follows; i++)
		if (ptrace(PTRACE_SYSCALL, thread, 0, 0) || !stops(thread))
			break;
	/* Or the thread is let go by this process's end. */
	if (!follows)
		ptrace(PTRACE_DETACH, thread, 0, 0);
}

static void debugger(struct actor *a)
{
	unsigned int cpu = pick(a, MAX_CPUS);
	pid_t thread = __atomic_load_n(&a->w->tid[cpu], __ATOMIC_ACQUIRE), child;
	bool follows = one_in(a, 2);
	int status;

	child = thread ? fork() : -1;
	if (!child) {
		debug(thread, follows);
		_exit(0);
	}
	if (child < 0)
		return;
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	a->done = true;
}

const struct op debug_ops[] = {
	{ "unload",		2, unload },
	{ "tracepoints",	2, tracepoints },
	{ "watchpoint",		4, watchpoint },
	{ "debugger",		4, debugger },
	{ }
};
