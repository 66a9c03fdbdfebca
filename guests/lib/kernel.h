/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that runs as Linux does: in the upper half, where its image is mapped, with its vectors
 * behind an Image header and 64 KiB that nothing uses. Addresses taken in its code are those of the
 * half it runs in; addresses in static data are those of the identity map, which remains.
 */
#ifndef GUESTS_KERNEL_H
#define GUESTS_KERNEL_H

/* Where image_start is; a branch reaches no further than 128 MiB from it. */
#define KERNEL_BASE	0xffffff8008200000
/* Unused bytes, from kernel_image on. */
#define KERNEL_UNUSED	0x10000
/* Their contents: in the first page every 8 bytes have this plus their offset; then NOPs. */
#define KERNEL_PATTERN	0x5eed0000
#define KERNEL_GAP	0xd503201fd503201f
/* kernel_make_hole(): bytes of the hole, and of the mappings on both sides. */
#define KERNEL_HOLE	0x100000
#define KERNEL_PART	0x90000

#ifndef __ASSEMBLER__
#include "guest.h"
#include "mmu.h"

/* Attributes of a page that EL1 may read, write and execute. */
#define KERNEL_PAGE	(PTE_PAGE | PTE_AF | PTE_INNER | PTE_NORMAL | PTE_UXN)

/*
 * kernel.S: the header; vectors for exception(), and for the handlers that a program has:
 * kernel_sync and kernel_irq from EL1, kernel_user_sync from EL0.
 */
extern char kernel_image[], kernel_vectors[];
/* The same vectors in an Image whose first 64 KiB are code: the program's own. */
extern char kernel_first_vectors[];

/* The contents of an Image at an offset from its start, behind the header. */
static inline u64 kernel_filler(u64 at)
{
	return at < 4096 ? KERNEL_PATTERN + at : KERNEL_GAP;
}

/*
 * Build the tables: once, in the identity map. The unused part is not executable. False if the
 * image is too large.
 */
bool kernel_init(void);

/* On each CPU, in the identity map: call main() in the upper half, with kernel_vectors. */
void kernel_run(void (*main)(unsigned int cpu), unsigned int cpu);

/*
 * Also in the identity map: behind the image, read-only pages, a hole, and writable pages, as Linux
 * leaves them where its init sections were. Returns the address of the hole's first 64 KiB.
 */
u64 kernel_make_hole(void);

/* The entry for a page of the upper half's first GiB; kernel_flush() when it is written. */
u64 *kernel_entry(u64 va);
void kernel_flush(void);

/* An address in the image: in the upper half, and in the identity map. */
u64 kernel_va(const void *at);
u64 kernel_pa(const void *at);

/* Instructions have been written at both addresses of the range. */
void kernel_sync_code(const void *at, size_t size, u64 executed_at);
#endif
#endif
