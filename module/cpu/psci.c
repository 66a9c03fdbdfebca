// SPDX-License-Identifier: GPL-2.0
/*
 * PSCI 0.2 to 1.1 (1.3 where the host's KVM has it), as the VMM chose, or KVM's 0.1 for vCPUs without
 * KVM_ARM_VCPU_PSCI_0_2: power control of this CPU, other CPUs and the system.
 */
#include <linux/kvm.h>
#include <linux/nospec.h>
#include <uapi/linux/psci.h>

#include "compat/kvm_level.h"
#include "cpu/calls.h"
#include "cpu/cpu.h"
#include "cpu/power.h"
#include "cpu/sysreg.h"

#define AFFINITY_BITS	(GENMASK_ULL(39, 32) | GENMASK_ULL(23, 0))

/* A 32-bit call has 32-bit arguments. PSCI 0.1 does not distinguish. */
static u64 arg(const struct av_vcpu *vcpu, unsigned int n)
{
	u64 val = vcpu->srf->regs[n];

	if (vcpu->srf->regs[0] & PSCI_0_2_64BIT ||
	    !av_vcpu_has_feature(vcpu, KVM_ARM_VCPU_PSCI_0_2))
		return val;
	return (u32)val;
}

/* As in KVM, x1 to x3 return zero. */
static int answer(struct av_vcpu *vcpu, u64 val)
{
	memset(&vcpu->srf->regs[1], 0, 3 * sizeof(u64));
	vcpu->srf->regs[0] = val;
	return 1;
}

u32 av_psci_version(const struct av_vcpu *vcpu)
{
	if (!av_vcpu_has_feature(vcpu, KVM_ARM_VCPU_PSCI_0_2))
		return PSCI_VERSION(0, 1);
	return READ_ONCE(vcpu->vm->cpu->psci_version);
}

int av_psci_set_version(struct av_vcpu *vcpu, u64 val)
{
	bool old = !av_vcpu_has_feature(vcpu, KVM_ARM_VCPU_PSCI_0_2);

	switch (val) {
	case PSCI_VERSION(0, 1):
		return old ? 0 : -EINVAL;
	case PSCI_VERSION(0, 2):
	case PSCI_VERSION(1, 0):
	case PSCI_VERSION(1, 1):
	case PSCI_VERSION(1, 2):
	case PSCI_VERSION(1, 3):
		if (old || val > AV_PSCI_LATEST)
			return -EINVAL;
		WRITE_ONCE(vcpu->vm->cpu->psci_version, val);
		/* The window of running vCPUs still reports the old version. */
		av_vm_request_all(vcpu->vm, AV_REQ_CALLS);
		return 0;
	default:
		return -EINVAL;
	}
}

static u64 affinity_of(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->cpu->mpidr) & AFFINITY_BITS;
}

static struct av_vcpu *vcpu_by_affinity(struct av_vm *vm, u64 affinity)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	av_for_each_vcpu(i, vcpu, vm)
		if (affinity_of(vcpu) == affinity)
			return vcpu;
	return NULL;
}

static int psci_version(struct av_vcpu *vcpu)
{
	return answer(vcpu, av_psci_version(vcpu));
}

/* There is no trusted OS that would have to migrate. */
static int migrate_info_type(struct av_vcpu *vcpu)
{
	return answer(vcpu, PSCI_0_2_TOS_MP);
}

static int cpu_off(struct av_vcpu *vcpu)
{
	av_power_off(vcpu);
	return answer(vcpu, PSCI_RET_SUCCESS);
}

static int cpu_on(struct av_vcpu *vcpu)
{
	struct av_vcpu *target = NULL;
	struct av_start start = { .pc = arg(vcpu, 2), .x0 = arg(vcpu, 3) };
	u64 affinity = arg(vcpu, 1);

	if (!(affinity & ~AFFINITY_BITS))
		target = vcpu_by_affinity(vcpu->vm, affinity);
	if (!target || !READ_ONCE(target->initialized))
		return answer(vcpu, PSCI_RET_INVALID_PARAMS);
	if (av_power_on(target, start))
		return answer(vcpu, PSCI_RET_SUCCESS);
	return answer(vcpu, av_psci_version(vcpu) == PSCI_VERSION(0, 1) ?
			    PSCI_RET_INVALID_PARAMS : PSCI_RET_ALREADY_ON);
}

/* Is any CPU on, of those whose affinity matches down to this level? */
static int affinity_info(struct av_vcpu *vcpu)
{
	u64 affinity = arg(vcpu, 1), level = arg(vcpu, 2);
	u64 mask = AFFINITY_BITS;
	struct av_vcpu *other;
	bool found = false;
	unsigned int i;

	if (level > 3 || affinity & ~AFFINITY_BITS)
		return answer(vcpu, PSCI_RET_INVALID_PARAMS);
	mask &= level == 3 ? GENMASK_ULL(39, 32) : ~0ULL << (8 * level);
	affinity &= mask;
	av_for_each_vcpu(i, other, vcpu->vm) {
		if ((affinity_of(other) & mask) != affinity)
			continue;
		found = true;
		if (!av_vcpu_stopped(other))
			return answer(vcpu, PSCI_0_2_AFFINITY_LEVEL_ON);
	}
	return answer(vcpu, found ? PSCI_0_2_AFFINITY_LEVEL_OFF : PSCI_RET_INVALID_PARAMS);
}

/*
 * The VMM carries out off and reset; all vCPUs stop meanwhile. If the VMM runs
 * this vCPU again, the call has failed.
 */
static int system_event(struct av_vcpu *vcpu, u32 type, u64 flags)
{
	struct kvm_run *run = vcpu->run;
	struct av_vcpu *other;
	unsigned int i;

	av_for_each_vcpu(i, other, vcpu->vm)
		av_power_off(other);
	av_vm_request_all(vcpu->vm, AV_REQ_SLEEP);

	answer(vcpu, PSCI_RET_INTERNAL_FAILURE);
	memset(&run->system_event, 0, sizeof(run->system_event));
	run->system_event.type = type;
	run->system_event.ndata = 1;
	run->system_event.data[0] = flags;
	run->exit_reason = KVM_EXIT_SYSTEM_EVENT;
	return 0;
}

static int system_off(struct av_vcpu *vcpu)
{
	return system_event(vcpu, KVM_SYSTEM_EVENT_SHUTDOWN, 0);
}

static int system_reset(struct av_vcpu *vcpu)
{
	return system_event(vcpu, KVM_SYSTEM_EVENT_RESET, 0);
}

/* There are no vendor resets (bit 31), and the only architected one is warm. */
static int system_reset2(struct av_vcpu *vcpu)
{
	u64 type = arg(vcpu, 1);

	if (type != PSCI_1_1_RESET_TYPE_SYSTEM_WARM_RESET && !(type & PSCI_1_1_RESET_TYPE_VENDOR_START))
		return answer(vcpu, PSCI_RET_INVALID_PARAMS);
	return system_event(vcpu, KVM_SYSTEM_EVENT_RESET, KVM_SYSTEM_EVENT_RESET_FLAG_PSCI_RESET2);
}

/* Type 0 also means HIBERNATE_OFF, as in the specification's first revision. The cookie is 0. */
static int system_off2(struct av_vcpu *vcpu)
{
	u64 type = arg(vcpu, 1);

	if ((type && type != PSCI_1_3_OFF_TYPE_HIBERNATE_OFF) || arg(vcpu, 2))
		return answer(vcpu, PSCI_RET_INVALID_PARAMS);
	return system_event(vcpu, KVM_SYSTEM_EVENT_SHUTDOWN,
			    KVM_SYSTEM_EVENT_SHUTDOWN_FLAG_PSCI_OFF2);
}

void av_psci_enable_suspend(struct av_vm *vm)
{
	WRITE_ONCE(vm->cpu->suspend_enabled, true);
}

/*
 * The VMM carries out or refuses the call: it reads the arguments from the
 * registers and writes the result there.
 */
static int system_suspend(struct av_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	unsigned int i;

	for (i = 1; i < 4; i++)
		vcpu->srf->regs[i] = arg(vcpu, i);
	memset(&run->system_event, 0, sizeof(run->system_event));
	run->system_event.type = KVM_SYSTEM_EVENT_SUSPEND;
	run->exit_reason = KVM_EXIT_SYSTEM_EVENT;
	return 0;
}

/* Standby, which loses no state: equivalent to WFI. */
static int cpu_suspend(struct av_vcpu *vcpu)
{
	answer(vcpu, PSCI_RET_SUCCESS);
	av_vcpu_block(vcpu);
	return 1;
}

static int features(struct av_vcpu *vcpu);

/*
 * A function: handler, first PSCI version that has it, whether it has an SMC64 number too, and the
 * answer of PSCI_FEATURES.
 */
struct psci_call {
	int (*call)(struct av_vcpu *vcpu);
	u32 since;
	bool wide;
	u8 features;
};

#define NR(fn)	((fn) - PSCI_0_2_FN_BASE)

static const struct psci_call calls[] = {
	[NR(PSCI_0_2_FN_PSCI_VERSION)]		= { psci_version,	PSCI_VERSION(0, 2) },
	[NR(PSCI_0_2_FN_CPU_SUSPEND)]		= { cpu_suspend,	PSCI_VERSION(0, 2), true },
	[NR(PSCI_0_2_FN_CPU_OFF)]		= { cpu_off,		PSCI_VERSION(0, 2) },
	[NR(PSCI_0_2_FN_CPU_ON)]		= { cpu_on,		PSCI_VERSION(0, 2), true },
	[NR(PSCI_0_2_FN_AFFINITY_INFO)]		= { affinity_info,	PSCI_VERSION(0, 2), true },
	[NR(PSCI_0_2_FN_MIGRATE_INFO_TYPE)]	= { migrate_info_type,	PSCI_VERSION(0, 2) },
	[NR(PSCI_0_2_FN_SYSTEM_OFF)]		= { system_off,		PSCI_VERSION(0, 2) },
	[NR(PSCI_0_2_FN_SYSTEM_RESET)]		= { system_reset,	PSCI_VERSION(0, 2) },
	[NR(PSCI_1_0_FN_PSCI_FEATURES)]		= { features,		PSCI_VERSION(1, 0) },
	[NR(PSCI_1_0_FN_SYSTEM_SUSPEND)]	= { system_suspend,	PSCI_VERSION(1, 0), true },
	[NR(PSCI_1_1_FN_SYSTEM_RESET2)]		= { system_reset2,	PSCI_VERSION(1, 1), true },
	[NR(PSCI_1_3_FN_SYSTEM_OFF2)]		= { system_off2,	PSCI_VERSION(1, 3), true,
						    PSCI_1_3_OFF_TYPE_HIBERNATE_OFF },
};

/* NULL: not in the vCPU's version, or not enabled by the VMM. */
static const struct psci_call *find(const struct av_vcpu *vcpu, u32 version, u32 fn)
{
	u32 n = (fn & ~PSCI_0_2_64BIT) - PSCI_0_2_FN_BASE;
	const struct psci_call *row;

	if (n >= ARRAY_SIZE(calls))
		return NULL;
	row = &calls[array_index_nospec(n, ARRAY_SIZE(calls))];
	if (!row->call || version < row->since || (fn & PSCI_0_2_64BIT && !row->wide))
		return NULL;
	if (row->call == system_suspend && !READ_ONCE(vcpu->vm->cpu->suspend_enabled))
		return NULL;
	return row;
}

/* Also reports SMCCC_VERSION as supported. */
static int features(struct av_vcpu *vcpu)
{
	u32 fn = arg(vcpu, 1);
	const struct psci_call *row = find(vcpu, av_psci_version(vcpu), fn);

	if (row)
		return answer(vcpu, row->features);
	return answer(vcpu, fn == AV_CALL_SMCCC_VERSION ? PSCI_RET_SUCCESS :
							  PSCI_RET_NOT_SUPPORTED);
}

static int psci_0_1_call(struct av_vcpu *vcpu, u32 fn)
{
	switch (fn) {
	case KVM_PSCI_FN_CPU_OFF:
		return cpu_off(vcpu);
	case KVM_PSCI_FN_CPU_ON:
		return cpu_on(vcpu);
	default:
		return answer(vcpu, PSCI_RET_NOT_SUPPORTED);
	}
}

int av_psci_call(struct av_vcpu *vcpu)
{
	u32 fn = vcpu->srf->regs[0], version = av_psci_version(vcpu);
	const struct psci_call *row;

	if (unlikely(version == PSCI_VERSION(0, 1)))
		return psci_0_1_call(vcpu, fn);
	row = find(vcpu, version, fn);
	return row ? row->call(vcpu) : answer(vcpu, PSCI_RET_NOT_SUPPORTED);
}
