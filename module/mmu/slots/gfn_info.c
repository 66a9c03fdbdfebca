// SPDX-License-Identifier: GPL-2.0
/* Host pages, reverse map heads and state bytes of a slot's frames: rules in gfn_info.h. */
#include "mmu/slots/gfn_info.h"

static u64 pieces_of(const struct av_gfn_info *frames)
{
	return (frames->nr + AV_PIECE_FRAMES - 1) / AV_PIECE_FRAMES;
}

static u64 nr_tables(const struct av_gfn_info *frames)
{
	return (pieces_of(frames) + AV_GFN_INFO_FANOUT - 1) / AV_GFN_INFO_FANOUT;
}

/* Pieces in the i'th table; the table of a small slot is small. */
static u64 table_size(const struct av_gfn_info *frames, u64 i)
{
	return min(pieces_of(frames) - i * AV_GFN_INFO_FANOUT, (u64)AV_GFN_INFO_FANOUT);
}

/* Set *where to zeroed memory if it is NULL. If two threads do so, one frees its own again. */
static int make(void **where, size_t size, const struct av_gfn_info_ops *ops)
{
	void *mem;

	if (READ_ONCE(*where))
		return 0;
	mem = ops->alloc(size);
	if (!mem)
		return -ENOMEM;
	if (cmpxchg(where, NULL, mem))
		ops->free(mem, size);
	return 0;
}

int av_gfn_info_make(struct av_gfn_info *frames, u64 frame, const struct av_gfn_info_ops *ops)
{
	u64 piece = frame / AV_PIECE_FRAMES, i = piece / AV_GFN_INFO_FANOUT;
	struct av_piece **table;
	int ret;

	if (likely(av_gfn_info_piece(frames, frame)))
		return 0;
	ret = make((void **)&frames->top, nr_tables(frames) * sizeof(*frames->top), ops);
	if (!ret)
		ret = make((void **)&frames->top[i], table_size(frames, i) * sizeof(*table), ops);
	if (ret)
		return ret;
	table = frames->top[i];
	return make((void **)&table[piece % AV_GFN_INFO_FANOUT], sizeof(struct av_piece), ops);
}

/* Upper bound, wherever the slot begins. */
static u64 nr_blocks(const struct av_gfn_info *frames)
{
	return frames->nr / AV_BLOCK_FRAMES + 2;
}

static u64 block_pieces(const struct av_gfn_info *frames)
{
	return (nr_blocks(frames) + AV_PIECE_BLOCKS - 1) / AV_PIECE_BLOCKS;
}

/* Blocks in the i'th piece. */
static u64 piece_size(const struct av_gfn_info *frames, u64 i)
{
	return min(nr_blocks(frames) - i * AV_PIECE_BLOCKS, (u64)AV_PIECE_BLOCKS);
}

int av_gfn_info_make_block(struct av_gfn_info *frames, u64 block, const struct av_gfn_info_ops *ops)
{
	u64 i = block / AV_PIECE_BLOCKS;
	int ret;

	if (likely(av_gfn_info_block(frames, block)))
		return 0;
	ret = make((void **)&frames->blocks, block_pieces(frames) * sizeof(*frames->blocks), ops);
	if (ret)
		return ret;
	return make((void **)&frames->blocks[i], piece_size(frames, i) * sizeof(u32), ops);
}

static void free_blocks(struct av_gfn_info *frames, const struct av_gfn_info_ops *ops)
{
	u64 i;

	for (i = 0; frames->blocks && i < block_pieces(frames); i++)
		if (frames->blocks[i])
			ops->free(frames->blocks[i], piece_size(frames, i) * sizeof(u32));
	if (frames->blocks)
		ops->free(frames->blocks, block_pieces(frames) * sizeof(*frames->blocks));
	frames->blocks = NULL;
}

void av_gfn_info_free(struct av_gfn_info *frames, const struct av_gfn_info_ops *ops)
{
	u64 i, n, size;

	for (i = 0; frames->top && i < nr_tables(frames); i++) {
		struct av_piece **table = frames->top[i];

		size = table_size(frames, i);
		for (n = 0; table && n < size; n++)
			if (table[n])
				ops->free(table[n], sizeof(struct av_piece));
		if (table)
			ops->free(table, size * sizeof(*table));
	}
	if (frames->top)
		ops->free(frames->top, nr_tables(frames) * sizeof(*frames->top));
	frames->top = NULL;
	free_blocks(frames, ops);
}

u64 av_gfn_info_next(const struct av_gfn_info *frames, u64 frame, u64 end)
{
	u64 piece = frame / AV_PIECE_FRAMES;
	unsigned int n;

	if (!READ_ONCE(frames->top))
		return end;
	for (n = 0; n < AV_GFN_INFO_LOOKS && frame < end; n++) {
		struct av_piece **table = av_gfn_info_table(frames, piece / AV_GFN_INFO_FANOUT);

		if (table && READ_ONCE(table[piece % AV_GFN_INFO_FANOUT]))
			return frame;
		piece = table ? piece + 1 :
				ALIGN_DOWN(piece, AV_GFN_INFO_FANOUT) + AV_GFN_INFO_FANOUT;
		frame = piece * AV_PIECE_FRAMES;
	}
	return min(frame, end);
}

u64 av_gfn_info_next_block(const struct av_gfn_info *frames, u64 block, u64 end)
{
	unsigned int n;

	if (!READ_ONCE(frames->blocks))
		return end;
	for (n = 0; n < AV_GFN_INFO_LOOKS && block < end; n++) {
		const u32 *head = av_gfn_info_block(frames, block);

		if (head && READ_ONCE(*head))
			return block;
		block = head ? block + 1 : ALIGN_DOWN(block, AV_PIECE_BLOCKS) + AV_PIECE_BLOCKS;
	}
	return min(block, end);
}

bool av_gfn_info_any(const struct av_gfn_info *frames, u64 frame, u64 n, u8 bit)
{
	const u64 end = frame + n;

	while (frame < end) {
		const struct av_piece *piece = av_gfn_info_piece(frames, frame);
		u64 i = frame % AV_PIECE_FRAMES, last = min(i + (end - frame), (u64)AV_PIECE_FRAMES);

		frame += last - i;
		for (; piece && i < last; i++)
			if (READ_ONCE(piece->state[i]) & bit)
				return true;
	}
	return false;
}
