// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of unusual kinds in slots: device pages, the vCPU's own page, secret pages, files, nothing
 * at all. It works or is refused: EFAULT from KVM_RUN, as in KVM, or a sentence of the module's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "hostile.h"

#define ODD_BASE	0x80000000ULL
#define EXITS		50
#define NEVER_MAPPED	((void *)0x10000000)

static bool slot_at(int vm, int slot, u64 gpa, u64 size, const void *memory)
{
	struct kvm_userspace_memory_region mem = {
		.slot = slot, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	return !ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem);
}

/* A guest that reads this memory; 0 if it could, or the errno. */
static int read_by_guest(const char *what, const void *memory, u64 size)
{
	struct guest g;
	int i, error = 0;

	new_guest(&g, guest_reader, (char *)guest_reader_end - (char *)guest_reader);
	expect(slot_at(g.vm, 1, ODD_BASE, size, memory), "%s: no slot: %s", what,
	       strerror(errno));
	set_reg(g.vcpu, REG_X(1), ODD_BASE);
	for (i = 0; i < EXITS && !error; i++) {
		if (ioctl(g.vcpu, KVM_RUN, 0))
			error = errno;
		else
			expect(g.run->exit_reason == KVM_EXIT_MMIO ||
			       g.run->exit_reason == KVM_EXIT_INTERNAL_ERROR,
			       "%s: exit %u", what, g.run->exit_reason);
	}
	free_guest(&g);
	return error;
}

/* Device memory of the host's, which has no pages: the board's flash, at 0. */
static void device_pages(void)
{
	int fd = open("/dev/mem", O_RDONLY | O_SYNC | O_CLOEXEC);
	void *flash = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	int error;

	expect(flash != MAP_FAILED, "/dev/mem cannot be mapped: %s", strerror(errno));
	if (flash == MAP_FAILED)
		return;
	error = read_by_guest("device memory", flash, 4096);
	expect(!error || error == EFAULT, "device memory: %s", strerror(error));
	munmap(flash, 4096);
	close(fd);
}

/* The page that a vCPU shares with its VMM, as memory of its own guest. */
static void own_page(void)
{
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct guest g;
	int i;

	new_guest(&g, guest_writer, sizeof(guest_writer));
	expect(slot_at(g.vm, 1, GUEST_MMIO, 4096, g.run), "no slot of kvm_run: %s",
	       strerror(errno));
	for (i = 0; i < 5; i++) {
		/* The guest writes where the VMM asks for an exit: only a signal ends it. */
		setitimer(ITIMER_REAL, &soon, NULL);
		expect(ioctl(g.vcpu, KVM_RUN, 0) == -1 && (errno == EINTR || errno == EFAULT),
		       "kvm_run as memory: %s", strerror(errno));
	}
	free_guest(&g);
}

static void secret(void)
{
	int fd = syscall(SYS_memfd_secret, 0), error;
	void *memory;

	if (fd < 0 || ftruncate(fd, 4096)) {
		printf("no secret memory here\n");
		return;
	}
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("mmap of secret memory");
	error = read_by_guest("secret memory", memory, 4096);
	expect(error == EFAULT, "secret memory: %s", strerror(error));
	munmap(memory, 4096);
	close(fd);
}

/* The stack is in the upper half of the addresses: of 39 or 48 bits, by the host's kernel. */
static void *last_page(void)
{
	int on_stack;

	return (void *)((1ULL << (64 - __builtin_clzll((uintptr_t)&on_stack))) - 4096);
}

static void nothing(void)
{
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	error = read_by_guest("memory without rights", none, 4096);
	expect(error == EFAULT, "memory without rights: %s", strerror(error));
	munmap(none, 4096);
	error = read_by_guest("no memory", NEVER_MAPPED, 4096);
	expect(error == EFAULT, "no memory: %s", strerror(error));
	/* The last page of user addresses, and one that the kernel owns. */
	error = read_by_guest("the last page", last_page(), 4096);
	expect(error == EFAULT, "the last page: %s", strerror(error));
}

/* A file that may only be read, and its page behind the end. */
static void file_pages(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), error;
	void *file = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	off_t end = lseek(fd, 0, SEEK_END);

	if (file == MAP_FAILED)
		die("mmap of a file");
	error = read_by_guest("a file", file, 4096);
	expect(!error, "a file: %s", strerror(error));
	munmap(file, 8192);
	end = (end + 4095) & ~4095;
	file = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, end);
	error = read_by_guest("behind a file's end", file, 4096);
	expect(error == EFAULT, "behind a file's end: %s", strerror(error));
	munmap(file, 8192);
	close(fd);
}

/* Code and data of the VMM itself, which the guest may read like any other. */
static void own_text(void)
{
	void *text = (void *)((u64)own_text & ~4095ULL);
	int error = read_by_guest("the VMM's text", text, 4096);

	expect(!error, "the VMM's text: %s", strerror(error));
}

void hostile_odd(void)
{
	device_pages();
	own_page();
	secret();
	nothing();
	file_pages();
	own_text();
}
