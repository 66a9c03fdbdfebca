// SPDX-License-Identifier: GPL-2.0
/*
 * The fuzzer's supervisor: one process for each seed, ended with everything that it started, under
 * a watchdog. The lab checks that the host's log stays clean.
 *
 *	fuzz_api		until SECONDS (default 30) have passed, at least 20 seeds
 *	FIRST=n SEEDS=n		those seeds, however long they take
 *	CPUS=n			most vCPUs of a VM (default 4)
 *	LIMIT=s			hang: seconds without the end of an operation (default 120)
 *	OPS=name,name		only these operations; others are drawn and left out
 *	NOT=name,name		all but these
 *	TRACE=1			prints each operation before it starts
 *
 * Ends with "done", or with the failure and its seed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define BATCH		10	/* seeds from one line of progress to the next */
#define MIN_SEEDS	20	/* on a machine that is busy with other things */

struct tally *tally;

static const struct op *const tables[] = {
	memory_ops, slot_ops, irq_ops, device_ops, vcpu_ops, file_ops, process_ops, debug_ops,
	gmem_ops,
};

static const struct op *ops[MAX_OPS];
static bool left_out[MAX_OPS];
static unsigned int nr_ops, weights;
static bool trace;

void complain(const char *what, ...)
{
	char *text = tally->failure;
	va_list args;

	/* The first byte is taken once, the text follows it. */
	if (__sync_val_compare_and_swap(text, 0, ' '))
		return;
	va_start(args, what);
	vsnprintf(text + 1, sizeof(tally->failure) - 1, what, args);
	va_end(args);
}

u64 stream(u64 seed, u64 a, u64 b)
{
	u64 x = seed * 0x9e3779b97f4a7c15ULL + a * 0xbf58476d1ce4e5b9ULL + b * 0x94d049bb133111ebULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) | 1;
}

struct fate fate_of(u64 seed)
{
	u64 rng = stream(seed, 0, 1);
	struct fate fate = { .end = (rnd(&rng) >> 16) % (2 * NR_ENDS) };

	/* Every second one lives to its end. */
	if (fate.end >= NR_ENDS)
		fate.end = QUIET;
	fate.life = 5000 + (rnd(&rng) >> 16) % 200000;
	return fate;
}

u64 pick(struct actor *a, u64 n)
{
	/* The lowest bits of a small seed repeat. */
	return (rnd(&a->rng) >> 16) % n;
}

bool one_in(struct actor *a, u64 n)
{
	return !pick(a, n);
}

void judge(struct actor *a, long ret)
{
	if (ret >= 0)
		a->done = true;
	else if (errno > EHWPOISON)
		complain("seed %llu: %s: errno %d is the kernel's own",
			 (unsigned long long)a->w->seed, ops[a->op]->name, errno);
}

long call(struct actor *a, int fd, unsigned long cmd, void *arg)
{
	return call_number(a, fd, cmd, (unsigned long)arg);
}

long call_number(struct actor *a, int fd, unsigned long cmd, unsigned long arg)
{
	long ret = ioctl(fd, cmd, arg);

	judge(a, ret);
	return ret;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- operations ---------------------------------------------------------------------- */

static bool named(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
	return false;
}

static void gather_ops(void)
{
	const char *only = getenv("OPS"), *not = getenv("NOT");
	const struct op *op;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		for (op = tables[i]; op->name; op++) {
			if (nr_ops == MAX_OPS)
				die("MAX_OPS");
			left_out[nr_ops] = (only && !named(only, op->name)) ||
					   named(not, op->name);
			ops[nr_ops++] = op;
			weights += op->weight;
		}
	}
}

void do_op(struct actor *a, unsigned int step)
{
	double start;
	u64 at;

	a->rng = stream(a->w->seed, a->index + 1, step);
	at = pick(a, weights);
	for (a->op = 0; at >= ops[a->op]->weight; a->op++)
		at -= ops[a->op]->weight;
	if (left_out[a->op])
		return;
	if (trace)
		dprintf(1, "seed %llu actor %u step %u: %s\n", (unsigned long long)a->w->seed,
			a->index, step, ops[a->op]->name);
	a->done = false;
	__atomic_fetch_add(&tally->tried[a->op], 1, __ATOMIC_RELAXED);
	start = now();
	ops[a->op]->run(a);
	__atomic_fetch_add(&tally->beats, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tally->us[a->op], (now() - start) * 1e6, __ATOMIC_RELAXED);
	if (a->done)
		__atomic_fetch_add(&tally->done[a->op], 1, __ATOMIC_RELAXED);
}

/* ---- a seed's process ---------------------------------------------------------------- */

static void show_file(const char *path)
{
	char text[2048];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0)
		printf("%s:\n%.*s\n", path, (int)n, text);
}

/* Where the threads of a process that does not end are. */
static void show_threads(pid_t pid)
{
	static const char *const files[] = { "wchan", "syscall", "stack" };
	struct dirent *task;
	char path[300];
	DIR *tasks;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (task = readdir(tasks))) {
		if (task->d_name[0] == '.')
			continue;
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", pid, task->d_name,
				 files[i]);
			show_file(path);
		}
	}
	if (tasks)
		closedir(tasks);
	fflush(stdout);
}

/*
 * Wait for a process, or for any with pid -1; false if no operation has ended for this many
 * seconds.
 */
static bool wait_for(pid_t pid, int *status, double limit)
{
	unsigned long seen = 0, beats;
	double end = now() + limit;
	pid_t got;

	for (;;) {
		got = waitpid(pid, status, WNOHANG | __WALL);
		if (got > 0 || (got < 0 && errno == ECHILD))
			return true;
		beats = __atomic_load_n(&tally->beats, __ATOMIC_RELAXED);
		if (beats != seen)
			end = now() + limit;
		else if (now() > end)
			return false;
		seen = beats;
		usleep(1000);
	}
}

/* What the seed left behind: its children are ours now. False: one does not die. */
static bool reap(double limit)
{
	double end = now() + limit;
	int status;

	do {
		errno = 0;
		if (!wait_for(-1, &status, end - now()))
			return false;
	} while (errno != ECHILD);
	return true;
}

/* As they were before the seed. One that is on already is no matter. */
static void all_cpus_on(void)
{
	char path[64];
	int i;

	for (i = 1; i < get_nprocs_conf(); i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
		write_file(path, "1");
	}
}

static void look_at_end(u64 seed, enum end end, int status)
{
	bool good;

	if (end == KILLED)
		good = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	else if (end == ABORTS)
		good = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
	else
		good = WIFEXITED(status) && !WEXITSTATUS(status);
	if (!good)
		complain("seed %llu: its process ended with %s %d", (unsigned long long)seed,
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* False: something of it is left that cannot be ended. */
static bool one_seed(u64 seed, unsigned int cpus, double limit)
{
	struct fate fate = fate_of(seed);
	bool ended = true;
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		live(seed, cpus);
	}
	if (pid < 0)
		die("fork");
	setpgid(pid, pid);
	if (fate.end == KILLED) {
		usleep(fate.life);
		kill(-pid, SIGKILL);
	}
	if (!wait_for(pid, &status, limit)) {
		complain("seed %llu: nothing has ended in %.0f s", (unsigned long long)seed, limit);
		show_threads(pid);
		kill(-pid, SIGKILL);
		ended = wait_for(pid, &status, limit);
	} else {
		look_at_end(seed, fate.end, status);
	}
	kill(-pid, SIGKILL);
	if (!ended || !reap(limit)) {
		complain("seed %llu: cannot be killed", (unsigned long long)seed);
		show_threads(pid);
		ended = false;
	}
	all_cpus_on();
	return ended;
}

/* ---- a run --------------------------------------------------------------------------- */

static unsigned long sum(const unsigned long *at)
{
	unsigned long all = 0;
	unsigned int i;

	for (i = 0; i < nr_ops; i++)
		all += at[i];
	return all;
}

static void say_ops(void)
{
	unsigned int i;

	for (i = 0; i < nr_ops; i++)
		printf("op %s: %lu tried, %lu done, %lu ms\n", ops[i]->name, tally->tried[i],
		       tally->done[i], tally->us[i] / 1000);
	printf("exits: %lu mmio, %lu system event, %lu internal error, %lu interrupted\n",
	       tally->exits[KVM_EXIT_MMIO], tally->exits[KVM_EXIT_SYSTEM_EVENT],
	       tally->exits[KVM_EXIT_INTERNAL_ERROR], tally->exits[KVM_EXIT_INTR]);
}

static void run(void)
{
	u64 first = number_of("FIRST", 1), seeds = number_of("SEEDS", 0), seed;
	double start = now(), seconds = number_of("SECONDS", 30);
	unsigned int cpus = number_of("CPUS", MAX_CPUS);
	double limit = number_of("LIMIT", 120);
	bool good = true;

	for (seed = first; good && !tally->failure[0]; seed++) {
		if (seeds ? seed == first + seeds :
			    seed >= first + MIN_SEEDS && now() - start >= seconds)
			break;
		if ((seed - first) % BATCH == 0) {
			printf("%.0f s, %lu operations; from seed %llu\n", now() - start,
			       sum(tally->tried), (unsigned long long)seed);
			fflush(stdout);
		}
		good = one_seed(seed, cpus, limit);
	}
	printf("%llu seeds from %llu, %lu operations, %.0f s\n", (unsigned long long)(seed - first),
	       (unsigned long long)first, sum(tally->tried), now() - start);
}

static void on_signal(int number)
{
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct rlimit files = { 400, 400 }, core = { 0, 0 };

	if (argc > 1)
		return 0;	/* the code of a world */
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		die("mmap");
	trace = number_of("TRACE", 0);
	sigaction(SIGUSR1, &action, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* For tracepoints, if there are any and it is not there yet. */
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	gather_ops();
	keep_perf_hooks();
	run();
	say_ops();
	if (tally->failure[0])
		printf("FAILED:%s\n", tally->failure);
	else
		printf("done\n");
	return !!tally->failure[0];
}
