// SPDX-License-Identifier: GPL-2.0
/*
 * Does a guest ever see stale memory? See stale.h. Real KVM must pass all of it too.
 *
 *	stale [PART...]		runs those parts, or all; ends with "done"
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stale.h"

extern const char __start_guest_text[], __stop_guest_text[], guest_vectors[];

#define SCTLR	ARM64_SYS_REG(3, 0, 1, 0, 0)
#define TTBR0	ARM64_SYS_REG(3, 0, 2, 0, 0)
#define TTBR1	ARM64_SYS_REG(3, 0, 2, 0, 1)
#define TCR	ARM64_SYS_REG(3, 0, 2, 0, 2)
#define MAIR	ARM64_SYS_REG(3, 0, 10, 2, 0)
#define VBAR	ARM64_SYS_REG(3, 0, 12, 0, 0)
#define CNTKCTL	ARM64_SYS_REG(3, 0, 14, 1, 0)

#define SCTLR_RES1	0x30d00800ULL
/* EL0's rights are those of common kernels: UCI, nTWE, nTWI, UCT, DZE, SA0, SA, C, M; EL0VCTEN. */
#define SCTLR_VALUE	(SCTLR_RES1 | 1 << 26 | 1 << 18 | 1 << 16 | 1 << 15 | 1 << 14 | 1 << 4 | 1 << 3 | \
			 1 << 2 | 1)
#define CNTKCTL_VALUE	2
/* 48 bits, 4 KiB, Normal and shared, 40 bits of addresses, tags as Linux has them. */
#define TCR_VALUE	(16 | 1 << 8 | 1 << 10 | 3 << 12 | 16 << 16 | 1 << 24 | 1 << 26 | 3 << 28 | \
			 2ULL << 30 | 2ULL << 32 | 3ULL << 37)
#define DEVICE_BLOCK	0x405ULL	/* attribute 1 */

#define L0_LOW	(GUEST_BASE + TABLES)
#define L0_HIGH	(L0_LOW + PAGE)

/* Seconds after which a guest without progress counts as hung. */
#define PATIENCE	60

int failures;

void expect(bool condition, const char *what, ...)
{
	char text[256];
	va_list args;

	if (condition)
		return;
	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	printf("FAILED: %s\n", text);
	fflush(stdout);
	failures++;
}

u64 setting(const char *name, u64 usual)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : usual;
}

u64 *entries(struct machine *m, u64 gpa)
{
	return (u64 *)(m->memory + (gpa - GUEST_BASE));
}

u64 new_table(struct machine *m)
{
	m->next_table += PAGE;
	return GUEST_BASE + m->next_table - PAGE;
}

u64 *map_page(struct machine *m, u64 va, u64 desc)
{
	return map_leaf(m, va, desc, 12);
}

u64 *map_leaf(struct machine *m, u64 va, u64 desc, int last)
{
	u64 *entry = entries(m, va >> 55 ? L0_HIGH : L0_LOW);
	int shift;

	for (shift = 39;; shift -= 9) {
		entry += va >> shift & 511;
		if (shift == last)
			break;
		if (!*entry)
			*entry = new_table(m) | DESC_TABLE;
		entry = entries(m, *entry & ~(PAGE - 1));
	}
	*entry = desc;
	return entry;
}

void pages_slot(struct machine *m, void *memory, u64 size, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 1, .flags = flags, .guest_phys_addr = FRAMES, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	if (ioctl(m->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

static void on_signal(int number)
{
}

void new_machine(struct machine *m)
{
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = GUEST_BASE, .memory_size = GUEST_SIZE,
	};
	struct sigaction action = { .sa_handler = on_signal };
	u64 *l1, i;

	sigaction(SIGUSR1, &action, NULL);
	memset(m, 0, sizeof(*m));
	m->kvm = open_kvm();
	m->vm = new_vm(m->kvm);
	m->vm_stats = ioctl(m->vm, KVM_GET_STATS_FD, 0);
	m->memory = map_memory(GUEST_SIZE);
	m->ctl = (struct ctl *)(m->memory + CTL);
	mem.userspace_addr = (u64)m->memory;
	if (ioctl(m->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
	if (__stop_guest_text - __start_guest_text > CTL || sizeof(struct ctl) > STACKS - CTL)
		die("the guest is too large");
	memcpy(m->memory, __start_guest_text, __stop_guest_text - __start_guest_text);
	m->next_table = TABLES + 2 * PAGE;
	/* All memory as it is, and the device. */
	entries(m, L0_HIGH)[256] = new_table(m) | DESC_TABLE;
	l1 = entries(m, entries(m, L0_HIGH)[256] & ~(PAGE - 1));
	l1[0] = DEVICE_BLOCK;
	for (i = 1; i < 512; i++)
		l1[i] = i << 30 | DESC_BLOCK;
}

static u64 va_of(const void *at)
{
	return STALE_HIGH + GUEST_BASE + ((const char *)at - __start_guest_text);
}

static void tell(struct vcpu *v)
{
	static const char *const words[] = {
		[BAD_FAULT] = "unexpected fault", [BAD_OLD] = "old content", [BAD_COUNT] = "lost count",
		[BAD_RIGHTS] = "wrong rights", [BAD_GARBAGE] = "garbage",
		[BAD_USER] = "EL0 got another answer",
	};
	u64 what = get_reg(v->fd, REG_X(0));

	expect(false, "vCPU %d: %s: %#llx, %#llx, %#llx", v->id,
	       what < ARRAY_SIZE(words) && words[what] ? words[what] : "?",
	       (unsigned long long)get_reg(v->fd, REG_X(1)),
	       (unsigned long long)get_reg(v->fd, REG_X(2)),
	       (unsigned long long)get_reg(v->fd, REG_X(3)));
}

/* False: the vCPU is to stop. */
static bool handle(struct vcpu *v)
{
	struct machine *m = v->m;
	u64 at = v->run->mmio.phys_addr;

	if (v->run->exit_reason == KVM_EXIT_INTR)
		return true;
	if (v->run->exit_reason != KVM_EXIT_MMIO) {
		expect(false, "vCPU %d ended with %u", v->id, v->run->exit_reason);
		return false;
	}
	if (at == GUEST_MMIO)
		return true;
	if (at - FRAMES < (STALE_PAGES + IN_BLOCK) * PAGE &&
	    __atomic_load_n(&m->may_miss, __ATOMIC_ACQUIRE)) {
		/* Newer than anything. */
		memset(v->run->mmio.data, 0x7f, sizeof(v->run->mmio.data));
		__atomic_fetch_add(&m->misses, 1, __ATOMIC_RELEASE);
		return true;
	}
	if (at == GUEST_BAD)
		tell(v);
	else
		expect(false, "vCPU %d: an access to %#llx", v->id, (unsigned long long)at);
	return false;
}

static void *run_vcpu(void *arg)
{
	struct vcpu *v = arg;
	struct machine *m = v->m;
	bool may_fault;

	while (!__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE)) {
		/* Allowed before or after it was read: it changes meanwhile. */
		may_fault = __atomic_load_n(&m->may_fault, __ATOMIC_ACQUIRE);
		if (!ioctl(v->fd, KVM_RUN, 0)) {
			if (!handle(v))
				break;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EFAULT ||
		    !(may_fault | __atomic_load_n(&m->may_fault, __ATOMIC_ACQUIRE))) {
			expect(false, "vCPU %d: %s", v->id, strerror(errno));
			break;
		}
		__atomic_fetch_add(&m->faults, 1, __ATOMIC_RELEASE);
		usleep(200);
	}
	return NULL;
}

void start_vcpu(struct machine *m, void (*program)(struct ctl *c))
{
	struct vcpu *v = &m->vcpus[m->nr];

	v->m = m;
	v->id = m->nr;
	v->fd = new_vcpu(m->vm, v->id);
	v->run = map_run(m->kvm, v->fd);
	init_vcpu(v->fd);
	set_reg(v->fd, MAIR, 0x00ff);
	set_reg(v->fd, TCR, TCR_VALUE);
	set_reg(v->fd, TTBR0, L0_LOW | (u64)STALE_ASID << 48);
	set_reg(v->fd, TTBR1, L0_HIGH);
	set_reg(v->fd, SCTLR, SCTLR_VALUE);
	set_reg(v->fd, CNTKCTL, CNTKCTL_VALUE);
	set_reg(v->fd, VBAR, va_of(guest_vectors));
	set_reg(v->fd, REG_CORE(sp_el1),
		STALE_HIGH + GUEST_BASE + STACKS + (v->id + 1) * PAGE);
	set_reg(v->fd, REG_PC, va_of((const void *)program));
	set_reg(v->fd, REG_X(0), STALE_HIGH + GUEST_BASE + CTL);
	m->nr++;
	if (pthread_create(&v->thread, NULL, run_vcpu, v))
		die("pthread_create");
}

void stop_vcpus(struct machine *m)
{
	int i;

	if (m->stop)
		return;
	__atomic_store_n(&m->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < m->nr; i++) {
		m->vcpus[i].run->immediate_exit = 1;
		pthread_kill(m->vcpus[i].thread, SIGUSR1);
		pthread_join(m->vcpus[i].thread, NULL);
	}
}

void free_machine(struct machine *m)
{
	int i;

	stop_vcpus(m);
	for (i = 0; i < m->nr; i++) {
		munmap(m->vcpus[i].run, ioctl(m->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
		close(m->vcpus[i].fd);
	}
	munmap(m->memory, GUEST_SIZE);
	close(m->vm_stats);
	close(m->vm);
	close(m->kvm);
}

bool progress(struct machine *m, int vcpu, u64 rounds)
{
	u64 *at = &m->ctl->rounds[vcpu], from = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	u64 wait;

	for (wait = 0; wait < PATIENCE * 5000 && !failures; wait++) {
		if (__atomic_load_n(at, __ATOMIC_ACQUIRE) - from >= rounds)
			return true;
		usleep(200);
	}
	expect(failures, "vCPU %d: no progress", vcpu);
	return false;
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "replaced", stale_replaced },
	{ "kept", stale_kept },
	{ "logged", stale_logged },
	{ "poked", stale_poked },
	{ "rights", stale_rights },
	{ "moved", stale_moved },
	{ "leaf", stale_leaf },
	{ "adjacent", stale_adjacent },
	{ "own", stale_own },
	{ "user", stale_user },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts) && !failures; i++) {
		if (!is_wanted(parts[i].name, argc, argv))
			continue;
		parts[i].run();
		printf("%s: %s\n", parts[i].name, failures ? "failed" : "passed");
		fflush(stdout);
	}
	if (failures)
		return 1;
	printf("done\n");
	return 0;
}
