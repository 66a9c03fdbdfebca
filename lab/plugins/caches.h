/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * A model of a core's caches: two first-level ones and a unified second level. It is told
 * which lines are touched, and counts what each level has not.
 *
 * Nothing here knows QEMU: lab/plugins/tests runs it on hand-made streams.
 *
 * What it takes for granted:
 * - Every cache is least recently used, and found by the memory's address.
 * - A store is as a load: its line is brought in.
 * - An access is of the line of its first byte, and a block of code of all of its lines.
 * - Levels keep what they have until they need the room: the second includes nothing of
 *   the first, maintenance by instructions takes nothing out, and nothing is fetched ahead.
 * - Page walks go past them: the model of TLBs counts these loads.
 */
#ifndef LAB_PLUGINS_CACHES_H
#define LAB_PLUGINS_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#define CACHES_NR_WHO	5

struct caches_shape {
	unsigned int kib, ways;
};

struct caches_level {
	unsigned int sets, ways;
	uint64_t *lines;	/* of each set the one that was used last comes first; 0: empty */
};

struct caches_counts {
	uint64_t lookups[2], l1_misses[2], l2_misses[2];	/* of data, of fetches */
};

struct caches {
	unsigned int line;	/* bytes; 0: there is no model */
	struct caches_level l1[2], l2;
	struct caches_counts counts[CACHES_NR_WHO];
};

/* Returns 0, or -1 with a sentence in *why. */
int caches_init(struct caches *caches, unsigned int line, struct caches_shape l1i,
		struct caches_shape l1d, struct caches_shape l2, const char **why);
void caches_free(struct caches *caches);
void caches_empty(struct caches *caches);

/* `at` is an address of memory, anyone's whose low 21 bits are the memory's. */
void caches_access(struct caches *caches, uint64_t at, unsigned int who, bool fetch);

#endif
