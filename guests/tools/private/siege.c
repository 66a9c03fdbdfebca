// SPDX-License-Identifier: GPL-2.0
/*
 * Attackers read a guest's pages all the time, while the guest shares pages and takes them back:
 * threads of the VMM and other processes, each in its own way; others move, lock, age or protect
 * the mapping meanwhile. A shared page holds a public word, a private one a secret.
 *
 *     calls-ok     all calls returned 0              calls-refused   some did not
 *     unharmed     each secret was still there       changed         some were not
 *     no-secret    nobody has seen one               secret:NAME     this attacker has
 *     public       each attacker has seen a public   no-public:NAME  this one has not
 *                  word
 *
 * On pKVM an access by the host's kernel costs the guest its page, and then the VM its life: there
 * only the CPU reads.
 */
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define CALL_MEMINFO	0xc6000002
#define CALL_UNSHARE	0xc6000004

#define OFFSET		(64 * PUPPET_PAGE)
#define PAGES		64UL
#define RANGE		8UL
#define WORD		0x50b1cUL		/* the word for the guest: public, and + 1 secret */
#define PUBLIC		(~WORD)
#define SECRET		(~(WORD + 1))
#define LEAST		60			/* rounds of all pages; more until every attacker has looked */
#define MOST		6000
#define LOOKERS		16
#define KILLS		20

/* The results of an attacker, thread or process. */
struct tally {
	_Atomic uint64_t public, secret;
};

struct siege {
	struct subject *subject;
	struct tally *tallies;
	_Atomic bool *over;
};

struct looker {
	const char *name;
	/* Looks at the page for a word, if it can. */
	bool (*look)(char *page, uint64_t *word);
	bool process;	/* of its own, forked from the VMM's */
	bool kernel;	/* the host's kernel looks for it */
};

static _Thread_local sigjmp_buf back;

static void on_fault(int number)
{
	siglongjmp(back, number);
}

static bool look_load(char *page, uint64_t *word)
{
	if (sigsetjmp(back, 1))
		return false;
	*word = *(volatile uint64_t *)page;
	return true;
}

/* Stores, which must not reach a private page; a later read there returns its own contents. */
static bool look_store(char *page, uint64_t *word)
{
	if (sigsetjmp(back, 1))
		return false;
	*word = atomic_exchange((_Atomic uint64_t *)page, 1);
	return true;
}

static _Thread_local int ends[2] = { -1, -1 };

static bool make_pipe(void)
{
	if (ends[0] < 0 && pipe2(ends, O_CLOEXEC))
		fail("pipe");
	return true;
}

static bool look_write(char *page, uint64_t *word)
{
	return make_pipe() && write(ends[1], page, 8) == 8 && read(ends[0], word, 8) == 8;
}

/* The page itself is in the pipe for a moment. */
static bool look_splice(char *page, uint64_t *word)
{
	struct iovec from = { page, 8 };

	return make_pipe() && vmsplice(ends[1], &from, 1, 0) == 8 && read(ends[0], word, 8) == 8;
}

static bool look_memory_file(char *page, uint64_t *word)
{
	static _Thread_local int file = -1;

	if (file < 0)
		file = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	return pread(file, word, 8, (off_t)(uintptr_t)page) == 8;
}

static bool look_process_vm(char *page, uint64_t *word)
{
	struct iovec to = { word, 8 }, from = { page, 8 };

	return process_vm_readv(getppid(), &to, 1, &from, 1, 0) == 8;
}

/* A debugger's look at a child that has the mapping, too. */
static bool look_ptrace(char *page, uint64_t *word)
{
	static _Thread_local pid_t child;

	if (!child) {
		child = fork();
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	errno = 0;
	*word = (uint64_t)ptrace(PTRACE_PEEKDATA, child, page, NULL);
	return !errno;
}

/* Looks after mremap(), mprotect() and madvise() of the mapping, as far as they succeed. */
static bool look_moved(char *page, uint64_t *word)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED, MADV_POPULATE_READ,
		MADV_MERGEABLE, MADV_HUGEPAGE, MADV_COLLAPSE,
	};
	static _Thread_local unsigned int turn;
	char *room, *moved;
	bool seen;

	room = mmap(NULL, PUPPET_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(page, PUPPET_PAGE, PUPPET_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	if (moved == MAP_FAILED) {
		munmap(room, PUPPET_PAGE);
		return look_load(page, word);
	}
	madvise(moved, PUPPET_PAGE, advice[turn++ % ARRAY_SIZE(advice)]);
	mprotect(moved, PUPPET_PAGE, PROT_READ);
	seen = look_load(moved, word);
	mprotect(moved, PUPPET_PAGE, PROT_READ | PROT_WRITE);
	mremap(moved, PUPPET_PAGE, PUPPET_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page);
	return seen;
}

/* A child looks, forked by a process that has called mlock() for the page. */
static bool look_locked_child(char *page, uint64_t *word)
{
	pid_t child;
	int status;

	mlock(page, PUPPET_PAGE);
	child = fork();
	if (!child) {
		bool seen = look_load(page, word);

		_exit(!seen ? 0 : *word == SECRET ? 2 : *word == PUBLIC ? 1 : 0);
	}
	munlock(page, PUPPET_PAGE);
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return false;
	*word = WEXITSTATUS(status) == 2 ? SECRET : PUBLIC;
	return WEXITSTATUS(status) != 0;
}

static const struct looker lookers[] = {
	{ .name = "load", .look = look_load },
	{ .name = "store", .look = look_store },
	{ .name = "child", .look = look_load, .process = true },
	{ .name = "moved", .look = look_moved, .process = true, .kernel = true },
	{ .name = "write", .look = look_write, .kernel = true },
	{ .name = "splice", .look = look_splice, .kernel = true },
	{ .name = "memory-file", .look = look_memory_file, .kernel = true },
	{ .name = "process-vm", .look = look_process_vm, .process = true, .kernel = true },
	{ .name = "ptrace", .look = look_ptrace, .process = true, .kernel = true },
	{ .name = "locked-child", .look = look_locked_child, .process = true, .kernel = true },
};

_Static_assert(ARRAY_SIZE(lookers) <= LOOKERS, "tallies");

/* Looks at all pages, in an order of its own, until the siege is over. */
static void besiege(const struct siege *siege, unsigned int number)
{
	char *first = siege->subject->ram + OFFSET;
	struct tally *tally = &siege->tallies[number];
	unsigned long page = number;
	uint64_t word;

	while (!*siege->over) {
		page = (page + 2 * number + 1) % PAGES;
		word = 0;
		if (!lookers[number].look(first + page * PUPPET_PAGE, &word))
			continue;
		tally->public += word == PUBLIC;
		tally->secret += word == SECRET;
	}
}

struct post {
	const struct siege *siege;
	unsigned int number;
	pthread_t thread;
	pid_t process;
};

static void *stand(void *argument)
{
	const struct post *post = argument;

	besiege(post->siege, post->number);
	return NULL;
}

static bool takes_part(const struct subject *subject, unsigned int number)
{
	return subject->kind != PROTECTED || !lookers[number].kernel;
}

static void begin(struct post *post)
{
	if (!lookers[post->number].process) {
		if (pthread_create(&post->thread, NULL, stand, post))
			fail("a thread");
		return;
	}
	post->process = fork();
	if (post->process < 0)
		fail("a process");
	if (!post->process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		besiege(post->siege, post->number);
		_exit(0);
	}
}

/* All have seen public words; of a plain VM also secrets, which proves that they could. */
static bool all_have_seen(const struct siege *siege, struct puppet_answer sum)
{
	bool plain = !siege->subject->protected;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lookers); i++) {
		if (!takes_part(siege->subject, i))
			continue;
		if (!siege->tallies[i].public || (plain && !siege->tallies[i].secret))
			return false;
	}
	return !plain || sum.x[1];
}

static void say(char *said, const char *word, const char *name)
{
	size_t used = strlen(said);

	snprintf(said + used, SAID_SIZE - used, "%s%s%s", used ? " " : "", word, name);
}

static void report(const struct siege *siege, struct puppet_answer sum, char *said)
{
	unsigned int i, secrets = 0, blind = 0;

	if (sum.error) {
		say(said, error_name(sum.error), "");
		return;
	}
	say(said, sum.x[0] ? "calls-refused" : "calls-ok", "");
	say(said, sum.x[1] ? "changed" : "unharmed", "");
	for (i = 0; i < ARRAY_SIZE(lookers); i++) {
		secrets += siege->tallies[i].secret != 0;
		if (takes_part(siege->subject, i) && !siege->tallies[i].public) {
			say(said, "no-public:", lookers[i].name);
			blind++;
		}
		if (siege->tallies[i].secret && siege->subject->protected)
			say(said, "secret:", lookers[i].name);
	}
	if (!siege->subject->protected)
		say(said, secrets == i ? "secret:all" : "secret:some", "");
	else if (!secrets)
		say(said, "no-secret", "");
	if (!blind)
		say(said, "public", "");
}

static void *shared_page(void)
{
	void *page = mmap(NULL, PUPPET_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		fail("a page");
	return page;
}

static void watch_faults(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

static void raise_siege(struct siege *siege, struct post *posts, struct subject *subject)
{
	unsigned int i;

	*siege = (struct siege){ subject, shared_page(), shared_page() };
	watch_faults(on_fault);
	for (i = 0; i < ARRAY_SIZE(lookers); i++) {
		posts[i] = (struct post){ .siege = siege, .number = i };
		if (takes_part(subject, i))
			begin(&posts[i]);
	}
}

static void end_siege(struct siege *siege, struct post *posts)
{
	unsigned int i;

	*siege->over = true;
	for (i = 0; i < ARRAY_SIZE(lookers); i++) {
		if (posts[i].process)
			waitpid(posts[i].process, NULL, 0);
		else if (posts[i].thread)
			pthread_join(posts[i].thread, NULL);
	}
}

static void free_siege(struct siege *siege)
{
	watch_faults(SIG_DFL);
	munmap(siege->tallies, PUPPET_PAGE);
	munmap((void *)siege->over, PUPPET_PAGE);
}

static void lay_siege(struct subject *subject, uint64_t range, char *said)
{
	struct puppet_answer sum = { 0 }, answer;
	struct post posts[LOOKERS];
	struct siege siege;
	unsigned int round;

	/* The guest has run: from now on the pages are its own. */
	puppet_store(&subject->puppet, PUPPET_RAM + OFFSET, WORD + 1);
	raise_siege(&siege, posts, subject);
	for (round = 0; round < MOST && (round < LEAST || !all_have_seen(&siege, sum)); round++) {
		answer = puppet_flip(&subject->puppet, PUPPET_RAM + OFFSET, PAGES, range, WORD);
		sum.x[0] += answer.x[0];
		sum.x[1] += answer.x[1];
		sum.error = answer.error;
		if (answer.error)
			break;
	}
	end_siege(&siege, posts);
	report(&siege, sum, said);
	free_siege(&siege);
}

static void try_siege(struct subject *subject, char *said)
{
	lay_siege(subject, 0, said);
}

static bool has_ranges(struct subject *subject)
{
	struct puppet_answer answer = puppet_call(&subject->puppet, CALL_MEMINFO, 0, 0, 0);

	return answer.x[0] == PUPPET_PAGE && answer.x[1] & 1;
}

/* The guest shares and takes back pages as ranges, if the hypervisor supports ranges. */
static void try_siege_of_ranges(struct subject *subject, char *said)
{
	if (has_ranges(subject))
		lay_siege(subject, RANGE, said);
	else
		say(said, "no-ranges", "");
}

/* A vCPU that flips pages, some of which another vCPU flips at the same time. */
struct flipper {
	struct puppet *puppet;
	uint64_t first, pages, range;
	int error;
};

static void *flip(void *argument)
{
	struct flipper *flipper = argument;
	unsigned int round;

	for (round = 0; round < LEAST && !flipper->error; round++)
		flipper->error = puppet_flip(flipper->puppet, flipper->first, flipper->pages,
					     flipper->range, WORD).error;
	return NULL;
}

/* Takes back pages that are still shared: each has a secret that only the guest can read. */
static void report_secrets(struct subject *subject, char *said)
{
	unsigned int seen = 0, lost = 0;
	uint64_t page, address, word;

	puppet_calls(&subject->puppet, CALL_UNSHARE, PUPPET_RAM + OFFSET, PAGES);
	for (page = 0; page < PAGES; page++) {
		address = PUPPET_RAM + OFFSET + page * PUPPET_PAGE;
		puppet_store(&subject->puppet, address, WORD + 1);
		if (look_load(subject->ram + address - PUPPET_RAM, &word))
			seen += word == SECRET;
		lost += puppet_load(&subject->puppet, address).x[0] != WORD + 1;
	}
	say(said, lost ? "changed" : "unharmed", "");
	say(said, !seen ? "no-secret" : seen == PAGES ? "secret:all" : "secret:some", "");
}

/*
 * Two vCPUs at once, whose ranges begin at different pages. The pages that one of them shares may
 * hold a secret of the other, so reads meanwhile prove nothing: everything is checked afterwards.
 */
static void try_siege_of_two(struct subject *subject, char *said)
{
	struct flipper flippers[2];
	struct post posts[LOOKERS];
	struct puppet second;
	struct siege siege;
	const char *what;
	pthread_t thread;
	uint64_t range;

	if (puppet_add_vcpu(&subject->puppet, &second, &what))
		fail(what);
	range = has_ranges(subject) ? RANGE : 0;
	flippers[0] = (struct flipper){ &subject->puppet, PUPPET_RAM + OFFSET, PAGES, range, 0 };
	flippers[1] = flippers[0];
	flippers[1].puppet = &second;
	flippers[1].first += RANGE / 2 * PUPPET_PAGE;
	flippers[1].pages -= RANGE;
	raise_siege(&siege, posts, subject);
	if (pthread_create(&thread, NULL, flip, &flippers[1]))
		fail("a thread");
	flip(&flippers[0]);
	pthread_join(thread, NULL);
	end_siege(&siege, posts);
	say(said, error_name(flippers[0].error), "");
	say(said, error_name(flippers[1].error), "");
	report_secrets(subject, said);
	free_siege(&siege);
	puppet_free(&second);
}

/* A VMM, in a process of its own, whose guest flips its pages until it is killed. */
struct vmm {
	pid_t process;
	_Atomic int *file;	/* its memory's, by its own number and 1, from when the VM runs */
};

static void run_vmm(const struct vmm *vmm, enum kind kind)
{
	struct subject own;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make_subject(&own, kind);
	puppet_store(&own.puppet, PUPPET_RAM + OFFSET, WORD + 1);
	*vmm->file = own.file + 1;
	while (!puppet_flip(&own.puppet, PUPPET_RAM + OFFSET, PAGES, 0, WORD).error)
		;
	_exit(1);
}

/* This process maps the VM's memory, and nothing else of the VM; NULL if it cannot. */
static char *memory_of(const struct vmm *vmm)
{
	int process = pidfd_open(vmm->process, 0), file;
	char *ram;

	while (!*vmm->file) {
		if (waitpid(vmm->process, NULL, WNOHANG))
			fail("a VMM that ended by itself");
		usleep(1000);
	}
	file = pidfd_getfd(process, *vmm->file - 1, 0);
	close(process);
	ram = mmap(NULL, PUPPET_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return ram == MAP_FAILED ? NULL : ram;
}

static void look_at_all(char *ram, struct tally *tally)
{
	unsigned long page;
	uint64_t word;

	for (page = 0; page < PAGES; page++) {
		if (!look_load(ram + OFFSET + page * PUPPET_PAGE, &word))
			continue;
		tally->public += word == PUBLIC;
		tally->secret += word == SECRET;
	}
}

/* Kill the VMM at some moment, then look at its VM's memory. False: it had ended before. */
static bool kill_one(enum kind kind, struct tally *tally, unsigned int looks)
{
	struct vmm vmm = { .file = shared_page() };
	uint64_t before = tally->public;
	unsigned int n;
	int status = 0;
	char *ram;

	vmm.process = fork();
	if (vmm.process < 0)
		fail("a process");
	if (!vmm.process)
		run_vmm(&vmm, kind);
	ram = memory_of(&vmm);
	for (n = 0; ram && n < MOST && (n < looks || tally->public == before); n++)
		look_at_all(ram, tally);
	kill(vmm.process, SIGKILL);
	if (ram)
		look_at_all(ram, tally);
	waitpid(vmm.process, &status, 0);
	if (ram) {
		look_at_all(ram, tally);
		munmap(ram, PUPPET_SIZE);
	}
	munmap((void *)vmm.file, PUPPET_PAGE);
	return ram && WIFSIGNALED(status) && tally->public > before;
}

/*
 * The VMM is killed while its guest shares and takes back; processes that mapped its memory look
 * on.
 */
static void try_killed(struct subject *subject, char *said)
{
	struct tally tally = { 0 };
	unsigned int i;

	watch_faults(on_fault);
	for (i = 0; i < KILLS; i++) {
		if (!kill_one(subject->kind, &tally, 20 + 7 * i)) {
			say(said, "not-running", "");
			break;
		}
	}
	say(said, tally.secret ? "secret" : "no-secret", "");
	say(said, tally.public ? "public" : "no-public", "");
	watch_faults(SIG_DFL);
}

const struct row sieges[] = {
	{ "siege", try_siege },
	{ "siege-of-ranges", try_siege_of_ranges },
	{ "siege-of-two", try_siege_of_two },
	{ "killed", try_killed },
	{ }
};
