// SPDX-License-Identifier: GPL-2.0
/* SP and PC alignment faults, which come when the register is used. */
#include "trap.h"
#include "mmu.h"

SETUP stack_checks_on(struct probe_state *state)
{
	(void)state;
	write_sysreg(sctlr_el1, SCTLR_MMU_ON | SCTLR_SA | SCTLR_SA0);
	isb();
}

SETUP stack_checks_off(struct probe_state *state)
{
	(void)state;
	write_sysreg(sctlr_el1, SCTLR_MMU_ON & ~(SCTLR_SA | SCTLR_SA0));
	isb();
}

#define STACK_ROWS(kind, setup)							\
	TRAP_SETUP("stack." kind ".load", ALL, 0, setup, "add sp, sp, #8\n\tldr x0, [sp]");	\
	TRAP_SETUP("stack." kind ".pair", ALL, 0, setup, "add sp, sp, #4\n\tstp x0, x1, [sp, #16]"); \
	TRAP_SETUP("stack." kind ".push", ALL, 0, setup, "add sp, sp, #8\n\tstr x0, [sp, #-16]!"); \
	TRAP_SETUP("stack." kind ".aligned", ALL, 0, setup, "str x0, [sp, #-16]!\n\tldr x1, [sp]")

STACK_ROWS("checked", stack_checks_on);
STACK_ROWS("unchecked", stack_checks_off);

TRAP("pc.misaligned.2", ALL, "adr x0, .\n\tadd x0, x0, #2\n\tbr x0");
TRAP("pc.misaligned.1", ALL, "adr x0, .\n\tadd x0, x0, #1\n\tblr x0");
TRAP("pc.misaligned.ret", ALL, "adr x30, .\n\tadd x30, x30, #3\n\tret");
