// SPDX-License-Identifier: GPL-2.0
/* Where the window is: rules in position.h. */
#include "mmu/shadow/position.h"

static bool is_touched(const u64 *touched, unsigned int position)
{
	return READ_ONCE(touched[position / 64]) >> position % 64 & 1;
}

/* The n'th position below from; the last one is below the first. */
static unsigned int before(unsigned int from, unsigned int n)
{
	return (from + AV_WINDOW_POSITIONS - n) % AV_WINDOW_POSITIONS;
}

unsigned int av_window_choose(const u64 *touched, unsigned int from,
			      bool (*mapped)(void *arg, unsigned int position), void *arg)
{
	unsigned int to = from, looks = 0, n;

	for (n = 1; n < AV_WINDOW_POSITIONS && looks < AV_WINDOW_LOOKS; n++) {
		unsigned int position = before(from, n);

		if (is_touched(touched, position))
			continue;
		if (!mapped(arg, position))
			return position;
		if (!looks++)
			to = position;
	}
	return looks ? to : before(from, 1);
}

static bool all_touched(const struct av_shadow *sh)
{
	u64 all = ~0ULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sh->touched); i++)
		all &= sh->touched[i];
	return !~all;
}

unsigned int av_window_move(struct av_shadow *sh, unsigned int from, unsigned int to)
{
	av_window_touched(sh, from);
	if (sh->window == from) {
		if (all_touched(sh)) {
			memset(sh->touched, 0, sizeof(sh->touched));
			av_window_touched(sh, from);
		}
		WRITE_ONCE(sh->window, to);
	}
	return sh->window;
}
