// SPDX-License-Identifier: GPL-2.0
/* The image's tables: rules in image_tables.h. */
#include "switch/image_tables.h"
#include "switch/window_desc.h"

#define DESC_PA		GENMASK_ULL(47, 12)
#define DESC_NG		BIT_ULL(11)
#define DESC_CONT	BIT_ULL(52)
/* Pages of a block may differ in these: the access flag, and bits that only software reads. */
#define DESC_NO_MATTER	(DESC_PA | DESC_CONT | BIT_ULL(10) | GENMASK_ULL(58, 55))

/* The level of pages, and of blocks of 2 MiB. */
#define PAGES		3
#define BLOCKS		2

static unsigned int shift_of(unsigned int level)
{
	return 39 - 9 * level;
}

static unsigned int index_of(u64 va, unsigned int level)
{
	return va >> shift_of(level) & (AV_IMAGE_ENTRIES - 1);
}

static bool is_valid(u64 desc)
{
	return desc & AV_PTE_VALID;
}

static bool is_table(u64 desc)
{
	return is_valid(desc) && desc & AV_PTE_TABLE;
}

bool av_image_begin(struct av_image *image, const struct av_image_ops *ops)
{
	*image = (struct av_image) { .ops = ops, .root = ops->alloc() };
	return image->root;
}

static void free_table(struct av_image *image, u64 *table, unsigned int level)
{
	unsigned int i;

	for (i = 0; level < PAGES && i < AV_IMAGE_ENTRIES; i++)
		if (is_table(table[i]))
			free_table(image, image->ops->table_at(table[i] & DESC_PA), level + 1);
	image->ops->free(table);
}

void av_image_end(struct av_image *image)
{
	if (image->root)
		free_table(image, image->root, 0);
	image->root = NULL;
}

/* ---- the host's tables -------------------------------------------------------------- */

/* The host's leaf for an address; at the last level, with its table. */
struct leaf {
	u64 desc;		/* 0: none */
	unsigned int level;
	const u64 *pages;
};

static struct leaf host_leaf(const struct av_image *image, const u64 *table, u64 va)
{
	struct leaf leaf = {};

	for (leaf.level = 0; ; leaf.level++) {
		u64 desc = READ_ONCE(table[index_of(va, leaf.level)]);

		if (!is_valid(desc))
			return (struct leaf) {};
		if (leaf.level == PAGES || !is_table(desc)) {
			leaf.desc = desc;
			leaf.pages = leaf.level == PAGES ? table : NULL;
			return leaf;
		}
		table = image->ops->table_at(desc & DESC_PA);
	}
}

u64 av_image_host_pa(const struct av_image *image, const u64 *host, u64 va)
{
	struct leaf leaf = host_leaf(image, host, va);
	u64 inside = BIT_ULL(shift_of(leaf.level)) - 1;

	return leaf.desc ? (leaf.desc & DESC_PA & ~inside) | (va & inside) : 0;
}

/* The descriptor of one page, at index i of its 2 MiB; 0: there is none. */
static u64 page_desc(const struct leaf *leaf, u64 start, unsigned int i)
{
	u64 desc, offset = (start & (BIT_ULL(shift_of(leaf->level)) - 1)) + ((u64)i << 12);

	if (leaf->level == PAGES) {
		desc = READ_ONCE(leaf->pages[i]);
		return is_valid(desc) ? (desc & ~DESC_CONT) | DESC_NG : 0;
	}
	return ((leaf->desc & ~DESC_CONT) | DESC_NG | AV_PTE_TABLE) + offset;
}

/* The descriptor of a block for the 2 MiB at start; 0: they are not what one block would be. */
static u64 block_desc(const struct leaf *leaf, u64 start)
{
	u64 first = page_desc(leaf, start, 0), desc;
	unsigned int i;

	if (!first || first & DESC_PA & (AV_IMAGE_BLOCK - 1))
		return 0;
	for (i = 1; leaf->level == PAGES && i < AV_IMAGE_ENTRIES; i++) {
		desc = page_desc(leaf, start, i);
		if (!desc || (desc ^ first) & ~DESC_NO_MATTER ||
		    (desc & DESC_PA) != (first & DESC_PA) + ((u64)i << 12))
			return 0;
	}
	return first & ~AV_PTE_TABLE;
}

/* ---- the image's -------------------------------------------------------------------- */

/* The entry for an address at a level, or NULL: a block is above it, or there is no memory. */
static u64 *entry_of(struct av_image *image, u64 va, unsigned int level, bool make)
{
	u64 *table = image->root, *next, *entry;
	unsigned int l;

	for (l = 0; l < level; l++) {
		entry = &table[index_of(va, l)];
		if (!*entry) {
			next = make ? image->ops->alloc() : NULL;
			if (!next)
				return NULL;
			image->tables++;
			/* Empty before it is linked. */
			image->ops->publish();
			WRITE_ONCE(*entry, av_table_desc(image->ops->pa_of(next)));
		}
		if (!is_table(*entry))
			return NULL;
		table = image->ops->table_at(*entry & DESC_PA);
	}
	return &table[index_of(va, level)];
}

/* Replace a leaf by another, or by nothing. */
static void set(struct av_image *image, u64 *entry, u64 va, u64 desc, unsigned int level)
{
	unsigned int *leaves = level == BLOCKS ? &image->blocks : &image->pages;

	if (*entry) {
		WRITE_ONCE(*entry, 0);
		image->ops->flush(va);
		(*leaves)--;
	}
	if (desc) {
		WRITE_ONCE(*entry, desc);
		(*leaves)++;
	}
}

static enum av_image_result put(struct av_image *image, u64 *entry, u64 va, u64 desc,
				unsigned int level)
{
	if (*entry == desc)
		return AV_IMAGE_SAME;
	set(image, entry, va, desc, level);
	return AV_IMAGE_COPIED;
}

/* The image has of these 2 MiB what the host has, as far as it may be in the image. */
static enum av_image_result copy_pages(struct av_image *image, const struct leaf *leaf, u64 va)
{
	enum av_image_result result = AV_IMAGE_REFUSED, one;
	u64 start = ALIGN_DOWN(va, AV_IMAGE_BLOCK);
	u64 *block = entry_of(image, va, BLOCKS, true), *to;
	unsigned int i;

	if (!block)
		return AV_IMAGE_NO_MEMORY;
	if (*block && !is_table(*block))
		set(image, block, start, 0, BLOCKS);
	to = entry_of(image, start, PAGES, true);
	if (!to)
		return AV_IMAGE_NO_MEMORY;
	for (i = 0; i < AV_IMAGE_ENTRIES; i++) {
		u64 at = start + ((u64)i << 12), desc = page_desc(leaf, start, i);

		/* What another was allowed to have stays as long as it is the host's. */
		if (desc && desc != to[i] && !image->ops->may_map(at, desc & DESC_PA))
			desc = 0;
		one = to[i] && image->ops->keeps(at) ? AV_IMAGE_SAME :
						       put(image, &to[i], at, desc, PAGES);
		if (i == index_of(va, PAGES) && desc)
			result = one;
	}
	return result;
}

enum av_image_result av_image_copy(struct av_image *image, const u64 *host, u64 va)
{
	u64 start = ALIGN_DOWN(va, AV_IMAGE_BLOCK), desc = 0, *entry;
	struct leaf leaf = host_leaf(image, host, va);
	enum av_image_result result;

	if (!leaf.desc || va < AV_IMAGE_FIRST)
		return AV_IMAGE_UNMAPPED;
	if (!image->ops->must_split(start) && (leaf.level < PAGES || image->ops->may_merge(start)))
		desc = block_desc(&leaf, start);
	entry = entry_of(image, va, BLOCKS, true);
	if (!entry)
		return AV_IMAGE_NO_MEMORY;
	if (!desc || is_table(*entry))
		result = copy_pages(image, &leaf, va);
	else if (image->ops->may_map(start, desc & DESC_PA))
		result = put(image, entry, start, desc, BLOCKS);
	else
		result = AV_IMAGE_REFUSED;
	image->ops->publish();
	return result;
}

/* Up to this many leaves are flushed one by one. */
#define FLUSH_FEW	64

/* Entries to remove; they are flushed by the time that clearing ends. */
struct clearing {
	struct av_image *image;
	u64 from, end;
	unsigned int n;
};

static void clear(struct clearing *c, u64 *entry, u64 va, unsigned int level)
{
	WRITE_ONCE(*entry, 0);
	if (++c->n <= FLUSH_FEW)
		c->image->ops->flush(va);
	if (level == BLOCKS)
		c->image->blocks--;
	else
		c->image->pages--;
}

static void clear_pages(struct clearing *c, u64 *table, u64 start)
{
	unsigned int i;

	for (i = 0; i < AV_IMAGE_ENTRIES; i++) {
		u64 at = start + ((u64)i << 12);

		if (table[i] && at >= c->from && at < c->end && !c->image->ops->keeps(at))
			clear(c, &table[i], at, PAGES);
	}
}

/* The first address of the next entry at a level. */
static u64 next_of(u64 va, unsigned int level)
{
	return ALIGN_DOWN(va, BIT_ULL(shift_of(level))) + BIT_ULL(shift_of(level));
}

/*
 * The entry for an address at the level of blocks, or NULL: nothing is there, and the next address
 * to look at is that of the next entry at *level.
 */
static u64 *find_block(struct av_image *image, u64 va, unsigned int *level)
{
	u64 *entry = NULL;

	for (*level = 0; *level <= BLOCKS; (*level)++) {
		entry = entry_of(image, va, *level, false);
		if (!*entry)
			return NULL;
	}
	*level = BLOCKS;
	return entry;
}

unsigned int av_image_clear(struct av_image *image, u64 start, u64 end, void (*relax)(void))
{
	struct clearing c = { .image = image, .from = start, .end = end };
	unsigned int level;
	u64 va, *entry, at;

	for (va = start; va >= start && va < end; va = next_of(va, level)) {
		entry = find_block(image, va, &level);
		if (!entry)
			continue;
		at = ALIGN_DOWN(va, AV_IMAGE_BLOCK);
		if (is_table(*entry))
			clear_pages(&c, image->ops->table_at(*entry & DESC_PA), at);
		else
			clear(&c, entry, at, BLOCKS);
		if (relax)
			relax();
	}
	if (c.n > FLUSH_FEW)
		image->ops->flush_all();
	return c.n;
}
