/* SPDX-License-Identifier: GPL-2.0 */
/* The locks of the pure code in tests: mutexes, so that threads and TSan can use them. */
#ifndef AV_LOCK_H
#define AV_LOCK_H

#include <pthread.h>

#include "av_types.h"

/* Reads without a lock are atomic accesses here, or TSan would complain. */
#undef READ_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#undef WRITE_ONCE
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

struct av_lock {
	pthread_mutex_t mutex;
	u64 contended;
};

static inline void av_lock_init(struct av_lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->contended = 0;
}

static inline unsigned long av_lock(struct av_lock *lock)
{
	if (pthread_mutex_trylock(&lock->mutex)) {
		pthread_mutex_lock(&lock->mutex);
		lock->contended++;
	}
	return 0;
}

static inline void av_unlock(struct av_lock *lock, unsigned long flags)
{
	pthread_mutex_unlock(&lock->mutex);
}

#endif /* AV_LOCK_H */
