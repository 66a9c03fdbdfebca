// SPDX-License-Identifier: GPL-2.0
/* Exceptions of user space that become signals: the handler steps over the instruction. */
#define _GNU_SOURCE
#include "ops.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile uint64_t handled;

static void step_over(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	handled++;
	user->uc_mcontext.pc += 4;
}

static void catch(int number)
{
	struct sigaction action = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };

	ops_must(!sigaction(number, &action, NULL), "sigaction");
}

static void assert_handled(uint64_t before, uint64_t loops)
{
	ops_must(handled - before == loops, "an exception did not become a signal");
}

static void catch_segv(void)
{
	catch(SIGSEGV);
}

static void leave_segv(void)
{
	signal(SIGSEGV, SIG_DFL);
}

/* A load from an address that no table has. */
static void run_segv(uint64_t loops)
{
	uint64_t before = handled, i, value;

	for (i = 0; i < loops; i++)
		asm volatile("ldr %0, [%1]" : "=r" (value) : "r" (8UL) : "memory");
	assert_handled(before, loops);
}

/* A jump to where nothing may be executed comes back by the link register. */
static char *data;

static void go_back(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	handled++;
	user->uc_mcontext.pc = user->uc_mcontext.regs[30];
}

static void catch_jump(void)
{
	struct sigaction action = { .sa_sigaction = go_back, .sa_flags = SA_SIGINFO };

	data = ops_map(OPS_PAGE);
	*data = 1;
	ops_must(!sigaction(SIGSEGV, &action, NULL), "sigaction");
}

static void leave_jump(void)
{
	leave_segv();
	ops_unmap(data, OPS_PAGE);
}

static void run_jump(uint64_t loops)
{
	uint64_t before = handled, i;

	for (i = 0; i < loops; i++)
		asm volatile("blr %0" : : "r" (data) : "x30", "memory");
	assert_handled(before, loops);
}

static int file = -1;
static char *beyond;

/* A page of a mapping that its file does not reach. */
static void catch_bus(void)
{
	file = memfd_create("ops", MFD_CLOEXEC);
	beyond = mmap(NULL, OPS_PAGE, PROT_READ, MAP_SHARED, file, 0);
	ops_must(file >= 0 && beyond != MAP_FAILED, "cannot map a file");
	catch(SIGBUS);
}

static void leave_bus(void)
{
	signal(SIGBUS, SIG_DFL);
	ops_unmap(beyond, OPS_PAGE);
	close(file);
}

static void run_bus(uint64_t loops)
{
	uint64_t before = handled, i, value;

	for (i = 0; i < loops; i++)
		asm volatile("ldr %0, [%1]" : "=r" (value) : "r" (beyond) : "memory");
	assert_handled(before, loops);
}

/* Exclusive accesses are aligned. */
static void catch_unaligned(void)
{
	data = ops_map(OPS_PAGE);
	*data = 1;
	catch(SIGBUS);
}

static void leave_unaligned(void)
{
	signal(SIGBUS, SIG_DFL);
	ops_unmap(data, OPS_PAGE);
}

static void run_unaligned(uint64_t loops)
{
	uint64_t before = handled, i, value;

	for (i = 0; i < loops; i++)
		asm volatile("ldxr %0, [%1]" : "=r" (value) : "r" (data + 1) : "memory");
	assert_handled(before, loops);
}

static void catch_ill(void)
{
	catch(SIGILL);
}

static void leave_ill(void)
{
	signal(SIGILL, SIG_DFL);
}

static void run_ill(uint64_t loops)
{
	uint64_t before = handled, i;

	for (i = 0; i < loops; i++)
		asm volatile("udf #0");
	assert_handled(before, loops);
}

static void catch_trap(void)
{
	catch(SIGTRAP);
}

static void leave_trap(void)
{
	signal(SIGTRAP, SIG_DFL);
}

static void run_trap(uint64_t loops)
{
	uint64_t before = handled, i;

	for (i = 0; i < loops; i++)
		asm volatile("brk #1");
	assert_handled(before, loops);
}

const struct lat_row ops_faults[] = {
	{ "sigsegv", catch_segv, run_segv, leave_segv, 100 },
	{ "sigsegv-execute", catch_jump, run_jump, leave_jump, 100 },
	{ "sigbus", catch_bus, run_bus, leave_bus, 100 },
	{ "sigbus-unaligned", catch_unaligned, run_unaligned, leave_unaligned, 100 },
	{ "sigill", catch_ill, run_ill, leave_ill, 100 },
	{ "sigtrap", catch_trap, run_trap, leave_trap, 100 },
	{ 0 },
};
