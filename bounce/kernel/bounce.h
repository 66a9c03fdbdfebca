/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's state, and what its files have of each other.
 *
 * Rules of the kernel half:
 * - What the VMM can write is never asked for an address, a length or a direction: those
 *   come from the pool's private records. Bytes of a buffer are read once, by the copy.
 * - What the kernel itself works on is bounced in every mode: the VMM can write a page that
 *   is shared while the kernel has it.
 * - A driver's call that makes no sense (an address that is no mapping's) changes nothing,
 *   is counted and logged: the driver may have it from memory that the VMM wrote.
 * - Mapping, unmapping and syncing are allowed in any context.
 */
#ifndef AV_KERNEL_BOUNCE_H
#define AV_KERNEL_BOUNCE_H

#include <linux/atomic.h>
#include <linux/dma-map-ops.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "pool.h"
#include "region.h"
#include "shares.h"

#undef pr_fmt
#define pr_fmt(fmt)	"armvisor_bounce: " fmt

/* Counted a CPU; the pool's parts count what concerns them. */
struct av_counts {
	u64 left;		/* bounced mappings whose driver is gone */
	u64 direct;		/* mappings that were shared instead */
	u64 to_device;		/* bytes copied */
	u64 from_device;
	u64 zeroed;		/* bytes of buffers for the device to write */
	u64 exhausted;		/* mappings refused for want of a buffer */
	u64 too_large;		/* mappings larger than a segment, or with no memory behind them */
	u64 senseless;		/* calls for addresses that are no mapping's */
	u64 coherent, freed;	/* coherent allocations in the pool */
	u64 apart;		/* coherent allocations with pages of their own */
};

struct av_bounce {
	struct av_region region;
	struct av_pool pool;
	struct av_shares shares;	/* mode hybrid */
	void *meta;
	struct av_share_set *sets;
};

/* A device that is ours. The ops are its own, so that they lead here in constant time. */
struct av_device {
	const struct dma_map_ops ops;
	struct device *dev;	/* virtio's parent: what DMA is asked for */
	u16 number;		/* the owner in the pool's records */
	bool disk;		/* whose requests only wait for the device */
	bool by_length;		/* its driver reads no more of a buffer than the device wrote */
	u32 most;		/* bytes of a mapping */
	atomic64_t outside;	/* mappings and coherent pages that are not in the pool */
	struct list_head list;
};

extern struct av_bounce av_bounce;
DECLARE_PER_CPU(struct av_counts, av_counts);

#define av_count(field, n)	this_cpu_add(av_counts.field, n)

/* dma.c: what the ops of every device are copied from. */
extern const struct dma_map_ops av_dma_ops;
extern const struct av_share_ops av_dma_share_ops;

/* devices.c: 0 or an errno. At the end no device is ours. */
int av_devices_begin(void);
void av_devices_end(void);
/* One call for each device that is ours. */
void av_devices_show(void (*show)(void *context, const struct av_device *device), void *context);

/* stats.c */
void av_stats_begin(void);
void av_stats_end(void);

#endif /* AV_KERNEL_BOUNCE_H */
