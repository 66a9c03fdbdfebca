/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stats/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_STATS_TYPES_H
#define AV_STATS_TYPES_H

struct av_vm_stats {
};

struct av_vcpu_stats {
};

#endif /* AV_STATS_TYPES_H */
