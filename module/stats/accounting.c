// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting that costs time and so is optional: histograms of exits, times of fast traps, and the
 * time that a vCPU's thread waits for a CPU. Enabled per VM by the module parameter and
 * KVM_ENABLE_CAP(AV_CAP_ACCOUNTING). The code is patched for all VMs while one has it.
 */
#include <linux/moduleparam.h>
#include <linux/mutex.h>

#include "stats/stats.h"

static bool accounting;
module_param(accounting, bool, 0644);
MODULE_PARM_DESC(accounting, "record histograms of exit times, and the time that vCPUs wait for a CPU, in new VMs (default N: costs a few instructions per exit)");

/* Patch back at most once a second, however often a VMM changes its mind. */
DEFINE_STATIC_KEY_DEFERRED_FALSE(av_accounting_key, HZ);

/* For a VM's setting. Only the static key's own locks nest inside. */
static DEFINE_MUTEX(accounting_lock);

void av_stats_set_accounting(struct av_vm_stats *s, bool on)
{
	mutex_lock(&accounting_lock);
	if (s->accounting != on) {
		WRITE_ONCE(s->accounting, on);
		if (on)
			static_branch_deferred_inc(&av_accounting_key);
		else
			static_branch_slow_dec_deferred(&av_accounting_key);
	}
	mutex_unlock(&accounting_lock);
}

void av_stats_vm_init(struct av_vm_stats *s)
{
	av_stats_set_accounting(s, READ_ONCE(accounting));
}

void av_stats_vm_destroy(struct av_vm_stats *s)
{
	av_stats_set_accounting(s, false);
}

void av_stats_sort_log(struct av_vcpu_stats *s)
{
	av_fast_log_take(&s->times, &s->account, s->log, s->fast);
}

void av_stats_exit_module(void)
{
	static_key_deferred_flush(&av_accounting_key);
}
