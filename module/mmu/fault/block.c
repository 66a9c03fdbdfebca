// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks: fill a hidden fault with 2 MiB at once, if the guest's leaf, the slot and the host's
 * mapping all cover them and their addresses agree.
 *
 * A block never grants execution, and never covers what is handled by the page: a slot with a
 * dirty log, a frame with a copy, the annex. If a block does not permit an access, a page is
 * filled in its place; after that only pages are filled until all of them are gone
 * (av_shadow_takes_block()). A change of one of a block's frames drops the block:
 * av_shadow_zap_gfn(), av_shadow_wrprotect_gfn().
 */
#include <linux/mm.h>
#include <linux/module.h>

#include "mmu/code/copies.h"
#include "mmu/fault/fill.h"
#include "mmu/stub/stub.h"

static bool huge_pages = true;
module_param(huge_pages, bool, 0644);
MODULE_PARM_DESC(huge_pages, "map memory in blocks of 2 MiB where guest and host do (default Y)");

static u64 block_gfn(const struct av_hidden *f)
{
	return ALIGN_DOWN(f->r->walk.ipa >> PAGE_SHIFT, AV_BLOCK_PAGES);
}

bool av_block_wanted(const struct av_hidden *f)
{
	const struct av_slot *slot = f->r->slot;
	u64 frame = block_gfn(f) - slot->base_gfn;

	return READ_ONCE(huge_pages) && av_block_leaf(&f->r->walk) &&
	       !(f->r->access & AV_X) && !f->r->copy && !av_slot_logged(slot) &&
	       frame < slot->npages && slot->npages - frame >= AV_BLOCK_PAGES &&
	       av_mem_congruent(slot) && av_shadow_takes_block(f->r->tree, f->r->walk.va);
}

/* Would a block at va cover addresses that are or may become the annex's? */
static bool over_annex(const struct av_hidden *f, u64 va)
{
	u64 annex = f->vcpu->vm->mmu->annex.at.va;

	return annex && va < annex + AV_STUB_AREA && annex < va + AV_BLOCK_SIZE;
}

/* Can all frames of the block be handled alike? */
static bool alike(const struct av_hidden *f, const struct av_candidate *c)
{
	const struct av_slot *slot = f->r->slot;

	return !over_annex(f, c->va) &&
	       (!f->vcpu->vm->mmu->nr_copies ||
		!av_gfn_info_any(&slot->frames, c->gfn - slot->base_gfn, AV_BLOCK_PAGES,
				 AV_FRAME_COPIED));
}

static int fill_locked(struct av_hidden *f, u64 pa)
{
	const struct av_candidate *c = f->at;
	struct av_fill fill = {
		.va = c->va,
		.pa = pa,
		.gfn = c->gfn,
		.head = av_slot_block_head(f->r->slot, c->gfn),
		.level = 2,
		.rights = c->rights,
		.gspan = max_t(u8, f->r->walk.span, AV_BLOCK_SHIFT),
		.global = f->r->walk.global,
	};
	int ret;

	if (f->r->slot->dying)
		return -EAGAIN;
	if (av_mem_block_raced(f->vcpu->vm, f->r->slot, c->gfn, f->seq) ||
	    av_hidden_voided(f, c->va, fill.gspan)) {
		av_stat_inc(&f->vcpu->stats, AV_EVENT_SHADOW_RETRY);
		return -EAGAIN;
	}
	if (!av_block_wanted(f) || !alike(f, c))
		return AV_BLOCK_NONE;
	ret = av_hidden_fill(f, &fill);
	if (!ret)
		av_stat_inc(&f->vcpu->stats, AV_EVENT_BLOCK_FILL);
	av_shadow_publish(&f->vcpu->vm->mmu->shadow);
	return ret;
}

/* The faulting page is held, so the host has it present: is it in a host block? */
static bool host_block(struct av_hidden *f, u64 *pa)
{
	struct av_candidate *c = f->at;
	u64 page = page_to_phys(c->page);
	bool writable;

	if (!av_mem_block(f->r->slot, block_gfn(f), pa, &writable) || *pa & ~AV_PTE_ADDR ||
	    *pa != (page & AV_BLOCK_MASK))
		return false;
	if (!writable)
		c->rights &= ~AV_W;
	return !(f->r->access & ~c->rights);
}

static int fill(struct av_hidden *f)
{
	struct av_candidate *c = f->at;
	u8 held = c->rights & ~AV_X;
	int ret;
	u64 pa;

	ret = av_mem_hold(f->r->slot, c->gfn, f->r->access, &held, &c->page);
	if (ret)
		return ret;
	c->rights = held;
	ret = AV_BLOCK_NONE;
	if (host_block(f, &pa)) {
		c->va &= AV_BLOCK_MASK;
		c->gfn = block_gfn(f);
		av_mmu_lock(f->vcpu);
		ret = fill_locked(f, pa);
		av_mmu_unlock(f->vcpu);
	}
	av_mem_release(c->page, held);
	return ret;
}

int av_block_fill(struct av_hidden *f)
{
	bool wanted;
	int ret;

	/* Most guests' leaves are pages. */
	if (likely(!av_block_leaf(&f->r->walk)))
		return AV_BLOCK_NONE;
	av_mmu_lock(f->vcpu);
	wanted = av_block_wanted(f);
	av_mmu_unlock(f->vcpu);
	if (!wanted || av_mem_prepare_block(f->r->slot, block_gfn(f)))
		return AV_BLOCK_NONE;
	ret = fill(f);
	if (ret == AV_BLOCK_NONE)
		av_hidden_candidate(f);
	return ret;
}
