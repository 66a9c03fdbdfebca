/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a VMM may do with a protected VM, before its guest runs and after: seal.c.
 *
 * The first KVM_RUN seals the VM. From then on what is not a wire to its devices, or a look
 * at something that the guest does not own, is -EPERM.
 */
#ifndef AV_API_SEAL_H
#define AV_API_SEAL_H

#include "vm/vcpu.h"

/* Whose file an ioctl is on. */
enum av_seal_file { AV_SEAL_VM, AV_SEAL_VCPU, AV_SEAL_DEVICE };

int av_seal_enter_protected(struct av_vm *vm, enum av_seal_file file, unsigned int cmd);
void av_seal_leave_protected(struct av_vm *vm);

/*
 * Around each ioctl of a VM, outside of every other lock: -EPERM, -EINTR, or not negative,
 * and then to be given to av_seal_leave(). While it is 1 the VM is not sealed.
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
 * Before KVM_RUN, without a lock: seal the VM if it is protected and this is its first run.
 * 0; -ENOEXEC for a vCPU without KVM_ARM_VCPU_INIT; -EBUSY where somebody holds a page of
 * its memory, and -EINTR: to be tried again.
 */
int av_seal_run(struct av_vcpu *vcpu);

/* May a protected VM have this capability, by KVM_CHECK_EXTENSION or KVM_ENABLE_CAP? */
bool av_seal_has_cap(unsigned long cap);
bool av_seal_takes_cap(unsigned int cap);

/* Is this group of a vGIC's or an ITS's attributes one that its VMM may use? */
bool av_seal_has_group(const struct kvm_device_attr *attr);

/* Of KVM_CREATE_VM: 0, or an errno where the host has no SHA-256. */
int av_seal_vm_init(struct av_vm *vm);
void av_seal_vm_destroy(struct av_vm *vm);

#endif /* AV_API_SEAL_H */
