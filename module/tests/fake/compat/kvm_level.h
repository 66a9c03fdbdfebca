/* SPDX-License-Identifier: GPL-2.0 */
/* The newest KVM: the VMM sees PMMIR_EL1. */
#define AV_KVM_PMMIR	true
