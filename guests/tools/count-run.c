// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command and prints the ticks that it took, from before its start to after its end; exits
 * with its status. With -e the figures go to file descriptor 2, so that they do not mix with the
 * command's output. With -m the run is marked for the lab's plugin.
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/mark.h"
#include "counter.h"

extern char **environ;

int main(int argc, char **argv)
{
	bool marks = false;
	FILE *out = stdout;
	uint64_t start, took;
	pid_t child;
	int status, error;

	for (; argc > 1 && *argv[1] == '-'; argv++, argc--) {
		if (!strcmp(argv[1], "-e"))
			out = stderr;
		else if (!strcmp(argv[1], "-m"))
			marks = true;
		else
			break;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: count-run [-e] [-m] COMMAND [ARGUMENT]...\n");
		return 125;
	}
	if (marks)
		MARK_COUNT;
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
	if (marks)
		MARK_END;
	fprintf(out, "result count-run.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	fprintf(out, "result count-run.elapsed %" PRIu64 " ticks\n", took);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}
