// SPDX-License-Identifier: GPL-2.0
/* Compares kept tables at once (resync.h) with the guest's current tables. */
#include <linux/module.h>

#include "mmu/guest/walk_cache.h"

static bool kept_at_once = true;
module_param(kept_at_once, bool, 0644);
MODULE_PARM_DESC(kept_at_once, "with kept_tables: compare a few of the tables at the TLBI, and a few at the start of a process that inherits them, instead of at their next faults (default Y)");

bool av_resync_at_once(void)
{
	return READ_ONCE(kept_at_once);
}

void av_resync_inherited(struct av_vcpu *vcpu, struct av_tree *tree)
{
	const struct av_resync renew = {
		.tree = tree, .kept = true, .find = av_walk_cache_find, .arg = vcpu,
	};
	u32 work = 0;

	if (READ_ONCE(kept_at_once))
		av_tree_resync(&vcpu->vm->mmu->shadow, tree, &renew, &work);
}
