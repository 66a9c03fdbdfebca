/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock, sequence numbers and preallocated tables, for all rooms of mmu/ that call the kernel.
 */
#ifndef AV_MMU_BASE_H
#define AV_MMU_BASE_H

#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "mmu/base/types.h"
#include "stats/stats.h"
#include "switch/tlb.h"
#include "vm/answer.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

/* memcache.c: preallocated tables. Fill up one from the host's memory. May sleep. 0 or -ENOMEM. */
int av_memcache_fill(struct av_memcache *pool);
void av_memcache_empty(struct av_memcache *pool);
/* Free a table or a tree, or give it to a pool, which may be NULL. */
void av_memcache_give_pt(struct av_memcache *pool, struct av_pt *pt);
void av_memcache_give_tree(struct av_memcache *pool, struct av_tree *tree);
/*
 * The number of pages, of tables and copies, that the shrinker could free: change it, or read it.
 * Any context.
 */
void av_shrink_count(long pages);
long av_shrink_counted(void);

/* Flush a page of a tree and wait. Under mmu_lock. Returns the number of TLBIs. */
static inline unsigned int av_mmu_flush_page(struct av_vm *vm, u64 serial, u64 va)
{
	unsigned int n;

	av_vm_stat_add_locked(&vm->stats, AV_VM_REMOTE_TLB_FLUSH_REQUESTS, 1);
	n = av_tlb_flush_one(vm, serial, va);
	if (likely(n))
		av_vm_stat_add_locked(&vm->stats, AV_VM_REMOTE_TLB_FLUSH, 1);
	return n;
}

/*
 * reap.c: raise the limits to those for this many vCPUs and guest pages. Under slots_lock. 0 or
 * -ENOMEM.
 */
int av_mmu_raise_limits(struct av_vm *vm, unsigned int vcpus, u64 npages);
/* Between two parts of long work, without mmu_lock. av_mmu_offer() may sleep. */
void av_mmu_offer(void);
void av_mmu_part_frees(void);
/* mmu_lock is busy: count that, and try for a moment to take it. True: taken. */
bool av_mmu_lock_waits(struct av_vcpu *vcpu);
/* Drop all entries, and trees that no vCPU has loaded, in parts. Takes mmu_lock. */
void av_mmu_drop_all(struct av_vm *vm);
/* Take all doomed tables apart, in parts. Takes mmu_lock; pool may be NULL. */
void av_mmu_reap(struct av_vm *vm, struct av_memcache *pool);
/*
 * Make some room when a limit is reached, if necessary from loaded trees. Under mmu_lock.
 * False: there is none.
 */
bool av_mmu_reclaim(struct av_vm *vm, struct av_memcache *pool);
/*
 * Fill up a vCPU's pool before mmu_lock is taken; if the host has no memory, from tables of the
 * VM, those of trees that no vCPU has loaded first. May sleep. 0 or -ENOMEM.
 */
int av_mmu_fill_memcache(struct av_vcpu *vcpu);

/*
 * The owner of a vCPU's trees for copies. From the first annex on, each vCPU has its own trees. A
 * VM with one vCPU keeps its trees, with owner 0; vCPUs created later never get those.
 */
static inline u16 av_tree_owner(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->vm->mmu->annex.once) && READ_ONCE(vcpu->vm->nr_vcpus) > 1 ?
	       vcpu->idx + 1 : 0;
}

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

/* Turn an errno into an answer. Bad memory has been reported: the guest tries again. */
static inline void av_mmu_error(struct av_answer *answer, int err)
{
	answer->kind = err == -EHWPOISON ? AV_ANSWER_RESUME : AV_ANSWER_ERROR;
	answer->err = err;
}

static inline u64 av_mmu_seq_tables(const struct av_vcpu *vcpu, bool high)
{
	return av_tree_seq_tables(&vcpu->vm->mmu->shadow, vcpu->mmu->tree[high]);
}

/* Read the sequence numbers before a walk in va's half. Pairs with av_mmu_bump_seq(). */
static inline struct av_seq av_mmu_read_seq(struct av_vcpu *vcpu, bool high)
{
	struct av_seq seq = {
		.host = READ_ONCE(vcpu->vm->mmu->seq),
		.tree = READ_ONCE(vcpu->mmu->tree[high]->seq),
		.va = READ_ONCE(vcpu->vm->mmu->shadow.seq_va[high]),
		.tables = av_mmu_seq_tables(vcpu, high),
	};

	/*
	 * Read seq before anything the walk reads: stale data implies a stale seq. The guest's
	 * own writes are ordered by the barrier that it must execute before a TLBI.
	 */
	smp_rmb();
	return seq;
}

/* Make written entries visible to the table walkers of all CPUs before anything that follows. */
static inline void av_mmu_publish(void)
{
	dsb(ishst);
}

/* Was nothing invalidated since seq, as far as can be seen without mmu_lock? */
static inline bool av_mmu_seq_current(struct av_vcpu *vcpu, bool high, struct av_seq seq)
{
	return seq.host == READ_ONCE(vcpu->vm->mmu->seq) &&
	       seq.tree == READ_ONCE(vcpu->mmu->tree[high]->seq) &&
	       seq.va == READ_ONCE(vcpu->vm->mmu->shadow.seq_va[high]);
}

/* av_mmu_lock_waits() with an annotation: sparse knows no function that may take a lock. */
static inline bool av_mmu_lock_waited(struct av_vcpu *vcpu)
{
	bool taken = av_mmu_lock_waits(vcpu);

	if (taken)
		__acquire(&vcpu->vm->mmu_lock);
	return taken;
}

/*
 * Take mmu_lock for a vCPU's fault or TLBI if it becomes free within a moment; count it if it was
 * not free at once. Other vCPUs rarely hold it longer than for a fill or a part of a TLBI. Do not
 * queue at once: a queued spinlock goes to its waiters in order, even to a CPU that does not need
 * it yet. So vCPUs that have begun to queue for each other would queue at each fault.
 */
static inline bool av_mmu_lock_soon(struct av_vcpu *vcpu)
{
	return likely(spin_trylock(&vcpu->vm->mmu_lock)) || av_mmu_lock_waited(vcpu);
}

/* Take mmu_lock, however long that takes. */
static inline void av_mmu_lock(struct av_vcpu *vcpu)
{
	if (!av_mmu_lock_soon(vcpu))
		spin_lock(&vcpu->vm->mmu_lock);
}

static inline void av_mmu_unlock(struct av_vcpu *vcpu)
{
	spin_unlock(&vcpu->vm->mmu_lock);
}

/* Under mmu_lock: has the host taken back the page since seq was read, or is it doing so? */
static inline bool av_mmu_raced(struct av_vm *vm, struct av_seq seq, unsigned long hva)
{
	struct av_vm_mmu *mmu = vm->mmu;

	lockdep_assert_held(&vm->mmu_lock);
	if (mmu->in_progress && hva >= mmu->invalidate_start && hva < mmu->invalidate_end)
		return true;
	return mmu->seq != seq.host;
}

/* The same for any page in a range. */
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
	/* After the changes that seq stands for. Pairs with av_mmu_read_seq(). */
	smp_store_release(&vm->mmu->seq, vm->mmu->seq + 1);
}

#endif /* AV_MMU_BASE_H */
