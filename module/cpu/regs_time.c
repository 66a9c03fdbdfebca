// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and timers that trap: this file checks who may access them, irq/
 * implements them. The virtual counter traps only if the VM has an offset.
 */
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "stats/stats.h"

#define CNTKCTL_EL0PCTEN	BIT_ULL(0)
#define CNTKCTL_EL0VCTEN	BIT_ULL(1)
#define CNTKCTL_EL0VTEN		BIT_ULL(8)
#define CNTKCTL_EL0PTEN		BIT_ULL(9)

/* Virtual EL1 may access all; virtual EL0 needs one of these bits in CNTKCTL_EL1. */
static bool access_if(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val,
		      u64 bits)
{
	struct av_srf *srf = vcpu->srf;

	if (!av_srf_el1(srf) && !(av_srf_get(srf, AV_CNTKCTL_EL1) & bits))
		return false;
	return av_timer_access(vcpu, reg->enc, write, val);
}

static bool access_frq(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	/* Writable only at the highest implemented level. */
	return !write && access_if(vcpu, reg, write, val, CNTKCTL_EL0PCTEN | CNTKCTL_EL0VCTEN);
}

static bool access_pct(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return access_if(vcpu, reg, write, val, CNTKCTL_EL0PCTEN);
}

static bool access_vct(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return access_if(vcpu, reg, write, val, CNTKCTL_EL0VCTEN);
}

static bool access_ptimer(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return access_if(vcpu, reg, write, val, CNTKCTL_EL0PTEN);
}

static bool access_vtimer(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return access_if(vcpu, reg, write, val, CNTKCTL_EL0VTEN);
}

#define TIME(crm, op2, flags_, name_, access_) \
	AV_FN(AV_SYS(3, 3, 14, crm, op2), (flags_) | AV_ROW_EL0, TIMER_REG, name_, access_)

static const struct av_sysreg rows[] = {
	AV_MEM(AV_SYS(3, 0, 14, 1, 0), AV_ROW_ALL, TIMER_REG, CNTKCTL_EL1, 0),
	TIME(0, 0, AV_ROW_READ, "CNTFRQ_EL0", access_frq),
	TIME(0, 1, AV_ROW_READ, "CNTPCT_EL0", access_pct),
	TIME(0, 2, AV_ROW_READ, "CNTVCT_EL0", access_vct),
	TIME(2, 0, AV_ROW_RW, "CNTP_TVAL_EL0", access_ptimer),
	TIME(2, 1, AV_ROW_RW, "CNTP_CTL_EL0", access_ptimer),
	TIME(2, 2, AV_ROW_RW, "CNTP_CVAL_EL0", access_ptimer),
	TIME(3, 0, AV_ROW_RW, "CNTV_TVAL_EL0", access_vtimer),
	TIME(3, 1, AV_ROW_RW, "CNTV_CTL_EL0", access_vtimer),
	TIME(3, 2, AV_ROW_RW, "CNTV_CVAL_EL0", access_vtimer),
};

const struct av_sysreg_table av_regs_time = { rows, ARRAY_SIZE(rows) };
