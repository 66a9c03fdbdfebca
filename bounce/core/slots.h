/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots of 2 KiB in areas, as the kernel's swiotlb has them: a buffer is a run of free
 * slots within a segment of 256 KiB, looked for slot by slot.
 *
 * Pure code. Rules:
 * - Records are private memory. The pool itself, which the VMM sees, is never touched here.
 * - A call takes one area's lock at a time, and holds it for at most one search of that
 *   area. Interrupts are off under it, so that all may be called in any context.
 * - A buffer never crosses a segment: only within one is the memory contiguous.
 */
#ifndef AV_CORE_SLOTS_H
#define AV_CORE_SLOTS_H

#include "av_types.h"
#include "av_lock.h"

#define AV_SLOT_SHIFT		11
#define AV_SLOT_BYTES		BIT(AV_SLOT_SHIFT)
#define AV_SEGMENT_SHIFT	18
#define AV_SEGMENT_BYTES	BIT(AV_SEGMENT_SHIFT)
#define AV_SEGMENT_SLOTS	(AV_SEGMENT_BYTES / AV_SLOT_BYTES)

/* No buffer: the answer of what looks for one. */
#define AV_NO_BUFFER		(~0ULL)
/* In place of the driver's memory: a coherent buffer, which stands for none. */
#define AV_NO_ORIG		(~0ULL)

/*
 * What a device may do with a mapping. It is remembered here, as the driver may have it from
 * memory that the VMM can write.
 */
#define AV_DEVICE_READS		BIT(0)
#define AV_DEVICE_WRITES	BIT(1)

/* Sizes of 2^(n-1) + 1 to 2^n bytes, for n of 0 to 18. */
#define AV_SIZE_CLASSES		(AV_SEGMENT_SHIFT + 1)

/* What a mapping wants, and what its buffer remembers of it. */
/*
 * How long a buffer stays, which says how much of an area it may take: what waits for an event
 * leaves room for what is being sent, and both for a disk's requests, which only wait for the
 * disk. Without that, packets that never come could keep a disk waiting for ever.
 */
enum av_stay {
	AV_WAITS,	/* for what comes, and rings: while their driver is there */
	AV_SENT,
	AV_REQUEST,	/* a disk's */
	AV_STAYS,
};

struct av_ask {
	u64 orig;	/* physical address of the driver's memory, or AV_NO_ORIG */
	u32 bytes;	/* 1 to AV_SEGMENT_BYTES */
	u32 align;	/* of the buffer: a power of two, at most AV_SEGMENT_BYTES */
	u16 owner;	/* the device's number */
	u8 access;	/* AV_DEVICE_* */
	u8 stay;	/* enum av_stay */
};

/* A place in a buffer that is in use. */
struct av_found {
	u64 orig;	/* what stands in the driver's memory for this place, or AV_NO_ORIG */
	u64 begin;	/* the buffer's first byte: an offset in the pool */
	u32 left;	/* bytes of the mapping from this place on */
	u16 owner;
	u8 access;
	struct av_list *list;	/* of the cache, where the buffer has this number; NULL: in slots */
	u32 number;
};

struct av_slot {
	u64 orig;	/* of this slot's first byte */
	u32 left;	/* bytes of the mapping from here on */
	u16 free;	/* free slots from here on in the segment; 0: in use */
	u16 before;	/* in use: slots of the same buffer before this one */
	u16 owner;
	u8 access;
};

struct av_area {
	struct av_lock lock;
	u32 next;			/* slot where the next search begins */
	u32 used, most;			/* slots in use; the most there were */
	u32 buffers;			/* in use */
	u64 looked;			/* slots that searches looked at */
	u64 failed;			/* searches that found nothing */
	u64 got[AV_SIZE_CLASSES];	/* buffers given, by size */
} __aligned(64);

struct av_slots {
	struct av_slot *slot;
	struct av_area *area;
	u32 areas;	/* a power of two */
	u32 per_area;	/* slots, a multiple of AV_SEGMENT_SLOTS */
	bool reuse;	/* a search begins at what was given back last: both sides have it in their caches */
};

/* The first slot of an area that a buffer which stays so long may not have. */
static inline u32 av_slots_end(u32 per_area, u8 stay)
{
	static const u8 eighths[AV_STAYS] = { [AV_WAITS] = 3, [AV_SENT] = 4, [AV_REQUEST] = 8 };

	return per_area / 8 * eighths[stay];
}

/* The n of a size's class. */
static inline u32 av_size_class(u32 bytes)
{
	return fls64(bytes - 1);
}

/* slot: areas * per_area records; area: areas of them. */
void av_slots_init(struct av_slots *slots, struct av_slot *slot, struct av_area *area, u32 areas,
		   u32 per_area);

/* A buffer's offset among the slots, from cpu's area or else another; or AV_NO_BUFFER. */
u64 av_slots_get(struct av_slots *slots, u32 cpu, const struct av_ask *ask);

/* 0, or -ENOENT if nothing of a mapping is there. The caller has the mapping, so it stays. */
int av_slots_find(const struct av_slots *slots, u64 offset, struct av_found *found);

/* 0; -ENOENT: it is free already; -EINVAL: no buffer begins there. */
int av_slots_put(struct av_slots *slots, u64 offset);

/* How many buffers a device has. Takes each lock for a segment at a time. */
u64 av_slots_owned(struct av_slots *slots, u16 owner);

/* All of a device's but the coherent ones are free again: how many there were. As slow. */
u64 av_slots_reclaim(struct av_slots *slots, u16 owner);

#endif /* AV_CORE_SLOTS_H */
