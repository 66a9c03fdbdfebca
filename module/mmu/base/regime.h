/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's translation regime. */
#ifndef AV_MMU_REGIME_H
#define AV_MMU_REGIME_H

struct av_regime;
struct av_vcpu;

/* Fill in the regime from the vCPU's registers. */
void av_vcpu_regime(struct av_vcpu *vcpu, struct av_regime *regime);

/*
 * Call after a change of SCTLR_EL1, TCR_EL1 or MAIR_EL1; of a TTBR; of the virtual exception
 * level. Cheap: the next av_mmu_load() does the work.
 */
void av_mmu_regime_changed(struct av_vcpu *vcpu);
void av_mmu_ttbr_changed(struct av_vcpu *vcpu);
void av_mmu_mode_changed(struct av_vcpu *vcpu);

#endif /* AV_MMU_REGIME_H */
