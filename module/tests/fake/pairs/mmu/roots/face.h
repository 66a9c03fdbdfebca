/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_FAKE_ROOTS_FACE_H
#define AV_TESTS_FAKE_ROOTS_FACE_H

#include "fake.h"

int av_mmu_load(struct av_vcpu *vcpu);
bool av_mmu_load_now(struct av_vcpu *vcpu);
void av_mmu_follow_window(struct av_vcpu *vcpu, int el);

#endif /* AV_TESTS_FAKE_ROOTS_FACE_H */
