/* SPDX-License-Identifier: GPL-2.0 */
/* Exceptions into the guest, inlined for light exits: see inject.c. */
#ifndef AV_CPU_INJECT_H
#define AV_CPU_INJECT_H

#include "cpu/cpu.h"
#include "cpu/exception.h"
#include "cpu/quick.h"
#include "stats/stats.h"
#include "stats/trace.h"

/* Returns true if the exception level changed. */
static __always_inline bool av_take_sync(struct av_vcpu *vcpu, u64 esr)
{
	struct av_srf *srf = vcpu->srf;
	bool el1 = av_srf_el1(srf);
	u64 pc = srf->pc;
	u32 offset = av_srf_take_sync(srf, esr);

	av_stat_inc(&vcpu->stats, AV_EVENT_INJECT_SYNC);
	trace_av_inject(vcpu->id, offset, pc, esr, av_srf_get(srf, AV_FAR_EL1));
	return !el1;
}

/* Sets FAR_EL1, returns ESR_EL1. */
static __always_inline u64 av_abort_syndrome(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss)
{
	u64 ec = insn ? AV_EC_IABT_LOW : AV_EC_DABT_LOW;

	av_srf_set(vcpu->srf, AV_FAR_EL1, far);
	return FIELD_PREP(AV_ESR_EC, ec) | AV_ESR_IL | (iss & AV_ESR_ISS);
}

/* av_inject_abort() for a light exit. Call it only where the window could change the level, too. */
static __always_inline void av_take_abort_light(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss)
{
	if (av_take_sync(vcpu, av_abort_syndrome(vcpu, insn, far, iss)))
		av_stat_inc(&vcpu->stats, AV_EVENT_MODE_SWITCH);
	av_quick_el1h(vcpu->srf);
}

#endif /* AV_CPU_INJECT_H */
