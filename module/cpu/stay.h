/* SPDX-License-Identifier: GPL-2.0 */
/* Statistics and trace events for start and end of a stay in the guest. Interrupts are off. */
#ifndef AV_CPU_STAY_H
#define AV_CPU_STAY_H

#include "stats/stats.h"
#include "stats/trace.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

static __always_inline void av_stay_begins(struct av_vcpu *vcpu)
{
	trace_av_entry(vcpu->id, vcpu->srf->pc, av_srf_vpstate(vcpu->srf));
	av_stats_enter(&vcpu->stats);
}

static __always_inline void av_stay_ended(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;

	av_stats_exit(&vcpu->stats);
	trace_av_exit(vcpu->id, srf->exit, srf->pc, srf->esr, srf->far);
}

#endif /* AV_CPU_STAY_H */
