// SPDX-License-Identifier: GPL-2.0
/* Dirty rings: rules in ring.h. */
#include "mmu/slots/ring.h"

#define RUN_PAGES	64

int av_ring_check_size(u32 bytes)
{
	if (!bytes || bytes & (bytes - 1) || bytes < AV_RING_MIN_BYTES ||
	    bytes < AV_RING_RESERVED * sizeof(struct av_ring_entry))
		return -EINVAL;
	return bytes > AV_RING_MAX_BYTES ? -E2BIG : 0;
}

void av_ring_init(struct av_ring *ring, struct av_ring_entry *at, u32 bytes)
{
	ring->at = at;
	ring->size = bytes / sizeof(*at);
	ring->put = 0;
	ring->reset = 0;
}

static struct av_ring_entry *entry_of(const struct av_ring *ring, u32 count)
{
	return &ring->at[count & (ring->size - 1)];
}

bool av_ring_put(struct av_ring *ring, u32 slot, u64 offset)
{
	struct av_ring_entry *entry = entry_of(ring, ring->put);

	/* Pairs with the release in av_ring_reset(): the old entry has been read. */
	if (ring->put - smp_load_acquire(&ring->reset) >= ring->size)
		return false;
	WRITE_ONCE(entry->slot, slot);
	WRITE_ONCE(entry->offset, offset);
	/* Pairs with the acquire in av_ring_end(). */
	smp_store_release(&ring->put, ring->put + 1);
	/* The VMM sees the flag last: a reset right after it has taken the entry includes it. */
	smp_store_release(&entry->flags, (u32)AV_RING_DIRTY);
	return true;
}

/* Add a page to the run if it is near enough. */
static bool join(struct av_ring_run *run, u32 slot, u64 offset)
{
	u64 after = offset - run->offset, before = run->offset - offset;

	if (slot != run->slot)
		return false;
	if (after < RUN_PAGES) {
		run->mask |= BIT_ULL(after);
		return true;
	}
	/* The page is before the run, whose pages must still fit. */
	if (before >= RUN_PAGES || run->mask << before >> before != run->mask)
		return false;
	run->offset = offset;
	run->mask = run->mask << before | 1;
	return true;
}

unsigned int av_ring_reset(struct av_ring *ring, u32 end, struct av_ring_run *run)
{
	unsigned int n;

	for (n = 0; n < RUN_PAGES && ring->reset != end; n++) {
		struct av_ring_entry *entry = entry_of(ring, ring->reset);
		u64 offset;
		u32 slot;

		/* Pairs with the VMM's release: it has finished with the page. */
		if (!(smp_load_acquire(&entry->flags) & AV_RING_TAKEN))
			break;
		slot = READ_ONCE(entry->slot);
		offset = READ_ONCE(entry->offset);
		if (!n)
			*run = (struct av_ring_run) { .slot = slot, .offset = offset, .mask = 1 };
		else if (!join(run, slot, offset))
			break;
		/* The VMM sees the entry free only after it was read. */
		smp_store_release(&entry->flags, 0U);
		/* Pairs with the acquire in av_ring_put(). */
		smp_store_release(&ring->reset, ring->reset + 1);
	}
	return n;
}

bool av_ring_clip(struct av_ring_run *run, u64 npages)
{
	if (run->offset >= npages)
		return false;
	run->offset = array_index_nospec(run->offset, npages);
	if (npages - run->offset < RUN_PAGES)
		run->mask &= BIT_ULL(npages - run->offset) - 1;
	return true;
}
