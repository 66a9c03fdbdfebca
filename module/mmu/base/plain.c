// SPDX-License-Identifier: GPL-2.0
/* Running without copies for a while: rules in plain.h. */
#include <linux/minmax.h>
#include <linux/module.h>

#include "mmu/base/base.h"
#include "mmu/base/plain.h"

#define PLAIN_MIN	8U

static unsigned int copies_left_for = 4096;
module_param(copies_left_for, uint, 0644);
MODULE_PARM_DESC(copies_left_for, "maximum number of traps that a vCPU runs without patched copies of code, after an instruction that they cannot execute (default 4096, minimum 8)");

static u64 ended_in_window(const struct av_srf *srf)
{
	unsigned int i;
	u64 n = 0;

	for (i = 0; i < AV_NR_FAST; i++)
		n += srf->fast[i];
	return n;
}

void av_mmu_count_plain(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	u64 now = ended_in_window(vcpu->srf), traps = now - mmu->plain_since;

	mmu->plain_since = now;
	if (mmu->plain > traps) {
		mmu->plain -= traps;
		return;
	}
	mmu->plain = 0;
	mmu->back = true;
	mmu->stale |= AV_STALE_MODE;
}

void av_mmu_go_plain(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	unsigned int most = clamp(READ_ONCE(copies_left_for), PLAIN_MIN, (unsigned int)U16_MAX);

	av_stat_inc(&vcpu->stats, AV_EVENT_COPIES_LEFT);
	mmu->plain = mmu->plain_next = clamp(2U * mmu->plain_next, PLAIN_MIN, most);
	mmu->plain_since = ended_in_window(vcpu->srf);
	mmu->good_loads = 0;
	mmu->stale |= AV_STALE_MODE;
}

void av_mmu_stay_plain(struct av_vcpu *vcpu)
{
	vcpu->mmu->plain = PLAIN_MIN;
	vcpu->mmu->plain_since = ended_in_window(vcpu->srf);
}
