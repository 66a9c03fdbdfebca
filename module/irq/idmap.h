/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sparse map from numbers of 16 bits to things: a radix tree of four levels,
 * sixteen ways each. A guest that chooses the numbers can make it neither slow
 * nor much larger than what is in it, and it is in order.
 *
 * Pure. Changes are made one at a time (the user's lock). Lookups may run
 * beside an insertion, which shows itself whole or not at all; a removal
 * excludes them, since it frees what they walk through.
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

/* NULL: there is none, or @id is no number of 16 bits. */
void *av_idmap_find(const struct av_idmap *map, u32 id);

/* The first with a number from *@id on, which becomes its number; or NULL. */
void *av_idmap_next(const struct av_idmap *map, u32 *id);

/* -EEXIST, -EINVAL (no such number), -ENOMEM: nothing has changed. */
int av_idmap_insert(struct av_idmap *map, const struct av_allocator *mem, u32 id, void *item);

/* What is removed is the caller's. None there: nothing happens. */
void av_idmap_remove(struct av_idmap *map, const struct av_allocator *mem, u32 id);

/* In order; the item at hand may be removed. */
#define av_idmap_for_each(map, id, item) \
	for ((id) = 0; ((item) = av_idmap_next(map, &(id))); (id)++)

static inline bool av_idmap_empty(const struct av_idmap *map)
{
	return !map->root;
}

#endif /* AV_IRQ_IDMAP_H */
