// SPDX-License-Identifier: GPL-2.0
/*
 * Attempts to access a protected VM's memory and registers: while the guest shares pages and takes
 * them back, while somebody holds a page, when a VMM dies, and when a page goes bad.
 *
 *	SHARED=n	number of pages, where 2^18 take a guest too long
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random_guest.h"
#include "siege.h"

#define SMALL		0x200000UL
#define NOBODY		65534

static unsigned int siege_ms(void)
{
	const char *ms = getenv("SIEGE_MS");

	return ms ? atoi(ms) : 4000;
}

struct besieger {
	struct siege *s;
	pthread_t thread;
	u64 rng;
	bool stop;
};

static void *besieger(void *arg)
{
	struct besieger *b = arg;

	besiege(b->s, b->rng, getpid(), &b->stop);
	return NULL;
}

/* As long as a VM is not sealed, all that writes is accepted. */
static void *filler(void *arg)
{
	struct besieger *b = arg;

	fill_by_all_ways(b->s, b->rng, &b->stop);
	return NULL;
}

/* A process of another user that has the files and the mapping; it ends with its parent. */
static pid_t other_user(struct siege *s, u64 rng)
{
	static const bool never;
	pid_t vmm = getpid(), child;

	fflush(NULL);
	child = fork();
	if (child)
		return child;
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	besiege(s, rng, vmm, &never);
	_exit(1);
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- while it runs ----------------------------------------------------------------- */

/* All ways at once, by threads of the VMM and by another user's process. */
static void by_all_ways(void)
{
	struct besieger threads[2];
	struct siege s;
	pid_t other;
	size_t i;

	if (!new_siege(&s, SMALL))
		return;
	add_garrison(&s);
	other = other_user(&s, 77);
	start_cpus(&s);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		threads[i] = (struct besieger) { .s = &s, .rng = 7 + i };
		if (pthread_create(&threads[i].thread, NULL, besieger, &threads[i]))
			die("pthread_create");
	}
	usleep(siege_ms() * 1000);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		__atomic_store_n(&threads[i].stop, true, __ATOMIC_RELEASE);
		pthread_join(threads[i].thread, NULL);
	}
	expect(!waitpid(other, NULL, WNOHANG), "another user's process has ended");
	end_child(other);
	for (i = 0; i < s.nr_cpus; i++)
		expect(runner_progress(&s.cpu[i], 2), "vCPU %zu stands after the siege", i);
	stop_cpus(&s);
	free_siege(&s);
}

/* A page that is in a pipe is not taken back before it has left it. */
static void held(void)
{
	u64 word, page[SIEGE_PAGE / 8] = {};
	struct iovec from = { NULL, SIEGE_PAGE };
	struct siege s;
	int ends[2], tries;
	ssize_t got = -1;

	if (!new_siege(&s, SMALL))
		return;
	add_cpu(&s, guest_sharer, guest_sharer_end, SIEGE_FIRST, 1);
	start_cpus(&s);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		die("pipe");
	from.iov_base = s.memory + SIEGE_FIRST;
	for (tries = 0; got < 0 && tries < 1000000; tries++)
		got = vmsplice(ends[1], &from, 1, 0);
	expect(got == SIEGE_PAGE, "a shared page never gets into a pipe: %s", strerror(errno));
	word = __atomic_load_n(&s.cpu[0].exits, __ATOMIC_ACQUIRE);
	usleep(100000);
	/* It may have been in a round's end. */
	expect(__atomic_load_n(&s.cpu[0].exits, __ATOMIC_ACQUIRE) <= word + 1,
	       "a page that a pipe holds is taken back");
	expect(read(ends[0], page, sizeof(page)) == got, "the pipe has no page");
	look_for_secret("held", page, sizeof(page));
	expect(runner_progress(&s.cpu[0], 2), "a page is not taken back when its pipe is empty");
	stop_cpus(&s);
	free_siege(&s);
	close(ends[0]);
	close(ends[1]);
}

/* ---- sealing ---------------------------------------------------------------------- */

/* The guest reports one word, again and again: the one that it was sealed with. */
static void tells_one_word(struct siege *s, unsigned int times)
{
	struct guest *g = &s->cpu[0].g;
	u64 first = 0, word;
	unsigned int i;

	for (i = 0; i < times; i++) {
		if (ioctl(g->vcpu, KVM_RUN, 0)) {
			expect(errno == EBUSY || errno == EINTR, "sealing: %s", strerror(errno));
			continue;
		}
		memcpy(&word, g->run->mmio.data, sizeof(word));
		if (!first)
			first = word;
		expect(g->run->exit_reason == KVM_EXIT_MMIO && word == first,
		       "a page is written after it was sealed: %llx, then %llx",
		       (unsigned long long)first, (unsigned long long)word);
	}
	expect(first, "a guest does not come to be sealed");
}

/* A VMM writes to its guest's memory by all ways while it is sealed. */
static void sealed_while_written(void)
{
	struct besieger threads[2];
	struct siege s;
	int round;
	size_t i;

	for (round = 0; round < times(10); round++) {
		if (!new_siege(&s, SMALL))
			return;
		add_cpu(&s, guest_reader, guest_reader_end, SIEGE_FIRST, 0);
		for (i = 0; i < 3 * SIEGE_PAGES * SIEGE_PAGE / 8; i++)
			((u64 *)(s.memory + SIEGE_FIRST))[i] = 1 + round;
		for (i = 0; i < ARRAY_SIZE(threads); i++) {
			threads[i] = (struct besieger) { .s = &s, .rng = 100 * round + i };
			if (pthread_create(&threads[i].thread, NULL, filler, &threads[i]))
				die("pthread_create");
		}
		usleep(2000 * round);
		tells_one_word(&s, 200);
		for (i = 0; i < ARRAY_SIZE(threads); i++) {
			__atomic_store_n(&threads[i].stop, true, __ATOMIC_RELEASE);
			pthread_join(threads[i].thread, NULL);
		}
		free_siege(&s);
	}
}

/* A VM with a page in a pipe cannot be sealed; once the page has left the pipe, it can. */
static void sealed_while_held(void)
{
	u64 page[SIEGE_PAGE / 8];
	struct iovec from;
	struct siege s;
	int ends[2];

	if (!new_siege(&s, SMALL))
		return;
	add_cpu(&s, guest_reader, guest_reader_end, SIEGE_FIRST, 0);
	*(u64 *)(s.memory + SIEGE_FIRST) = 1;
	from = (struct iovec) { s.memory + SIEGE_FIRST, SIEGE_PAGE };
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) || vmsplice(ends[1], &from, 1, 0) < 0)
		die("a page in a pipe");
	expect(ioctl(s.cpu[0].g.vcpu, KVM_RUN, 0) && errno == EBUSY,
	       "a page in a pipe is sealed: %s", strerror(errno));
	/* It is the VMM's as before. */
	*(u64 *)(s.memory + SIEGE_FIRST) = 2;
	expect(read(ends[0], page, sizeof(page)) == sizeof(page) && page[0] == 2,
	       "a page is lost when it is not sealed");
	tells_one_word(&s, 3);
	free_siege(&s);
	close(ends[0]);
	close(ends[1]);
}

/* ---- the VMM's end ----------------------------------------------------------------- */

/* The VMM of killed_in_siege(): it says which file its memory is. */
static void besieged_vmm(u64 rng, int tell)
{
	struct besieger b = { .rng = rng };
	struct siege s;

	if (!new_siege(&s, SMALL))
		_exit(1);
	add_garrison(&s);
	start_cpus(&s);
	b.s = &s;
	if (!runner_progress(&s.cpu[0], 2) || write(tell, &s.file, sizeof(s.file)) < 0)
		_exit(1);
	besieger(&b);
}

/* What a process finds in a page that may not be there for it. */
static void look_at_page(const char *way, const char *at)
{
	u64 page[SIEGE_PAGE / 8] = {};
	struct iovec to = { page, SIEGE_PAGE }, from = { (void *)at, SIEGE_PAGE };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) > 0)
		look_for_secret(way, page, sizeof(page));
}

/* Kill a VMM, and look at its memory by a file that has come here from it. */
static void kill_and_look(pid_t vmm, int its_file, unsigned int delay)
{
	int pidfd = syscall(SYS_pidfd_open, vmm, 0);
	int file = syscall(SYS_pidfd_getfd, pidfd, its_file, 0);
	char *all = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	size_t at;

	if (all == MAP_FAILED)
		die("the file of another VMM");
	usleep(delay);
	kill(vmm, SIGKILL);
	for (at = 0; at < SMALL; at += SIEGE_PAGE)
		look_at_page("while it ends", all + at);
	waitpid(vmm, NULL, 0);
	for (at = 0; at < SMALL; at += SIEGE_PAGE)
		look_at_page("after its end", all + at);
	munmap(all, SMALL);
	close(file);
	close(pidfd);
}

/* A VMM is killed at any moment; another holder of its file finds only shared memory. */
static void killed_in_siege(void)
{
	unsigned int round;
	int tell[2], file;
	pid_t vmm;

	for (round = 0; round < 8; round++) {
		if (pipe(tell))
			die("pipe");
		fflush(NULL);
		vmm = fork();
		if (!vmm) {
			besieged_vmm(round, tell[1]);
			_exit(1);
		}
		close(tell[1]);
		if (read(tell[0], &file, sizeof(file)) == sizeof(file)) {
			kill_and_look(vmm, file, round * 3000);
		} else {
			expect(false, "a VMM does not stand a siege");
			end_child(vmm);
		}
		close(tell[0]);
	}
}

/* A debugger in a process of its own, and a profiler of the VMM's. */
static void debugged(void)
{
	bool *stop = mmap(NULL, SIEGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t vmm = getpid(), child;
	struct siege s;
	int status = 0;

	if (stop == MAP_FAILED)
		die("mmap");
	if (!new_siege(&s, SMALL)) {
		munmap(stop, SIEGE_PAGE);
		return;
	}
	add_garrison(&s);
	start_cpus(&s);
	expect(runner_progress(&s.cpu[0], 1), "a protected guest does not run");
	fflush(NULL);
	child = fork();
	if (!child) {
		debug_siege(&s, vmm, stop);
		_exit(0);
	}
	/* NO_PERF: a host's kernel that a sample of any process ends. */
	if (!getenv("NO_PERF"))
		profile_siege(&s, siege_ms());
	expect(!waitpid(child, NULL, WNOHANG), "the debugger has ended");
	/* Killed in a step it would leave a thread that steps, and dies of it: nobody else's doing. */
	__atomic_store_n(stop, true, __ATOMIC_RELEASE);
	expect(waitpid(child, &status, 0) == child && !status, "the debugger ends with %x", status);
	munmap(stop, SIEGE_PAGE);
	expect(runner_progress(&s.cpu[0], 2), "a protected guest stands after its debugger");
	stop_cpus(&s);
	free_siege(&s);
}

/* Look at a bad page by a mapping that has it, if it still does, and by a new one. */
static void look_at_bad(struct siege *s)
{
	char *again = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, 0);

	if (again == MAP_FAILED)
		die("mmap");
	look_at_page("bad memory", s->memory + SIEGE_FIRST);
	look_at_page("bad memory", again + SIEGE_FIRST);
	munmap(again, SMALL);
}

/* Pages that go bad before a guest runs, which it then does not; the host lives. */
static void bad_memory(void)
{
	struct siege s;

	if (!new_siege(&s, SMALL))
		return;
	add_cpu(&s, guest_sharer, guest_sharer_end, SIEGE_FIRST, 1);
	memset(s.memory + SIEGE_FIRST, 1, 2 * SIEGE_PAGE);
	if (madvise(s.memory + SIEGE_FIRST, SIEGE_PAGE, MADV_HWPOISON) && errno == EINVAL) {
		printf("protected: a host without MADV_HWPOISON\n");
		free_siege(&s);
		return;
	}
	look_at_bad(&s);
	start_cpus(&s);
	expect(runner_ends(&s.cpu[0]), "a guest runs on bad memory");
	expect(s.cpu[0].error == EHWPOISON, "bad memory: %s", strerror(s.cpu[0].error));
	stop_runner(&s.cpu[0]);
	free_siege(&s);
}

/* The same of a page that goes bad while it is shared: its guest waits until its VM ends. */
static void bad_shared_memory(void)
{
	struct siege s;
	int tries, ret = -1;

	if (!new_siege(&s, SMALL))
		return;
	add_cpu(&s, guest_sharer, guest_sharer_end, SIEGE_FIRST, 1);
	start_cpus(&s);
	for (tries = 0; ret && tries < 100000; tries++) {
		ret = madvise(s.memory + SIEGE_FIRST, SIEGE_PAGE, MADV_HWPOISON);
		if (ret && errno == EINVAL)
			break;
		/* Its page was there, whatever became of it. */
		if (ret && errno == EBUSY)
			ret = 0;
	}
	if (!ret)
		look_at_bad(&s);
	stop_runner(&s.cpu[0]);
	free_siege(&s);
}

/* KiB that are not available any more. The host frees the last VM's pages when it gets to that. */
static long lost_since(long before, long limit)
{
	unsigned int tries;
	long lost;

	for (tries = 0; tries < 200; tries++) {
		lost = before - read_figure("/proc/meminfo", "MemAvailable");
		if (lost < limit)
			break;
		usleep(50000);
	}
	return lost;
}

/* A VM's pages are the host's again when it has gone, whether or not it was sealed or shared. */
static void nothing_kept(void)
{
	const size_t size = 16 << 20, rounds = times(24);
	const long limit = size * rounds / 4 / 1024;
	struct siege s;
	long before = 0, lost;
	size_t i;

	for (i = 0; i <= rounds; i++) {
		if (!new_siege(&s, size))
			return;
		memset(s.memory, 1, size);
		add_garrison(&s);
		if (i % 3) {
			start_cpus(&s);
			expect(runner_progress(&s.cpu[0], 1), "a protected guest does not run");
			stop_cpus(&s);
		}
		free_siege(&s);
		/* The first one has made what stays. */
		if (!i)
			before = read_figure("/proc/meminfo", "MemAvailable");
	}
	lost = lost_since(before, limit);
	expect(lost < limit, "%ld KiB of %zu VMs are lost", lost,
	       rounds);
}

/* As many pages as a guest may share, of which most were never there. Shared all, then none. */
static void millions(void)
{
	u64 pages = number_of("SHARED", 1 << 18);
	struct siege s;

	if (!new_siege(&s, SMALL + pages * SIEGE_PAGE))
		return;
	add_cpu(&s, guest_millions, guest_millions_end, SMALL, pages);
	start_cpus(&s);
	expect(runner_progress(&s.cpu[0], 1) && runner_progress(&s.cpu[0], 1),
	       "a guest cannot share %llu pages", (unsigned long long)pages);
	stop_cpus(&s);
	free_siege(&s);
}

static const struct {
	const char *name;
	void (*run)(void);
} sieges[] = {
	{ "held", held },
	{ "by_all_ways", by_all_ways },
	{ "sealed_while_written", sealed_while_written },
	{ "sealed_while_held", sealed_while_held },
	{ "killed_in_siege", killed_in_siege },
	{ "debugged", debugged },
	{ "nothing_kept", nothing_kept },
	{ "millions", millions },
	{ "bad_memory", bad_memory },
	{ "bad_shared_memory", bad_shared_memory },
};

void hostile_protected(void)
{
	const char *only = getenv("SIEGE");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sieges); i++) {
		if (only && strcmp(only, sieges[i].name))
			continue;
		printf("protected: %s\n", sieges[i].name);
		fflush(stdout);
		sieges[i].run();
	}
}
