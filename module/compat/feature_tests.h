/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module asks of a kernel's headers: features.sh compiles each block by itself, with the
 * kernel's own flags. In features.h AV_HAS_x is 1 where block x compiles, else 0. A version says
 * where Linux has changed; it decides nothing, because distributions take changes over.
 *
 * A block ends at its #endif, and the name stands in its #ifdef only. A declaration that differs
 * from the kernel's does not compile, nor does a call of something that is not declared. Some headers
 * do not include what they need: mm.h has most of it.
 */
#include <linux/mm.h>

/* ---- timers, eventfds ------------------------------------------------------------------ */

/* 6.8: no count. */
#ifdef AV_TEST_EVENTFD_SIGNAL_ONE
#include <linux/eventfd.h>
void test(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx);
}
#endif

/* 6.13: hrtimers get their function at set-up. */
#ifdef AV_TEST_HRTIMER_SETUP
#include <linux/hrtimer.h>
void test(struct hrtimer *timer, enum hrtimer_restart (*expired)(struct hrtimer *timer))
{
	hrtimer_setup(timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
#endif

/* 6.17 */
#ifdef AV_TEST_WAIT_PRIORITY_EXCLUSIVE
#include <linux/wait.h>
int test(struct wait_queue_head *head, struct wait_queue_entry *wait)
{
	return add_wait_queue_priority_exclusive(head, wait);
}
#endif

/* 7.2: a snapshot of one clock. */
#ifdef AV_TEST_SNAPSHOT_ID
#include <linux/timekeeping.h>
bool test(struct system_time_snapshot *now)
{
	ktime_get_snapshot_id(CLOCK_REALTIME, now);
	return now->systime && now->valid;
}
#endif

/* ---- the machine ----------------------------------------------------------------------- */

/* 6.13 */
#ifdef AV_TEST_REALM_WORLD
#include <asm/rsi.h>
bool test(void)
{
	return is_realm_world();
}
#endif

/* ---- memory ---------------------------------------------------------------------------- */

/* 7.1: an MMU notifier's young callbacks return bool. */
#ifdef AV_TEST_YOUNG_BOOL
#include <linux/mmu_notifier.h>
bool young(struct mmu_notifier *mn, struct mm_struct *mm, unsigned long address);
const struct mmu_notifier_ops ops = { .test_young = young };
#endif

/* 6.3 */
#ifdef AV_TEST_VM_FLAGS_SET
void test(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
}
#endif

/* 6.7: shrinkers are allocated. */
#ifdef AV_TEST_SHRINKER_ALLOC
#include <linux/shrinker.h>
struct shrinker *test(void)
{
	return shrinker_alloc(0, "%s", "name");
}
#endif

/* 6.0 to 6.6: shrinkers have names. */
#ifdef AV_TEST_SHRINKER_NAME
#include <linux/shrinker.h>
int test(struct shrinker *shrinker)
{
	return register_shrinker(shrinker, "%s", "name");
}
#endif

/* 5.16 */
#ifdef AV_TEST_FOLIO_LOCK_KILLABLE
#include <linux/pagemap.h>
int test(struct page *page)
{
	return folio_lock_killable(page_folio(page));
}
#endif

/* ---- CPU ------------------------------------------------------------------------------- */

/* 6.19: the caller provides the memory for the saved FP/SIMD state. */
#ifdef AV_TEST_NEON_STATE
#include <asm/neon.h>
#include <asm/ptrace.h>
void test(struct user_fpsimd_state *state)
{
	kernel_neon_begin(state);
}
#endif

/* 6.12: a PMU's counters are a bitmap. */
#ifdef AV_TEST_PMU_CNTR_MASK
#include <linux/perf/arm_pmu.h>
unsigned long test(const struct arm_pmu *pmu)
{
	return pmu->cntr_mask[0];
}
#endif

/* ---- the level of the kernel's own KVM (kvm_level.h) ----------------------------------- */

/* 6.15 */
#ifdef AV_TEST_KVM_VENDOR_HYP_BMAP_2
#include <linux/kvm.h>
u64 reg = KVM_REG_ARM_VENDOR_HYP_BMAP_2;
#endif

/* 6.15 */
#ifdef AV_TEST_KVM_IMP_IDS
#include <linux/kvm.h>
int capability = KVM_CAP_ARM_WRITABLE_IMP_ID_REGS;
#endif

/* 6.17 */
#ifdef AV_TEST_KVM_PMU_NR_COUNTERS
#include <linux/kvm.h>
int attribute = KVM_ARM_VCPU_PMU_V3_SET_NR_COUNTERS;
#endif

/* 6.18: guest_memfd that the VMM maps. */
#ifdef AV_TEST_KVM_GUEST_MEMFD_MMAP
#include <linux/kvm.h>
u64 flag = GUEST_MEMFD_FLAG_MMAP;
#endif

/* 7.3 */
#ifdef AV_TEST_KVM_PMU_STRICT
#include <linux/kvm.h>
int attribute = KVM_ARM_VCPU_PMU_V3_STRICT;
#endif
