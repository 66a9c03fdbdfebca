/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copying and clearing of buffers in fewer instructions than memcpy() and memset() take.
 *
 * A copy through vector registers takes a quarter of memcpy()'s, but kernel_neon_begin() is not
 * allowed with interrupts off, as drivers have them when they map. So a few registers are saved and
 * restored by hand, with interrupts off. A register that is written loses what SVE has above it:
 * not where there is SVE or SME. A hypervisor may load the guest's vector registers only once they
 * are used, so one small copy alone is memcpy()'s.
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
/* Of smaller copies not even many pay. */
#define AV_WIDE_LEAST	1024UL
/* At a time with interrupts off; a copy of more than that pays by itself. */
#define AV_WIDE_MOST	4096UL
#define AV_WIDE_LINE	64UL

/* What these CPUs can. */
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
