// SPDX-License-Identifier: GPL-2.0
/*
 * Actions of a VMM that must not harm the host: take guest memory away, close files, die, fork,
 * pass junk, and let its devices signal while its vCPUs run. Each part checks what it can see. The
 * lab checks that the host's log stays clean.
 *
 *	hostile [PART...]	runs those parts, or all; ends with "done"
 *	PERCENT=n		repeats frequent actions only so often
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

/* Of this process and its children. */
static int *failures;

/* Until a wait is taken for a hang, on a machine that does much else. */
#define PATIENCE_MS	600000

int times(int n)
{
	int some = n * (int)number_of("PERCENT", 100) / 100;

	return some > 1 ? some : 1;
}

void expect(bool condition, const char *what, ...)
{
	va_list args;

	if (condition)
		return;
	__atomic_fetch_add(failures, 1, __ATOMIC_RELAXED);
	fflush(stdout);
	fprintf(stderr, "FAILED: ");
	va_start(args, what);
	vfprintf(stderr, what, args);
	va_end(args);
	fprintf(stderr, "\n");
}

const u32 guest_writer[32] = {
	0xd2a14000,	/*    mov  x0, #0x0a000000 */
	0xd2a80001,	/* 0: mov  x1, #0x40000000 */
	0x91400421,	/*    add  x1, x1, #0x1000 */
	0xd2a80402,	/*    mov  x2, #0x40200000 */
	0xf9000021,	/* 1: str  x1, [x1] */
	0x91020021,	/*    add  x1, x1, #0x80 */
	0xeb02003f,	/*    cmp  x1, x2 */
	0x54ffffa1,	/*    b.ne 1b */
	0xf9000001,	/*    str  x1, [x0] */
	0x17fffff8,	/*    b    0b */
};

const u32 guest_mmio[32] = {
	0xd2a14000,	/*    mov  x0, #0x0a000000 */
	0xf9400001,	/* 0: ldr  x1, [x0] */
	0x17ffffff,	/*    b    0b */
};

static void on_signal(int number)
{
}

static void *run_thread(void *arg)
{
	struct runner *r = arg;

	__atomic_store_n(&r->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		if (ioctl(r->g.vcpu, KVM_RUN, 0) && errno != EINTR) {
			__atomic_store_n(&r->error, errno, __ATOMIC_RELEASE);
			break;
		}
		if (r->tells && r->g.run->exit_reason == KVM_EXIT_MMIO &&
		    r->g.run->mmio.phys_addr == GUEST_BAD) {
			__atomic_store_n(&r->error, EBADMSG, __ATOMIC_RELEASE);
			break;
		}
		__atomic_fetch_add(&r->exits, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

void run_in_thread(struct runner *r)
{
	if (pthread_create(&r->thread, NULL, run_thread, r))
		die("pthread_create");
}

void start_runner(struct runner *r, const u32 *code, size_t size)
{
	memset(r, 0, sizeof(*r));
	new_guest(&r->g, code, size);
	run_in_thread(r);
}

void start_runner_on(struct runner *r, const u32 *code, size_t size, void *memory)
{
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = GUEST_BASE, .memory_size = GUEST_SIZE,
		.userspace_addr = (u64)memory,
	};
	struct guest *g = &r->g;

	memset(r, 0, sizeof(*r));
	r->tells = true;
	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	g->vcpu = new_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	init_vcpu(g->vcpu);
	g->memory = memory;
	memcpy(memory, code, size);
	if (ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
	run_in_thread(r);
}

int stop_runner(struct runner *r)
{
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	while (pthread_tryjoin_np(r->thread, NULL)) {
		pthread_kill(r->thread, SIGUSR1);
		usleep(1000);
	}
	return r->error;
}

bool runner_progress(struct runner *r, unsigned long n)
{
	unsigned long from = __atomic_load_n(&r->exits, __ATOMIC_ACQUIRE);
	int ms;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		if (__atomic_load_n(&r->exits, __ATOMIC_ACQUIRE) >= from + n)
			return true;
		if (__atomic_load_n(&r->error, __ATOMIC_ACQUIRE))
			return false;
		usleep(1000);
	}
	return false;
}

bool runner_ends(struct runner *r)
{
	int ms;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		if (__atomic_load_n(&r->error, __ATOMIC_ACQUIRE))
			return true;
		usleep(1000);
	}
	return false;
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "memory", hostile_memory },
	{ "files", hostile_files },
	{ "processes", hostile_processes },
	{ "arguments", hostile_arguments },
	{ "many", hostile_many },
	{ "swap", hostile_swap },
	{ "power", hostile_power },
	{ "odd", hostile_odd },
	{ "close", hostile_close },
	{ "guests", hostile_guests },
	{ "allocations", hostile_allocations },
	{ "messages", hostile_messages },
	{ "changed", hostile_changed },
	{ "protected", hostile_protected },
	{ "gmem", hostile_gmem },
};

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	size_t i;

	failures = mmap(NULL, sizeof(*failures), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (failures == MAP_FAILED)
		die("mmap");
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!is_wanted(parts[i].name, argc, argv))
			continue;
		printf("%s\n", parts[i].name);
		fflush(stdout);
		parts[i].run();
	}
	printf(*failures ? "%d failures\n" : "done\n", *failures);
	return !!*failures;
}
