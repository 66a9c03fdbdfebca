/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dirty ring: one entry per page that a vCPU has written, in memory that the VMM has mapped
 * (KVM_CAP_DIRTY_LOG_RING_ACQ_REL). The VMM reads the entries in order, marks them as taken,
 * and asks for a reset: then they are free, and their pages are logged again.
 *
 * Pure code. The VMM may write any byte of an entry at any time: read each word once, and use it
 * only as a hint, which the caller checks, for the page to protect. Two counters outside that
 * memory define the contents of the ring. The vCPU's own thread adds entries; a reset is done under
 * a lock (slots_lock).
 */
#ifndef AV_MMU_RING_H
#define AV_MMU_RING_H

#include "lib/av_types.h"

/* KVM's limits. */
#define AV_RING_MAX		65536	/* entries */
#define AV_RING_RESERVED	64	/* of these, for the additions of one exit to a full ring */
#define AV_RING_MIN_BYTES	4096

/* KVM_DIRTY_GFN_F_* */
#define AV_RING_DIRTY		BIT(0)
#define AV_RING_TAKEN		BIT(1)

/* struct kvm_dirty_gfn */
struct av_ring_entry {
	u32 flags;
	u32 slot;
	u64 offset;		/* in pages */
};

#define AV_RING_MAX_BYTES	(AV_RING_MAX * sizeof(struct av_ring_entry))

struct av_ring {
	struct av_ring_entry *at;
	u32 size;		/* entries, a power of two; 0: no ring */
	u32 put, reset;		/* counts of entries added and reset; both wrap */
};

/* Up to 64 pages of one slot: bit n of mask is page offset + n. */
struct av_ring_run {
	u32 slot;
	u64 offset, mask;
};

/* Check a size in bytes. Returns KVM's errnos. */
int av_ring_check_size(u32 bytes);

/* Set up a ring; at is zeroed memory. */
void av_ring_init(struct av_ring *ring, struct av_ring_entry *at, u32 bytes);

static inline u32 av_ring_used(const struct av_ring *ring)
{
	return READ_ONCE(ring->put) - READ_ONCE(ring->reset);
}

/* Full except for the reserve: the vCPU must not run. Called by the vCPU's own thread. */
static inline bool av_ring_soft_full(const struct av_ring *ring)
{
	return av_ring_used(ring) >= ring->size - AV_RING_RESERVED;
}

/* Add a page. False: there is no room at all. */
bool av_ring_put(struct av_ring *ring, u32 slot, u64 offset);

/* The number of entries added so far: the end, for av_ring_reset(). */
static inline u32 av_ring_end(const struct av_ring *ring)
{
	/* Pairs with the release in av_ring_put(). */
	return smp_load_acquire(&ring->put);
}

/*
 * Reset up to 64 consecutive entries before end that were taken and whose pages are near each
 * other. Returns how many. 0: the next entry was not taken, or end is reached.
 */
unsigned int av_ring_reset(struct av_ring *ring, u32 end, struct av_ring_run *run);

/* Limit a run to a slot of npages. False: nothing is left. */
bool av_ring_clip(struct av_ring_run *run, u64 npages);

#endif /* AV_MMU_RING_H */
