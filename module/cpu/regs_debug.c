// SPDX-License-Identifier: GPL-2.0
/*
 * Debug registers (op0 2). The hardware performs the guest's single step,
 * breakpoints and watchpoints (cpu/hwdebug.c). There is no external debugger:
 * its channels read as zero.
 */
#include "cpu/hwdebug.h"
#include "cpu/sysreg.h"
#include "stats/stats.h"

#define OSLSR_OSLM	BIT_ULL(3)	/* the OS lock is implemented */
#define OSLSR_OSLK	BIT_ULL(1)	/* the OS lock is locked */

static bool raz_wi(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (!write)
		*val = 0;
	return true;
}

/* The debug channel's registers. The guest's kernel may deny them to its user space. */
static bool access_dcc(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (!av_srf_el1(vcpu->srf) && av_srf_get(vcpu->srf, AV_MDSCR_EL1) & AV_MDSCR_TDCC)
		return false;
	return raz_wi(vcpu, reg, write, val);
}

static bool access_oslar(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	av_srf_set(vcpu->srf, AV_OSLSR_EL1, OSLSR_OSLM | (*val & 1 ? OSLSR_OSLK : 0));
	return true;
}

static bool access_authstatus(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write,
			      u64 *val)
{
	/* Non-secure debug is implemented and enabled. Some emulators lack this register. */
	*val = 0xaa;
	return true;
}

/* Registers beyond the number in ID_AA64DFR0_EL1 are UNDEFINED. */
static bool dbg_exists(struct av_vcpu *vcpu, const struct av_sysreg *reg)
{
	u64 dfr0 = READ_ONCE(vcpu->vm->cpu->idregs[AV_ID_DFR0]);
	bool watch = FIELD_GET(AV_SYS_OP2, reg->enc) >= 6;
	u64 last = watch ? FIELD_GET(AV_ID_DFR0_WRPS, dfr0) : FIELD_GET(AV_ID_DFR0_BRPS, dfr0);

	return FIELD_GET(AV_SYS_CRM, reg->enc) <= last;
}

static bool access_dbg(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (!dbg_exists(vcpu, reg))
		return false;
	if (!write) {
		*val = av_srf_get(vcpu->srf, reg->vreg);
		return true;
	}
	switch (FIELD_GET(AV_SYS_OP2, reg->enc)) {
	case 5:
		av_srf_set(vcpu->srf, reg->vreg, av_dbgbcr_written(*val));
		break;
	case 7:
		av_srf_set(vcpu->srf, reg->vreg, av_dbgwcr_written(*val));
		break;
	default:
		av_srf_set(vcpu->srf, reg->vreg, *val);
		break;
	}
	return true;
}

/* A VMM may change only the lock bit. */
static int set_oslsr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	if ((val ^ OSLSR_OSLM) & ~OSLSR_OSLK)
		return -EINVAL;
	av_srf_set(vcpu->srf, AV_OSLSR_EL1, val);
	return 0;
}

#define DBG_MEM(n, op2, kind)							\
	{ .enc = AV_SYS(2, 0, 0, n, op2), .flags = AV_ROW_ALL, .cls = AV_EXIT_SYSREG,	\
	  .vreg = AV_DBG##kind##0_EL1 + (n), .name = "DBG" #kind #n "_EL1",	\
	  .access = access_dbg }
#define DBG_PAIRS(n) \
	DBG_MEM(n, 4, BVR), DBG_MEM(n, 5, BCR), DBG_MEM(n, 6, WVR), DBG_MEM(n, 7, WCR)

static const struct av_sysreg rows[] = {
	AV_FN(AV_SYS(2, 0, 0, 0, 2), AV_ROW_RW, SYSREG, "OSDTRRX_EL1", raz_wi),
	DBG_PAIRS(0),
	DBG_PAIRS(1),
	AV_MEM(AV_SYS(2, 0, 0, 2, 0), AV_ROW_ALL, SYSREG, MDCCINT_EL1, 0),
	AV_MEM(AV_SYS(2, 0, 0, 2, 2), AV_ROW_ALL, SYSREG, MDSCR_EL1, 0),
	DBG_PAIRS(2),
	AV_FN(AV_SYS(2, 0, 0, 3, 2), AV_ROW_RW, SYSREG, "OSDTRTX_EL1", raz_wi),
	DBG_PAIRS(3),
	DBG_PAIRS(4),
	DBG_PAIRS(5),
	AV_FN(AV_SYS(2, 0, 0, 6, 2), AV_ROW_RW, SYSREG, "OSECCR_EL1", raz_wi),
	DBG_PAIRS(6),
	DBG_PAIRS(7),
	DBG_PAIRS(8),
	DBG_PAIRS(9),
	DBG_PAIRS(10),
	DBG_PAIRS(11),
	DBG_PAIRS(12),
	DBG_PAIRS(13),
	DBG_PAIRS(14),
	DBG_PAIRS(15),
	AV_FN(AV_SYS(2, 0, 1, 0, 0), AV_ROW_READ, SYSREG, "MDRAR_EL1", raz_wi),
	AV_FN(AV_SYS(2, 0, 1, 0, 4), AV_ROW_WRITE, SYSREG, "OSLAR_EL1", access_oslar),
	{ .enc = AV_SYS(2, 0, 1, 1, 4), .flags = AV_ROW_READ | AV_ROW_VMM,
	  .cls = AV_EXIT_SYSREG, .vreg = AV_OSLSR_EL1, .name = "OSLSR_EL1",
	  .reset = OSLSR_OSLM, .set = set_oslsr },
	AV_FN(AV_SYS(2, 0, 1, 3, 4), AV_ROW_RW, SYSREG, "OSDLR_EL1", raz_wi),
	AV_FN(AV_SYS(2, 0, 1, 4, 4), AV_ROW_RW, SYSREG, "DBGPRCR_EL1", raz_wi),
	AV_FN(AV_SYS(2, 0, 7, 8, 6), AV_ROW_RW, SYSREG, "DBGCLAIMSET_EL1", raz_wi),
	AV_FN(AV_SYS(2, 0, 7, 9, 6), AV_ROW_RW, SYSREG, "DBGCLAIMCLR_EL1", raz_wi),
	AV_FN(AV_SYS(2, 0, 7, 14, 6), AV_ROW_READ, SYSREG, "DBGAUTHSTATUS_EL1",
	      access_authstatus),
	AV_FN(AV_SYS(2, 3, 0, 1, 0), AV_ROW_READ | AV_ROW_EL0, SYSREG, "MDCCSR_EL0", access_dcc),
	AV_FN(AV_SYS(2, 3, 0, 4, 0), AV_ROW_RW | AV_ROW_EL0, SYSREG, "DBGDTR_EL0", access_dcc),
	AV_FN(AV_SYS(2, 3, 0, 5, 0), AV_ROW_RW | AV_ROW_EL0, SYSREG, "DBGDTRTX_EL0", access_dcc),
	/* AArch32 at EL1; see also regs_vm.c. */
	AV_MEM(AV_SYS(2, 4, 0, 7, 0), AV_ROW_VMM, SYSREG, DBGVCR32_EL2, 0),
};

const struct av_sysreg_table av_regs_debug = { rows, ARRAY_SIZE(rows) };
