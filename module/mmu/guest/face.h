/* SPDX-License-Identifier: GPL-2.0 */
/* Reading by the guest's tables, for the rest of the module. */
#ifndef AV_MMU_GUEST_FACE_H
#define AV_MMU_GUEST_FACE_H

#include "vm/answer.h"

struct av_vcpu;

/*
 * Fetch the instruction at va as the guest's current mode would. False: it cannot be fetched, and
 * *answer has the action to take. May sleep.
 */
bool av_mmu_fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn, struct av_answer *answer);

/* A trapped AT S1E{0,1}{R,W}: *par is the new PAR_EL1. 0 or a negative errno. May sleep. */
int av_mmu_at(struct av_vcpu *vcpu, u32 sys, u64 va, u64 *par);

#endif /* AV_MMU_GUEST_FACE_H */
