/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copying and clearing of buffers in fewer instructions than memcpy() and memset() take.
 *
 * A copy through vector registers takes a quarter of memcpy()'s instructions, but
 * kernel_neon_begin() is not allowed with interrupts off, and drivers may map with interrupts off.
 * So a few registers are saved and restored by hand, with interrupts off. Writing a vector register
 * clears the part that SVE adds to it, so this is not used on a CPU with SVE or SME. A hypervisor
 * may load the guest's vector registers only at their first use, so a single small copy is left to
 * memcpy().
 *
 * Each byte of the source is read once.
 */
#ifndef AV_KERNEL_WIDE_H
#define AV_KERNEL_WIDE_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#define AV_WIDE_BYTES	256UL
/* Smaller copies do not pay, not even many in a row. */
#define AV_WIDE_LEAST	1024UL
/* Most bytes at a time with interrupts off. A single copy of more than that pays. */
#define AV_WIDE_MOST	4096UL
#define AV_WIDE_LINE	64UL

/* What these CPUs support. */
struct av_wide {
	bool copy, clear;
};

extern struct av_wide av_wide;

/* wide.S. bytes: a multiple of AV_WIDE_BYTES, not 0. */
void av_wide_copy(void *to, const void *from, size_t bytes);	/* interrupts are off */
void av_wide_clear(void *at, size_t bytes);	/* at: a multiple of AV_WIDE_LINE */

/* more: other copies like this one come with it. */
static __always_inline void av_copy(void *to, const void *from, size_t size, bool more)
{
	bool wide = av_wide.copy && size >= AV_WIDE_LEAST && (more || size > AV_WIDE_MOST);

	while (wide && size >= AV_WIDE_BYTES) {
		size_t part = min(size & ~(AV_WIDE_BYTES - 1), AV_WIDE_MOST);
		unsigned long flags;

		local_irq_save(flags);
		av_wide_copy(to, from, part);
		local_irq_restore(flags);
		to += part;
		from += part;
		size -= part;
	}
	if (size)
		memcpy(to, from, size);
}

static __always_inline void av_clear(void *at, size_t size)
{
	size_t wide = size & ~(AV_WIDE_BYTES - 1);

	if (av_wide.clear && wide && !((unsigned long)at & (AV_WIDE_LINE - 1))) {
		av_wide_clear(at, wide);
		at += wide;
		size -= wide;
	}
	if (size)
		memset(at, 0, size);
}

#endif /* AV_KERNEL_WIDE_H */
