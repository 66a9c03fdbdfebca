/* SPDX-License-Identifier: GPL-2.0 */
/* Values that a guest holds in x18 and x20 to x28 while it exits: held.c, held_run.S. */
#ifndef GUESTS_HELD_H
#define GUESTS_HELD_H

/* struct held, for held_run.S */
#define HELD_VALUE	0
#define HELD_FRESH	8
#define HELD_CALL	16
#define HELD_SMC	24
#define HELD_TTBR	32
#define HELD_DEVICE	40
#define HELD_NOWHERE	48
#define HELD_SEEN	56
#define HELD_REGISTERS	10

#ifndef __ASSEMBLER__
#include "guest.h"

struct held {
	u64 value;
	u64 fresh;	/* memory that was not used yet */
	u64 call;	/* a function of PSCI's */
	u64 smc;	/* call it by SMC? */
	u64 ttbr;	/* the same tables, with another ASID */
	u64 device;
	u64 nowhere;	/* an address without a mapping */
	u64 seen[HELD_REGISTERS];
};

void held_run(struct held *held);
#endif
#endif
