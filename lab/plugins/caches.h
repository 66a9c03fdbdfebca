/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * A model of a core's caches: two first-level ones and a unified second level. Its input is the
 * accessed lines; it counts the misses of each level.
 *
 * Nothing here depends on QEMU: lab/plugins/tests runs it on hand-made streams.
 *
 * Assumptions:
 * - Every cache evicts the least recently used line, and is indexed by physical address.
 * - A store acts as a load: its line is brought in.
 * - A data access touches the line of its first byte; a block of code touches all of its lines.
 * - Lines leave a level only for lack of room: the second level includes nothing of the first,
 *   maintenance instructions evict nothing, and nothing is prefetched.
 * - Page walks' loads are no accesses here: the model of TLBs has a share of the second level for
 *   them, and the rest of it is not smaller for that.
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
	uint64_t *lines;	/* in each set the most recently used comes first; 0: empty */
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

/* One level, for models that need no more. `touch`: was the line there? It is now. */
int caches_level_init(struct caches_level *level, unsigned int line, struct caches_shape shape,
		      const char **why);
void caches_level_free(struct caches_level *level);
void caches_level_empty(struct caches_level *level);
bool caches_level_touch(struct caches_level *level, uint64_t line);

/* `at`: an address, virtual or physical; its low 21 bits must be those of the memory. */
void caches_access(struct caches *caches, uint64_t at, unsigned int who, bool fetch);

#endif
