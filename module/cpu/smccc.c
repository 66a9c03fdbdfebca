// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware calls by the SMC calling convention: which there are, and the
 * registers by which a VMM says so (KVM_REG_ARM_FW*, before the first run).
 *
 * Speculation workarounds: the guest's kernel runs at EL0, so entering it from
 * its user space is an exit to the host, and what the host does on its way is
 * what there is. A call of ours could not do more: none is offered.
 */
#include <linux/arm-smccc.h>
#include <linux/kvm.h>
#include <linux/random.h>
#include <linux/string.h>
#include <uapi/linux/psci.h>

#include "cpu/cpu.h"

#define TRNG_VERSION_1_0	0x10000UL
#define TRNG_INVALID		(-2L)
#define TRNG_MAX_BITS64		192
#define TRNG_MAX_BITS32		96

/* KVM's own identity, 28b46fb6-2ec5-11e9-a9ca-4b564d003a74, so that guests find what they know. */
static const u32 vendor_uid[4] = { 0xb66fb428, 0xe911c52e, 0x564bcaa9, 0x743a004d };

#define STD_BITS	BIT(KVM_REG_ARM_STD_BIT_TRNG_V1_0)
#define VENDOR_BITS	BIT(KVM_REG_ARM_VENDOR_HYP_BIT_FUNC_FEAT)

void av_smccc_vm_init(struct av_vm *vm)
{
	vm->cpu->smccc_std = STD_BITS;
	vm->cpu->smccc_std_hyp = 0;
	vm->cpu->smccc_vendor_hyp = VENDOR_BITS;
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

/* Random bits in the low ends of x3, x2, x1, as many as asked for. */
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
		/* The kernel's pool, by the name that KVM gives it. */
		return answer(vcpu, 0x0d21e000, 0x4384, 0x11eb80a7, 0xd4f4b0f4);
	case ARM_SMCCC_TRNG_RND32:
		return trng_rnd(vcpu, false);
	default:
		return trng_rnd(vcpu, true);
	}
}

static int vendor_features(struct av_vcpu *vcpu)
{
	if (!(READ_ONCE(vcpu->vm->cpu->smccc_vendor_hyp) & VENDOR_BITS))
		return not_supported(vcpu);
	return answer(vcpu, BIT(ARM_SMCCC_KVM_FUNC_FEATURES), 0, 0, 0);
}

static int vendor_call_uid(struct av_vcpu *vcpu)
{
	if (!(READ_ONCE(vcpu->vm->cpu->smccc_vendor_hyp) & VENDOR_BITS))
		return not_supported(vcpu);
	return answer(vcpu, vendor_uid[0], vendor_uid[1], vendor_uid[2], vendor_uid[3]);
}

int av_handle_smccc(struct av_vcpu *vcpu)
{
	u32 fn = vcpu->srf->regs[0];

	switch (fn) {
	case ARM_SMCCC_VERSION_FUNC_ID:
		return answer(vcpu, ARM_SMCCC_VERSION_1_1, 0, 0, 0);
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
	default:
		/* PSCI's numbers, old and new, or nobody's. */
		return av_psci_call(vcpu);
	}
}

/* ---- the VMM's side ------------------------------------------------------ */

static const u64 fw_regs[] = {
	KVM_REG_ARM_PSCI_VERSION,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_1,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_2,
	KVM_REG_ARM_SMCCC_ARCH_WORKAROUND_3,
	KVM_REG_ARM_STD_BMAP,
	KVM_REG_ARM_STD_HYP_BMAP,
	KVM_REG_ARM_VENDOR_HYP_BMAP,
};

int av_fw_reg_index(struct av_vcpu *vcpu, unsigned int n, u64 *id)
{
	if (n >= ARRAY_SIZE(fw_regs))
		return -ENOENT;
	*id = fw_regs[n];
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
		/* NOT_AVAIL is 0 in all three. */
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
		return set_bitmap(vcpu, &cpu->smccc_std_hyp, 0, val);
	case KVM_REG_ARM_VENDOR_HYP_BMAP:
		return set_bitmap(vcpu, &cpu->smccc_vendor_hyp, VENDOR_BITS, val);
	default:
		return -ENOENT;
	}
}
