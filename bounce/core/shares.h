/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of the drivers that are shared at run time instead of bounced (the paper's hybrid):
 * how many mappings each has. The first has the page shared, the last has it unshared.
 *
 * Pure code. Rules:
 * - A page's set is found by a hash, and a set has a few ways: every call is constant in
 *   time. A set without a free way says so, and the mapping is bounced.
 * - Sharing and unsharing go through the ops, with the set's lock held and interrupts off:
 *   whoever maps the same page meanwhile waits until it is shared.
 * - A page that cannot be unshared keeps its way for good, and the ops are told (stuck), so
 *   that nobody else gets it: before the call that gave it back ends, and without a lock.
 */
#ifndef AV_CORE_SHARES_H
#define AV_CORE_SHARES_H

#include "av_types.h"
#include "av_lock.h"

#define AV_SHARE_WAYS	7

struct av_share_ops {
	/* 0 or an errno. wipe: the device writes the page, nobody else may read what it held. */
	int (*share)(void *context, u64 frame, bool wipe);
	int (*unshare)(void *context, u64 frame);
	/* The page stays shared: nobody may get it. Once a page. */
	void (*stuck)(void *context, u64 frame);
};

struct av_share {
	u64 frame;
	u32 count;	/* mappings */
	bool shared;	/* with a count of 0: a page that is stuck */
	bool stuck;	/* the ops were told */
};

struct av_share_set {
	struct av_lock lock;
	u32 shared, unshared;	/* calls of the ops that succeeded */
	u32 joined;		/* mappings of a page that was shared already */
	u32 full, failed;	/* mappings refused: no way; the ops said no */
	u32 stuck;		/* pages */
	struct av_share way[AV_SHARE_WAYS];
} __aligned(64);

struct av_shares {
	const struct av_share_ops *ops;
	void *context;
	struct av_share_set *set;
	u32 log;		/* 2^log sets, 1 to 31 */
};

/* set: 2^log of them. */
void av_shares_init(struct av_shares *shares, const struct av_share_ops *ops, void *context,
		    struct av_share_set *set, u32 log);

/* One mapping more of `count` pages from `frame` on: 0, or -ENOSPC or the ops' errno and none. */
int av_shares_get(struct av_shares *shares, u64 frame, u32 count, bool wipe);

/* One mapping less of each: 0, or -ENOENT and no change if one of them is not mapped. */
int av_shares_put(struct av_shares *shares, u64 frame, u32 count);

/* Is the page mapped? */
bool av_shares_has(struct av_shares *shares, u64 frame);

#endif /* AV_CORE_SHARES_H */
