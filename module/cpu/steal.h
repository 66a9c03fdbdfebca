/* SPDX-License-Identifier: GPL-2.0 */
/* Stolen time: calls for the run loop and the firmware calls. */
#ifndef AV_CPU_STEAL_H
#define AV_CPU_STEAL_H

#include "cpu/types.h"
#include "vm/vcpu.h"

void av_steal_init(struct av_vcpu *vcpu);

#define AV_STEAL_NOWHERE	(~0ULL)

/* Has the VMM set an address? */
static inline bool av_steal_has(const struct av_vcpu *vcpu)
{
	return vcpu->cpu->has_steal;
}

/*
 * The guest asks for stolen time, and the VMM has set an address. Returns the address. May sleep.
 */
u64 av_steal_start(struct av_vcpu *vcpu);

/* Before an entry, if the VMM set an address. May sleep. */
void av_steal_update(struct av_vcpu *vcpu);

#endif /* AV_CPU_STEAL_H */
