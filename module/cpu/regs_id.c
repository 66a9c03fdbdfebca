// SPDX-License-Identifier: GPL-2.0
/* ID registers of the guest: MIDR, MPIDR, features (cpu/idregs.c). */
#include <asm/cpu.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>

#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "irq/vgic.h"
#include "mmu/walk.h"
#include "stats/stats.h"
#include "switch/leave.h"

#define MPIDR_RES1		BIT_ULL(31)

static bool access_midr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = read_cpuid_id();
	return true;
}

static bool access_mpidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = READ_ONCE(vcpu->cpu->mpidr);
	return true;
}

static bool access_revidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = read_sysreg(revidr_el1);
	return true;
}

static bool access_aidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = read_sysreg(aidr_el1);
	return true;
}

static unsigned int idreg_of(const struct av_sysreg *reg)
{
	return AV_IDREG(FIELD_GET(AV_SYS_CRM, reg->enc), FIELD_GET(AV_SYS_OP2, reg->enc));
}

static u64 idreg_value(struct av_vcpu *vcpu, unsigned int n)
{
	u64 val = READ_ONCE(vcpu->vm->cpu->idregs[n]);

	if (n == AV_ID_PFR0 && !av_irq_has_icc(vcpu->vm))
		val &= ~AV_ID_PFR0_GIC;
	return val;
}

static void set_idreg(struct av_vm *vm, unsigned int n, u64 val)
{
	vm->cpu->idregs[n] = val;
	if (n == AV_ID_MMFR0)
		vm->pa_bits = av_parange_bits(FIELD_GET(AV_ID_MMFR0_PARANGE, val));
}

static bool access_id(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = idreg_value(vcpu, idreg_of(reg));
	return true;
}

static int get_fixed(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	reg->access(vcpu, reg, false, val);
	return 0;
}

/* A fixed register: the VMM may write only its current value. */
static int set_fixed(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	u64 have = 0;

	reg->access(vcpu, reg, false, &have);
	return val == have ? 0 : -EINVAL;
}

static u64 host_idreg(unsigned int n)
{
	if (!av_idreg_uses_host(n))
		return 0;
	return read_sanitised_ftr_reg(sys_reg(3, 0, 0, n / 8 + 1, n % 8));
}

static u64 idreg_limit(const struct av_vm *vm, unsigned int n)
{
	u64 val = av_idreg_compose(n, av_host_idreg(n));

	if (n == AV_ID_DFR0 && av_pmu_vm_has(vm))
		val |= FIELD_PREP(AV_ID_DFR0_PMUVER, av_pmu_host_version());
	return val;
}

/* A VM's ID register: a VMM may remove features before the first run. */
static int set_id(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	struct av_vm *vm = vcpu->vm;
	unsigned int n = idreg_of(reg);
	u64 limit = idreg_limit(vm, n);
	int ret = 0;

	if (av_idreg_is_aarch32(n))
		return 0;
	val = av_idreg_forget(n, host_idreg(n), val);
	mutex_lock(&vm->config_lock);
	if (val == idreg_value(vcpu, n))
		ret = 0;
	else if (vm->has_run)
		ret = -EBUSY;
	else if (!av_idreg_may_be(n, limit, val))
		ret = -EINVAL;
	else
		set_idreg(vm, n, val);
	mutex_unlock(&vm->config_lock);
	return ret;
}

static int set_mpidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	WRITE_ONCE(vcpu->cpu->mpidr, val);
	av_irq_set_mpidr(vcpu, val);
	return 0;
}

/* Indices in the feature ID space: CRm 1 with op1 0, CLIDR_EL1, CTR_EL0. */
enum { PLACE_IDREGS = 8, PLACE_CLIDR = 64 + 1, PLACE_CTR = 128 + 1 };

u64 av_id_mask(unsigned int n)
{
	if (n >= PLACE_IDREGS && n < PLACE_IDREGS + AV_NR_IDREGS)
		return av_idreg_writable(n - PLACE_IDREGS);
	if (n == PLACE_CLIDR)
		return ~AV_CLIDR_RES0;
	return n == PLACE_CTR ? AV_CTR_WRITABLE : 0;
}

u64 av_host_idreg(unsigned int n)
{
	u64 val = host_idreg(n);

	/* Cores that are known to be safe may lack CSV3. */
	if (n == AV_ID_PFR0 && !(val & AV_ID_PFR0_CSV3) && av_cpus_meltdown_safe())
		val |= FIELD_PREP(AV_ID_PFR0_CSV3, 1);
	return val;
}

void av_idregs_init(struct av_vm *vm)
{
	unsigned int n;

	for (n = 0; n < AV_NR_IDREGS; n++)
		set_idreg(vm, n, idreg_limit(vm, n));
}

void av_idregs_set_pmu(struct av_vm *vm)
{
	set_idreg(vm, AV_ID_DFR0, idreg_limit(vm, AV_ID_DFR0));
}

void av_mpidr_init(struct av_vcpu *vcpu)
{
	set_mpidr(vcpu, NULL, MPIDR_RES1 | av_vgic_affinity(vcpu->id));
}

#define FIXED(op1, crm, op2, flags_, name_, access_)					\
	{ .enc = AV_SYS(3, op1, 0, crm, op2), .flags = flags_, .cls = AV_EXIT_ID_REG,	\
	  .vreg = AV_NR_VREGS, .name = name_, .access = access_, .get = get_fixed,	\
	  .set = set_fixed }
#define SEEN	(AV_ROW_READ | AV_ROW_VMM)
#define ID(crm, op2, name_)								\
	{ .enc = AV_SYS(3, 0, 0, crm, op2), .flags = SEEN, .cls = AV_EXIT_ID_REG,		\
	  .vreg = AV_NR_VREGS, .name = name_, .access = access_id, .get = get_fixed,	\
	  .set = set_id }

static const struct av_sysreg rows[] = {
	{ .enc = AV_FAST_SYS_MIDR_EL1, .flags = AV_FAST_FLAGS_MIDR_EL1,
	  .cls = AV_FAST_CLS_MIDR_EL1, .vreg = AV_NR_VREGS, .name = "MIDR_EL1",
	  .access = access_midr, .get = get_fixed, .set = set_fixed },
	{ .enc = AV_SYS(3, 0, 0, 0, 5), .flags = SEEN, .cls = AV_EXIT_ID_REG,
	  .vreg = AV_NR_VREGS, .name = "MPIDR_EL1", .access = access_mpidr,
	  .get = get_fixed, .set = set_mpidr },
	FIXED(0, 0, 6, SEEN, "REVIDR_EL1", access_revidr),
	ID(1, 0, "ID_PFR0_EL1"),
	ID(1, 1, "ID_PFR1_EL1"),
	ID(1, 2, "ID_DFR0_EL1"),
	ID(1, 3, "ID_AFR0_EL1"),
	ID(1, 4, "ID_MMFR0_EL1"),
	ID(1, 5, "ID_MMFR1_EL1"),
	ID(1, 6, "ID_MMFR2_EL1"),
	ID(1, 7, "ID_MMFR3_EL1"),
	ID(2, 0, "ID_ISAR0_EL1"),
	ID(2, 1, "ID_ISAR1_EL1"),
	ID(2, 2, "ID_ISAR2_EL1"),
	ID(2, 3, "ID_ISAR3_EL1"),
	ID(2, 4, "ID_ISAR4_EL1"),
	ID(2, 5, "ID_ISAR5_EL1"),
	ID(2, 6, "ID_MMFR4_EL1"),
	ID(2, 7, "ID_ISAR6_EL1"),
	ID(3, 0, "MVFR0_EL1"),
	ID(3, 1, "MVFR1_EL1"),
	ID(3, 2, "MVFR2_EL1"),
	ID(3, 3, "ID_c3_3_EL1"),
	ID(3, 4, "ID_PFR2_EL1"),
	ID(3, 5, "ID_DFR1_EL1"),
	ID(3, 6, "ID_MMFR5_EL1"),
	ID(3, 7, "ID_c3_7_EL1"),
	ID(4, 0, "ID_AA64PFR0_EL1"),
	ID(4, 1, "ID_AA64PFR1_EL1"),
	ID(4, 2, "ID_AA64PFR2_EL1"),
	ID(4, 3, "ID_c4_3_EL1"),
	ID(4, 4, "ID_AA64ZFR0_EL1"),
	ID(4, 5, "ID_AA64SMFR0_EL1"),
	ID(4, 6, "ID_c4_6_EL1"),
	ID(4, 7, "ID_AA64FPFR0_EL1"),
	ID(5, 0, "ID_AA64DFR0_EL1"),
	ID(5, 1, "ID_AA64DFR1_EL1"),
	ID(5, 2, "ID_c5_2_EL1"),
	ID(5, 3, "ID_c5_3_EL1"),
	ID(5, 4, "ID_AA64AFR0_EL1"),
	ID(5, 5, "ID_AA64AFR1_EL1"),
	ID(5, 6, "ID_c5_6_EL1"),
	ID(5, 7, "ID_c5_7_EL1"),
	ID(6, 0, "ID_AA64ISAR0_EL1"),
	ID(6, 1, "ID_AA64ISAR1_EL1"),
	ID(6, 2, "ID_AA64ISAR2_EL1"),
	ID(6, 3, "ID_AA64ISAR3_EL1"),
	ID(6, 4, "ID_c6_4_EL1"),
	ID(6, 5, "ID_c6_5_EL1"),
	ID(6, 6, "ID_c6_6_EL1"),
	ID(6, 7, "ID_c6_7_EL1"),
	ID(7, 0, "ID_AA64MMFR0_EL1"),
	ID(7, 1, "ID_AA64MMFR1_EL1"),
	ID(7, 2, "ID_AA64MMFR2_EL1"),
	ID(7, 3, "ID_AA64MMFR3_EL1"),
	ID(7, 4, "ID_AA64MMFR4_EL1"),
	ID(7, 5, "ID_c7_5_EL1"),
	ID(7, 6, "ID_c7_6_EL1"),
	ID(7, 7, "ID_c7_7_EL1"),
	FIXED(1, 0, 7, SEEN, "AIDR_EL1", access_aidr),
};

const struct av_sysreg_table av_regs_id = { rows, ARRAY_SIZE(rows) };
