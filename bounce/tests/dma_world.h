/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A protected guest with devices, for tests of dma.c and region.c: its RAM, the state of its pages
 * (shared or not), and a VMM that reads and writes shared pages. Memory that nobody sends is full
 * of SECRET: no shared page may ever hold that byte.
 */
#ifndef AV_TESTS_DMA_WORLD_H
#define AV_TESTS_DMA_WORLD_H

#include "bounce.h"
#include "hyp.h"
#include "require.h"

#define SECRET	0xa5	/* private memory, from the beginning */
#define SENT	0x3c	/* what a driver sends */
#define ANSWER	0x77	/* what the VMM writes as a device */
#define EVIL	0x66	/* what it writes at any other time */

struct device;

/* The VMM's view. */
extern bool seen[RAM_PAGES];
/* Just before the page is taken back: does the VMM write it once more? */
extern bool writes_late;
/* A page whose sharing fails; one whose unsharing fails. Frames, or 0. */
extern u64 never_shared, never_back;
extern u32 refused;	/* hypercalls that had no right to come */

/* Bytes that wide.S would have copied and cleared. av_wide permits it; no world sets that. */
extern u64 wide_copied, wide_cleared;

void world_begin(enum av_mode mode, u64 pool, bool sharing);
/* All buffers are free, and nothing is shared any more. */
void world_end(void);

/* A device that the module serves, with addresses of this many bits. */
struct device *world_device(u32 number, u64 mask);
struct av_device *world_owner(struct device *dev);

/* Pages of the driver's, full of a byte. */
void *world_pages(u32 count, u8 byte);

/* The device's accesses: the address must be in shared memory. */
void *world_seen(dma_addr_t dma, size_t size);

/* The VMM writes everywhere it can. */
void world_scribble(void);

/* Shared bytes that are so. */
u64 world_sees(u8 byte);
u32 world_shared(void);

#endif /* AV_TESTS_DMA_WORLD_H */
