/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept for each frame of a slot: the head of its reverse map, and a
 * state byte. Pure.
 *
 * A page of memory, a piece, holds that of AV_PIECE_FRAMES frames. It is made
 * before the first entry for one of them is filled, and goes with the slot: a
 * slot costs nothing as long as nothing of it is mapped. Of a piece that is not
 * there all is zero. Pieces hang on a table of two levels, which is made with
 * them.
 *
 * av_frames_make() may be called by several at once. A piece that is there stays:
 * whoever looks needs no lock for the piece itself; heads are mmu_lock's.
 */
#ifndef AV_MMU_FRAMES_H
#define AV_MMU_FRAMES_H

#include "lib/av_types.h"

#define AV_PIECE_FRAMES		819
/* Pieces on one table of the second level. */
#define AV_FRAMES_FANOUT	512

/* The state byte, under mmu_lock to change. */
#define AV_FRAME_EXECUTED	BIT(0)	/* the instructions in it are coherent since the page came */
#define AV_FRAME_COPIED		BIT(1)	/* virtual EL1 executes a copy of it: mmu/copies.h */

struct av_piece {
	u32 head[AV_PIECE_FRAMES];
	u8 state[AV_PIECE_FRAMES];
};

static_assert(sizeof(struct av_piece) == 4096, "a page");

struct av_frames {
	u64 nr;				/* frames of the slot */
	struct av_piece ***top;		/* NULL, or one for AV_FRAMES_FANOUT pieces each */
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
void av_frames_free(struct av_frames *frames, const struct av_frames_ops *ops);

/* Places for pieces, or for tables of them, that av_frames_next() looks at. */
#define AV_FRAMES_LOOKS		4096

/*
 * The first frame from this one on that has a piece; end if none before it has.
 * A caller may hold mmu_lock: after so many looks it is the frame where to go on, and
 * has no piece.
 */
u64 av_frames_next(const struct av_frames *frames, u64 frame, u64 end);

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

#endif /* AV_MMU_FRAMES_H */
