/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-frame state of a slot: the head of the frame's reverse map, the host's page
 * that was last found behind it, and a state byte. Pure.
 *
 * A piece is a page of memory with the state of AV_PIECE_FRAMES frames. It is
 * made before the first entry for one of its frames is filled, and goes with
 * the slot: a slot costs nothing as long as nothing of it is mapped. State of
 * frames without a piece is zero. Pieces hang on a table of two levels, which
 * is made with them.
 *
 * Blocks, of AV_BLOCK_FRAMES frames each, have heads of their own, in pieces too, so
 * that a block that is mapped as one needs no piece of frames. The first and the last
 * one may reach out of the slot.
 *
 * Pieces may be made by several threads at once. A piece stays once it is there, and
 * is looked up without a lock; heads are under mmu_lock.
 */
#ifndef AV_MMU_FRAMES_H
#define AV_MMU_FRAMES_H

#include "lib/av_types.h"
#include "mmu/walk.h"

#define AV_PIECE_FRAMES		315
/* Pieces on one table of the second level. */
#define AV_FRAMES_FANOUT	512

#define AV_BLOCK_FRAMES		512
/* Heads of blocks in a piece of them. */
#define AV_PIECE_BLOCKS		1024

/* Bits of the state byte, which is changed under mmu_lock. */
#define AV_FRAME_EXECUTED	BIT(0)	/* the instructions in it are coherent since the page came */
#define AV_FRAME_COPIED		BIT(1)	/* virtual EL1 executes a copy of it: mmu/copies.h */
#define AV_FRAME_YOUNG		BIT(2)	/* filled from the known page since the host last asked */

/*
 * The host's page: its address, and whether the guest may write to it. Known, it
 * is as good as an entry of the shadow tables: the MMU notifier drops it with
 * those, and what may be filled from it is filled under the same lock. 0: not known.
 */
#define AV_FRAME_WRITABLE	BIT_ULL(0)
#define AV_FRAME_PAGE		GENMASK_ULL(63, 12)

struct av_piece {
	u64 page[AV_PIECE_FRAMES];
	u32 head[AV_PIECE_FRAMES];
	u8 state[AV_PIECE_FRAMES];
};

static_assert(sizeof(struct av_piece) <= 4096 && sizeof(struct av_piece) > 4080, "a page");

struct av_frames {
	u64 nr;				/* frames of the slot */
	struct av_piece ***top;		/* NULL, or one for AV_FRAMES_FANOUT pieces each */
	u32 **blocks;			/* NULL, or a place for each piece of blocks */
};

struct av_frames_ops {
	/* Zeroed memory, or NULL. */
	void *(*alloc)(size_t size);
	void (*free)(void *mem, size_t size);
};

/* Pointers of another CPU's are read once, before what they lead to. */
static inline struct av_piece **av_frames_table(const struct av_frames *frames, u64 i)
{
	struct av_piece ***top = READ_ONCE(frames->top);

	return top ? READ_ONCE(top[i]) : NULL;
}

/* Frames are counted from the slot's first. */
static inline struct av_piece *av_frames_piece(const struct av_frames *frames, u64 frame)
{
	u64 piece = frame / AV_PIECE_FRAMES;
	struct av_piece **table = av_frames_table(frames, piece / AV_FRAMES_FANOUT);

	return table ? READ_ONCE(table[piece % AV_FRAMES_FANOUT]) : NULL;
}

/* Make sure that there is a piece for a frame: 0 or -ENOMEM. */
int av_frames_make(struct av_frames *frames, u64 frame, const struct av_frames_ops *ops);
/* The same for a block, counted from the one that the slot begins in. */
int av_frames_make_block(struct av_frames *frames, u64 block, const struct av_frames_ops *ops);
void av_frames_free(struct av_frames *frames, const struct av_frames_ops *ops);

/* Places for pieces, or for tables of pieces, that one av_frames_next() looks at. */
#define AV_FRAMES_LOOKS		4096

/*
 * The first frame from this one on that has a piece; end if none before end has. A
 * caller may hold mmu_lock: after AV_FRAMES_LOOKS looks the result is the frame where
 * to go on, which may have no piece.
 */
u64 av_frames_next(const struct av_frames *frames, u64 frame, u64 end);

/*
 * The first block from this one on that has an entry on its head, or end; or where to
 * go on, as above.
 */
u64 av_frames_next_block(const struct av_frames *frames, u64 block, u64 end);

/* Has any of n frames from this one on a bit of that state? */
bool av_frames_any(const struct av_frames *frames, u64 frame, u64 n, u8 bit);

/* NULL without a piece. */
static inline u32 *av_frames_block(const struct av_frames *frames, u64 block)
{
	u32 **blocks = READ_ONCE(frames->blocks);
	u32 *piece = blocks ? READ_ONCE(blocks[block / AV_PIECE_BLOCKS]) : NULL;

	return piece ? &piece[block % AV_PIECE_BLOCKS] : NULL;
}

/* NULL without a piece. */
static inline u32 *av_frames_head(const struct av_frames *frames, u64 frame)
{
	struct av_piece *piece = av_frames_piece(frames, frame);

	return piece ? &piece->head[frame % AV_PIECE_FRAMES] : NULL;
}

static inline u8 *av_frames_state(const struct av_frames *frames, u64 frame)
{
	struct av_piece *piece = av_frames_piece(frames, frame);

	return piece ? &piece->state[frame % AV_PIECE_FRAMES] : NULL;
}

/*
 * Frames that follow each other, of one piece and one slot: the piece's last frames may be
 * beyond the slot. A glance at these is cheaper than to find the piece.
 */
struct av_frames_part {
	struct av_piece *piece;
	u32 gfn;			/* of the piece's first frame */
	u32 nr;				/* 0: none */
};

/* The part of a slot's frames, from gfn base on, that gfn is in. None without a piece. */
static inline void av_frames_find_part(const struct av_frames *frames, u64 base, u64 gfn,
				       struct av_frames_part *part)
{
	u64 frame = gfn - base, first = frame - frame % AV_PIECE_FRAMES;

	part->nr = 0;
	if (frame >= frames->nr)
		return;
	part->piece = av_frames_piece(frames, frame);
	part->gfn = base + first;
	if (part->piece)
		part->nr = min_t(u64, AV_PIECE_FRAMES, frames->nr - first);
}

/* NULL: gfn is not in it. */
static inline u32 *av_frames_part_head(const struct av_frames_part *part, u64 gfn)
{
	u64 n = gfn - part->gfn;

	return likely(n < part->nr) ? &part->piece->head[n] : NULL;
}

/*
 * Of these rights, those that the known page of a piece's n'th frame can be filled with
 * as it is; 0 where it cannot: not known, not yet coherent for execution, or a frame
 * with a copy.
 */
static inline u8 av_frame_rights(const struct av_piece *piece, unsigned int n, u8 rights)
{
	if (!piece->page[n] || piece->state[n] & AV_FRAME_COPIED ||
	    (rights & AV_X && !(piece->state[n] & AV_FRAME_EXECUTED)))
		return 0;
	return piece->page[n] & AV_FRAME_WRITABLE ? rights : rights & ~AV_W;
}

static inline u64 *av_frames_page(const struct av_frames *frames, u64 frame)
{
	struct av_piece *piece = av_frames_piece(frames, frame);

	return piece ? &piece->page[frame % AV_PIECE_FRAMES] : NULL;
}

#endif /* AV_MMU_FRAMES_H */
