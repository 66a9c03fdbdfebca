/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * Classes of A64 instructions for counting the cost of virtualization. An instruction has its class
 * wherever it is executed, even if it traps there.
 */
#ifndef LAB_PLUGINS_INSN_H
#define LAB_PLUGINS_INSN_H

#include <stdint.h>

#define INSN_CLASSES(X)							\
	X(ORDINARY, "ordinary")		/* all others, hints too */	\
	X(ISB, "isb")			/* SB too */			\
	X(DSB, "dsb")			/* SSBB and PSSBB too */	\
	X(DMB, "dmb")							\
	X(CALL, "call")			/* SVC, HVC, SMC, BRK */	\
	X(ERET, "eret")			/* one for each exception */	\
	X(READ, "sysreg-read")						\
	X(WRITE, "sysreg-write")	/* PSTATE's fields too */	\
	X(TLBI, "tlbi")							\
	X(CACHE, "cache")		/* IC, DC, AT */

#define INSN_ENUM(name, text) INSN_##name,
enum insn_class { INSN_CLASSES(INSN_ENUM) NR_INSN_CLASSES };

extern const char *const insn_class_names[NR_INSN_CLASSES];

enum insn_class insn_class(uint32_t insn);

/* The reach of a TLBI; its operand is not visible from outside of QEMU. */
#define INSN_TLBIS(X)							\
	X(NONE, "none")							\
	X(VA, "va")			/* a page, or a range of them */	\
	X(ASID, "asid")							\
	X(VMID, "vmid")			/* stage 1 of the VMID in use */	\
	X(VMID_BOTH, "vmid-both")	/* and its stage 2 */		\
	X(IPA, "ipa")			/* a page of stage 2 */		\
	X(EL1, "el1")			/* EL1's of all VMIDs */	\
	X(EL2, "el2")

#define INSN_TLBI_ENUM(name, text) TLBI_##name,
enum insn_tlbi { INSN_TLBIS(INSN_TLBI_ENUM) NR_INSN_TLBIS };

extern const char *const insn_tlbi_names[NR_INSN_TLBIS];

enum insn_tlbi insn_tlbi(uint32_t insn);

/* The number of a HINT, else -1. */
int insn_hint(uint32_t insn);

#endif
