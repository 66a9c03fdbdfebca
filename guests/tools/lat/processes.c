// SPDX-License-Identifier: GPL-2.0
/* Two processes that talk, and processes that start and exit. */
#include "lat.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t partner;
static int to_partner, from_partner;

static void echo(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &byte, 1) != 1)
			break;
	_exit(0);
}

static void start_pipe(void)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		lat_fail("cannot make a pipe");
	partner = fork();
	if (partner < 0)
		lat_fail("cannot fork");
	if (!partner) {
		close(there[1]);
		echo(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	to_partner = there[1];
	from_partner = back[0];
}

static void start_socket(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		lat_fail("cannot make a pair of sockets");
	partner = fork();
	if (partner < 0)
		lat_fail("cannot fork");
	if (!partner) {
		close(pair[1]);
		echo(pair[0], pair[0]);
	}
	close(pair[0]);
	to_partner = pair[1];
	from_partner = dup(pair[1]);
}

static void stop_partner(void)
{
	close(to_partner);
	close(from_partner);
	waitpid(partner, NULL, 0);
}

static void run_round_trip(uint64_t loops)
{
	char byte = 0;

	while (loops--)
		if (write(to_partner, &byte, 1) != 1 || read(from_partner, &byte, 1) != 1)
			lat_fail("the other process does not answer");
}

static void run_processes(uint64_t loops, void (*child)(void))
{
	int status;
	pid_t pid;

	while (loops--) {
		pid = fork();
		if (pid < 0)
			lat_fail("cannot fork");
		if (!pid) {
			child();
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			lat_fail("the child did not end well");
	}
}

static void just_exit(void)
{
	_exit(0);
}

static void exec_nothing(void)
{
	execl("/proc/self/exe", "lat", LAT_NOTHING, NULL);
}

static void exec_shell(void)
{
	execl("/bin/sh", "sh", "-c", "true", NULL);
}

static void run_exit(uint64_t loops)
{
	run_processes(loops, just_exit);
}

static void run_exec(uint64_t loops)
{
	run_processes(loops, exec_nothing);
}

static void run_shell(uint64_t loops)
{
	run_processes(loops, exec_shell);
}

const struct lat_row lat_processes[] = {
	{ "pipe", start_pipe, run_round_trip, stop_partner, 200 },
	{ "unix-socket", start_socket, run_round_trip, stop_partner, 200 },
	{ "fork-exit", NULL, run_exit, NULL, 20 },
	{ "fork-exec", NULL, run_exec, NULL, 10 },
	{ "fork-sh", NULL, run_shell, NULL, 5 },
	{ 0 },
};
