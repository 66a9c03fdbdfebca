// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vm/ranges.h"

static struct av_range *find(struct av_ranges *ranges, unsigned long first, unsigned long last)
{
	struct interval_tree_node *node = interval_tree_iter_first(&ranges->root, first, last);

	return node ? container_of(node, struct av_range, node) : NULL;
}

static void drop(struct av_ranges *ranges, struct av_range *range)
{
	interval_tree_remove(&range->node, &ranges->root);
	kfree(range);
}

int av_ranges_insert(struct av_ranges *ranges, unsigned long first, unsigned long last,
		     unsigned long value, gfp_t how)
{
	struct av_range *range;

	if (find(ranges, first, last))
		return -EEXIST;
	range = kzalloc(sizeof(*range), how);
	if (!range)
		return -ENOMEM;
	range->node.start = first;
	range->node.last = last;
	range->value = value;
	interval_tree_insert(&range->node, &ranges->root);
	return 0;
}

const struct av_range *av_ranges_find(struct av_ranges *ranges, unsigned long at)
{
	return find(ranges, at, at);
}

void av_ranges_remove(struct av_ranges *ranges, unsigned long at)
{
	struct av_range *range = find(ranges, at, at);

	if (range)
		drop(ranges, range);
}

void av_ranges_clear(struct av_ranges *ranges)
{
	struct av_range *range;

	while ((range = find(ranges, 0, ULONG_MAX))) {
		drop(ranges, range);
		cond_resched();
	}
}
