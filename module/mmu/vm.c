// SPDX-License-Identifier: GPL-2.0
/* Life of mmu/'s state in VMs and vCPUs. */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/memory.h>

#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/dirty/dirty.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/host/host.h"
#include "mmu/host_ops.h"
#include "mmu/mmu.h"
#include "mmu/roots/ttbr_cache.h"
#include "switch/image.h"

int av_mmu_vm_init(struct av_vm *vm)
{
	struct av_vm_mmu *mmu = vm->mmu;
	struct av_slots *slots = kzalloc(sizeof(*slots), GFP_KERNEL_ACCOUNT);
	struct av_shadow_limits max = av_vm_limits(1, 0);
	struct av_pt **by_id = av_image_kvcalloc(max.pts, sizeof(*by_id), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!slots || !by_id)
		goto fail;
	av_shadow_init(&mmu->shadow, &av_host_ops, vm, by_id, &max);
	mmu->vm = vm;
	mmu->vcpus = 1;
	av_copies_init(vm);
	av_annex_init(vm);
	mmu->shadow.window_pa = virt_to_phys(vm->sw->l3);
	mmu->shadow.memory = FIELD_PREP(AV_PTE_ATTR, MT_NORMAL) | av_host_tables.shareable;
	RCU_INIT_POINTER(mmu->slots, slots);
	ret = av_notifier_register(vm);
	if (ret)
		goto fail;
	av_shrink_add(vm);
	mmu->registered = true;
	return 0;
fail:
	av_image_kvfree(by_id);
	kfree(slots);
	return ret;
}

void av_mmu_count_leaves(struct av_vm *vm, u64 *pages, u64 *blocks)
{
	struct av_leaves n = {};
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		more = av_shadow_count(&vm->mmu->shadow, &n);
		spin_unlock(&vm->mmu_lock);
		cond_resched();
	} while (more);
	*pages = n.pages;
	*blocks = n.blocks;
}

static void free_slots(struct av_vm *vm)
{
	struct av_slots *slots = rcu_dereference_protected(vm->mmu->slots, true);
	struct av_slot_node *node;
	unsigned int order;

	for (order = 0; order < AV_NR_ORDERS; order++) {
		while ((node = av_slots_take_apart(slots, order))) {
			/* All slots are in this order. */
			if (order == AV_BY_ID)
				av_slot_free(node->slot);
			kfree(node);
			cond_resched();
		}
	}
	kfree(slots);
}

void av_mmu_vm_stop(struct av_vm *vm)
{
	if (!vm->mmu->registered)
		return;
	vm->mmu->registered = false;
	av_shrink_remove(vm);
	av_notifier_unregister(vm);
}

/* Nobody can reach the VM any more; its vCPUs have returned their trees. */
void av_mmu_vm_destroy(struct av_vm *vm)
{
	struct av_vm_mmu *mmu = vm->mmu;

	av_mmu_vm_stop(vm);
	av_mmu_drop_all(vm);
	av_copies_free(vm);
	av_annex_free(vm);
	av_image_kvfree(mmu->shadow.by_id);
	free_slots(vm);
}

/* Room for the trees that one more vCPU can load. */
static int make_room(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	int ret;

	mutex_lock(&vm->slots_lock);
	ret = av_mmu_raise_limits(vm, vcpu->idx + 1, av_vm_slots(vm)->npages);
	mutex_unlock(&vm->slots_lock);
	return ret;
}

int av_mmu_vcpu_init(struct av_vcpu *vcpu)
{
	int ret = make_room(vcpu);

	if (ret)
		return ret;
	av_list_init(&vcpu->mmu->pool.pts);
	vcpu->mmu->stale = AV_STALE_REGS;
	vcpu->mmu->regimes = 1;
	av_ttbr_cache_init(vcpu->mmu);
	av_sw_tables_make_room(vcpu->vm, vcpu->idx);
	/* If the window has moved, follow. */
	av_vcpu_request(vcpu, AV_REQ_WINDOW);
	return av_ring_create(vcpu);
}

void av_mmu_vcpu_destroy(struct av_vcpu *vcpu)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;
	struct av_vm *vm = vcpu->vm;
	int i;

	av_sw_tables_end(vcpu);
	/* The vCPU's contexts were flushed with its ASIDs: no walker has its roots. */
	for (i = 0; i < AV_VCPU_TREES; i++) {
		if (mmu->trees[i]) {
			spin_lock(&vm->mmu_lock);
			av_root_detach(&mmu->roots[i], mmu->trees[i]);
			av_tree_put(&vm->mmu->shadow, mmu->trees[i]);
			spin_unlock(&vm->mmu_lock);
			cond_resched();
		}
		free_page((unsigned long)mmu->roots[i].pte);
	}
	av_memcache_empty(&mmu->pool);
	av_copies_unprepare(vcpu);
	av_ring_destroy(vcpu);
}
