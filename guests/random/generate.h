/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random sequences of privileged instructions and memory-management operations.
 *
 * A seed always gives the same sequence. The architecture alone determines its effects: they do not
 * depend on time, on the address of the image, on an optional feature, or on an entry that a TLB
 * may or may not hold.
 *
 * Registers: x0 to x15 are data, x16 to x18 scratch, x20 an address, x30 a link. Given by the
 * runner and never changed: x22 the interrupt distributor, x23 the clock, both devices; x24, x25
 * the two vector tables; x26 the data page's entry without attributes; x28 and x29 the addresses of
 * the entries of K_CHANGE and U_CHANGE. The code does not depend on the machine, so it is tested on
 * the development machine.
 */
#ifndef GUESTS_RANDOM_GENERATE_H
#define GUESTS_RANDOM_GENERATE_H

#include "../lib/types.h"

#define SEQUENCE_MAX 1000	/* words, including the end */
#define SEQUENCE_UNITS 48	/* operations, at most */
#define SEQUENCE_SGIS 4		/* software interrupts that it sends itself: 0 to 3 */

struct sequence {
	u64 rng;
	u32 code[SEQUENCE_MAX];
	unsigned int length;
	unsigned int units;
	/* Where it starts: 0 EL1h, 1 EL1t, 2 EL0. */
	unsigned int mode;
	/* It may leave something in the distributor. */
	bool uses_distributor;
	/* First values of x0 to x15. */
	u64 x[16];
};

void sequence_generate(struct sequence *sequence, u64 seed);
u64 random_next(u64 *state);

#endif
