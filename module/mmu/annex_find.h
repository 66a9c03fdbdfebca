/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where an annex may be (mmu/annex.h): found by what a guest's kernel has around its
 * vectors. Pure code.
 */
#ifndef AV_MMU_ANNEX_FIND_H
#define AV_MMU_ANNEX_FIND_H

#include "mmu/walk.h"

/* Where the annex is, and by what it is known to be there still. */
struct av_annex_place {
	u64 va;			/* 0: there is none */
	u64 anchor, ipa;	/* a page of the kernel's, and what it translates to */
	bool hole;		/* the guest has nothing mapped at va; else va is the anchor */
};

static inline bool av_annex_same(const struct av_annex_place *a, const struct av_annex_place *b)
{
	return a->va == b->va && a->anchor == b->anchor && a->ipa == b->ipa && a->hole == b->hole;
}

/* The guest's tables and memory, which may change meanwhile. */
struct av_annex_search {
	const struct av_regime *regime;
	const struct av_mem_ops *mem;
	void *ctx;		/* of mem, and of words */
	/* Read n words of one page: 0 or an errno. */
	int (*words)(void *ctx, u64 ipa, u64 *words, unsigned int n);
	/* Others may want the CPU: called after each AV_ANNEX_STEPS walks and reads. */
	void (*offer)(void);
	unsigned int steps;	/* done */
};

#define AV_ANNEX_STEPS	64

/*
 * Where the kernel whose vectors are at vbar may have one. False: nowhere. What is
 * found may be gone by then: whoever fills a page there looks again.
 */
bool av_annex_find(struct av_annex_search *s, u64 vbar, struct av_annex_place *place);

#endif /* AV_MMU_ANNEX_FIND_H */
