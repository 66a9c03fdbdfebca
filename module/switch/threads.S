/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's thread registers, for assembly in the host's text and in the window. */
#ifndef AV_SWITCH_THREADS_H
#define AV_SWITCH_THREADS_H

#include "switch/offsets.h"

/* Load TPIDR_EL0 and TPIDRRO_EL0 from \srf, or in place SP_EL0 and TPIDR_EL1. Clobbers x1, x2. */
	.macro	load_threads srf
	ldr	w1, [\srf, #SRF_IN_PLACE]
	cbz	w1, .Lown\@
	ldr	x1, [\srf, #SRF_SP_EL0]
	ldr	x2, [\srf, #SRF_TPIDR_EL1]
	b	.Lload\@
.Lown\@:
	ldr	x1, [\srf, #SRF_TPIDR_EL0]
	ldr	x2, [\srf, #SRF_TPIDRRO_EL0]
.Lload\@:
	msr	tpidr_el0, x1
	msr	tpidrro_el0, x2
	.endm

#endif /* AV_SWITCH_THREADS_H */
