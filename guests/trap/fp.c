// SPDX-License-Identifier: GPL-2.0
/* FP and SIMD: traps as CPACR_EL1 says, and the FP state where they do not trap. */
#include "trap.h"

SETUP fp_el1(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 1UL << 20);
	isb();
}

SETUP fp_all(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 3UL << 20);
	isb();
}

SETUP fp_reserved(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 2UL << 20);
	isb();
}

#define FP_ROWS(name, text)							\
	TRAP("fp." name ".off", ALL, text);					\
	TRAP_SETUP("fp." name ".el1", ALL, 0, fp_el1, text);			\
	TRAP_SETUP("fp." name ".reserved", ALL, 0, fp_reserved, text);		\
	TRAP_SETUP("fp." name ".all", ALL, 0, fp_all, text)

FP_ROWS("move", "fmov d0, x1\n\tfmov x0, d0");
FP_ROWS("fpcr", "mov x1, #0x1000000\n\tmsr fpcr, x1\n\tmrs x0, fpcr\n\tmsr fpcr, xzr");
FP_ROWS("fpsr", "mov x1, #0x1f\n\tmsr fpsr, x1\n\tmrs x0, fpsr\n\tmsr fpsr, xzr");
FP_ROWS("load", IMM("x20", U_DATA) "ldr q1, [x20]\n\tmov x0, v1.d[1]");
FP_ROWS("load-unmapped", IMM("x20", U_UNMAPPED) "ldr q1, [x20]");
FP_ROWS("store-readonly", IMM("x20", U_READONLY) "stp q0, q1, [x20]");
/* SVE and SME, which no guest here has: what CPACR_EL1 traps comes first where the core has them. */
SETUP vectors_el1(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 1UL << 24 | 3UL << 20 | 1UL << 16);
	isb();
}

SETUP vectors_no_fp(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 3UL << 24 | 3UL << 16);
	isb();
}

SETUP vectors_all(struct probe_state *state)
{
	(void)state;
	write_sysreg(cpacr_el1, 3UL << 24 | 3UL << 20 | 3UL << 16);
	isb();
}

#define VECTOR_ROWS(name, text)							\
	TRAP("vectors." name ".off", ALL, text);				\
	TRAP_SETUP("vectors." name ".el1", ALL, 0, vectors_el1, text);		\
	TRAP_SETUP("vectors." name ".no-fp", ALL, 0, vectors_no_fp, text);	\
	TRAP_SETUP("vectors." name ".all", ALL, 0, vectors_all, text)

VECTOR_ROWS("rdvl", ".inst 0x04bf5020");
VECTOR_ROWS("ptrue", ".inst 0x2518e3e0");
VECTOR_ROWS("ldr", IMM("x20", U_UNMAPPED) ".inst 0x85804280");
VECTOR_ROWS("smstart", ".inst 0xd503477f");
VECTOR_ROWS("zcr", "mrs x0, s3_0_c1_c2_0");
VECTOR_ROWS("zcr-write", "msr s3_0_c1_c2_0, xzr");
VECTOR_ROWS("smcr", "mrs x0, s3_0_c1_c2_6");
VECTOR_ROWS("smpri", "mrs x0, s3_0_c1_c2_4");
VECTOR_ROWS("svcr", "mrs x0, s3_3_c4_c2_2");
VECTOR_ROWS("tpidr2", "mrs x0, s3_3_c13_c0_5");
TRAP_SETUP("fp.kept", ALL, SKIP, fp_all, "fmov d7, x3\n\tudf #0\n\tfmov x0, d7");
TRAP_SETUP("fp.arithmetic", ALL, 0, fp_all,
	   "mov x1, #7\n\tscvtf d0, x1\n\tfmul d1, d0, d0\n\tfsqrt d2, d1\n\tfcvtzs x0, d2\n\tfmov x1, d1");
