// SPDX-License-Identifier: GPL-2.0
/*
 * FP/SIMD, loaded lazily: it traps at each entry until the guest uses it, and
 * is then loaded for one stay. The guest's registers are live only while
 * interrupts are off, and otherwise in memory; so the host may use the unit
 * freely.
 */
#include <linux/linkage.h>

#include "compat/neon.h"
#include "cpu/cpu.h"
#include "stats/stats.h"

asmlinkage void av_fp_state_save(struct user_fpsimd_state *state);
asmlinkage void av_fp_state_load(struct user_fpsimd_state *state);

static_assert(offsetof(struct user_fpsimd_state, fpsr) == 512);
static_assert(offsetof(struct user_fpsimd_state, fpcr) == 516);

/* Saves the VMM's registers. The caller must not sleep until av_fp_end(). */
void av_fp_begin(struct av_vcpu *vcpu)
{
	av_neon_begin(&vcpu->cpu->fp_host);
}

void av_fp_load(struct av_vcpu *vcpu)
{
	av_stat_inc(&vcpu->stats, AV_EVENT_FP_LOAD);
	av_fp_state_load(&vcpu->cpu->fp);
}

void av_fp_save(struct av_vcpu *vcpu)
{
	av_fp_state_save(&vcpu->cpu->fp);
}

void av_fp_end(struct av_vcpu *vcpu)
{
	av_neon_end(&vcpu->cpu->fp_host);
}
