// SPDX-License-Identifier: GPL-2.0
/* Write protection in parts: rules in protect.h. */
#include <linux/sched.h>

#include "mmu/dirty/protect.h"

static void begin(struct av_protect *p)
{
	spin_lock(&p->vm->mmu_lock);
	/* Sparse cannot follow a lock that is held while p->begun. */
	__release(&p->vm->mmu_lock);
	av_gather_init(&p->g, &p->vm->mmu->shadow);
	p->looked = 0;
	p->begun = true;
}

void av_protect_end(struct av_protect *p)
{
	if (!p->begun)
		return;
	av_gather_finish(&p->g);
	__acquire(&p->vm->mmu_lock);
	spin_unlock(&p->vm->mmu_lock);
	p->begun = false;
	cond_resched();
}

void av_protect_page(struct av_protect *p, const struct av_slot *slot, u64 gfn)
{
	for (;;) {
		if (p->begun && p->looked == AV_PROTECT_PART)
			av_protect_end(p);
		if (!p->begun)
			begin(p);
		p->looked++;
		if (!av_shadow_wrprotect_gfn(&p->vm->mmu->shadow, gfn, &p->g))
			return;
		/* The pages of this part have more entries than one part may handle. */
		av_protect_end(p);
	}
}
