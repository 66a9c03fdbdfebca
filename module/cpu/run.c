// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_RUN's loop. Each pass:
 *
 * 1. Handle signals, requests and a changed power state.
 * 2. Inject a due interrupt, which changes PC and PSTATE in the register file, and offer the guest
 *    its acknowledgement (irq/irq.h).
 * 3. Load the shadow trees of the resulting mode (may sleep).
 * 4. Disable interrupts, set in_guest, then check requests, interrupts and signals once more.
 *    Anyone who raises one after this check sees in_guest and sends an IPI, which ends the stay in
 *    the guest as soon as it begins.
 * 5. Enter the guest. Host interrupts end the stay. A light exit is answered here and the guest is
 *    entered again; anyone who wants the vCPU has sent an IPI, which ends the next stay at once.
 * 6. Enable interrupts: the host takes the one that ended the stay.
 * 7. Tell the vGIC whether the guest took the offer, or withdraw it. Then handle the exit, with
 *    everything allowed.
 *
 * Host work due on return to user space (TIF_NOTIFY_RESUME: task work, memory.high throttling)
 * waits for the next exit to the VMM; urgent work arrives as a signal.
 */
#include <linux/kvm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "compat/sched.h"
#include "cpu/away.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/debug_load.h"
#include "cpu/exception.h"
#include "cpu/fast.h"
#include "cpu/guest_debug.h"
#include "cpu/hwdebug.h"
#include "cpu/pmu_host.h"
#include "cpu/power.h"
#include "cpu/quick.h"
#include "cpu/stay.h"
#include "cpu/steal.h"
#include "irq/irq.h"
#include "mmu/mmu.h"
#include "switch/image.h"
#include "switch/offsets.h"
#include "switch/private.h"
#include "switch/switch.h"

/* AV_QUICK_SVC */
static_assert((AV_EC_SVC64 << 26 | AV_ESR_IL) == ESR_SVC);

static int interrupted(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_SIGNAL);
	/* The machine may be suspended before the next run: look at the timers again then. */
	WRITE_ONCE(vcpu->irq->recheck, true);
	vcpu->run->exit_reason = KVM_EXIT_INTR;
	return -EINTR;
}

/* What most requests are: the vCPU is to look at its interrupts. */
#define COMMON_REQUESTS		(BIT(AV_REQ_SLEEP) | BIT(AV_REQ_IRQ))

static noinline void handle_rare_requests(struct av_vcpu *vcpu)
{
	if (av_vcpu_take_request(vcpu, AV_REQ_LEASE))
		av_irq_give_back(vcpu);
	if (av_vcpu_take_request(vcpu, AV_REQ_PMU))
		av_pmu_update_line(vcpu);
	if (av_vcpu_take_request(vcpu, AV_REQ_CALLS))
		av_smccc_show_window(vcpu);
	if (av_vcpu_take_request(vcpu, AV_REQ_WINDOW))
		av_mmu_follow_move(vcpu);
}

/* Returns > 0 to enter the guest, else KVM_RUN's result. */
static int handle_requests(struct av_vcpu *vcpu)
{
	unsigned long requests = READ_ONCE(vcpu->requests);

	if (!requests)
		return 1;
	if (av_vcpu_take_request(vcpu, AV_REQ_VM_DEAD))
		return av_vcpu_exit_dead(vcpu);
	av_vcpu_load_start(vcpu);
	av_vcpu_take_request(vcpu, AV_REQ_SLEEP);
	av_vcpu_take_request(vcpu, AV_REQ_IRQ);
	/* One that is raised meanwhile is seen before the entry. */
	if (unlikely(requests & ~COMMON_REQUESTS))
		handle_rare_requests(vcpu);
	/* A pending signal takes precedence, as under KVM. */
	if (!signal_pending(current) && av_mmu_ring_full(vcpu)) {
		vcpu->run->exit_reason = KVM_EXIT_DIRTY_RING_FULL;
		return 0;
	}
	return 1;
}

/*
 * May virtual EL1 run from copies of its code? Not if SP_EL0 is its stack pointer: copies treat
 * SP_EL0 as a plain word. Not if the VMM debugs the guest: it writes breakpoints into the code
 * itself. Not if the guest debugs virtual EL1: its breakpoints depend on PSTATE.D, which stubs
 * change without a trap.
 */
static bool may_copy(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->vm->cpu->cheap) & AV_CHEAP_COPIES && !vcpu->cpu->guest_debug &&
	       !av_srf_debugging_el1(vcpu->srf) && av_srf_mode(vcpu->srf) != AV_PSR_EL1T;
}

/* Called twice per entry. Usually nothing is pending, and the guest may have an offer. */
static __always_inline bool is_quiet(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;

	if (av_irq_pending(vcpu) || vcpu->cpu->serror_pending || srf->vmode & AV_PSR_IL)
		return false;
	srf->due = av_srf_offered(srf) ? AV_PSR_I : 0;
	return true;
}

/* Has another interrupt arrived that the guest must acknowledge before the offered one? */
static bool offer_is_over(struct av_vcpu *vcpu)
{
	return av_srf_offered(vcpu->srf) && av_irq_pending(vcpu);
}

static void inject(struct av_vcpu *vcpu)
{
	if (offer_is_over(vcpu))
		av_irq_settle(vcpu);
	if (av_inject_due(vcpu))
		av_inject_pending(vcpu);
	else if (vcpu->srf->due & AV_PSR_I && av_irq_polls(vcpu))
		av_inject_offer(vcpu);
}

static int before_entry(struct av_vcpu *vcpu)
{
	u32 cheap;
	int ret;

	/*
	 * A quiescent state for RCU: if it waits for this CPU, an IPI or the tick ended the stay.
	 */
	if (av_need_resched())
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
	if (!is_quiet(vcpu))
		inject(vcpu);
	cheap = READ_ONCE(vcpu->vm->cpu->cheap);
	av_mmu_want(vcpu, may_copy(vcpu), cheap & AV_CHEAP_ROOTS, cheap & AV_CHEAP_FAULTS);
	return unlikely(vcpu->mmu->stale) ? av_mmu_load(vcpu) ?: 1 : 1;
}

/* Called with interrupts off. Has anything happened since before_entry() that needs attention? */
static bool must_wait(struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->requests) || av_need_resched() || signal_pending(current) ||
	       (unlikely(!is_quiet(vcpu)) && (offer_is_over(vcpu) || av_inject_due(vcpu)));
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
	/* Where nothing is stepped or matches: av_fast_not_now(). */
	if (likely(!vcpu->srf->slow))
		return how;
	if (av_srf_stepping(vcpu->srf))
		how |= AV_STAY_STEPPING;
	if (av_srf_matching(vcpu->srf))
		how |= AV_STAY_MATCHING;
	return how;
}

/*
 * Is it in the page of the last device access? Most device accesses are; no light exit answers
 * them.
 */
static __always_inline bool is_devices(const struct av_vcpu *vcpu, const struct av_srf *srf)
{
	return srf->exit == AV_EXCEPTION_SYNC && av_esr_ec(srf->esr) == AV_EC_DABT_LOW &&
	       av_mmu_near_device(vcpu, srf->far);
}

/*
 * Answer light exits and enter the guest again in the state the window left. The switcher answers
 * most of them through av_vcpu_short(). The rest come here: writes of a TTBR, HVCs that the window
 * did not recognize as light, and all while srf->light is 0.
 */
static void stay_and_answer(struct av_vcpu *vcpu, const struct av_entry *entry)
{
	vcpu->cpu->declined = false;
	av_switch_run(vcpu->sw, vcpu->srf, entry);
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

/* MIDR_EL1; the register file has a copy. */
static u64 midr_of(const struct av_vm_cpu *cpu)
{
	return unlikely(cpu->imp_ids_set) ? READ_ONCE(cpu->imp_ids[AV_IMP_MIDR]) : read_cpuid_id();
}

/* Set the controls, enter the guest and return. Interrupts are off. */
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
		cpu->modes_same = av_controls_same(srf, how);
		av_controls_note(&cpu->controls_of, srf, &host, how, cpu->modes_same);
		cpu->suit_host = av_controls_suit_host(&vcpu->sw->priv->guest, &host);
	}
	/* The other level has other breakpoints. */
	srf->modes_same = cpu->modes_same && !srf->slow && !av_srf_debugging(srf) &&
			  srf->cheap & AV_CHEAP_MODES;
	srf->modes = entry->ttbr1[!entry->el] ? srf->modes_same : 0;
	av_srf_set_midr(srf, midr_of(vcpu->vm->cpu));
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
	av_switch_run(vcpu->sw, srf, entry);
	av_stay_ended(vcpu);
	if (how & AV_STAY_MATCHING)
		av_debug_leave(&cpu->host_debug);
	if (how & AV_STAY_STEPPING)
		srf->vmode = (srf->vmode & ~AV_PSR_SS) | (srf->pstate & AV_PSR_SS);
}

/* Set up which traps the window may complete during this stay. */
static void prepare_window(struct av_vcpu *vcpu, bool copies)
{
	u32 cheap = READ_ONCE(vcpu->vm->cpu->cheap);
	struct av_srf *srf = vcpu->srf;
	/* A debugging VMM has breakpoints of its own in the guest. */
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
 * Clear the guest's values from registers that C code has not restored since the exit. A pending
 * host interrupt is taken as soon as interrupts are enabled, and PERF_SAMPLE_REGS_INTR would show
 * those values to a VMM that samples its own user mode.
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
	/* An earlier exit asked for FP, but the VMM may have disallowed it since. */
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
	/* Pairs with the acquire in irq/settle.c: what the window wrote to srf is there. */
	smp_store_release(&vcpu->in_guest, false);
	if (unlikely(vcpu->vm->protected))
		forget_registers();
	local_irq_enable();
	if (fp)
		av_fp_end(vcpu);
	return entered;
}

/* The image gets what the stay's light exits missed. */
static noinline void learn(struct av_vcpu *vcpu)
{
	const struct srcu_struct *srcu = &vcpu->vm->srcu;
	struct av_image_misses misses = {};

	av_image_learn(vcpu->vm->sw, vcpu->sw->priv, srcu->sda, sizeof(*srcu->sda), &misses);
	av_stat_add(&vcpu->stats, AV_EVENT_IMAGE_NEW, misses.learned);
	av_stat_add(&vcpu->stats, AV_EVENT_IMAGE_USER, misses.user);
	av_stat_add(&vcpu->stats, AV_EVENT_IMAGE_VMALLOC, misses.vmalloc);
	av_stat_add(&vcpu->stats, AV_EVENT_IMAGE_OTHER, misses.other);
}

static int run_loop(struct av_vcpu *vcpu)
{
	int ret;

	do {
		ret = before_entry(vcpu);
		if (ret > 0 && enter_guest(vcpu)) {
			if (unlikely(av_image_missed(vcpu->sw->priv)))
				learn(vcpu);
			av_mmu_leave_stub(vcpu);
			if (unlikely(av_irq_unsettled(vcpu)))
				av_irq_settle(vcpu);
			ret = av_handle_exit(vcpu);
		}
	} while (ret > 0);
	/* The guest was not entered. */
	if (unlikely(av_irq_unsettled(vcpu)))
		av_irq_settle(vcpu);
	return ret;
}

static int complete_and_run(struct av_vcpu *vcpu)
{
	int ret = av_complete_mmio(vcpu);

	if (ret <= 0)
		return ret;
	if (READ_ONCE(vcpu->run->immediate_exit__unsafe))
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
