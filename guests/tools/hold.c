// SPDX-License-Identifier: GPL-2.0
/*
 * hold FOLDER COMMAND...: runs a command whose fdatasync() does not end.
 *
 * A thread that calls fdatasync() waits in the kernel, as for a disk that hangs. FOLDER/held is
 * created when one waits. Once FOLDER/go exists, each thread continues and makes the call. This
 * program exits with the command's status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK 10		/* ms between two checks for the file and for the command's end */

static void fail(const char *what)
{
	fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* From now on each fdatasync() of this process and its children notifies the descriptor. */
static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("PR_SET_NO_NEW_PRIVS");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &program);
	if (fd < 0)
		fail("seccomp");
	return fd;
}

/* Ends this program when the command has ended. */
static void look_for_end(pid_t command)
{
	int status;

	if (waitpid(command, &status, WNOHANG) != command)
		return;
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static bool may_go(void)
{
	return !access("go", F_OK);
}

int main(int argc, char **argv)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp response;
	struct pollfd listener = { .events = POLLIN };
	pid_t command;

	if (argc < 3) {
		fprintf(stderr, "usage: hold FOLDER COMMAND...\n");
		return 125;
	}
	listener.fd = install();
	command = fork();
	if (command < 0)
		fail("fork");
	if (!command) {
		execvp(argv[2], argv + 2);
		fail(argv[2]);
	}
	if (chdir(argv[1]))
		fail(argv[1]);
	for (;;) {
		look_for_end(command);
		if (poll(&listener, 1, LOOK) <= 0)
			continue;
		memset(&call, 0, sizeof(call));
		if (ioctl(listener.fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		close(open("held", O_CREAT | O_WRONLY, 0644));
		while (!may_go()) {
			look_for_end(command);
			usleep(LOOK * 1000);
		}
		response = (struct seccomp_notif_resp){
			.id = call.id,
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};
		ioctl(listener.fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
}
