// SPDX-License-Identifier: GPL-2.0
/*
 * The pfn cache: the known host pages behind a slot's frames (mmu/slots/gfn_info.h). Under
 * mmu_lock. A known page is as good as one just returned by the host, so that its hidden faults
 * take few instructions (mmu/fault/fast.c).
 *
 * If the host maps 2 MiB as one, getting one page makes its neighbours known, too: a guest that
 * starts to use memory touches pages in any order, and would take a slow fault for each.
 */
#include <linux/mm.h>
#include <linux/nospec.h>

#include "mmu/memory/memory.h"

void av_pfn_cache_note(const struct av_slot *slot, u64 gfn, u64 pa, bool writable)
{
	u64 *page = av_gfn_info_page(&slot->frames, gfn - slot->base_gfn);

	if (!page)
		return;
	/* Held only for reading this time, the page stays as writable as it was. */
	if ((*page & AV_FRAME_PAGE) != pa)
		WRITE_ONCE(*page, pa);
	if (writable)
		WRITE_ONCE(*page, pa | AV_FRAME_WRITABLE);
}

bool av_mem_find_huge(const struct av_slot *slot, u64 gfn, const struct page *page, u8 rights,
		      struct av_mem_huge *huge)
{
	u64 frame = array_index_nospec(gfn - slot->base_gfn, slot->npages), pa;
	u64 known = av_pfn_cache_page(slot, gfn);
	unsigned long hva = slot->hva + (frame << PAGE_SHIFT);
	bool writable;

	/* A known page has made its neighbours known already, or they were forgotten one by one. */
	if (slot->gmem || (known && (known & AV_FRAME_WRITABLE || !(rights & AV_W))))
		return false;
	huge->hva = hva & PMD_MASK;
	if (!av_mem_host_block(huge->hva, &pa, &writable) ||
	    page_to_phys(page) != pa + (hva - huge->hva))
		return false;
	/* If held for writing, the whole block will be marked dirty: av_mem_release(). */
	huge->pa = pa | (writable && rights & AV_W ? AV_FRAME_WRITABLE : 0);
	return true;
}

void av_pfn_cache_note_huge(struct av_vm *vm, const struct av_slot *slot, u64 gfn,
			    const struct av_mem_huge *huge, struct av_seq seq)
{
	struct av_gfn_info_part part;
	u64 first, last, *page, now;

	if (slot->dying || av_mmu_raced_within(vm, seq, huge->hva, PMD_SIZE) ||
	    !av_mem_frames(slot, huge->hva, huge->hva + PMD_SIZE, &first, &last))
		return;
	av_gfn_info_find_part(&slot->frames, slot->base_gfn, gfn, &part);
	if (!part.nr)
		return;
	last = min_t(u64, last, part.gfn + part.nr - 1);
	for (gfn = max_t(u64, first, part.gfn); gfn <= last; gfn++) {
		page = &part.piece->page[gfn - part.gfn];
		now = huge->pa + (slot->hva - huge->hva) + ((gfn - slot->base_gfn) << PAGE_SHIFT);
		/* A known page may have become writable. */
		if (!*page || (*page | AV_FRAME_WRITABLE) == now)
			WRITE_ONCE(*page, now);
	}
}

bool av_mem_age(const struct av_slot *slot, u64 gfn, bool clear)
{
	u8 *state = av_gfn_info_state(&slot->frames, gfn - slot->base_gfn);

	if (!state || !(*state & AV_FRAME_YOUNG))
		return false;
	if (clear)
		WRITE_ONCE(*state, *state & ~AV_FRAME_YOUNG);
	return true;
}

void av_mem_forget_pages(const struct av_slot *slot, u64 gfn, u64 end)
{
	u64 frame = gfn - slot->base_gfn, last = end - slot->base_gfn;

	for (; frame < last; frame++) {
		struct av_piece *piece = av_gfn_info_piece(&slot->frames, frame);
		unsigned int i = frame % AV_PIECE_FRAMES;

		if (!piece)
			continue;
		WRITE_ONCE(piece->state[i],
			   piece->state[i] & ~(AV_FRAME_EXECUTED | AV_FRAME_YOUNG));
		WRITE_ONCE(piece->page[i], 0);
	}
}
