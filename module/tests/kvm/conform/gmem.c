// SPDX-License-Identifier: GPL-2.0
/*
 * guest_memfd of a plain VM: the files, the slots that may have them, and the guest's view while
 * the VMM writes, punches holes and closes. A KVM without it answers so to each call.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conform.h"

#define PAGE		4096ULL
#define GMEM_BASE	0x80000000ULL
#define PAGES		4
#define BOTH		(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)
#define PUNCH		(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

static int new_gmem(int vm, u64 size, u64 flags)
{
	struct kvm_create_guest_memfd args = { .size = size, .flags = flags };

	return ioctl(vm, KVM_CREATE_GUEST_MEMFD, &args);
}

static long set_slot(int vm, int slot, u32 flags, u64 gpa, u64 size, int fd, u64 offset, void *hva)
{
	struct kvm_userspace_memory_region2 mem = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)hva, .guest_memfd = fd, .guest_memfd_offset = offset,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION2, &mem);
}

static void try_size(int vm, u64 size, u64 flags)
{
	int fd = say_fd(new_gmem(vm, size, flags), "size_%#llx.flags_%#llx",
			(unsigned long long)size, (unsigned long long)flags);

	if (fd >= 0)
		close(fd);
}

static void creation(int vm)
{
	static const u64 sizes[] = {
		0, 1, PAGE - 1, PAGE, PAGE + 1, 1ULL << 40, 1ULL << 62, 1ULL << 63, ~0ULL, -PAGE,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		try_size(vm, sizes[i], BOTH);
	for (i = 0; i < 64; i++)
		try_size(vm, PAGE, 1ULL << i);
	try_size(vm, 0, 1ULL << 63);
	say(ioctl(vm, KVM_CREATE_GUEST_MEMFD, WILD_HIGH), "create.wild");
	say(ioctl(vm, KVM_CREATE_GUEST_MEMFD, NULL), "create.null");
}

/* Can a system call read it? */
static void look(const void *at, const char *name)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
	say(write(ends[1], at, 1), "%s.read", name);
	close(ends[0]);
	close(ends[1]);
}

static void file(int vm, u64 flags, const char *name)
{
	int fd = new_gmem(vm, PAGES * PAGE, flags);
	struct stat st = { 0 };
	char byte = 1, *at;

	say(read(fd, &byte, 1), "%s.file_read", name);
	say(write(fd, &byte, 1), "%s.file_write", name);
	say(pread(fd, &byte, 1, 0), "%s.pread", name);
	say(lseek(fd, 0, SEEK_END), "%s.lseek", name);
	say(ftruncate(fd, PAGE), "%s.truncate", name);
	say(fchmod(fd, 0600), "%s.chmod", name);
	say(fstat(fd, &st), "%s.stat", name);
	note(st.st_size, "%s.size", name);
	note(st.st_blksize, "%s.block", name);
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	say(at == MAP_FAILED ? -1 : 0, "%s.map_private", name);
	/* Beyond its end, too. */
	at = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	say(at == MAP_FAILED ? -1 : 0, "%s.map", name);
	if (at != MAP_FAILED) {
		look(at, name);
		look(at + (PAGES - 1) * PAGE, name);
		look(at + PAGES * PAGE, name);
		munmap(at, (PAGES + 1) * PAGE);
	}
	close(fd);
}

static void holes(int vm)
{
	static const struct { const char *name; int mode; u64 offset, len; } calls[] = {
		{ "all", FALLOC_FL_KEEP_SIZE, 0, PAGES * PAGE },
		{ "again", FALLOC_FL_KEEP_SIZE, PAGE, PAGE },
		{ "extend", 0, 0, PAGE },
		{ "extend_beyond", 0, 0, (PAGES + 1) * PAGE },
		{ "beyond", FALLOC_FL_KEEP_SIZE, PAGES * PAGE, PAGE },
		{ "half_beyond", FALLOC_FL_KEEP_SIZE, (PAGES - 1) * PAGE, 2 * PAGE },
		{ "odd_offset", FALLOC_FL_KEEP_SIZE, 1, PAGE },
		{ "odd_len", FALLOC_FL_KEEP_SIZE, 0, PAGE - 1 },
		{ "nothing", FALLOC_FL_KEEP_SIZE, 0, 0 },
		{ "collapse", FALLOC_FL_COLLAPSE_RANGE, 0, PAGE },
		{ "zero", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, PAGE },
		{ "punch", PUNCH, PAGE, PAGE },
		{ "punch_again", PUNCH, PAGE, PAGE },
		{ "punch_beyond", PUNCH, PAGES * PAGE, PAGE },
		{ "punch_far", PUNCH, 1ULL << 50, 1ULL << 50 },
		{ "punch_all", PUNCH, 0, 1ULL << 50 },
		{ "punch_odd", PUNCH, PAGE - 1, PAGE },
		{ "punch_odd_len", PUNCH, 0, PAGE + 1 },
		{ "punch_negative", PUNCH, -PAGE, PAGE },
	};
	int fd = new_gmem(vm, PAGES * PAGE, BOTH);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		say(fallocate(fd, calls[i].mode, calls[i].offset, calls[i].len), "hole.%s",
		    calls[i].name);
	close(fd);
}

/* Each slot is deleted again if it could be made. */
static void try_slot(int vm, const char *name, u32 flags, u64 gpa, u64 size, int fd, u64 offset,
		     void *hva)
{
	if (!say(set_slot(vm, 7, flags, gpa, size, fd, offset, hva), "slot.%s", name))
		say(set_slot(vm, 7, flags, gpa, 0, fd, offset, hva), "slot.%s.delete", name);
}

static void slots(int kvm, int vm)
{
	int fd = new_gmem(vm, PAGES * PAGE, BOTH), other = new_vm(kvm), foreign, unmappable, hidden;
	const u32 gmem = KVM_MEM_GUEST_MEMFD;
	void *memory = map_memory(PAGES * PAGE);

	foreign = new_gmem(other, PAGE, BOTH);
	unmappable = new_gmem(vm, PAGE, 0);
	hidden = new_gmem(vm, PAGE, GUEST_MEMFD_FLAG_MMAP);
	try_slot(vm, "all", gmem, GMEM_BASE, PAGES * PAGE, fd, 0, NULL);
	try_slot(vm, "all_with_memory", gmem, GMEM_BASE, PAGES * PAGE, fd, 0, memory);
	try_slot(vm, "one", gmem, GMEM_BASE, PAGE, fd, (PAGES - 1) * PAGE, NULL);
	try_slot(vm, "hidden", gmem, GMEM_BASE, PAGE, hidden, 0, NULL);
	try_slot(vm, "unmappable", gmem, GMEM_BASE, PAGE, unmappable, 0, memory);
	try_slot(vm, "foreign", gmem, GMEM_BASE, PAGE, foreign, 0, NULL);
	try_slot(vm, "no_file", gmem, GMEM_BASE, PAGE, -1, 0, NULL);
	try_slot(vm, "not_one", gmem, GMEM_BASE, PAGE, vm, 0, NULL);
	try_slot(vm, "no_flag", 0, GMEM_BASE, PAGE, fd, 0, memory);
	try_slot(vm, "logged", gmem | KVM_MEM_LOG_DIRTY_PAGES, GMEM_BASE, PAGE, fd, 0, NULL);
	try_slot(vm, "read_only", gmem | KVM_MEM_READONLY, GMEM_BASE, PAGE, fd, 0, NULL);
	try_slot(vm, "odd_offset", gmem, GMEM_BASE, PAGE, fd, 1, NULL);
	try_slot(vm, "too_long", gmem, GMEM_BASE, (PAGES + 1) * PAGE, fd, 0, NULL);
	try_slot(vm, "beyond", gmem, GMEM_BASE, PAGE, fd, PAGES * PAGE, NULL);
	try_slot(vm, "wraps", gmem, GMEM_BASE, 2 * PAGE, fd, -PAGE, NULL);
	try_slot(vm, "far", gmem, GMEM_BASE, PAGE, fd, ~0ULL >> 1 & -PAGE, NULL);
	try_slot(vm, "odd_memory", gmem, GMEM_BASE, PAGE, fd, 0, (char *)memory + 1);
	try_slot(vm, "wild_memory", gmem, GMEM_BASE, PAGE, fd, 0, WILD_HIGH);
	try_slot(vm, "beyond_ipa", gmem, 1ULL << 40, PAGE, fd, 0, NULL);
	try_slot(vm, "beyond_ipa_no_file", gmem, 1ULL << 40, PAGE, -1, 0, NULL);
	try_slot(vm, "nothing", gmem, GMEM_BASE, 0, fd, 0, NULL);
	/* What may become of one. */
	say(set_slot(vm, 1, gmem, GMEM_BASE, 2 * PAGE, fd, PAGE, NULL), "two.first");
	say(set_slot(vm, 1, gmem, GMEM_BASE, 2 * PAGE, fd, PAGE, NULL), "two.same");
	say(set_slot(vm, 1, gmem, GMEM_BASE + PAGE, 2 * PAGE, fd, PAGE, NULL), "two.move");
	say(set_slot(vm, 1, 0, GMEM_BASE, 2 * PAGE, fd, PAGE, NULL), "two.without");
	say(set_slot(vm, 1, KVM_MEM_LOG_DIRTY_PAGES, GMEM_BASE, 2 * PAGE, fd, PAGE, NULL), "two.log");
	say(set_slot(vm, 2, gmem, GMEM_BASE, PAGE, fd, 0, NULL), "two.same_address");
	say(set_slot(vm, 2, gmem, GMEM_BASE + 16 * PAGE, PAGE, fd, 2 * PAGE, NULL), "two.same_page");
	say(set_slot(vm, 2, gmem, GMEM_BASE + 16 * PAGE, PAGE, fd, 3 * PAGE, NULL), "two.second");
	say(set_slot(vm, 1, 0, GMEM_BASE, 0, -1, 0, NULL), "two.delete");
	say(set_slot(vm, 1, gmem, GMEM_BASE, PAGE, fd, 2 * PAGE, NULL), "two.free_again");
	say(set_slot(vm, 1, 0, GMEM_BASE, 0, 0, 0, NULL), "two.delete_again");
	say(set_slot(vm, 2, 0, GMEM_BASE, 0, 0, 0, NULL), "two.delete_second");
	close(foreign);
	close(unmappable);
	close(hidden);
	close(other);
	close(fd);
	munmap(memory, PAGES * PAGE);
}

/* Reports the contents of the file's second page, and stores something there. */
GUEST(finds, "mov x10, #0x0a000000\n mov x11, #0x80000000\n add x11, x11, #0x1000\n"
      "mov x12, #0x77\n"
      "1: ldr x0, [x11]\n str x0, [x10]\n str x12, [x11, #8]\n add x12, x12, #1\n b 1b\n");

static void find(struct guest *g, const char *name)
{
	u64 data = 0;
	long ret = say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", name);

	if (ret)
		return;
	note(g->run->exit_reason, "%s.exit", name);
	memcpy(&data, g->run->mmio.data, sizeof(data));
	note(g->run->mmio.phys_addr, "%s.address", name);
	note(g->run->mmio.is_write ? data : 0, "%s.found", name);
	memset(g->run->mmio.data, 0, sizeof(data));
}

static void guest(u64 flags, const char *name)
{
	char *memory = map_memory(PAGES * PAGE), *mapped = MAP_FAILED;
	struct guest g;
	int fd;

	NEW_GUEST(&g, finds);
	fd = new_gmem(g.vm, PAGES * PAGE, flags);
	if (fd < 0) {
		free_guest(&g);
		return;
	}
	say(set_slot(g.vm, 1, KVM_MEM_GUEST_MEMFD, GMEM_BASE, PAGES * PAGE, fd, 0, memory),
	    "%s.slot", name);
	*(u64 *)(memory + PAGE) = 1;
	find(&g, name);
	if (flags & GUEST_MEMFD_FLAG_INIT_SHARED) {
		mapped = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		*(u64 *)(mapped + PAGE) = 2;
		find(&g, name);
		note(*(u64 *)(mapped + PAGE + 8), "%s.left", name);
		note(*(u64 *)(memory + PAGE + 8), "%s.beside", name);
	}
	say(fallocate(fd, PUNCH, 0, PAGES * PAGE), "%s.punch", name);
	find(&g, name);
	if (mapped != MAP_FAILED) {
		note(*(u64 *)(mapped + PAGE), "%s.punched", name);
		*(u64 *)(mapped + PAGE) = 3;
	}
	find(&g, name);
	/* A mapping keeps the file; without it, it ends. */
	close(fd);
	find(&g, name);
	if (mapped != MAP_FAILED)
		munmap(mapped, PAGES * PAGE);
	find(&g, name);
	find(&g, name);
	say(set_slot(g.vm, 1, 0, GMEM_BASE, 0, 0, 0, NULL), "%s.delete", name);
	find(&g, name);
	munmap(memory, PAGES * PAGE);
	free_guest(&g);
}

void conform_gmem(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm);

	creation(vm);
	file(vm, 0, "none");
	file(vm, GUEST_MEMFD_FLAG_MMAP, "map");
	file(vm, BOTH, "shared");
	file(vm, GUEST_MEMFD_FLAG_INIT_SHARED, "init");
	holes(vm);
	slots(kvm, vm);
	close(vm);
	close(kvm);
	guest(BOTH, "guest");
	guest(GUEST_MEMFD_FLAG_MMAP, "guest_hidden");
}
