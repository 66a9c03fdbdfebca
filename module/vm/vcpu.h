/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual CPU. Its file's ioctls hold vcpu->mutex; KVM_RUN holds it for its
 * whole length, so state that only the vCPU's own thread touches needs no other
 * lock. While it runs, others touch requests (atomic bits), the sub-structures'
 * own words (their headers say which), and run->immediate_exit (written by the
 * VMM at any time, read once before each entry).
 *
 * vcpu->run is shared with the VMM, which may write any byte of it at any
 * time: read a field once (READ_ONCE into a local), check the local, use the
 * local. Never trust what the module itself wrote there earlier.
 */
#ifndef AV_VM_VCPU_H
#define AV_VM_VCPU_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/rcupdate.h>
#include <linux/signal_types.h>
#include <linux/wait.h>

#include "vm/vm.h"

struct av_srf;
struct av_vcpu_cpu;
struct av_vcpu_irq;
struct av_vcpu_mmio;
struct av_vcpu_mmu;
struct av_vcpu_switch;
struct task_struct;

/* Requests: bits of vcpu->requests, looked at before each entry. */
enum av_req {
	AV_REQ_VM_DEAD,		/* the VM was killed: leave with its reason */
	AV_REQ_IRQ,		/* an interrupt line or the timer changed */
	AV_REQ_SLEEP,		/* PSCI stopped this vCPU */
	AV_REQ_RESET,		/* PSCI CPU_ON left a reset state to load */
	AV_REQ_PMU,		/* a counter overflowed */
	AV_REQ_CALLS,		/* firmware calls have another answer */
	AV_REQ_RING,		/* the dirty ring is full, or was: av_mmu_ring_full() */
	AV_NR_REQS
};

struct av_vcpu {
	struct av_vm *vm;
	int id;				/* KVM_CREATE_VCPU's argument, < AV_MAX_VCPU_ID */
	unsigned int idx;		/* index in vm->vcpus */
	struct mutex mutex;

	struct kvm_run *run;		/* one page, mapped by the VMM */
	struct av_srf *srf;		/* two pages, in the window by idx */

	unsigned long requests;		/* enum av_req */

	sigset_t sigset;		/* KVM_SET_SIGNAL_MASK */
	bool sigset_active;

	/* KVM_ARM_VCPU_INIT has been done, with these features. */
	bool initialized;
	u32 target;
	u32 features;			/* BIT(KVM_ARM_VCPU_*), without POWER_OFF */

	bool has_run;			/* KVM_RUN was entered once */

	u64 spsr_aa32[4];		/* ABT, UND, IRQ, FIQ: kept for the VMM only */

	/*
	 * The thread in KVM_RUN, NULL outside; RCU, for kicks. in_guest is set
	 * with interrupts off before the last look at the requests.
	 */
	struct task_struct __rcu *task;
	bool in_guest;
	wait_queue_head_t wq;		/* WFI and powered off */

	/* The state of each folder, as in struct av_vm. */
	struct av_vcpu_switch *sw;
	struct av_vcpu_mmu *mmu;
	struct av_vcpu_irq *irq;
	struct av_vcpu_mmio *mmio;
	struct av_vcpu_cpu *cpu;
	struct av_vcpu_stats stats;
};

static inline bool av_vcpu_has_feature(const struct av_vcpu *vcpu, unsigned int feature)
{
	return vcpu->features & BIT(feature);
}

/* Get the vCPU out of the guest, and out of WFI, soon. Any context. */
void av_vcpu_kick(struct av_vcpu *vcpu);

/* Raise a request; the caller kicks if it cannot wait. */
static inline void av_vcpu_request(struct av_vcpu *vcpu, enum av_req req)
{
	/* The request's reason is visible before the request. */
	smp_wmb();
	set_bit(req, &vcpu->requests);
}

/* Take a request: true once for each time it was raised and not yet taken. */
static inline bool av_vcpu_take_request(struct av_vcpu *vcpu, enum av_req req)
{
	if (!test_bit(req, &vcpu->requests))
		return false;
	clear_bit(req, &vcpu->requests);
	/* Pairs with av_vcpu_request(). */
	smp_mb__after_atomic();
	return true;
}

/*
 * End this VM with a sentence. The first reason is kept; every vCPU leaves
 * KVM_RUN with KVM_EXIT_INTERNAL_ERROR, and so does each later KVM_RUN. The
 * exit's 16 words of data are AV_REASON_MAGIC and the text. Other ioctls go on
 * working, so that a VMM can look at the remains.
 *
 * For acts of a guest or a VMM after which we cannot go on; never for a defect
 * of the host. Fills vcpu->run; returns 0, for "return av_vm_kill(…)".
 */
__printf(2, 3) int av_vm_kill(struct av_vcpu *vcpu, const char *fmt, ...);

/* Fill vcpu->run with the reason of a VM that is dead. Returns 0. */
int av_vcpu_exit_dead(struct av_vcpu *vcpu);

#endif /* AV_VM_VCPU_H */
