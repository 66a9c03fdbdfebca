// SPDX-License-Identifier: GPL-2.0
#include "lat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/mark.h"
#include "../counter.h"
#include "../layout.h"

#define ROUNDS 7
#define MOST_ROUNDS 1000
#define MAX_ROWS 48

struct figure {
	const char *name;
	uint64_t thousandths;
	uint64_t loops;
};

static const char usage[] =
	"usage: lat [--rounds N] [ROW]...   ticks of the virtual counter, best of 7 rounds or of N;\n"
	"with 0 a row is prepared and done once, and nothing is measured";

static struct figure figures[MAX_ROWS];
static unsigned int figure_count;
static unsigned long rounds = ROUNDS;

noreturn void lat_fail(const char *what)
{
	fprintf(stderr, "lat: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The plugin's section begins before the clock is read and ends after that. */
static uint64_t best_of(const struct lat_row *row)
{
	uint64_t best = UINT64_MAX;
	uint64_t start, took;
	unsigned long round;

	MARK_FEED;
	row->run(1);
	for (round = 0; round < rounds; round++) {
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
	uint64_t best;

	if (row->prepare)
		row->prepare();
	figure->name = row->name;
	figure->loops = row->loops;
	best = best_of(row);
	figure->thousandths = rounds ? best * 1000 / row->loops : 0;
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

static bool take_rounds(const char *text)
{
	char *end;

	errno = 0;
	rounds = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && rounds <= MOST_ROUNDS;
}

static void print_all(void)
{
	unsigned int i;

	printf("result lat.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	printf("result lat.rounds %lu count\n", rounds);
	for (i = 0; i < figure_count; i++) {
		if (rounds)
			printf("result lat.%s %" PRIu64 ".%03" PRIu64 " ticks\n", figures[i].name,
			       figures[i].thousandths / 1000, figures[i].thousandths % 1000);
		printf("result lat.%s.loops %" PRIu64 " count\n", figures[i].name,
		       figures[i].loops);
	}
}

int main(int argc, char **argv)
{
	char **names = argv + 1;

	if (argc == 2 && !strcmp(argv[1], LAT_NOTHING))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts(usage);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--rounds")) {
		if (argc == 2 || !take_rounds(argv[2])) {
			fputs("lat: --rounds takes a number from 0 to 1000\n", stderr);
			return 2;
		}
		names = argv + 3;
	}
	if (!have_one_layout(argv))
		lat_fail("cannot begin again without randomization (is /proc mounted?)");
	measure_all(lat_calls, names);
	measure_all(lat_processes, names);
	measure_all(lat_context, names);
	measure_all(lat_network, names);
	measure_all(lat_memory, names);
	measure_all(lat_reads, names);
	if (!figure_count) {
		fprintf(stderr, "lat: no such row; without arguments all rows are measured\n");
		return 2;
	}
	print_all();
	return 0;
}
