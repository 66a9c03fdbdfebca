/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of switch/: vm->sw and vcpu->sw point here.
 */
#ifndef AV_SWITCH_TYPES_H
#define AV_SWITCH_TYPES_H

#include <linux/atomic.h>
#include <linux/types.h>

struct mm_struct;
struct av_asid_share;

/* Pairs of shadow trees of which a vCPU can keep TLB entries at the same time. */
#define AV_NR_CONTEXTS	8

/* An ASID that the host's allocator pinned for us, and the shares that it counts on. */
struct av_asid {
	struct mm_struct *token;	/* NULL: none */
	u16 asid;
	struct av_asid_share *const *shares;
};

/* Holders whose ASIDs are counted together: one program, one user. */
enum av_asid_holder { AV_ASID_PROGRAM, AV_ASID_USER, AV_NR_ASID_HOLDERS };

/* The contexts that have a tree, when they were last looked for. */
#define AV_FEW_CONTEXTS	4
struct av_tree_contexts {
	u64 serial;			/* 0: of none yet */
	s64 changes;			/* av_vm_switch.changes then */
	unsigned int nr;		/* more than AV_FEW_CONTEXTS: not all are here */
	u16 asid[AV_FEW_CONTEXTS];
};

struct av_vm_switch {
	/*
	 * aux[0] leads to l1, the last entries down from there to l3, the window;
	 * aux[1] leads to p1, the first entries down from there to p3, the private pages
	 */
	u64 *aux, *l1, *l2, *l3;
	u64 *p1, *p2, *p3;
	struct av_asid_share *share[AV_NR_ASID_HOLDERS];
	struct av_asid host_hop;	/* the host's tree and the aux table */
	struct av_asid guest_hop;	/* guest trees and the aux table */
	atomic64_t changes;		/* of contexts: counted before the vCPU runs under it */
	struct av_tree_contexts last;	/* under mmu_lock: of the tree that lost a page last */
};

/* A pair of trees and the ASID that it runs under; serials as in struct av_entry. */
struct av_context {
	u64 serial0, serial1;		/* 0: none yet. Written by the vCPU, read by flushes */
	struct av_asid asid;
};

struct av_leave;
struct av_private;

struct av_vcpu_switch {
	struct av_private *priv;
	const struct av_leave *leave;	/* of the CPU that it last ran on */
	struct av_context context[AV_NR_CONTEXTS];
	unsigned int nr_contexts;	/* that have an ASID: at least 1 */
	unsigned int current_context;
	unsigned int next_victim;
};

#endif /* AV_SWITCH_TYPES_H */
