// SPDX-License-Identifier: GPL-2.0
/* Idle time, and time that the vCPU's thread waits for a CPU: see cpu/away.h. */
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/time64.h>

#include "compat/sched.h"
#include "cpu/away.h"
#include "cpu/cpu.h"
#include "switch/switch.h"

void av_cpu_choose_window(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	unsigned int nr = max(vm->nr_vcpus, vcpu->idx + 1);

	av_switch_set_timed(vcpu->sw, READ_ONCE(vm->stats.accounting) &&
				      av_switch_map_timed(vm->sw, nr));
}

int av_cpu_enable_accounting(struct av_vm *vm, u64 on)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	if (on > 1)
		return -EINVAL;
	/* Waits until now belong to no open lap. */
	if (on && !READ_ONCE(vm->stats.accounting))
		av_for_each_vcpu(i, vcpu, vm)
			WRITE_ONCE(vcpu->stats.waiter, NULL);
	av_stats_set_accounting(&vm->stats, on);
	if (mutex_lock_killable(&vm->lock))
		return -EINTR;
	/* Of two concurrent calls, the second to get the lock applies the final setting. */
	av_for_each_vcpu(i, vcpu, vm)
		av_cpu_choose_window(vcpu);
	mutex_unlock(&vm->lock);
	return 0;
}

/* Ticks waited since the last call; 0 for the first call of a thread. */
static u64 waited(struct av_vcpu *vcpu)
{
	struct av_vcpu_stats *s = &vcpu->stats;
	u64 now, ns;

	if (!av_stats_accounting() || !READ_ONCE(vcpu->vm->stats.accounting))
		return 0;
	now = av_run_delay();
	ns = READ_ONCE(s->waiter) == current ? now - s->waited : 0;
	WRITE_ONCE(s->waiter, current);
	s->waited = now;
	return ns ? mul_u64_u32_div(ns, read_sysreg(cntfrq_el0), NSEC_PER_SEC) : 0;
}

void av_away_take(struct av_vcpu *vcpu)
{
	u64 ticks;

	if (!av_stats_accounting())
		return;
	av_stats_take_log(&vcpu->stats);
	ticks = waited(vcpu);
	if (ticks)
		av_stats_skip(&vcpu->stats, AV_PLACE_AWAY, ticks);
}

u64 av_idle_begins(struct av_vcpu *vcpu)
{
	u64 now;

	av_away_take(vcpu);
	now = av_stats_now();
	WRITE_ONCE(vcpu->stats.idle_since, now);
	return now;
}

/* The thread was away from its wakeup until it got a CPU; only the rest was idle. */
void av_idle_ends(struct av_vcpu *vcpu, u64 begun)
{
	u64 ticks = av_stats_now() - begun, away = min(waited(vcpu), ticks);

	if (away)
		av_stats_skip(&vcpu->stats, AV_PLACE_AWAY, away);
	av_stats_skip(&vcpu->stats, AV_PLACE_IDLE, ticks - away);
	WRITE_ONCE(vcpu->stats.idle_since, 0);
}

void av_vcpu_time_begins(struct av_vcpu *vcpu)
{
	av_account_run_long(&vcpu->stats.account, av_stats_now(), waited(vcpu));
}
