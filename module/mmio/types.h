/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of mmio/: vm->mmio and vcpu->mmio point here.
 */
#ifndef AV_MMIO_TYPES_H
#define AV_MMIO_TYPES_H

#include <linux/rcupdate.h>
#include <linux/spinlock_types.h>

#include "mmio/decode.h"

struct av_bus;
struct av_zones;
struct kvm_coalesced_mmio_ring;

struct av_vm_mmio {
	/* ioeventfds: read in vm->srcu, replaced under vm->slots_lock. */
	struct av_bus __rcu *bus;
	/*
	 * Coalesced MMIO (coalesced.c): zones, with the same rules; the ring,
	 * shared with the VMM.
	 */
	struct av_zones __rcu *zones;
	struct kvm_coalesced_mmio_ring *ring;
	spinlock_t ring_lock;
	bool nisv_to_user;	/* KVM_CAP_ARM_NISV_TO_USER, never cleared */
};

/* An access that the VMM is to answer. The vCPU's own thread only. */
struct av_vcpu_mmio {
	bool pending;		/* exited with KVM_EXIT_MMIO, not completed */
	struct av_ldst insn;
};

#endif /* AV_MMIO_TYPES_H */
