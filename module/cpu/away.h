/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A vCPU's time without work: idle, or away while its thread waits for a CPU. Both are subtracted
 * from the exit being handled (stats/account.h). Called by the vCPU's thread where it may sleep.
 */
#ifndef AV_CPU_AWAY_H
#define AV_CPU_AWAY_H

#include "stats/stats.h"
#include "vm/vcpu.h"

/*
 * If accounting is on: account the thread's wait for a CPU since the last call, and the times of
 * fast traps in the last stay.
 */
void av_away_take(struct av_vcpu *vcpu);

/* Around an idle period; pass begin's return value to end. */
u64 av_idle_begins(struct av_vcpu *vcpu);
void av_idle_ends(struct av_vcpu *vcpu, u64 begun);

#endif /* AV_CPU_AWAY_H */
