/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake kernel and mmu/ for the code that uses trees (root.c, ttbr_cache.c, root_cache.c), beside
 * fake/tlb/kernel.h. The test may refuse memory. The lock checks that it is held once. There are no
 * copies and no annex except the test's.
 */
#ifndef AV_TESTS_FAKE_PAIRS_H
#define AV_TESTS_FAKE_PAIRS_H

#include "kernel.h"
#include "require.h"

#include <linux/types.h>
struct hlist_head { void *first; };
struct mmu_notifier { int unused; };
struct page;
#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define __rcu

#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define U16_MAX			0xffff
#define clamp(v, low, high)	min(max(v, low), high)
#define for_each_set_bit(bit, word, size)	\
	for ((bit) = 0; (bit) < (size); (bit)++)	\
		if (*(word) & BIT(bit))

#define GFP_KERNEL_ACCOUNT	0
unsigned long get_zeroed_page(int how);
#define virt_to_phys(p)		((u64)(uintptr_t)(p))

void fake_lock(int *lock);
void fake_unlock(int *lock);
#define spin_lock(lock)		fake_lock(lock)
#define spin_unlock(lock)	fake_unlock(lock)
#define lockdep_assert_held(lock)	REQUIRE(*(lock))
#define cond_resched_lock(lock)	(fake_unlock(lock), fake_lock(lock))

bool av_annex_check(struct av_vcpu *vcpu);

#endif /* AV_TESTS_FAKE_PAIRS_H */
