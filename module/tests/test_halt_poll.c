// SPDX-License-Identifier: GPL-2.0
/* The window in which a vCPU in WFI polls (cpu/halt_poll.h). */
#include "check.h"
#include "cpu/halt_poll.h"

#define LIMIT	500
#define FIRST	10

static void test_it_grows_while_waits_are_short(void)
{
	static const u64 want[] = { 10, 20, 40, 80, 160, 320, 320 };
	u64 window = 0;
	unsigned int i;

	/* Each wait lasts 200: polling in vain until the window is as long. */
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		window = av_halt_poll_next(window, 200, LIMIT, FIRST);
		CHECK_EQ(window, want[i]);
	}
}

static void test_it_ends_at_the_limit(void)
{
	CHECK_EQ(av_halt_poll_next(320, 499, LIMIT, FIRST), LIMIT);
	CHECK_EQ(av_halt_poll_next(LIMIT, 499, LIMIT, FIRST), LIMIT);
	/* The limit was lowered meanwhile. */
	CHECK_EQ(av_halt_poll_next(LIMIT, 1, 100, FIRST), 100);
	CHECK_EQ(av_halt_poll_next(LIMIT, 1, 0, FIRST), 0);
	CHECK_EQ(av_halt_poll_next(0, 1, 0, FIRST), 0);
	CHECK_EQ(av_halt_poll_next(0, 3, 4, FIRST), 4);
}

static void test_it_shrinks_when_waits_are_long(void)
{
	CHECK_EQ(av_halt_poll_next(320, 5000, LIMIT, FIRST), 160);
	CHECK_EQ(av_halt_poll_next(FIRST, LIMIT, LIMIT, FIRST), 0);
	CHECK_EQ(av_halt_poll_next(0, ~0ULL, LIMIT, FIRST), 0);
	CHECK_EQ(av_halt_poll_next(~0ULL, ~0ULL, ~0ULL, FIRST), ~0ULL);
}

int main(void)
{
	RUN(test_it_grows_while_waits_are_short);
	RUN(test_it_ends_at_the_limit);
	RUN(test_it_shrinks_when_waits_are_long);
	return TESTS_DONE();
}
