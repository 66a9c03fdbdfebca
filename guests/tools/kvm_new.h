/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of KVM's ABI that older headers may lack. */
#ifndef GUESTS_TOOLS_KVM_NEW_H
#define GUESTS_TOOLS_KVM_NEW_H

#include <linux/kvm.h>

#ifndef KVM_VM_TYPE_ARM_PROTECTED
#define KVM_VM_TYPE_ARM_PROTECTED	(1UL << 31)
#endif

#ifndef KVM_CREATE_GUEST_MEMFD
#define KVM_MEM_GUEST_MEMFD		(1UL << 2)
#define KVM_MEMORY_ATTRIBUTE_PRIVATE	(1ULL << 3)
#define KVM_SET_USER_MEMORY_REGION2	_IOW(KVMIO, 0x49, struct kvm_userspace_memory_region2)
#define KVM_SET_MEMORY_ATTRIBUTES	_IOW(KVMIO, 0xd2, struct kvm_memory_attributes)
#define KVM_CREATE_GUEST_MEMFD		_IOWR(KVMIO, 0xd4, struct kvm_create_guest_memfd)

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

struct kvm_memory_attributes {
	__u64 address;
	__u64 size;
	__u64 attributes;
	__u64 flags;
};

struct kvm_create_guest_memfd {
	__u64 size;
	__u64 flags;
	__u64 reserved[6];
};
#endif

#ifndef GUEST_MEMFD_FLAG_MMAP
#define GUEST_MEMFD_FLAG_MMAP		(1ULL << 0)
#define GUEST_MEMFD_FLAG_INIT_SHARED	(1ULL << 1)
#endif

#endif
