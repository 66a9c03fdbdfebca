/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What cpu/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_CPU_TYPES_H
#define AV_CPU_TYPES_H

#include <linux/ptrace.h>
#include <linux/spinlock_types.h>
#include <linux/wait.h>

#include "cpu/idregs.h"
#include "switch/types.h"

struct task_struct;

struct av_vm_cpu {
	struct av_vm_switch sw;

	/* What the guest is shown, under config_lock until a vCPU has run. */
	u64 idregs[AV_NR_IDREGS];

	/* Firmware, as KVM_REG_ARM_FW* set it before the first run. */
	u32 psci_version;
	u64 smccc_std, smccc_std_hyp, smccc_vendor_hyp;
};

/* Where PSCI CPU_ON says to start. */
struct av_start {
	u64 pc;
	u64 x0;
};

struct av_vcpu_cpu {
	struct av_vcpu_switch sw;

	/*
	 * The thread in KVM_RUN, NULL outside; RCU, for kicks. in_guest is set
	 * with interrupts off before the last look at the requests.
	 */
	struct task_struct __rcu *task;
	bool in_guest;
	wait_queue_head_t wq;		/* WFI and powered off */

	/*
	 * Power: KVM_MP_STATE_RUNNABLE, STOPPED, or SUSPENDED. power_lock, and
	 * READ_ONCE for a look. start is valid with AV_REQ_RESET.
	 */
	spinlock_t power_lock;
	u32 mp_state;
	struct av_start start;
	u64 mpidr;			/* MPIDR_EL1, for others to look at: no reset clears it */

	/* FP/SIMD: in memory unless fp_loaded; the guest wants it on the next entry. */
	struct user_fpsimd_state fp;
	struct user_fpsimd_state fp_host;	/* scratch of the host's, compat/neon.h */
	bool fp_wanted;

	bool step_emulated;		/* the instruction last stepped was emulated */
	bool serror_pending;
	u64 serror_iss;
};

#endif /* AV_CPU_TYPES_H */
