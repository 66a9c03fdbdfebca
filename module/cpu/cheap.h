/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to make traps cheap. Each can be had alone, so that its effect can be
 * measured: bits of the module's parameter cheap_traps, with which a VM begins,
 * and of KVM_ENABLE_CAP(AV_CAP_CHEAP_TRAPS) of one VM. All are on by default;
 * none changes what a guest can see. Pure.
 */
#ifndef AV_CPU_CHEAP_H
#define AV_CPU_CHEAP_H

#include "lib/av_types.h"

enum {
	AV_CHEAP_ROWS	= BIT(0),	/* registers read in loops, in the window (cpu/rows.h) */
	AV_CHEAP_MODES	= BIT(1),	/* SVC and ERET end in the window */
	AV_CHEAP_QUICK	= BIT(2),	/* memory, DAIF and modes, in assembly (cpu/quick.h) */
	AV_CHEAP_COPIES	= BIT(3),	/* virtual EL1 runs from patched copies (mmu/copies.h) */
	AV_CHEAP_ROOTS	= BIT(4),	/* TTBRs written lately are changed in the window (mmu/root.c) */
	AV_CHEAP_CALLS	= BIT(5),	/* firmware calls with an answer at hand (cpu/calls.h) */
	AV_CHEAP_STUBS	= BIT(6),	/* registers are reached without a trap (mmu/annex.h) */
	AV_CHEAP_LIGHT	= BIT(7),	/* aborts and TLBI between two stays (cpu/light.c) */
	AV_CHEAP_SHORT	= BIT(8),	/* these and calls leave most registers as they are (switch/switch.h) */
	AV_CHEAP_ALL	= GENMASK(8, 0),
};

/*
 * A capability of a VM, of our own: KVM_CHECK_EXTENSION says which bits there
 * are, KVM_ENABLE_CAP's args[0] which are on from each vCPU's next entry.
 */
#define AV_CAP_CHEAP_TRAPS	0x61760001

#endif /* AV_CPU_CHEAP_H */
