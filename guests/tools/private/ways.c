// SPDX-License-Identifier: GPL-2.0
/*
 * Ways to a guest's memory. The guest puts a secret into a page, the host tries the way, and the
 * guest reads its page. The line has the host's result, and the guest's:
 *
 *     secret   the host has read it       SIGSEGV, EFAULT, …   its error instead
 *     zero     the host has read zeroes   other                something else
 *     done     the host's write succeeded
 *
 *     kept   the guest reads its secret   lost   it reads something else
 *     ERRNO  the guest cannot continue: KVM_RUN's errno
 *
 * Only the guest's page holds the secret during the search.
 */
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET		0x5ec2e7a11ba5e5edUL
#define SECRET_OFFSET	(64 * PUPPET_PAGE)
#define SECRET_AT	(PUPPET_RAM + SECRET_OFFSET)
#define CORE_FILE	"/tmp/private.core"

struct sight {
	int error;	/* errno of the attempt */
	int signal;	/* or the signal that it ended with */
	int code;	/* si_code of that */
	bool wrote;	/* it was a write, and it was taken */
	uint64_t word;	/* else the value that was read */
};

static sigjmp_buf back;
static volatile int caught_code;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	caught_code = info->si_code;
	siglongjmp(back, number);
}

static char *secret_page(const struct subject *subject)
{
	return subject->ram + SECRET_OFFSET;
}

/* Does a load, or with `store` a store, that may end with a signal. */
static struct sight touch(volatile uint64_t *at, bool store)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sight sight = { 0 };
	struct sigaction segv, bus;

	sigaction(SIGSEGV, &action, &segv);
	sigaction(SIGBUS, &action, &bus);
	sight.signal = sigsetjmp(back, 1);
	if (sight.signal) {
		sight.code = caught_code;
	} else if (store) {
		*at = 1;
		sight.wrote = true;
	} else {
		sight.word = *at;
	}
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return sight;
}

static struct sight way_load(struct subject *subject)
{
	return touch((uint64_t *)secret_page(subject), false);
}

static struct sight way_store(struct subject *subject)
{
	return touch((uint64_t *)secret_page(subject), true);
}

static struct sight of_result(ssize_t result, uint64_t word)
{
	struct sight sight = { .word = word };

	if (result < 0)
		sight.error = errno;
	else if (result != sizeof(word))
		sight.error = ENODATA;
	return sight;
}

/* Reads the contents of a pipe; `result` is that of the call that filled it. */
static struct sight through_pipe(int *ends, ssize_t result)
{
	struct sight sight = of_result(result, 0);
	uint64_t word = 0;

	if (!sight.error)
		sight = of_result(read(ends[0], &word, sizeof(word)), word);
	if (!sight.error)
		sight.word = word;
	close(ends[0]);
	close(ends[1]);
	return sight;
}

static void make_pipe(int *ends)
{
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
}

static struct sight way_write(struct subject *subject)
{
	int ends[2];

	make_pipe(ends);
	return through_pipe(ends, write(ends[1], secret_page(subject), sizeof(uint64_t)));
}

static struct sight way_read(struct subject *subject)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct sight sight = of_result(read(zero, secret_page(subject), sizeof(uint64_t)), 0);

	sight.wrote = !sight.error;
	close(zero);
	return sight;
}

static struct sight way_file_read(struct subject *subject)
{
	uint64_t word = 0;
	ssize_t result = pread(subject->file, &word, sizeof(word), SECRET_OFFSET);

	return of_result(result, word);
}

static struct sight way_file_write(struct subject *subject)
{
	uint64_t word = 1;
	ssize_t result = pwrite(subject->file, &word, sizeof(word), SECRET_OFFSET);
	struct sight sight = of_result(result, 0);

	sight.wrote = !sight.error;
	return sight;
}

static struct sight way_map(struct subject *subject)
{
	struct sight sight = { 0 };
	char *at = mmap(NULL, PUPPET_PAGE, PROT_READ, MAP_SHARED, subject->file, SECRET_OFFSET);

	if (at == MAP_FAILED)
		fail("mmap");
	sight = touch((uint64_t *)at, false);
	munmap(at, PUPPET_PAGE);
	return sight;
}

static struct sight way_proc_mem(struct subject *subject)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint64_t word = 0;
	ssize_t result = pread(mem, &word, sizeof(word), (uintptr_t)secret_page(subject));
	struct sight sight = of_result(result, word);

	sight.word = word;
	close(mem);
	return sight;
}

static struct sight way_process_vm(struct subject *subject)
{
	uint64_t word = 0;
	struct iovec to = { &word, sizeof(word) };
	struct iovec from = { secret_page(subject), sizeof(word) };
	ssize_t result = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	return of_result(result, word);
}

static struct sight way_vmsplice(struct subject *subject)
{
	struct iovec from = { secret_page(subject), sizeof(uint64_t) };
	int ends[2];

	make_pipe(ends);
	return through_pipe(ends, vmsplice(ends[1], &from, 1, 0));
}

static struct sight way_splice(struct subject *subject)
{
	off_t offset = SECRET_OFFSET;
	int ends[2];

	make_pipe(ends);
	return through_pipe(ends, splice(subject->file, &offset, ends[1], NULL, 8, 0));
}

/* The result of a child of this program; it reports by its exit, through shared memory. */
static struct sight in_child(struct subject *subject, struct sight (*look)(struct subject *))
{
	struct sight *shared = mmap(NULL, PUPPET_PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sight sight;
	pid_t child;

	if (shared == MAP_FAILED)
		fail("mmap");
	child = fork();
	if (!child) {
		*shared = look(subject);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sight = *shared;
	munmap(shared, PUPPET_PAGE);
	return sight;
}

static struct sight way_fork(struct subject *subject)
{
	return in_child(subject, way_load);
}

static struct sight look_at_parent(struct subject *subject)
{
	struct sight sight = { 0 };
	pid_t parent = getppid();
	int status;

	if (ptrace(PTRACE_SEIZE, parent, 0, 0) || ptrace(PTRACE_INTERRUPT, parent, 0, 0) ||
	    waitpid(parent, &status, __WALL) < 0) {
		sight.error = errno;
		return sight;
	}
	errno = 0;
	sight.word = ptrace(PTRACE_PEEKDATA, parent, secret_page(subject), 0);
	sight.error = errno;
	ptrace(PTRACE_DETACH, parent, 0, 0);
	return sight;
}

static struct sight way_ptrace(struct subject *subject)
{
	return in_child(subject, look_at_parent);
}

/* A dump of a process that has the guest's memory, looked through for the secret. */
static struct sight way_core(struct subject *subject)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct sight sight = { 0 };
	uint64_t word;
	pid_t child;
	FILE *core;

	(void)subject;
	remove(CORE_FILE);
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &all);
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	waitpid(child, NULL, 0);
	core = fopen(CORE_FILE, "r");
	if (!core) {
		sight.error = errno;
		return sight;
	}
	while (fread(&word, sizeof(word), 1, core) == 1) {
		if (word == ~SECRET)
			sight.word = word;
	}
	fclose(core);
	remove(CORE_FILE);
	return sight;
}

static struct sight way_punch(struct subject *subject)
{
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct sight sight = { 0 };

	if (fallocate(subject->file, mode, SECRET_OFFSET, PUPPET_PAGE)) {
		sight.error = errno;
		return sight;
	}
	return way_load(subject);
}

/* Makes the subject's memory a slot of another VM: 0 or an errno. */
static int give_memory(struct subject *subject, struct subject *other)
{
	struct kvm_userspace_memory_region region = {
		.slot = 1,
		.guest_phys_addr = PUPPET_RAM + PUPPET_SIZE,
		.memory_size = PUPPET_SIZE,
		.userspace_addr = (uintptr_t)subject->ram,
	};

	if (other->kind == GMEM)
		return puppet_add_gmem(&other->puppet, 1, PUPPET_RAM + PUPPET_SIZE, PUPPET_SIZE, subject->file,
				       subject->ram);
	return ioctl(other->puppet.vm, KVM_SET_USER_MEMORY_REGION, &region) ? errno : 0;
}

static struct sight other_vm(struct subject *subject, enum kind kind)
{
	struct sight sight = { 0 };
	struct puppet_answer answer;
	struct subject other;

	/* The other VM has code of its own, and after it the subject's memory. */
	make_subject(&other, kind);
	sight.error = give_memory(subject, &other);
	if (!sight.error) {
		answer = puppet_load(&other.puppet, SECRET_AT + PUPPET_SIZE);
		sight.error = answer.error;
		sight.word = ~answer.x[0];
	}
	free_subject(&other);
	return sight;
}

static struct sight way_plain_vm(struct subject *subject)
{
	return other_vm(subject, PLAIN);
}

static struct sight way_protected_vm(struct subject *subject)
{
	return other_vm(subject, subject->kind == GMEM ? GMEM : PROTECTED);
}

static struct sight way_register(struct subject *subject)
{
	struct sight sight = { 0 };
	/* The guest's x7, which had the secret last. */
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | (2 * 7),
		.addr = (uintptr_t)&sight.word,
	};

	if (ioctl(subject->puppet.vcpu, KVM_GET_ONE_REG, &reg))
		sight.error = errno;
	return sight;
}

/* The VMM makes the guest load its secret and store it to a device. */
static struct sight way_set_registers(struct subject *subject)
{
	struct puppet_answer answer = puppet_force_load(&subject->puppet, SECRET_AT);
	struct sight sight = { .error = answer.error, .word = ~answer.x[0] };

	return sight;
}

static void tell(char *said, const struct sight *sight, const struct puppet_answer *answer)
{
	const char *host = sight->word == ~SECRET ? "secret" : sight->word ? "other" : "zero";
	const char *guest = answer->x[0] == SECRET ? "kept" : "lost";
	char with_code[32];

	if (sight->signal) {
		snprintf(with_code, sizeof(with_code), "SIG%s/%d", sigabbrev_np(sight->signal),
			 sight->code);
		host = with_code;
	} else if (sight->error) {
		host = error_name(sight->error);
	} else if (sight->wrote) {
		host = "done";
	}
	if (answer->error)
		guest = error_name(answer->error);
	snprintf(said, SAID_SIZE, "%s %s", host, guest);
}

static void try_way(struct subject *subject, char *said, struct sight (*way)(struct subject *))
{
	struct puppet_answer answer = puppet_store(&subject->puppet, SECRET_AT, SECRET);
	struct sight sight;

	if (answer.error) {
		snprintf(said, SAID_SIZE, "- %s", error_name(answer.error));
		return;
	}
	sight = way(subject);
	answer = puppet_load(&subject->puppet, SECRET_AT);
	tell(said, &sight, &answer);
}

#define WAY(name)								\
	static void try_ ## name(struct subject *subject, char *said)		\
	{									\
		try_way(subject, said, way_ ## name);				\
	}

WAY(load)
WAY(store)
WAY(write)
WAY(read)
WAY(map)
WAY(file_read)
WAY(file_write)
WAY(proc_mem)
WAY(process_vm)
WAY(ptrace)
WAY(vmsplice)
WAY(splice)
WAY(fork)
WAY(core)
WAY(punch)
WAY(plain_vm)
WAY(protected_vm)
WAY(register)
WAY(set_registers)

const struct row ways[] = {
	{ "load", try_load },
	{ "store", try_store },
	{ "write", try_write },
	{ "read", try_read },
	{ "map", try_map },
	{ "file-read", try_file_read },
	{ "file-write", try_file_write },
	{ "proc-mem", try_proc_mem },
	{ "process-vm", try_process_vm },
	{ "ptrace", try_ptrace },
	{ "vmsplice", try_vmsplice },
	{ "splice", try_splice },
	{ "fork", try_fork },
	{ "core", try_core },
	{ "punch", try_punch },
	{ "plain-vm", try_plain_vm },
	{ "protected-vm", try_protected_vm },
	{ "register", try_register },
	{ "set-registers", try_set_registers },
	{ }
};
