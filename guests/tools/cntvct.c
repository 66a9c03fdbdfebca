// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the virtual counter: the current time since the machine's start.
 *
 * With -k it goes to the kernel's log too, at a level that every console shows. The kernel's clock
 * is the same counter with another start, so the time stamps of this line and of a later line of
 * the kernel give the counter at the later one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counter.h"

static int kernel_log = -1;

/* The log is opened before the counter is read, so that only the write comes in between. */
static int tell_kernel(const char *name, uint64_t now)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "<0>%s: counter %" PRIu64 " at %" PRIu64 " Hz\n",
			   name, now, counter_frequency());

	/* One write is one message. */
	return len >= (int)sizeof(line) || write(kernel_log, line, len) != len;
}

int main(int argc, char **argv)
{
	const char *name = "cntvct";
	uint64_t now;

	if (argc > 1 && !strcmp(argv[1], "-k")) {
		kernel_log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
		if (kernel_log < 0) {
			perror("cntvct: /dev/kmsg");
			return 1;
		}
		argv++;
		argc--;
	}
	if (argc > 2) {
		fprintf(stderr, "usage: cntvct [-k] [RESULT-NAME]\n");
		return 2;
	}
	if (argc == 2)
		name = argv[1];
	now = counter();
	if (kernel_log >= 0 && tell_kernel(name, now)) {
		perror("cntvct: /dev/kmsg");
		return 1;
	}
	printf("result %s.cntfrq %" PRIu64 " Hz\n", name, counter_frequency());
	printf("result %s.ticks %" PRIu64 " ticks\n", name, now);
	return fflush(stdout) ? 1 : 0;
}
