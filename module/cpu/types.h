/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of cpu/: vm->cpu and vcpu->cpu point here.
 */
#ifndef AV_CPU_TYPES_H
#define AV_CPU_TYPES_H

#include <linux/kvm.h>
#include <linux/ptrace.h>
#include <linux/spinlock_types.h>

#include "cpu/controls.h"
#include "cpu/hwdebug.h"
#include "cpu/idregs.h"
#include "cpu/pmu.h"
#include "mmio/decode.h"
#include "vm/ranges.h"

struct av_vm_cpu {
	/* The guest's ID registers. Changed under config_lock, and only before the first run. */
	u64 idregs[AV_NR_IDREGS];
	u64 ctr;			/* CTR_EL0 as the VMM set it; only with ctr_traps */
	bool ctr_traps;
	/* MIDR_EL1, REVIDR_EL1, AIDR_EL1: as the VMM sees them; with imp_ids_set, the guest too. */
	u64 imp_ids[AV_NR_IMP_IDS];	/* as idregs */
	bool imp_ids_set;		/* set under vm->lock, while there is no vCPU */

	/* Firmware state that KVM_REG_ARM_FW* set before the first run. */
	u32 psci_version;
	u64 smccc_std, smccc_std_hyp, smccc_vendor_hyp, smccc_vendor_hyp_2;
	struct av_ranges smccc_filter;	/* actions by function; config_lock, fixed after a run */
	unsigned int smccc_ranges;
	bool suspend_enabled;		/* KVM_CAP_ARM_SYSTEM_SUSPEND */

	/* The PMU of vCPUs that have one. Changed under config_lock, fixed after a run. */
	u32 pmu_type;			/* the host PMU's perf_event_attr.type */
	u8 pmu_most, pmu_counters;	/* PMCR_EL0.N: limit and current value */
	u64 *pmu_filter;		/* events that may be counted; NULL: all */

	u32 cheap;			/* AV_CHEAP_*; written by any thread */

	s64 halt_poll_ns;		/* KVM_CAP_HALT_POLL, < 0: default. Written by any thread */
	unsigned int boosted;		/* the vCPU that WFE last yielded its CPU to; a hint */
};

#define AV_MAX_DEBUG_REGS	16

/* The host's debug registers while the guest's are loaded. */
struct av_host_debug {
	struct av_hwdebug_pair breakpoint[AV_MAX_DEBUG_REGS], watchpoint[AV_MAX_DEBUG_REGS];
	unsigned int breakpoints, watchpoints;
};

struct perf_event;

/* The host's perf event of a counter. */
struct av_pmu_counter {
	struct av_vcpu *vcpu;
	struct perf_event *event;
};

struct av_vcpu_pmu {
	struct av_pmu regs;
	struct av_pmu_counter counter[AV_PMU_COUNTERS];
	u32 on;				/* counters whose event perf has enabled */
	u32 failed;			/* counters without an event, as the host refused it */
	u32 runs[2];			/* counters that count at virtual EL0, EL1 */
	bool created;			/* KVM_ARM_VCPU_PMU_V3_INIT */
	bool line;			/* level last passed to the vGIC */
	int irq;			/* its interrupt, 0: none; config_lock */
};

/* The entry point that PSCI CPU_ON passed. */
struct av_start {
	u64 pc;
	u64 x0;
};

struct av_vcpu_cpu {
	/*
	 * KVM_MP_STATE_RUNNABLE, STOPPED or SUSPENDED. Written under
	 * power_lock, read with READ_ONCE(). start is valid with AV_REQ_RESET.
	 */
	spinlock_t power_lock;
	u32 mp_state;
	struct av_start start;
	u64 mpidr;			/* MPIDR_EL1, read by other threads; a reset keeps it */

	u64 clidr;			/* CLIDR_EL1, and CCSIDR_EL1 by CSSELR_EL1 */
	u32 ccsidr[AV_NR_CACHES];

	/*
	 * The guest's FP/SIMD state, except during a stay with FP, when the registers hold it.
	 * fp_wanted: the next stay is one.
	 */
	struct user_fpsimd_state fp;
	struct user_fpsimd_state fp_host;	/* the host's, saved by compat/neon.h */
	bool fp_wanted;

	u32 pmu_stay;			/* AV_STAY_* bits that the PMU needs */
	struct av_vcpu_pmu pmu;

	struct av_host_debug host_debug;
	struct av_controls_of controls_of;	/* inputs of sw->priv->guest */
	bool modes_same;			/* av_controls_same() for these */
	bool suit_host;				/* av_controls_suit_host() for these */

	/* Stolen time (steal.c): guest address, and the thread's run delay at the last update. */
	bool has_steal;
	u64 steal_base, steal_last;

	/* KVM_SET_GUEST_DEBUG (cpu/guest_debug.c): KVM_GUESTDBG_*, or 0 without ENABLE. */
	u32 guest_debug;
	bool step_pending;		/* a step is done, its exception is still due */
	bool stepped;			/* this KVM_RUN ends with a step exception */
	bool guest_ss;			/* the guest's own PSTATE.SS meanwhile */
	struct kvm_guest_debug_arch debug_regs;

	u64 poll_window;		/* poll time (halt_poll.h), in ticks */
	bool alone;			/* no other task wanted the CPU: av_vcpu_look_around() */
	bool spins, passed;		/* wfx.c: WFE is yielding the CPU; passed over last time */

	u16 sample_in[AV_NR_FAST];	/* exit.c: tokens until the next sample, by kind */

	u32 load_insn;			/* the last load from code, and what it does */
	struct av_ldst load;

	bool declined;			/* a light exit of this stay was declined */
	bool step_emulated;		/* the last stepped instruction was emulated */
	bool recall_held;		/* the last MEM_UNSHARE found its page held */
	bool serror_pending;
	u64 serror_iss;
};

#endif /* AV_CPU_TYPES_H */
