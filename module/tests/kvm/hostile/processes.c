// SPDX-License-Identifier: GPL-2.0
/* VMMs that are killed, fork, and execute something else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

static void killed(void)
{
	struct runner a, b;
	pid_t child;
	int i, status;

	for (i = 0; i < 20; i++) {
		fflush(NULL);
		child = fork();
		if (!child) {
			start_runner(&a, guest_writer, sizeof(guest_writer));
			start_runner(&b, guest_mmio, sizeof(guest_mmio));
			pause();
			_exit(0);
		}
		usleep(5000 * (i % 8) + 1000);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		expect(WIFSIGNALED(status), "a VMM does not die of SIGKILL");
	}
}

/* fork() makes the memory copy-on-write under the guest. */
static void forks(void)
{
	struct runner r;
	void *memory;
	pid_t child;
	volatile u64 *word;
	int i, status;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	memory = (char *)r.g.memory + 0x1000;
	if (mmap(memory, GUEST_SIZE - 0x1000, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		die("mmap");
	word = (u64 *)((char *)r.g.memory + 0x100000);
	for (i = 0; i < 20; i++) {
		expect(runner_progress(&r, 2), "a guest stops when its VMM forks: %s",
		       strerror(r.error));
		fflush(NULL);
		child = fork();
		if (!child) {
			/* The child's copy is its own. */
			memset(memory, 0xaa, GUEST_SIZE - 0x1000);
			usleep(2000);
			_exit(*word == 0xaaaaaaaaaaaaaaaaULL ? 0 : 1);
		}
		waitpid(child, &status, 0);
		expect(WIFEXITED(status) && !WEXITSTATUS(status),
		       "the guest writes into a child's memory");
		expect(*word != 0xaaaaaaaaaaaaaaaaULL, "a child's writes reach the parent");
	}
	stop_runner(&r);
	free_guest(&r.g);
}

/* A child that keeps the files while the parent, whose VM it is, dies. */
static void orphaned(void)
{
	struct runner r;
	pid_t parent, child, self;
	int go[2], status;
	char byte = 0;

	if (pipe(go))
		die("pipe");
	fflush(NULL);
	parent = fork();
	if (!parent) {
		start_runner(&r, guest_writer, sizeof(guest_writer));
		runner_progress(&r, 1);
		self = getpid();
		child = fork();
		if (!child) {
			/* Wait until the parent is gone, and then look at the rest. */
			while (getppid() == self)
				usleep(1000);
			usleep(20000);
			byte = ioctl(r.g.vcpu, KVM_RUN, 0) == -1 && errno == EIO;
			if (write(go[1], &byte, 1) != 1)
				_exit(1);
			_exit(0);
		}
		usleep(20000);
		kill(getpid(), SIGKILL);
	}
	waitpid(parent, &status, 0);
	expect(read(go[0], &byte, 1) == 1 && byte == 1,
	       "a dead VMM's vCPU runs in its child");
	close(go[0]);
	close(go[1]);
}

static void executes(void)
{
	struct runner r;
	pid_t child;
	int i, status;

	for (i = 0; i < 5; i++) {
		fflush(NULL);
		child = fork();
		if (!child) {
			start_runner(&r, guest_writer, sizeof(guest_writer));
			usleep(3000 * i);
			fclose(stdout);
			execl("/proc/self/exe", "hostile", "nothing", NULL);
			_exit(127);
		}
		waitpid(child, &status, 0);
		expect(WIFEXITED(status) && !WEXITSTATUS(status), "a VMM cannot exec");
	}
}

void hostile_processes(void)
{
	killed();
	forks();
	orphaned();
	executes();
}
