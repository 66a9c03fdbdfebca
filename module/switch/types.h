/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What switch/ keeps a VM: the window's tables and the host ASIDs.
 */
#ifndef AV_SWITCH_TYPES_H
#define AV_SWITCH_TYPES_H

#include <linux/types.h>

struct mm_struct;

/* Pairs of shadow trees that can keep TLB entries at the same time. */
#define AV_NR_CONTEXTS	8

enum {
	AV_ASID_HOST_HOP,		/* the host's tree and the aux table */
	AV_ASID_GUEST_HOP,		/* guest trees and the aux table */
	AV_ASID_CONTEXT0,
	AV_NR_ASIDS = AV_ASID_CONTEXT0 + AV_NR_CONTEXTS
};

struct av_vm_switch {
	/* aux[0] and every guest root's last entry lead to l1; l3 is the window */
	u64 *aux, *l1, *l2, *l3;
	struct mm_struct *token[AV_NR_ASIDS];
	u16 asid[AV_NR_ASIDS];
};

#endif /* AV_SWITCH_TYPES_H */
