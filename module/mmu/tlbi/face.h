/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's TLBIs, for the rest of the module. */
#ifndef AV_MMU_TLBI_FACE_H
#define AV_MMU_TLBI_FACE_H

#include <linux/types.h>

struct av_vcpu;

/*
 * A trapped TLBI: sys is its encoding (AV_SYS()), xt its operand. May sleep. False: not a TLBI
 * of EL1 that this CPU has, inject UNDEF.
 */
bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* The same at a light exit, with interrupts off. False: use av_mmu_tlbi(). */
bool av_mmu_tlbi_light(struct av_vcpu *vcpu, u32 sys, u64 xt);

#endif /* AV_MMU_TLBI_FACE_H */
