/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of mmu/base/base.h for the code that uses trees. */
#ifndef AV_TESTS_FAKE_MMU_INTERNAL_H
#define AV_TESTS_FAKE_MMU_INTERNAL_H

#include "fake.h"
#include "mmu/base/types.h"

int av_mmu_fill_memcache(struct av_vcpu *vcpu);
void av_mmu_reap(struct av_vm *vm, struct av_memcache *pool);
void av_mmu_offer(void);
bool av_mmu_reclaim(struct av_vm *vm, struct av_memcache *pool);

static inline void av_mmu_lock(struct av_vcpu *vcpu)
{
	fake_lock(&vcpu->vm->mmu_lock);
}

/* Now and then another vCPU has it. */
bool fake_lock_waits(void);
static inline bool av_mmu_lock_soon(struct av_vcpu *vcpu)
{
	if (fake_lock_waits())
		return false;
	av_mmu_lock(vcpu);
	return true;
}

static inline void av_mmu_unlock(struct av_vcpu *vcpu)
{
	fake_unlock(&vcpu->vm->mmu_lock);
}

static inline u16 av_tree_owner(const struct av_vcpu *vcpu)
{
	return vcpu->vm->mmu->annex.once ? vcpu->idx + 1 : 0;
}

#endif /* AV_TESTS_FAKE_MMU_INTERNAL_H */
