/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers for a test, from a seed. */
#ifndef AV_TESTS_DRAW_H
#define AV_TESTS_DRAW_H

#include "lib/av_types.h"

static u64 seed = 1;

/* xorshift64* */
static u64 draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dULL;
}

static u64 below(u64 n)
{
	return (draw() >> 32) % n;
}

#endif /* AV_TESTS_DRAW_H */
