/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual counter, readable from user space. On a counted board it moves one
 * tick every 16 instructions (62.5 MHz, one instruction a nanosecond).
 */
#ifndef GUESTS_TOOLS_COUNTER_H
#define GUESTS_TOOLS_COUNTER_H

#include <stdint.h>

static inline uint64_t counter(void)
{
	uint64_t value;

	asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r" (value) : : "memory");
	return value;
}

static inline uint64_t counter_frequency(void)
{
	uint64_t value;

	asm volatile("mrs %0, cntfrq_el0" : "=r" (value));
	return value;
}

#endif
