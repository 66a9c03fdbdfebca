// SPDX-License-Identifier: GPL-2.0
/*
 * A plain VM whose memory is a guest_memfd. While the guest runs, pages are punched out, files are
 * closed, and the module's own mapping is unmapped; several threads create and delete slots and
 * files. A host whose KVM lacks guest_memfd has nothing to test.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

#define PAGE	4096UL
#define FLAGS	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)
#define PUNCH	(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define ROUNDS	40

struct holder {
	struct runner r;
	int fd;
};

static int new_file(int vm, u64 size)
{
	struct kvm_create_guest_memfd args = { .size = size, .flags = FLAGS };

	return ioctl(vm, KVM_CREATE_GUEST_MEMFD, &args);
}

static long set_slot(int vm, u32 slot, u64 gpa, u64 size, int fd, u64 offset)
{
	struct kvm_userspace_memory_region2 mem = {
		.slot = slot, .flags = KVM_MEM_GUEST_MEMFD, .guest_phys_addr = gpa,
		.memory_size = size, .guest_memfd = fd, .guest_memfd_offset = offset,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION2, &mem);
}

static void *map(int fd)
{
	void *at = mmap(NULL, GUEST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		die("mmap of a guest_memfd");
	return at;
}

/* The guest writes each of its pages' addresses there, over and over. */
static void start(struct holder *h)
{
	struct guest *g = &h->r.g;

	memset(h, 0, sizeof(*h));
	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	h->fd = new_file(g->vm, GUEST_SIZE);
	g->memory = map(h->fd);
	memcpy(g->memory, guest_writer, sizeof(guest_writer));
	if (set_slot(g->vm, 0, GUEST_BASE, GUEST_SIZE, h->fd, 0))
		die("KVM_SET_USER_MEMORY_REGION2");
	g->vcpu = new_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	init_vcpu(g->vcpu);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
	run_in_thread(&h->r);
}

static void finish(struct holder *h, int error, const char *what)
{
	int ended = stop_runner(&h->r);

	expect(ended == error, "%s: the guest ended with %d, not %d", what, ended, error);
	free_guest(&h->r.g);
	if (h->fd >= 0)
		close(h->fd);
}

static bool written(const struct holder *h, u64 page)
{
	return *(volatile u64 *)(h->r.g.memory + page * PAGE) == GUEST_BASE + page * PAGE;
}

/* ---- holes ------------------------------------------------------------------- */

static void *touch(void *arg)
{
	struct holder *h = arg;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&h->r.stop, __ATOMIC_ACQUIRE); i++) {
		char *at = map(h->fd);

		*(volatile char *)(at + (1 + i % 511) * PAGE);
		madvise(at, GUEST_SIZE, MADV_DONTNEED);
		munmap(at, GUEST_SIZE);
		fallocate(h->fd, FALLOC_FL_KEEP_SIZE, PAGE, 32 * PAGE);
	}
	return NULL;
}

/* What was punched out is zeroes until the guest writes it again, which it does. */
static void holes(void)
{
	u64 last = GUEST_SIZE / PAGE - 1;
	pthread_t thread;
	struct holder h;
	int i;

	start(&h);
	expect(runner_progress(&h.r, 2) && written(&h, 1) && written(&h, last),
	       "the guest does not write its memory");
	if (pthread_create(&thread, NULL, touch, &h))
		die("pthread_create");
	for (i = 0; i < ROUNDS; i++) {
		expect(!fallocate(h.fd, PUNCH, PAGE, GUEST_SIZE - PAGE), "punch: %s", strerror(errno));
		expect(runner_progress(&h.r, 2), "the guest ends where pages were punched out");
		expect(written(&h, 1 + i) && written(&h, last),
		       "the guest writes to a page that the file has no more");
	}
	/* Its code, too: zeroes are no instruction, and its vectors are nowhere. */
	expect(!fallocate(h.fd, PUNCH, 0, GUEST_SIZE), "punch: %s", strerror(errno));
	usleep(20000);
	__atomic_store_n(&h.r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	stop_runner(&h.r);
	free_guest(&h.r.g);
	close(h.fd);
}

/* ---- the module's mapping ----------------------------------------------------- */

/* Where it is: the file's only mapping that is not ours. */
static void *find_mapping(const void *ours)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, at = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[kvm-gmem]") && sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    (void *)start != ours && end - start == GUEST_SIZE)
			at = start;
	if (maps)
		fclose(maps);
	return (void *)at;
}

/* A VMM that unmaps it has a guest without memory, and keeps anything that it maps there. */
static void unmapped(void)
{
	struct holder h;
	char *at, *other;

	start(&h);
	expect(runner_progress(&h.r, 2), "the guest does not run");
	at = find_mapping(h.r.g.memory);
	if (!at)
		die("the module has no mapping of the slot");
	munmap(at + PAGE, GUEST_SIZE - PAGE);
	expect(runner_ends(&h.r), "the guest goes on without memory");
	other = mmap(at + PAGE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	*other = 0x55;
	expect(!set_slot(h.r.g.vm, 0, GUEST_BASE, 0, -1, 0), "delete: %s", strerror(errno));
	expect(*other == 0x55, "the slot's end took the VMM's memory with it");
	expect(find_mapping(h.r.g.memory) == NULL, "the slot's end leaves its mapping");
	munmap(other, PAGE);
	finish(&h, EFAULT, "unmapped");
}

/* ---- ends --------------------------------------------------------------------- */

static void closed(void)
{
	struct holder h;

	start(&h);
	expect(runner_progress(&h.r, 2), "the guest does not run");
	close(h.fd);
	h.fd = -1;
	expect(runner_progress(&h.r, 2), "the guest ends while the VMM has its memory mapped");
	munmap(h.r.g.memory, GUEST_SIZE);
	expect(runner_ends(&h.r), "the guest goes on with memory that nobody has");
	expect(!set_slot(h.r.g.vm, 0, GUEST_BASE, 0, -1, 0), "delete: %s", strerror(errno));
	h.r.g.memory = map_memory(GUEST_SIZE);
	finish(&h, EFAULT, "closed");
}

/* A process that dies in the middle of it, and a child that has the files only. */
static void dies(void)
{
	struct holder h;
	int status;
	pid_t child = fork();

	if (!child) {
		start(&h);
		runner_progress(&h.r, 1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	start(&h);
	child = fork();
	if (!child) {
		expect(!find_mapping(h.r.g.memory), "a child has the module's mapping");
		usleep(20000);
		_exit(0);
	}
	expect(runner_progress(&h.r, 2), "the guest ends with a fork");
	finish(&h, 0, "forked");
	waitpid(child, &status, 0);
}

/* ---- many at a time ------------------------------------------------------------ */

struct crowd {
	struct holder h;
	int fd;			/* that all of them use and replace */
	bool stop;
};

static void *crowd_slots(void *arg)
{
	struct crowd *c = arg;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE); i++) {
		int fd = __atomic_load_n(&c->fd, __ATOMIC_ACQUIRE);

		set_slot(c->h.r.g.vm, 1 + i % 2, 0x80000000 + i % 4 * PAGE, 2 * PAGE, fd,
			 i % 3 * PAGE);
		set_slot(c->h.r.g.vm, 1 + (i + 1) % 2, 0x80000000, 0, -1, 0);
		fallocate(fd, PUNCH, 0, 4 * PAGE);
	}
	return NULL;
}

static void *crowd_files(void *arg)
{
	struct crowd *c = arg;
	unsigned int i;

	for (i = 0; i < 20 * ROUNDS; i++) {
		int fd = new_file(c->h.r.g.vm, 4 * PAGE);
		char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		fd = __atomic_exchange_n(&c->fd, fd, __ATOMIC_ACQ_REL);
		if (at != MAP_FAILED) {
			*at = 1;
			munmap(at, 4 * PAGE);
		}
		close(fd);
	}
	__atomic_store_n(&c->stop, true, __ATOMIC_RELEASE);
	return NULL;
}

static void crowd(void)
{
	pthread_t thread[3];
	struct crowd c = { .fd = -1 };
	size_t i;

	start(&c.h);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		if (pthread_create(&thread[i], NULL, i ? crowd_slots : crowd_files, &c))
			die("pthread_create");
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	expect(runner_progress(&c.h.r, 2), "the guest ended among slots that come and go");
	finish(&c.h, 0, "crowd");
	close(c.fd);
}

void hostile_gmem(void)
{
	int kvm = open_kvm(), has = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_GUEST_MEMFD);

	close(kvm);
	if (has <= 0)
		return;
	printf("a guest_memfd\n");
	holes();
	unmapped();
	closed();
	dies();
	crowd();
}
