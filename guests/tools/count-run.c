// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command and prints the ticks that it took, from before it is started to
 * after it has gone; exits as the command did. The figures go to file descriptor
 * 2 with -e, so that they do not mix with what the command prints.
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter.h"

extern char **environ;

int main(int argc, char **argv)
{
	FILE *out = stdout;
	uint64_t start, took;
	pid_t child;
	int status, error;

	if (argc > 1 && !strcmp(argv[1], "-e")) {
		out = stderr;
		argv++;
		argc--;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: count-run [-e] COMMAND [ARGUMENT]...\n");
		return 125;
	}
	start = counter();
	error = posix_spawnp(&child, argv[1], NULL, NULL, argv + 1, environ);
	if (error) {
		fprintf(stderr, "count-run: cannot start %s: %s\n", argv[1], strerror(error));
		return 127;
	}
	if (waitpid(child, &status, 0) != child) {
		perror("count-run: cannot wait for the command");
		return 125;
	}
	took = counter() - start;
	fprintf(out, "result count-run.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	fprintf(out, "result count-run.elapsed %" PRIu64 " ticks\n", took);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}
