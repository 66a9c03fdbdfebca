// SPDX-License-Identifier: GPL-2.0
/* PSTATE: its fields as registers and as immediates, from each mode. */
#include "trap.h"

TRAP("pstate.read.daif", ALL, "mrs x0, daif");
TRAP("pstate.read.currentel", ALL, "mrs x0, currentel");
TRAP("pstate.read.spsel", ALL, "mrs x0, spsel");
TRAP("pstate.read.nzcv", ALL, "cmp xzr, xzr\n\tmrs x0, nzcv");
TRAP("pstate.write.nzcv", ALL, IMM("x0", 0xf0000000) "msr nzcv, x0\n\tmrs x1, nzcv");
TRAP("pstate.write.nzcv-res0", ALL, IMM("x0", 0xa0000000) "msr nzcv, x0\n\tmrs x1, nzcv");
TRAP("pstate.write.currentel", ALL, ".inst 0xd5184240");

#define DAIF_ROWS(bits)								\
	TRAP("pstate.daifset." #bits, ALL, "msr daifset, #" #bits "\n\tmrs x0, daif");	\
	TRAP("pstate.daifclr." #bits, ALL, "msr daifclr, #" #bits "\n\tmrs x0, daif")

DAIF_ROWS(0);
DAIF_ROWS(1);
DAIF_ROWS(2);
DAIF_ROWS(3);
DAIF_ROWS(4);
DAIF_ROWS(8);
DAIF_ROWS(12);
DAIF_ROWS(15);
TRAP("pstate.write.daif.none", ALL, "msr daif, xzr\n\tmrs x0, daif");
TRAP("pstate.write.daif.all", ALL, "mov x1, #0x3c0\n\tmsr daif, x1\n\tmrs x0, daif");
TRAP("pstate.write.daif.ones", EL1, "mov x1, #-1\n\tmsr daif, x1\n\tmrs x0, daif");
TRAP("pstate.daif.in-spsr", EL1, "msr daifclr, #13\n\tsvc #1");

TRAP("pstate.spsel.0", ALL, "msr spsel, #0\n\tmrs x0, spsel\n\tmov x1, sp");
TRAP("pstate.spsel.1", ALL, "msr spsel, #1\n\tmrs x0, spsel\n\tmov x1, sp");
TRAP("pstate.spsel.register.0", ALL, "msr spsel, xzr\n\tmrs x0, spsel\n\tmov x1, sp");
TRAP("pstate.spsel.register.1", ALL, "mov x1, #1\n\tmsr spsel, x1\n\tmrs x0, spsel\n\tmov x1, sp");
TRAP("pstate.spsel.exception", EL1, "msr spsel, #0\n\tsvc #2");
TRAP("pstate.spsel.back", EL1, "msr spsel, #0\n\tadd sp, sp, #16\n\tmsr spsel, #1\n\tsub sp, sp, #16");

TRAP("sp_el0.read", ALL, "mrs x0, sp_el0");
TRAP("sp_el0.write", ALL, "mov x0, #0x123\n\tmsr sp_el0, x0\n\tmrs x1, sp_el0");
TRAP("sp_el0.is-sp", EL1, "msr spsel, #0\n\tmov x0, #0x450\n\tmov sp, x0\n\tmsr spsel, #1\n\t"
     "mrs x1, sp_el0");
TRAP("sp_el1.own", EL1, "add sp, sp, #32");

TRAP_IF("pstate.read.pan", ALL, FEATURE_PAN, "mrs x0, s3_0_c4_c2_3");
TRAP_IF("pstate.pan.set", ALL, FEATURE_PAN, ".inst 0xd500419f\n\tmrs x0, s3_0_c4_c2_3");
TRAP_IF("pstate.pan.clear", ALL, FEATURE_PAN, ".inst 0xd500409f\n\tmrs x0, s3_0_c4_c2_3");
TRAP_IF("pstate.pan.in-spsr", EL1, FEATURE_PAN, ".inst 0xd500419f\n\tsvc #3");
TRAP_IF("pstate.pan.load", EL1, FEATURE_PAN, IMM("x1", U_DATA) ".inst 0xd500419f\n\tldr x0, [x1]");
TRAP_IF("pstate.pan.unprivileged", EL1, FEATURE_PAN, IMM("x1", U_DATA) ".inst 0xd500419f\n\tldtr x0, [x1]");
TRAP_IF("pstate.uao.set", ALL, FEATURE_UAO, ".inst 0xd500417f\n\tmrs x0, s3_0_c4_c2_4");
TRAP_IF("pstate.uao.clear", ALL, FEATURE_UAO, ".inst 0xd500407f\n\tmrs x0, s3_0_c4_c2_4");
TRAP_IF("pstate.uao.load", EL1, FEATURE_UAO, IMM("x1", U_KERNEL) ".inst 0xd500417f\n\tldtr x0, [x1]");
TRAP_IF("pstate.dit.set", ALL, FEATURE_DIT, ".inst 0xd503415f\n\tmrs x0, s3_3_c4_c2_5");
TRAP_IF("pstate.ssbs.set", ALL, FEATURE_SSBS, ".inst 0xd503413f\n\tmrs x0, s3_3_c4_c2_6");
TRAP_IF("pstate.cfinv", ALL, FEATURE_FLAGM, ".inst 0xd500401f");

/* Flags survive a trap. */
TRAP_F("flags.over-refusal", ALL, SKIP, "cmp xzr, xzr\n\tudf #0\n\tcset x0, eq");
TRAP("flags.over-system-register", EL1, "cmp xzr, xzr\n\tmsr tpidr_el1, x1\n\tmrs x2, tpidr_el1\n\t"
     "cset x0, eq");
TRAP("zero-register.read", EL1, "mrs xzr, vbar_el1");
TRAP("zero-register.write", EL1, "msr tpidr_el1, xzr\n\tmrs x0, tpidr_el1");
TRAP("link-register.read", EL1, "msr tpidr_el1, x5\n\tmrs x30, tpidr_el1");
