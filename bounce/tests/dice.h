/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers from a seed. */
#ifndef AV_TESTS_DICE_H
#define AV_TESTS_DICE_H

#include "av_types.h"

struct dice {
	u64 state;
};

static inline struct dice dice_of(u64 seed)
{
	return (struct dice){ seed * 0x9e3779b97f4a7c15ULL + 1 };
}

/* 0 to n - 1. */
static inline u64 dice_below(struct dice *dice, u64 n)
{
	dice->state ^= dice->state << 13;
	dice->state ^= dice->state >> 7;
	dice->state ^= dice->state << 17;
	return (dice->state >> 11) % n;
}

#endif /* AV_TESTS_DICE_H */
