/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual CPU.
 *
 * Each ioctl of its file holds vcpu->mutex, KVM_RUN for its whole length. State that only the
 * vCPU's own thread touches needs no other lock. While the vCPU runs, other threads touch only
 * requests (atomic bits), words of the sub-structures (whose headers say which), and
 * run->immediate_exit (the VMM writes it at any time; it is read once before each entry).
 *
 * The VMM shares vcpu->run and may write any byte of it at any time. Read a field once
 * (READ_ONCE() into a local), check the local, use the local. Never trust what the module wrote
 * there before.
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

/* Requests: bits of vcpu->requests, tested before each entry. */
enum av_req {
	AV_REQ_VM_DEAD,		/* the VM was killed: exit with its reason */
	AV_REQ_IRQ,		/* an interrupt line or the timer changed */
	AV_REQ_SLEEP,		/* PSCI stopped this vCPU */
	AV_REQ_RESET,		/* PSCI CPU_ON left a reset state to be loaded */
	AV_REQ_PMU,		/* a counter overflowed */
	AV_REQ_CALLS,		/* the answers to firmware calls have changed */
	AV_REQ_RING,		/* the dirty ring is full, or was: av_mmu_ring_full() */
	AV_REQ_LEASE,		/* av_irq_give_back() */
	AV_REQ_WINDOW,		/* the window has moved: av_mmu_follow_move() */
	AV_NR_REQS
};

struct av_vcpu {
	struct av_vm *vm;
	int id;				/* KVM_CREATE_VCPU's argument, < AV_MAX_VCPU_ID */
	unsigned int idx;		/* index in vm->vcpus */
	struct mutex mutex;

	struct kvm_run *run;		/* one page, which the VMM maps */
	struct av_srf *srf;		/* two pages, in the window at idx */

	unsigned long requests;		/* enum av_req */

	sigset_t sigset;		/* KVM_SET_SIGNAL_MASK */
	bool sigset_active;

	/* KVM_ARM_VCPU_INIT was called, with these features. */
	bool initialized;
	u32 target;
	u32 features;			/* BIT(KVM_ARM_VCPU_*), without POWER_OFF */

	bool has_run;			/* KVM_RUN was called once */

	u64 spsr_aa32[4];		/* ABT, UND, IRQ, FIQ: kept for the VMM only */

	/*
	 * The thread in KVM_RUN, or NULL; RCU, for kicks. in_guest is set with interrupts off,
	 * before the last test of requests.
	 */
	struct task_struct __rcu *task;
	bool in_guest;
	wait_queue_head_t wq;		/* waits in WFI or when powered off */

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

/* Make the vCPU leave the guest, or WFI, soon. Any context. */
void av_vcpu_kick(struct av_vcpu *vcpu);

/* Raise a request. The vCPU sees it before its next entry; kick it if that is too late. */
static inline void av_vcpu_request(struct av_vcpu *vcpu, enum av_req req)
{
	/* Make the reason for the request visible before the request. */
	smp_wmb();
	set_bit(req, &vcpu->requests);
}

/* Take a request: true once per request raised; requests not yet taken count as one. */
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
 * End the VM because of something that its guest or VMM did, never because of a bug of the host.
 * The first reason given is kept. Every vCPU leaves KVM_RUN with KVM_EXIT_INTERNAL_ERROR, now and
 * at each later KVM_RUN. The exit's 16 words of data are AV_REASON_MAGIC and the sentence. Other
 * ioctls still work, so that a VMM can inspect what is left.
 *
 * Fills vcpu->run and returns 0, for "return av_vm_kill(…)".
 */
__printf(2, 3) int av_vm_kill(struct av_vcpu *vcpu, const char *fmt, ...);

/* Fill vcpu->run with the reason of a VM that was killed. Returns 0. */
int av_vcpu_exit_dead(struct av_vcpu *vcpu);

#endif /* AV_VM_VCPU_H */
