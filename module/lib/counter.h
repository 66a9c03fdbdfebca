/* SPDX-License-Identifier: GPL-2.0 */
/* The host's virtual counter, for code that also builds on a PC. */
#ifndef AV_LIB_COUNTER_H
#define AV_LIB_COUNTER_H

#include "lib/av_types.h"

#ifdef __KERNEL__

/* The ISB keeps the read from being executed early. */
static __always_inline u64 av_counter(void)
{
	u64 now;

	asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r" (now) : : "memory");
	return now;
}

#else

/* Set by tests. */
extern u64 av_test_counter;

static inline u64 av_counter(void)
{
	return av_test_counter;
}

#endif
#endif /* AV_LIB_COUNTER_H */
