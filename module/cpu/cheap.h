/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to make traps cheap. Each has its own bit, so that its effect can be
 * measured. A VM starts with the bits of the module parameter cheap_traps;
 * KVM_ENABLE_CAP(AV_CAP_CHEAP_TRAPS) changes them for one VM. All are on by
 * default; none is visible to the guest. Pure.
 */
#ifndef AV_CPU_CHEAP_H
#define AV_CPU_CHEAP_H

#include "lib/av_types.h"

enum {
	AV_CHEAP_ROWS	= BIT(0),	/* more registers handled in the window (cpu/rows.h) */
	AV_CHEAP_MODES	= BIT(1),	/* SVC and ERET end in the window */
	AV_CHEAP_QUICK	= BIT(2),	/* registers, DAIF and modes in assembly (cpu/quick.h) */
	AV_CHEAP_COPIES	= BIT(3),	/* virtual EL1 runs from copies (mmu/code/copies.h) */
	AV_CHEAP_ROOTS	= BIT(4),	/* recent TTBR pairs: in the window (mmu/roots/root.c) */
	AV_CHEAP_CALLS	= BIT(5),	/* firmware calls with a known answer (cpu/calls.h) */
	AV_CHEAP_STUBS	= BIT(6),	/* hot register accesses do not trap (mmu/code/annex.h) */
	AV_CHEAP_LIGHT	= BIT(7),	/* aborts and TLBI between two stays (cpu/light.c) */
	AV_CHEAP_SHORT	= BIT(8),	/* light exits save few registers (switch/switch.h) */
	AV_CHEAP_FAULTS	= BIT(9),	/* guest aborts (mmu/guest/switcher_tables.h) */
	AV_CHEAP_ALL	= GENMASK(9, 0),
};

/*
 * The module's own VM capability. KVM_CHECK_EXTENSION returns the supported bits; KVM_ENABLE_CAP's
 * args[0] sets the active ones, from each vCPU's next entry on.
 */
#define AV_CAP_CHEAP_TRAPS	0x61760001

#endif /* AV_CPU_CHEAP_H */
