/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cost of one operation by the virtual counter: the best of several rounds, less the cost of an
 * empty loop. A tick is 1 / CNTFRQ_EL0 seconds; on a counted board (62.5 MHz, one instruction a
 * nanosecond) it is 16 instructions. The lab's plugin counts the rounds of the operation, then as
 * many of the empty loop.
 */
#ifndef GUESTS_COST_H
#define GUESTS_COST_H

#include "guest.h"

/* Thousandths of a tick for one call of operation(). */
u64 cost_of(void (*operation)(void), u64 loops);

/* The same for operations that can be done only once: prepare() runs before each round, uncounted. */
u64 cost_after(void (*prepare)(void), void (*operation)(void), u64 loops);

/* The cost of operation() beyond that of less(), which is subtracted in place of the empty loop. */
u64 cost_beyond(void (*operation)(void), void (*less)(void), u64 loops);

#endif
