// SPDX-License-Identifier: GPL-2.0
/* Exception return: to each mode, to places that fault, and illegal ones. */
#include "trap.h"

#define RETURN(spsr, elr) \
	IMM("x20", elr) "mov x21, #" #spsr "\n\tmsr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret"
/* Return to label 1 of this code, in this half. */
#define RETURN_HERE(spsr) \
	"adr x20, 1f\n\tmov x21, #" #spsr "\n\tmsr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret\n1:\t" \
	"mov x20, #0"

TRAP("eret.el1h", EL1, RETURN_HERE(0x3c5));
TRAP("eret.el1t", EL1, RETURN_HERE(0x3c4));
TRAP("eret.stack", EL1, "add sp, sp, #16\n\t" RETURN_HERE(0x3c4) "\n\tmov x1, sp");
TRAP("eret.daif-clear", EL1, RETURN_HERE(0x205));
TRAP("eret.flags", EL1, "mov x21, #0x3c5\n\tmovk x21, #0xa000, lsl #16\n\tadr x20, 1f\n\t"
     "msr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret\n1:\tcset x0, mi\n\tcset x1, cs");
/* To EL0: U_CODE has the same code, whose first instruction traps there. */
TRAP("eret.el0", EL1, "b 1f\n\tsvc #0x33\n1:\t" RETURN(0x3c0, 0x7000200004));
TRAP("eret.el0.masked", EL1, "b 1f\n\tsvc #0x33\n1:\t" RETURN(0x0, 0x7000200004));
TRAP("eret.el0.flags", EL1, "b 1f\n\tsvc #0x33\n1:\tmov x21, #0xf0000000\n\t" IMM("x20", 0x7000200004)
     "msr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret");
TRAP("eret.el0.unmapped", EL1, RETURN(0x3c0, U_UNMAPPED));
TRAP("eret.el0.kernel", EL1, RETURN(0x3c0, K_CODE));
TRAP("eret.el0.misaligned", EL1, RETURN(0x3c0, 0x7000200002));
TRAP("eret.el0.hole", EL1, RETURN(0x3c0, 0x0010000000000000));
TRAP("eret.el1.unmapped", EL1, RETURN(0x3c5, K_UNMAPPED));
TRAP("eret.el1.misaligned", EL1, RETURN(0x3c5, 0xffffff8000200001));
TRAP("eret.el1.user", EL1, RETURN(0x3c5, U_CODE));

/* Illegal: the mode stays, PSTATE.IL is set, the next instruction is an illegal state. */
TRAP("eret.illegal.el2h", EL1, RETURN_HERE(0x3c9));
TRAP("eret.illegal.el2t", EL1, RETURN_HERE(0x3c8));
TRAP("eret.illegal.el3h", EL1, RETURN_HERE(0x3cd));
TRAP("eret.illegal.reserved-1", EL1, RETURN_HERE(0x3c1));
TRAP("eret.illegal.reserved-2", EL1, RETURN_HERE(0x3c2));
TRAP("eret.illegal.reserved-6", EL1, RETURN_HERE(0x3c6));
TRAP("eret.illegal.flags", EL1, "mov x21, #0x3c9\n\tmovk x21, #0x6000, lsl #16\n\tadr x20, 1f\n\t"
     "msr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret\n1:\tnop");
TRAP_IF("eret.illegal.aa32-svc", EL1, FEATURE_AA32_EL1, RETURN_HERE(0x1d3));
TRAP("eret.illegal.aa32-bad", EL1, RETURN_HERE(0x1dc));
/* SPSR.IL is copied to PSTATE.IL. */
TRAP("eret.il", EL1, "mov x21, #0x3c5\n\tmovk x21, #0x10, lsl #16\n\tadr x20, 1f\n\t"
     "msr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret\n1:\tnop");
TRAP("eret.il.el0", EL1, "mov x21, #0x3c0\n\tmovk x21, #0x10, lsl #16\n\t" IMM("x20", U_CODE)
     "msr elr_el1, x20\n\tmsr spsr_el1, x21\n\teret");
