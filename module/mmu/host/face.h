/* SPDX-License-Identifier: GPL-2.0 */
/* Memory slots, and the module's load and unload, for the rest of the module. */
#ifndef AV_MMU_HOST_FACE_H
#define AV_MMU_HOST_FACE_H

#include <linux/kvm.h>


struct av_vm;

/* Module load and unload. */
int av_mmu_init(void);
void av_mmu_exit(void);

/*
 * Memory slots, with KVM's rules and errnos. Takes vm->slots_lock. All slots of a protected VM
 * must be of a guest_memfd (-EPERM), neither logged nor read-only (-EINVAL), and cannot change
 * once it is sealed (-EPERM).
 */
int av_mmu_set_slot(struct av_vm *vm, const struct kvm_userspace_memory_region2 *mem);

#endif /* AV_MMU_HOST_FACE_H */
