// SPDX-License-Identifier: GPL-2.0
/*
 * Under memory pressure the host takes back shadow trees that no vCPU has loaded, least recently
 * used first, one VM at a time. Whoever is short of memory waits for these calls, and is usually
 * somebody else. So a call does a bounded amount of work, however many VMs there are.
 */
#include <linux/list.h>
#include <linux/mutex.h>

#include "compat/mm.h"
#include "mmu/code/copies.h"
#include "mmu/host/face.h"
#include "mmu/host/host.h"

static LIST_HEAD(vms);
static DEFINE_MUTEX(vms_lock);	/* outside every mmu_lock */
static struct shrinker *shrinker;

/* Most VMs that one call looks at; the next call continues after them. */
#define SCAN_VMS	32
/* Most holds of an mmu_lock in one call, of AV_WORK each. */
#define SCAN_PARTS	64

void av_shrink_add(struct av_vm *vm)
{
	mutex_lock(&vms_lock);
	list_add_tail(&vm->mmu->list, &vms);
	mutex_unlock(&vms_lock);
}

void av_shrink_remove(struct av_vm *vm)
{
	mutex_lock(&vms_lock);
	list_del(&vm->mmu->list);
	mutex_unlock(&vms_lock);
}

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	long n = av_shrink_counted();

	return n > 0 ? n : SHRINK_EMPTY;
}

/* A call: its result, and its remaining budget. */
struct scan {
	unsigned long wanted, freed;	/* pages */
	unsigned int parts;
};

static bool is_done(const struct scan *scan)
{
	return scan->freed >= scan->wanted || !scan->parts;
}

static void drop_trees(struct av_vm *vm, struct scan *scan)
{
	unsigned long before = scan->freed;
	bool more = true;

	while (more && !is_done(scan)) {
		spin_lock(&vm->mmu_lock);
		/* Each table is two pages, or three. */
		scan->freed += AV_PT_PAGES *
			       av_shadow_reclaim(&vm->mmu->shadow, false, NULL, &more);
		spin_unlock(&vm->mmu_lock);
		scan->parts--;
		av_mmu_offer();
	}
	if (scan->freed != before)
		av_vm_stat_add(&vm->stats, AV_VM_SHADOW_RECLAIM, 1);
}

/* Trees go first: code that is executed needs its copies back soon, at a fault each. */
static void drop_copies(struct av_vm *vm, struct scan *scan)
{
	int idx = srcu_read_lock(&vm->srcu);
	bool more = true;
	u32 before;

	while (more && !is_done(scan)) {
		spin_lock(&vm->mmu_lock);
		before = vm->mmu->nr_copies;
		more = av_copies_shrink(vm);
		/* A copy that is mapped very often takes several calls. */
		scan->freed += before - vm->mmu->nr_copies;
		spin_unlock(&vm->mmu_lock);
		scan->parts--;
		av_mmu_offer();
	}
	srcu_read_unlock(&vm->srcu, idx);
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	struct scan scan = { .wanted = sc->nr_to_scan, .parts = SCAN_PARTS };
	const struct av_vm_mmu *first = NULL;
	struct av_vm_mmu *mmu;
	unsigned int n;

	/* Tables are allocated without our locks, but the thread that reclaims may be ours. */
	if (!mutex_trylock(&vms_lock))
		return SHRINK_STOP;
	for (n = 0; n < SCAN_VMS && !is_done(&scan); n++) {
		mmu = list_first_entry_or_null(&vms, struct av_vm_mmu, list);
		if (!mmu || mmu == first)
			break;
		if (!first)
			first = mmu;
		list_move_tail(&mmu->list, &vms);
		drop_trees(mmu->vm, &scan);
		drop_copies(mmu->vm, &scan);
	}
	mutex_unlock(&vms_lock);
	return scan.freed ?: SHRINK_STOP;
}

int av_mmu_init(void)
{
	int ret;

	shrinker = av_shrinker_alloc("armvisor-mmu");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	ret = av_shrinker_register(shrinker, "armvisor-mmu");
	if (ret)
		av_shrinker_discard(shrinker);
	return ret;
}

void av_mmu_exit(void)
{
	av_shrinker_free(shrinker);
}
