/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_CONFORM_H
#define AV_TESTS_KVM_CONFORM_H

#include "lib.h"

/* One function a group of calls; each starts from a new VM. */
void conform_system(void);
void conform_vm(void);
void conform_wild(void);
void conform_memory(void);
void conform_vcpu(void);
void conform_regs(void);
void conform_sysregs(void);
void conform_reglist(void);
void conform_device(void);
void conform_irq(void);
void conform_its(void);
void conform_msi(void);
void conform_ioeventfd(void);
void conform_events(void);
void conform_run(void);
void conform_life(void);
void conform_stats(void);

#endif /* AV_TESTS_KVM_CONFORM_H */
