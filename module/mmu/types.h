/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mmu/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_MMU_TYPES_H
#define AV_MMU_TYPES_H

struct av_vm_mmu {
};

struct av_vcpu_mmu {
};

#endif /* AV_MMU_TYPES_H */
