/* SPDX-License-Identifier: GPL-2.0 */
#define AV_KVM_GUEST_MEMFD	false
