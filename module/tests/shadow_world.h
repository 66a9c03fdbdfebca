/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A world for tests of the shadow tables. A fake TLB caches every lookup with touch() until it is
 * flushed. The checks are:
 *  - the TLB holds nothing that the shadow no longer grants (check_tlb);
 *  - every leaf is on its frame's reverse map, and nothing else is (check_rmap);
 *  - no table is returned while a walker may reach it, or with entries left;
 *  - everything is returned in the end (teardown).
 */
#ifndef AV_TESTS_SHADOW_WORLD_H
#define AV_TESTS_SHADOW_WORLD_H

#include "mmu/shadow/shadow.h"

#define NR_GFNS		8192
#define MAX_PTS		400
#define WINDOW_PA	0x7ff000ULL
#define KVA		0xffff800010000000ULL

extern struct av_shadow sh;
extern int spare;	/* tables that may still be had; negative: any number */
extern unsigned int flush_alls, flush_pages, flush_trees;
/* What tlbi() names is leaves only; how often av_shadow_tlbi_again() did it. */
extern bool tlbi_leaves;
extern unsigned int swept_again;
extern unsigned int most_work;	/* that one call did, in the units of AV_WORK */
extern unsigned int tables_relinked, entries_agreed, tables_were_gone;
extern bool keep_tables;	/* tlbi() of an ASID keeps them; setup() says no … */
extern const struct av_resync *renewing;	/* … and compares those in use by this: or NULL */
extern struct av_memcache pool;

/* The guest's memory, for tables that are compared; setup() takes it away. 0 or an error. */
typedef int guest_words_fn(u64 ipa, u64 *words, unsigned int n);
extern guest_words_fn *guest_words;

void setup(void);
void teardown(void);
/* No vCPU has the tree loaded any more. */
void unload(struct av_tree *tree);
/* One has. */
void load_again(struct av_tree *tree);

/* Look va up as the hardware would, and keep the answer. */
u64 touch(struct av_tree *tree, u64 va);
void check_tlb(void);
void check_rmap(void);

struct av_regime regime(u64 ttbr0, u64 ttbr1, u16 asid);
struct av_tree *get(u64 base, bool high, int el, u16 asid);
/* Frame gfn is at host page gfn + 0x100000. */
int fill(struct av_tree *tree, u64 va, u32 gfn, int level, u8 rights, u8 span, bool global);
/* A page by a descriptor of a guest's table. */
int fill_by(struct av_tree *tree, u64 va, u32 gfn, u8 rights, u64 desc, u64 table);
/* Invalidate, then check TLB and reverse map. */
void tlbi(int scope, u64 va, u64 last, u16 asid);
/* One part of an op that may do this much work, then the same checks. True: there is more to do. */
bool tlbi_part(struct av_tlbi_walk *w, unsigned int work);
/* By frame, until all is done. */
void zap(u32 gfn, u32 end);
void wrprotect(u32 gfn);
bool age(u32 gfn, bool clear);
void reclaim_all(void);
struct av_memcache *full_pool(void);

/* As the module carries out an op of the page that was named before. */
bool tlbi_again(struct av_tlbi_page op);

/* As the module carries out an op of one page: false if it is to be done the long way. */
bool tlbi_page(struct av_tlbi_page op);

/* The same op for av_shadow_tlbi_page(). */
static inline struct av_tlbi_page page_op(const struct av_tlbi *op)
{
	return (struct av_tlbi_page) {
		.va = op->start, .asid = op->asid, .any_asid = op->scope == AV_TLBI_VAA,
		.leaf = op->leaf,
	};
}

#endif /* AV_TESTS_SHADOW_WORLD_H */
