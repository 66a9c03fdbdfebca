/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world switch as C sees it.
 *
 * Tables are mmu/'s business; the ASIDs that they run under are switch/tlb.h's.
 */
#ifndef AV_SWITCH_SWITCH_H
#define AV_SWITCH_SWITCH_H

#include <linux/linkage.h>
#include <linux/types.h>

#include "switch/types.h"

struct av_private;
struct av_srf;

/*
 * What to run next: the physical addresses of the roots, TTBR0's and TTBR1's,
 * and the latter with the context's ASID (tlb.h), by the virtual exception
 * level. Where the window may not go on to the other level that one is 0.
 */
struct av_entry {
	u64 root0, root1;
	u64 ttbr1[2];
	unsigned int el;	/* that is gone on with */
	bool copies;		/* virtual EL1 runs from copies (mmu/copies.h) */
};

/*
 * The window is switch/window_desc.h's: every tree in TTBR1 hangs the VM's
 * level 3 table. Made by av_switch_vm_init(), before mmu/ makes trees.
 */

/* Module life. */
int av_window_init(void);
void av_window_exit(void);

/*
 * VM and vCPU life. The register file's two pages go into the window behind the
 * code, at the vCPU's index; av_srf_alloc() made it, or returned NULL.
 */
struct av_srf *av_srf_alloc(void);
void av_srf_free(struct av_srf *srf);
int av_switch_vm_init(struct av_vm_switch *vsw);
void av_switch_vm_destroy(struct av_vm_switch *vsw);
int av_switch_vcpu_init(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int idx);
void av_switch_vcpu_destroy(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    unsigned int idx);

/*
 * Run the guest until something ends it; the register file has the reason.
 * Interrupts off; they end it too and stay pending for the host to take. The
 * controls in csw->priv are set (cpu/controls.h).
 */
void av_switch_run(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
		   struct av_srf *srf, const struct av_entry *entry);

/*
 * Once more, from where the last stay ended: by what the window did that may be
 * another mode, or other tables. Interrupts have been off since, and nothing
 * but the guest's general registers and PC was changed.
 */
void av_switch_again(struct av_vcpu_switch *csw, struct av_srf *srf);

/* switch/enter.S */
asmlinkage void av_switch_enter(struct av_private *priv);
extern const char av_window_code[], av_window_code_end[];

#endif /* AV_SWITCH_SWITCH_H */
