// SPDX-License-Identifier: GPL-2.0
/* Prints the virtual counter: how long this machine has run, at this very moment. */
#include <inttypes.h>
#include <stdio.h>

#include "counter.h"

int main(int argc, char **argv)
{
	uint64_t now = counter();

	if (argc > 2) {
		fprintf(stderr, "usage: cntvct [RESULT-NAME]\n");
		return 2;
	}
	printf("result %s.cntfrq %" PRIu64 " Hz\n", argc == 2 ? argv[1] : "cntvct",
	       counter_frequency());
	printf("result %s.ticks %" PRIu64 " ticks\n", argc == 2 ? argv[1] : "cntvct", now);
	return fflush(stdout) ? 1 : 0;
}
