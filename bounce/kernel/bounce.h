/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's state, and the interfaces between its files.
 *
 * Rules of the kernel half:
 * - Addresses, lengths and directions come from the pool's private records, never from memory that
 *   the VMM can write. Each byte of a buffer is read once, by the copy.
 * - Data that the kernel itself uses is bounced in every mode: the VMM can write a shared page
 *   while the kernel works on it.
 * - A driver's call with an address outside all mappings changes nothing, and is counted and
 *   logged: the driver may have read the address from memory that the VMM wrote.
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

/* Counters per CPU; the parts of the pool have their own. */
struct av_counts {
	u64 left;		/* bounced mappings that a driver left behind */
	u64 direct;		/* mappings shared instead of bounced */
	u64 to_device;		/* bytes copied */
	u64 from_device;
	u64 zeroed;		/* bytes cleared in buffers that the device writes */
	u64 exhausted;		/* mappings refused: no free buffer */
	u64 too_large;		/* mappings larger than a segment, or of addresses without memory */
	u64 senseless;		/* calls with addresses outside all mappings */
	u64 coherent, freed;	/* coherent allocations in the pool */
	u64 apart;		/* coherent allocations outside the pool */
};

struct av_bounce {
	struct av_region region;
	struct av_pool pool;
	struct av_shares shares;	/* mode hybrid */
	void *meta;
	struct av_share_set *sets;
};

/* A device that the module serves. Its own copy of the ops leads here in constant time. */
struct av_device {
	const struct dma_map_ops ops;
	struct device *dev;	/* virtio's parent: the device that does the DMA */
	u16 number;		/* its owner number in the pool's records */
	bool disk;		/* a disk: its requests wait for nothing but the device */
	bool by_length;		/* its driver reads only as many bytes as the device wrote */
	u8 last;		/* AV_DEVICE_*: direction and size of the last mappings; dma.c */
	u32 most;		/* limit of one mapping, in bytes */
	atomic64_t outside;	/* mappings and coherent pages outside the pool */
	struct list_head list;
};

extern struct av_bounce av_bounce;
DECLARE_PER_CPU(struct av_counts, av_counts);

#define av_count(field, n)	this_cpu_add(av_counts.field, n)

/* dma.c: the template for every device's ops. */
extern const struct dma_map_ops av_dma_ops;
extern const struct av_share_ops av_dma_share_ops;

/* devices.c. begin: 0 or a negative errno. end: no device is served. */
int av_devices_begin(void);
void av_devices_end(void);
/* Call show for each device that is served. */
void av_devices_show(void (*show)(void *context, const struct av_device *device), void *context);

/* stats.c */
void av_stats_begin(void);
void av_stats_end(void);

#endif /* AV_KERNEL_BOUNCE_H */
