// SPDX-License-Identifier: GPL-2.0
/* Measures the rows of a program, lat or ops, and prints what they took. */
#include "lat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/mark.h"
#include "../counter.h"
#include "../layout.h"

#define ROUNDS 7
#define MOST_ROUNDS 1000
#define MAX_ROWS 128

struct figure {
	const char *name;
	uint64_t thousandths;
	uint64_t loops;
};

static const char usage[] =
	"usage: %s [--rounds N] [ROW]...   ticks of the virtual counter, best of 7 rounds or of N;\n"
	"with 0 a row is prepared and done once, and nothing is measured\n";

static const char *program;
static struct figure figures[MAX_ROWS];
static unsigned int figure_count;
static unsigned long rounds = ROUNDS;

noreturn void lat_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program, what, strerror(errno));
	exit(1);
}

static bool waiting;

void lat_waits(void)
{
	waiting = true;
}

/* Ticks of the counter, or of those the ones in which this process had the CPU. */
static uint64_t now(void)
{
	struct timespec used;
	uint64_t ns;

	if (!waiting)
		return counter();
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used))
		lat_fail("CLOCK_PROCESS_CPUTIME_ID");
	ns = (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
	return ns * (counter_frequency() / 1000) / 1000000;
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
		start = now();
		row->run(row->loops);
		took = now() - start;
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

	waiting = false;
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

	printf("result %s.cntfrq %" PRIu64 " Hz\n", program, counter_frequency());
	printf("result %s.rounds %lu count\n", program, rounds);
	for (i = 0; i < figure_count; i++) {
		if (rounds)
			printf("result %s.%s %" PRIu64 ".%03" PRIu64 " ticks\n", program,
			       figures[i].name, figures[i].thousandths / 1000,
			       figures[i].thousandths % 1000);
		printf("result %s.%s.loops %" PRIu64 " count\n", program, figures[i].name,
		       figures[i].loops);
	}
}

int lat_main(const char *name, const struct lat_row *const *groups, char **argv)
{
	char **names = argv + 1;

	program = name;
	if (argv[1] && !strcmp(argv[1], LAT_NOTHING) && !argv[2])
		return 0;
	if (argv[1] && !strcmp(argv[1], "--help") && !argv[2]) {
		printf(usage, program);
		return 0;
	}
	if (argv[1] && !strcmp(argv[1], "--rounds")) {
		if (!argv[2] || !take_rounds(argv[2])) {
			fprintf(stderr, "%s: --rounds takes a number from 0 to 1000\n", program);
			return 2;
		}
		names = argv + 3;
	}
	if (!have_one_layout(argv))
		lat_fail("cannot begin again without randomization (is /proc mounted?)");
	for (; *groups; groups++)
		measure_all(*groups, names);
	if (!figure_count) {
		fprintf(stderr, "%s: no such row; without arguments all rows are measured\n",
			program);
		return 2;
	}
	print_all();
	return 0;
}
