/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time of a vCPU's that is nobody's work: idle, and away while its thread waits for a
 * CPU. Both are taken out of the exit that is handled (stats/account.h). By the
 * vCPU's own thread, where it may sleep.
 */
#ifndef AV_CPU_AWAY_H
#define AV_CPU_AWAY_H

#include "stats/stats.h"
#include "vm/vcpu.h"

/* With accounting, what the thread has waited since this was last asked. */
void av_away_take(struct av_vcpu *vcpu);

/* It was idle, and is not any more; begun is what av_idle_begins() returned. */
u64 av_idle_begins(struct av_vcpu *vcpu);
void av_idle_ends(struct av_vcpu *vcpu, u64 begun);

#endif /* AV_CPU_AWAY_H */
