/* SPDX-License-Identifier: GPL-2.0 */
/* Per-VM and per-vCPU state of switch/: vm->sw and vcpu->sw point here. */
#ifndef AV_SWITCH_TYPES_H
#define AV_SWITCH_TYPES_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "switch/window_desc.h"

struct mm_struct;
struct av_asid_share;

/*
 * Contexts per vCPU: pairs of shadow trees whose TLB entries it can keep at the same time. A
 * process of the guest takes two, for virtual EL1 and EL0. A vCPU gets more than AV_FIRST_CONTEXTS
 * only while its VM has less than AV_VM_CONTEXTS, because every flush looks at all contexts of the
 * VM.
 */
#define AV_NR_CONTEXTS	64
#define AV_FIRST_CONTEXTS	8
#define AV_VM_CONTEXTS	1024

/* An ASID pinned in the host's allocator, and the shares that it counts towards. */
struct av_asid {
	struct mm_struct *token;	/* NULL: none */
	u16 asid;
	struct av_asid_share *const *shares;
};

/* The two limits on ASIDs: per program, per user. */
enum av_asid_holder { AV_ASID_PROGRAM, AV_ASID_USER, AV_NR_ASID_HOLDERS };

/* The contexts that have a tree, as found by the last flush of it or of one of its pages. */
#define AV_FEW_CONTEXTS	4
#define AV_FOUND_TREES	4
struct av_tree_contexts {
	u64 serial;			/* the tree; 0: none yet */
	s64 changes;			/* av_vm_switch.changes at that time */
	unsigned int nr;		/* if above AV_FEW_CONTEXTS, asid[] is incomplete */
	u16 asid[AV_FEW_CONTEXTS];
};

struct av_vm_switch {
	/*
	 * aux[0] and the last entry of hop lead to l1, then by its last entry to l2, then by the
	 * entry of each position in use to l3, the window. aux[1] leads to p1, then by first
	 * entries to p3, the private pages. On hosts with other tables: av_aux_fill().
	 */
	u64 *aux, *top, *hop, *l1, *l2, *l3;
	u64 *p1, *p2, *p3;
	bool timed;			/* the window's timed copy is mapped; under vm->lock */
	struct av_asid_share *share[AV_NR_ASID_HOLDERS];
	struct av_asid host_hop;	/* while the host's tree and aux are live */
	struct av_asid guest_hop;	/* while the hop root and aux are live */
	/* switch/image.h: the root, and its level-1 table for the window and the private pages */
	u64 *image, *image1;
	struct av_asid own_image;	/* its ASID where the host has global entries; else guest_hop's */
	struct list_head image_node;
	atomic64_t changes;		/* of contexts; counted before the vCPU runs with them */
	atomic_t nr_contexts;		/* of all vCPUs */
	/* Under mmu_lock: for the trees that were flushed last; the next one to replace. */
	struct av_tree_contexts found[AV_FOUND_TREES];
	unsigned int next_found;
	bool ended;			/* av_switch_vm_end() has flushed everything */
	/* Positions in use: every one that a vCPU has had. Under mmu_lock; only grows. */
	unsigned int nr_positions;
	u16 positions[AV_WINDOW_POSITIONS];
};

/* I of switch/image.h */
static inline u16 av_image_asid(const struct av_vm_switch *vsw)
{
	return vsw->own_image.token ? vsw->own_image.asid : vsw->guest_hop.asid;
}

/* A pair of trees and their ASID. The serials are those of the trees. */
struct av_context {
	u64 serial0, serial1;		/* 0: none yet. The vCPU writes them, flushes read them */
	struct av_asid asid;
};

struct av_leave;
struct av_private;

struct av_vcpu_switch {
	struct av_private *priv;
	const struct av_leave *leave;	/* of the CPU that the vCPU last ran on */
	u16 position;			/* of the window; only the vCPU's thread uses it */
	struct av_context context[AV_NR_CONTEXTS];
	unsigned int nr_contexts;	/* contexts with an ASID: at least 1 */
	unsigned int current_context;
	unsigned int next_victim;
};

#endif /* AV_SWITCH_TYPES_H */
