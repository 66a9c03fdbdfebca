// SPDX-License-Identifier: GPL-2.0
/*
 * VMs and vCPUs as objects: references, look-up, requests and kicks, keeping vCPUs out of their
 * ioctls. The rules are in vm.h and vcpu.h.
 */
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "vm/vcpu.h"

static void last_reference(struct kref *users)
{
	struct av_vm *vm = container_of(users, struct av_vm, users);

	vm->destroy(vm);
}

void av_vm_put(struct av_vm *vm)
{
	kref_put(&vm->users, last_reference);
}

void av_vcpu_kick(struct av_vcpu *vcpu)
{
	struct task_struct *task;

	/* Make the reason for the kick visible before in_guest and the queue are read. */
	smp_mb();
	/* That smp_mb() also pairs with the barrier of a thread that queues itself. */
	if (waitqueue_active(&vcpu->wq))
		wake_up(&vcpu->wq);
	if (!READ_ONCE(vcpu->in_guest))
		return;
	rcu_read_lock();
	task = rcu_dereference(vcpu->task);
	if (task)
		kick_process(task);
	rcu_read_unlock();
}

struct av_vcpu *av_vm_vcpu_by_id(struct av_vm *vm, int id)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	/* Nearly every VMM counts ids from 0. Do not trust the id: it is a VMM's or a guest's. */
	vcpu = id >= 0 && id < AV_MAX_VCPUS ?
	       av_vm_vcpu(vm, array_index_nospec(id, AV_MAX_VCPUS)) : NULL;
	if (vcpu && vcpu->id == id)
		return vcpu;
	av_for_each_vcpu(i, vcpu, vm)
		if (vcpu->id == id)
			return vcpu;
	return NULL;
}

struct av_vcpu *av_vm_running_vcpu(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	/* Only a thread itself sets vcpu->task to itself, so that no lock is needed. */
	av_for_each_vcpu(i, vcpu, vm)
		if (rcu_access_pointer(vcpu->task) == current)
			return vcpu;
	return NULL;
}

bool av_vm_try_stop_vcpus(struct av_vm *vm)
{
	if (mutex_lock_killable(&vm->lock))
		return false;
	if (down_write_trylock(&vm->vcpus_sem))
		return true;
	mutex_unlock(&vm->lock);
	return false;
}

void av_vm_release_vcpus(struct av_vm *vm)
{
	up_write(&vm->vcpus_sem);
	mutex_unlock(&vm->lock);
}

void av_vm_request_all(struct av_vm *vm, unsigned int req)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	av_for_each_vcpu(i, vcpu, vm) {
		av_vcpu_request(vcpu, req);
		av_vcpu_kick(vcpu);
	}
}
