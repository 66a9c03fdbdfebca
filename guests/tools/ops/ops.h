/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations that lat's rows leave out: what programs, debuggers and tracers ask of a kernel, one
 * row each. A row is lat's (../lat/lat.h), and so are its value and its failure.
 */
#ifndef GUESTS_TOOLS_OPS_H
#define GUESTS_TOOLS_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "../lat/lat.h"

#define OPS_PAGE 4096UL
#define OPS_MIB (1UL << 20)

/* calls.c, timers.c and so on; each ends with a row without name */
extern const struct lat_row ops_calls[];
extern const struct lat_row ops_timers[];
extern const struct lat_row ops_faults[];
extern const struct lat_row ops_signals[];
extern const struct lat_row ops_memory[];
extern const struct lat_row ops_mapping[];
extern const struct lat_row ops_processes[];
extern const struct lat_row ops_debug[];
extern const struct lat_row ops_code[];
extern const struct lat_row ops_trace[];

/* A failed operation ends the program, as in lat. */
static inline void ops_must(bool good, const char *what)
{
	if (!good)
		lat_fail(what);
}

/* Private memory that nothing was read from or written to yet, mapped in pages of 4 KiB. */
char *ops_map(size_t size);
void ops_unmap(void *at, size_t size);

/* One byte of each page is read, or written. */
void ops_read(const volatile char *at, size_t size);
void ops_write(volatile char *at, size_t size);

/* An area that is written already, for `prepare` and `finish` of rows that work on one. */
struct ops_area {
	char *at;
	size_t size;
};

extern struct ops_area ops_area;

void ops_get_area(size_t size);
void ops_get_4m(void);
void ops_drop_area(void);

/* Map, write and unmap that much memory, again and again. */
void ops_map_and_write(uint64_t loops, size_t size);

/* Write a text to a file, such as one of sysfs; fails with the file's name. */
void ops_tell(const char *file, const char *text);

#endif
