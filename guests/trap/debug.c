// SPDX-License-Identifier: GPL-2.0
/* Single step, breakpoints, watchpoints, and the debug registers' locks. */
#include "trap.h"

#define MDSCR_SS (1UL << 0)
#define MDSCR_KDE (1UL << 13)
#define MDSCR_MDE (1UL << 15)
#define PSTATE_SS (1UL << 21)
#define PSTATE_D (1UL << 9)

SETUP step_user(struct probe_state *state)
{
	write_sysreg(mdscr_el1, MDSCR_SS);
	isb();
	state->pstate |= PSTATE_SS;
}

SETUP step_kernel(struct probe_state *state)
{
	write_sysreg(mdscr_el1, MDSCR_SS | MDSCR_KDE);
	isb();
	state->pstate |= PSTATE_SS;
	state->pstate &= ~PSTATE_D;
}

/* Active-pending: the step exception comes before anything is executed. */
SETUP step_pending(struct probe_state *state)
{
	step_user(state);
	state->pstate &= ~PSTATE_SS;
}

/* D masks stepping at EL1. */
SETUP step_masked(struct probe_state *state)
{
	step_kernel(state);
	state->pstate |= PSTATE_D;
}

TRAP_SETUP("step.user.add", EL0, 0, step_user, "add x0, x0, #1\n\tadd x0, x0, #1");
TRAP_SETUP("step.user.pending", EL0, 0, step_pending, "add x0, x0, #1");
TRAP_SETUP("step.user.branch", EL0, 0, step_user, "b 1f\n\tnop\n1:\tnop");
TRAP_SETUP("step.user.svc", EL0, 0, step_user, "svc #5");
TRAP_SETUP("step.user.fault", EL0, 0, step_user, "udf #0");
TRAP_SETUP("step.user.ldxr", EL0, 0, step_user, "ldxr x0, [sp]\n\tclrex");
TRAP_SETUP("step.user.abort", EL0, 0, step_user, "ldr x0, [x0]");
TRAP_SETUP("step.kernel.add", EL1, 0, step_kernel, "add x0, x0, #1\n\tadd x0, x0, #1");
TRAP_SETUP("step.kernel.masked", EL1, 0, step_masked, "add x0, x0, #1\n\tadd x0, x0, #1");
TRAP_SETUP("step.kernel.system-register", EL1, 0, step_kernel, "mrs x0, sp_el0\n\tnop");
TRAP_SETUP("step.kernel.svc", EL1, 0, step_kernel, "svc #5");
TRAP_SETUP("step.not-kernel", EL1, 0, step_user, "add x0, x0, #1\n\tadd x0, x0, #1");

static void breakpoint(u64 address, u64 privilege)
{
	write_sysreg(dbgbvr0_el1, address);
	write_sysreg(dbgbcr0_el1, 1 | privilege << 1 | 0xfUL << 5);
}

SETUP break_user(struct probe_state *state)
{
	(void)state;
	breakpoint(U_CODE + 4, 2);
	write_sysreg(mdscr_el1, MDSCR_MDE);
	isb();
}

SETUP break_kernel(struct probe_state *state)
{
	breakpoint(K_CODE + 4, 1);
	write_sysreg(mdscr_el1, MDSCR_MDE | MDSCR_KDE);
	isb();
	state->pstate &= ~PSTATE_D;
}

/* PSTATE.D masks breakpoints and watchpoints at EL1, the OS lock masks them everywhere. */
SETUP break_masked(struct probe_state *state)
{
	break_kernel(state);
	state->pstate |= PSTATE_D;
}

SETUP break_locked(struct probe_state *state)
{
	break_user(state);
	write_sysreg(oslar_el1, 1);
	isb();
}

/* Match only in the context of breakpoint 5; the last breakpoints are context-aware. */
static void break_in_context(u64 context)
{
	write_sysreg(dbgbvr5_el1, context);
	write_sysreg(dbgbcr5_el1, 1 | 3UL << 1 | 0xfUL << 5 | 3UL << 20);
	write_sysreg(dbgbvr0_el1, U_CODE + 4);
	write_sysreg(dbgbcr0_el1, 1 | 2UL << 1 | 0xfUL << 5 | 5UL << 16 | 1UL << 20);
	write_sysreg(contextidr_el1, 0x77);
	write_sysreg(mdscr_el1, MDSCR_MDE);
	isb();
}

SETUP break_same_context(struct probe_state *state)
{
	(void)state;
	break_in_context(0x77);
}

SETUP break_other_context(struct probe_state *state)
{
	(void)state;
	break_in_context(0x78);
}

static void watch(u64 address, u64 privilege, u64 kinds)
{
	write_sysreg(dbgwvr0_el1, address);
	write_sysreg(dbgwcr0_el1, 1 | privilege << 1 | kinds << 3 | 0xffUL << 5);
	write_sysreg(mdscr_el1, MDSCR_MDE | MDSCR_KDE);
	isb();
}

SETUP watch_user(struct probe_state *state)
{
	(void)state;
	watch(U_DATA + 0x40, 2, 3);
}

SETUP watch_kernel(struct probe_state *state)
{
	watch(K_DATA + 0x40, 1, 2);
	state->pstate &= ~PSTATE_D;
}

#define WORK "add x0, x0, #1\n\tadd x0, x0, #2\n\tadd x0, x0, #4"
#define AT_DATA(base, what) IMM("x20", base) "add x0, x0, #1\n\t" what

TRAP_SETUP("break.user", EL0, 0, break_user, WORK);
TRAP_SETUP("break.user.at-el1", EL1, 0, break_user, WORK);
TRAP_SETUP("break.kernel", EL1, 0, break_kernel, WORK);
TRAP_SETUP("break.kernel.at-el0", EL0, 0, break_kernel, WORK);
TRAP_SETUP("break.kernel.masked", EL1, 0, break_masked, WORK);
TRAP_SETUP("break.kernel.unmasked-later", EL1, 0, break_masked, "msr daifclr, #8\n\t" WORK);
TRAP_SETUP("break.kernel.at-system-register", EL1, 0, break_kernel, "nop\n\tmrs x0, sp_el0\n\tnop");
TRAP_SETUP("break.user.locked", EL0, 0, break_locked, WORK);
TRAP_SETUP("break.user.context", EL0, 0, break_same_context, WORK);
TRAP_SETUP("break.user.other-context", EL0, 0, break_other_context, WORK);
TRAP_SETUP("watch.user.load", EL0, 0, watch_user, AT_DATA(U_DATA, "ldr w1, [x20, #0x44]"));
TRAP_SETUP("watch.user.store", EL0, 0, watch_user, AT_DATA(U_DATA, "str x1, [x20, #0x40]"));
TRAP_SETUP("watch.user.beside", EL0, 0, watch_user, AT_DATA(U_DATA, "ldr x1, [x20, #0x48]"));
TRAP_SETUP("watch.user.at-el1", EL1, 0, watch_user, AT_DATA(U_DATA, "ldr x1, [x20, #0x40]"));
TRAP_SETUP("watch.kernel.store", EL1, 0, watch_kernel, AT_DATA(K_DATA, "str x1, [x20, #0x40]"));
TRAP_SETUP("watch.user.pair", EL0, 0, watch_user, AT_DATA(U_DATA, "stp x1, x2, [x20, #0x38]"));
TRAP_SETUP("watch.user.exclusive", EL0, 0, watch_user,
	   AT_DATA(U_DATA + 0x40, "ldxr x1, [x20]\n\tclrex"));
TRAP_SETUP("watch.user.before-fault", EL0, 0, watch_user, AT_DATA(U_READONLY, "str x1, [x20, #0x40]"));
TRAP_SETUP("watch.kernel.load", EL1, 0, watch_kernel, AT_DATA(K_DATA, "ldr x1, [x20, #0x40]"));

TRAP("debug.brk-kept", ALL, "mov x5, #1\n\tbrk #7");
TRAP("debug.oslock", EL1, "mov x0, #1\n\tmsr oslar_el1, x0\n\tisb\n\tmrs x1, oslsr_el1\n\t"
     "msr oslar_el1, xzr\n\tisb\n\tmrs x2, oslsr_el1");
