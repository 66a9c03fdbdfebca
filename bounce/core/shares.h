/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drivers' pages that are shared at run time instead of bounced (the paper's hybrid), with the
 * number of mappings of each. The first mapping shares the page, the last one unshares it.
 *
 * Pure code. Rules:
 * - A hash selects a page's set, and a set has a few ways, so every call takes constant time. If a
 *   set has no free way, the call fails and the mapping is bounced.
 * - Pages are shared and unshared by the ops with the set's lock held and interrupts off: whoever
 *   maps the same page meanwhile waits until it is shared.
 * - A page that cannot be unshared keeps its way forever, and the ops' stuck() is called so that
 *   nobody else gets the page: before av_shares_put() returns, and without a lock.
 */
#ifndef AV_CORE_SHARES_H
#define AV_CORE_SHARES_H

#include "av_types.h"
#include "av_lock.h"

#define AV_SHARE_WAYS	7

struct av_share_ops {
	/* Return 0 or a negative errno. wipe: the device will write the page; hide its contents. */
	int (*share)(void *context, u64 frame, bool wipe);
	int (*unshare)(void *context, u64 frame);
	/* The page stays shared: nobody may get it. Called once per page. */
	void (*stuck)(void *context, u64 frame);
};

struct av_share {
	u64 frame;
	u32 count;	/* number of mappings */
	bool shared;	/* with count 0: the page is stuck */
	bool stuck;	/* stuck() has been called */
};

struct av_share_set {
	struct av_lock lock;
	u32 shared, unshared;	/* calls of the ops that succeeded */
	u32 joined;		/* mappings of pages that were already shared */
	u32 full, failed;	/* mappings refused: no free way; error of the ops */
	u32 stuck;		/* pages */
	struct av_share way[AV_SHARE_WAYS];
} __aligned(64);

struct av_shares {
	const struct av_share_ops *ops;
	void *context;
	struct av_share_set *set;
	u32 log;		/* 2^log sets, 1 to 31 */
};

/* set has 2^log entries. */
void av_shares_init(struct av_shares *shares, const struct av_share_ops *ops, void *context,
		    struct av_share_set *set, u32 log);

/*
 * Add a mapping to `count` pages from `frame` on. 0, or with nothing changed -ENOSPC or ops' errno.
 */
int av_shares_get(struct av_shares *shares, u64 frame, u32 count, bool wipe);

/* Remove a mapping from each. Returns 0, or -ENOENT with nothing changed if one is not mapped. */
int av_shares_put(struct av_shares *shares, u64 frame, u32 count);

/* Is the page mapped? */
bool av_shares_has(struct av_shares *shares, u64 frame);

#endif /* AV_CORE_SHARES_H */
