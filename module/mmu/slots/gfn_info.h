/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-frame state of a slot: the head of the frame's reverse map, the host page last found
 * behind it, and a state byte. Pure.
 *
 * A piece is one page with the state of AV_PIECE_FRAMES frames. It is allocated before the
 * first entry for one of them is filled, and freed with the slot: an unused slot costs nothing.
 * Frames without a piece have state zero. Pieces are linked from a two-level table, which is
 * allocated with them.
 *
 * Blocks of AV_BLOCK_FRAMES frames have reverse map heads of their own, also in pieces, so that
 * a memory mapped only by blocks needs no pieces of frames. The first and the last block may
 * extend beyond the slot.
 *
 * Several threads may allocate pieces at once. A piece stays where it is and is found without a
 * lock. Heads are under mmu_lock.
 */
#ifndef AV_MMU_GFN_INFO_H
#define AV_MMU_GFN_INFO_H

#include "lib/av_types.h"
#include "mmu/walk/walk.h"

#define AV_PIECE_FRAMES		315
/* Pieces per table of the second level. */
#define AV_GFN_INFO_FANOUT	512

#define AV_BLOCK_FRAMES		512
/* Heads of blocks per piece. */
#define AV_PIECE_BLOCKS		1024

/* The state byte; changed under mmu_lock. */
#define AV_FRAME_EXECUTED	BIT(0)	/* instructions are coherent since the page came */
#define AV_FRAME_COPIED		BIT(1)	/* virtual EL1 executes a copy of it: mmu/code/copies.h */
#define AV_FRAME_YOUNG		BIT(2)	/* filled from the known page since the host last asked */

/*
 * A host page: its address, and whether the guest may write to it. A known page is as valid as a
 * shadow entry: the MMU notifier drops it with the entries, and entries are filled from it under
 * the same lock. 0: unknown.
 */
#define AV_FRAME_WRITABLE	BIT_ULL(0)
#define AV_FRAME_PAGE		GENMASK_ULL(63, 12)

struct av_piece {
	u64 page[AV_PIECE_FRAMES];
	u32 head[AV_PIECE_FRAMES];
	u8 state[AV_PIECE_FRAMES];
};

static_assert(sizeof(struct av_piece) <= 4096 && sizeof(struct av_piece) > 4080, "a page");

struct av_gfn_info {
	u64 nr;				/* frames of the slot */
	struct av_piece ***top;		/* NULL, or tables of AV_GFN_INFO_FANOUT pieces */
	u32 **blocks;			/* NULL, or a pointer for each piece of blocks */
};

struct av_gfn_info_ops {
	/* Zeroed memory, or NULL. */
	void *(*alloc)(size_t size);
	void (*free)(void *mem, size_t size);
};

/* Another CPU may set these pointers: read each once, before the memory that it points to. */
static inline struct av_piece **av_gfn_info_table(const struct av_gfn_info *frames, u64 i)
{
	struct av_piece ***top = READ_ONCE(frames->top);

	return top ? READ_ONCE(top[i]) : NULL;
}

/* Frames are counted from the slot's first frame, and have 31 bits: division is short. */
static inline struct av_piece *av_gfn_info_piece(const struct av_gfn_info *frames, u64 frame)
{
	u32 piece = (u32)frame / AV_PIECE_FRAMES;
	struct av_piece **table = av_gfn_info_table(frames, piece / AV_GFN_INFO_FANOUT);

	return table ? READ_ONCE(table[piece % AV_GFN_INFO_FANOUT]) : NULL;
}

/* Make sure that a frame has a piece. 0 or -ENOMEM. */
int av_gfn_info_make(struct av_gfn_info *frames, u64 frame, const struct av_gfn_info_ops *ops);
/* The same for a block, counted from the block that contains the slot's first frame. */
int av_gfn_info_make_block(struct av_gfn_info *frames, u64 block,
			   const struct av_gfn_info_ops *ops);
void av_gfn_info_free(struct av_gfn_info *frames, const struct av_gfn_info_ops *ops);

/* Most pieces, or tables of pieces, that one av_gfn_info_next() looks at. */
#define AV_GFN_INFO_LOOKS		4096

/*
 * The first frame in [frame, end) that has a piece; end if there is none. Callers may hold
 * mmu_lock, so after AV_GFN_INFO_LOOKS steps this returns the frame where to continue, which may
 * have no piece.
 */
u64 av_gfn_info_next(const struct av_gfn_info *frames, u64 frame, u64 end);

/*
 * The first block in [block, end) with an entry on its head, or end; or where to continue, as
 * above.
 */
u64 av_gfn_info_next_block(const struct av_gfn_info *frames, u64 block, u64 end);

/* Does any of n frames from this one on have a bit of the state byte set? */
bool av_gfn_info_any(const struct av_gfn_info *frames, u64 frame, u64 n, u8 bit);

/* NULL: no piece. */
static inline u32 *av_gfn_info_block(const struct av_gfn_info *frames, u64 block)
{
	u32 **blocks = READ_ONCE(frames->blocks);
	u32 *piece = blocks ? READ_ONCE(blocks[block / AV_PIECE_BLOCKS]) : NULL;

	return piece ? &piece[block % AV_PIECE_BLOCKS] : NULL;
}

/* NULL: no piece. */
static inline u32 *av_gfn_info_head(const struct av_gfn_info *frames, u64 frame)
{
	struct av_piece *piece = av_gfn_info_piece(frames, frame);

	return piece ? &piece->head[(u32)frame % AV_PIECE_FRAMES] : NULL;
}

static inline u8 *av_gfn_info_state(const struct av_gfn_info *frames, u64 frame)
{
	struct av_piece *piece = av_gfn_info_piece(frames, frame);

	return piece ? &piece->state[(u32)frame % AV_PIECE_FRAMES] : NULL;
}

/*
 * Consecutive frames of one piece and one slot (the piece may extend beyond the slot). A cached
 * part is found faster than the piece.
 */
struct av_gfn_info_part {
	struct av_piece *piece;
	u32 gfn;			/* first frame of the piece */
	u32 nr;				/* 0: no part */
};

/* The part that contains gfn, of a slot whose first frame is base. nr is 0 without a piece. */
static inline void av_gfn_info_find_part(const struct av_gfn_info *frames, u64 base, u64 gfn,
					 struct av_gfn_info_part *part)
{
	u64 frame = gfn - base, first;

	part->nr = 0;
	if (frame >= frames->nr)
		return;
	first = frame - (u32)frame % AV_PIECE_FRAMES;
	part->piece = av_gfn_info_piece(frames, frame);
	part->gfn = base + first;
	if (part->piece)
		part->nr = min_t(u64, AV_PIECE_FRAMES, frames->nr - first);
}

/* NULL: the part does not contain gfn. */
static inline u32 *av_gfn_info_part_head(const struct av_gfn_info_part *part, u64 gfn)
{
	u64 n = gfn - part->gfn;

	return likely(n < part->nr) ? &part->piece->head[n] : NULL;
}

/*
 * Reduce rights to those that the known page of a piece's n'th frame can be filled with now. 0:
 * none: the page is unknown, not yet coherent for execution, or has a copy.
 */
static inline u8 av_frame_rights(const struct av_piece *piece, unsigned int n, u8 rights)
{
	if (!piece->page[n] || piece->state[n] & AV_FRAME_COPIED ||
	    (rights & AV_X && !(piece->state[n] & AV_FRAME_EXECUTED)))
		return 0;
	return piece->page[n] & AV_FRAME_WRITABLE ? rights : rights & ~AV_W;
}

static inline u64 *av_gfn_info_page(const struct av_gfn_info *frames, u64 frame)
{
	struct av_piece *piece = av_gfn_info_piece(frames, frame);

	return piece ? &piece->page[(u32)frame % AV_PIECE_FRAMES] : NULL;
}

#endif /* AV_MMU_GFN_INFO_H */
