/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dirty ring: pages that a vCPU has written to, an entry each, in memory that the
 * VMM has mapped (KVM_CAP_DIRTY_LOG_RING_ACQ_REL). The VMM takes entries in their
 * order, marks them as taken, and has the hypervisor reset them: they are free
 * again, and their pages are logged anew.
 *
 * Pure code. The VMM may write any byte of an entry at any time: a word is read once,
 * and is no more than a hint which page to protect, to be checked by the caller.
 * What is in the ring is known by two counts, which are not in that memory. The
 * vCPU's own thread puts entries in; who resets them holds a lock (slots_lock).
 */
#ifndef AV_MMU_RING_H
#define AV_MMU_RING_H

#include "lib/av_types.h"

/* KVM's limits. */
#define AV_RING_MAX		65536	/* entries */
#define AV_RING_RESERVED	64	/* of them, for what one exit puts in once the ring is full */
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
	u32 put, reset;		/* entries so far; both wrap */
};

/* Some pages of one slot: offset, and those of the next 63 that mask has. */
struct av_ring_run {
	u32 slot;
	u64 offset, mask;
};

/* KVM's errnos for a size in bytes. */
int av_ring_check_size(u32 bytes);

/* at: zeroes. */
void av_ring_init(struct av_ring *ring, struct av_ring_entry *at, u32 bytes);

static inline u32 av_ring_used(const struct av_ring *ring)
{
	return READ_ONCE(ring->put) - READ_ONCE(ring->reset);
}

/* Full, but for the reserve: the vCPU, whose thread asks, is not to run. */
static inline bool av_ring_soft_full(const struct av_ring *ring)
{
	return av_ring_used(ring) >= ring->size - AV_RING_RESERVED;
}

/* Put a page in: false when there is no room at all. */
bool av_ring_put(struct av_ring *ring, u32 slot, u64 offset);

/* How many entries have been put in: the end, for av_ring_reset(). */
static inline u32 av_ring_end(const struct av_ring *ring)
{
	/* Pairs with the release in av_ring_put(). */
	return smp_load_acquire(&ring->put);
}

/*
 * Reset entries that were taken, 64 at most, which come before end and one after the
 * other, and are of pages near each other: how many. 0: the next entry has not been
 * taken.
 */
unsigned int av_ring_reset(struct av_ring *ring, u32 end, struct av_ring_run *run);

/* Leave of a run what is in a slot of so many pages: false for nothing. */
bool av_ring_clip(struct av_ring_run *run, u64 npages);

#endif /* AV_MMU_RING_H */
