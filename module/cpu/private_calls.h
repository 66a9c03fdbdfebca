/* SPDX-License-Identifier: GPL-2.0 */
/* A protected guest's calls about its memory: private_calls.c. */
#ifndef AV_CPU_PRIVATE_CALLS_H
#define AV_CPU_PRIVATE_CALLS_H

#include "vm/vcpu.h"

/* Handle call fn, with PC past the call. Returns as av_handle_smccc() does. */
int av_private_call(struct av_vcpu *vcpu, u32 fn);

/*
 * MEM_SHARE and MEM_UNSHARE in a light exit: must not sleep, and does not use PC. Returns false,
 * with nothing changed, if only av_private_call() can answer.
 */
bool av_private_call_light(struct av_vcpu *vcpu, u32 fn);

#endif /* AV_CPU_PRIVATE_CALLS_H */
