// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#include "tlb.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLES	(1U << 14)
#define MAX_ENTRIES	(1U << 16)

/* The last level of a walk, and what an entry of a table at a level covers. */
#define LAST		3
#define LEVEL_SHIFT(level)	(39 - 9 * (level))
#define ENTRIES		512	/* of a table */
#define ENTRY_BYTES	8

/*
 * An entry's key besides its page number: space, kind, and for a 4 KiB page its memory, so that a
 * page that was mapped anew does not match its old entry.
 */
#define WHAT_SPACE(space)	((uint64_t)(space) << 56)
#define WHAT_KIND(kind)		((uint64_t)(kind) << 48)
#define WHAT_UPPER		(1ULL << 47)
#define WHAT_FRAME(frame)	((frame) & ((1ULL << 47) - 1))
#define SPACE_OF(what)		((uint8_t)((what) >> 56))

/* Leaves are kinds by their shift; entries that lead to them add this. */
#define KIND_WALK	64
#define KIND_IPA	128	/* leaves of stage 2 */
#define KIND_IPA_WALK	192
#define IS_STAGE2(what)	(((what) >> 48 & 0xff) >= KIND_IPA)

static int cache_init(struct tlb_cache *cache, struct tlb_shape shape)
{
	memset(cache, 0, sizeof(*cache));
	if (!shape.entries)
		return 0;
	cache->ways = shape.ways;
	cache->sets = shape.entries / shape.ways;
	cache->entries = calloc(shape.entries, sizeof(*cache->entries));
	return cache->entries ? 0 : -1;
}

static struct tlb_entry *set_of(const struct tlb_cache *cache, uint64_t page)
{
	return cache->entries + page % cache->sets * cache->ways;
}

/* Is it there? A hit becomes the most recently used entry. */
static bool cache_find(struct tlb_cache *cache, uint64_t page, uint64_t what)
{
	struct tlb_entry *e = set_of(cache, page);
	unsigned int i;

	for (i = 0; i < cache->ways; i++, e++) {
		if (e->used && e->page == page && e->what == what) {
			e->used = ++cache->clock;
			return true;
		}
	}
	return false;
}

/* Put in what was not found. */
static void cache_fill(struct tlb_cache *cache, uint64_t page, uint64_t what)
{
	struct tlb_entry *e = set_of(cache, page), *oldest = e;
	unsigned int i;

	for (i = 1; i < cache->ways; i++)
		if (e[i].used < oldest->used)
			oldest = &e[i];
	*oldest = (struct tlb_entry){ page, what, ++cache->clock };
}

static void cache_drop(struct tlb_cache *cache, bool (*hit)(uint64_t what, uint64_t arg),
		       uint64_t arg)
{
	unsigned int i;

	for (i = 0; i < cache->sets * cache->ways; i++)
		if (cache->entries[i].used && hit(cache->entries[i].what, arg))
			cache->entries[i].used = 0;
}

static struct tlb_cache *walk_cache(struct tlb_model *m)
{
	return m->walk.entries ? &m->walk : &m->l2;
}

static struct tlb_cache *ipa_cache(struct tlb_model *m)
{
	return m->ipa.entries ? &m->ipa : &m->l2;
}

static bool upper(uint64_t va)
{
	return va >> 63;
}

/* The level of the entry that maps a page of this size. */
static unsigned int leaf_level(unsigned int shift)
{
	return shift >= TLB_1G ? 1 : shift >= TLB_2M ? 2 : LAST;
}

/* Look for an entry, and put it in if it is not there. */
static bool find_or_fill(struct tlb_cache *cache, uint64_t page, uint64_t what)
{
	if (cache_find(cache, page, what))
		return true;
	cache_fill(cache, page, what);
	return false;
}

/*
 * The address of a stage's table, beyond all spaces' memory. When none is left they share: this
 * affects only the hits of stage 2 and of the L2 cache.
 */
static uint64_t table_at(struct tlb_model *m, unsigned int stage, uint64_t key)
{
	struct tlb_tables *tables = &m->tables[stage];
	unsigned int at = key * 0x9e3779b97f4a7c15ULL >> 50, tried;

	for (tried = 0; tried < MAX_TABLES; tried++, at = (at + 1) % MAX_TABLES) {
		if (tables->slots[2 * at] == key)
			break;
		if (!tables->slots[2 * at]) {
			tables->slots[2 * at] = key;
			tables->slots[2 * at + 1] = tables->nr++;
			break;
		}
	}
	return (1ULL + stage) << 48 | tables->slots[2 * at + 1] << TLB_4K;
}

/* The IPA of the table that a walk of `va` meets at a level: a page of its own for each. */
static uint64_t table_ipa(struct tlb_model *m, const struct tlb_access *a, unsigned int level)
{
	uint64_t prefix = level ? (a->va & ~(0xffffULL << 48)) >> LEVEL_SHIFT(level - 1) : 0;
	uint64_t key = (prefix << 12 | (uint64_t)a->space << 4 | level << 1 | upper(a->va)) + 1;

	return table_at(m, 0, key);
}

/* The place of stage 2's table for an IPA at a level. */
static uint64_t table_pa(struct tlb_model *m, uint64_t ipa, unsigned int level)
{
	uint64_t prefix = level ? ipa >> LEVEL_SHIFT(level - 1) : 0;

	return table_at(m, 1, (prefix << 2 | level) + 1);
}

/* A walk reads a table's entry for an address. */
static void load(struct tlb_model *m, struct tlb_counts *counts, unsigned int stage,
		 uint64_t table, uint64_t address, unsigned int level)
{
	uint64_t entry = table + (address >> LEVEL_SHIFT(level) & (ENTRIES - 1)) * ENTRY_BYTES;

	counts->refs[stage]++;
	if (!caches_level_touch(&m->lines, entry / m->core->line))
		counts->refs_missed[stage]++;
}

/*
 * A stage-2 walk continues from the deepest cached entry to the leaf, and caches the entries on its
 * way.
 */
static void stage2(struct tlb_model *m, uint64_t ipa, unsigned int shift,
		   struct tlb_counts *counts)
{
	unsigned int leaf = leaf_level(shift), first = LAST + 1 - m->s2_levels, level;
	struct tlb_cache *cache = ipa_cache(m);
	uint64_t kind = WHAT_KIND(KIND_IPA_WALK);

	if (shift >= m->core->ipa_smallest &&
	    find_or_fill(cache, ipa >> shift, WHAT_KIND(KIND_IPA + shift)))
		return;
	for (level = leaf; level > first; level--)
		if (find_or_fill(cache, ipa >> LEVEL_SHIFT(level - 1), kind + WHAT_KIND(level)))
			break;
	for (; level <= leaf; level++)
		load(m, counts, 1, table_pa(m, ipa, level), ipa, level);
}

/* The place of an address's memory in the IPA space. */
static uint64_t data_ipa(const struct tlb_access *a)
{
	return (uint64_t)a->space << 40 | (a->va & ((1ULL << 40) - 1));
}

static void walk(struct tlb_model *m, const struct tlb_access *a, unsigned int s1,
		 unsigned int s2, uint64_t what, struct tlb_counts *counts)
{
	unsigned int leaf = leaf_level(s1), level;
	struct tlb_cache *cache = walk_cache(m);
	bool known = false;

	/* The deepest table whose place is known. */
	for (level = leaf; level && !known; level -= !known)
		known = find_or_fill(cache, a->va >> LEVEL_SHIFT(level - 1),
				     what | WHAT_KIND(KIND_WALK + level));
	for (; level <= leaf; level++) {
		uint64_t table = table_ipa(m, a, level);

		if (s2 && !known)
			stage2(m, table, s2, counts);
		known = false;
		load(m, counts, 0, table, a->va, level);
	}
	if (s2)
		stage2(m, data_ipa(a), s2, counts);
}

void tlb_access(struct tlb_model *m, const struct tlb_access *a)
{
	unsigned int s1 = a->large ? m->s1 : TLB_4K, s2 = a->staged ? m->s2 : 0;
	unsigned int shift = s2 && s2 < s1 ? s2 : s1;
	unsigned int split = shift < m->core->l1_largest ? shift : m->core->l1_largest;
	uint64_t space = WHAT_SPACE(a->space) | (upper(a->va) ? WHAT_UPPER : 0);
	uint64_t what = space | WHAT_KIND(shift);
	struct tlb_counts *counts = &m->counts[a->who];

	if (shift == TLB_4K)
		what |= WHAT_FRAME(a->frame);
	counts->lookups[a->fetch]++;
	if (find_or_fill(&m->l1[a->fetch], a->va >> split, what))
		return;
	counts->l1_misses[a->fetch]++;
	if (find_or_fill(&m->l2, a->va >> shift, what))
		return;
	counts->walks[a->fetch]++;
	walk(m, a, s1, s2, space, counts);
}

static bool is_space(uint64_t what, uint64_t space)
{
	return !IS_STAGE2(what) && SPACE_OF(what) == space;
}

static bool is_low(uint64_t what, uint64_t space)
{
	return is_space(what, space) && !(what & WHAT_UPPER);
}

static bool is_stage2(uint64_t what, uint64_t arg)
{
	(void)arg;
	return IS_STAGE2(what);
}

static bool is_any(uint64_t what, uint64_t arg)
{
	(void)what;
	(void)arg;
	return true;
}

static void drop(struct tlb_model *m, bool (*hit)(uint64_t what, uint64_t arg), uint64_t arg)
{
	struct tlb_cache *caches[] = { &m->l1[0], &m->l1[1], &m->l2, &m->walk, &m->ipa };
	unsigned int i;

	for (i = 0; i < sizeof(caches) / sizeof(*caches); i++)
		cache_drop(caches[i], hit, arg);
}

void tlb_drop_space(struct tlb_model *m, uint8_t space, enum tlb_half half)
{
	drop(m, half == TLB_LOW ? is_low : is_space, space);
}

void tlb_drop_stage2(struct tlb_model *m)
{
	drop(m, is_stage2, 0);
}

void tlb_drop_all(struct tlb_model *m)
{
	drop(m, is_any, 0);
}

void tlb_model_empty(struct tlb_model *m)
{
	tlb_drop_all(m);
	caches_level_empty(&m->lines);
}

static bool shape_good(struct tlb_shape shape)
{
	return shape.entries <= MAX_ENTRIES && shape.ways >= 1 && shape.ways <= shape.entries &&
	       shape.entries % shape.ways == 0;
}

int tlb_core_check(const struct tlb_core *core, const char **why)
{
	if (!shape_good(core->l1i) || !shape_good(core->l1d) || !shape_good(core->l2))
		*why = "a TLB has 1 to 65536 entries, a multiple of its ways";
	else if ((core->walk.entries && !shape_good(core->walk)) ||
		 (core->ipa.entries && !shape_good(core->ipa)))
		*why = "a walk or IPA cache has a multiple of its ways, or 0 entries";
	else if (core->l1_largest < TLB_4K || core->l1_largest > TLB_1G)
		*why = "the first level's largest page has a shift of 12 to 30";
	else if (core->ipa_smallest < TLB_4K || core->ipa_smallest > TLB_1G)
		*why = "the smallest stage-2 result that is kept has a shift of 12 to 30";
	else
		return 0;
	return -1;
}

static bool page_good(unsigned int shift)
{
	return shift == TLB_4K || shift == TLB_64K || shift == TLB_2M || shift == TLB_1G;
}

int tlb_model_init(struct tlb_model *m, const struct tlb_core *core, unsigned int s1,
		   unsigned int s2, unsigned int s2_levels, const char **why)
{
	memset(m, 0, sizeof(*m));
	if (tlb_core_check(core, why))
		return -1;
	*why = "a page has a shift of 12, 16, 21 or 30";
	if (!page_good(s1) || (s2 && !page_good(s2)))
		return -1;
	*why = "a stage 2 has 3 or 4 levels";
	if (s2_levels < 3 || s2_levels > 4)
		return -1;
	*why = "the caches of a model's core come before it";
	if (!core->line)
		return -1;
	if (caches_level_init(&m->lines, core->line, core->tables, why))
		return -1;
	*why = "there is no memory for the model";
	m->core = core;
	m->s1 = s1;
	m->s2 = s2;
	m->s2_levels = s2_levels;
	m->tables[0].slots = calloc(2 * MAX_TABLES, sizeof(*m->tables[0].slots));
	m->tables[1].slots = calloc(2 * MAX_TABLES, sizeof(*m->tables[1].slots));
	if (m->tables[0].slots && m->tables[1].slots && !cache_init(&m->l1[0], core->l1d) && !cache_init(&m->l1[1], core->l1i) &&
	    !cache_init(&m->l2, core->l2) && !cache_init(&m->walk, core->walk) &&
	    !cache_init(&m->ipa, core->ipa))
		return 0;
	tlb_model_free(m);
	return -1;
}

void tlb_model_free(struct tlb_model *m)
{
	free(m->l1[0].entries);
	free(m->l1[1].entries);
	free(m->l2.entries);
	free(m->walk.entries);
	free(m->ipa.entries);
	free(m->tables[0].slots);
	free(m->tables[1].slots);
	caches_level_free(&m->lines);
	memset(m, 0, sizeof(*m));
}
