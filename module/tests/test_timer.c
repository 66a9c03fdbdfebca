// SPDX-License-Identifier: GPL-2.0
/* The generic timer's registers, near the ends of their range. */
#include "check.h"
#include "irq/timer.h"

static void control(void)
{
	struct av_timer t = { 0 };
	u64 in;

	CHECK_EQ(av_timer_read(&t, AV_TIMER_CTL, 5), 0);
	av_timer_write(&t, AV_TIMER_CTL, ~0ULL, 5);
	CHECK_EQ(av_timer_user_ctl(&t, 5), 0xffffffff);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_CTL, 5), 7);	/* CVAL 0 has passed */
	CHECK(!av_timer_line(&t, 5));				/* but is masked */
	CHECK(!av_timer_armed(&t, 5, &in));
	av_timer_write(&t, AV_TIMER_CTL, AV_TIMER_ENABLE, 5);
	CHECK(av_timer_line(&t, 5));
	CHECK(!av_timer_armed(&t, 5, &in));			/* it is high already */
	av_timer_write(&t, AV_TIMER_CTL, AV_TIMER_IMASK, 5);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_CTL, 5), AV_TIMER_IMASK);
	CHECK_EQ(av_timer_user_ctl(&t, 5), AV_TIMER_IMASK | AV_TIMER_ISTATUS);
	CHECK(!av_timer_line(&t, 5));
}

static void compare(void)
{
	struct av_timer t = { .ctl = AV_TIMER_ENABLE };
	u64 in = 0;

	av_timer_write(&t, AV_TIMER_CVAL, 1000, 0);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_CVAL, 0), 1000);
	CHECK(!av_timer_line(&t, 999));
	CHECK(av_timer_armed(&t, 999, &in));
	CHECK_EQ(in, 1);
	CHECK(av_timer_line(&t, 1000));
	CHECK_EQ(av_timer_read(&t, AV_TIMER_CTL, 999), AV_TIMER_ENABLE);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_CTL, 1000), AV_TIMER_ENABLE | AV_TIMER_ISTATUS);
	av_timer_write(&t, AV_TIMER_CVAL, ~0ULL, 0);
	CHECK(av_timer_armed(&t, 0, &in));
	CHECK_EQ(in, ~0ULL);
	CHECK(av_timer_line(&t, ~0ULL));
}

static void value(void)
{
	struct av_timer t = { .ctl = AV_TIMER_ENABLE };

	av_timer_write(&t, AV_TIMER_TVAL, 100, 1000);
	CHECK_EQ(t.cval, 1100);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_TVAL, 1000), 100);
	CHECK_EQ(av_timer_read(&t, AV_TIMER_TVAL, 1101), 0xffffffff);	/* -1 */
	av_timer_write(&t, AV_TIMER_TVAL, 0x80000000, 0x100000000);	/* the most negative */
	CHECK_EQ(t.cval, 0x80000000);
	CHECK(av_timer_line(&t, 0x80000000));
	av_timer_write(&t, AV_TIMER_TVAL, 0xffffffffffffffff, 10);	/* upper half ignored */
	CHECK_EQ(t.cval, 9);
	av_timer_write(&t, AV_TIMER_TVAL, 0x7fffffff, ~0ULL);		/* wraps with the counter */
	CHECK_EQ(t.cval, 0x7ffffffe);
}

int main(void)
{
	RUN(control);
	RUN(compare);
	RUN(value);
	return TESTS_DONE();
}
