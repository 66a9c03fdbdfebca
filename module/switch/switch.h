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

typedef bool av_light_fn(void *data);

/*
 * The next entry: physical addresses of the roots for TTBR0 and TTBR1, and
 * TTBR1 with the context's ASID (tlb.h), by virtual exception level. TTBR1 of
 * the other level is 0 where the window may not change to that level.
 */
struct av_entry {
	u64 root0, root1;
	u64 ttbr1[2];
	unsigned int el;	/* the level to enter */
	bool copies;		/* virtual EL1 runs from copies (mmu/copies.h) */
};

/*
 * The window (switch/window_desc.h): every tree for TTBR1 links the VM's level
 * 3 table, which av_switch_vm_init() makes before mmu/ makes trees.
 */

/* Module life. */
int av_window_init(void);
void av_window_exit(void);

/*
 * VM and vCPU life. The two pages of the register file (av_srf_alloc(), NULL
 * without memory) go into the window behind the code, at the vCPU's index.
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
 * Enter again where the last stay ended, in the mode and with the tables that
 * the window left, which may differ from those of the entry, or where an exception
 * was taken to virtual EL1 since, as the window might have. Interrupts have been off.
 */
void av_switch_again(struct av_vcpu_switch *csw, struct av_srf *srf);
/* Before it: other tables than the window left, which are as av_switch_run() would have them. */
void av_switch_set_roots(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			 struct av_srf *srf, const struct av_entry *entry);

/*
 * Light exits: with srf->light, of av_switch_run()'s callers, aborts, and TLBI and HVC of
 * virtual EL1 do not end the stay, but call light(data), on the caller's stack with all of
 * DAIF masked. The registers of the host that bear on EL0 are still the guest's, as well as
 * FP's. x19 to x28 of the guest are not in the register file: nobody may read or write them
 * there. True: enter the guest again, as av_switch_again() would; false: the stay ends.
 * The host's code must be able to run under the guest's TCR_EL1 and SCTLR_EL1.
 */
void av_switch_set_light(struct av_vcpu_switch *csw, av_light_fn *light, void *data);

/*
 * Does each entry flush the CPU's TLB (switch/enter.S)? Where the host's own kernel
 * mappings are global. They are not where the host has KPTI, or would have it for KASLR.
 */
bool av_switch_flushes(void);

/* switch/enter.S, and what it calls at a light exit */
asmlinkage void av_switch_enter(struct av_private *priv);
asmlinkage void av_switch_light_pstate(struct av_private *priv);
extern const char av_window_code[], av_window_code_end[], av_switch_light[];

#endif /* AV_SWITCH_SWITCH_H */
