/* SPDX-License-Identifier: GPL-2.0 */
/* Slots, shrinker and MMU notifier, for the life of VMs (vm.c). */
#ifndef AV_MMU_HOST_H
#define AV_MMU_HOST_H

struct av_slot;
struct av_vm;

/* memslot.c */
void av_slot_free(struct av_slot *slot);

/* shrink.c */
void av_shrink_add(struct av_vm *vm);
void av_shrink_remove(struct av_vm *vm);

/* notifier.c */
int av_notifier_register(struct av_vm *vm);
void av_notifier_unregister(struct av_vm *vm);

#endif /* AV_MMU_HOST_H */
