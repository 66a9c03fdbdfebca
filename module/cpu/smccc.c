// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware calls by the SMC calling convention, and the registers with which a VMM selects them
 * (KVM_REG_ARM_FW*, before the first run). A filter set by the VMM comes first: it denies functions
 * or forwards them to the VMM.
 *
 * No speculation workarounds are offered. If a CPU needs one from firmware, an exception from the
 * guest's user space to its kernel exits to the host (switch/mitigate.h), which calls the firmware;
 * a call here could not do more.
 */
#include <linux/arm-smccc.h>
#include <linux/kvm.h>
#include <linux/random.h>
#include <linux/string.h>
#include <uapi/linux/psci.h>

#include "compat/kvm_level.h"
#include "compat/time.h"
#include "cpu/calls.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/private_calls.h"
#include "cpu/steal.h"
#include "irq/irq.h"
#include "stats/stats.h"

#define TRNG_VERSION_1_0	0x10000UL
#define TRNG_INVALID		(-2L)
#define TRNG_MAX_BITS64		192
#define TRNG_MAX_BITS32		96

/* KVM's UID, 28b46fb6-2ec5-11e9-a9ca-4b564d003a74: guests look for it. */
static const u32 vendor_uid[4] = { 0xb66fb428, 0xe911c52e, 0x564bcaa9, 0x743a004d };

#define STD_BITS	BIT(KVM_REG_ARM_STD_BIT_TRNG_V1_0)
#define STD_HYP_BITS	BIT(KVM_REG_ARM_STD_HYP_BIT_PV_TIME)
#define VENDOR_FEATURES	BIT(KVM_REG_ARM_VENDOR_HYP_BIT_FUNC_FEAT)
#define VENDOR_PTP	BIT(KVM_REG_ARM_VENDOR_HYP_BIT_PTP)
#define VENDOR_BITS	(VENDOR_FEATURES | VENDOR_PTP)
/* HYP_MEMINFO, MEM_SHARE, MEM_UNSHARE */
#define VENDOR_PRIVATE	(BIT(AV_CALL_HYP_MEMINFO & 31) | BIT(AV_CALL_MEM_SHARE & 31) | \
			 BIT(AV_CALL_MEM_UNSHARE & 31))

/* Limits a filter: above the number of firmware functions, and quick to free. */
#define MAX_RANGES	4096

void av_smccc_vm_init(struct av_vm *vm)
{
	vm->cpu->smccc_std = STD_BITS;
	vm->cpu->smccc_std_hyp = STD_HYP_BITS;
	vm->cpu->smccc_vendor_hyp = VENDOR_BITS;
}

void av_smccc_vm_destroy(struct av_vm *vm)
{
	av_ranges_clear(&vm->cpu->smccc_filter);
}

static int answer(struct av_vcpu *vcpu, u64 a0, u64 a1, u64 a2, u64 a3)
{
	u64 *regs = vcpu->srf->regs;

	regs[0] = a0;
	regs[1] = a1;
	regs[2] = a2;
	regs[3] = a3;
	return 1;
}

static int not_supported(struct av_vcpu *vcpu)
{
	return answer(vcpu, SMCCC_RET_NOT_SUPPORTED, 0, 0, 0);
}

/* Return the requested number of random bits in the low ends of x3, x2, x1. */
static int trng_rnd(struct av_vcpu *vcpu, bool wide)
{
	u64 bits = wide ? vcpu->srf->regs[1] : (u32)vcpu->srf->regs[1];
	unsigned int width = wide ? 64 : 32;
	u64 val[3] = {};
	unsigned int i;

	if (!bits || bits > (wide ? TRNG_MAX_BITS64 : TRNG_MAX_BITS32))
		return answer(vcpu, TRNG_INVALID, 0, 0, 0);
	for (i = 0; i < 3 && bits; i++) {
		unsigned int n = min_t(u64, bits, width);

		get_random_bytes(&val[i], sizeof(val[i]));
		val[i] &= GENMASK_ULL(n - 1, 0);
		bits -= n;
	}
	answer(vcpu, 0, val[2], val[1], val[0]);
	memzero_explicit(val, sizeof(val));
	return 1;
}

static int trng_call(struct av_vcpu *vcpu, u32 fn)
{
	if (!(READ_ONCE(vcpu->vm->cpu->smccc_std) & STD_BITS))
		return not_supported(vcpu);
	switch (fn) {
	case ARM_SMCCC_TRNG_VERSION:
		return answer(vcpu, TRNG_VERSION_1_0, 0, 0, 0);
	case ARM_SMCCC_TRNG_FEATURES:
		switch ((u32)vcpu->srf->regs[1]) {
		case ARM_SMCCC_TRNG_VERSION:
		case ARM_SMCCC_TRNG_FEATURES:
		case ARM_SMCCC_TRNG_GET_UUID:
		case ARM_SMCCC_TRNG_RND32:
		case ARM_SMCCC_TRNG_RND64:
			return answer(vcpu, 0, 0, 0, 0);
		}
		return not_supported(vcpu);
	case ARM_SMCCC_TRNG_GET_UUID:
		/* The kernel's pool, with KVM's UUID. */
		return answer(vcpu, 0x0d21e000, 0x4384, 0x11eb80a7, 0xd4f4b0f4);
	case ARM_SMCCC_TRNG_RND32:
		return trng_rnd(vcpu, false);
	default:
		return trng_rnd(vcpu, true);
	}
}

static bool vendor_has(struct av_vcpu *vcpu, u64 bit)
{
	return READ_ONCE(vcpu->vm->cpu->smccc_vendor_hyp) & bit;
}

static int vendor_features(struct av_vcpu *vcpu)
{
	if (!vendor_has(vcpu, VENDOR_FEATURES))
		return not_supported(vcpu);
	/* As pKVM answers a protected VM, whatever the VMM selected: no PTP, but memory sharing. */
	if (vcpu->vm->protected)
		return answer(vcpu, VENDOR_FEATURES | VENDOR_PRIVATE, 0, 0, 0);
	return answer(vcpu, READ_ONCE(vcpu->vm->cpu->smccc_vendor_hyp), 0,
		      READ_ONCE(vcpu->vm->cpu->smccc_vendor_hyp_2), 0);
}

static int vendor_call_uid(struct av_vcpu *vcpu)
{
	if (!vendor_has(vcpu, VENDOR_FEATURES))
		return not_supported(vcpu);
	return answer(vcpu, vendor_uid[0], vendor_uid[1], vendor_uid[2], vendor_uid[3]);
}

/* PTP: the host's real time, and the guest's counter at that moment. */
static int vendor_ptp(struct av_vcpu *vcpu)
{
	u64 real, counter;
	enum av_timer_id id;

	if (vcpu->vm->protected || !vendor_has(vcpu, VENDOR_PTP) || !av_real_time(&real, &counter))
		return not_supported(vcpu);
	switch ((u32)vcpu->srf->regs[1]) {
	case KVM_PTP_VIRT_COUNTER:
		id = AV_TIMER_VIRT;
		break;
	case KVM_PTP_PHYS_COUNTER:
		id = AV_TIMER_PHYS;
		break;
	default:
		return not_supported(vcpu);
	}
	counter -= READ_ONCE(vcpu->vm->irq->cnt_offset[id]);
	return answer(vcpu, upper_32_bits(real), lower_32_bits(real), upper_32_bits(counter),
		      lower_32_bits(counter));
}

static bool std_hyp_has_pv_time(struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->vm->cpu->smccc_std_hyp) & STD_HYP_BITS;
}

/* Stolen time is the only paravirtualized time. */
static int pv_time_features(struct av_vcpu *vcpu)
{
	u32 feature = vcpu->srf->regs[1];

	if (std_hyp_has_pv_time(vcpu) && av_steal_has(vcpu) &&
	    (feature == ARM_SMCCC_HV_PV_TIME_FEATURES || feature == ARM_SMCCC_HV_PV_TIME_ST))
		return answer(vcpu, SMCCC_RET_SUCCESS, 0, 0, 0);
	return not_supported(vcpu);
}

static int pv_time_st(struct av_vcpu *vcpu)
{
	if (!std_hyp_has_pv_time(vcpu) || !av_steal_has(vcpu))
		return not_supported(vcpu);
	return answer(vcpu, av_steal_start(vcpu), 0, 0, 0);
}

/* The only architecture feature that does not depend on the hardware. */
static int arch_features(struct av_vcpu *vcpu)
{
	if ((u32)vcpu->srf->regs[1] == ARM_SMCCC_HV_PV_TIME_FEATURES && std_hyp_has_pv_time(vcpu))
		return answer(vcpu, SMCCC_RET_SUCCESS, 0, 0, 0);
	return not_supported(vcpu);
}

/* The VMM answers the call: it reads the arguments from the registers. */
static int forward(struct av_vcpu *vcpu, u32 fn, bool smc)
{
	struct kvm_run *run = vcpu->run;

	memset(&run->hypercall, 0, sizeof(run->hypercall));
	run->hypercall.nr = fn;
	run->hypercall.flags = smc ? KVM_HYPERCALL_EXIT_SMC : 0;
	run->exit_reason = KVM_EXIT_HYPERCALL;
	return 0;
}

static int call(struct av_vcpu *vcpu, u32 fn)
{
	if (likely(av_call_is_psci(fn)))
		return av_psci_call(vcpu);
	switch (fn) {
	case ARM_SMCCC_VERSION_FUNC_ID:
		return answer(vcpu, ARM_SMCCC_VERSION_1_1, 0, 0, 0);
	case ARM_SMCCC_ARCH_FEATURES_FUNC_ID:
		return arch_features(vcpu);
	case ARM_SMCCC_HV_PV_TIME_FEATURES:
		return pv_time_features(vcpu);
	case ARM_SMCCC_HV_PV_TIME_ST:
		return pv_time_st(vcpu);
	case ARM_SMCCC_TRNG_VERSION:
	case ARM_SMCCC_TRNG_FEATURES:
	case ARM_SMCCC_TRNG_GET_UUID:
	case ARM_SMCCC_TRNG_RND32:
	case ARM_SMCCC_TRNG_RND64:
		return trng_call(vcpu, fn);
	case ARM_SMCCC_VENDOR_HYP_CALL_UID_FUNC_ID:
		return vendor_call_uid(vcpu);
	case ARM_SMCCC_VENDOR_HYP_KVM_FEATURES_FUNC_ID:
		return vendor_features(vcpu);
	case ARM_SMCCC_VENDOR_HYP_KVM_PTP_FUNC_ID:
		return vendor_ptp(vcpu);
	case AV_CALL_HYP_MEMINFO:
	case AV_CALL_MEM_SHARE:
	case AV_CALL_MEM_UNSHARE:
	case AV_CALL_MEASUREMENT:
		return av_private_call(vcpu, fn);
	default:
		/* PSCI of any version, or unknown. */
		return av_psci_call(vcpu);
	}
}

/* Most VMs have no filter. */
static unsigned long filtered(const struct av_vm *vm, u32 fn)
{
	const struct av_range *range;

	if (likely(!READ_ONCE(vm->cpu->smccc_ranges)))
		return KVM_SMCCC_FILTER_HANDLE;
	range = av_ranges_find(&vm->cpu->smccc_filter, fn);
	return range ? range->value : KVM_SMCCC_FILTER_HANDLE;
}

int av_handle_smccc(struct av_vcpu *vcpu, bool smc)
{
	u32 fn = vcpu->srf->regs[0];

	switch (filtered(vcpu->vm, fn)) {
	case KVM_SMCCC_FILTER_HANDLE:
		return call(vcpu, fn);
	case KVM_SMCCC_FILTER_FWD_TO_USER:
		return forward(vcpu, fn, smc);
	default:
		return not_supported(vcpu);
	}
}

/* cpu/calls.h repeats these for code without kernel headers. */
static_assert(AV_CALL_SMCCC_VERSION == ARM_SMCCC_VERSION_FUNC_ID);
static_assert(AV_CALL_ARCH_FEATURES == ARM_SMCCC_ARCH_FEATURES_FUNC_ID);
static_assert(AV_CALL_PSCI_VERSION == PSCI_0_2_FN_PSCI_VERSION);
static_assert(AV_CALL_MIGRATE_TYPE == PSCI_0_2_FN_MIGRATE_INFO_TYPE);
static_assert(AV_CALL_PSCI_FEATURES == PSCI_1_0_FN_PSCI_FEATURES);
static_assert(AV_CALL_TRNG_VERSION == ARM_SMCCC_TRNG_VERSION);
static_assert(AV_CALL_TRNG_FEATURES == ARM_SMCCC_TRNG_FEATURES);
static_assert(AV_CALL_VENDOR_UID == ARM_SMCCC_VENDOR_HYP_CALL_UID_FUNC_ID);
static_assert(AV_CALL_VENDOR_FEATURES == ARM_SMCCC_VENDOR_HYP_KVM_FEATURES_FUNC_ID);

/* A filter cannot change once the VM has run. */
void av_smccc_show_window(struct av_vcpu *vcpu)
{
	u32 version = av_psci_version(vcpu);
	bool filtered = READ_ONCE(vcpu->vm->cpu->smccc_ranges);

	if (!(vcpu->srf->cheap & AV_CHEAP_CALLS) || filtered || version == PSCI_VERSION(0, 1))
		version = 0;
	vcpu->srf->psci_version = version;
}

bool av_smccc_answer_light(struct av_vcpu *vcpu)
{
	u32 fn = vcpu->srf->regs[0];

	if (av_call_is_share(fn)) {
		if (!av_private_call_light(vcpu, fn))
			return false;
	} else if (unlikely(call(vcpu, fn) != 1)) {
		pr_err_once("armvisor: a firmware call was wrongly handled as a light exit; please report it\n");
	}
	av_count(&vcpu->stats, AV_EXIT_HVC);
	av_vcpu_skip_insn(vcpu);
	return true;
}

/* ---- the VMM's side ------------------------------------------------------ */

static int insert_range(struct av_vm *vm, u32 first, u32 last, u8 action)
{
	int ret;

	if (vm->cpu->smccc_ranges >= MAX_RANGES)
		return -ENOSPC;
	ret = av_ranges_insert(&vm->cpu->smccc_filter, first, last, action, GFP_KERNEL_ACCOUNT);
	if (!ret)
		vm->cpu->smccc_ranges++;
	return ret;
}

/*
 * As in KVM, the architecture's own ranges are inserted first and so cannot be
 * filtered: no VMM may advertise mitigations that do not exist.
 */
static int reserve(struct av_vm *vm)
{
	u32 smc64 = ARM_SMCCC_CALL_VAL(ARM_SMCCC_FAST_CALL, ARM_SMCCC_SMC_64, 0, 0);
	int ret = 0;

	if (!vm->cpu->smccc_ranges)
		ret = insert_range(vm, ARM_SMCCC_VERSION_FUNC_ID,
				   ARM_SMCCC_VERSION_FUNC_ID + ARM_SMCCC_FUNC_MASK,
				   KVM_SMCCC_FILTER_HANDLE);
	if (!ret && vm->cpu->smccc_ranges == 1)
		ret = insert_range(vm, smc64, smc64 + ARM_SMCCC_FUNC_MASK, KVM_SMCCC_FILTER_HANDLE);
	return ret;
}

int av_smccc_set_filter(struct av_vm *vm, u32 base, u32 nr, u8 action)
{
	u32 last = base + nr - 1;
	int ret;

	if (!nr || last < base || action > KVM_SMCCC_FILTER_FWD_TO_USER)
		return -EINVAL;
	mutex_lock(&vm->config_lock);
	ret = vm->has_run ? -EBUSY : reserve(vm);
	if (!ret)
		ret = insert_range(vm, base, last, action);
	mutex_unlock(&vm->config_lock);
	return ret;
}

static const u64 fw_regs[] = {
	KVM_REG_ARM_PSCI_VERSION,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_1,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_2,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_3,
	KVM_REG_ARM_STD_BMAP,
	KVM_REG_ARM_STD_HYP_BMAP,
	KVM_REG_ARM_VENDOR_HYP_BMAP,
	KVM_REG_ARM_VENDOR_HYP_BMAP_2,	/* last: not on all hosts */
};

int av_fw_reg_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id)
{
	if (*at >= ARRAY_SIZE(fw_regs) - !AV_KVM_VENDOR_HYP_BMAP_2)
		return -ENOENT;
	*id = fw_regs[(*at)++];
	return 0;
}

int av_fw_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val)
{
	const struct av_vm_cpu *cpu = vcpu->vm->cpu;

	switch (id) {
	case KVM_REG_ARM_PSCI_VERSION:
		*val = av_psci_version(vcpu);
		return 0;
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_1:
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_2:
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_3:
		/* NOT_AVAIL is 0 for all three. */
		*val = KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_1_NOT_AVAIL;
		return 0;
	case KVM_REG_ARM_STD_BMAP:
		*val = READ_ONCE(cpu->smccc_std);
		return 0;
	case KVM_REG_ARM_STD_HYP_BMAP:
		*val = READ_ONCE(cpu->smccc_std_hyp);
		return 0;
	case KVM_REG_ARM_VENDOR_HYP_BMAP:
		*val = READ_ONCE(cpu->smccc_vendor_hyp);
		return 0;
	case KVM_REG_ARM_VENDOR_HYP_BMAP_2:
		*val = READ_ONCE(cpu->smccc_vendor_hyp_2);
		return AV_KVM_VENDOR_HYP_BMAP_2 ? 0 : -ENOENT;
	default:
		return -ENOENT;
	}
}

static int set_bitmap(struct av_vcpu *vcpu, u64 *bitmap, u64 known, u64 val)
{
	int ret = 0;

	if (val & ~known)
		return -EINVAL;
	mutex_lock(&vcpu->vm->config_lock);
	if (val != *bitmap && vcpu->vm->has_run)
		ret = -EBUSY;
	else
		WRITE_ONCE(*bitmap, val);
	mutex_unlock(&vcpu->vm->config_lock);
	return ret;
}

int av_fw_reg_set(struct av_vcpu *vcpu, u64 id, u64 val)
{
	struct av_vm_cpu *cpu = vcpu->vm->cpu;

	switch (id) {
	case KVM_REG_ARM_PSCI_VERSION:
		return av_psci_set_version(vcpu, val);
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_1:
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_2:
	case KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_3:
		return val ? -EINVAL : 0;
	case KVM_REG_ARM_STD_BMAP:
		return set_bitmap(vcpu, &cpu->smccc_std, STD_BITS, val);
	case KVM_REG_ARM_STD_HYP_BMAP:
		return set_bitmap(vcpu, &cpu->smccc_std_hyp, STD_HYP_BITS, val);
	case KVM_REG_ARM_VENDOR_HYP_BMAP:
		return set_bitmap(vcpu, &cpu->smccc_vendor_hyp, VENDOR_BITS, val);
	case KVM_REG_ARM_VENDOR_HYP_BMAP_2:
		if (!AV_KVM_VENDOR_HYP_BMAP_2)
			return -ENOENT;
		return set_bitmap(vcpu, &cpu->smccc_vendor_hyp_2, AV_VENDOR_HYP_BITS_2, val);
	default:
		return -ENOENT;
	}
}
