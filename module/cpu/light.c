// SPDX-License-Identifier: GPL-2.0
/*
 * Light exits: aborts, TLBIs, firmware calls (cpu/calls.h) and writes of a TTBR, answered between
 * two stays in the guest with interrupts off, without the run loop's checks. Anyone who wants the
 * vCPU has sent an IPI, which ends the next stay at once.
 *
 * The guest is entered again in the state the window left, or at the other exception level if the
 * window could have gone there as well (srf->modes).
 */
#include "cpu/calls.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/inject.h"
#include "cpu/insn.h"
#include "cpu/quick.h"
#include "cpu/stay.h"
#include "lib/parts.h"
#include "mmio/match.h"
#include "mmu/mmu.h"
#include "switch/private.h"

/* SYS with op1 0 and CRn 8. */
static bool is_tlbi(u64 insn)
{
	return (insn & ~0xfffULL) == 0xd5088000;
}

static __always_inline bool answer_tlbi(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	u32 insn = srf->insn;

	if (!av_srf_el1(srf) ||
	    !av_mmu_tlbi_light(vcpu, av_insn_sys(insn), av_srf_get_x(srf, av_insn_rt(insn))))
		return false;
	av_count(&vcpu->stats, AV_EXIT_TLBI);
	av_vcpu_skip_insn(vcpu);
	return true;
}

/* MSR TTBR0_EL1 and MSR TTBR1_EL1. */
static bool is_ttbr(u64 insn)
{
	return (insn & ~0x3fULL) == 0xd5182000;
}

/* The window does not know this pair's roots: the process is new, or has not run for a while. */
static noinline bool answer_ttbr(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_entry entry;
	struct av_insn insn;

	if (av_srf_mode(srf) != AV_PSR_EL1H || av_mmu_in_stub(vcpu))
		return false;
	av_mmu_follow(vcpu);
	if (vcpu->mmu->stale)
		return false;
	av_insn_kind(srf->insn, &insn);
	av_srf_set(srf, insn.enc & 1 ? AV_TTBR1_EL1 : AV_TTBR0_EL1,
		   av_srf_get_x(srf, insn.rt));
	if (!av_mmu_load_now(vcpu))
		return false;
	av_mmu_prepare_entry(vcpu, &entry);
	av_switch_set_roots(vcpu->sw, srf, &entry);
	srf->modes = entry.ttbr1[0] ? srf->modes_same : 0;
	av_quick_modes(srf);
	av_count(&vcpu->stats, AV_EXIT_REGIME);
	av_vcpu_skip_insn(vcpu);
	return true;
}

/* Can an exception be taken to virtual EL1 without other shadow trees or controls? */
static bool may_inject(const struct av_srf *srf)
{
	return av_srf_el1(srf) ? av_srf_mode(srf) == AV_PSR_EL1H : srf->modes;
}

static __always_inline bool answer_abort(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	u64 esr = srf->esr;
	u64 done;

	if (av_mmu_in_stub(vcpu))
		return false;
	done = av_mmu_fault_light(vcpu, esr, srf->far, may_inject(srf));
	if (!done)
		return false;
	if (done & AV_LIGHT_INJECT)
		av_take_abort_light(vcpu, av_esr_ec(esr) == AV_EC_IABT_LOW, srf->far,
				    FIELD_GET(AV_LIGHT_ISS, done));
	av_count(&vcpu->stats, FIELD_GET(AV_LIGHT_CLASS, done));
	return true;
}

/* A read that the entry at far does not permit, as it maps a copy of code. */
static bool may_read_code(const struct av_srf *srf)
{
	u64 what = srf->esr & (AV_ESR_FNV | AV_ESR_CM | AV_ESR_S1PTW | AV_ESR_WNR | AV_ESR_FSC);

	return AV_HAS(reading) && what == (AV_FSC_PERMISSION | 3) && av_srf_el1(srf) &&
	       srf->in_place;
}

/* Is the register in the register file? */
static bool has_register(unsigned int n, bool asked)
{
	return !asked || n < 19 || n > 28;
}

/* Is it a load of one register that can be emulated? A tracer's is the same each time. */
static __always_inline const struct av_ldst *load_of(struct av_vcpu_cpu *cpu, u32 insn, bool asked)
{
	const struct av_ldst *ls = &cpu->load;

	if (unlikely(cpu->load_insn != insn)) {
		av_insn_decode(insn, &cpu->load);
		cpu->load_insn = insn;
	}
	return ls->kind == AV_LDST_SINGLE && !ls->ordered &&
	       has_register(ls->rt, asked) && has_register(ls->rn, asked) &&
	       has_register(ls->rm, asked) ? ls : NULL;
}

/* A load of one register from code, which is answered without unmapping the copy. */
static noinline bool answer_load(struct av_vcpu *vcpu, bool asked)
{
	struct av_srf *srf = vcpu->srf;
	const struct av_ldst *ls;
	struct av_code_read read;

	if (!av_mmu_read_code(vcpu, srf->far, &read))
		return false;
	ls = load_of(vcpu->cpu, read.insn, asked);
	if (!ls || av_ldst_match(ls, &vcpu->mmu->regime, srf, srf->esr, srf->far) != AV_MATCH_YES)
		return false;
	av_srf_set_x(srf, ls->rt, av_ldst_extend(ls, read.val));
	av_count(&vcpu->stats, AV_EXIT_DABT_PERM);
	av_stat_inc(&vcpu->stats, AV_EVENT_CODE_READ);
	av_vcpu_skip_insn(vcpu);
	return true;
}

static __always_inline bool answer(struct av_vcpu *vcpu, const struct av_srf *srf, bool asked)
{
	bool light = srf->cheap & AV_CHEAP_LIGHT && (asked || !srf->slow);

	if (!asked && unlikely(srf->exit != AV_EXCEPTION_SYNC))
		return false;
	switch (av_esr_ec(srf->esr)) {
	case AV_EC_IABT_LOW:
		/* Copies of code are found, or made, on the full path only. */
		if (srf->in_place)
			return false;
		fallthrough;
	case AV_EC_DABT_LOW:
		if (light && may_read_code(srf) && !av_mmu_in_stub(vcpu) &&
		    answer_load(vcpu, asked))
			return true;
		/* Most device accesses are declined here or by the window. */
		return light && (asked || !av_mmu_near_device(vcpu, srf->far)) &&
		       answer_abort(vcpu);
	case AV_EC_UNKNOWN:
		if (is_tlbi(srf->insn))
			return light && answer_tlbi(vcpu);
		if (av_exit_is_light(srf))
			return av_smccc_answer_light(vcpu);
		/* The switcher never asks about these: they come from run.c's loop. */
		return !asked && is_ttbr(srf->insn) && light && answer_ttbr(vcpu);
	default:
		return false;
	}
}

/* asked: by the switcher, for synchronous exceptions only and never while srf->slow is set. */
static __always_inline bool light(struct av_vcpu *vcpu, bool asked)
{
	av_stay_ended(vcpu);
	if (likely(answer(vcpu, vcpu->srf, asked)))
		return true;
	vcpu->cpu->declined = true;
	return false;
}

bool av_vcpu_light(struct av_vcpu *vcpu)
{
	if (!light(vcpu, false))
		return false;
	av_stay_begins(vcpu);
	return true;
}

/* Declined, or done under the host's tables. */
static noinline bool lost(struct av_vcpu *vcpu, bool answered)
{
	struct av_private *priv = vcpu->sw->priv;

	priv->nr_lost++;
	if (answered && av_image_missed(priv) && !priv->hopeless) {
		/* Leave, so that the next one does not miss the same. */
		vcpu->srf->exit = AV_EXCEPTION_MISSED;
		vcpu->cpu->declined = true;
		return false;
	}
	return answered;
}

bool av_vcpu_short(void *data)
{
	struct av_vcpu *vcpu = data;
	bool answered;

	av_stat_inc(&vcpu->stats, AV_EVENT_EXIT_SHORT);
	answered = light(vcpu, true);
	if (unlikely(!answered || !vcpu->sw->priv->kept) && !lost(vcpu, answered))
		return false;
	av_stay_begins(vcpu);
	return true;
}
