/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranges that do not overlap, each with a value. By the kernel's interval trees, which all kernels
 * have; maple trees came with 6.1.
 *
 * The caller serializes all calls on a set; av_ranges_find() may run beside others of itself.
 */
#ifndef AV_VM_RANGES_H
#define AV_VM_RANGES_H

#include <linux/gfp.h>
#include <linux/interval_tree.h>

struct av_ranges {
	struct rb_root_cached root;	/* all zero: empty */
};

struct av_range {
	struct interval_tree_node node;
	unsigned long value;
};

/* Add first to last, both included. 0; -EEXIST: some of it is there; -ENOMEM. May sleep. */
int av_ranges_insert(struct av_ranges *ranges, unsigned long first, unsigned long last,
		     unsigned long value, gfp_t how);

/* The range that @at is in, or NULL. Any context. */
const struct av_range *av_ranges_find(struct av_ranges *ranges, unsigned long at);

/* Remove the range that @at is in, if any. Any context. */
void av_ranges_remove(struct av_ranges *ranges, unsigned long at);

/* Remove all. May sleep. */
void av_ranges_clear(struct av_ranges *ranges);

#endif /* AV_VM_RANGES_H */
