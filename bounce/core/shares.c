// SPDX-License-Identifier: GPL-2.0
/* Pages shared at run time: rules in shares.h. */
#include "shares.h"

void av_shares_init(struct av_shares *shares, const struct av_share_ops *ops, void *context,
		    struct av_share_set *set, u32 log)
{
	u32 i;

	*shares = (struct av_shares){ .ops = ops, .context = context, .set = set, .log = log };
	for (i = 0; i < BIT(log); i++)
		av_lock_init(&set[i].lock);
}

/* Fibonacci hashing spreads adjacent pages over different sets. */
static struct av_share_set *set_of(struct av_shares *shares, u64 frame)
{
	return &shares->set[(frame * 0x9e3779b97f4a7c15ULL) >> (64 - shares->log)];
}

/* Returns the way of a page, or NULL. Sets *spare to a free way, or NULL. */
static struct av_share *way_of(struct av_share_set *set, u64 frame, struct av_share **spare)
{
	u32 i;

	*spare = NULL;
	for (i = 0; i < AV_SHARE_WAYS; i++) {
		if (!set->way[i].shared)
			*spare = &set->way[i];
		else if (set->way[i].frame == frame)
			return &set->way[i];
	}
	return NULL;
}

static int get_locked(struct av_shares *shares, struct av_share_set *set, u64 frame, bool wipe)
{
	struct av_share *spare, *way = way_of(set, frame, &spare);
	int ret;

	if (way) {
		way->count++;
		set->joined++;
		return 0;
	}
	if (!spare) {
		set->full++;
		return -ENOSPC;
	}
	ret = shares->ops->share(shares->context, frame, wipe);
	if (ret) {
		set->failed++;
		return ret;
	}
	*spare = (struct av_share){ .frame = frame, .count = 1, .shared = true };
	set->shared++;
	return 0;
}

/* Sets *stuck if the caller must call the ops' stuck(), without the lock. */
static int put_locked(struct av_shares *shares, struct av_share_set *set, u64 frame, bool *stuck)
{
	struct av_share *spare, *way = way_of(set, frame, &spare);

	if (!way || !way->count)
		return -ENOENT;
	if (--way->count)
		return 0;
	if (!shares->ops->unshare(shares->context, frame)) {
		way->shared = false;
		set->unshared++;
		return 0;
	}
	/* Keep the way, with count 0: a later mapping of the page may join and try again. */
	if (!way->stuck) {
		way->stuck = true;
		set->stuck++;
		*stuck = true;
	}
	return 0;
}

int av_shares_get(struct av_shares *shares, u64 frame, u32 count, bool wipe)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct av_share_set *set = set_of(shares, frame + i);
		unsigned long flags = av_lock(&set->lock);
		int ret = get_locked(shares, set, frame + i, wipe);

		av_unlock(&set->lock, flags);
		if (ret) {
			av_shares_put(shares, frame, i);
			return ret;
		}
	}
	return 0;
}

int av_shares_put(struct av_shares *shares, u64 frame, u32 count)
{
	int ret = 0;
	u32 i;

	/* The caller holds the mapping, so a page that has one keeps it meanwhile. */
	for (i = 0; i < count; i++) {
		if (!av_shares_has(shares, frame + i))
			return -ENOENT;
	}
	for (i = 0; i < count; i++) {
		struct av_share_set *set = set_of(shares, frame + i);
		unsigned long flags = av_lock(&set->lock);
		bool stuck = false;

		ret = put_locked(shares, set, frame + i, &stuck) ?: ret;
		av_unlock(&set->lock, flags);
		/* The caller still owns the page. */
		if (stuck)
			shares->ops->stuck(shares->context, frame + i);
	}
	return ret;
}

bool av_shares_has(struct av_shares *shares, u64 frame)
{
	struct av_share_set *set = set_of(shares, frame);
	unsigned long flags = av_lock(&set->lock);
	struct av_share *spare, *way = way_of(set, frame, &spare);
	bool has = way && way->count;

	av_unlock(&set->lock, flags);
	return has;
}
