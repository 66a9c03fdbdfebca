// SPDX-License-Identifier: GPL-2.0
/*
 * WFI: the thread polls for a while (cpu/halt_poll.h), then sleeps. WFE traps
 * only while another task wants the CPU: it yields to a preempted vCPU, which
 * may hold the lock that this one spins for.
 */
#include <linux/kvm.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "compat/sched.h"
#include "cpu/away.h"
#include "cpu/cpu.h"
#include "cpu/halt_poll.h"
#include "cpu/power.h"
#include "irq/irq.h"
#include "stats/stats.h"

#define ISS_WFE		BIT_ULL(0)

/* Any pending interrupt ends WFI, masked or not. */
static bool wfi_over(struct av_vcpu *vcpu)
{
	return av_irq_wakes(vcpu) || vcpu->cpu->serror_pending || READ_ONCE(vcpu->requests);
}

void av_vcpu_look_around(struct av_vcpu *vcpu)
{
	vcpu->cpu->alone = single_task_running();
}

static unsigned int halt_poll_ns = AV_HALT_POLL_NS;
module_param(halt_poll_ns, uint, 0644);
MODULE_PARM_DESC(halt_poll_ns, "maximum time that a vCPU in WFI polls before it sleeps, in nanoseconds (default 500000, 0: no polling)");

int av_cpu_enable_halt_poll(struct av_vm *vm, u64 ns)
{
	if (ns > U32_MAX)
		return -EINVAL;
	WRITE_ONCE(vm->cpu->halt_poll_ns, ns);
	return 0;
}

static u64 ns_to_ticks(u32 ns)
{
	return (u64)ns * read_sysreg(cntfrq_el0) / NSEC_PER_SEC;
}

static u64 poll_limit(const struct av_vm *vm)
{
	s64 ns = READ_ONCE(vm->cpu->halt_poll_ns);

	return ns_to_ticks(ns < 0 ? READ_ONCE(halt_poll_ns) : ns);
}

/* Did the wait end while no other task wanted the CPU? */
static bool poll(struct av_vcpu *vcpu, u64 begun)
{
	if (!vcpu->cpu->poll_window)
		return false;
	av_stat_inc(&vcpu->stats, AV_EVENT_HALT_ATTEMPTED_POLL);
	while (single_task_running() && !av_need_resched() &&
	       av_stats_now() - begun < vcpu->cpu->poll_window) {
		cpu_relax();
		if (wfi_over(vcpu) || signal_pending(current)) {
			av_stat_inc(&vcpu->stats, AV_EVENT_HALT_SUCCESSFUL_POLL);
			return true;
		}
	}
	return false;
}

/*
 * WFI and PSCI CPU_SUSPEND. As on KVM, an interrupt of a disabled group ends the wait: Linux
 * disables group 1 before CPU_SUSPEND.
 */
void av_vcpu_block(struct av_vcpu *vcpu)
{
	bool off;
	u64 begun;

	if (wfi_over(vcpu))
		return;
	off = av_irq_group1_off(vcpu);
	if (unlikely(off))
		av_irq_suspend(vcpu, true);
	begun = av_idle_begins(vcpu);
	if (!poll(vcpu, begun)) {
		wait_event_interruptible(vcpu->wq, wfi_over(vcpu));
		av_stat_inc(&vcpu->stats, AV_EVENT_HALT_WAKEUP);
		av_vcpu_look_around(vcpu);
	}
	vcpu->cpu->poll_window = av_halt_poll_next(vcpu->cpu->poll_window, av_stats_now() - begun,
						   poll_limit(vcpu->vm),
						   ns_to_ticks(AV_HALT_POLL_FIRST_NS));
	av_idle_ends(vcpu, begun);
	if (unlikely(off))
		av_irq_suspend(vcpu, false);
}

/* A vCPU that is itself yielding is passed over every other time. */
static bool passed_over(struct av_vcpu *vcpu)
{
	struct av_vcpu_cpu *cpu = vcpu->cpu;

	if (!READ_ONCE(cpu->spins))
		return false;
	WRITE_ONCE(cpu->passed, !READ_ONCE(cpu->passed));
	return READ_ONCE(cpu->passed);
}

/*
 * The thread of a vCPU that seems runnable but without a CPU, or NULL. el1: consider only vCPUs at
 * virtual EL1.
 */
static struct task_struct *get_waiting(struct av_vcpu *vcpu, bool el1)
{
	struct task_struct *task;

	/* A guess, so no barrier: the vCPU may sleep or run at any time. */
	if (READ_ONCE(vcpu->in_guest) || waitqueue_active(&vcpu->wq) ||
	    (el1 && !av_srf_el1(vcpu->srf)) || passed_over(vcpu))
		return NULL;
	rcu_read_lock();
	task = rcu_dereference(vcpu->task);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

/* Limits failed attempts; each takes the locks of two run queues. */
#define YIELD_TRIES	3

/* Yield this CPU to another vCPU, in turn, starting after the last one that got a CPU. */
static void yield_to_vcpu(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	unsigned int nr = READ_ONCE(vm->nr_vcpus), at = READ_ONCE(vm->cpu->boosted), i;
	unsigned int tries = YIELD_TRIES;
	bool el1 = av_srf_el1(vcpu->srf);
	struct task_struct *task;
	struct av_vcpu *other;
	int done = 0;

	WRITE_ONCE(vcpu->cpu->spins, true);
	for (i = 0; i < nr && tries && done <= 0; i++) {
		at = at + 1 < nr ? at + 1 : 0;
		other = av_vm_vcpu(vm, at);
		task = other && other != vcpu ? get_waiting(other, el1) : NULL;
		if (!task)
			continue;
		/* < 0: neither CPU has another task. */
		done = yield_to(task, true);
		put_task_struct(task);
		if (done < 0)
			tries--;
	}
	WRITE_ONCE(vcpu->cpu->spins, false);
	WRITE_ONCE(vcpu->cpu->passed, false);
	if (done <= 0)
		return;
	WRITE_ONCE(vm->cpu->boosted, at);
	av_stat_inc(&vcpu->stats, AV_EVENT_DIRECTED_YIELD);
}

void av_vcpu_wait_started(struct av_vcpu *vcpu)
{
	u64 begun = av_idle_begins(vcpu);

	wait_event_interruptible(vcpu->wq,
				 !av_vcpu_stopped(vcpu) || READ_ONCE(vcpu->requests));
	av_idle_ends(vcpu, begun);
}

/*
 * The VMM suspended the vCPU. Report a wakeup event to the VMM; only the VMM
 * makes the vCPU runnable again. Returns > 0 if something else ended the wait.
 */
int av_vcpu_wait_woken(struct av_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	u64 begun = av_idle_begins(vcpu);
	bool woken;

	av_irq_suspend(vcpu, true);
	wait_event_interruptible(vcpu->wq, av_irq_wakes(vcpu) || READ_ONCE(vcpu->requests) ||
				 !av_vcpu_suspended(vcpu));
	woken = av_irq_wakes(vcpu);
	av_irq_suspend(vcpu, false);
	av_idle_ends(vcpu, begun);
	if (!woken)
		return 1;
	memset(&run->system_event, 0, sizeof(run->system_event));
	run->system_event.type = KVM_SYSTEM_EVENT_WAKEUP;
	run->exit_reason = KVM_EXIT_SYSTEM_EVENT;
	return 0;
}

/* SCTLR_EL1.nTWI and nTWE allow virtual EL0 to execute WFI and WFE. */
static bool user_may_wait(const struct av_vcpu *vcpu, bool wfe)
{
	return av_srf_get(vcpu->srf, AV_SCTLR_EL1) & (wfe ? AV_SCTLR_NTWE : AV_SCTLR_NTWI);
}

int av_handle_wfx(struct av_vcpu *vcpu)
{
	bool wfe = vcpu->srf->esr & ISS_WFE;

	if (!av_srf_el1(vcpu->srf) && !user_may_wait(vcpu, wfe)) {
		av_inject_sync(vcpu, vcpu->srf->esr);
		return 1;
	}
	av_count(&vcpu->stats, wfe ? AV_EXIT_WFE : AV_EXIT_WFI);
	av_vcpu_skip_insn(vcpu);
	/* WFE may end at any time, and the vCPU it waits for may need this CPU. */
	if (wfe) {
		yield_to_vcpu(vcpu);
		av_vcpu_look_around(vcpu);
	} else {
		av_vcpu_block(vcpu);
	}
	return 1;
}
