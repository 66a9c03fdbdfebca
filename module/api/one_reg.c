// SPDX-License-Identifier: GPL-2.0
/*
 * Registers by KVM's 64-bit ids: KVM_GET_ONE_REG, KVM_SET_ONE_REG and
 * KVM_GET_REG_LIST. The register's size is part of the id: an id with a wrong
 * size is a register that does not exist.
 *
 * Core registers are an index, in units of 32 bits, into struct kvm_regs, and
 * are served here from the register file. Every other group has a get and a set
 * function in the folder that owns it.
 */
#include <linux/kvm.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>

#include "api/api.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "vm/regfile.h"

#define AV_CORE(field)		KVM_REG_ARM_CORE_REG(field)
#define AV_CORE_WORDS		(sizeof(struct kvm_regs) / sizeof(__u32))
#define AV_REG_ANY		(KVM_REG_ARCH_MASK | KVM_REG_SIZE_MASK | KVM_REG_ARM_COPROC_MASK)

/* Returns the virtual system register behind a core register, or AV_NR_VREGS. */
static unsigned int av_core_vreg(const struct av_srf *srf, u64 off)
{
	unsigned int in_use = av_mode_sp(srf->vmode);

	switch (off) {
	case AV_CORE(regs.sp):
		return in_use == AV_SP_EL0 ? AV_NR_VREGS : AV_SP_EL0;
	case AV_CORE(sp_el1):
		return in_use == AV_SP_EL1 ? AV_NR_VREGS : AV_SP_EL1;
	case AV_CORE(elr_el1):
		return AV_ELR_EL1;
	case AV_CORE(spsr[KVM_SPSR_EL1]):
		return AV_SPSR_EL1;
	default:
		return AV_NR_VREGS;
	}
}

/*
 * Find a core register: returns its address and sets *size, to 0 if there is
 * none. Returns NULL, with *size set, for PSTATE, which is in two places, and
 * for virtual system registers.
 */
static void *av_core_reg(struct av_vcpu *vcpu, u64 off, unsigned int *size)
{
	struct user_fpsimd_state *fp = av_vcpu_fp(vcpu);
	struct av_srf *srf = vcpu->srf;

	*size = sizeof(u64);
	if (off % 2 == 0 && off <= AV_CORE(regs.regs[30]))
		return &srf->regs[array_index_nospec(off / 2, ARRAY_SIZE(srf->regs))];
	if (av_core_vreg(srf, off) < AV_NR_VREGS)
		return NULL;
	switch (off) {
	case AV_CORE(regs.sp):
	case AV_CORE(sp_el1):
		return &srf->sp;
	case AV_CORE(regs.pc):
		return &srf->pc;
	case AV_CORE(regs.pstate):
		return NULL;
	case AV_CORE(spsr[KVM_SPSR_ABT]):
	case AV_CORE(spsr[KVM_SPSR_UND]):
	case AV_CORE(spsr[KVM_SPSR_IRQ]):
	case AV_CORE(spsr[KVM_SPSR_FIQ]):
		return &vcpu->spsr_aa32[(off - AV_CORE(spsr[KVM_SPSR_ABT])) / 2];
	}

	*size = sizeof(__uint128_t);
	if (off % 4 == 0 && off >= AV_CORE(fp_regs.vregs[0]) &&
	    off <= AV_CORE(fp_regs.vregs[31]))
		return &fp->vregs[array_index_nospec((off - AV_CORE(fp_regs.vregs[0])) / 4, 32)];

	*size = sizeof(u32);
	if (off == AV_CORE(fp_regs.fpsr))
		return &fp->fpsr;
	if (off == AV_CORE(fp_regs.fpcr))
		return &fp->fpcr;

	*size = 0;
	return NULL;
}

/* Look up a core id. Returns -ENOENT past the structure, -EINVAL for no register. */
static int av_core_find(struct av_vcpu *vcpu, u64 id, u64 *off, void **addr)
{
	unsigned int size;

	*off = id & ~AV_REG_ANY;
	if (*off >= AV_CORE_WORDS || *off + KVM_REG_SIZE(id) / sizeof(__u32) >= AV_CORE_WORDS)
		return -ENOENT;
	*addr = av_core_reg(vcpu, *off, &size);
	return size == KVM_REG_SIZE(id) ? 0 : -EINVAL;
}

static int av_core_get(struct av_vcpu *vcpu, const struct kvm_one_reg *reg)
{
	u64 off, val;
	void *addr;
	int r = av_core_find(vcpu, reg->id, &off, &addr);

	if (r)
		return r;
	if (!addr) {
		val = off == AV_CORE(regs.pstate) ? av_srf_spsr(vcpu->srf) :
			av_srf_get(vcpu->srf, av_core_vreg(vcpu->srf, off));
		addr = &val;
	}
	return copy_to_user(u64_to_user_ptr(reg->addr), addr, KVM_REG_SIZE(reg->id)) ?
		-EFAULT : 0;
}

/* Guests have no AArch32, at any level. */
static bool av_pstate_valid(u64 pstate)
{
	switch (pstate & (AV_PSR_MODE | AV_PSR_NRW)) {
	case AV_PSR_EL0T:
	case AV_PSR_EL1T:
	case AV_PSR_EL1H:
		return true;
	}
	return false;
}

static int av_core_set(struct av_vcpu *vcpu, const struct kvm_one_reg *reg)
{
	unsigned int size = KVM_REG_SIZE(reg->id);
	__uint128_t val;
	void *addr;
	u64 off;
	int r = av_core_find(vcpu, reg->id, &off, &addr);

	if (r)
		return r;
	if (copy_from_user(&val, u64_to_user_ptr(reg->addr), size))
		return -EFAULT;
	if (off == AV_CORE(regs.pstate)) {
		if (!av_pstate_valid(val))
			return -EINVAL;
		av_vcpu_set_pstate(vcpu, val);
		return 0;
	}
	if (addr)
		memcpy(addr, &val, size);
	else
		av_srf_set(vcpu->srf, av_core_vreg(vcpu->srf, off), val);
	/* Setting PC means that a guest is restored, with its memory, or debugged. */
	if (off == AV_CORE(regs.pc))
		av_mmu_forget_copies(vcpu->vm);
	return 0;
}

/* The core registers, in the structure's order. */
static int av_core_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id)
{
	unsigned int off, size;

	while (*at < AV_CORE_WORDS) {
		off = (*at)++;
		av_core_reg(vcpu, off, &size);
		if (!size)
			continue;
		*id = KVM_REG_ARM64 | KVM_REG_ARM_CORE | off |
		      ((u64)ilog2(size) << KVM_REG_SIZE_SHIFT);
		return 0;
	}
	return -ENOENT;
}

/* In KVM's order, where the timers come after the firmware registers. */
static const u64 av_timer_regs[] = {
	KVM_REG_ARM_TIMER_CTL,
	KVM_REG_ARM_TIMER_CNT,
	KVM_REG_ARM_TIMER_CVAL,
	KVM_REG_ARM_PTIMER_CTL,
	KVM_REG_ARM_PTIMER_CNT,
	KVM_REG_ARM_PTIMER_CVAL,
};

static bool av_is_timer_reg(u64 id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(av_timer_regs); i++)
		if (av_timer_regs[i] == id)
			return true;
	return false;
}

static int av_timer_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id)
{
	if (*at >= ARRAY_SIZE(av_timer_regs))
		return -ENOENT;
	*id = av_timer_regs[(*at)++];
	return 0;
}

/*
 * The groups, in the order of KVM_GET_REG_LIST. Each returns its registers one by one, from
 * position *at on, so that listing n registers takes n steps.
 */
static int (*const av_reg_next[])(struct av_vcpu *vcpu, unsigned int *at, u64 *id) = {
	av_core_next,
	av_fw_reg_next,
	av_timer_next,
	av_demux_next,
	av_sysreg_next,
};

/* No vCPU has SVE; its ids must still give KVM's errnos. */
static int av_no_sve(u64 id)
{
	if (id == KVM_REG_ARM64_SVE_VLS)
		return -ENOENT;
	if (id >= KVM_REG_ARM64_SVE_ZREG(0, 0) &&
	    id <= KVM_REG_ARM64_SVE_ZREG(KVM_ARM64_SVE_NUM_ZREGS - 1,
					 KVM_ARM64_SVE_MAX_SLICES - 1))
		return -ENOENT;
	if (id >= KVM_REG_ARM64_SVE_PREG(0, 0) &&
	    id <= KVM_REG_ARM64_SVE_FFR(KVM_ARM64_SVE_MAX_SLICES - 1))
		return -ENOENT;
	return -EINVAL;
}

static int av_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val)
{
	switch (id & KVM_REG_ARM_COPROC_MASK) {
	case KVM_REG_ARM_FW:
	case KVM_REG_ARM_FW_FEAT_BMAP:
		return av_fw_reg_get(vcpu, id, val);
	case KVM_REG_ARM_DEMUX:
		return av_demux_get(vcpu, id, val);
	case KVM_REG_ARM64_SVE:
		return av_no_sve(id);
	}
	if (av_is_timer_reg(id))
		return av_timer_reg_get(vcpu, id, val);
	return av_sysreg_get(vcpu, id, val);
}

static int av_reg_set(struct av_vcpu *vcpu, u64 id, u64 val)
{
	switch (id & KVM_REG_ARM_COPROC_MASK) {
	case KVM_REG_ARM_FW:
	case KVM_REG_ARM_FW_FEAT_BMAP:
		return av_fw_reg_set(vcpu, id, val);
	case KVM_REG_ARM_DEMUX:
		return av_demux_set(vcpu, id, val);
	case KVM_REG_ARM64_SVE:
		return av_no_sve(id);
	}
	if (av_is_timer_reg(id))
		return av_timer_reg_set(vcpu, id, val);
	return av_sysreg_set(vcpu, id, val);
}

/* Copy the request and check that it is for this architecture. */
static int av_one_reg(struct av_vcpu *vcpu, void __user *argp, struct kvm_one_reg *reg)
{
	if (!vcpu->initialized)
		return -ENOEXEC;
	if (copy_from_user(reg, argp, sizeof(*reg)))
		return -EFAULT;
	if ((reg->id & ~KVM_REG_SIZE_MASK) >> 32 != KVM_REG_ARM64 >> 32)
		return -EINVAL;
	/* PSCI CPU_ON may have left a reset to do: it must come before any register access. */
	av_vcpu_load_start(vcpu);
	return 0;
}

static bool av_reg_is_core(u64 id)
{
	return (id & KVM_REG_ARM_COPROC_MASK) == KVM_REG_ARM_CORE;
}

int av_vcpu_get_one_reg(struct av_vcpu *vcpu, void __user *argp)
{
	struct kvm_one_reg reg;
	u64 val = 0;
	int r = av_one_reg(vcpu, argp, &reg);

	if (r)
		return r;
	if (av_reg_is_core(reg.id))
		return av_core_get(vcpu, &reg);
	/* All other registers have at most 64 bits; the machine is little-endian. */
	r = av_reg_get(vcpu, reg.id, &val);
	if (r)
		return r;
	if (KVM_REG_SIZE(reg.id) > sizeof(val))
		return -ENOENT;
	return copy_to_user(u64_to_user_ptr(reg.addr), &val, KVM_REG_SIZE(reg.id)) ?
		-EFAULT : 0;
}

/* The core registers that a VMM may set before the guest starts. The measurement covers them. */
static bool av_core_is_general(u64 off)
{
	return off <= AV_CORE(regs.regs[30]) || off == AV_CORE(regs.sp) ||
	       off == AV_CORE(regs.pc) || off == AV_CORE(regs.pstate);
}

/* Other registers of a protected VM keep their reset values. Setting those values is allowed. */
static int av_core_set_protected(struct av_vcpu *vcpu, const struct kvm_one_reg *reg)
{
	__uint128_t val;
	void *addr;
	u64 off, now;
	int r = av_core_find(vcpu, reg->id, &off, &addr);

	if (r)
		return r;
	if (av_core_is_general(off))
		return av_core_set(vcpu, reg);
	if (copy_from_user(&val, u64_to_user_ptr(reg->addr), KVM_REG_SIZE(reg->id)))
		return -EFAULT;
	if (!addr) {
		now = av_srf_get(vcpu->srf, av_core_vreg(vcpu->srf, off));
		addr = &now;
	}
	return memcmp(addr, &val, KVM_REG_SIZE(reg->id)) ? -EPERM : 0;
}

int av_vcpu_set_one_reg(struct av_vcpu *vcpu, void __user *argp)
{
	bool protected = vcpu->vm->protected;
	struct kvm_one_reg reg;
	u64 val = 0, now = 0;
	int r = av_one_reg(vcpu, argp, &reg);

	if (r)
		return r;
	if (av_reg_is_core(reg.id))
		return protected ? av_core_set_protected(vcpu, &reg) : av_core_set(vcpu, &reg);
	/* Report a missing register before a bad address. */
	r = av_reg_get(vcpu, reg.id, &now);
	if (r)
		return r;
	if (KVM_REG_SIZE(reg.id) > sizeof(val))
		return -ENOENT;
	val = now;
	if (copy_from_user(&val, u64_to_user_ptr(reg.addr), KVM_REG_SIZE(reg.id)))
		return -EFAULT;
	if (protected)
		return val == now ? 0 : -EPERM;
	return av_reg_set(vcpu, reg.id, val);
}

/* Count the ids, and copy out as many as there is room for. */
static int av_reg_list_walk(struct av_vcpu *vcpu, u64 __user *to, u64 room, u64 *count)
{
	unsigned int group, at;
	u64 id;

	*count = 0;
	for (group = 0; group < ARRAY_SIZE(av_reg_next); group++) {
		for (at = 0; !av_reg_next[group](vcpu, &at, &id); ) {
			if (*count < room && put_user(id, to + *count))
				return -EFAULT;
			(*count)++;
		}
	}
	return 0;
}

int av_vcpu_get_reg_list(struct av_vcpu *vcpu, void __user *argp)
{
	struct kvm_reg_list __user *list = argp;
	u64 count, room;
	int r;

	if (!vcpu->initialized)
		return -ENOEXEC;
	if (copy_from_user(&room, &list->n, sizeof(room)))
		return -EFAULT;
	r = av_reg_list_walk(vcpu, NULL, 0, &count);
	if (r)
		return r;
	if (copy_to_user(&list->n, &count, sizeof(count)))
		return -EFAULT;
	if (room < count)
		return -E2BIG;
	return av_reg_list_walk(vcpu, list->reg, count, &count);
}
