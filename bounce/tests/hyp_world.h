/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hypervisor for tests of shares.h. Like pKVM it refuses to share a shared page, or to unshare a
 * private one.
 */
#ifndef AV_TESTS_HYP_WORLD_H
#define AV_TESTS_HYP_WORLD_H

#include "require.h"
#include "shares.h"

#define HYP_FRAMES	1024

struct hyp {
	u8 shared[HYP_FRAMES];		/* atomic: sets of the table have a lock each */
	u32 wiped, stuck, refused;
	u64 never;			/* a frame that is not shared */
	u64 keep;			/* a frame that is not unshared */
};

static inline int hyp_share(void *context, u64 frame, bool wipe)
{
	struct hyp *hyp = context;

	REQUIRE(frame < HYP_FRAMES);
	if (frame == hyp->never)
		return -EPERM;
	if (__atomic_exchange_n(&hyp->shared[frame], 1, __ATOMIC_ACQ_REL)) {
		__atomic_add_fetch(&hyp->refused, 1, __ATOMIC_RELAXED);
		return -EINVAL;
	}
	__atomic_add_fetch(&hyp->wiped, wipe, __ATOMIC_RELAXED);
	return 0;
}

static inline int hyp_unshare(void *context, u64 frame)
{
	struct hyp *hyp = context;

	REQUIRE(frame < HYP_FRAMES);
	if (frame == hyp->keep)
		return -EPERM;
	if (!__atomic_exchange_n(&hyp->shared[frame], 0, __ATOMIC_ACQ_REL)) {
		__atomic_add_fetch(&hyp->refused, 1, __ATOMIC_RELAXED);
		return -EINVAL;
	}
	return 0;
}

static inline void hyp_stuck(void *context, u64 frame)
{
	struct hyp *hyp = context;

	REQUIRE(frame == hyp->keep);
	hyp->stuck++;
}

static const struct av_share_ops hyp_ops = {
	.share = hyp_share, .unshare = hyp_unshare, .stuck = hyp_stuck,
};

#endif /* AV_TESTS_HYP_WORLD_H */
