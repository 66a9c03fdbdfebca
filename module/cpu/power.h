/* SPDX-License-Identifier: GPL-2.0 */
/* A vCPU's power state (power.c), for the rest of cpu/. */
#ifndef AV_CPU_POWER_H
#define AV_CPU_POWER_H

#include "cpu/types.h"
#include "vm/vcpu.h"

/* A new vCPU is runnable. */
void av_power_init(struct av_vcpu *vcpu);
bool av_vcpu_stopped(const struct av_vcpu *vcpu);
bool av_vcpu_suspended(const struct av_vcpu *vcpu);

/* Any thread. The vCPU stops before its next entry; the caller requests that. */
void av_power_off(struct av_vcpu *vcpu);
/* Any thread. A stopped vCPU runs from start on. False: it was not stopped. */
bool av_power_on(struct av_vcpu *vcpu, struct av_start start);
/* The vCPU's own thread, at AV_REQ_RESET. */
struct av_start av_power_start(struct av_vcpu *vcpu);

#endif /* AV_CPU_POWER_H */
