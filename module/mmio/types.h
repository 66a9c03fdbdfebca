/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mmio/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_MMIO_TYPES_H
#define AV_MMIO_TYPES_H

struct av_vm_mmio {
};

struct av_vcpu_mmio {
};

#endif /* AV_MMIO_TYPES_H */
