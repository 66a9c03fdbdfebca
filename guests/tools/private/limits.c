// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that KVM permits a VMM on a VM, before its guest has run and after. A line has the errno of
 * each attempt, 0 if it was accepted; a row that prints more says so.
 */
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OFFSET		(64 * PUPPET_PAGE)
#define AT		(PUPPET_RAM + OFFSET)
#define OTHER_AT	(PUPPET_RAM + 4 * PUPPET_SIZE)
#define CALL_SHARE	0xc6000003

static void add(char *said, const char *word)
{
	size_t used = strlen(said);

	snprintf(said + used, SAID_SIZE - used, "%s%s", used ? " " : "", word);
}

static void add_result(char *said, int result)
{
	add(said, error_name(result < 0 ? errno : 0));
}

static int set_slot(struct subject *subject, unsigned int slot, unsigned int flags,
		    uint64_t address, uint64_t size)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = address,
		.memory_size = size,
		.userspace_addr = (uintptr_t)subject->ram,
	};

	return ioctl(subject->puppet.vm, KVM_SET_USER_MEMORY_REGION, &region);
}

static void run_once(struct subject *subject)
{
	puppet_store(&subject->puppet, AT, 1);
}

static void try_slots(struct subject *subject, char *said)
{
	add_result(said, set_slot(subject, 1, KVM_MEM_READONLY, OTHER_AT, PUPPET_PAGE));
	add_result(said, set_slot(subject, 2, KVM_MEM_LOG_DIRTY_PAGES, 2 * OTHER_AT, PUPPET_PAGE));
	add_result(said, set_slot(subject, 0, KVM_MEM_LOG_DIRTY_PAGES, PUPPET_RAM, PUPPET_SIZE));
	add_result(said, set_slot(subject, 0, 0, PUPPET_RAM, 0));
	add_result(said, set_slot(subject, 0, 0, PUPPET_RAM, PUPPET_SIZE));
}

static void try_slots_later(struct subject *subject, char *said)
{
	run_once(subject);
	add_result(said, set_slot(subject, 1, 0, OTHER_AT, PUPPET_PAGE));
	add_result(said, set_slot(subject, 1, 0, OTHER_AT, 0));
	add_result(said, set_slot(subject, 0, 0, OTHER_AT + PUPPET_SIZE, PUPPET_SIZE));
	add_result(said, set_slot(subject, 0, 0, PUPPET_RAM, 0));
}

static void try_target(struct subject *subject, char *said)
{
	struct kvm_vcpu_init init = { 0 };

	add_result(said, ioctl(subject->puppet.vm, KVM_ARM_PREFERRED_TARGET, &init));
}

/* The VM's capabilities by KVM_CHECK_EXTENSION. */
static void try_capabilities(struct subject *subject, char *said)
{
	static const struct {
		const char *name;
		int number;
	} caps[] = {
		{ "irqfd", KVM_CAP_IRQFD },
		{ "ioeventfd", KVM_CAP_IOEVENTFD },
		{ "coalesced", KVM_CAP_COALESCED_MMIO },
		{ "readonly", KVM_CAP_READONLY_MEM },
		{ "immediate", KVM_CAP_IMMEDIATE_EXIT },
		{ "pmu", KVM_CAP_ARM_PMU_V3 },
		{ "debug", KVM_CAP_SET_GUEST_DEBUG },
		{ "psci", KVM_CAP_ARM_PSCI_0_2 },
		{ "one-reg", KVM_CAP_ONE_REG },
		{ "vcpus", KVM_CAP_MAX_VCPUS },
	};
	char word[32];
	unsigned int i;
	int has;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		has = ioctl(subject->puppet.vm, KVM_CHECK_EXTENSION, caps[i].number);
		snprintf(word, sizeof(word), "%s:%d", caps[i].name, has > 0);
		add(said, word);
	}
}

static void try_wires(struct subject *subject, char *said)
{
	struct kvm_coalesced_mmio_zone zone = { .addr = PUPPET_DEVICE + 0x1000, .size = 8 };
	struct kvm_ioeventfd ioevent = {
		.addr = PUPPET_DEVICE + 0x2000,
		.len = 4,
		.fd = eventfd(0, EFD_CLOEXEC),
	};
	struct kvm_create_device gic = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };

	add_result(said, ioctl(subject->puppet.vm, KVM_REGISTER_COALESCED_MMIO, &zone));
	add_result(said, ioctl(subject->puppet.vm, KVM_IOEVENTFD, &ioevent));
	add_result(said, ioctl(subject->puppet.vm, KVM_CREATE_DEVICE, &gic));
	close(ioevent.fd);
}

/* Statistics of the VM, and memory attributes, by which other KVMs share. */
static void try_others(struct subject *subject, char *said)
{
	struct kvm_memory_attributes private = {
		.address = PUPPET_RAM,
		.size = PUPPET_PAGE,
		.attributes = KVM_MEMORY_ATTRIBUTE_PRIVATE,
	};
	int stats = ioctl(subject->puppet.vm, KVM_GET_STATS_FD, NULL);

	add_result(said, stats);
	if (stats >= 0)
		close(stats);
	add_result(said, ioctl(subject->puppet.vm, KVM_SET_MEMORY_ATTRIBUTES, &private));
}

/* A slot with a guest_memfd, and the result of the guest's first access. */
static void try_guest_memfd(struct subject *subject, char *said)
{
	struct puppet_answer answer;
	const char *what;
	void *at;
	int file = puppet_gmem(&subject->puppet, PUPPET_SIZE, &what);

	add_result(said, file);
	if (file < 0)
		return;
	at = mmap(NULL, PUPPET_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		fail("mapping a guest_memfd");
	add(said, error_name(puppet_add_gmem(&subject->puppet, 1, OTHER_AT, PUPPET_SIZE, file, at)));
	answer = puppet_store(&subject->puppet, OTHER_AT, 1);
	add(said, error_name(answer.error));
	munmap(at, PUPPET_SIZE);
	close(file);
}

static void try_debug(struct subject *subject, char *said)
{
	struct kvm_guest_debug debug = { .control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP };
	struct puppet_answer answer;

	run_once(subject);
	add_result(said, ioctl(subject->puppet.vcpu, KVM_SET_GUEST_DEBUG, &debug));
	answer = puppet_load(&subject->puppet, AT);
	add(said, answer.exit == KVM_EXIT_DEBUG ? "stepped" : "ran");
}

static int one_reg(struct subject *subject, unsigned long request, uint64_t word, uint64_t *value)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | word,
		.addr = (uintptr_t)value,
	};

	return ioctl(subject->puppet.vcpu, request, &reg);
}

/* Reads the guest's PC after it has run, and sets it. */
static void try_registers(struct subject *subject, char *said)
{
	uint64_t pc = 0;

	run_once(subject);
	add_result(said, one_reg(subject, KVM_GET_ONE_REG, 64, &pc));
	add(said, pc >= PUPPET_RAM && pc < PUPPET_RAM + PUPPET_PAGE ? "seen" : "hidden");
	add_result(said, one_reg(subject, KVM_SET_ONE_REG, 64, &pc));
}

static void try_init_again(struct subject *subject, char *said)
{
	struct kvm_vcpu_init init = { .target = 5, .features = { 1 << KVM_ARM_VCPU_PSCI_0_2 } };

	run_once(subject);
	add_result(said, ioctl(subject->puppet.vcpu, KVM_ARM_VCPU_INIT, &init));
	init.features[0] |= 1 << KVM_ARM_VCPU_PMU_V3;
	add_result(said, ioctl(subject->puppet.vcpu, KVM_ARM_VCPU_INIT, &init));
}

/* A vCPU with the PMU feature. */
static void try_pmu(struct subject *subject, char *said)
{
	struct kvm_vcpu_init init = { .target = 5, .features = { 1 << KVM_ARM_VCPU_PMU_V3 } };
	int vm = ioctl(subject->puppet.kvm, KVM_CREATE_VM,
		       subject->protected ? KVM_VM_TYPE_ARM_PROTECTED : 0);
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);

	add_result(said, ioctl(vcpu, KVM_ARM_VCPU_INIT, &init));
	close(vcpu);
	close(vm);
}

/* The guest accesses a page that its host has taken away: the result, and KVM's report. */
static void try_taken(struct subject *subject, char *said)
{
	struct puppet_answer answer;
	char word[32];
	uint64_t zero;

	run_once(subject);
	if (pread(subject->file, &zero, sizeof(zero), OFFSET) != sizeof(zero))
		add(said, error_name(errno));
	answer = puppet_load(&subject->puppet, AT);
	snprintf(word, sizeof(word), "%s exit:%u", error_name(answer.error), answer.exit);
	add(said, word);
}

/* The result of a guest's first access to memory of another kind. */
static void try_kind(struct subject *subject, char *said, enum memory_kind kind)
{
	struct puppet_answer answer;
	struct puppet puppet;
	const char *what;
	char *ram;
	int file;

	ram = map_memory(kind, &file);
	if (!ram) {
		add_result(said, -1);
		add(said, "no memory");
		return;
	}
	errno = puppet_new(&puppet, subject->protected, ram, &what);
	if (errno) {
		add_result(said, -1);
		add(said, what);
	} else {
		answer = puppet_store(&puppet, AT, 1);
		add(said, error_name(answer.error));
	}
	puppet_free(&puppet);
	munmap(ram, PUPPET_SIZE);
	if (file >= 0)
		close(file);
}

static void try_anonymous(struct subject *subject, char *said)
{
	try_kind(subject, said, ANONYMOUS);
}

static void try_huge_pool(struct subject *subject, char *said)
{
	try_kind(subject, said, HUGE_POOL);
}

/* A VMM that may lock one page of memory, and one user's. */
static void try_locked(struct subject *subject, char *said)
{
	struct rlimit one_page = { PUPPET_PAGE, PUPPET_PAGE };
	char *shared = mmap(NULL, PUPPET_PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (shared == MAP_FAILED || chmod("/dev/kvm", 0666))
		fail("preparing a user's VM");
	child = fork();
	if (!child) {
		if (setrlimit(RLIMIT_MEMLOCK, &one_page) || setuid(65534))
			_exit(1);
		try_kind(subject, shared, SHARED_FILE);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	add(said, shared);
	munmap(shared, PUPPET_PAGE);
}

/* The contents of a private and of a shared page after the VM's end. */
static void try_end(struct subject *subject, char *said)
{
	volatile uint64_t *word = (volatile uint64_t *)(subject->ram + OFFSET);
	volatile uint64_t *shared = word + PUPPET_PAGE / sizeof(*word);

	puppet_store(&subject->puppet, AT, 7);
	puppet_store(&subject->puppet, AT + PUPPET_PAGE, 7);
	puppet_call(&subject->puppet, CALL_SHARE, AT + PUPPET_PAGE, 0, 0);
	puppet_free(&subject->puppet);
	subject->puppet = (struct puppet){ .kvm = -1, .vm = -1, .vcpu = -1 };
	add(said, *word == ~7UL ? "private:left" : *word ? "private:other" : "private:zero");
	add(said, *shared == ~7UL ? "shared:left" : *shared ? "shared:other" : "shared:zero");
}

/* ---- wrong numbers ---------------------------------------------------------- */

/* KVM accepts only files with these flags for a slot. */
#define MAPPED	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)

/* KVM_CREATE_VM with invalid IPA sizes and unknown bits. */
static void try_types(struct subject *subject, char *said)
{
	unsigned long type = subject->protected ? KVM_VM_TYPE_ARM_PROTECTED : 0;
	const unsigned long types[] = {
		type | 31, type | 32, type | 53, type | 0xff, type | 1UL << 8, type | 1UL << 30,
		type | 1UL << 32, type | 1UL << 63,
	};
	unsigned int i;
	int vm;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		vm = ioctl(subject->puppet.kvm, KVM_CREATE_VM, types[i]);
		add_result(said, vm);
		if (vm >= 0)
			close(vm);
	}
}

static int new_file(struct subject *subject, uint64_t size, uint64_t flags)
{
	struct kvm_create_guest_memfd create = { .size = size, .flags = flags };

	return ioctl(subject->puppet.vm, KVM_CREATE_GUEST_MEMFD, &create);
}

static void try_file(struct subject *subject, char *said, uint64_t size, uint64_t flags)
{
	int file = new_file(subject, size, flags);

	add_result(said, file);
	if (file >= 0)
		close(file);
}

static void try_memfd_sizes(struct subject *subject, char *said)
{
	static const uint64_t sizes[] = {
		0, 1, PUPPET_PAGE - 1, PUPPET_PAGE, PUPPET_PAGE + 1, 1UL << 63, -PUPPET_PAGE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		try_file(subject, said, sizes[i], 0);
}

static void try_memfd_flags(struct subject *subject, char *said)
{
	static const uint64_t flags[] = {
		GUEST_MEMFD_FLAG_MMAP, GUEST_MEMFD_FLAG_INIT_SHARED, 3, 1UL << 8, 1UL << 31,
		1UL << 63, ~0UL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		try_file(subject, said, PUPPET_PAGE, flags[i]);
}

static void bind(struct subject *subject, char *said, struct kvm_userspace_memory_region2 region)
{
	region.userspace_addr = (uintptr_t)subject->ram;
	add_result(said, ioctl(subject->puppet.vm, KVM_SET_USER_MEMORY_REGION2, &region));
}

/* A page of a file as slot 1, except for the fields set below. */
static struct kvm_userspace_memory_region2 page_of(int file)
{
	return (struct kvm_userspace_memory_region2){
		.slot = 1, .flags = KVM_MEM_GUEST_MEMFD, .guest_phys_addr = OTHER_AT,
		.memory_size = PUPPET_PAGE, .guest_memfd = file,
	};
}

#define BIND(...)								\
	do {									\
		struct kvm_userspace_memory_region2 r = page_of(file);		\
										\
		__VA_ARGS__;							\
		bind(subject, said, r);						\
	} while (0)

/* Slots of four pages beyond the file or misaligned; then two valid slots of one page. */
static void try_memfd_offsets(struct subject *subject, char *said)
{
	int file = new_file(subject, 4 * PUPPET_PAGE, MAPPED);

	if (file < 0) {
		add_result(said, -1);
		return;
	}
	BIND(r.guest_memfd_offset = 1);
	BIND(r.guest_memfd_offset = 4 * PUPPET_PAGE);
	BIND(r.guest_memfd_offset = 3 * PUPPET_PAGE; r.memory_size = 2 * PUPPET_PAGE);
	BIND(r.guest_memfd_offset = -PUPPET_PAGE);
	BIND(r.guest_memfd_offset = 1UL << 63);
	BIND(r.memory_size = 1);
	BIND(r.memory_size = 8 * PUPPET_PAGE);
	BIND();
	BIND(r.slot = 2; r.guest_phys_addr = 2 * OTHER_AT);
	/* The first slot again, then with other fields. */
	BIND();
	BIND(r.guest_phys_addr = 2 * OTHER_AT);
	close(file);
}

/* Flags; descriptors that are no guest_memfd, or another VM's. */
static void try_memfd_files(struct subject *subject, char *said)
{
	int file = new_file(subject, PUPPET_PAGE, MAPPED);
	struct subject other;

	if (file < 0) {
		add_result(said, -1);
		return;
	}
	BIND(r.flags = KVM_MEM_GUEST_MEMFD | KVM_MEM_READONLY);
	BIND(r.flags = KVM_MEM_GUEST_MEMFD | KVM_MEM_LOG_DIRTY_PAGES);
	BIND(r.flags = KVM_MEM_GUEST_MEMFD | 8);
	BIND(r.flags = KVM_MEM_GUEST_MEMFD | 1U << 31);
	BIND(r.guest_memfd = -1);
	BIND(r.guest_memfd = 0);
	BIND(r.guest_memfd = subject->puppet.vm);
	make_subject(&other, subject->kind);
	bind(&other, said, page_of(file));
	free_subject(&other);
	/* The older call has no room for a file. */
	add_result(said, set_slot(subject, 1, KVM_MEM_GUEST_MEMFD, OTHER_AT, PUPPET_PAGE));
	close(file);
}

const struct row limits[] = {
	{ "slots", try_slots },
	{ "slots-later", try_slots_later },
	{ "target", try_target },
	{ "capabilities", try_capabilities },
	{ "wires", try_wires },
	{ "others", try_others },
	{ "guest-memfd", try_guest_memfd },
	{ "debug", try_debug },
	{ "registers", try_registers },
	{ "init-again", try_init_again },
	{ "pmu", try_pmu },
	{ "taken", try_taken },
	{ "anonymous", try_anonymous },
	{ "huge-pool", try_huge_pool },
	{ "locked", try_locked },
	{ "end", try_end },
	{ "types", try_types },
	{ "memfd-sizes", try_memfd_sizes },
	{ "memfd-flags", try_memfd_flags },
	{ "memfd-offsets", try_memfd_offsets },
	{ "memfd-files", try_memfd_files },
	{ }
};
