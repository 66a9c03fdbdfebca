/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sparse, ordered map from 16-bit numbers to items: a radix tree of four
 * levels with sixteen slots per node. A guest that chooses the numbers can
 * make lookups no slower, and the tree not much larger than its contents.
 *
 * Pure. The caller serialises insertions and removals. Lookups may run beside
 * an insertion, which publishes its nodes at once; the caller excludes them
 * from removals, which free nodes.
 */
#ifndef AV_IRQ_IDMAP_H
#define AV_IRQ_IDMAP_H

#include "lib/av_types.h"

#define AV_IDMAP_IDS	0x10000U

struct av_allocator {
	void *(*zalloc)(size_t size);	/* may sleep; NULL */
	void (*free)(const void *p);	/* any context; NULL is fine */
};

struct av_idmap_node;

struct av_idmap {
	struct av_idmap_node *root;
};

/* The item of @id; NULL: there is none, or @id has more than 16 bits. */
void *av_idmap_find(const struct av_idmap *map, u32 id);

/* The first item at or after *id, which is set to its number; or NULL. */
void *av_idmap_next(const struct av_idmap *map, u32 *id);

/* On -EEXIST, -EINVAL (number too large) and -ENOMEM nothing has changed. */
int av_idmap_insert(struct av_idmap *map, const struct av_allocator *mem, u32 id, void *item);

/* The caller keeps the item. An empty slot is no error. */
void av_idmap_remove(struct av_idmap *map, const struct av_allocator *mem, u32 id);

/* In order. The loop may remove the current item. */
#define av_idmap_for_each(map, id, item) \
	for ((id) = 0; ((item) = av_idmap_next(map, &(id))); (id)++)

static inline bool av_idmap_empty(const struct av_idmap *map)
{
	return !map->root;
}

#endif /* AV_IRQ_IDMAP_H */
