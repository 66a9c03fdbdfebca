/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's memory. It is the VMM's memory: a slot says where the VMM has mapped it, and only
 * the functions here use that mapping. They hold pages, load and store words, and keep the
 * state of each frame.
 *
 * This includes a plain VM's guest_memfd, which the module maps into the VMM
 * (mmu/gmem/gmem_plain.h).
 *
 * A protected VM's memory is in a file of the module, not in a process (mmu/gmem/gmem.h). The VMM's
 * mappings are not used, and changes to them do not matter. Pages are accessed by the kernel's own
 * address and exist as long as the slot.
 *
 * Loads, stores and holds run in the VMM's context and may sleep: the VMM's page faults are
 * handled, unless the caller has disabled them. The caller holds the slot by srcu or
 * a lock. They return 0, -EFAULT if the VMM has no memory there, or
 *
 *	-EHWPOISON	the memory has failed: the thread was sent SIGBUS, as if it had
 *			touched the memory, and the guest tries again, as on KVM; the signal
 *			ends KVM_RUN first
 */
#ifndef AV_MMU_MEMORY_H
#define AV_MMU_MEMORY_H

#include "mmu/abort/classify.h"
#include "mmu/base/base.h"

/* ---- frames ---- */

/*
 * Hold the page of a frame for an access. Grants the access, and those of *rights that cost
 * nothing; removes the others from *rights. Also -EINTR, -ENOMEM.
 */
int av_mem_hold(const struct av_slot *slot, u64 gfn, u8 access, u8 *rights, struct page **page);

/*
 * Hold those of n frames from gfn on that the host has present, up to the first that is not.
 * Returns how many. Removes AV_W from *rights if they cannot be written.
 */
unsigned int av_mem_hold_present(const struct av_slot *slot, u64 gfn, unsigned int n, u8 *rights,
				 struct page **pages);

/* Release a page. The guest may have written to it, if it was held with AV_W. */
void av_mem_release(struct page *page, u8 rights);

/* Make sure that a frame has a reverse map head, before it is filled. 0 or -ENOMEM. */
int av_mem_prepare(struct av_slot *slot, u64 gfn);
void av_mem_free_frames(struct av_slot *slot);

/* The same for the head of the blocks over a frame. */
int av_mem_prepare_block(struct av_slot *slot, u64 gfn);

static inline bool av_mem_same_piece(const struct av_slot *slot, u64 gfn, u64 prepared)
{
	return (gfn - slot->base_gfn) / AV_PIECE_FRAMES ==
	       (prepared - slot->base_gfn) / AV_PIECE_FRAMES;
}

/*
 * The known host page of a frame: its address and AV_FRAME_WRITABLE; 0: unknown. Valid under
 * mmu_lock, otherwise only a hint.
 */
static inline u64 av_pfn_cache_page(const struct av_slot *slot, u64 gfn)
{
	u64 frame = array_index_nospec(gfn - slot->base_gfn, slot->npages);
	const u64 *page = av_gfn_info_page(&slot->frames, frame);

	return page ? READ_ONCE(*page) : 0;
}

/* Under mmu_lock, after av_mem_raced(): record the host page of a frame. */
void av_pfn_cache_note(const struct av_slot *slot, u64 gfn, u64 pa, bool writable);

/* Memory that the host maps as one: PMD_SIZE from hva on. pa includes AV_FRAME_WRITABLE. */
struct av_mem_huge {
	unsigned long hva;
	u64 pa;
};

/*
 * For a held page that was not known, or not as writable: is it part of such memory? Runs in
 * the VMM's context. Valid as long as nothing in it was invalidated.
 */
bool av_mem_find_huge(const struct av_slot *slot, u64 gfn, const struct page *page, u8 rights,
		      struct av_mem_huge *huge);

/*
 * Under mmu_lock: record the pages of the frames around gfn, at most one piece, by huge, which was
 * found since seq was read.
 */
void av_pfn_cache_note_huge(struct av_vm *vm, const struct av_slot *slot, u64 gfn,
			    const struct av_mem_huge *huge, struct av_seq seq);

/* Under mmu_lock: was the frame filled from its known page since the last call with clear? */
bool av_mem_age(const struct av_slot *slot, u64 gfn, bool clear);

/* Were the page's instructions made coherent since the host mapped it? */
static inline bool av_mem_executed(const struct av_slot *slot, u64 gfn)
{
	const u8 *state = av_gfn_info_state(&slot->frames, gfn - slot->base_gfn);

	return state && READ_ONCE(*state) & AV_FRAME_EXECUTED;
}

/* Under mmu_lock: av_mmu_raced() for a frame's page; for any page of its block. */
bool av_mem_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq);
bool av_mem_block_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq);

/* Are guest and host addresses aligned so that a guest block can be a host block? */
static inline bool av_mem_congruent(const struct av_slot *slot)
{
	return !slot->gmem && !((slot->hva >> PAGE_SHIFT ^ slot->base_gfn) % AV_BLOCK_FRAMES);
}

/*
 * Does the host map the block at gfn as one? *pa: its address; *writable: may it be written.
 * Runs in the VMM's context. Valid until av_mem_block_raced() reports a change.
 */
bool av_mem_block(const struct av_slot *slot, u64 gfn, u64 *pa, bool *writable);
/* The same for a VMM's address at a block's start, in a slot or not. */
bool av_mem_host_block(unsigned long hva, u64 *pa, bool *writable);

/* The slot's frames, first to last, in a range of the VMM's addresses. False: none. */
bool av_mem_frames(const struct av_slot *slot, unsigned long start, unsigned long end,
		   u64 *first, u64 *last);

/* Was no frame of the slot ever mapped, nor its page known? */
static inline bool av_slot_unused(const struct av_slot *slot)
{
	return !READ_ONCE(slot->frames.top) && !READ_ONCE(slot->frames.blocks);
}

static inline u32 *av_slot_head(const struct av_slot *slot, u64 gfn)
{
	return av_gfn_info_head(&slot->frames, gfn - slot->base_gfn);
}

/* Index of the block that a frame is in. */
static inline u64 av_slot_block(const struct av_slot *slot, u64 gfn)
{
	return gfn / AV_BLOCK_FRAMES - slot->base_gfn / AV_BLOCK_FRAMES;
}

static inline u32 *av_slot_block_head(const struct av_slot *slot, u64 gfn)
{
	return av_gfn_info_block(&slot->frames, av_slot_block(slot, gfn));
}

/*
 * The first frame of the first block in [gfn, end) that is mapped as one; end if there is none.
 * After much searching: where to continue.
 */
static inline u64 av_slot_next_block(const struct av_slot *slot, u64 gfn, u64 end)
{
	u64 next;

	if (!READ_ONCE(slot->frames.blocks) || gfn >= end)
		return end;
	next = av_gfn_info_next_block(&slot->frames, av_slot_block(slot, gfn),
				      av_slot_block(slot, end - 1) + 1);
	return min((slot->base_gfn / AV_BLOCK_FRAMES + next) * AV_BLOCK_FRAMES, end);
}

/*
 * The first frame in [gfn, end) that may be mapped, or end. After much searching: where to
 * continue, which may have no head.
 */
static inline u64 av_slot_next(const struct av_slot *slot, u64 gfn, u64 end)
{
	return slot->base_gfn + av_gfn_info_next(&slot->frames, gfn - slot->base_gfn,
						 end - slot->base_gfn);
}

/*
 * Clean a page to the point of unification, because the VMM, or a device through the page cache,
 * may have written instructions to it. For its own writes the guest does the cache maintenance,
 * which the hardware executes.
 */
void av_mem_clean_for_execution(const struct av_slot *slot, u64 gfn, struct page *page);
/* Under mmu_lock: the page was cleaned, and is mapped now. */
void av_mem_set_executed(const struct av_slot *slot, u64 gfn);
/* Under mmu_lock: the frames will get other pages. Forget the known ones. */
void av_mem_forget_pages(const struct av_slot *slot, u64 gfn, u64 end);

/* ---- words ---- */

#define AV_MEM_UNKNOWN		4

/*
 * A reader of guest memory for one walk, or a few: most words are in the same slot as the one
 * before. Use it in a single srcu section.
 */
struct av_mem_reader {
	const struct av_slots *slots;
	const struct av_slot *slot;
	/* by the learning ops: frames of tables whose pages are not known, the last of nr */
	u64 unknown[AV_MEM_UNKNOWN];
	unsigned int nr;
};

/*
 * Get to know the pages of tables that a walk by the learning ops has read since seq was read: light
 * exits walk by known pages. May sleep. The caller holds the slots. For tables that the guest has
 * not written itself: those that a VMM restored, for one.
 */
void av_mem_learn(struct av_vcpu *vcpu, const struct av_mem_reader *reader, struct av_seq seq);

/* For the walker; ctx is a struct av_mem_reader. */
extern const struct av_mem_ops av_mem_reader_ops;
/* The same, and notes the tables whose pages are not known. */
extern const struct av_mem_ops av_mem_reader_learning_ops;
/* The same with page faults disabled: never sleeps, -EAGAIN if it would have to. */
extern const struct av_mem_ops av_mem_reader_now_ops;

/* Load n words within one page, each by one single-copy atomic load, as a table walk does. */
int av_mem_load_words(const struct av_slot *slot, u64 gpa, u64 *words, unsigned int n);

/* The page to fetch instructions from; stale once the VM's seq has changed. */
struct av_mem_page av_mem_page(const struct av_slot *slot, u64 gpa);
/* With the VMM's address. */
int av_mem_load_insn_user(struct av_mem_page page, unsigned int offset, u32 *insn);

static __always_inline int av_mem_load_insn(struct av_mem_page page, unsigned int offset, u32 *insn)
{
	if (likely((long)page.hva >= 0))
		return av_mem_load_insn_user(page, offset, insn);
	*insn = READ_ONCE(*(const u32 *)(page.hva + offset));
	return 0;
}

/*
 * Under mmu_lock: get a page of words. Read it before the lock is released, or later under the
 * lock if no notifier range was open then or is open now, and seq is unchanged. If the host
 * page is known, this is the kernel's own address, which cannot fault and needs no check: the
 * host must take the lock before it takes the page away.
 */
struct av_mem_page av_mem_words(const struct av_slot *slot, u64 gpa);	/* hva 0: unknown */

/* A word, if it could be loaded at once. Returned in registers. */
struct av_mem_word {
	u64 val;
	bool loaded;
};

/* With the VMM's address. */
struct av_mem_word av_mem_load_word_user(struct av_mem_page page, unsigned int offset);

/* Load one word by one single-copy atomic load. */
static __always_inline struct av_mem_word av_mem_load_word(struct av_mem_page page,
							   unsigned int offset)
{
	/* An address in the kernel's half. */
	if (likely((long)page.hva < 0))
		return (struct av_mem_word) { READ_ONCE(*(const u64 *)(page.hva + offset)), true };
	return av_mem_load_word_user(page, offset);
}

/*
 * Returns n words, for one read of each: in place, or in copy, filled from the VMM's address. NULL:
 * they cannot be read.
 */
const u64 *av_mem_look(struct av_mem_page page, unsigned int offset, u64 *copy, unsigned int n);

/* ---- bytes ---- */

/*
 * Read or write within one page. -EFAULT: no memory there. A write is neither logged nor told to
 * copies of code (access.c).
 */
int av_mem_read(const struct av_slot *slot, u64 gpa, void *buf, unsigned int len);
int av_mem_write(const struct av_slot *slot, u64 gpa, const void *buf, unsigned int len);

#endif /* AV_MMU_MEMORY_H */
