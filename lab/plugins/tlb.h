/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * A model of a core's TLBs: two first-level ones, a unified second level, a cache of table entries
 * above the last level (the walk cache) and one of stage 2's results (IPA to PA). Its input is
 * accesses and invalidations; it counts lookups, misses, walks and the walks' memory references.
 * Each reference is looked up in a share of the core's L2 cache that only tables use.
 * Granule 4 KiB, 48-bit addresses.
 *
 * Nothing here depends on QEMU: lab/plugins/tests runs it on hand-made streams.
 *
 * Assumptions:
 * - Every cache evicts the least recently used entry, and is looked up by the page's size.
 * - A translation is cached whole, VA to PA, as large as the smaller of its two pages.
 * - A walk-cache entry leads to the PA of the next table, stage 2 done.
 * - Stage 1's tables are consecutive in the IPA space, in the order of their first use; the memory
 *   of an address space has the same layout as in the VA space. Stage 2 never has it easier than
 *   that.
 * - A walk is complete before the next access: none overlap, and nothing is fetched speculatively
 *   or in advance.
 * - A table has a page of its own, wherever it was used first. A space's tables stay where they are:
 *   those of a process that has ended are those of the next one. A CPU's stores to tables bring in
 *   nothing, so an entry that a kernel has just written may count as missed.
 * - Invalidations leave the share of the L2 cache alone, as they do in hardware.
 */
#ifndef LAB_PLUGINS_TLB_H
#define LAB_PLUGINS_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "caches.h"

#define TLB_NR_WHO	5
#define TLB_NAME	32

#define TLB_4K		12
#define TLB_64K		16	/* sixteen entries with the contiguous bit */
#define TLB_2M		21
#define TLB_1G		30

struct tlb_shape {
	unsigned int entries, ways;
};

/* A core's entries. A walk or IPA cache without entries shares the second level. */
struct tlb_core {
	char name[TLB_NAME];
	struct tlb_shape l1i, l1d, l2, walk, ipa;
	unsigned int l1_largest;	/* shift: a larger page is split in the first level */
	unsigned int ipa_smallest;	/* shift: smaller stage-2 results are not kept */
	unsigned int line;		/* bytes, of the L2 cache; 0: not known yet */
	struct caches_shape tables;	/* the share of the L2 cache that tables have */
};

struct tlb_entry {
	uint64_t page, what, used;	/* used 0: empty */
};

struct tlb_cache {
	unsigned int sets, ways;
	uint64_t clock;
	struct tlb_entry *entries;
};

struct tlb_counts {
	uint64_t lookups[2], l1_misses[2], walks[2];	/* of data, of fetches */
	uint64_t refs[2];				/* of walks, to stage 1's tables and 2's */
	uint64_t refs_missed[2];			/* those of them that the L2 cache lacked */
};

/* The tables of a stage by number, in the order of their first use: a hash table. */
struct tlb_tables {
	uint64_t *slots;
	unsigned int nr;
};

/* One core under one choice of page sizes. */
struct tlb_model {
	const struct tlb_core *core;
	unsigned int s1, s2;		/* shifts of large memory's pages; s2 0: one stage */
	unsigned int s2_levels;		/* tables on the way of a stage-2 walk to a 4 KiB page */
	struct tlb_cache l1[2], l2, walk, ipa;
	struct tlb_tables tables[2];	/* of stage 1 and 2 */
	struct caches_level lines;	/* of tables, in the share of the L2 cache */
	struct tlb_counts counts[TLB_NR_WHO];
};

struct tlb_access {
	uint64_t va;
	uint64_t frame;		/* distinguishes the 4 KiB page's memory from any other */
	uint8_t space;		/* 1 to 255: VMID and ASID in one */
	uint8_t who;		/* whose counts */
	bool fetch;
	bool large;		/* has the model's page size at stage 1, not 4 KiB */
	bool staged;		/* is translated by stage 2 as well, where the model has one */
};

/* Both return 0, or -1 with a sentence in *why. */
int tlb_core_check(const struct tlb_core *core, const char **why);
int tlb_model_init(struct tlb_model *model, const struct tlb_core *core, unsigned int s1,
		   unsigned int s2, unsigned int s2_levels, const char **why);
void tlb_model_free(struct tlb_model *model);
/* As it was at first: without translations, and without lines of tables. */
void tlb_model_empty(struct tlb_model *model);

void tlb_access(struct tlb_model *model, const struct tlb_access *access);

enum tlb_half { TLB_LOW, TLB_BOTH };

/* Drop the translations and walk-cache entries of a space, of its low half or of both. */
void tlb_drop_space(struct tlb_model *model, uint8_t space, enum tlb_half half);
/* Drop what is kept of stage 2 alone. */
void tlb_drop_stage2(struct tlb_model *model);
void tlb_drop_all(struct tlb_model *model);

#endif
