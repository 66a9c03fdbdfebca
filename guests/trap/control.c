// SPDX-License-Identifier: GPL-2.0
/*
 * Translation control: MMU off and on, WXN, EPD, T1SZ, TBI, tables that change under the code, and
 * a second set of vectors. The image's identity map remains in all cases.
 */
#include "trap.h"
#include "mmu.h"

/* x10: the physical address of RAM, which is also its address with the MMU off. */
SETUP physical_data(struct probe_state *state)
{
	state->x[10] = arena_data_physical();
	state->x[11] = (u64)arena_entry(K_CHANGE);
	state->x[12] = (u64)arena_entry(U_CHANGE);
	state->x[13] = read_sysreg(sctlr_el1);
	state->x[14] = read_sysreg(tcr_el1);
	state->x[15] = read_sysreg(ttbr1_el1);
}

/*
 * With the MMU off code must run at its physical address: jump there and back. Data
 * written with the MMU on is cleaned first, because accesses then are Device accesses.
 */
#define CODE_PHYSICAL								\
	"adr x16, 1f\n\tat s1e1r, x16\n\tisb\n\tmrs x17, par_el1\n\t"		\
	"and x17, x17, #0xfffffffff000\n\tand x18, x16, #0xfff\n\tadd x17, x17, x18\n\tbr x17\n1:\t"
#define CLEAR_SCRATCH "mov x16, #0\n\tmov x17, #0\n\tmov x18, #0\n\tmov x19, #0\n\t"

TRAP_SETUP("mmu.off", EL1H, 0, physical_data,
	   "mov x0, #0x42\n\tstr x0, [x10]\n\tdc civac, x10\n\tdsb sy\n\t" CODE_PHYSICAL
	   "bic x19, x13, #1\n\tmsr sctlr_el1, x19\n\tisb\n\tldr x1, [x10]\n\t"
	   "mov x2, #0x43\n\tstr x2, [x10]\n\tdsb sy\n\tmsr sctlr_el1, x13\n\tisb\n\t"
	   "dc ivac, x10\n\tdsb sy\n\tldr x3, [x10]\n\t" CLEAR_SCRATCH "adr x20, .\n\tmov x20, #0");
TRAP_SETUP("tcr.tbi1", EL1, 0, physical_data,
	   IMM("x20", 0x12ffff8000202000) "orr x19, x14, #0x4000000000\n\tmsr tcr_el1, x19\n\tisb\n\t"
	   "mov x19, #0\n\tldr x0, [x20]");
TRAP_SETUP("tcr.tbi0", EL1, 0, physical_data,
	   IMM("x20", 0x3400007000202000) "orr x19, x14, #0x2000000000\n\tmsr tcr_el1, x19\n\tisb\n\t"
	   "mov x19, #0\n\tldr x0, [x20]");
TRAP_SETUP("tcr.tbi1-fault", EL1, 0, physical_data,
	   IMM("x20", 0x56ffff8000207000) "orr x19, x14, #0x4000000000\n\tmsr tcr_el1, x19\n\tisb\n\t"
	   "mov x19, #0\n\tldr x0, [x20]");

/* Entries of other kinds, put into the table of the CHANGE pages. */
#define ENTRY(name, change, use)						\
	TRAP_SETUP("entry." name, EL1, 0, physical_data,			\
		   IMM("x20", K_CHANGE) "ldr x19, [x11]\n\tstr xzr, [x11]\n\tdsb ish\n\t" \
		   "tlbi vmalle1\n\tdsb ish\n\tisb\n\t" change "\n\tstr x19, [x11]\n\t"	\
		   "mov x19, #0\n\tdsb ish\n\tisb\n\t" use)

ENTRY("same", "nop", "ldr x0, [x20]");
ENTRY("invalid-with-bits", "and x19, x19, #~1", "ldr x0, [x20]");
ENTRY("reserved-type", "and x19, x19, #~2", "ldr x0, [x20]");
ENTRY("user", "orr x19, x19, #0x40", "ldr x0, [x20]");
ENTRY("user-execute", "orr x19, x19, #0x40", "br x20");
ENTRY("readonly", "orr x19, x19, #0x80", "str x0, [x20]");
ENTRY("not-global", "orr x19, x19, #0x800", "ldr x0, [x20]");
ENTRY("device", "orr x19, x19, #4", "ldr x0, [x20, #1]");
ENTRY("noncached", "orr x19, x19, #8", "ldr x0, [x20, #1]");
ENTRY("not-shared", "and x19, x19, #~0x300", "ldr x0, [x20]");
ENTRY("software-bits", "orr x19, x19, #0x0780000000000000", "ldr x0, [x20]");
ENTRY("old-store", "and x19, x19, #~0x400", "str x0, [x20]");

/* A store to one alias of a page is visible through the others. */
TRAP("alias.store", EL1, IMM("x20", K_DATA) IMM("x21", U_DATA) IMM("x22", K_USER)
     "mov x0, #0x77\n\tstr x0, [x20, #64]\n\tldr x1, [x21, #64]\n\tstr x2, [x22, #72]\n\t"
     "ldr x3, [x20, #72]");
TRAP("contiguous.last", EL1, IMM("x20", K_CONT) "add x20, x20, #0xf000\n\tldr x0, [x20]");
TRAP("block.last", EL1, IMM("x20", 0xffffff80005ffff8) "ldr x0, [x20]");
TRAP("block.first", EL1, IMM("x20", K_BLOCK) "ldr x0, [x20]");

/* A second set of vectors. */
SETUP second_vectors(struct probe_state *state)
{
	(void)state;
	write_sysreg(vbar_el1, (u64)probe_vectors_second);
	isb();
}

TRAP_SETUP("vectors.second", ALL, 0, second_vectors, "svc #9");
TRAP_SETUP("vectors.second.abort", ALL, 0, second_vectors, IMM("x20", K_UNMAPPED) "ldr x0, [x20]");

/* Writing EL1's own exception registers, and an exception that overwrites them. */
TRAP("exception.registers", EL1,
     "mov x0, #0x55\n\tmsr esr_el1, x0\n\tmsr far_el1, x0\n\tmrs x1, esr_el1\n\tmrs x2, far_el1");
TRAP("exception.far-kept", EL1, "mov x0, #0x55\n\tmsr far_el1, x0\n\tsvc #0");
/* Self-modifying code, with the cache maintenance that the architecture requires. */
TRAP_SETUP("code.changed", EL1, 0, physical_data,
	   "adr x20, 1f\n\tat s1e1r, x20\n\tisb\n\tmrs x21, par_el1\n\t"
	   "and x21, x21, #0xfffffffff000\n\tand x22, x20, #0xfff\n\tadd x21, x21, x22\n\t"
	   "adr x22, 2f\n\tldr w23, [x22]\n\tstr w23, [x21]\n\tdc cvau, x21\n\tdsb ish\n\t"
	   "ic ivau, x20\n\tdsb ish\n\tisb\n1:\tmov x0, #1\n\tmov x21, #0\n\tb 3f\n2:\tmov x0, #2\n3:\tnop");
