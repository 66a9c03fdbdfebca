/* SPDX-License-Identifier: GPL-2.0 */
/* The guest's aborts, for the rest of the module. */
#ifndef AV_MMU_FAULT_FACE_H
#define AV_MMU_FAULT_FACE_H

#include "mmu/base/types.h"
#include "vm/answer.h"
#include "vm/vcpu.h"

/*
 * An instruction or data abort from the guest (EC 0x20, 0x24), with ESR_EL1 and FAR_EL1 as the
 * hardware set them. May sleep.
 */
void av_mmu_fault(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer);

/* Is far in the page of the last device access? */
static inline bool av_mmu_near_device(const struct av_vcpu *vcpu, u64 far)
{
	return av_device_near(&vcpu->mmu->device, far);
}

/* An answer to resume or, with INJECT, to inject an abort. */
#define AV_LIGHT_DONE		BIT_ULL(0)		/* there is an answer */
#define AV_LIGHT_INJECT		BIT_ULL(1)
#define AV_LIGHT_CLASS		GENMASK_ULL(15, 8)	/* enum av_exit_class */
#define AV_LIGHT_ISS		GENMASK_ULL(63, 32)

/*
 * av_mmu_fault() at a light exit, with interrupts off. 0: not possible, use av_mmu_fault().
 * Aborts are injected only with may_inject.
 */
u64 av_mmu_fault_light(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject);

/*
 * At a light exit: virtual EL1 has read far, and that is code which it runs from a copy, like the
 * instruction that reads. Get the instruction, and the 8 bytes at far (bytes behind the end of its
 * page are 0). False: it is something else, or not known at once.
 */
struct av_code_read {
	u32 insn;
	u64 val;
};
bool av_mmu_read_code(struct av_vcpu *vcpu, u64 far, struct av_code_read *read);

#endif /* AV_MMU_FAULT_FACE_H */
