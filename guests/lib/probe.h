/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a piece of code at EL1 or EL0 with given values in every register, until the first
 * exception, and returns every register as the exception found it.
 *
 * Rules: the code may do anything that leaves the identity map of the image usable at EL1 (the
 * vectors run there before anything is restored). It must not rely on TPIDRRO_EL0 across an
 * exception: the vectors have no other scratch. One CPU only.
 */
#ifndef GUESTS_PROBE_H
#define GUESTS_PROBE_H

/* Offsets in struct probe_state, for probe.S. */
#define PROBE_SP_EL0	248
#define PROBE_SP_EL1	256
#define PROBE_PC	264
#define PROBE_PSTATE	272
#define PROBE_ESR	280
#define PROBE_FAR	288
#define PROBE_VECTOR	296

#define PSTATE_EL0	0x3c0
#define PSTATE_EL1T	0x3c4
#define PSTATE_EL1H	0x3c5

/* Vectors of the second table are reported with this bit set. */
#define VECTOR_SECOND	0x800
#define VECTOR_OFFSET	0x780

#ifndef __ASSEMBLER__
#include "guest.h"

struct probe_state {
	u64 x[31];
	u64 sp_el0;
	u64 sp_el1;
	u64 pc;
	u64 pstate;
	u64 esr;
	u64 far;
	u64 vector;
};

/* `state` in, the same `state` out. probe_vectors must be in VBAR_EL1. */
void probe_run(struct probe_state *state);

extern char probe_vectors[], probe_vectors_second[];

static inline unsigned int esr_class(u64 esr)
{
	return esr >> 26 & 0x3f;
}

/* Is the vector one of the four for synchronous exceptions? */
static inline bool is_synchronous(u64 vector)
{
	return !(vector & 0x180);
}

#endif
#endif
