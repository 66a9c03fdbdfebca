// SPDX-License-Identifier: GPL-2.0
/* Accesses to guest memory by physical address: by in-kernel devices and for the VMM. */
#include <linux/mm.h>

#include "mmu/code/copies.h"
#include "mmu/dirty/dirty.h"
#include "mmu/memory/memory.h"
#include "mmu/mmu.h"

/* Within one page. */
static int write_page(struct av_vm *vm, struct av_slot *slot, u64 gpa, const void *buf,
		      unsigned int len)
{
	int ret = av_mem_write(slot, gpa, buf, len);

	if (ret)
		return ret;
	if (unlikely(READ_ONCE(vm->mmu->nr_copies)))
		av_copy_written(vm, slot, gpa >> PAGE_SHIFT);
	if (unlikely(av_slot_logged(slot))) {
		/* Write the page before testing if it is logged already. */
		smp_mb();
		av_slot_log(vm, av_vm_running_vcpu(vm), slot, gpa >> PAGE_SHIFT);
	}
	return 0;
}

static int access_page(struct av_vm *vm, u64 gpa, void *buf, unsigned int len, bool write)
{
	struct av_slot *slot = av_vm_slot(vm, gpa >> PAGE_SHIFT);

	if (!slot || (write && slot->flags & AV_SLOT_READONLY))
		return -EFAULT;
	return write ? write_page(vm, slot, gpa, buf, len) : av_mem_read(slot, gpa, buf, len);
}

static int access_gpa(struct av_vm *vm, u64 gpa, void *buf, unsigned int len, bool write)
{
	int idx = srcu_read_lock(&vm->srcu), ret = 0;

	while (len && !ret) {
		unsigned int part = min_t(unsigned int, len, PAGE_SIZE - offset_in_page(gpa));

		ret = access_page(vm, gpa, buf, part, write);
		gpa += part;
		buf += part;
		len -= part;
	}
	srcu_read_unlock(&vm->srcu, idx);
	return ret;
}

int av_gpa_read(struct av_vm *vm, u64 gpa, void *buf, unsigned int len)
{
	return access_gpa(vm, gpa, buf, len, false);
}

int av_gpa_write(struct av_vm *vm, u64 gpa, const void *buf, unsigned int len)
{
	return access_gpa(vm, gpa, (void *)buf, len, true);
}

bool av_gpa_is_ram(struct av_vm *vm, u64 gpa, bool write)
{
	int idx = srcu_read_lock(&vm->srcu);
	const struct av_slot *slot = av_vm_slot(vm, gpa >> PAGE_SHIFT);
	bool ram = slot && !(write && slot->flags & AV_SLOT_READONLY);

	srcu_read_unlock(&vm->srcu, idx);
	return ram;
}
