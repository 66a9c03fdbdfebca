// SPDX-License-Identifier: GPL-2.0
/*
 * Memory slots as a running guest sees them: moved, deleted, read-only, logged, two slots on the
 * same memory. The guest makes one access at a time on command and reports what it read. Real KVM
 * must pass all of it too.
 *
 *	memory		prints a line for each failed check, then "done"
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"
#include "self_check.h"

#define PAGE	0x1000ULL
#define OTHER	0x80000000ULL	/* where a second slot goes */
#define ALIAS	0xc0000000ULL

/* An access a round: x2 says load from [x0] or store x1 there; then x1 to the device. */
static const u32 code[] = {
	0xd2a14009,	/*    mov  x9, #0x0a000000 */
	0xf9000121,	/* 0: str  x1, [x9] */
	0xb5000062,	/*    cbnz x2, 1f */
	0xf9400001,	/*    ldr  x1, [x0] */
	0x17fffffd,	/*    b    0b */
	0xf9000001,	/* 1: str  x1, [x0] */
	0x17fffffb,	/*    b    0b */
};

static struct guest g;

/* Run to the next exit; its address, or 0 when there was none. */
static u64 go(void)
{
	if (ioctl(g.vcpu, KVM_RUN, 0)) {
		printf("KVM_RUN: %s\n", strerror(errno));
		return 0;
	}
	return g.run->exit_reason == KVM_EXIT_MMIO ? g.run->mmio.phys_addr : 0;
}

static u64 told(void)
{
	u64 value;

	memcpy(&value, g.run->mmio.data, sizeof(value));
	return value;
}

/* One load; an access that no memory answers is answered with 0xdead, and *missed set. */
static u64 load(u64 addr, bool *missed)
{
	u64 answer = 0xdead, at;

	set_reg(g.vcpu, REG_X(0), addr);
	set_reg(g.vcpu, REG_X(2), 0);
	at = go();
	*missed = at == addr;
	if (at == addr) {
		memcpy(g.run->mmio.data, &answer, sizeof(answer));
		at = go();
	}
	CHECK(at == GUEST_MMIO);
	return told();
}

/* One store; false when it came out as an access to a device. */
static bool store(u64 addr, u64 value)
{
	u64 at;

	set_reg(g.vcpu, REG_X(0), addr);
	set_reg(g.vcpu, REG_X(1), value);
	set_reg(g.vcpu, REG_X(2), 1);
	at = go();
	if (at == addr) {
		CHECK(g.run->mmio.is_write && told() == value);
		CHECK(go() == GUEST_MMIO);
		return false;
	}
	CHECK(at == GUEST_MMIO);
	return true;
}

static int slot(u32 id, u64 gpa, u64 size, void *memory, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = id, .flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	return ioctl(g.vm, KVM_SET_USER_MEMORY_REGION, &mem);
}

static void create_move_delete(void)
{
	u64 *memory = map_memory(16 * PAGE);
	bool missed;

	CHECK(load(OTHER, &missed) == 0xdead && missed);
	CHECK(!slot(1, OTHER, 16 * PAGE, memory, 0));
	memory[0] = 11;
	CHECK(load(OTHER, &missed) == 11 && !missed);
	CHECK(store(OTHER + 8, 12) && memory[1] == 12);
	/* Moved by a page: the old contents are gone from the old address. */
	CHECK(!slot(1, OTHER + PAGE, 16 * PAGE, memory, 0));
	CHECK(load(OTHER, &missed) == 0xdead && missed);
	CHECK(load(OTHER + PAGE + 8, &missed) == 12 && !missed);
	CHECK(!store(OTHER, 5));
	/* Replaced by other memory at the same place. */
	CHECK(!slot(1, 0, 0, NULL, 0));
	CHECK(load(OTHER + PAGE, &missed) == 0xdead && missed);
	memory[PAGE] = 77;	/* its ninth page */
	CHECK(!slot(1, OTHER + PAGE, 8 * PAGE, memory + PAGE, 0));
	CHECK(load(OTHER + PAGE, &missed) == 77 && !missed);
	CHECK(!slot(1, 0, 0, NULL, 0));
	munmap(memory, 16 * PAGE);
}

static void read_only(void)
{
	u64 *memory = map_memory(4 * PAGE);
	bool missed;

	memory[0] = 21;
	CHECK(!slot(1, OTHER, 4 * PAGE, memory, KVM_MEM_READONLY));
	CHECK(!store(OTHER, 22) && memory[0] == 21);
	CHECK(load(OTHER, &missed) == 21 && !missed);
	CHECK(!store(OTHER, 22) && memory[0] == 21);
	memory[0] = 23;
	CHECK(load(OTHER, &missed) == 23 && !missed);
	CHECK(!slot(1, 0, 0, NULL, 0));
	munmap(memory, 4 * PAGE);
}

/* What the VMM does to its memory the guest sees, and the other way. */
static void shared(void)
{
	u64 *memory = map_memory(64 * PAGE);
	bool missed;
	int i;

	CHECK(!slot(1, OTHER, 64 * PAGE, memory, 0));
	CHECK(!slot(2, ALIAS, 64 * PAGE, memory, 0));
	for (i = 0; i < 64; i++) {
		CHECK(store(OTHER + i * PAGE, 100 + i));
		CHECK(load(ALIAS + i * PAGE, &missed) == 100u + i && !missed);
		CHECK(memory[i * PAGE / 8] == 100u + i);
	}
	/* Zeroed behind the guest's back, by taking the pages away. */
	CHECK(!madvise(memory, 64 * PAGE, MADV_REMOVE));
	for (i = 0; i < 64; i += 7)
		CHECK(load(OTHER + i * PAGE, &missed) == 0 && !missed);
	for (i = 0; i < 64; i += 7) {
		CHECK(store(ALIAS + i * PAGE, 200 + i) && memory[i * PAGE / 8] == 200u + i);
		CHECK(load(OTHER + i * PAGE, &missed) == 200u + i && !missed);
	}
	/* One of the two goes; the other stays. */
	CHECK(!slot(1, 0, 0, NULL, 0));
	CHECK(load(OTHER + 7 * PAGE, &missed) == 0xdead && missed);
	CHECK(load(ALIAS + 7 * PAGE, &missed) == 207 && !missed);
	CHECK(!slot(2, 0, 0, NULL, 0));
	munmap(memory, 64 * PAGE);
}

static u64 dirty_word(u32 id)
{
	u64 bits[2] = { ~0ULL, ~0ULL };
	struct kvm_dirty_log log = { .slot = id, .dirty_bitmap = bits };

	CHECK(!ioctl(g.vm, KVM_GET_DIRTY_LOG, &log));
	CHECK(bits[1] == ~0ULL);
	return bits[0];
}

static void dirty_log(void)
{
	u64 *memory = map_memory(64 * PAGE);
	bool missed;

	/* Written before the log is on: not in it. */
	CHECK(!slot(1, OTHER, 64 * PAGE, memory, 0));
	CHECK(store(OTHER, 1) && store(OTHER + 5 * PAGE, 1));
	CHECK(!slot(1, OTHER, 64 * PAGE, memory, KVM_MEM_LOG_DIRTY_PAGES));
	CHECK(dirty_word(1) == 0);
	CHECK(load(OTHER + 3 * PAGE, &missed) == 0 && dirty_word(1) == 0);
	CHECK(store(OTHER, 2) && store(OTHER + 5 * PAGE, 2) && store(OTHER + 63 * PAGE, 2));
	CHECK(dirty_word(1) == (1ULL | 1ULL << 5 | 1ULL << 63));
	CHECK(dirty_word(1) == 0);
	/* The same pages again. */
	CHECK(store(OTHER + 5 * PAGE + 8, 3));
	CHECK(dirty_word(1) == 1ULL << 5);
	/* Off and on. */
	CHECK(store(OTHER + 6 * PAGE, 3));
	CHECK(!slot(1, OTHER, 64 * PAGE, memory, 0));
	CHECK(store(OTHER + 7 * PAGE, 3));
	CHECK(!slot(1, OTHER, 64 * PAGE, memory, KVM_MEM_LOG_DIRTY_PAGES));
	CHECK(dirty_word(1) == 0);
	CHECK(store(OTHER + 7 * PAGE, 4) && dirty_word(1) == 1ULL << 7);
	CHECK(!slot(1, 0, 0, NULL, 0));
	munmap(memory, 64 * PAGE);
}

/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2: reading does not clear, clearing is by page. */
static void manual_log(void)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, .args = { 1 },
	};
	u64 *memory = map_memory(64 * PAGE), clear = 1ULL << 5;
	struct kvm_clear_dirty_log log = { .slot = 1, .num_pages = 64, .dirty_bitmap = &clear };

	CHECK(!ioctl(g.vm, KVM_ENABLE_CAP, &cap));
	CHECK(!slot(1, OTHER, 64 * PAGE, memory, KVM_MEM_LOG_DIRTY_PAGES));
	CHECK(store(OTHER + 4 * PAGE, 2) && store(OTHER + 5 * PAGE, 2));
	CHECK(dirty_word(1) == 0x30);
	CHECK(dirty_word(1) == 0x30);
	CHECK(!ioctl(g.vm, KVM_CLEAR_DIRTY_LOG, &log));
	CHECK(dirty_word(1) == 0x10);
	CHECK(store(OTHER + 5 * PAGE, 3) && dirty_word(1) == 0x30);
	CHECK(!slot(1, 0, 0, NULL, 0));
	munmap(memory, 64 * PAGE);
}

/* More than can be kept account of: taken or refused, without a word in the host's log. */
static void enormous(void)
{
	struct kvm_userspace_memory_region mem = { .memory_size = 3ULL << 40 };
	void *memory = mmap(NULL, mem.memory_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int vm = ioctl(g.kvm, KVM_CREATE_VM, KVM_VM_TYPE_ARM_IPA_SIZE(42));

	CHECK(memory != MAP_FAILED && vm >= 0);
	mem.userspace_addr = (u64)memory;
	CHECK(!ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem) || errno == ENOMEM);
	mem.memory_size = PAGE;
	mem.guest_phys_addr = 4ULL << 40;
	mem.slot = 1;
	CHECK(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem) && errno == EFAULT);
	close(vm);
	munmap(memory, 3ULL << 40);
}

static volatile int buses, bus_code, bus_shift;
static void *volatile bus_at;

static void on_bus(int sig, siginfo_t *info, void *context)
{
	buses++;
	bus_code = info->si_code;
	bus_at = info->si_addr;
	bus_shift = info->si_addr_lsb;
}

/* The guest meets bad memory: the VMM gets a signal that says where, and nothing else changes. */
static void meets_poison(void *at, int shift)
{
	u64 pc = get_reg(g.vcpu, REG_PC);
	int i;

	for (i = 0; i < 2; i++) {
		buses = 0;
		CHECK(ioctl(g.vcpu, KVM_RUN, 0) == -1 && errno == EINTR);
		CHECK(buses == 1 && bus_code == BUS_MCEERR_AR && bus_at == at);
		if (bus_shift != shift)
			printf("FAILED: the signal's shift is %d, not %d\n", bus_shift, shift);
		failures += bus_shift != shift;
	}
	CHECK(g.run->exit_reason == KVM_EXIT_INTR || g.run->exit_reason == KVM_EXIT_UNKNOWN);
	CHECK(get_reg(g.vcpu, REG_PC) - pc <= 8);
}

static void poison(void *at, size_t size)
{
	CHECK(!madvise(at, size, MADV_HWPOISON));
}

/* Pages of a mapping, each touched; one goes bad, is met, and is replaced. */
static void poisoned(size_t page, int flags, int shift)
{
	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	u64 *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, flags, -1, 0);
	u64 *bad = memory + page / 8;
	bool missed;

	CHECK(memory != MAP_FAILED);
	if (memory == MAP_FAILED)
		return;
	memory[0] = 1;
	bad[1] = 2;
	CHECK(!slot(1, OTHER, 2 * page, memory, 0));
	CHECK(load(OTHER, &missed) == 1 && load(OTHER + page + 8, &missed) == 2);
	poison(bad, page);
	set_reg(g.vcpu, REG_X(0), OTHER + page + 8);
	set_reg(g.vcpu, REG_X(2), 0);
	meets_poison(bad, shift);
	set_reg(g.vcpu, REG_X(2), 1);
	meets_poison(bad, shift);
	/* As a VMM that recovers does. */
	CHECK(mmap(bad, page, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == bad);
	bad[1] = 3;
	CHECK(load(OTHER + page + 8, &missed) == 3 && load(OTHER, &missed) == 1);
	CHECK(!slot(1, 0, 0, NULL, 0));
	munmap(memory, 2 * page);
}

static void bad_memory(void)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
	poisoned(PAGE, 0, 12);
	CHECK(write_file("/proc/sys/vm/nr_hugepages", "4"));
	poisoned(PAGE << 9, MAP_HUGETLB, 21);
	CHECK(write_file("/proc/sys/vm/nr_hugepages", "0"));
	/* The guest's own code. */
	poison(g.memory, PAGE);
	meets_poison(g.memory, 12);
}

int main(void)
{
	new_guest(&g, code, sizeof(code));
	CHECK(go() == GUEST_MMIO);
	create_move_delete();
	read_only();
	shared();
	dirty_log();
	manual_log();
	enormous();
	bad_memory();
	free_guest(&g);
	if (failures)
		return 1;
	printf("done\n");
	return 0;
}
