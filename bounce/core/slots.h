/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots of 2 KiB in areas, as in the kernel's swiotlb: a buffer is a run of free slots within a
 * segment of 256 KiB, found by a linear search.
 *
 * Pure code. Rules:
 * - Records are private memory. The pool's own memory, which the VMM sees, is never accessed here.
 * - A call takes one area's lock at a time, and holds it for at most one search of that area.
 *   Interrupts are off under it, so all functions may be called in any context.
 * - A buffer never crosses a segment: memory is contiguous only within one.
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

/* Returned if there is no buffer. */
#define AV_NO_BUFFER		(~0ULL)
/* The orig of a coherent buffer, which copies no driver memory. */
#define AV_NO_ORIG		(~0ULL)

/*
 * What a device may do with a mapping. Recorded here, because the driver may read the direction
 * from memory that the VMM can write.
 */
#define AV_DEVICE_READS		BIT(0)
#define AV_DEVICE_WRITES	BIT(1)

/* Class n is for sizes of 2^(n-1) + 1 to 2^n bytes, n from 0 to 18. */
#define AV_SIZE_CLASSES		(AV_SEGMENT_SHIFT + 1)

/*
 * What a buffer waits for, which limits how much of an area it may use. Buffers that wait for
 * events leave room for data being sent, and both leave room for disk requests, which wait for
 * nothing but the disk. Otherwise packets that never arrive could block a disk forever.
 */
enum av_stay {
	AV_WAITS,	/* for incoming data, and rings: as long as the driver is bound */
	AV_SENT,
	AV_REQUEST,	/* a disk request's */
	AV_STAYS,
};

/* A request for a buffer; the buffer's record keeps part of it. */
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
	u64 orig;	/* the driver's memory for this place, or AV_NO_ORIG */
	u64 begin;	/* offset in the pool of the buffer's first byte */
	u32 left;	/* bytes of the mapping from this place on */
	u16 owner;
	u8 access;
	struct av_list *list;	/* the cache's list, number: within it; NULL: slots */
	u32 number;
};

struct av_slot {
	u16 free;	/* number of free slots from here on in the segment; 0: in use */
	u16 before;	/* if in use: number of slots of this buffer before this one */
	/* Of a buffer's first slot only: */
	u32 bytes;	/* of the mapping */
	u64 orig;	/* driver's memory for its first byte */
	u16 owner;
	u8 access;
};

struct av_area {
	struct av_lock lock;
	u32 next;			/* slot where the next search begins */
	u32 used, most;			/* slots in use, and their maximum so far */
	u32 buffers;			/* in use */
	u64 looked;			/* slots that searches visited */
	u64 failed;			/* searches without a result */
	u64 got[AV_SIZE_CLASSES];	/* buffers given out, by size */
} __aligned(64);

struct av_slots {
	struct av_slot *slot;
	struct av_area *area;
	u32 areas;	/* a power of two */
	u32 per_area;	/* slots, a multiple of AV_SEGMENT_SLOTS */
	bool reuse;	/* search where a buffer was freed last: it is in CPU caches */
};

/* The end of the part of an area that buffers of this stay may use, in slots. */
static inline u32 av_slots_end(u32 per_area, u8 stay)
{
	static const u8 eighths[AV_STAYS] = { [AV_WAITS] = 3, [AV_SENT] = 4, [AV_REQUEST] = 8 };

	return per_area / 8 * eighths[stay];
}

/* The class of a size. */
static inline u32 av_size_class(u32 bytes)
{
	return fls64(bytes - 1);
}

/* slot has areas * per_area entries, area has areas. */
void av_slots_init(struct av_slots *slots, struct av_slot *slot, struct av_area *area, u32 areas,
		   u32 per_area);

/* Returns a buffer's offset in the slots, from cpu's area or else another, or AV_NO_BUFFER. */
u64 av_slots_get(struct av_slots *slots, u32 cpu, const struct av_ask *ask);

/* Returns 0, or -ENOENT if no mapping is there. The caller holds the mapping, so it stays. */
int av_slots_find(const struct av_slots *slots, u64 offset, struct av_found *found);

/* Returns 0; -ENOENT: already free; -EINVAL: no buffer begins there. */
int av_slots_put(struct av_slots *slots, u64 offset);

/* The number of buffers that a device has. Holds a lock for one segment at a time. */
u64 av_slots_owned(struct av_slots *slots, u16 owner);

/* Free all of a device's buffers except coherent ones. Returns their number. As slow. */
u64 av_slots_reclaim(struct av_slots *slots, u16 owner);

#endif /* AV_CORE_SLOTS_H */
