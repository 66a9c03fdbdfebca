// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#include "caches.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KIB		(1U << 16)
#define MAX_SPAN	(1U << 21)	/* of an address, that of an index is within */
#define PRESENT		1ULL

static bool power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

int caches_level_init(struct caches_level *level, unsigned int line, struct caches_shape shape,
		      const char **why)
{
	unsigned int lines;

	*why = "a line has 16 to 256 bytes, a power of two";
	if (!power_of_two(line) || line < 16 || line > 256)
		return -1;
	*why = "a cache has 1 to 65536 KiB in 1 to 64 ways";
	if (!shape.kib || shape.kib > MAX_KIB || !shape.ways || shape.ways > 64)
		return -1;
	lines = shape.kib * 1024 / line;
	*why = "a cache's ways have a power of two of lines each, of 2 MiB at most";
	if (lines % shape.ways || !power_of_two(lines / shape.ways) ||
	    lines / shape.ways > MAX_SPAN / line)
		return -1;
	*why = "there is no memory for a cache";
	level->ways = shape.ways;
	level->sets = lines / shape.ways;
	level->lines = calloc(lines, sizeof(*level->lines));
	return level->lines ? 0 : -1;
}

int caches_init(struct caches *c, unsigned int line, struct caches_shape l1i,
		struct caches_shape l1d, struct caches_shape l2, const char **why)
{
	memset(c, 0, sizeof(*c));
	if (caches_level_init(&c->l1[0], line, l1d, why) ||
	    caches_level_init(&c->l1[1], line, l1i, why) ||
	    caches_level_init(&c->l2, line, l2, why)) {
		caches_free(c);
		return -1;
	}
	c->line = line;
	return 0;
}

void caches_level_free(struct caches_level *level)
{
	free(level->lines);
	level->lines = NULL;
}

void caches_free(struct caches *c)
{
	caches_level_free(&c->l1[0]);
	caches_level_free(&c->l1[1]);
	caches_level_free(&c->l2);
	memset(c, 0, sizeof(*c));
}

void caches_level_empty(struct caches_level *level)
{
	memset(level->lines, 0, sizeof(*level->lines) * level->sets * level->ways);
}

void caches_empty(struct caches *c)
{
	if (!c->line)
		return;
	caches_level_empty(&c->l1[0]);
	caches_level_empty(&c->l1[1]);
	caches_level_empty(&c->l2);
}

/* As the most recently used; the least recently used may be evicted. */
bool caches_level_touch(struct caches_level *level, uint64_t line)
{
	uint64_t *set = level->lines + line % level->sets * level->ways;
	uint64_t entry = line << 1 | PRESENT;
	unsigned int i;

	for (i = 0; i < level->ways - 1 && set[i] != entry; i++)
		;
	if (set[i] == entry && !i)
		return true;
	if (set[i] != entry) {
		memmove(set + 1, set, sizeof(*set) * (level->ways - 1));
		set[0] = entry;
		return false;
	}
	memmove(set + 1, set, sizeof(*set) * i);
	set[0] = entry;
	return true;
}

void caches_access(struct caches *c, uint64_t at, unsigned int who, bool fetch)
{
	struct caches_counts *counts = &c->counts[who];
	uint64_t line;

	if (!c->line)
		return;
	line = at / c->line;
	counts->lookups[fetch]++;
	if (caches_level_touch(&c->l1[fetch], line))
		return;
	counts->l1_misses[fetch]++;
	if (!caches_level_touch(&c->l2, line))
		counts->l2_misses[fetch]++;
}
