// SPDX-License-Identifier: GPL-2.0
/* Kills a VM. One sentence says why; every vCPU and the log report it. */
#include <linux/kernel.h>
#include <linux/ratelimit.h>
#include <linux/string.h>

#include "vm/vcpu.h"

int av_vcpu_exit_dead(struct av_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	u64 data[16] = { AV_REASON_MAGIC };

	BUILD_BUG_ON(sizeof(data) != sizeof(run->internal.data));
	BUILD_BUG_ON(sizeof(data) != sizeof(data[0]) + AV_REASON_LEN);

	/* Pairs with the release in av_vm_kill(): the reason is complete. */
	if (smp_load_acquire(&vcpu->vm->dead))
		memcpy(&data[1], vcpu->vm->reason, AV_REASON_LEN);
	memcpy(run->internal.data, data, sizeof(data));
	run->internal.suberror = KVM_INTERNAL_ERROR_EMULATION;
	run->internal.ndata = ARRAY_SIZE(data);
	run->exit_reason = KVM_EXIT_INTERNAL_ERROR;
	return 0;
}

int av_vm_kill(struct av_vcpu *vcpu, const char *fmt, ...)
{
	struct av_vm *vm = vcpu->vm;
	va_list args;

	if (!test_and_set_bit(0, &vm->dying)) {
		va_start(args, fmt);
		vscnprintf(vm->reason, sizeof(vm->reason), fmt, args);
		va_end(args);
		/* Pairs with the acquire in av_vcpu_exit_dead(). */
		smp_store_release(&vm->dead, true);
		pr_notice_ratelimited("armvisor: VM %u, vCPU %d: %s\n", vm->serial,
				      vcpu->id, vm->reason);
		av_vm_request_all(vm, AV_REQ_VM_DEAD);
	}
	return av_vcpu_exit_dead(vcpu);
}
