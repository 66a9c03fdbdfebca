// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions into the guest. cpu/exception.c has the pure part; this file
 * updates statistics and tells the other folders.
 */
#include <linux/kvm.h>

#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/inject.h"
#include "irq/irq.h"
#include "irq/vgic.h"
#include "mmu/mmu.h"
#include "stats/stats.h"
#include "stats/trace.h"

void av_vcpu_mode_changed(struct av_vcpu *vcpu)
{
	av_stat_inc(&vcpu->stats, AV_EVENT_MODE_SWITCH);
	av_mmu_mode_changed(vcpu);
}

void av_inject_sync(struct av_vcpu *vcpu, u64 esr)
{
	if (av_take_sync(vcpu, esr))
		av_vcpu_mode_changed(vcpu);
}

void av_inject_abort(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss)
{
	av_inject_sync(vcpu, av_abort_syndrome(vcpu, insn, far, iss));
}

void av_inject_undef(struct av_vcpu *vcpu)
{
	av_inject_sync(vcpu, FIELD_PREP(AV_ESR_EC, AV_EC_UNKNOWN) | AV_ESR_IL);
}

void av_inject_serror(struct av_vcpu *vcpu, u64 iss)
{
	vcpu->cpu->serror_pending = true;
	vcpu->cpu->serror_iss = iss & AV_ESR_ISS;
}

static void inject_async(struct av_vcpu *vcpu, u32 vector)
{
	struct av_srf *srf = vcpu->srf;
	bool el1 = av_srf_el1(srf);
	u64 pc = srf->pc;
	u32 offset = av_srf_take(srf, vector);

	trace_av_inject(vcpu->id, offset, pc, av_srf_get(srf, AV_ESR_EL1), 0);
	if (!el1)
		av_vcpu_mode_changed(vcpu);
}

static bool serror_due(const struct av_vcpu *vcpu)
{
	return vcpu->cpu->serror_pending && !(av_srf_daif(vcpu->srf) & AV_PSR_A);
}

/* The interrupt lines in out that PSTATE does not mask. */
static unsigned int unmasked(const struct av_vcpu *vcpu, unsigned int out)
{
	u64 daif = av_srf_daif(vcpu->srf);

	if (daif & AV_PSR_I)
		out &= ~AV_VGIC_IRQ;
	if (daif & AV_PSR_F)
		out &= ~AV_VGIC_FIQ;
	return out;
}

bool av_inject_due(struct av_vcpu *vcpu)
{
	unsigned int out = av_irq_pending(vcpu);
	struct av_srf *srf = vcpu->srf;
	u64 due = 0;

	if (out & AV_VGIC_IRQ)
		due |= AV_PSR_I;
	if (out & AV_VGIC_FIQ)
		due |= AV_PSR_F;
	if (vcpu->cpu->serror_pending)
		due |= AV_PSR_A;
	srf->due = due | (av_srf_offered(srf) ? AV_PSR_I : 0);
	return due & ~av_srf_daif(srf) || srf->vmode & AV_PSR_IL;
}

void av_inject_offer(struct av_vcpu *vcpu)
{
	if (vcpu->srf->cheap & AV_CHEAP_ROWS && !vcpu->srf->slow)
		av_irq_offer(vcpu);
}

void av_inject_pending(struct av_vcpu *vcpu)
{
	unsigned int irq;

	if (serror_due(vcpu)) {
		vcpu->cpu->serror_pending = false;
		av_srf_set(vcpu->srf, AV_ESR_EL1, FIELD_PREP(AV_ESR_EC, AV_EC_SERROR) |
						  AV_ESR_IL | vcpu->cpu->serror_iss);
		av_stat_inc(&vcpu->stats, AV_EVENT_INJECT_SERROR);
		inject_async(vcpu, AV_VECTOR_SERROR);
		return;
	}
	irq = unmasked(vcpu, av_irq_pending(vcpu));
	if (irq) {
		av_stat_inc(&vcpu->stats, AV_EVENT_INJECT_IRQ);
		inject_async(vcpu, irq & AV_VGIC_FIQ ? AV_VECTOR_FIQ : AV_VECTOR_IRQ);
		if (irq == AV_VGIC_IRQ && vcpu->srf->cheap & AV_CHEAP_ROWS && !vcpu->srf->slow)
			av_irq_offer(vcpu);
		return;
	}
	/* Set by an illegal ERET: the next instruction takes this exception. */
	if (vcpu->srf->vmode & AV_PSR_IL)
		av_inject_sync(vcpu, FIELD_PREP(AV_ESR_EC, AV_EC_ILLEGAL) | AV_ESR_IL);
}
