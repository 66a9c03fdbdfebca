/* SPDX-License-Identifier: GPL-2.0 */
/* Finds a place for an annex (mmu/code/annex.h) around the vectors of a guest's kernel. Pure. */
#ifndef AV_MMU_ANNEX_FIND_H
#define AV_MMU_ANNEX_FIND_H

#include "mmu/walk/walk.h"

/* A place for the annex, and how to check that it is still valid. */
struct av_annex_place {
	u64 va;			/* 0: none */
	u64 anchor, ipa;	/* a page of the kernel, and its translation */
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
	void *ctx;		/* for mem and for words */
	/* Read n words within one page. 0 or an errno. */
	int (*words)(void *ctx, u64 ipa, u64 *words, unsigned int n);
	/* Let others have the CPU: called after each AV_ANNEX_STEPS walks and reads. */
	void (*offer)(void);
	unsigned int steps;	/* done so far */
};

#define AV_ANNEX_STEPS	64

/*
 * Find a place in the kernel whose vectors are at vbar. False: none. The place may become
 * invalid at any time: check again before filling a page there.
 */
bool av_annex_find(struct av_annex_search *s, u64 vbar, struct av_annex_place *place);

#endif /* AV_MMU_ANNEX_FIND_H */
