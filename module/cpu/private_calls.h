/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of a protected VM's guest for its memory: private_calls.c. */
#ifndef AV_CPU_PRIVATE_CALLS_H
#define AV_CPU_PRIVATE_CALLS_H

#include "vm/vcpu.h"

/* One of them, by its function number. As av_handle_smccc(): PC is after the call. */
int av_private_call(struct av_vcpu *vcpu, u32 fn);

/*
 * The same of sharing and taking back, where nothing may sleep, and wherever PC is: false
 * where only av_private_call() can answer, and then nothing has changed.
 */
bool av_private_call_light(struct av_vcpu *vcpu, u32 fn);

#endif /* AV_CPU_PRIVATE_CALLS_H */
