/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files of mmu/'s kernel side share. */
#ifndef AV_MMU_INTERNAL_H
#define AV_MMU_INTERNAL_H

#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "vm/vcpu.h"
#include "vm/regfile.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

/* pool.c: tables set aside, and the shadow's ops */
extern const struct av_shadow_ops av_host_ops;
int av_pool_fill(struct av_pool *pool);
void av_pool_empty(struct av_pool *pool);
/* Under mmu_lock: flush a page of the tree of that serial, and wait; returns the number of TLBI. */
unsigned int av_mmu_flush_page(struct av_vm *vm, u64 serial, u64 va);

/* life.c: between two parts of long work, without the lock; av_mmu_offer() may sleep. */
void av_mmu_offer(void);
void av_mmu_part_frees(void);
/* mmu_lock is held: count that, and look for it for a moment. True: it was taken. */
bool av_mmu_lock_waits(struct av_vcpu *vcpu);
/* Drop all that is filled, a part at a time; trees that nobody has loaded too. */
void av_mmu_drop_all(struct av_vm *vm);
/* Take doomed tables apart until there are none, a part at a time; pool may be NULL. */
void av_mmu_reap(struct av_vm *vm, struct av_pool *pool);
/*
 * Make some room when the budget is reached, from loaded trees if need be.
 * Under mmu_lock. False when there is none to be had.
 */
bool av_mmu_reclaim(struct av_vm *vm, struct av_pool *pool);

/* root.c: run without copies for a while, after an instruction that they cannot do. */
void av_mmu_go_plain(struct av_vcpu *vcpu);

/*
 * The owner of a vCPU's trees for copies: from the first annex on, each vCPU has
 * its own. An only one keeps those that it has, and others never get these.
 */
static inline u16 av_tree_owner(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->vm->mmu->annex.once) && READ_ONCE(vcpu->vm->nr_vcpus) > 1 ?
	       vcpu->idx + 1 : 0;
}

/* memslot.c */
void av_slot_free(struct av_slot *slot);

static inline struct av_slots *av_vm_slots(struct av_vm *vm)
{
	return srcu_dereference_check(vm->mmu->slots, &vm->srcu,
				      lockdep_is_held(&vm->mmu_lock) ||
				      lockdep_is_held(&vm->slots_lock));
}

static inline struct av_slot *av_vm_slot(struct av_vm *vm, u64 gfn)
{
	return av_slot_find(av_vm_slots(vm), gfn);
}

/*
 * dirty.c: note a page that a vCPU, whose thread this is, writes to or may write to
 * from now on; or nobody's vCPU, NULL. The slot is held by srcu or a lock.
 */
void av_slot_log(struct av_vm *vm, struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn);

static inline void av_slot_mark_dirty(struct av_vm *vm, struct av_vcpu *vcpu,
				      struct av_slot *slot, u64 gfn)
{
	if (unlikely(av_slot_logged(slot)))
		av_slot_log(vm, vcpu, slot, gfn);
}

/* dirty_ring.c */
int av_ring_create(struct av_vcpu *vcpu);
void av_ring_destroy(struct av_vcpu *vcpu);
/* Put a page of a slot into the vCPU's ring, unless it is in one: false when there is no room. */
bool av_slot_put_in_ring(struct av_vcpu *vcpu, struct av_slot *slot, u64 page);

/* Turn an errno into an answer: bad memory has been reported, and the guest tries again. */
static inline void av_mmu_error(struct av_answer *answer, int err)
{
	answer->kind = err == -EHWPOISON ? AV_ANSWER_RESUME : AV_ANSWER_ERROR;
	answer->err = err;
}

/* The registers of the regime, from the vCPU's register file. */
void av_vcpu_regime(struct av_vcpu *vcpu, struct av_regime *regime);

/* shrink.c */
void av_shrink_add(struct av_vm *vm);
void av_shrink_remove(struct av_vm *vm);

/* notifier.c */
int av_notifier_register(struct av_vm *vm);
void av_notifier_unregister(struct av_vm *vm);

static inline u64 av_mmu_seq_tables(const struct av_vcpu *vcpu, bool high)
{
	return av_tree_seq_tables(&vcpu->vm->mmu->shadow, vcpu->mmu->tree[high]);
}

/* Read the sequences before a walk of va's half. Pairs with the release in av_mmu_bump_seq(). */
static inline struct av_seq av_mmu_read_seq(struct av_vcpu *vcpu, bool high)
{
	struct av_seq seq = {
		.host = READ_ONCE(vcpu->vm->mmu->seq),
		.tree = READ_ONCE(vcpu->mmu->tree[high]->seq),
		.va = READ_ONCE(vcpu->vm->mmu->shadow.seq_va[high]),
		.tables = av_mmu_seq_tables(vcpu, high),
	};

	/*
	 * Read seq before all that the walk reads: stale data comes with a stale seq.
	 * The guest's own writes are ordered by the barrier that it needs before a TLBI.
	 */
	smp_rmb();
	return seq;
}

/* Table walkers of all CPUs see what was written; no stale order with what follows. */
static inline void av_mmu_publish(void)
{
	dsb(ishst);
}

/* Has nothing been invalidated since seq, as far as can be seen without the lock? */
static inline bool av_mmu_seq_current(struct av_vcpu *vcpu, bool high, struct av_seq seq)
{
	return seq.host == READ_ONCE(vcpu->vm->mmu->seq) &&
	       seq.tree == READ_ONCE(vcpu->mmu->tree[high]->seq) &&
	       seq.va == READ_ONCE(vcpu->vm->mmu->shadow.seq_va[high]);
}

/*
 * Take mmu_lock for a vCPU's fault or TLBI if it is free within a moment, and count where
 * it was not. Other vCPUs hold it for a fill, or a part of a TLBI: seldom for longer. Who
 * queues for the lock gets it in turn, also while the one before does not need it yet; so
 * vCPUs that queue for each other come to do so at each fault.
 */
static inline bool av_mmu_lock_soon(struct av_vcpu *vcpu)
{
	return likely(spin_trylock(&vcpu->vm->mmu_lock)) || av_mmu_lock_waits(vcpu);
}

/* Take it, however long that may be. */
static inline void av_mmu_lock(struct av_vcpu *vcpu)
{
	if (!av_mmu_lock_soon(vcpu))
		spin_lock(&vcpu->vm->mmu_lock);
}

static inline void av_mmu_unlock(struct av_vcpu *vcpu)
{
	spin_unlock(&vcpu->vm->mmu_lock);
}

/* Under mmu_lock: has the host taken the page back since seq was read, or is it about to? */
static inline bool av_mmu_raced(struct av_vm *vm, struct av_seq seq, unsigned long hva)
{
	struct av_vm_mmu *mmu = vm->mmu;

	lockdep_assert_held(&vm->mmu_lock);
	if (mmu->in_progress && hva >= mmu->invalidate_start && hva < mmu->invalidate_end)
		return true;
	return mmu->seq != seq.host;
}

/* The same for any page from there on, in so many bytes. */
static inline bool av_mmu_raced_within(struct av_vm *vm, struct av_seq seq, unsigned long hva,
				       unsigned long size)
{
	struct av_vm_mmu *mmu = vm->mmu;

	lockdep_assert_held(&vm->mmu_lock);
	if (mmu->in_progress && hva + size > mmu->invalidate_start && hva < mmu->invalidate_end)
		return true;
	return mmu->seq != seq.host;
}

static inline void av_mmu_bump_seq(struct av_vm *vm)
{
	lockdep_assert_held(&vm->mmu_lock);
	/* Ordered after the changes that seq stands for: pairs with av_mmu_read_seq(). */
	smp_store_release(&vm->mmu->seq, vm->mmu->seq + 1);
}

#endif /* AV_MMU_INTERNAL_H */
