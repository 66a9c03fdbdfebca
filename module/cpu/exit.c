// SPDX-License-Identifier: GPL-2.0
/*
 * Dispatch of exits: one table of handlers by exception class. Handlers return as cpu/cpu.h says.
 * The hardware reports every exception as from EL0; the guest must see it from its virtual level.
 */
#include <linux/minmax.h>
#include <linux/ratelimit.h>

#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/exception.h"
#include "cpu/guest_debug.h"
#include "mmu/mmu.h"
#include "stats/stats.h"
#include "vm/token.h"

#define ISS_STEP_ISV		BIT_ULL(24)

/* Inject the hardware's exception: it is the guest's own. */
static int reflect(struct av_vcpu *vcpu)
{
	av_inject_sync(vcpu, vcpu->srf->esr);
	return 1;
}

/* Counters of tokens: READ and WRITE count for their register, others for none or for DAIF. */
#define COUNT_OTHER(name)	AV_FAST_DAIF,
#define COUNT_REGISTER(name)	AV_FAST_##name,
static const u8 counter_of[AV_NR_TOKENS] = {
	AV_TOKENS_ALWAYS(COUNT_OTHER, COUNT_REGISTER, COUNT_REGISTER)
	AV_TOKENS_ROWS(COUNT_OTHER, COUNT_REGISTER, COUNT_REGISTER)
};

/* Sites that trap often cluster: after one is made, sample the next token of this kind soon. */
#define SOON	64

static_assert(SOON % AV_TIME_EVERY == 0, "what is skipped changes no phase");

/*
 * Take the next sample of this kind of token after sample_in[] tokens. That number doubles with
 * each sample that makes no site, so a kind without further sites costs next to nothing. Advancing
 * the counter brings the sample forward; skipped[] corrects the count.
 */
static void choose_next_sample(struct av_vcpu *vcpu, unsigned int counter, bool made)
{
	u16 *in = &vcpu->cpu->sample_in[counter];

	*in = made ? SOON : min(max(2 * *in, SOON), AV_TOKEN_SAMPLE);
	/* In between, a reader sees too high a count. */
	vcpu->srf->fast[counter] += AV_TOKEN_SAMPLE - *in;
	vcpu->stats.skipped[counter] += AV_TOKEN_SAMPLE - *in;
}

/*
 * A sampled token. The window has counted it as done: emulate it uncounted, and request a stub for
 * its site.
 */
static int handle_sample(struct av_vcpu *vcpu)
{
	u32 op = av_token_of(vcpu->srf->esr) / AV_TOKEN_OPERANDS;
	u64 pc;
	int ret;

	op = array_index_nospec(op, AV_NR_TOKENS);
	av_from_token(vcpu->srf);
	pc = vcpu->srf->pc;
	ret = av_handle_unknown(vcpu);
	av_uncount(&vcpu->stats);
	if (READ_ONCE(vcpu->vm->cpu->cheap) & AV_CHEAP_STUBS)
		choose_next_sample(vcpu, counter_of[op],
				   av_mmu_want_stub(vcpu, pc, vcpu->srf->insn));
	return ret;
}

static int reflect_svc(struct av_vcpu *vcpu)
{
	if (unlikely(vcpu->srf->in_place && av_token_of(vcpu->srf->esr) < AV_TOKENS))
		return handle_sample(vcpu);
	av_count(&vcpu->stats, AV_EXIT_SVC);
	return reflect(vcpu);
}

static int reflect_undef(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_UNDEF);
	av_inject_undef(vcpu);
	return 1;
}

static int reflect_align(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_ALIGN);
	/* A stub's push or pop through SP failed: the guest's own instruction makes no access. */
	if (av_mmu_stub_failed(vcpu))
		return 1;
	av_srf_set(vcpu->srf, AV_FAR_EL1, vcpu->srf->far);
	return reflect(vcpu);
}

static int reflect_fp_exception(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_OTHER);
	return reflect(vcpu);
}

/* A VMM that debugs its guest gets all debug exceptions. */
static int reflect_debug(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_DEBUG);
	if (unlikely(vcpu->cpu->guest_debug))
		return av_guest_debug_exit(vcpu);
	return reflect(vcpu);
}

/*
 * The step exception for an emulated instruction comes at the next entry, with nothing executed and
 * so ISV 0. Set ISV: the guest did step an instruction.
 */
static int reflect_step(struct av_vcpu *vcpu)
{
	if (vcpu->cpu->step_emulated)
		vcpu->srf->esr |= ISS_STEP_ISV;
	vcpu->cpu->step_emulated = false;
	return reflect_debug(vcpu);
}

static int reflect_watchpoint(struct av_vcpu *vcpu)
{
	if (likely(!vcpu->cpu->guest_debug))
		av_srf_set(vcpu->srf, AV_FAR_EL1, vcpu->srf->far);
	return reflect_debug(vcpu);
}

static int handle_fp(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_FP);
	if (!av_srf_fp_allowed(vcpu->srf))
		return reflect(vcpu);
	vcpu->cpu->fp_wanted = true;
	return 1;
}

/*
 * SVE. The guest's CPU lacks it, as under KVM: UNDEFINED, where CPACR_EL1 does not trap it, which
 * comes first.
 */
static int handle_sve(struct av_vcpu *vcpu)
{
	bool permitted = av_srf_cpacr_permits(vcpu->srf, AV_CPACR_ZEN_LSB);

	if (permitted && av_srf_fp_allowed(vcpu->srf))
		return reflect_undef(vcpu);
	av_count(&vcpu->stats, AV_EXIT_FP);
	av_inject_sync(vcpu, permitted ? AV_ESR_FP : vcpu->srf->esr);
	return 1;
}

/* SME: the same; FPEN does not trap SMSTART and SMSTOP. */
static int handle_sme(struct av_vcpu *vcpu)
{
	if (av_srf_cpacr_permits(vcpu->srf, AV_CPACR_SMEN_LSB))
		return reflect_undef(vcpu);
	av_count(&vcpu->stats, AV_EXIT_FP);
	return reflect(vcpu);
}

typedef int (*exit_handler)(struct av_vcpu *vcpu);

static const exit_handler handlers[64] = {
	[AV_EC_UNKNOWN]		= av_handle_unknown,
	[AV_EC_WFX]		= av_handle_wfx,
	[AV_EC_FP]		= handle_fp,
	[0x0d]			= reflect_undef,	/* BTI, hidden from the guest */
	[AV_EC_SVC64]		= reflect_svc,
	[AV_EC_SYS64]		= av_handle_sys64,
	[AV_EC_SVE]		= handle_sve,
	[AV_EC_SME]		= handle_sme,
	[AV_EC_IABT_LOW]	= av_handle_abort,
	[AV_EC_DABT_LOW]	= av_handle_abort,
	[AV_EC_PC_ALIGN]	= reflect_align,
	[AV_EC_SP_ALIGN]	= reflect_align,
	[AV_EC_FP_EXC64]	= reflect_fp_exception,
	[AV_EC_BREAKPT_LOW]	= reflect_debug,
	[AV_EC_SOFTSTP_LOW]	= reflect_step,
	[AV_EC_WATCHPT_LOW]	= reflect_watchpoint,
	[AV_EC_BRK64]		= reflect_debug,
};

static int handle_sync(struct av_vcpu *vcpu)
{
	exit_handler handler = handlers[av_esr_ec(vcpu->srf->esr)];

	/* The guest's CPU lacks this class's feature: UNDEFINED, as under KVM. */
	return handler ? handler(vcpu) : reflect_undef(vcpu);
}

/* Exits of the window itself. Not inlined, to keep the dispatch of frequent exits short. */
static noinline int handle_window(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;

	if (srf->exit == AV_EXCEPTION_LOG) {
		/* It is taken before the next entry. */
		av_count(&vcpu->stats, AV_EXIT_OTHER);
		return 1;
	}
	pr_err_ratelimited("armvisor: exception in the window: ESR %#llx FAR %#llx PC %#llx\n",
			   srf->esr, srf->far, srf->pc);
	return av_vm_kill(vcpu, "the world switch took an exception (ESR %#llx, FAR %#llx, PC %#llx); please report it",
			  srf->esr, srf->far, srf->pc);
}

int av_handle_exit(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;

	switch (srf->exit) {
	case AV_EXCEPTION_SYNC:
		return handle_sync(vcpu);
	case AV_EXCEPTION_IRQ:
	case AV_EXCEPTION_FIQ:
		/* The host took the interrupt when interrupts were enabled. */
		av_count(&vcpu->stats, AV_EXIT_IRQ);
		av_vcpu_look_around(vcpu);
		return 1;
	case AV_EXCEPTION_SERROR:
		/*
		 * SErrors are masked while the guest runs: the machine cannot have raised this one.
		 */
		av_count(&vcpu->stats, AV_EXIT_SERROR);
		return av_vm_kill(vcpu, "an SError (ESR %#llx) came while SErrors were masked",
				  srf->esr);
	case AV_EXCEPTION_MISSED:
		return 1;
	default:
		return handle_window(vcpu);
	}
}
