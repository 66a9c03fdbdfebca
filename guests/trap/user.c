// SPDX-License-Identifier: GPL-2.0
/* EL0's permitted accesses, as SCTLR_EL1, CNTKCTL_EL1 and CPACR_EL1 allow or deny them. */
#include "trap.h"
#include "mmu.h"

SETUP allow_all(struct probe_state *state)
{
	(void)state;
	write_sysreg(sctlr_el1, SCTLR_MMU_ON | SCTLR_UCI | SCTLR_UCT | SCTLR_DZE | SCTLR_UMA |
		     SCTLR_NTWI | SCTLR_NTWE);
	isb();
}

SETUP counter_virtual(struct probe_state *state)
{
	(void)state;
	write_sysreg(cntkctl_el1, 2);
	isb();
}

SETUP counter_physical(struct probe_state *state)
{
	(void)state;
	write_sysreg(cntkctl_el1, 1);
	isb();
}

SETUP timers(struct probe_state *state)
{
	(void)state;
	write_sysreg(cntkctl_el1, 0x300);
	isb();
}

SETUP user_debug(struct probe_state *state)
{
	(void)state;
	write_sysreg(mdscr_el1, 1 << 12);
	isb();
}

/* Each row twice: with the initial values, which deny everything, and with the access allowed. */
#define BOTH(name, text)						\
	TRAP("user." name ".refused", EL0, text);			\
	TRAP_SETUP("user." name ".allowed", EL0, 0, allow_all, text)

BOTH("ctr", "mrs x0, ctr_el0\n\tmov x0, #0");
BOTH("dczid", "mrs x0, dczid_el0\n\tmov x0, #0");
BOTH("daif", "mrs x0, daif");
BOTH("daifset", "msr daifset, #2");
BOTH("daifclr", "msr daifclr, #13\n\tmrs x0, daif");
BOTH("daif-write", "mov x1, #0x3c0\n\tmsr daif, x1");
BOTH("dc-zva", IMM("x1", U_DATA) "dc zva, x1\n\tldr x0, [x1]");
BOTH("dc-cvau", IMM("x1", U_DATA) "dc cvau, x1");
BOTH("dc-cvac", IMM("x1", U_DATA) "dc cvac, x1");
BOTH("dc-civac", IMM("x1", U_DATA) "dc civac, x1");
BOTH("dc-civac-readonly", IMM("x1", U_READONLY) "dc civac, x1");
BOTH("dc-civac-kernel", IMM("x1", U_KERNEL) "dc civac, x1");
BOTH("dc-ivac", IMM("x1", U_DATA) "dc ivac, x1");
BOTH("dc-isw", "mov x1, #0\n\tdc isw, x1");
BOTH("dc-csw", "mov x1, #0\n\tdc csw, x1");
BOTH("dc-cisw", "mov x1, #0\n\tdc cisw, x1");
BOTH("ic-ivau", IMM("x1", U_CODE) "ic ivau, x1");
BOTH("ic-iallu", "ic iallu");
BOTH("ic-ialluis", "ic ialluis");
BOTH("wfe", "sevl\n\twfe");
BOTH("tlbi", "tlbi vmalle1");

TRAP("user.cntvct.refused", EL0, "mrs x0, cntvct_el0");
TRAP_F("user.cntpct.refused", EL0, 0, "mrs x0, cntpct_el0");
TRAP("user.cntfrq.refused", EL0, "mrs x0, cntfrq_el0");
TRAP("user.cntv_ctl.refused", EL0, "mrs x0, cntv_ctl_el0");
TRAP("user.cntp_cval.refused", EL0, "mrs x0, cntp_cval_el0");
TRAP_SETUP("user.cntvct.allowed", EL0, NO_X0, counter_virtual, "mrs x0, cntvct_el0");
TRAP_SETUP("user.cntpct.other", EL0, 0, counter_virtual, "mrs x0, cntpct_el0");
TRAP_SETUP("user.cntfrq.virtual", EL0, NO_X0, counter_virtual, "mrs x0, cntfrq_el0");
TRAP_SETUP("user.cntpct.allowed", EL0, NO_X0, counter_physical, "mrs x0, cntpct_el0");
TRAP_SETUP("user.cntvct.other", EL0, 0, counter_physical, "mrs x0, cntvct_el0");
TRAP_SETUP("user.cntv_ctl.allowed", EL0, 0, timers,
	   "mov x1, #2\n\tmsr cntv_ctl_el0, x1\n\tmrs x0, cntv_ctl_el0\n\tmsr cntv_ctl_el0, xzr");
TRAP_SETUP("user.cntp_cval.allowed", EL0, 0, timers,
	   "mov x1, #99\n\tmsr cntp_cval_el0, x1\n\tmrs x0, cntp_cval_el0");

TRAP("user.tpidr", EL0, "mov x0, #0x42\n\tmsr tpidr_el0, x0\n\tmrs x1, tpidr_el0");
TRAP("user.tpidrro-write", EL0, "msr tpidrro_el0, x0");
TRAP("user.mdccsr.allowed", EL0, "mrs x0, mdccsr_el0\n\tmov x0, #0");
TRAP_SETUP("user.mdccsr.refused", EL0, 0, user_debug, "mrs x0, mdccsr_el0");

TRAP("user.eret", EL0, "eret");
TRAP_F("user.registers", EL0, SKIP,
       "mrs x0, sctlr_el1\n\tmsr vbar_el1, x0\n\tmrs x0, esr_el1\n\tmrs x0, elr_el1\n\t"
       "mrs x0, tpidr_el1\n\tmrs x0, midr_el1\n\tmrs x0, contextidr_el1");
TRAP_F("user.el1-only-immediates", EL0, SKIP,
       "msr spsel, #0\n\tmsr spsel, #1\n\t.inst 0xd500419f\n\t.inst 0xd500417f");

/* Accesses that EL1 may always make, whatever the bits are. */
TRAP("kernel.ctr", EL1, "mrs x0, ctr_el0\n\tmov x0, #0");
TRAP("kernel.dc-zva", EL1, IMM("x1", K_DATA) "dc zva, x1\n\tldr x0, [x1]");
TRAP("kernel.dc-isw", EL1, "mov x1, #0\n\tdc isw, x1");
TRAP("kernel.dc-csw", EL1, "mov x1, #0\n\tdc csw, x1");
TRAP("kernel.dc-cisw", EL1, "mov x1, #0\n\tdc cisw, x1");
TRAP("kernel.dc-ivac", EL1, IMM("x1", K_DATA) "dc ivac, x1");
TRAP("kernel.dc-ivac-readonly", EL1, IMM("x1", K_READONLY) "dc ivac, x1");
TRAP("kernel.dc-ivac-unmapped", EL1, IMM("x1", K_UNMAPPED) "dc ivac, x1");
TRAP("kernel.dc-cvau", EL1, IMM("x1", K_CODE) "dc cvau, x1");
TRAP("kernel.ic-iallu", EL1, "ic iallu\n\tdsb sy\n\tisb");
TRAP("kernel.ic-ialluis", EL1, "ic ialluis\n\tdsb sy\n\tisb");
TRAP("kernel.ic-ivau", EL1, IMM("x1", K_CODE) "ic ivau, x1");
TRAP("kernel.ic-ivau-unmapped", EL1, IMM("x1", K_UNMAPPED) "ic ivau, x1");
