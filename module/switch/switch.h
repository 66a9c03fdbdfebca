/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world switch as C sees it.
 *
 * A context is a pair of shadow trees run under one ASID of the host's. A VM
 * has AV_NR_CONTEXTS of them, numbered; which trees a context means is mmu/'s
 * business, and so is flushing a context's ASID before it means others.
 * TLB entries of ours are never global.
 */
#ifndef AV_SWITCH_SWITCH_H
#define AV_SWITCH_SWITCH_H

#include <linux/linkage.h>
#include <linux/types.h>

#include "switch/types.h"

struct av_srf;

/* What to run next: physical addresses of the roots, and the context's number. */
struct av_entry {
	u64 ttbr0;
	u64 ttbr1;
	unsigned int context;
	bool flush_local;	/* drop all of this CPU's TLB on the way in */
};

/*
 * The window: the top 2 MiB of the kernel half. Every shadow TTBR1 root maps
 * it: root[511] is av_window_root_desc(), a table descriptor to write as it is.
 */
#define AV_WINDOW_START		0xffffffffffe00000ULL

u64 av_window_root_desc(const struct av_vm_switch *sw);

/* The host ASID of a context, for TLBI by ASID. */
u16 av_context_asid(const struct av_vm_switch *sw, unsigned int context);

/* Module life. */
int av_window_init(void);
void av_window_exit(void);

/* VM and vCPU life; the register file goes into the window at slot id + 1. */
int av_switch_vm_init(struct av_vm_switch *sw);
void av_switch_vm_destroy(struct av_vm_switch *sw);
void av_switch_vcpu_init(struct av_vm_switch *sw, struct av_srf *srf, unsigned int id);

/*
 * Run the guest until something ends it; the register file has the reason.
 * Interrupts off; they end it too and stay pending for the host to take.
 */
void av_switch_run(const struct av_vm_switch *vsw, struct av_srf *srf,
		   const struct av_entry *entry, bool fp);

/* Go there and back once, before anybody depends on it: 0, or -ENODEV said in the log. */
int av_switch_selftest(void);

/* switch/enter.S */
asmlinkage void av_switch_enter(struct av_srf *srf);
extern const char av_window_code[], av_window_code_end[];

#endif /* AV_SWITCH_SWITCH_H */
