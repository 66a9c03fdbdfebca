// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's view of the caches. As in KVM, it is made up: one level, one set,
 * one way, so that walking sets and ways is short. A VMM may write values of
 * another machine. The true line sizes are in CTR_EL0: the guest reads it from
 * the hardware, unless the VMM set a value or the guest's kernel denies it to
 * user space (SCTLR_EL1.UCT; cpu/controls.c).
 */
#include <asm/cpu.h>
#include <asm/sysreg.h>

#include "compat/kvm_level.h"
#include "cpu/sysreg.h"
#include "stats/stats.h"

#define CLIDR_TYPE_OF(n, type)	((u64)(type) << (3 * ((n) - 1)))
#define CLIDR_INST		1
#define CLIDR_DATA		2
#define CLIDR_UNIFIED		4
#define CLIDR_LOUIS_BITS	GENMASK_ULL(23, 21)
#define CLIDR_LOC_BITS		GENMASK_ULL(26, 24)
#define CLIDR_LOUU_BITS		GENMASK_ULL(29, 27)
#define CCSIDR_LINE_BITS	GENMASK(2, 0)

static u64 host_ctr(void)
{
	return read_sanitised_ftr_reg(SYS_CTR_EL0);
}

/* IDC: data caches need no cleaning to the PoU. DIC: instruction caches need no invalidation. */
static u64 made_up_clidr(void)
{
	u64 ctr = host_ctr(), clidr, loc = 1;

	if (ctr & AV_CTR_IDC) {
		loc = ctr & AV_CTR_DIC ? 1 : 2;
		clidr = CLIDR_TYPE_OF(loc, CLIDR_UNIFIED);
	} else {
		clidr = FIELD_PREP(CLIDR_LOUU_BITS, 1) | FIELD_PREP(CLIDR_LOUIS_BITS, 1) |
			CLIDR_TYPE_OF(1, CLIDR_DATA);
	}
	if (!(ctr & AV_CTR_DIC))
		clidr |= CLIDR_TYPE_OF(1, CLIDR_INST);
	return clidr | FIELD_PREP(CLIDR_LOC_BITS, loc);
}

/* log2 of the smallest line. CCSIDR_EL1 counts in units of 16 bytes, CTR_EL0 in words. */
static u32 line_size(unsigned int csselr)
{
	u64 field = csselr & 1 ? FIELD_GET(AV_CTR_IMINLINE, host_ctr()) :
				 FIELD_GET(AV_CTR_DMINLINE, host_ctr());

	return field > 2 ? field - 2 : 0;
}

void av_caches_init(struct av_vcpu *vcpu)
{
	unsigned int i;

	vcpu->cpu->clidr = made_up_clidr();
	for (i = 0; i < AV_NR_CACHES; i++)
		vcpu->cpu->ccsidr[i] = line_size(i) & CCSIDR_LINE_BITS;
}

static bool access_clidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = vcpu->cpu->clidr;
	return true;
}

static int get_clidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	*val = vcpu->cpu->clidr;
	return 0;
}

/* A guest must not be told that data caches need no cleaning when they do. */
static int set_clidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	bool idc = !(val & CLIDR_LOC_BITS) || !(val & (CLIDR_LOUIS_BITS | CLIDR_LOUU_BITS));

	if (val & AV_CLIDR_RES0 || (idc && !(host_ctr() & AV_CTR_IDC)))
		return -EINVAL;
	vcpu->cpu->clidr = val;
	return 0;
}

static bool access_ccsidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	u64 csselr = av_srf_get(vcpu->srf, AV_CSSELR_EL1) & 0xf;

	*val = csselr < AV_NR_CACHES ? vcpu->cpu->ccsidr[csselr] : 0;
	return true;
}

static bool access_csselr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	if (write)
		av_srf_set(vcpu->srf, AV_CSSELR_EL1, *val & 0xf);
	else
		*val = av_srf_get(vcpu->srf, AV_CSSELR_EL1);
	return true;
}

static u64 guest_ctr(const struct av_vm *vm)
{
	return READ_ONCE(vm->cpu->ctr_traps) ? vm->cpu->ctr : read_sysreg(ctr_el0);
}

static bool access_ctr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	struct av_srf *srf = vcpu->srf;

	if (!av_srf_el1(srf) && !(av_srf_get(srf, AV_SCTLR_EL1) & AV_SCTLR_UCT))
		return false;
	*val = guest_ctr(vcpu->vm);
	return true;
}

static int get_ctr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	*val = guest_ctr(vcpu->vm);
	return 0;
}

/* Only before the first run. With a value other than the hardware's, every read traps. */
static int set_ctr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	struct av_vm *vm = vcpu->vm;
	int ret = 0;

	if (AV_KVM_ID_FIELDS && FIELD_GET(AV_CTR_L1IP, val) < AV_CTR_L1IP_VIPT)
		return -EINVAL;
	mutex_lock(&vm->config_lock);
	if (val == guest_ctr(vm)) {
		ret = 0;
	} else if (vm->has_run) {
		ret = -EBUSY;
	} else if (!av_ctr_may_be(host_ctr(), val, AV_KVM_ID_FIELDS)) {
		ret = -EINVAL;
	} else {
		vm->cpu->ctr = val;
		WRITE_ONCE(vm->cpu->ctr_traps, val != read_sysreg(ctr_el0));
	}
	mutex_unlock(&vm->config_lock);
	return ret;
}

#define DEMUX_KNOWN	(KVM_REG_ARCH_MASK | KVM_REG_SIZE_MASK | KVM_REG_ARM_COPROC_MASK | \
			 KVM_REG_ARM_DEMUX_ID_MASK | KVM_REG_ARM_DEMUX_VAL_MASK)
#define DEMUX_CCSIDR	(KVM_REG_ARM64 | KVM_REG_ARM_DEMUX | KVM_REG_SIZE_U32 | \
			 KVM_REG_ARM_DEMUX_ID_CCSIDR)

/* Returns the cache that an ID of this group names, or -ENOENT. */
static int demux(u64 id)
{
	unsigned int n = (id & KVM_REG_ARM_DEMUX_VAL_MASK) >> KVM_REG_ARM_DEMUX_VAL_SHIFT;

	if (id & ~DEMUX_KNOWN || (id & ~KVM_REG_ARM_DEMUX_VAL_MASK) != DEMUX_CCSIDR)
		return -ENOENT;
	return n < AV_NR_CACHES ? (int)n : -ENOENT;
}

int av_demux_get(struct av_vcpu *vcpu, u64 id, u64 *val)
{
	int n = demux(id);

	if (n < 0)
		return n;
	*val = vcpu->cpu->ccsidr[n];
	return 0;
}

int av_demux_set(struct av_vcpu *vcpu, u64 id, u64 val)
{
	int n = demux(id);

	if (n < 0)
		return n;
	if ((val & CCSIDR_LINE_BITS) < line_size(n))
		return -EINVAL;
	vcpu->cpu->ccsidr[n] = val;
	return 0;
}

int av_demux_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id)
{
	if (*at >= AV_NR_CACHES)
		return -ENOENT;
	*id = DEMUX_CCSIDR | (u64)(*at)++ << KVM_REG_ARM_DEMUX_VAL_SHIFT;
	return 0;
}

#define SEEN	(AV_ROW_READ | AV_ROW_VMM)

static const struct av_sysreg rows[] = {
	AV_FN(AV_SYS(3, 1, 0, 0, 0), AV_ROW_READ, ID_REG, "CCSIDR_EL1", access_ccsidr),
	{ .enc = AV_SYS(3, 1, 0, 0, 1), .flags = SEEN, .cls = AV_EXIT_ID_REG,
	  .vreg = AV_NR_VREGS, .name = "CLIDR_EL1", .access = access_clidr,
	  .get = get_clidr, .set = set_clidr },
	{ .enc = AV_SYS(3, 2, 0, 0, 0), .flags = AV_ROW_ALL, .cls = AV_EXIT_ID_REG,
	  .vreg = AV_CSSELR_EL1, .name = "CSSELR_EL1", .access = access_csselr },
	{ .enc = AV_SYS(3, 3, 0, 0, 1), .flags = SEEN | AV_ROW_EL0, .cls = AV_EXIT_ID_REG,
	  .vreg = AV_NR_VREGS, .name = "CTR_EL0", .access = access_ctr,
	  .get = get_ctr, .set = set_ctr },
};

const struct av_sysreg_table av_regs_cache = { rows, ARRAY_SIZE(rows) };
