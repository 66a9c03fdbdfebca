/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The newest KVM: the VMM sees PMMIR_EL1, and may set MIDR_EL1, REVIDR_EL1, AIDR_EL1 and more
 * fields of the ID registers. The fields can be turned off.
 */
#define AV_KVM_PMMIR		true
#define AV_KVM_IMP_IDS		true
#define AV_KVM_ID_FIELDS	fake_id_fields
