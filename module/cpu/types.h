/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What cpu/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_CPU_TYPES_H
#define AV_CPU_TYPES_H

#include "switch/types.h"

struct av_vm_cpu {
	struct av_vm_switch sw;
};

struct av_vcpu_cpu {
};

#endif /* AV_CPU_TYPES_H */
