// SPDX-License-Identifier: GPL-2.0
/* A map of 16-bit numbers. Pure; rules in idmap.h. */
#include "irq/idmap.h"

#define WAY_BITS	4
#define WAYS		(1U << WAY_BITS)
#define LEVELS		4
#define TOP_SHIFT	(WAY_BITS * (LEVELS - 1))

/* A slot is a node of the next level or, in the last, an item. */
struct av_idmap_node {
	void *slot[WAYS];
};

/* The mask bounds the result even if the CPU speculates past the check of @id. */
static unsigned int way(u32 id, int shift)
{
	return id >> shift & (WAYS - 1);
}

void *av_idmap_find(const struct av_idmap *map, u32 id)
{
	const void *at = READ_ONCE(map->root);
	int shift;

	if (id >= AV_IDMAP_IDS)
		return NULL;
	for (shift = TOP_SHIFT; at && shift >= 0; shift -= WAY_BITS)
		at = READ_ONCE(((const struct av_idmap_node *)at)->slot[way(id, shift)]);
	return (void *)at;
}

void *av_idmap_next(const struct av_idmap *map, u32 *id)
{
	u32 next = *id;

	while (next < AV_IDMAP_IDS) {
		const void *at = READ_ONCE(map->root);
		int shift;

		for (shift = TOP_SHIFT; at && shift >= 0; shift -= WAY_BITS)
			at = READ_ONCE(((const struct av_idmap_node *)at)->slot[way(next, shift)]);
		if (at) {
			*id = next;
			return (void *)at;
		}
		/* An empty slot: skip its whole range. */
		shift += WAY_BITS;
		next = ((next >> shift) + 1) << shift;
	}
	return NULL;
}

/* Nodes from the last level up to @top that lead to @item; NULL: no memory. */
static void *build(const struct av_allocator *mem, u32 id, int top, void *item)
{
	struct av_idmap_node *node;
	void *part = item;
	int shift;

	for (shift = 0; shift <= top; shift += WAY_BITS) {
		node = mem->zalloc(sizeof(*node));
		if (!node)
			break;
		node->slot[way(id, shift)] = part;
		part = node;
	}
	if (shift > top)
		return part;
	while (part != item) {
		shift -= WAY_BITS;
		node = part;
		part = node->slot[way(id, shift)];
		mem->free(node);
	}
	return NULL;
}

int av_idmap_insert(struct av_idmap *map, const struct av_allocator *mem, u32 id, void *item)
{
	void **slot = (void **)&map->root;
	int shift;

	if (id >= AV_IDMAP_IDS)
		return -EINVAL;
	for (shift = TOP_SHIFT; *slot && shift >= 0; shift -= WAY_BITS)
		slot = &((struct av_idmap_node *)*slot)->slot[way(id, shift)];
	if (*slot)
		return -EEXIST;
	item = build(mem, id, shift, item);
	if (!item)
		return -ENOMEM;
	/* Pairs with the dependent loads of lookups. */
	smp_store_release(slot, item);
	return 0;
}

static bool node_empty(const struct av_idmap_node *node)
{
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (node->slot[i])
			return false;
	return true;
}

void av_idmap_remove(struct av_idmap *map, const struct av_allocator *mem, u32 id)
{
	void **slot[LEVELS + 1] = { (void **)&map->root };
	unsigned int level;

	if (id >= AV_IDMAP_IDS)
		return;
	for (level = 0; level < LEVELS; level++) {
		struct av_idmap_node *node = *slot[level];

		if (!node)
			return;
		slot[level + 1] = &node->slot[way(id, TOP_SHIFT - (int)level * WAY_BITS)];
	}
	*slot[LEVELS] = NULL;
	while (level--) {
		struct av_idmap_node *node = *slot[level];

		if (!node_empty(node))
			break;
		*slot[level] = NULL;
		mem->free(node);
	}
}
