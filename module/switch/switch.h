/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world switch as C sees it.
 *
 * A context is a pair of shadow trees run under one ASID of the host's. Each
 * vCPU has a few of its own, so that recycling one disturbs nobody else; what
 * the trees are is mmu/'s business, here they are two serial numbers that are
 * never used twice. TLB entries of ours are never global.
 */
#ifndef AV_SWITCH_SWITCH_H
#define AV_SWITCH_SWITCH_H

#include <linux/linkage.h>
#include <linux/types.h>

#include "switch/types.h"

struct av_srf;

/*
 * What to run next, as av_mmu_prepare_entry() says: the physical addresses of
 * the roots, and the identities of the two trees, never reused in a VM. A host
 * ASID that last ran this pair runs it again without a flush; which ASID, and
 * flushing it when it changes hands, is done here.
 */
struct av_entry {
	u64 root0, root1;	/* TTBR0, TTBR1 */
	u64 serial0, serial1;	/* from 1 */
};

/*
 * The window: the top 2 MiB of the kernel half. Every shadow TTBR1 root maps
 * it: root[511] is av_window_root_desc(), a table descriptor to write as it is.
 * Made by av_cpu_vm_init(), before mmu/ makes trees.
 */
#define AV_WINDOW_START		0xffffffffffe00000ULL

u64 av_window_root_desc(const struct av_vm_switch *vsw);

/* Module life. */
int av_window_init(void);
void av_window_exit(void);

/* VM and vCPU life; the register file goes into the window behind the code, at its id. */
int av_switch_vm_init(struct av_vm_switch *vsw);
void av_switch_vm_destroy(struct av_vm_switch *vsw);
int av_switch_vcpu_init(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int id);
void av_switch_vcpu_destroy(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    unsigned int id);

/*
 * Run the guest until something ends it; the register file has the reason.
 * Interrupts off; they end it too and stay pending for the host to take. The
 * controls in srf->sw are set (cpu/controls.h).
 */
void av_switch_run(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
		   struct av_srf *srf, const struct av_entry *entry);

/* cpu/fast.c: in the window only, called from enter.S. */
int av_fast(struct av_srf *srf);

/* switch/enter.S */
asmlinkage void av_switch_enter(struct av_srf *srf);
extern const char av_window_code[], av_window_code_end[];

#endif /* AV_SWITCH_SWITCH_H */
