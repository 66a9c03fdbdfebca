// SPDX-License-Identifier: GPL-2.0
/*
 * Under memory pressure the host takes back shadow trees that no vCPU has loaded, least
 * recently used first, one VM at a time.
 */
#include <linux/list.h>
#include <linux/mutex.h>

#include "compat/mm.h"
#include "mmu/copies.h"

static LIST_HEAD(vms);
static DEFINE_MUTEX(vms_lock);	/* outside every mmu_lock */
static struct shrinker *shrinker;

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

/* Each table is two pages, or three. */
static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;
	struct av_vm_mmu *mmu;

	if (!mutex_trylock(&vms_lock))
		return 0;
	list_for_each_entry(mmu, &vms, list)
		n += AV_PT_PAGES * READ_ONCE(mmu->shadow.nr_pts) +
		     READ_ONCE(mmu->shadow.nr_descs) + READ_ONCE(mmu->nr_copies);
	mutex_unlock(&vms_lock);
	return n ?: SHRINK_EMPTY;
}

/* Free up to wanted tables of a VM. */
static u32 scan_vm(struct av_vm *vm, u32 wanted)
{
	bool more = true;
	u32 n = 0;

	while (more && n < wanted) {
		spin_lock(&vm->mmu_lock);
		n += av_shadow_reclaim(&vm->mmu->shadow, false, NULL, &more);
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	}
	return n;
}

/* Trees go first: code that is executed needs its copies back soon, at a fault each. */
static unsigned long drop_copies(struct av_vm *vm, unsigned long wanted)
{
	int idx = srcu_read_lock(&vm->srcu);
	unsigned long n = 0;
	bool more = true;
	u32 before;

	while (more && n < wanted) {
		spin_lock(&vm->mmu_lock);
		before = vm->mmu->nr_copies;
		more = av_copies_shrink(vm);
		/* A copy that is mapped very often takes several calls. */
		n += before - vm->mmu->nr_copies;
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	}
	srcu_read_unlock(&vm->srcu, idx);
	return n;
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long freed = 0;
	struct av_vm_mmu *mmu;
	u32 n;

	/* Tables are allocated without our locks, but the thread that reclaims may be ours. */
	if (!mutex_trylock(&vms_lock))
		return SHRINK_STOP;
	list_for_each_entry(mmu, &vms, list) {
		n = scan_vm(mmu->vm, DIV_ROUND_UP(sc->nr_to_scan - freed, AV_PT_PAGES));
		if (n)
			av_vm_stat_add(&mmu->vm->stats, AV_VM_SHADOW_RECLAIM, 1);
		freed += AV_PT_PAGES * n;
		freed += drop_copies(mmu->vm, sc->nr_to_scan - min(freed, sc->nr_to_scan));
		if (freed >= sc->nr_to_scan)
			break;
	}
	list_rotate_left(&vms);
	mutex_unlock(&vms_lock);
	return freed ?: SHRINK_STOP;
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
