// SPDX-License-Identifier: GPL-2.0
/* Kept tables that are compared at once (kept.h), with the tables that the guest has now. */
#include <linux/module.h>

#include "mmu/guest/walk_cache.h"

static bool kept_at_once = true;
module_param(kept_at_once, bool, 0644);
MODULE_PARM_DESC(kept_at_once, "with kept_tables, a few tables are compared with the guest's by the TLBI itself, and a few of those that a process inherits as it begins (default Y)");

bool av_renew_at_once(void)
{
	return READ_ONCE(kept_at_once);
}

void av_renew_inherited(struct av_vcpu *vcpu, struct av_tree *tree)
{
	const struct av_renew renew = {
		.tree = tree, .kept = true, .find = av_near_find, .arg = vcpu,
	};
	u32 work = 0;

	if (READ_ONCE(kept_at_once))
		av_tree_renew(&vcpu->vm->mmu->shadow, tree, &renew, &work);
}
