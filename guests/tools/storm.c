// SPDX-License-Identifier: GPL-2.0
/*
 * Several CPUs change each other's translations at the same time:
 *
 *	storm [REPLACEMENTS [READERS]]
 *
 * It ends after so many replacements, and not before each kind of event has happened often enough
 * to mean something: how much happens beside a replacement differs from machine to machine.
 *
 * A mapper replaces the pages of a window one after the other, each time by a page that holds a
 * larger number, and announces it once the old page is gone: by mremap(), by unmapping in between,
 * or by mprotect() without write permission. Readers, which move from CPU to CPU, read and write
 * these pages all the time. If a reader still sees an old page, or writes after the permission was
 * removed, its CPU's TLB has an old entry. Signals interrupt all of them, and a process forks, so
 * that pages are shared and copied meanwhile.
 *
 * Results are lines "result NAME VALUE UNIT".
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 8
#define SIZE 4096
#define MAX_READERS 64
#define REPLACEMENTS 400
/* Events without which a run has tested nothing. */
#define LEAST_READS 501
#define LEAST_EVENTS 6

/* A page: its number, and a word that readers write while they have permission. */
struct page {
	_Atomic uint64_t number, written;
};

/* The state of each place, announced once it is reached. */
struct said {
	_Atomic uint64_t number;	/* pages with less are gone */
	_Atomic uint64_t closed;	/* nobody may write to pages with no more */
};

static char *window;
static struct said said[PAGES];
static atomic_bool over;
static _Atomic uint64_t reads, faults, signals, replaced, forks, stale;
static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t may_fault;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct page *page_at(unsigned int place)
{
	return (struct page *)(window + place * SIZE);
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	if (!may_fault) {
		signal(number, SIG_DFL);
		return;
	}
	siglongjmp(back, 1);
}

static void on_timer(int number)
{
	(void)number;
	signals++;
}

static void found_stale(const char *what, unsigned int place, uint64_t is, uint64_t least)
{
	if (stale++ < 5)
		fprintf(stderr, "storm: %s at %u: page %" PRIu64 ", after %" PRIu64 " was said\n",
			what, place, is, least);
}

/* ---- readers ---------------------------------------------------------------- */

/* The page's number, after a write if `write` is set. False: not mapped, or not writable. */
static bool number_of(struct page *page, bool write, uint64_t *is)
{
	if (sigsetjmp(back, 1)) {
		may_fault = 0;
		faults++;
		return false;
	}
	may_fault = 1;
	if (write)
		atomic_fetch_add(&page->written, 1);
	*is = atomic_load(&page->number);
	may_fault = 0;
	return true;
}

/* A new page gets its number before it is put into place. */
static void look(unsigned int place)
{
	uint64_t least = atomic_load(&said[place].number), is;

	if (!number_of(page_at(place), false, &is))
		return;
	reads++;
	if (is < least)
		found_stale("read", place, is, least);
}

/* A page with a larger number may replace it between the write and the look: no harm. */
static void touch(unsigned int place)
{
	uint64_t closed = atomic_load(&said[place].closed), is;

	if (number_of(page_at(place), true, &is) && is <= closed)
		found_stale("write", place, is, closed);
}

static void move(uint64_t *seed)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(next(seed) % (uint64_t)cpus, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("storm: cannot move");
}

static void *reader(void *argument)
{
	uint64_t seed = 0x9e3779b97f4a7c15UL * (uint64_t)(uintptr_t)argument, n = 0;

	while (!atomic_load(&over)) {
		uint64_t drawn = next(&seed);

		if (drawn >> 60)
			look(drawn % PAGES);
		else
			touch(drawn % PAGES);
		if (!(++n % 512))
			move(&seed);
		if (!(n % 64))
			(void)getppid();
	}
	return NULL;
}

/* ---- the mapper --------------------------------------------------------------- */

static struct page *new_page(void *at, uint64_t number)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct page *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (page == MAP_FAILED)
		die("storm: mmap");
	atomic_store(&page->number, number);
	if (!at)
		return page;
	if (mremap(page, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED)
		die("storm: mremap");
	return at;
}

static void replace(unsigned int place, uint64_t number, uint64_t drawn)
{
	struct page *page = page_at(place);

	if (drawn & 1) {
		if (mprotect(page, SIZE, PROT_READ))
			die("storm: mprotect");
		atomic_store(&said[place].closed, number - 1);
		if (drawn & 2)
			sched_yield();
	}
	if (drawn & 4) {
		/* No munmap(): another thread's pages might be mapped at its address. */
		if (mmap(page, SIZE, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			die("storm: mmap");
		atomic_store(&said[place].number, number);
		if (drawn & 8)
			sched_yield();
	}
	new_page(page, number);
	atomic_store(&said[place].number, number);
	replaced++;
}

static void *mapper(void *argument)
{
	uint64_t seed = 88172645463325252UL, number = 1;

	(void)argument;
	while (!atomic_load(&over)) {
		uint64_t drawn = next(&seed);

		replace(drawn % PAGES, ++number, drawn >> 32);
		if (!(number % 64))
			move(&seed);
	}
	return NULL;
}

/* Pages become shared, and are copied when they are written next. */
static void *forker(void *argument)
{
	uint64_t seed = 1234567;
	int status;
	pid_t pid;

	(void)argument;
	while (!atomic_load(&over)) {
		pid = fork();
		if (pid < 0)
			die("storm: fork");
		if (!pid)
			_exit(0);
		if (waitpid(pid, &status, 0) != pid || status)
			die("storm: a child did not end well");
		forks++;
		move(&seed);
	}
	return NULL;
}

/* ---- all together ---------------------------------------------------------------- */

static void set_up(void)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction timer = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	unsigned int i;

	window = mmap(NULL, PAGES * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (window == MAP_FAILED)
		die("storm: mmap");
	for (i = 0; i < PAGES; i++) {
		new_page(page_at(i), 1);
		atomic_store(&said[i].number, 1);
	}
	if (sigaction(SIGSEGV, &fault, NULL) || sigaction(SIGBUS, &fault, NULL) ||
	    sigaction(SIGALRM, &timer, NULL))
		die("storm: sigaction");
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t argument)
{
	if (pthread_create(thread, NULL, run, (void *)argument))
		die("storm: cannot start a thread");
}

static bool enough(uint64_t pages)
{
	return atomic_load(&replaced) >= pages && atomic_load(&reads) >= LEAST_READS &&
	       atomic_load(&faults) >= LEAST_EVENTS && atomic_load(&forks) >= LEAST_EVENTS &&
	       atomic_load(&signals) >= LEAST_EVENTS;
}

/* Signals arrive at any thread, 500 a second, until this many pages have been replaced. */
static void wait_for(uint64_t pages)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec every = { { 0, 2000000 }, { 0, 2000000 } };
	struct timespec a_while = { 0, 10000000 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
		die("storm: timer");
	while (!enough(pages))
		nanosleep(&a_while, NULL);
	timer_delete(timer);
}

int main(int argc, char **argv)
{
	long pages = argc > 1 ? atol(argv[1]) : REPLACEMENTS;
	long readers = argc > 2 ? atol(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[MAX_READERS + 2];
	long i;

	if (pages < 1 || readers < 1 || readers > MAX_READERS) {
		fprintf(stderr, "usage: storm [REPLACEMENTS [READERS]]   1 to %d readers\n",
			MAX_READERS);
		return 2;
	}
	set_up();
	for (i = 0; i < readers; i++)
		start(&thread[i], reader, (uintptr_t)i + 1);
	start(&thread[i++], mapper, 0);
	start(&thread[i++], forker, 0);
	wait_for((uint64_t)pages);
	atomic_store(&over, true);
	while (i--)
		pthread_join(thread[i], NULL);
	printf("result storm.reads %" PRIu64 " count\n", reads);
	printf("result storm.faults %" PRIu64 " count\n", faults);
	printf("result storm.replaced %" PRIu64 " count\n", replaced);
	printf("result storm.forks %" PRIu64 " count\n", forks);
	printf("result storm.signals %" PRIu64 " count\n", signals);
	printf("result storm.stale %" PRIu64 " count\n", stale);
	return stale != 0;
}
