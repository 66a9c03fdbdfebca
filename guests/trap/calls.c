// SPDX-License-Identifier: GPL-2.0
/* Calls, breakpoints and undefined instructions. */
#include "trap.h"

TRAP("call.svc.0", ALL, "svc #0");
TRAP("call.svc.ffff", ALL, "svc #0xffff");
TRAP("call.svc.flags", ALL, "adds xzr, xzr, xzr\n\tsvc #0x55");
TRAP("call.brk.1", ALL, "brk #1");
TRAP("call.brk.ffff", ALL, "brk #0xffff");
TRAP("call.hlt", ALL, "hlt #0x55");
TRAP("call.hvc.el0", EL0, "hvc #0");
TRAP("call.smc.el0", EL0, "smc #0");
/* A function that no firmware has: NOT_SUPPORTED, and no other register changes. */
TRAP_F("call.hvc.unknown", EL1, 0, IMM("x0", 0x8400ff00) "hvc #0");
TRAP_F("call.hvc.psci-version", EL1, NO_X0, IMM("x0", 0x84000000) "hvc #0");
TRAP_F("call.hvc.psci-features", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x84000008) "hvc #0");
TRAP_F("call.hvc.psci-features-none", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x8400ff00) "hvc #0");
TRAP_F("call.hvc.affinity-self", EL1, 0,
       IMM("x0", 0xc4000004) "mrs x1, mpidr_el1\n\tand x1, x1, #0xffffff\n\t"
       "mov x2, #0\n\thvc #0\n\tmov x1, #0");
TRAP_F("call.hvc.affinity-none", EL1, 0,
       IMM("x0", 0xc4000004) IMM("x1", 0xff000000) "mov x2, #0\n\thvc #0");
TRAP_F("call.hvc.cpu-on-none", EL1, 0,
       IMM("x0", 0xc4000003) IMM("x1", 0xff000000) "mov x2, #0\n\tmov x3, #0\n\thvc #0");
TRAP_F("call.hvc.migrate-info-type", EL1, 0, IMM("x0", 0x84000006) "hvc #0");
TRAP_F("call.hvc.psci-features-cpu-on-64", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0xc4000003) "hvc #0");
TRAP_F("call.hvc.psci-features-off-64", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0xc4000008) "hvc #0");
TRAP_F("call.hvc.psci-features-migrate", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x84000005) "hvc #0");
TRAP_F("call.hvc.psci-features-freeze", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x8400000b) "hvc #0");
TRAP_F("call.hvc.psci-features-suspend-64", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0xc400000e) "hvc #0");
TRAP_F("call.hvc.psci-features-reset2", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x84000012) "hvc #0");
TRAP_F("call.hvc.psci-features-reset2-64", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0xc4000012) "hvc #0");
TRAP_F("call.hvc.psci-features-smccc", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x80000000) "hvc #0");
TRAP_F("call.hvc.psci-features-last", EL1, 0,
       IMM("x0", 0x8400000a) IMM("x1", 0x8400001f) "hvc #0");
/* Calls other than PSCI's: of the calling convention, TRNG, the hypervisor itself. */
TRAP_F("call.hvc.smccc-version", EL1, 0, IMM("x0", 0x80000000) "hvc #0");
TRAP_F("call.hvc.arch-features-pv-time", EL1, 0,
       IMM("x0", 0x80000001) IMM("x1", 0xc5000020) "hvc #0");
TRAP_F("call.hvc.trng-version", EL1, 0, IMM("x0", 0x84000050) "hvc #0");
TRAP_F("call.hvc.trng-features", EL1, 0,
       IMM("x0", 0x84000051) IMM("x1", 0xc4000053) "hvc #0");
TRAP_F("call.hvc.vendor-uid", EL1, 0, IMM("x0", 0x8600ff01) "hvc #0");
/* 64-bit forms that do not exist, an immediate, flags, and calls in a row. */
TRAP_F("call.hvc.psci-version-64", EL1, 0, IMM("x0", 0xc4000000) "hvc #0");
TRAP_F("call.hvc.migrate-info-type-64", EL1, 0, IMM("x0", 0xc4000006) "hvc #0");
TRAP_F("call.hvc.immediate", EL1, 0, IMM("x0", 0x84000006) "hvc #0x1234");
TRAP_F("call.hvc.wide-number", EL1, NO_X0,
       IMM("x0", 0x84000000) "movk x0, #1, lsl #32\n\thvc #0");
TRAP_F("call.hvc.flags", EL1, 0,
       IMM("x0", 0x84000006) "mov x4, #-1\n\tcmn x4, #1\n\thvc #0\n\tmrs x5, nzcv");
TRAP_F("call.hvc.twice", EL1, 0,
       IMM("x0", 0x84000006) "hvc #0\n\tmov x4, x0\n\t" IMM("x0", 0x84000050) "hvc #0");

TRAP("undefined.udf.0", ALL, "udf #0");
TRAP("undefined.udf.ffff", ALL, "udf #0xffff");
TRAP("undefined.hole.1", ALL, ".inst 0x02000000");
TRAP("undefined.hole.2", ALL, ".inst 0xffffffff");
TRAP("undefined.hole.3", ALL, ".inst 0xd4000000");
TRAP("undefined.hole.4", ALL, ".inst 0xd4000004");
TRAP("undefined.dcps1", ALL, "dcps1");
TRAP("undefined.dcps2", ALL, "dcps2");
TRAP("undefined.dcps3", ALL, "dcps3");
TRAP("undefined.drps", ALL, "drps");
TRAP("undefined.flags-kept", ALL, "mov x0, #-1\n\tcmn x0, #1\n\tudf #1");
TRAP_F("undefined.skipped", ALL, SKIP, "udf #0\n\tadd x0, x0, #1\n\tudf #1\n\tadd x0, x0, #2");

/* Hints change no register. */
TRAP("hint.nop", ALL, "nop");
TRAP("hint.yield", ALL, "yield");
TRAP("hint.sev", ALL, "sev");
TRAP("hint.sevl", ALL, "sevl");
TRAP("hint.esb", ALL, "hint #16");
TRAP("hint.psb", ALL, "hint #17");
TRAP("hint.csdb", ALL, "hint #20");
TRAP("hint.bti", ALL, "hint #34");
TRAP("hint.unallocated", ALL, "hint #127");
TRAP("hint.paciaz", ALL, "mov x30, #0x40\n\thint #24");
TRAP("hint.xpaclri", ALL, "mov x30, #0x40\n\thint #7");
TRAP("barrier.dsb", ALL, "dsb sy\n\tdsb ish\n\tdsb ld");
TRAP("barrier.dmb", ALL, "dmb sy\n\tdmb ishst");
TRAP("barrier.isb", ALL, "isb");
TRAP("barrier.clrex", ALL, "clrex");
