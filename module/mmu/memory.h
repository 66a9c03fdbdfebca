/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's memory. It is the VMM's: a slot says where the VMM has it mapped,
 * and this file is the only one that uses the mapping. Pages are held, words
 * are loaded and stored, and what is kept of each frame is made and found here.
 *
 * A protected VM's memory is no process's, but a file of ours (mmu/gmem.h): no mapping of
 * the VMM's is used, and none that changes is of any importance. Its pages are had by the
 * kernel's own address, and stay as long as the slot.
 *
 * Loads, stores and holds are in the VMM's context and may sleep: the VMM's
 * page faults are taken as they come, or not, where the caller has disabled them
 * (light.c). The slot is held by srcu or a lock. They
 * return 0, -EFAULT where the VMM has no memory, or
 *
 *	-EHWPOISON	the memory has gone bad: the thread has been sent SIGBUS as
 *			by a touch of its own, and the guest is to try again, as
 *			under KVM; the signal ends KVM_RUN first
 */
#ifndef AV_MMU_MEMORY_H
#define AV_MMU_MEMORY_H

#include "mmu/internal.h"
#include "mmu/resolve.h"

/* ---- frames ---- */

/*
 * Hold the page of a frame for an access, with those of *rights that cost
 * nothing; takes the others away. -EINTR, -ENOMEM too.
 */
int av_mem_hold(const struct av_slot *slot, u64 gfn, u8 access, u8 *rights, struct page **page);

/*
 * Hold those of n frames from gfn on that the host has present, up to the first
 * that is not: how many. Takes AV_W away from *rights where they can't be written.
 */
unsigned int av_mem_hold_present(const struct av_slot *slot, u64 gfn, unsigned int n, u8 *rights,
				 struct page **pages);

/* The guest may have written to a page held with AV_W. */
void av_mem_release(struct page *page, u8 rights);

/* Make sure that a frame's reverse map has a head, before it is filled: 0 or -ENOMEM. */
int av_mem_prepare(struct av_slot *slot, u64 gfn);
void av_mem_free_frames(struct av_slot *slot);

/* The same for the blocks over a frame. */
int av_mem_prepare_block(struct av_slot *slot, u64 gfn);

static inline bool av_mem_same_piece(const struct av_slot *slot, u64 gfn, u64 prepared)
{
	return (gfn - slot->base_gfn) / AV_PIECE_FRAMES ==
	       (prepared - slot->base_gfn) / AV_PIECE_FRAMES;
}

/*
 * The host's page behind a frame, as an address and AV_FRAME_WRITABLE; 0 where none
 * is known. True only under mmu_lock; without it, a hint.
 */
static inline u64 av_mem_known_page(const struct av_slot *slot, u64 gfn)
{
	u64 frame = array_index_nospec(gfn - slot->base_gfn, slot->npages);
	const u64 *page = av_frames_page(&slot->frames, frame);

	return page ? READ_ONCE(*page) : 0;
}

/* Under mmu_lock, after av_mem_raced(): keep a page that was found. */
void av_mem_know_page(const struct av_slot *slot, u64 gfn, u64 pa, bool writable);

/* Memory that the host maps as one: PMD_SIZE from hva on; AV_FRAME_WRITABLE is in pa, too. */
struct av_mem_huge {
	unsigned long hva;
	u64 pa;
};

/*
 * A frame's page is held with these rights, and was not known, or not for writing: is it in
 * such memory? In the VMM's context; true as long as nothing in it was invalidated.
 */
bool av_mem_find_huge(const struct av_slot *slot, u64 gfn, const struct page *page, u8 rights,
		      struct av_mem_huge *huge);

/*
 * Under mmu_lock, of what was found since seq was read: keep the pages of the frames around,
 * of one piece at most.
 */
void av_mem_know_huge(struct av_vm *vm, const struct av_slot *slot, u64 gfn,
		      const struct av_mem_huge *huge, struct av_seq seq);

/* Under mmu_lock: was the frame filled from its known page since? clear: forget that. */
bool av_mem_age(const struct av_slot *slot, u64 gfn, bool clear);

/* Were its instructions made visible since the page came? */
static inline bool av_mem_executed(const struct av_slot *slot, u64 gfn)
{
	const u8 *state = av_frames_state(&slot->frames, gfn - slot->base_gfn);

	return state && READ_ONCE(*state) & AV_FRAME_EXECUTED;
}

/* Under mmu_lock: av_mmu_raced() for the page at a frame; for any page of a block. */
bool av_mem_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq);
bool av_mem_block_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq);

/* Can blocks of the guest's memory be blocks of the host's, by their addresses? */
static inline bool av_mem_congruent(const struct av_slot *slot)
{
	return !slot->gmem && !((slot->hva >> PAGE_SHIFT ^ slot->base_gfn) % AV_BLOCK_FRAMES);
}

/*
 * Does the host map the block at gfn as one, at this moment? *pa is where, *writable
 * whether it may be written to. In the VMM's context; true as long as av_mem_block_raced()
 * says that nothing has changed since.
 */
bool av_mem_block(const struct av_slot *slot, u64 gfn, u64 *pa, bool *writable);
/* The same of the VMM's address, of a block's beginning; it need not be in a slot. */
bool av_mem_host_block(unsigned long hva, u64 *pa, bool *writable);

/* The frames of a slot in a range of the VMM's addresses, first to last: false if there are none. */
bool av_mem_frames(const struct av_slot *slot, unsigned long start, unsigned long end,
		   u64 *first, u64 *last);

static inline u32 *av_slot_head(const struct av_slot *slot, u64 gfn)
{
	return av_frames_head(&slot->frames, gfn - slot->base_gfn);
}

/* Number of the block that a frame is in. */
static inline u64 av_slot_block(const struct av_slot *slot, u64 gfn)
{
	return gfn / AV_BLOCK_FRAMES - slot->base_gfn / AV_BLOCK_FRAMES;
}

static inline u32 *av_slot_block_head(const struct av_slot *slot, u64 gfn)
{
	return av_frames_block(&slot->frames, av_slot_block(slot, gfn));
}

/*
 * The first block of frames from gfn on, and before end, that is mapped as one: its first
 * frame, or end. Where there is much to pass over, where to go on.
 */
static inline u64 av_slot_next_block(const struct av_slot *slot, u64 gfn, u64 end)
{
	u64 next;

	if (!READ_ONCE(slot->frames.blocks) || gfn >= end)
		return end;
	next = av_frames_next_block(&slot->frames, av_slot_block(slot, gfn),
				    av_slot_block(slot, end - 1) + 1);
	return min((slot->base_gfn / AV_BLOCK_FRAMES + next) * AV_BLOCK_FRAMES, end);
}

/*
 * The first frame from gfn on, and before end, that may be mapped; or end. Where
 * there is much to pass over, where to go on: it may have no head.
 */
static inline u64 av_slot_next(const struct av_slot *slot, u64 gfn, u64 end)
{
	return slot->base_gfn + av_frames_next(&slot->frames, gfn - slot->base_gfn,
					       end - slot->base_gfn);
}

/*
 * Instructions the VMM, or a device through the page cache, wrote in a page may
 * not have reached the point of unification. What the guest writes is its own
 * business: its cache maintenance is carried out by the hardware.
 */
void av_mem_clean_for_execution(const struct av_slot *slot, u64 gfn, struct page *page);
/* Under mmu_lock: it was cleaned, and is mapped now. */
void av_mem_set_executed(const struct av_slot *slot, u64 gfn);
/* Under mmu_lock: other pages will be in these frames. */
void av_mem_forget_pages(const struct av_slot *slot, u64 gfn, u64 end);

/* ---- words ---- */

/*
 * A reader of guest memory, for one walk or a few: most words are in the slot of
 * the one before. Made and used within one srcu section.
 */
struct av_mem_reader {
	const struct av_slots *slots;
	const struct av_slot *slot;
};

/* The walker's view; its ctx is a struct av_mem_reader. */
extern const struct av_mem_ops av_mem_reader_ops;
/* The same where nothing may sleep, with page faults disabled: -EAGAIN where it would. */
extern const struct av_mem_ops av_mem_reader_now_ops;

/* n words, each in one single-copy atomic load, as a table walk is; in one page. */
int av_mem_load_words(const struct av_slot *slot, u64 gpa, u64 *words, unsigned int n);

/* Where instructions are fetched from; stale when the VM's seq has changed. */
struct av_mem_page av_mem_page(const struct av_slot *slot, u64 gpa);
/* By the VMM's address. */
int av_mem_load_insn_user(struct av_mem_page page, unsigned int offset, u32 *insn);

static __always_inline int av_mem_load_insn(struct av_mem_page page, unsigned int offset, u32 *insn)
{
	if (likely((long)page.hva >= 0))
		return av_mem_load_insn_user(page, offset, insn);
	*insn = READ_ONCE(*(const u32 *)(page.hva + offset));
	return 0;
}


/*
 * Under mmu_lock: a page of words, to be read before the lock is let go; or under the lock
 * later on, as long as nothing was in progress, nothing is, and seq is what it was. Where the
 * host's page is known that is by the kernel's own address, which needs no fault and no check:
 * the host does not take the page away before it has had the lock.
 */
struct av_mem_page av_mem_words(const struct av_slot *slot, u64 gpa);	/* hva 0: none yet */

/* A word, if it could be had at once: in registers. */
struct av_mem_word {
	u64 val;
	bool loaded;
};

/* By the VMM's address. */
struct av_mem_word av_mem_load_word_user(struct av_mem_page page, unsigned int offset);

/* One word there, in one single-copy atomic load. */
static __always_inline struct av_mem_word av_mem_load_word(struct av_mem_page page,
							   unsigned int offset)
{
	/* The kernel's half. */
	if (likely((long)page.hva < 0))
		return (struct av_mem_word) { READ_ONCE(*(const u64 *)(page.hva + offset)), true };
	return av_mem_load_word_user(page, offset);
}

/*
 * n words there, each to be read once: where they are, or else, by the VMM's address, copied,
 * if there is a copy to be had; or NULL.
 */
const u64 *av_mem_look(struct av_mem_page page, unsigned int offset, u64 *copy, unsigned int n);

#endif /* AV_MMU_MEMORY_H */
