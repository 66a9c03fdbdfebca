// SPDX-License-Identifier: GPL-2.0
/* Is a hidden fault's walk still valid? */
#include "mmu/base/hidden.h"

/* A global leaf is also voided by a TLBI of another ASID. Tables on the way may be voided, too. */
bool av_hidden_voided(const struct av_hidden *f, u64 va, u8 span)
{
	const struct av_shadow *sh = &f->vcpu->vm->mmu->shadow;
	const struct av_tree *tree = f->r->tree;
	bool high = tree->key.high;

	if (f->seq.tables != av_tree_seq_tables(sh, tree) ||
	    av_tlbi_voids(tree->seq, tree->recent, f->seq.tree, va, span))
		return true;
	return f->r->walk.global &&
	       av_tlbi_voids(sh->seq_va[high], sh->recent_va[high], f->seq.va, va, span);
}
