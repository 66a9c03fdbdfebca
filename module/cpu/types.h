/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of cpu/: vm->cpu and vcpu->cpu point here.
 */
#ifndef AV_CPU_TYPES_H
#define AV_CPU_TYPES_H

#include <linux/kvm.h>
#include <linux/maple_tree.h>
#include <linux/ptrace.h>
#include <linux/spinlock_types.h>

#include "cpu/controls.h"
#include "cpu/hwdebug.h"
#include "cpu/idregs.h"
#include "cpu/pmu.h"

struct av_vm_cpu {
	/* ID registers as the guest is shown them, under config_lock until a vCPU has run. */
	u64 idregs[AV_NR_IDREGS];
	u64 ctr;			/* CTR_EL0, if it is not the hardware's: */
	bool ctr_traps;

	/* Firmware, as KVM_REG_ARM_FW* set it before the first run. */
	u32 psci_version;
	u64 smccc_std, smccc_std_hyp, smccc_vendor_hyp;
	struct maple_tree smccc_filter;	/* actions by function; config_lock, no change after a run */
	unsigned int smccc_ranges;
	bool suspend_enabled;		/* KVM_CAP_ARM_SYSTEM_SUSPEND */

	/* The PMU, if the vCPUs have one: config_lock, no change after a run. */
	u32 pmu_type;			/* the host's, perf_event_attr.type */
	u8 pmu_most, pmu_counters;	/* PMCR_EL0.N: the most, and the present value */
	u64 *pmu_filter;		/* events that may be counted; NULL: all */

	u32 cheap;			/* AV_CHEAP_*; any thread may write it */

	s64 halt_poll_ns;		/* KVM_CAP_HALT_POLL; < 0: the module's. Any thread may write it */
	unsigned int boosted;		/* the vCPU that WFE last gave its CPU to; a hint */
};

#define AV_MAX_DEBUG_REGS	16

/* The host's debug registers, while the guest's are in their place. */
struct av_host_debug {
	struct av_hwdebug_pair breakpoint[AV_MAX_DEBUG_REGS], watchpoint[AV_MAX_DEBUG_REGS];
	unsigned int breakpoints, watchpoints;
};

struct perf_event;

/* A counter's event on the host. */
struct av_pmu_counter {
	struct av_vcpu *vcpu;
	struct perf_event *event;
};

struct av_vcpu_pmu {
	struct av_pmu regs;
	struct av_pmu_counter counter[AV_PMU_COUNTERS];
	u32 on;				/* events that perf has enabled */
	u32 failed;			/* counters that the host gave no event */
	u32 runs[2];			/* counters that count at virtual EL0, EL1 */
	bool created;			/* KVM_ARM_VCPU_PMU_V3_INIT */
	bool line;			/* as last given to the vGIC */
	int irq;			/* its interrupt, 0: none; config_lock */
};

/* The start that PSCI CPU_ON asked for. */
struct av_start {
	u64 pc;
	u64 x0;
};

struct av_vcpu_cpu {
	/*
	 * Power: KVM_MP_STATE_RUNNABLE, STOPPED, or SUSPENDED. power_lock, and
	 * READ_ONCE for a look. start is valid with AV_REQ_RESET.
	 */
	spinlock_t power_lock;
	u32 mp_state;
	struct av_start start;
	u64 mpidr;			/* MPIDR_EL1, for others to look at: no reset clears it */

	u64 clidr;			/* CLIDR_EL1, and CCSIDR_EL1 by CSSELR_EL1 */
	u32 ccsidr[AV_NR_CACHES];

	/* FP/SIMD: in memory unless fp_loaded; the guest wants it on the next entry. */
	struct user_fpsimd_state fp;
	struct user_fpsimd_state fp_host;	/* scratch of the host's, compat/neon.h */
	bool fp_wanted;

	u32 pmu_stay;			/* bits of AV_STAY_* that the PMU asks for */
	struct av_vcpu_pmu pmu;

	struct av_host_debug host_debug;
	struct av_controls_of controls_of;	/* inputs of sw->priv->guest */
	bool modes_same;			/* av_controls_same() of these */
	bool suit_host;				/* av_controls_suit_host() of these */

	/* Stolen time (steal.c): its guest address, and the thread's wait when last added. */
	bool has_steal;
	u64 steal_base, steal_last;

	/* KVM_SET_GUEST_DEBUG (cpu/guest_debug.c): KVM_GUESTDBG_*, 0 without ENABLE. */
	u32 guest_debug;
	bool step_pending;		/* a step has been made, its exception is still to come */
	bool stepped;			/* this KVM_RUN ends with it */
	bool guest_ss;			/* the guest's own PSTATE.SS meanwhile */
	struct kvm_guest_debug_arch debug_regs;

	u64 poll_window;		/* halt_poll.h, in ticks */
	bool alone;			/* no other task wanted the CPU: av_vcpu_look_around() */

	bool declined;			/* a light exit of this stay could not be answered */
	bool step_emulated;		/* the instruction last stepped was emulated */
	bool serror_pending;
	u64 serror_iss;
};

#endif /* AV_CPU_TYPES_H */
