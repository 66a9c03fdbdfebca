/* SPDX-License-Identifier: GPL-2.0 */
/* The world switch as C sees it. mmu/ makes the tables; switch/tlb.h has their ASIDs. */
#ifndef AV_SWITCH_SWITCH_H
#define AV_SWITCH_SWITCH_H

#include <linux/linkage.h>
#include <linux/types.h>

#include "switch/types.h"
#include "switch/wide.h"

struct av_private;
struct av_srf;
struct av_vm;

typedef bool av_light_fn(void *data);

/*
 * The tables to enter with. root0: physical address of the root for TTBR0. ttbr1: by virtual
 * exception level, the root with the context's ASID (switch/tlb.h); the other level's is 0 if the
 * window must not switch to that level. The roots map the window at the vCPU's position.
 */
struct av_entry {
	u64 root0;
	u64 ttbr1[2];
	unsigned int el;	/* the virtual exception level to enter */
	bool copies;		/* virtual EL1 runs from copies (mmu/code/copies.h) */
};

/*
 * The window (switch/window_desc.h). av_switch_vm_init() makes the VM's level-3 table before mmu/
 * makes any tree. Every tree for TTBR1 links it, at the position of the vCPUs that use the tree.
 */

/* Module load and unload. May sleep. */
int av_window_init(void);
void av_window_exit(void);

/*
 * VM and vCPU life; may sleep. av_srf_alloc() returns the two pages of a register file, or
 * NULL; they are mapped in the window behind the code, by the vCPU's index.
 */
struct av_srf *av_srf_alloc(void);
void av_srf_free(struct av_srf *srf);
int av_switch_vm_init(struct av_vm_switch *vsw);
/* No vCPU of the VM will run again: one flush of everything saves a large flush for each vCPU. */
void av_switch_vm_end(struct av_vm *vm);
void av_switch_vm_destroy(struct av_vm_switch *vsw);
int av_switch_vcpu_init(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int idx);
void av_switch_vcpu_destroy(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    unsigned int idx);

/*
 * Set the window's position for a vCPU (csw->position), from its next entry on. It is
 * AV_WINDOW_HOME at first. Called by the vCPU's own thread, under mmu_lock.
 */
void av_switch_set_position(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    struct av_srf *srf, unsigned int idx, unsigned int position);

/*
 * av_switch_set_timed() selects the copy of the window's code that a vCPU runs from its next entry
 * on: the plain one, or the one that times fast traps (switch/timing.S). av_switch_map_timed() must
 * map the latter for the VM first. That copy takes the place of the last vCPUs' register files:
 * false if the VM has those vCPUs; otherwise they can no longer be created. Under vm->lock.
 */
bool av_switch_map_timed(struct av_vm_switch *vsw, unsigned int nr_vcpus);
void av_switch_set_timed(struct av_vcpu_switch *csw, bool timed);

/*
 * Run the guest until an exit; the register file has the reason. Call with interrupts off: an
 * interrupt ends the stay in the guest and stays pending for the host. The controls in
 * csw->priv must be set (cpu/controls.h).
 */
void av_switch_run(struct av_vcpu_switch *csw, struct av_srf *srf, const struct av_entry *entry);

/*
 * Enter the guest again after av_switch_run(), interrupts having been off ever since. The guest
 * continues where it was: in the mode and with the tables that the window left, which may
 * differ from the entry's. Before this, the caller may take an exception to virtual EL1, as the
 * window might have.
 */
void av_switch_again(struct av_vcpu_switch *csw, struct av_srf *srf);
/* Call this before av_switch_again() to enter with other tables than the window left. */
void av_switch_set_roots(struct av_vcpu_switch *csw, struct av_srf *srf,
			 const struct av_entry *entry);

/*
 * Light exits. If the caller of av_switch_run() has set srf->light, aborts, and TLBI and HVC of
 * virtual EL1, do not return from av_switch_run(). Instead they call light(data) on the
 * caller's stack, with all of DAIF masked. True: enter the guest again, as av_switch_again()
 * does. False: return.
 *
 * During the call the FP registers, and the host registers that affect EL0, still have the
 * guest's values. The guest's x19 to x28 are not in the register file: do not read or write
 * them there. Host code must be able to run under the guest's TCR_EL1 and SCTLR_EL1.
 */
void av_switch_set_light(struct av_vcpu_switch *csw, av_light_fn *light, void *data);

/*
 * The window has room for guest tables of the first AV_TABLE_VCPUS vCPUs, in a VM with at most
 * AV_TABLES_MOST_VCPUS vCPUs.
 */
#define AV_TABLE_VCPUS		64
#define AV_TABLES_MOST_VCPUS	124

/*
 * Map a page of the guest as vCPU idx's n'th table for the window to read; unmap it; flush it at
 * every position in use, between av_tlb_flush_begin() and _end(). Unmap and flush a table before
 * mapping another in its place. Under mmu_lock.
 */
void av_switch_show_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n, u64 pa);
void av_switch_hide_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n);
void av_switch_flush_table(const struct av_vm_switch *vsw, unsigned int idx, unsigned int n);

/*
 * Does each entry flush the CPU's TLB (switch/enter.S)? Yes if the host's kernel mappings are
 * global. They are not on a host that uses KPTI, or would use it because of KASLR.
 */
bool av_switch_flushes(void);

/* switch/enter.S, and the functions that it calls at a light exit */
asmlinkage void av_switch_enter(struct av_private *priv);
asmlinkage void av_switch_light_pstate(struct av_private *priv);
extern const char av_window_code[], av_window_code_end[], av_switch_light[];
extern const char av_switch_light_image[], av_switch_image_missed[];
extern const char av_window_timed_code[], av_window_timed_code_end[];	/* switch/timed.S */

extern const struct av_wide_site av_window_wide_sites[AV_WIDE_SITES];
extern const struct av_wide_site av_window_timed_wide_sites[AV_WIDE_SITES];

#endif /* AV_SWITCH_SWITCH_H */
