// SPDX-License-Identifier: GPL-2.0
/* The guest's translation regime, from the vCPU's registers. */
#include "mmu/base/base.h"
#include "mmu/base/regime.h"

void av_vcpu_regime(struct av_vcpu *vcpu, struct av_regime *regime)
{
	const struct av_srf *srf = vcpu->srf;

	*regime = (struct av_regime) {
		.sctlr = av_srf_get(srf, AV_SCTLR_EL1),
		.tcr = av_srf_get(srf, AV_TCR_EL1),
		.ttbr0 = av_srf_get(srf, AV_TTBR0_EL1),
		.ttbr1 = av_srf_get(srf, AV_TTBR1_EL1),
		.mair = av_srf_get(srf, AV_MAIR_EL1),
		.ipa_bits = vcpu->vm->pa_bits,
	};
}

void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->regimes++;
	vcpu->mmu->stale |= AV_STALE_REGS;
	/* With the MMU off, one tree serves all regimes: its serial does not distinguish them. */
	vcpu->mmu->device.serial = 0;
}

void av_mmu_ttbr_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale |= AV_STALE_REGS;
}

void av_mmu_mode_changed(struct av_vcpu *vcpu)
{
	vcpu->mmu->stale |= AV_STALE_MODE;
}
