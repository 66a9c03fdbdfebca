/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locks of the pure code, in the kernel: spinlocks with interrupts off that count how often
 * they were contended. Only the holder writes the count.
 */
#ifndef AV_LOCK_H
#define AV_LOCK_H

#include <linux/spinlock.h>

#include "av_types.h"

struct av_lock {
	spinlock_t spin;
	u64 contended;
};

/* A macro, as lockdep distinguishes locks by where they are initialized. */
#define av_lock_init(lock)	spin_lock_init(&(lock)->spin)

static noinline __maybe_unused unsigned long av_lock_wait(struct av_lock *lock)
{
	unsigned long flags;

	spin_lock_irqsave(&lock->spin, flags);
	lock->contended++;
	return flags;
}

static __always_inline unsigned long av_lock(struct av_lock *lock)
{
	unsigned long flags;

	if (likely(spin_trylock_irqsave(&lock->spin, flags)))
		return flags;
	return av_lock_wait(lock);
}

static inline void av_unlock(struct av_lock *lock, unsigned long flags)
{
	spin_unlock_irqrestore(&lock->spin, flags);
}

#endif /* AV_LOCK_H */
