/* SPDX-License-Identifier: GPL-2.0 */
/* Code in copies, for the rest of the module. */
#ifndef AV_MMU_CODE_FACE_H
#define AV_MMU_CODE_FACE_H

#include "mmu/base/types.h"
#include "mmu/stub/stub.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

/* Drop all copies: the VMM may have written to the guest's code. May sleep. */
void av_mmu_forget_copies(struct av_vm *vm);

/* A vCPU is reset, maybe with a new kernel: drop copies and stubs. May sleep. */
void av_mmu_forget_code(struct av_vm *vm);

/*
 * Instruction insn of virtual EL1, at va, often traps in a copy: try to replace it with a
 * branch to a stub (mmu/code/annex.h). False: it will go on trapping. May sleep.
 */
bool av_mmu_want_stub(struct av_vcpu *vcpu, u64 va, u32 insn);

/* If PC is in a stub, move it out of the stub. May sleep. */
void av_mmu_settle(struct av_vcpu *vcpu);

static inline bool av_mmu_in_stub(const struct av_vcpu *vcpu)
{
	return vcpu->srf->in_place &&
	       unlikely(vcpu->srf->pc - vcpu->mmu->stubs < AV_STUB_AREA - AV_STUB_FIRST);
}

/* After a stay in the guest: if PC is in a stub, move it before or after the guest's instruction. */
static inline void av_mmu_leave_stub(struct av_vcpu *vcpu)
{
	if (av_mmu_in_stub(vcpu))
		av_mmu_settle(vcpu);
}

/*
 * Did the stub's own code end the last stay in the guest, for example by a fault of its push? The
 * guest's instruction cannot do that. If so, the guest runs without stubs for a while.
 */
bool av_mmu_stub_failed(struct av_vcpu *vcpu);

#endif /* AV_MMU_CODE_FACE_H */
