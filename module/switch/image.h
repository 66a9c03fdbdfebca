/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The image: a second set of tables of the host's kernel half, in which no entry is global. Light
 * exits run in it, with an ASID of the VM's.
 *
 * Why. A full exit puts the host's tables in TTBR1. Where their entries are global, the next entry
 * must flush the CPU's TLB (switch/enter.S). From that flush until the host's tables are in TTBR1
 * again, no global entry can be in the TLB. So a light exit that has the image in TTBR1 flushes
 * nothing. It is also shorter on every host: the image maps the window and the vCPU's private page,
 * so the way there and back is one change of TTBR1 each.
 *
 *	step			TTBR0	TTBR1	ASID
 *	guest			guest	guest	context's
 *	leave the guest's low	none	guest	context's
 *	C of the light exit	none	image	I
 *	back			none	guest	context's
 *	guest			guest	guest	context's
 *
 * Where the host's entries are global, I is an ASID of its own: it is never current while a global
 * entry may be in the TLB. A full entry runs under the hop root with G until it has flushed. Where
 * they are not global, I is G: ASIDs are scarcer there (KPTI), and hop root and image have the same
 * tables for all that both map, from the root's entry down. User memory is not mapped:
 * av_image_here() is for code that would read it.
 *
 * What is missing. The image has what light exits use, learned from what they missed: the kernel's
 * image, this module, the linear map by 2 MiB, struct pages, and memory of ours from vmalloc
 * (av_image_kvzalloc()). Nothing depends on it being complete. The exception of an access that it
 * does not map goes to .Limage_vectors in the window: the host's tables are put in place and the
 * instruction is executed again, with the same stack and registers. The light exit goes on under
 * the host's tables, and its way back flushes. A fault under those is the host's own affair.
 * av_image_learn() then looks at the address.
 *
 * What may change. An entry is a copy of the host's. The kernel's image and a loaded module do not
 * move. Memory leaves the image before it goes offline, and stays out until it is online again.
 * Rights of the linear map change (set_direct_map_*(): secretmem, KFENCE, text of modules): so what
 * the image has of it is dropped once a minute and when the first VM is created. Entries of vmalloc
 * memory go before the memory does. The host's own TLBIs by address are for all ASIDs.
 *
 * Stacks. A thread's stack is in vmalloc, so each CPU has a stack for light exits, in the linear
 * map; its pages never leave the image. It begins where the bit that the host's vectors test for
 * an overflow is 0. The page behind it is the shadow call stack of kernels that have one. A thread
 * that dies in a light exit, by a bug, is left on it.
 *
 * Where there is none: light_image=0; hosts with other tables than for 48 bits (switch/wide.h), as
 * TCR_EL1 changes with TTBR1 there; Realms, which have shared memory at other addresses; hosts whose
 * user accesses replace both TTBRs (software PAN).
 *
 * Locks: image_lock, a mutex, inside every sleeping lock of a VM.
 */
#ifndef AV_SWITCH_IMAGE_H
#define AV_SWITCH_IMAGE_H

#include <linux/gfp.h>
#include <linux/types.h>

struct av_private;
struct av_srf;
struct av_vcpu_switch;
struct av_vm_switch;

/* Module load and unload. */
int av_image_init(void);
void av_image_exit(void);

/* VM life: the VM's root, and its ASID. 0, -ENOMEM or -ENOSPC. */
int av_image_vm_init(struct av_vm_switch *vsw);
void av_image_vm_destroy(struct av_vm_switch *vsw);

/* The vCPU's light exits run in the image from now on, if the VM has one. */
void av_image_vcpu_init(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int idx);

/* Flush a vCPU's private page from the image, between av_tlb_flush_begin() and _end(). */
void av_image_flush_private(unsigned int idx);

/* The CPU's stack for light exits: the value of SP. */
u64 av_image_stack_of(int cpu);

/* Misses, by what came of them: learned are in the image now. */
struct av_image_misses {
	u64 user, vmalloc, other, learned;
};

/*
 * After an exit: look at what its light exits have missed, and add to *misses. percpu: per-CPU
 * memory that they use, of so many bytes. May sleep.
 */
void av_image_learn(struct av_vm_switch *vsw, struct av_private *priv, const void __percpu *percpu,
		    size_t size, struct av_image_misses *misses);

/* Does this code run in the image, where user memory is not mapped? Any context. */
bool av_image_here(void);

/*
 * Memory from vmalloc() that light exits use: the image may have it. av_image_own() returns p,
 * which may be NULL or of kmalloc(); av_image_kvfree() frees it. May sleep.
 */
void *av_image_own(void *p, size_t size);
void *av_image_kvzalloc(size_t size, gfp_t gfp);
void *av_image_kvcalloc(size_t n, size_t size, gfp_t gfp);
void av_image_kvfree(const void *p);

/* Per-CPU memory of av_image_learn() is about to be freed. */
void av_image_forget_percpu(const void __percpu *percpu, size_t size);

#endif /* AV_SWITCH_IMAGE_H */
