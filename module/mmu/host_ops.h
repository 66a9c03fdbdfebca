/* SPDX-License-Identifier: GPL-2.0 */
/* Services of the host for the shadow tables. */
#ifndef AV_MMU_HOST_OPS_H
#define AV_MMU_HOST_OPS_H

#include "mmu/shadow/shadow.h"

extern const struct av_shadow_ops av_host_ops;

#endif /* AV_MMU_HOST_OPS_H */
