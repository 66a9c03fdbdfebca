// SPDX-License-Identifier: GPL-2.0
/*
 * Coalesced MMIO: stores to zones that the VMM names do not exit. They are queued in a ring, which
 * the VMM processes at its next exit.
 *
 * The ring is a page of the VM, mapped by the VMM behind kvm_run. The VMM may write any byte of it
 * at any time, so "last" is read once and checked, and only says where an entry goes. ring_lock,
 * inside vm->srcu, serializes vCPUs.
 *
 * Zones are an array that is replaced as a whole under vm->slots_lock, and read in vm->srcu. Zones
 * of ports (pio) are accepted, but this machine has no ports.
 */
#include <linux/gfp.h>
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "mmio/mmio.h"

/* KVM's limit for a bus. */
#define AV_MAX_ZONES	1000

struct av_zones {
	unsigned int nr;
	struct {
		u64 addr;
		u32 size;
	} at[];
};

/* Is the access entirely in the zone? As in KVM, a zone that wraps around contains nothing. */
static bool within(u64 zone, u32 size, u64 addr, u64 len)
{
	return addr + len >= addr && addr >= zone && addr + len <= zone + size;
}

static bool put(struct kvm_coalesced_mmio_ring *ring, u64 gpa, unsigned int len, u64 val)
{
	u32 last = READ_ONCE(ring->last);
	struct kvm_coalesced_mmio *entry;

	/* One entry stays unused, to tell a full ring from an empty one. */
	if (last >= KVM_COALESCED_MMIO_MAX ||
	    (last + 1) % KVM_COALESCED_MMIO_MAX == READ_ONCE(ring->first))
		return false;
	entry = &ring->coalesced_mmio[last];
	entry->phys_addr = gpa;
	entry->len = len;
	memcpy(entry->data, &val, len);
	entry->pio = 0;
	/* Whoever sees the index must see the entry. */
	smp_store_release(&ring->last, (last + 1) % KVM_COALESCED_MMIO_MAX);
	return true;
}

static bool write_zones(struct av_vm *vm, u64 gpa, unsigned int len, u64 val)
{
	const struct av_zones *zones = srcu_dereference(vm->mmio->zones, &vm->srcu);
	unsigned int i;
	bool taken;

	for (i = 0; zones && i < zones->nr; i++) {
		if (!within(zones->at[i].addr, zones->at[i].size, gpa, len))
			continue;
		spin_lock(&vm->mmio->ring_lock);
		taken = put(vm->mmio->ring, gpa, len, val);
		spin_unlock(&vm->mmio->ring_lock);
		return taken;
	}
	return false;
}

bool av_coalesced_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val)
{
	bool taken;
	int idx;

	if (likely(!rcu_access_pointer(vm->mmio->zones)))
		return false;
	idx = srcu_read_lock(&vm->srcu);
	taken = write_zones(vm, gpa, len, val);
	srcu_read_unlock(&vm->srcu, idx);
	return taken;
}

/* ---- changes ----------------------------------------------------------------- */

static struct av_zones *zones_of(struct av_vm *vm)
{
	return rcu_dereference_protected(vm->mmio->zones, lockdep_is_held(&vm->slots_lock));
}

static struct av_zones *alloc_zones(unsigned int nr)
{
	struct av_zones *zones;

	/*
	 * __GFP_NOWARN: the VMM chose the size and gets -ENOMEM; the host's log needs no warning.
	 */
	return kvzalloc(struct_size(zones, at, nr), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static void replace(struct av_vm *vm, struct av_zones *zones)
{
	struct av_zones *old = zones_of(vm);

	rcu_assign_pointer(vm->mmio->zones, zones);
	synchronize_srcu_expedited(&vm->srcu);
	kvfree(old);
}

static int add_zone(struct av_vm *vm, u64 addr, u32 size)
{
	const struct av_zones *old = zones_of(vm);
	unsigned int nr = old ? old->nr : 0;
	struct av_zones *zones;

	if (nr >= AV_MAX_ZONES)
		return -ENOSPC;
	zones = alloc_zones(nr + 1);
	if (!zones)
		return -ENOMEM;
	if (nr)
		memcpy(zones->at, old->at, nr * sizeof(zones->at[0]));
	zones->at[nr].addr = addr;
	zones->at[nr].size = size;
	zones->nr = nr + 1;
	replace(vm, zones);
	return 0;
}

/* Is the range entirely in the i'th zone? */
static bool holds(const struct av_zones *zones, unsigned int i, u64 addr, u32 size)
{
	return (s32)size >= 0 && within(zones->at[i].addr, zones->at[i].size, addr, size);
}

/* Drop all zones that contain the range. It is no error if there are none. */
static int drop_zones(struct av_vm *vm, u64 addr, u32 size)
{
	const struct av_zones *old = zones_of(vm);
	unsigned int i, nr = old ? old->nr : 0;
	struct av_zones *zones;

	for (i = 0; i < nr && !holds(old, i, addr, size); i++)
		;
	if (i == nr)
		return 0;
	zones = alloc_zones(nr);
	if (!zones)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (!holds(old, i, addr, size))
			zones->at[zones->nr++] = old->at[i];
	if (!zones->nr) {
		kvfree(zones);
		zones = NULL;
	}
	replace(vm, zones);
	return 0;
}

int av_coalesced_mmio(struct av_vm *vm, const struct kvm_coalesced_mmio_zone *zone, bool add)
{
	int ret;

	if (zone->pio > 1)
		return -EINVAL;
	if (zone->pio)
		return 0;
	mutex_lock(&vm->slots_lock);
	ret = add ? add_zone(vm, zone->addr, zone->size) : drop_zones(vm, zone->addr, zone->size);
	mutex_unlock(&vm->slots_lock);
	return ret;
}

struct page *av_coalesced_page(struct av_vm *vm)
{
	return virt_to_page(vm->mmio->ring);
}

int av_coalesced_init(struct av_vm *vm)
{
	spin_lock_init(&vm->mmio->ring_lock);
	vm->mmio->ring = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	return vm->mmio->ring ? 0 : -ENOMEM;
}

/* No writer is left; a mapping of the VMM's keeps its own reference to the page. */
void av_coalesced_destroy(struct av_vm *vm)
{
	kvfree(rcu_dereference_protected(vm->mmio->zones, 1));
	RCU_INIT_POINTER(vm->mmio->zones, NULL);
	free_page((unsigned long)vm->mmio->ring);
}
