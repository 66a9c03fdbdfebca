/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_CONFORM_PMU_H
#define AV_TESTS_KVM_CONFORM_PMU_H

#include "conform.h"

/* KVM_SET_DEVICE_ATTR of the PMU's group. */
long pmu_attr(int vcpu, u64 number, void *value);
/* A vCPU with a PMU that is not set up. */
int new_pmu_vcpu(int vm, int id);
/* The number of the host's PMU among perf's, or -1. */
int pmu_type(void);

/* pmu_guest.c: as the guest sees it. */
void conform_pmu_guest(void);

#endif /* AV_TESTS_KVM_CONFORM_PMU_H */
