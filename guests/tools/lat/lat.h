/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latencies of a kernel's services. A row is a name and a function that does the operation `loops`
 * times. A row's value is the best of ROUNDS. All are printed at the end, after the last timing.
 */
#ifndef GUESTS_TOOLS_LAT_H
#define GUESTS_TOOLS_LAT_H

#include <stdint.h>
#include <stdnoreturn.h>

struct lat_row {
	const char *name;
	void (*prepare)(void);
	void (*run)(uint64_t loops);
	void (*finish)(void);
	uint64_t loops;
};

/* calls.c, processes.c and so on; each ends with a row without name */
extern const struct lat_row lat_calls[];
extern const struct lat_row lat_processes[];
extern const struct lat_row lat_context[];
extern const struct lat_row lat_network[];
extern const struct lat_row lat_memory[];
extern const struct lat_row lat_reads[];

/*
 * The program, which prints its name before each row's: all rows of the groups, the last of which
 * is followed by NULL, or those that argv names. Returns the exit status.
 */
int lat_main(const char *name, const struct lat_row *const *groups, char **argv);

/*
 * For `prepare`: the row's operation waits, for a timer or for other CPUs. Its value is the time in
 * which the process has the CPU.
 */
void lat_waits(void);

/*
 * Prints the failed operation, with errno's text, and exits: no figure is better than a wrong one.
 */
noreturn void lat_fail(const char *what);

/* What "fork + exec" executes: this program, told to end at once. */
#define LAT_NOTHING "--nothing"

#endif
