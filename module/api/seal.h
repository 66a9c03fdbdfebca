/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls that a protected VM's VMM may use, before and after its guest runs: seal.c.
 *
 * The first KVM_RUN seals the VM. From then on every ioctl is -EPERM, except those that carry the
 * signals of its devices or look at state that the guest does not own.
 */
#ifndef AV_API_SEAL_H
#define AV_API_SEAL_H

#include "vm/vcpu.h"

/* The file that an ioctl is on. */
enum av_seal_file { AV_SEAL_VM, AV_SEAL_VCPU, AV_SEAL_DEVICE };

int av_seal_enter_protected(struct av_vm *vm, enum av_seal_file file, unsigned int cmd);
void av_seal_leave_protected(struct av_vm *vm);

/*
 * Around each ioctl of a VM, outside every other lock. Returns -EPERM, -EINTR, or a value to pass
 * to av_seal_leave(): 1 keeps the VM from being sealed until then.
 */
static inline int av_seal_enter(struct av_vm *vm, enum av_seal_file file, unsigned int cmd)
{
	return likely(!vm->protected) ? 0 : av_seal_enter_protected(vm, file, cmd);
}

static inline void av_seal_leave(struct av_vm *vm, int entered)
{
	if (unlikely(entered))
		av_seal_leave_protected(vm);
}

/*
 * Before KVM_RUN, without locks: on the first run of a protected VM, seal it. Returns 0; -ENOEXEC
 * for a vCPU without KVM_ARM_VCPU_INIT; to be retried: -EBUSY if someone holds a page of its
 * memory, or -EINTR.
 */
int av_seal_run(struct av_vcpu *vcpu);

/* May a protected VM have this capability, in KVM_CHECK_EXTENSION or KVM_ENABLE_CAP? */
bool av_seal_has_cap(unsigned long cap);
bool av_seal_takes_cap(unsigned int cap);

/* May its VMM use this group of attributes of a vGIC or an ITS? */
bool av_seal_has_group(const struct kvm_device_attr *attr);

/* For KVM_CREATE_VM. Returns 0, or an errno if the host has no SHA-256. */
int av_seal_vm_init(struct av_vm *vm);
void av_seal_vm_destroy(struct av_vm *vm);

#endif /* AV_API_SEAL_H */
