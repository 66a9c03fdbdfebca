/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sparse, ordered map from 16-bit numbers to items: a radix tree of four
 * levels with sixteen slots per node. A guest that chooses the numbers cannot
 * make lookups slower, or the tree much larger than its contents.
 *
 * Pure. The caller serialises insertions and removals. Lookups may run
 * concurrently with an insertion, which publishes its nodes at once. The caller
 * must exclude lookups from removals, which free nodes.
 */
#ifndef AV_IRQ_IDMAP_H
#define AV_IRQ_IDMAP_H

#include "lib/av_types.h"

#define AV_IDMAP_IDS	0x10000U

struct av_allocator {
	void *(*zalloc)(size_t size);	/* may sleep; NULL on failure */
	void (*free)(const void *p);	/* any context; NULL is allowed */
};

struct av_idmap_node;

struct av_idmap {
	struct av_idmap_node *root;
};

/* Returns the item of @id, or NULL if there is none or @id exceeds 16 bits. */
void *av_idmap_find(const struct av_idmap *map, u32 id);

/* Returns the first item at or after *id and sets *id to its number, or NULL. */
void *av_idmap_next(const struct av_idmap *map, u32 *id);

/* Returns 0, or -EEXIST, -EINVAL (@id too large) or -ENOMEM with nothing changed. */
int av_idmap_insert(struct av_idmap *map, const struct av_allocator *mem, u32 id, void *item);

/* Remove an entry, if there is one. The item stays the caller's. */
void av_idmap_remove(struct av_idmap *map, const struct av_allocator *mem, u32 id);

/* In ascending order. The loop may remove the current item. */
#define av_idmap_for_each(map, id, item) \
	for ((id) = 0; ((item) = av_idmap_next(map, &(id))); (id)++)

static inline bool av_idmap_empty(const struct av_idmap *map)
{
	return !map->root;
}

#endif /* AV_IRQ_IDMAP_H */
