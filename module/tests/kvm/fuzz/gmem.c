// SPDX-License-Identifier: GPL-2.0
/*
 * Protected VMs: a world's own, whose guest shares pages and takes them back, and short-lived
 * others, some of them plain; memory files of right and wrong sizes, in slots and outside. A VMM
 * accesses a page of its mapping only through system calls: the page may be private.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

#define FLAGS	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)

static int create(int vm, u64 size, u64 flags)
{
	struct kvm_create_guest_memfd args = { .size = size, .flags = flags };

	return ioctl(vm, KVM_CREATE_GUEST_MEMFD, &args);
}

static long set_slot(int vm, u32 slot, u64 gpa, u64 size, int file, u64 offset)
{
	struct kvm_userspace_memory_region2 mem = {
		.slot = slot, .flags = KVM_MEM_GUEST_MEMFD, .guest_phys_addr = gpa,
		.memory_size = size, .guest_memfd = file, .guest_memfd_offset = offset,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION2, &mem);
}

void reserve_gmem(struct world *w)
{
	unsigned int i;

	for (i = 0; i < NR_GMEMS; i++)
		w->gmem[i] = -1;
	w->private = mmap(NULL, NR_GMEMS * MAIN_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->private == MAP_FAILED)
		die("mmap");
}

static char *map_gmem(struct world *w, unsigned int i, int file)
{
	return mmap(w->private + i * MAIN_SIZE, MAIN_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, file, 0);
}

int new_protected_vm(struct world *w)
{
	int vm = ioctl(get_file(&w->kvm), KVM_CREATE_VM, KVM_VM_TYPE_ARM_PROTECTED);
	int file = create(vm, MAIN_SIZE, FLAGS);
	char *at = map_gmem(w, 0, file);

	if (at == MAP_FAILED || pread(w->image, at, MAIN_SIZE, 0) < 0 ||
	    set_slot(vm, 0, GUEST_BASE, MAIN_SIZE, file, 0)) {
		if (file >= 0)
			close(file);
		if (vm >= 0)
			close(vm);
		return -1;
	}
	put_file(&w->gmem[0], file);
	return vm;
}

/* ---- files and slots --------------------------------------------------------------- */

static u64 any_size(struct actor *a)
{
	static const u64 sizes[] = {
		0, 1, PAGE - 1, PAGE, PAGE, 2 * PAGE, 513 * PAGE, MAIN_SIZE, MAIN_SIZE, 1ULL << 30,
		((1ULL << 31) - 1) * PAGE, (1ULL << 31) * PAGE, 1ULL << 63, -PAGE, ~0ULL,
	};

	return one_in(a, 16) ? rnd(&a->rng) : sizes[pick(a, ARRAY_SIZE(sizes))];
}

static u64 any_flags(struct actor *a)
{
	return one_in(a, 16) ? rnd(&a->rng) : one_in(a, 4) ? pick(a, 16) : FLAGS;
}

static int any_gmem(struct actor *a)
{
	return get_file(&a->w->gmem[pick(a, NR_GMEMS)]);
}

/* Of the world's VM; before its guest runs. */
static void gmem_create(struct actor *a)
{
	int file = create(get_file(&a->w->vm), any_size(a), any_flags(a));

	judge(a, file);
	if (file >= 0)
		put_file(&a->w->gmem[1 + pick(a, NR_GMEMS - 1)], file);
}

static void any_slot(struct actor *a, int vm, int file)
{
	static const u64 places[] = {
		GUEST_BASE, EXTRA_BASE, EXTRA_BASE + PAGE, EXTRA_BASE + MAIN_SIZE, 0, 1ULL << 39,
		(1ULL << 40) - PAGE, GUEST_DIST, EXTRA_BASE + 1,
	};
	struct kvm_userspace_memory_region2 mem = {
		.slot = one_in(a, 16) ? (u32)rnd(&a->rng) : (u32)pick(a, 6),
		.flags = one_in(a, 8) ? (u32)pick(a, 16) : KVM_MEM_GUEST_MEMFD,
		.guest_phys_addr = places[pick(a, ARRAY_SIZE(places))],
		.memory_size = one_in(a, 4) ? any_size(a) : PAGE * pick(a, 4),
		.userspace_addr = one_in(a, 4) ? (u64)a->w->private : PAGE * pick(a, 3),
		.guest_memfd_offset = one_in(a, 8) ? rnd(&a->rng) : one_in(a, 4) ? any_size(a) :
				      PAGE * pick(a, 6),
		.guest_memfd = one_in(a, 16) ? (u32)rnd(&a->rng) :
			       one_in(a, 16) ? (u32)a->w->junk : (u32)file,
	};

	call(a, vm, KVM_SET_USER_MEMORY_REGION2, &mem);
}

static void gmem_slot(struct actor *a)
{
	any_slot(a, get_file(&a->w->vm), any_gmem(a));
}

/*
 * A protected VM for a moment, or a plain one: files, slots of any of them, a vCPU, maybe sealed,
 * and closed in some order; a file of it may stay.
 */
static void gmem_vm(struct actor *a)
{
	int vm = call_number(a, get_file(&a->w->kvm), KVM_CREATE_VM,
			     one_in(a, 2) ? KVM_VM_TYPE_ARM_PROTECTED : 0);
	struct kvm_vcpu_init init = { .target = KVM_ARM_TARGET_GENERIC_V8 };
	unsigned int i, times = pick(a, 24);
	int file[2], vcpu;

	if (vm < 0)
		return;
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		file[i] = create(vm, one_in(a, 3) ? any_size(a) : MAIN_SIZE, any_flags(a));
		judge(a, file[i]);
	}
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (one_in(a, 4))
		map_gmem(a->w, NR_GMEMS - 1, file[0]);
	for (i = 0; i < times; i++)
		any_slot(a, vm, one_in(a, 8) ? any_gmem(a) : file[pick(a, ARRAY_SIZE(file))]);
	/* Of zeroes, an undefined instruction after the other: it comes back by the ticker. */
	if (one_in(a, 2) && !ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		call_number(a, vcpu, KVM_RUN, 0);
	for (i = 0; i < times / 2; i++) {
		any_slot(a, vm, file[pick(a, ARRAY_SIZE(file))]);
		judge(a, fallocate(file[i % 2], pick(a, 4), PAGE * pick(a, 4), PAGE * pick(a, 64)));
	}
	if (one_in(a, 2))
		close(vm);
	if (vcpu >= 0)
		close(vcpu);
	for (i = 0; i < ARRAY_SIZE(file); i++)
		if (file[i] >= 0)
			put_file(&a->w->gmem[1 + pick(a, NR_GMEMS - 1)], file[i]);
	/* Else it stays open: the world ends with it. */
	if (one_in(a, 8))
		put_file(&a->w->spare[pick(a, NR_SPARES)], dup(vm));
}

/* ---- a VMM's accesses -------------------------------------------------------------- */

static char *any_page(struct actor *a)
{
	u64 page = one_in(a, 4) ? pick(a, NR_GMEMS * MAIN_SIZE / PAGE) :
				  HOT_FIRST + pick(a, HOT_PAGES);

	return a->w->private + page * PAGE;
}

/* Read and written; pages in a pipe are released after a while. */
static void gmem_touch(struct actor *a)
{
	char *at = any_page(a);
	struct iovec io = { at, PAGE }, own = { a->buffer, PAGE };
	unsigned int delay = pick(a, 2000);
	int pipes[2];

	judge(a, pread(a->w->junk, at, PAGE, 0));
	judge(a, pwrite(a->w->junk, at, PAGE, 0));
	process_vm_writev(getpid(), &own, 1, &io, 1, 0);
	process_vm_readv(getpid(), &own, 1, &io, 1, 0);
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return;
	judge(a, vmsplice(pipes[1], &io, 1, 0));
	usleep(delay);
	close(pipes[0]);
	close(pipes[1]);
}

static void gmem_map(struct actor *a)
{
	static const int flags[] = { MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_PRIVATE };
	unsigned int i = pick(a, NR_GMEMS);
	size_t size = PAGE * (1 + pick(a, 64));
	char *at;

	/* In its place, or anywhere for a moment. */
	if (one_in(a, 2)) {
		judge(a, map_gmem(a->w, i, get_file(&a->w->gmem[i])) == MAP_FAILED ? -1 : 0);
		return;
	}
	at = mmap(NULL, size, PROT_READ | (one_in(a, 4) ? PROT_EXEC : PROT_WRITE),
		  flags[pick(a, ARRAY_SIZE(flags))], get_file(&a->w->gmem[i]),
		  one_in(a, 4) ? any_size(a) & -PAGE : PAGE * pick(a, 1024));
	judge(a, at == MAP_FAILED ? -1 : 0);
	if (at == MAP_FAILED)
		return;
	judge(a, pread(a->w->junk, at, PAGE, 0));
	mlock(at, size);
	munmap(at, size);
}

static void gmem_advise(struct actor *a)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_COLD, MADV_PAGEOUT, MADV_FREE, MADV_HUGEPAGE,
		MADV_MERGEABLE, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_DONTFORK,
		MADV_DOFORK, MADV_WILLNEED,
	};
	char *at = any_page(a);

	judge(a, madvise(at, PAGE, advices[pick(a, ARRAY_SIZE(advices))]));
	if (one_in(a, 4))
		judge(a, mprotect(at, PAGE, PROT_READ | pick(a, 2) * PROT_WRITE));
}

/* What a file may be asked for, and has not. */
static void gmem_file(struct actor *a)
{
	int file = any_gmem(a);

	switch (pick(a, 6)) {
	case 0:
		judge(a, ftruncate(file, any_size(a)));
		break;
	case 1:
		judge(a, fallocate(file, pick(a, 8), PAGE * pick(a, 64), PAGE * pick(a, 64)));
		break;
	case 2:
		judge(a, pread(file, a->buffer, PAGE, PAGE * pick(a, 64)));
		break;
	case 3:
		judge(a, pwrite(file, a->buffer, PAGE, PAGE * pick(a, 64)));
		break;
	case 4:
		judge(a, lseek(file, any_size(a), (int)pick(a, 5)));
		break;
	default:
		put_file(&a->w->gmem[pick(a, NR_GMEMS)], -1);
		a->done = true;
		break;
	}
}

const struct op gmem_ops[] = {
	{ "gmem_create",	4, gmem_create },
	{ "gmem_slot",		4, gmem_slot },
	{ "gmem_vm",		6, gmem_vm },
	{ "gmem_touch",		10, gmem_touch },
	{ "gmem_map",		6, gmem_map },
	{ "gmem_advise",	6, gmem_advise },
	{ "gmem_file",		4, gmem_file },
	{ }
};
