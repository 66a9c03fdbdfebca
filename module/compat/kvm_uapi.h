/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Additions to KVM's interface since the oldest supported kernel: the module
 * offers them on every host. The test programs include this file too.
 */
#ifndef AV_COMPAT_KVM_UAPI_H
#define AV_COMPAT_KVM_UAPI_H

#include <linux/kvm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP	225
/* Older headers have 0, as arm64 had no dirty rings. */
#undef KVM_DIRTY_LOG_PAGE_OFFSET
#define KVM_DIRTY_LOG_PAGE_OFFSET	64
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define KVM_CAP_COUNTER_OFFSET	227

struct kvm_arm_counter_offset {
	__u64 counter_offset;
	__u64 reserved;
};

#define KVM_ARM_SET_COUNTER_OFFSET _IOW(KVMIO, 0xb5, struct kvm_arm_counter_offset)

#define KVM_ARM_VM_SMCCC_CTRL		0
#define   KVM_ARM_VM_SMCCC_FILTER	0
#define KVM_HYPERCALL_EXIT_SMC		(1U << 0)
#define KVM_HYPERCALL_EXIT_16BIT	(1U << 1)

enum kvm_smccc_filter_action {
	KVM_SMCCC_FILTER_HANDLE = 0,
	KVM_SMCCC_FILTER_DENY,
	KVM_SMCCC_FILTER_FWD_TO_USER,
};

struct kvm_smccc_filter {
	__u32 base;
	__u32 nr_functions;
	__u8 action;
	__u8 pad[15];
};
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define KVM_CAP_ARM_SUPPORTED_REG_MASK_RANGES	230
#define KVM_ARM_FEATURE_ID_RANGE	0
#define KVM_ARM_FEATURE_ID_RANGE_SIZE	(3 * 8 * 8)

struct reg_mask_range {
	__u64 addr;
	__u32 range;
	__u32 reserved[13];
};

#define KVM_ARM_GET_REG_WRITABLE_MASKS _IOR(KVMIO, 0xb6, struct reg_mask_range)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define KVM_CAP_USER_MEMORY2	231

struct kvm_userspace_memory_region2 {
	__u32 slot;
	__u32 flags;
	__u64 guest_phys_addr;
	__u64 memory_size;
	__u64 userspace_addr;
	__u64 guest_memfd_offset;
	__u32 guest_memfd;
	__u32 pad1;
	__u64 pad2[14];
};

#define KVM_SET_USER_MEMORY_REGION2 _IOW(KVMIO, 0x49, struct kvm_userspace_memory_region2)

#define KVM_CAP_GUEST_MEMFD	234
#define KVM_MEM_GUEST_MEMFD	(1UL << 2)

struct kvm_create_guest_memfd {
	__u64 size;
	__u64 flags;
	__u64 reserved[6];
};

#define KVM_CREATE_GUEST_MEMFD _IOWR(KVMIO, 0xd4, struct kvm_create_guest_memfd)
#endif

#ifndef KVM_CAP_GUEST_MEMFD_FLAGS
#define KVM_CAP_GUEST_MEMFD_FLAGS	244
#define GUEST_MEMFD_FLAG_MMAP		(1ULL << 0)
#define GUEST_MEMFD_FLAG_INIT_SHARED	(1ULL << 1)
#endif

#ifndef KVM_VM_TYPE_ARM_PROTECTED
#define KVM_VM_TYPE_ARM_PROTECTED	(1UL << 31)
#endif

#endif /* AV_COMPAT_KVM_UAPI_H */
