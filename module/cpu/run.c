// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_RUN's loop.
 *
 * 1. Anything that ends or changes the run: signals, requests, power state.
 * 2. An interrupt that is due changes the register file: vector, mode. The guest
 *    is offered its acknowledgement (irq/irq.h).
 * 3. The shadow trees of the resulting mode (may sleep).
 * 4. Interrupts off. in_guest is set, then requests, interrupts, signals are
 *    looked at once more: whoever raises one after this look sees in_guest and
 *    sends an interrupt, which ends the stay in the guest as soon as it began.
 * 5. Into the guest and back, with the host's interrupts taken as exits. An exit
 *    that needs nothing but an answer gets it here: whoever wants the vCPU
 *    meanwhile has sent an interrupt, which ends the next stay as it begins.
 * 6. Interrupts on: here the host takes the one that brought us back.
 * 7. The vGIC learns what the guest has done of that offer in the window, or the
 *    offer is taken back. Then the exit is handled with everything allowed.
 *
 * Work of the host's on return to user space (TIF_NOTIFY_RESUME: task work,
 * memory.high throttling) waits for the next exit to the VMM; urgent work comes
 * as a signal.
 */
#include <linux/kvm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "compat/kvm_run.h"
#include "cpu/away.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/debug_load.h"
#include "cpu/exception.h"
#include "cpu/fast.h"
#include "cpu/guest_debug.h"
#include "cpu/hwdebug.h"
#include "cpu/pmu_host.h"
#include "cpu/quick.h"
#include "cpu/stay.h"
#include "cpu/steal.h"
#include "irq/irq.h"
#include "mmu/mmu.h"
#include "switch/private.h"
#include "switch/switch.h"

static int interrupted(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_SIGNAL);
	/* The machine may sleep now, and the hrtimer's clock with it. */
	WRITE_ONCE(vcpu->irq->recheck, true);
	vcpu->run->exit_reason = KVM_EXIT_INTR;
	return -EINTR;
}

/* >0: on into the guest; else leave. */
static int handle_requests(struct av_vcpu *vcpu)
{
	if (!READ_ONCE(vcpu->requests))
		return 1;
	if (av_vcpu_take_request(vcpu, AV_REQ_VM_DEAD))
		return av_vcpu_exit_dead(vcpu);
	av_vcpu_load_start(vcpu);
	av_vcpu_take_request(vcpu, AV_REQ_SLEEP);
	av_vcpu_take_request(vcpu, AV_REQ_IRQ);
	if (av_vcpu_take_request(vcpu, AV_REQ_PMU))
		av_pmu_update_line(vcpu);
	if (av_vcpu_take_request(vcpu, AV_REQ_CALLS))
		av_smccc_show_window(vcpu);
	/* A signal comes first, as under KVM. */
	if (!signal_pending(current) && av_mmu_ring_full(vcpu)) {
		vcpu->run->exit_reason = KVM_EXIT_DIRTY_RING_FULL;
		return 0;
	}
	return 1;
}

/*
 * May virtual EL1 run from copies? Not with SP_EL0 as its stack pointer, which
 * must be the kernel's own word; nor under a debugger, which writes breakpoints
 * into the code itself; nor while the guest debugs itself, as its breakpoints
 * depend on PSTATE.D, which stubs change without a trap.
 */
static bool may_copy(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->vm->cpu->cheap) & AV_CHEAP_COPIES && !vcpu->cpu->guest_debug &&
	       !av_srf_debugging(vcpu->srf) && av_srf_mode(vcpu->srf) != AV_PSR_EL1T;
}

/* Another interrupt has come, which the guest is to acknowledge first. */
static bool offer_is_over(struct av_vcpu *vcpu)
{
	return unlikely(av_srf_offered(vcpu->srf)) && av_irq_pending(vcpu);
}

/* av_inject_due(), asked twice an entry: most often nothing waits. */
static __always_inline bool inject_due(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;

	if (av_irq_pending(vcpu) || vcpu->cpu->serror_pending || srf->vmode & AV_PSR_IL ||
	    av_srf_offered(srf))
		return av_inject_due(vcpu);
	srf->due = 0;
	return false;
}

static int before_entry(struct av_vcpu *vcpu)
{
	int ret;

	/*
	 * A quiescent state for RCU, which has sent an interrupt, or had one from the
	 * tick, where it waits for one.
	 */
	if (need_resched())
		schedule();
	else if (vcpu->srf->exit == AV_EXCEPTION_IRQ)
		cond_resched();
	for (;;) {
		ret = handle_requests(vcpu);
		if (ret <= 0)
			return ret;
		if (signal_pending(current))
			return interrupted(vcpu);
		if (likely(READ_ONCE(vcpu->cpu->mp_state) == KVM_MP_STATE_RUNNABLE))
			break;
		if (av_vcpu_stopped(vcpu)) {
			av_vcpu_wait_started(vcpu);
		} else if (av_vcpu_suspended(vcpu)) {
			ret = av_vcpu_wait_woken(vcpu);
			if (ret <= 0)
				return ret;
		}
	}
	if (unlikely(av_steal_has(vcpu)))
		av_steal_update(vcpu);
	if (av_stats_accounting())
		av_away_take(vcpu);
	if (offer_is_over(vcpu))
		av_irq_settle(vcpu);
	if (inject_due(vcpu))
		av_inject_pending(vcpu);
	av_mmu_want(vcpu, may_copy(vcpu), READ_ONCE(vcpu->vm->cpu->cheap) & AV_CHEAP_ROOTS);
	return unlikely(vcpu->mmu->stale) ? av_mmu_load(vcpu) ?: 1 : 1;
}

/* With interrupts off: has anything come up since before_entry()? */
static bool must_wait(struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->requests) || need_resched() || signal_pending(current) ||
	       inject_due(vcpu) || offer_is_over(vcpu);
}

static unsigned int stay_flags(struct av_vcpu *vcpu, bool fp)
{
	unsigned int how = (fp ? AV_STAY_FP : 0) | vcpu->cpu->pmu_stay;

	if (vcpu->cpu->alone)
		how |= AV_STAY_WFE_RUNS;
	if (READ_ONCE(vcpu->vm->irq->cnt_offset[AV_TIMER_VIRT]))
		how |= AV_STAY_COUNTER_TRAPS;
	if (READ_ONCE(vcpu->vm->cpu->ctr_traps))
		how |= AV_STAY_CTR_TRAPS;
	if (unlikely(vcpu->cpu->guest_debug))
		return how | av_guest_debug_stay(vcpu);
	/* A guest that debugs itself is slow: av_fast_not_now(). */
	if (likely(!vcpu->srf->slow))
		return how;
	if (av_srf_stepping(vcpu->srf))
		how |= AV_STAY_STEPPING;
	if (av_srf_matching(vcpu->srf))
		how |= AV_STAY_MATCHING;
	return how;
}

/* Most exits to devices are looked at no further here. */
static __always_inline bool is_devices(const struct av_vcpu *vcpu, const struct av_srf *srf)
{
	return srf->exit == AV_EXCEPTION_SYNC && av_esr_ec(srf->esr) == AV_EC_DABT_LOW &&
	       av_mmu_near_device(vcpu, srf->far);
}

/*
 * Answer light exits and enter the guest again as the window left it. Those that the
 * switcher has not asked about come here: of calls that the window did not know for
 * such, and all where srf->light is 0.
 */
static void stay_and_answer(struct av_vcpu *vcpu, const struct av_entry *entry)
{
	vcpu->cpu->declined = false;
	av_switch_run(vcpu->vm->sw, vcpu->sw, vcpu->srf, entry);
	while (!vcpu->cpu->declined) {
		if (is_devices(vcpu, vcpu->srf)) {
			av_stay_ended(vcpu);
			return;
		}
		if (!av_vcpu_light(vcpu))
			return;
		av_switch_again(vcpu->sw, vcpu->srf);
	}
}

/* Set the controls, enter the guest and come back. Interrupts off. */
static void stay(struct av_vcpu *vcpu, const struct av_entry *entry, bool fp)
{
	struct av_vcpu_cpu *cpu = vcpu->cpu;
	struct av_srf *srf = vcpu->srf;
	unsigned int how = stay_flags(vcpu, fp);
	struct av_host_controls host;

	av_host_controls_read(&host);
	if (likely(av_controls_again(&cpu->controls_of, srf, &host, how))) {
		av_controls_pstate(srf, how);
	} else {
		av_controls(&vcpu->sw->priv->guest, srf, &host, how);
		av_controls_note(&cpu->controls_of, srf, &host, how);
		cpu->modes_same = av_controls_same(srf, how);
		cpu->suit_host = av_controls_suit_host(&vcpu->sw->priv->guest, &host);
	}
	srf->modes_same = cpu->modes_same && !srf->slow && srf->cheap & AV_CHEAP_MODES;
	srf->modes = entry->ttbr1[!entry->el] ? srf->modes_same : 0;
	av_srf_set_midr(srf, read_cpuid_id());
	srf->light = srf->cheap & AV_CHEAP_SHORT && !srf->slow && cpu->suit_host;
	av_quick_modes(srf);
	av_quick_mode(srf);
	if (likely(!(how & (AV_STAY_MATCHING | AV_STAY_STEPPING | AV_STAY_COUNTS)))) {
		stay_and_answer(vcpu, entry);
		return;
	}
	srf->light = 0;
	if (how & AV_STAY_COUNTS)
		av_pmu_enter(vcpu);
	if (how & AV_STAY_MATCHING)
		av_debug_enter(srf, av_guest_debug_regs(vcpu), &cpu->host_debug);
	av_switch_run(vcpu->vm->sw, vcpu->sw, srf, entry);
	av_stay_ended(vcpu);
	if (how & AV_STAY_MATCHING)
		av_debug_leave(&cpu->host_debug);
	if (how & AV_STAY_STEPPING)
		srf->vmode = (srf->vmode & ~AV_PSR_SS) | (srf->pstate & AV_PSR_SS);
}

/* Set up the traps that may end in the window in this stay. */
static void prepare_window(struct av_vcpu *vcpu, bool copies)
{
	u32 cheap = READ_ONCE(vcpu->vm->cpu->cheap);
	struct av_srf *srf = vcpu->srf;
	/* A VMM that debugs its guest has its breakpoints. */
	bool slow = av_fast_not_now(srf) || vcpu->cpu->guest_debug;

	if (unlikely(srf->cheap != cheap)) {
		srf->cheap = cheap;
		srf->quick_made = false;
		av_quick_rows(srf);
		av_smccc_show_window(vcpu);
	}
	if (unlikely(!srf->quick_made || srf->slow != slow || srf->copies != copies)) {
		srf->slow = slow;
		srf->copies = copies;
		av_quick_set(srf, cheap & AV_CHEAP_QUICK && !slow);
	}
	if (copies)
		av_quick_show(srf);
	av_irq_show(vcpu);
}

/*
 * Registers that C has not put back since the guest had them. An interrupt that came while the
 * guest ran is taken as soon as interrupts are on, and perf shows a VMM that counts its own user
 * mode the registers of that moment: PERF_SAMPLE_REGS_INTR.
 */
static __always_inline void forget_registers(void)
{
	asm volatile("mov x0, xzr; mov x1, xzr; mov x2, xzr; mov x3, xzr; mov x4, xzr\n"
		     "mov x5, xzr; mov x6, xzr; mov x7, xzr; mov x8, xzr; mov x9, xzr\n"
		     "mov x10, xzr; mov x11, xzr; mov x12, xzr; mov x13, xzr; mov x14, xzr\n"
		     "mov x15, xzr; mov x16, xzr; mov x17, xzr"
		     ::: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			 "x12", "x13", "x14", "x15", "x16", "x17", "memory");
}

/* One stay in the guest. False: something came up first. */
static bool enter_guest(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	/* FP was asked for in an exit: the VMM may have disallowed it since. */
	bool fp = vcpu->cpu->fp_wanted && av_srf_fp_allowed(srf);
	struct av_entry entry;
	bool entered = false;

	if (fp)
		av_fp_begin(vcpu);
	local_irq_disable();
	WRITE_ONCE(vcpu->in_guest, true);
	/* Pairs with the barrier in av_vcpu_kick(). */
	smp_mb();
	if (!must_wait(vcpu)) {
		entered = true;
		av_mmu_prepare_entry(vcpu, &entry);
		if (fp)
			av_fp_load(vcpu);
		prepare_window(vcpu, entry.copies);
		av_stay_begins(vcpu);
		stay(vcpu, &entry, fp);
		av_mmu_follow(vcpu);
		if (fp) {
			av_fp_save(vcpu);
			vcpu->cpu->fp_wanted = false;
		}
	}
	WRITE_ONCE(vcpu->in_guest, false);
	if (unlikely(vcpu->vm->protected))
		forget_registers();
	local_irq_enable();
	if (fp)
		av_fp_end(vcpu);
	return entered;
}

static int run_loop(struct av_vcpu *vcpu)
{
	int ret;

	do {
		ret = before_entry(vcpu);
		if (ret > 0 && enter_guest(vcpu)) {
			av_mmu_leave_stub(vcpu);
			if (unlikely(av_irq_unsettled(vcpu)))
				av_irq_settle(vcpu);
			ret = av_handle_exit(vcpu);
		}
	} while (ret > 0);
	/* It was not entered. */
	if (unlikely(av_irq_unsettled(vcpu)))
		av_irq_settle(vcpu);
	return ret;
}

static int complete_and_run(struct av_vcpu *vcpu)
{
	int ret = av_complete_mmio(vcpu);

	if (ret <= 0)
		return ret;
	if (av_run_immediate_exit(vcpu->run))
		return -EINTR;

	vcpu->run->exit_reason = KVM_EXIT_UNKNOWN;
	vcpu->run->flags = 0;
	rcu_assign_pointer(vcpu->task, current);
	av_vcpu_look_around(vcpu);
	ret = run_loop(vcpu);
	RCU_INIT_POINTER(vcpu->task, NULL);
	return ret;
}

static int run_debugged(struct av_vcpu *vcpu)
{
	int ret;

	if (likely(!vcpu->cpu->guest_debug))
		return complete_and_run(vcpu);
	av_guest_debug_begin(vcpu);
	ret = complete_and_run(vcpu);
	av_guest_debug_end(vcpu);
	return ret;
}

int av_vcpu_run(struct av_vcpu *vcpu)
{
	int ret;

	if (likely(!av_pmu_has(vcpu)))
		return run_debugged(vcpu);
	av_pmu_begin(vcpu);
	ret = run_debugged(vcpu);
	av_pmu_end(vcpu);
	return ret;
}
