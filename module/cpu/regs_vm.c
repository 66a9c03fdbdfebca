// SPDX-License-Identifier: GPL-2.0
/* Registers of EL1 proper: translation, exceptions, thread IDs, the GIC's CPU interface. */
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "irq/vgic.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

/* Reset value of SCTLR_EL1 as in KVM: the bits that are RES1 without later extensions. */
#define SCTLR_RESET	0x00c50078
/* Reset value of FPEXC32_EL2 as in KVM: its RES1 bits. */
#define FPEXC32_RESET	0x700
/* TCR_EL1 bits that guests cannot set: hardware access flag, dirty state, LPA2. */
#define TCR_HA_HD_DS	(BIT_ULL(39) | BIT_ULL(40) | BIT_ULL(59))

/* A register of the translation regime: the next entry loads other shadow trees. */
static bool access_regime(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	u64 old = av_srf_get(vcpu->srf, reg->vreg);

	if (!write) {
		*val = old;
		return true;
	}
	if (old == *val)
		return true;
	av_srf_set(vcpu->srf, reg->vreg, *val);
	av_mmu_regime_changed(vcpu);
	return true;
}

/* A TTBR: mmu/ finds the shadow trees of the new pair. */
static bool access_ttbr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (!write) {
		*val = av_srf_get(vcpu->srf, reg->vreg);
		return true;
	}
	av_srf_set(vcpu->srf, reg->vreg, *val);
	av_mmu_ttbr_changed(vcpu);
	return true;
}

static bool access_tcr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (write)
		*val &= ~TCR_HA_HD_DS;
	return access_regime(vcpu, reg, write, val);
}

static bool access_sctlr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (write && *val & AV_SCTLR_EE) {
		av_vm_kill(vcpu, "the guest switched to big-endian, which is not supported");
		return true;
	}
	return access_regime(vcpu, reg, write, val);
}

static int set_regime(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	access_regime(vcpu, reg, true, &val);
	return 0;
}

static bool access_sp_el0(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return av_reg_SP_EL0(vcpu->srf, write, val);
}

static bool access_spsel(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return av_reg_SPSEL(vcpu->srf, write, val);
}

static bool access_currentel(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write,
			     u64 *val)
{
	return av_reg_CURRENTEL(vcpu->srf, write, val);
}

static bool access_daif(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	struct av_srf *srf = vcpu->srf;

	/* SCTLR_EL1.UMA allows virtual EL0 the access. */
	if (!av_srf_el1(srf) && !(av_srf_get(srf, AV_SCTLR_EL1) & AV_SCTLR_UMA))
		return false;
	return av_reg_DAIF(srf, write, val);
}

/* ISR_EL1: pending exceptions, masked or not. */
static bool access_isr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	unsigned int out = av_irq_pending(vcpu);

	*val = (out & AV_VGIC_IRQ ? AV_PSR_I : 0) | (out & AV_VGIC_FIQ ? AV_PSR_F : 0) |
	       (vcpu->cpu->serror_pending ? AV_PSR_A : 0);
	return true;
}

static bool access_icc(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return av_icc_access(vcpu, reg->enc, write, val);
}

#define FAST_REGIME(reg_, access_)						\
	{ .enc = AV_FAST_SYS_##reg_, .flags = AV_FAST_FLAGS_##reg_,			\
	  .cls = AV_FAST_CLS_##reg_, .vreg = AV_##reg_, .name = #reg_,			\
	  .access = access_, .set = set_regime }
#define REGIME(sys, reg_, reset_, access_)					\
	{ .enc = sys, .flags = AV_ROW_ALL, .cls = AV_EXIT_REGIME, .vreg = AV_##reg_,	\
	  .name = #reg_, .reset = reset_, .access = access_, .set = set_regime }
#define ICC(crn, crm, op2, flags_, name_) \
	AV_FN(AV_SYS(3, 0, crn, crm, op2), flags_, GIC_REG, name_, access_icc)

static const struct av_sysreg rows[] = {
	REGIME(AV_SYS(3, 0, 1, 0, 0), SCTLR_EL1, SCTLR_RESET, access_sctlr),
	AV_MEM(AV_SYS(3, 0, 1, 0, 1), AV_ROW_ALL, SYSREG, ACTLR_EL1, 0),
	AV_MEM(AV_SYS(3, 0, 1, 0, 2), AV_ROW_ALL, SYSREG, CPACR_EL1, 0),
	FAST_REGIME(TTBR0_EL1, access_ttbr),
	FAST_REGIME(TTBR1_EL1, access_ttbr),
	FAST_REGIME(TCR_EL1, access_tcr),
	AV_FAST_MEM(SPSR_EL1),
	AV_FAST_MEM(ELR_EL1),
	AV_FAST_FN(SP_EL0, access_sp_el0),
	AV_FAST_FN(SPSEL, access_spsel),
	AV_FAST_FN(CURRENTEL, access_currentel),
	ICC(4, 6, 0, AV_ROW_RW, "ICC_PMR_EL1"),
	AV_MEM(AV_SYS(3, 0, 5, 1, 0), AV_ROW_ALL, SYSREG, AFSR0_EL1, 0),
	AV_MEM(AV_SYS(3, 0, 5, 1, 1), AV_ROW_ALL, SYSREG, AFSR1_EL1, 0),
	AV_FAST_MEM(ESR_EL1),
	AV_FAST_MEM(FAR_EL1),
	AV_FAST_MEM(PAR_EL1),
	REGIME(AV_SYS(3, 0, 10, 2, 0), MAIR_EL1, 0, access_regime),
	AV_MEM(AV_SYS(3, 0, 10, 3, 0), AV_ROW_ALL, SYSREG, AMAIR_EL1, 0),
	AV_FAST_MEM(VBAR_EL1),
	AV_FN(AV_SYS(3, 0, 12, 1, 0), AV_ROW_READ, EXC_REG, "ISR_EL1", access_isr),
	/* RAS, which the guest does not have: for the VMM only, as in KVM. */
	AV_MEM(AV_SYS(3, 0, 12, 1, 1), AV_ROW_VMM, SYSREG, DISR_EL1, 0),
	ICC(12, 8, 0, AV_ROW_READ, "ICC_IAR0_EL1"),
	ICC(12, 8, 1, AV_ROW_WRITE, "ICC_EOIR0_EL1"),
	ICC(12, 8, 2, AV_ROW_READ, "ICC_HPPIR0_EL1"),
	ICC(12, 8, 3, AV_ROW_RW, "ICC_BPR0_EL1"),
	ICC(12, 8, 4, AV_ROW_RW, "ICC_AP0R0_EL1"),
	ICC(12, 8, 5, AV_ROW_RW, "ICC_AP0R1_EL1"),
	ICC(12, 8, 6, AV_ROW_RW, "ICC_AP0R2_EL1"),
	ICC(12, 8, 7, AV_ROW_RW, "ICC_AP0R3_EL1"),
	ICC(12, 9, 0, AV_ROW_RW, "ICC_AP1R0_EL1"),
	ICC(12, 9, 1, AV_ROW_RW, "ICC_AP1R1_EL1"),
	ICC(12, 9, 2, AV_ROW_RW, "ICC_AP1R2_EL1"),
	ICC(12, 9, 3, AV_ROW_RW, "ICC_AP1R3_EL1"),
	ICC(12, 11, 1, AV_ROW_WRITE, "ICC_DIR_EL1"),
	ICC(12, 11, 3, AV_ROW_READ, "ICC_RPR_EL1"),
	ICC(12, 11, 5, AV_ROW_WRITE, "ICC_SGI1R_EL1"),
	ICC(12, 11, 6, AV_ROW_WRITE, "ICC_ASGI1R_EL1"),
	ICC(12, 11, 7, AV_ROW_WRITE, "ICC_SGI0R_EL1"),
	ICC(12, 12, 0, AV_ROW_READ, "ICC_IAR1_EL1"),
	ICC(12, 12, 1, AV_ROW_WRITE, "ICC_EOIR1_EL1"),
	ICC(12, 12, 2, AV_ROW_READ, "ICC_HPPIR1_EL1"),
	ICC(12, 12, 3, AV_ROW_RW, "ICC_BPR1_EL1"),
	ICC(12, 12, 4, AV_ROW_RW, "ICC_CTLR_EL1"),
	ICC(12, 12, 5, AV_ROW_RW, "ICC_SRE_EL1"),
	ICC(12, 12, 6, AV_ROW_RW, "ICC_IGRPEN0_EL1"),
	ICC(12, 12, 7, AV_ROW_RW, "ICC_IGRPEN1_EL1"),
	AV_FAST_MEM(CONTEXTIDR_EL1),
	AV_FAST_MEM(TPIDR_EL1),
	AV_FAST_FN(DAIF, access_daif),
	/* Thread ID registers of EL0, in hardware while the guest runs. EL1 writes TPIDRRO_EL0. */
	AV_FAST_MEM(TPIDR_EL0),
	AV_FAST_MEM(TPIDRRO_EL0),
	/* AArch32 registers of EL1. KVM shows them to every VMM, whatever the guest is. */
	AV_MEM(AV_SYS(3, 4, 3, 0, 0), AV_ROW_VMM, SYSREG, DACR32_EL2, 0),
	AV_MEM(AV_SYS(3, 4, 5, 0, 1), AV_ROW_VMM, SYSREG, IFSR32_EL2, 0),
	AV_MEM(AV_SYS(3, 4, 5, 3, 0), AV_ROW_VMM, SYSREG, FPEXC32_EL2, FPEXC32_RESET),
};

const struct av_sysreg_table av_regs_vm = { rows, ARRAY_SIZE(rows) };
