// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_IOEVENTFD: guest writes that signal an eventfd.
 *
 * The bus is an array sorted by address and replaced as a whole: writers hold vm->slots_lock and
 * wait for readers, which are in vm->srcu. Entries for ports and channels (other flags of the ABI)
 * are kept only to detect collisions: this machine never writes to them.
 */
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "compat/irq.h"
#include "mmio/mmio.h"

/* KVM's limit for a bus. */
#define AV_MAX_IOEVENTFDS	1000

#define SPACE_FLAGS	(KVM_IOEVENTFD_FLAG_PIO | KVM_IOEVENTFD_FLAG_VIRTIO_CCW_NOTIFY)

struct av_ioeventfd {
	u64 addr;
	u32 len;			/* 0: any */
	u32 space;			/* SPACE_FLAGS; 0: memory */
	bool any_value;
	u64 value;
	struct eventfd_ctx *event;
};

struct av_bus {
	unsigned int nr;
	struct av_ioeventfd at[];	/* sorted by addr */
};

/* ---- the hot side ---------------------------------------------------------- */

static bool matches(const struct av_ioeventfd *io, unsigned int len, u64 val)
{
	if (io->space)
		return false;
	if (!io->len)
		return true;
	return io->len == len && (io->any_value || io->value == val);
}

/* The index of the first entry at addr or above. */
static unsigned int lower_bound(const struct av_bus *bus, u64 addr)
{
	unsigned int low = 0, high = bus->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (bus->at[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool write_bus(const struct av_bus *bus, u64 gpa, unsigned int len, u64 val)
{
	unsigned int i;

	for (i = lower_bound(bus, gpa); i < bus->nr && bus->at[i].addr == gpa; i++) {
		if (matches(&bus->at[i], len, val)) {
			av_eventfd_signal(bus->at[i].event);
			return true;
		}
	}
	return false;
}

bool av_ioeventfd_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val)
{
	int idx = srcu_read_lock(&vm->srcu);
	const struct av_bus *bus = srcu_dereference(vm->mmio->bus, &vm->srcu);
	bool taken = bus && write_bus(bus, gpa, len, val);

	srcu_read_unlock(&vm->srcu, idx);
	return taken;
}

/* ---- changes ----------------------------------------------------------------- */

static struct av_bus *bus_of(struct av_vm *vm)
{
	return rcu_dereference_protected(vm->mmio->bus, lockdep_is_held(&vm->slots_lock));
}

static struct av_bus *alloc_bus(unsigned int nr)
{
	struct av_bus *bus;

	bus = kvzalloc(struct_size(bus, at, nr), GFP_KERNEL_ACCOUNT);
	if (bus)
		bus->nr = nr;
	return bus;
}

static void replace(struct av_vm *vm, struct av_bus *bus)
{
	struct av_bus *old = bus_of(vm);

	rcu_assign_pointer(vm->mmio->bus, bus);
	synchronize_srcu_expedited(&vm->srcu);
	kvfree(old);
}

/* Would one write match both? */
static bool collide(const struct av_ioeventfd *a, const struct av_ioeventfd *b)
{
	if (a->space != b->space || a->addr != b->addr)
		return false;
	if (!a->len || !b->len)
		return true;
	return a->len == b->len && (a->any_value || b->any_value || a->value == b->value);
}

static bool same(const struct av_ioeventfd *a, const struct av_ioeventfd *b)
{
	return a->space == b->space && a->addr == b->addr && a->len == b->len &&
	       a->event == b->event && a->any_value == b->any_value &&
	       (a->any_value || a->value == b->value);
}

static int add(struct av_vm *vm, const struct av_ioeventfd *io)
{
	const struct av_bus *old = bus_of(vm);
	unsigned int nr = old ? old->nr : 0, i;
	struct av_bus *bus;

	for (i = 0; i < nr; i++)
		if (collide(&old->at[i], io))
			return -EEXIST;
	if (nr >= AV_MAX_IOEVENTFDS)
		return -ENOSPC;
	bus = alloc_bus(nr + 1);
	if (!bus)
		return -ENOMEM;
	i = nr ? lower_bound(old, io->addr) : 0;
	if (i)
		memcpy(bus->at, old->at, i * sizeof(*io));
	bus->at[i] = *io;
	if (nr > i)
		memcpy(bus->at + i + 1, old->at + i, (nr - i) * sizeof(*io));
	replace(vm, bus);
	return 0;
}

static int del(struct av_vm *vm, const struct av_ioeventfd *io)
{
	const struct av_bus *old = bus_of(vm);
	unsigned int nr = old ? old->nr : 0, i;
	struct av_bus *bus = NULL;

	for (i = 0; i < nr; i++)
		if (same(&old->at[i], io))
			break;
	if (i == nr)
		return -ENOENT;
	if (nr > 1) {
		bus = alloc_bus(nr - 1);
		if (!bus)
			return -ENOMEM;
		memcpy(bus->at, old->at, i * sizeof(*io));
		memcpy(bus->at + i, old->at + i + 1, (nr - 1 - i) * sizeof(*io));
	}
	replace(vm, bus);
	/* Drop the reference of the removed entry; the caller drops its own. */
	eventfd_ctx_put(io->event);
	return 0;
}

static int check(const struct kvm_ioeventfd *args)
{
	u64 end;

	switch (args->len) {
	case 0:
		if (args->flags & KVM_IOEVENTFD_FLAG_DATAMATCH)
			return -EINVAL;
		break;
	case 1:
	case 2:
	case 4:
	case 8:
		break;
	default:
		return -EINVAL;
	}
	if (check_add_overflow((u64)args->addr, (u64)args->len, &end))
		return -EINVAL;
	return args->flags & ~KVM_IOEVENTFD_VALID_FLAG_MASK ? -EINVAL : 0;
}

int av_ioeventfd(struct av_vm *vm, const struct kvm_ioeventfd *args)
{
	bool remove = args->flags & KVM_IOEVENTFD_FLAG_DEASSIGN;
	struct av_ioeventfd io = {
		.addr = args->addr,
		.len = args->len,
		.space = args->flags & SPACE_FLAGS,
		.any_value = !(args->flags & KVM_IOEVENTFD_FLAG_DATAMATCH),
		.value = args->datamatch,
	};
	int r;

	if (!remove) {
		r = check(args);
		if (r)
			return r;
	}
	io.event = eventfd_ctx_fdget(args->fd);
	if (IS_ERR(io.event))
		return PTR_ERR(io.event);
	mutex_lock(&vm->slots_lock);
	r = remove ? del(vm, &io) : add(vm, &io);
	mutex_unlock(&vm->slots_lock);
	if (remove || r)
		eventfd_ctx_put(io.event);
	return r;
}

int av_mmio_vm_init(struct av_vm *vm)
{
	return av_coalesced_init(vm);
}

/* No readers are left. */
void av_mmio_vm_destroy(struct av_vm *vm)
{
	struct av_bus *bus = rcu_dereference_protected(vm->mmio->bus, 1);
	unsigned int i;

	for (i = 0; bus && i < bus->nr; i++) {
		eventfd_ctx_put(bus->at[i].event);
		/* It may have been the last reference. */
		cond_resched();
	}
	kvfree(bus);
	RCU_INIT_POINTER(vm->mmio->bus, NULL);
	av_coalesced_destroy(vm);
}
