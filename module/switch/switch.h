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

#include <linux/types.h>

struct av_vm;
struct av_vcpu;

#define AV_NR_CONTEXTS	8

/* What to run next. Physical addresses of the roots; context's number. */
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
#define AV_WINDOW_START	0xffffffffffe00000ULL

u64 av_window_root_desc(struct av_vm *vm);

/* The host ASID of a context, for TLBI by ASID. */
u16 av_context_asid(struct av_vm *vm, unsigned int context);

#endif /* AV_SWITCH_SWITCH_H */
