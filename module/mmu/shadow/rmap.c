// SPDX-License-Identifier: GPL-2.0
/*
 * The reverse map: from a guest frame to the shadow entries that map it.
 *
 * An entry's name is its table's id and its index, in 31 bits. A frame's head is the name of
 * the first entry; each entry has the names of the next and the previous one, so that removal
 * needs no search however many entries map the frame. Blocks have heads of their own, one per 2
 * MiB of frames.
 */
#include "mmu/shadow/entry.h"
#include "mmu/shadow/resync.h"

static struct av_pt *pt_of(struct av_shadow *sh, u32 name)
{
	return sh->by_id[name / AV_ENTRIES];
}

/* The first entry of a frame or block; 0: none. */
static u32 first_of(struct av_shadow *sh, u32 gfn, int level)
{
	u32 *head = av_rmap_head(sh, gfn, level);

	return head ? *head : 0;
}

/* Drop entries from name on, within the gather's limit. Returns true if some are left. */
static bool zap_from(struct av_shadow *sh, u32 name, struct av_gather *g)
{
	while (name && !av_gather_spent(g)) {
		struct av_pt *pt = pt_of(sh, name);
		u32 idx = name % AV_ENTRIES;

		name = pt->aux[idx].next;
		if (likely(!av_pte_is_asleep(pt, idx))) {
			av_shadow_clear(pt, idx, g);
			continue;
		}
		av_resync_forget(sh, pt, idx);
		g->work++;
	}
	return name;
}

bool av_shadow_zap_blocks(struct av_shadow *sh, u32 gfn, struct av_gather *g)
{
	return zap_from(sh, first_of(sh, ALIGN_DOWN(gfn, AV_BLOCK_PAGES), 2), g);
}

bool av_shadow_zap_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g)
{
	return zap_from(sh, first_of(sh, gfn, 3), g) || av_shadow_zap_blocks(sh, gfn, g);
}

/*
 * Most entries of a frame that are looked at one by one: a guest may have made millions, and
 * the caller holds locks of the host's.
 */
#define SOME_ENTRIES	64

static void wrprotect_entry(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	u64 pte = pt->pte[idx];

	g->work++;
	if (pte & AV_PTE_RDONLY)
		return;
	WRITE_ONCE(pt->pte[idx], (pte & ~AV_PTE_DBM) | AV_PTE_RDONLY);
	av_gather_entry(g, pt, idx);
}

/* The log is by page: drop blocks, which come back as pages, and the rest of a long chain. */
bool av_shadow_wrprotect_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g)
{
	u32 name = first_of(sh, gfn, 3), n;

	if (av_gather_spent(g))
		return true;
	for (n = 0; name && n < SOME_ENTRIES; n++) {
		struct av_pt *pt = pt_of(sh, name);
		u32 idx = name % AV_ENTRIES;

		wrprotect_entry(pt, idx, g);
		name = pt->aux[idx].next;
	}
	return zap_from(sh, name, g) || av_shadow_zap_blocks(sh, gfn, g);
}

/* Is any entry from name on young? clear: make them old. */
static bool age_from(struct av_shadow *sh, u32 name, bool clear, struct av_gather *g)
{
	bool young = false;
	u32 n;

	for (n = 0; name && n < SOME_ENTRIES; n++) {
		struct av_pt *pt = pt_of(sh, name);
		u32 idx = name % AV_ENTRIES;
		u64 pte = pt->pte[idx];

		g->work++;
		name = pt->aux[idx].next;
		if (!(pte & AV_PTE_AF))
			continue;
		young = true;
		if (!clear)
			break;
		WRITE_ONCE(pt->pte[idx], pte & ~AV_PTE_AF);
		av_gather_entry(g, pt, idx);
	}
	return young;
}

bool av_shadow_age_head(struct av_shadow *sh, u32 head, bool clear, struct av_gather *g)
{
	return age_from(sh, head, clear, g);
}

bool av_shadow_age_blocks(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g)
{
	return age_from(sh, first_of(sh, ALIGN_DOWN(gfn, AV_BLOCK_PAGES), 2), clear, g);
}

bool av_shadow_age_gfn(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g)
{
	bool young = age_from(sh, first_of(sh, gfn, 3), clear, g);

	return av_shadow_age_blocks(sh, gfn, clear, g) || young;
}
