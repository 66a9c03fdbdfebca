// SPDX-License-Identifier: GPL-2.0
/*
 * Ways to a page of a protected VM, for its VMM and for other processes. Their results are ignored:
 * the page may be shared at one moment and private at the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "siege.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* A page that is looked at, and by whom. */
struct view {
	struct siege *s;
	char *at;		/* in this process's mapping */
	u64 offset;		/* in the file */
	pid_t vmm;		/* its mapping is at the same addresses */
	u64 rng;
	u64 page[SIEGE_PAGE / 8];	/* the value read, and the value to write */
};

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t guarded;

static void on_fault(int number)
{
	if (guarded)
		siglongjmp(back, 1);
	signal(number, SIG_DFL);
}

static u64 pick(struct view *v, u64 n)
{
	return (rnd(&v->rng) >> 16) % n;
}

static void evil(struct view *v)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(v->page); i++)
		v->page[i] = EVIL;
}

static void way_load(struct view *v)
{
	volatile u64 *at = (volatile u64 *)v->at;
	size_t i;

	memset(v->page, 0, sizeof(v->page));
	guarded = true;
	if (!sigsetjmp(back, 1))
		for (i = 0; i < ARRAY_SIZE(v->page); i += 8)
			v->page[i] = at[i];
	guarded = false;
	look_for_secret("load", v->page, sizeof(v->page));
}

static void way_store(struct view *v)
{
	volatile u64 *at = (volatile u64 *)v->at;
	size_t i;

	guarded = true;
	if (!sigsetjmp(back, 1))
		for (i = 0; i < ARRAY_SIZE(v->page); i += 8)
			at[i] = EVIL;
	guarded = false;
}

/* What a pipe has of the page, after a while in which the guest may want it back. */
static void drain(struct view *v, const char *way, int *ends, ssize_t got)
{
	if (got > 0) {
		usleep(pick(v, 3000));
		memset(v->page, 0, sizeof(v->page));
		if (read(ends[0], v->page, got) > 0)
			look_for_secret(way, v->page, sizeof(v->page));
	}
	close(ends[0]);
	close(ends[1]);
}

static void way_write(struct view *v)
{
	int ends[2];

	if (!pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		drain(v, "write", ends, write(ends[1], v->at, SIEGE_PAGE));
}

static void way_vmsplice(struct view *v)
{
	struct iovec from = { v->at, SIEGE_PAGE };
	int ends[2];

	if (!pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		drain(v, "vmsplice", ends, vmsplice(ends[1], &from, 1, pick(v, 2) * SPLICE_F_GIFT));
}

static void way_read(struct view *v)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	evil(v);
	if (write(ends[1], v->page, SIEGE_PAGE) > 0 && read(ends[0], v->at, SIEGE_PAGE) < 0)
		errno = 0;
	close(ends[0]);
	close(ends[1]);
}

static void way_proc_mem(struct view *v)
{
	char name[32];
	int mem;

	snprintf(name, sizeof(name), "/proc/%d/mem", v->vmm);
	mem = open(name, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return;
	memset(v->page, 0, sizeof(v->page));
	if (pread(mem, v->page, SIEGE_PAGE, (off_t)v->at) > 0)
		look_for_secret("/proc/PID/mem", v->page, sizeof(v->page));
	evil(v);
	if (pwrite(mem, v->page, SIEGE_PAGE, (off_t)v->at) < 0)
		errno = 0;
	close(mem);
}

static void way_process_vm(struct view *v)
{
	struct iovec to = { v->page, SIEGE_PAGE }, from = { v->at, SIEGE_PAGE };

	memset(v->page, 0, sizeof(v->page));
	if (process_vm_readv(v->vmm, &to, 1, &from, 1, 0) > 0)
		look_for_secret("process_vm_readv", v->page, sizeof(v->page));
	evil(v);
	if (process_vm_writev(v->vmm, &to, 1, &from, 1, 0) < 0)
		errno = 0;
}

/* By the file, which has no such calls. */
static void way_file(struct view *v)
{
	loff_t offset = v->offset;
	int ends[2];

	memset(v->page, 0, sizeof(v->page));
	if (pread(v->s->file, v->page, SIEGE_PAGE, offset) > 0)
		look_for_secret("pread", v->page, sizeof(v->page));
	evil(v);
	expect(pwrite(v->s->file, v->page, SIEGE_PAGE, offset) < 0, "a guest_memfd is written");
	expect(fallocate(v->s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
			 SIEGE_PAGE), "a hole is punched into a sealed guest_memfd");
	expect(ftruncate(v->s->file, offset), "a sealed guest_memfd is cut off");
	posix_fadvise(v->s->file, offset, SIEGE_PAGE, POSIX_FADV_DONTNEED);
	sync_file_range(v->s->file, offset, SIEGE_PAGE, SYNC_FILE_RANGE_WRITE);
	fsync(v->s->file);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	sendfile(ends[1], v->s->file, &offset, SIEGE_PAGE);
	drain(v, "splice", ends, splice(v->s->file, &offset, ends[1], NULL, SIEGE_PAGE, 0));
}

/* Where nothing is, or something that may go. */
static void *room(void)
{
	return mmap(NULL, SIEGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Another mapping of the page, filled when it is made or by a call. */
static void way_map(struct view *v)
{
	int populate = pick(v, 2) ? MAP_POPULATE : 0;
	char *old = v->at, *at;

	at = mmap(NULL, SIEGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | populate, v->s->file,
		  v->offset);
	if (at == MAP_FAILED)
		return;
	if (!populate)
		madvise(at, SIEGE_PAGE, pick(v, 2) ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
	v->at = at;
	if (pick(v, 2))
		way_load(v);
	else
		way_store(v);
	v->at = old;
	if (pick(v, 2))
		mlock(at, SIEGE_PAGE);
	/* What it has may go to another place meanwhile. */
	if (pick(v, 2)) {
		char *moved = mremap(at, SIEGE_PAGE, SIEGE_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				     room());

		at = moved == MAP_FAILED ? at : moved;
		v->at = at;
		way_load(v);
		v->at = old;
	}
	munmap(at, SIEGE_PAGE);
	at = mmap(NULL, SIEGE_PAGE, PROT_READ, MAP_PRIVATE, v->s->file, v->offset);
	expect(at == MAP_FAILED, "a guest_memfd is mapped as a process's own");
}

/* Advice and calls that move, merge, lock, drop, collapse or swap the pages of a mapping. */
static void way_advise(struct view *v)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_FREE, MADV_MERGEABLE, MADV_HUGEPAGE, MADV_COLD,
		MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_COLLAPSE,
		MADV_WILLNEED, MADV_UNMERGEABLE,
	};
	void *pages[] = { v->at };
	int node = 0, status;

	madvise(v->at, SIEGE_PAGE, advice[pick(v, ARRAY_SIZE(advice))]);
	mprotect(v->at, SIEGE_PAGE, PROT_READ | PROT_WRITE);
	mlock(v->at, SIEGE_PAGE);
	munlock(v->at, SIEGE_PAGE);
	msync(v->at, SIEGE_PAGE, MS_SYNC);
	syscall(SYS_move_pages, v->vmm, 1, pages, &node, &status, 2);
	way_load(v);
}

static void way_userfault(struct view *v)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register where = {
		.range = { (u64)v->at, SIEGE_PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!ioctl(fd, UFFDIO_API, &api))
		expect(ioctl(fd, UFFDIO_REGISTER, &where),
		       "a protected VM's memory has another filler");
	close(fd);
}

static void way_fork(struct view *v)
{
	pid_t child = fork();

	if (!child) {
		way_load(v);
		way_store(v);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* What the VM's files refuse once its guest has run; of another process they refuse all. */
static void way_calls(struct view *v)
{
	int vcpu = v->s->cpu[pick(v, v->s->nr_cpus)].g.vcpu;
	struct kvm_guest_debug debug = { .control = KVM_GUESTDBG_ENABLE };
	struct kvm_vcpu_init init = { .target = KVM_ARM_TARGET_GENERIC_V8 };
	struct kvm_vcpu_events events = {};
	u64 value = 0;

	/* Without the vCPU's mutex: it runs. */
	expect(try_get_reg(vcpu, REG_X(pick(v, 31)), &value), "a register is read");
	look_for_secret("KVM_GET_ONE_REG", &value, sizeof(value));
	expect(try_set_reg(vcpu, REG_PC, GUEST_BASE), "PC is set");
	expect(ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), "a guest is debugged");
	expect(ioctl(vcpu, KVM_GET_VCPU_EVENTS, &events), "events are read");
	expect(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events are set");
	expect(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "a vCPU starts anew");
	expect(ioctl(v->s->vm, KVM_CREATE_VCPU, 7) < 0, "a vCPU comes later");
	expect(new_gmem(v->s->vm, SIEGE_PAGE, 0) < 0, "memory comes later");
	expect(set_gmem(v->s->vm, 0, GUEST_BASE, 0, v->s->file, 0), "a slot goes");
	expect(set_gmem(v->s->vm, 9, 0x80000000, SIEGE_PAGE, v->s->file, v->offset),
	       "a page is in a second slot");
}

static void (*const ways[])(struct view *v) = {
	way_load, way_store, way_write, way_vmsplice, way_read, way_proc_mem, way_process_vm,
	way_file, way_map, way_advise, way_userfault, way_fork, way_calls,
};

static void catch_faults(void)
{
	struct sigaction fault = { .sa_handler = on_fault };

	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGSEGV, &fault, NULL);
}

/* One page after the other, by one way after the other. */
static void go(struct view *v, void (*const *set)(struct view *v), size_t n, const bool *stop)
{
	catch_faults();
	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
		v->offset = SIEGE_FIRST + pick(v, 3 * SIEGE_PAGES) * SIEGE_PAGE;
		v->at = v->s->memory + v->offset;
		set[pick(v, n)](v);
	}
}

void besiege(struct siege *s, u64 rng, pid_t vmm, const bool *stop)
{
	struct view v = { .s = s, .vmm = vmm, .rng = rng };

	go(&v, ways, ARRAY_SIZE(ways), stop);
}

void fill_by_all_ways(struct siege *s, u64 rng, const bool *stop)
{
	static void (*const writers[])(struct view *v) = {
		way_store, way_read, way_proc_mem, way_process_vm, way_vmsplice, way_map,
		way_advise, way_fork,
	};
	struct view v = { .s = s, .vmm = getpid(), .rng = rng };

	go(&v, writers, ARRAY_SIZE(writers), stop);
}
