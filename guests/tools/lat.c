// SPDX-License-Identifier: GPL-2.0
#include "lat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/mark.h"
#include "counter.h"

#define ROUNDS 7
#define MAX_ROWS 48

struct figure {
	const char *name;
	uint64_t thousandths;
	uint64_t loops;
};

static struct figure figures[MAX_ROWS];
static unsigned int figure_count;

noreturn void lat_fail(const char *what)
{
	fprintf(stderr, "lat: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* What is counted of a round begins before the clock is read and ends behind that. */
static uint64_t best_of(const struct lat_row *row)
{
	uint64_t best = UINT64_MAX;
	uint64_t start, took;
	int round;

	MARK_FEED;
	row->run(1);
	for (round = 0; round < ROUNDS; round++) {
		MARK_COUNT;
		start = counter();
		row->run(row->loops);
		took = counter() - start;
		MARK_PAUSE;
		if (took < best)
			best = took;
	}
	MARK_END;
	return best;
}

static void measure(const struct lat_row *row)
{
	struct figure *figure = &figures[figure_count++];

	if (row->prepare)
		row->prepare();
	figure->name = row->name;
	figure->loops = row->loops;
	figure->thousandths = best_of(row) * 1000 / row->loops;
	if (row->finish)
		row->finish();
}

/* No names asked for: every row. */
static bool wanted(const char *name, char **names)
{
	bool any = false;

	for (; *names; names++) {
		any = true;
		if (!strcmp(*names, name))
			return true;
	}
	return !any;
}

static void measure_all(const struct lat_row *rows, char **names)
{
	for (; rows->name; rows++)
		if (figure_count < MAX_ROWS && wanted(rows->name, names))
			measure(rows);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc == 2 && !strcmp(argv[1], LAT_NOTHING))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("usage: lat [ROW]...   ticks of the virtual counter, best of 7");
		return 0;
	}
	measure_all(lat_calls, argv + 1);
	measure_all(lat_processes, argv + 1);
	measure_all(lat_context, argv + 1);
	measure_all(lat_network, argv + 1);
	measure_all(lat_memory, argv + 1);
	measure_all(lat_reads, argv + 1);
	if (!figure_count) {
		fprintf(stderr, "lat: no such row; without arguments all rows are measured\n");
		return 2;
	}
	printf("result lat.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	for (i = 0; i < figure_count; i++) {
		printf("result lat.%s %" PRIu64 ".%03" PRIu64 " ticks\n", figures[i].name,
		       figures[i].thousandths / 1000, figures[i].thousandths % 1000);
		printf("result lat.%s.loops %" PRIu64 " count\n", figures[i].name,
		       figures[i].loops);
	}
	return 0;
}
