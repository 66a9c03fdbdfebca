// SPDX-License-Identifier: GPL-2.0
/* A debugger and a profiler of the threads that run a protected VM's vCPUs. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <asm/perf_regs.h>
#include <asm/ptrace.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "siege.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL	0x404
#endif

#define RING_PAGES	64

/* The registers that the kernel keeps for the thread: its own, not its guest's. */
static void look_at_registers(int tid)
{
	static const int sets[] = {
		NT_PRSTATUS, NT_PRFPREG, NT_ARM_TLS, NT_ARM_HW_BREAK, NT_ARM_HW_WATCH,
		NT_ARM_SYSTEM_CALL,
	};
	u64 words[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		struct iovec to = { words, sizeof(words) };

		memset(words, 0, sizeof(words));
		if (!ptrace(PTRACE_GETREGSET, tid, sets[i], &to))
			look_for_secret("PTRACE_GETREGSET", words, to.iov_len);
	}
}

/* Of all accesses of user mode to the guest's first page, and of its code: the guest's too? */
static void set_traps(int tid)
{
	struct user_hwdebug_state state = {
		.dbg_regs = { { .addr = GUEST_BASE + SIEGE_FIRST, .ctrl = 0xff << 5 | 3 << 3 | 2 << 1 | 1 } },
	};
	struct iovec from = { &state, offsetof(struct user_hwdebug_state, dbg_regs[1]) };

	ptrace(PTRACE_SETREGSET, tid, NT_ARM_HW_WATCH, &from);
	state.dbg_regs[0].addr = GUEST_BASE + 0x40;
	state.dbg_regs[0].ctrl = 0xf << 5 | 2 << 1 | 1;
	ptrace(PTRACE_SETREGSET, tid, NT_ARM_HW_BREAK, &from);
}

static void debug_thread(struct siege *s, int tid, u64 round)
{
	char *page = s->memory + SIEGE_FIRST + round % SIEGE_PAGES * SIEGE_PAGE;
	u64 word;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return;
	if (!ptrace(PTRACE_INTERRUPT, tid, 0, 0) && waitpid(tid, NULL, __WALL) == tid) {
		look_at_registers(tid);
		set_traps(tid);
		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, page, 0);
		look_for_secret("PTRACE_PEEKDATA", &word, sizeof(word));
		ptrace(PTRACE_POKEDATA, tid, page, EVIL);
		if (round % 2)
			ptrace(PTRACE_SINGLESTEP, tid, 0, 0);
		if (round % 2)
			waitpid(tid, NULL, __WALL);
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

void debug_siege(struct siege *s, pid_t vmm, const bool *stop)
{
	u64 round;

	for (round = 0; !__atomic_load_n(stop, __ATOMIC_ACQUIRE); round++) {
		debug_thread(s, s->cpu[round % s->nr_cpus].tid, round);
		usleep(500);
	}
}

/* User mode in a trace is the guest's, if it is traced at all. */
static int open_profile(int tid, u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .sample_period = 20011,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
			       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ADDR,
		.sample_regs_user = (1ULL << PERF_REG_ARM64_MAX) - 1,
		.sample_regs_intr = (1ULL << PERF_REG_ARM64_MAX) - 1,
		.sample_stack_user = 2048, .exclude_kernel = 1, .exclude_hv = 1, .precise_ip = 0,
	};

	return syscall(SYS_perf_event_open, &attr, tid, -1, -1, 0);
}

/* How much was told, 0: the host has no such event. */
static unsigned long profile(int tid, u32 type, u64 config, const char *name, unsigned int ms)
{
	const size_t size = (1 + RING_PAGES) * SIEGE_PAGE;
	struct perf_event_mmap_page *ring;
	int event = open_profile(tid, type, config);
	unsigned long samples = 0;

	if (event < 0)
		return 0;
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if (ring != MAP_FAILED) {
		for (; ms; ms -= ms < 10 ? ms : 10) {
			usleep(10000);
			look_for_secret(name, (char *)ring + SIEGE_PAGE, RING_PAGES * SIEGE_PAGE);
			samples = ring->data_head;
			ring->data_tail = ring->data_head;
		}
		munmap(ring, size);
	}
	close(event);
	return samples;
}

void profile_siege(struct siege *s, unsigned int ms)
{
	int tid = s->cpu[0].tid;
	unsigned long cycles, clock;

	cycles = profile(tid, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "perf: cycles", ms / 2);
	clock = profile(tid, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "perf: clock", ms / 2);
	printf("protected: perf told %s of cycles, %s of time\n", cycles ? "something" : "nothing",
	       clock ? "something" : "nothing");
}
