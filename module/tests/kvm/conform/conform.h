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
void conform_ids(void);
void conform_gmem(void);
void conform_reglist(void);
void conform_order(void);
void conform_firmware(void);
void conform_device(void);
void conform_irq(void);
void conform_irqfd(void);
void conform_timer(void);
void conform_pmu(void);
void conform_its(void);
void conform_msi(void);
void conform_ioeventfd(void);
void conform_events(void);
void conform_run(void);
void conform_nisv(void);
void conform_coalesced(void);
void conform_ring(void);
void conform_serror(void);
void conform_debug(void);
void conform_life(void);
void conform_stats(void);

#endif /* AV_TESTS_KVM_CONFORM_H */
