/* SPDX-License-Identifier: GPL-2.0 */
/* Registers whose traps end in the window, by number: the register table must agree. */
#ifndef AV_TESTS_FAST_REGS_H
#define AV_TESTS_FAST_REGS_H

#include "cpu/fast.h"
#include "cpu/rows.h"
#include "stats/stats.h"

struct reg {
	const char *name;
	u16 enc;
	u8 flags, cls;
	bool write_leaves;		/* a write goes the long way */
};

#define REG(name_, sys, flags_, cls_) \
	[AV_FAST_##name_] = { #name_, sys, flags_, AV_EXIT_##cls_, false },
#define REG_READ(name_, sys, flags_, cls_) \
	[AV_FAST_##name_] = { #name_, sys, flags_, AV_EXIT_##cls_, true },
static const struct reg regs[AV_NR_FAST] = {
	AV_FAST_ROWS(REG, REG_READ, REG)
	/* irq/'s: no rows, but what is known of them at an entry. */
	REG(ICC_IAR1_EL1, AV_SYS(3, 0, 12, 12, 0), AV_ROW_READ, GIC_REG)
	REG(ICC_EOIR1_EL1, AV_SYS(3, 0, 12, 12, 1), AV_ROW_WRITE, GIC_REG)
	REG(ICC_PMR_EL1, AV_SYS(3, 0, 4, 6, 0), AV_ROW_RW, GIC_REG)
	REG_READ(CNTV_CTL_EL0, AV_SYS(3, 3, 14, 3, 1), AV_ROW_RW | AV_ROW_EL0, TIMER_REG)
	REG_READ(CNTV_CVAL_EL0, AV_SYS(3, 3, 14, 3, 2), AV_ROW_RW | AV_ROW_EL0, TIMER_REG)
	REG_READ(CNTVCT_EL0, AV_SYS(3, 3, 14, 0, 2), AV_ROW_READ | AV_ROW_EL0, TIMER_REG)
	/* No registers. */
	[AV_FAST_SVC] = { .cls = AV_EXIT_SVC },
	[AV_FAST_BRK] = { .cls = AV_EXIT_DEBUG },
	[AV_FAST_UNDEF] = { .cls = AV_EXIT_UNDEF },
	[AV_FAST_ERET] = { .cls = AV_EXIT_ERET },
	[AV_FAST_ERET_EL0] = { .cls = AV_EXIT_ERET },
	[AV_FAST_HVC] = { .cls = AV_EXIT_HVC },
};

#endif /* AV_TESTS_FAST_REGS_H */
