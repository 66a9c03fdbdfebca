// SPDX-License-Identifier: GPL-2.0
/*
 * ID registers of the guest: the identity of its CPU, and its features (cpu/idregs.c).
 *
 * MIDR_EL1, REVIDR_EL1 and AIDR_EL1 are those of the CPU that the guest is on, as under KVM, and
 * the VMM sees those of the host's first CPU. With KVM_CAP_ARM_WRITABLE_IMP_ID_REGS, a VMM sets the
 * values of all vCPUs of the VM, on any CPU.
 */
#include <linux/smp.h>
#include <asm/cpu.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>

#include "compat/kvm_level.h"
#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "irq/vgic.h"
#include "mmu/walk/walk.h"
#include "stats/stats.h"
#include "switch/leave.h"

#define MPIDR_RES1		BIT_ULL(31)

/* The values of the host's first CPU. */
static u64 host_imp_ids[AV_NR_IMP_IDS];

static u64 imp_id_here(enum av_imp_id n)
{
	switch (n) {
	case AV_IMP_MIDR:
		return read_cpuid_id();
	case AV_IMP_REVIDR:
		return read_sysreg(revidr_el1);
	default:
		return read_sysreg(aidr_el1);
	}
}

static void read_imp_ids(void *unused)
{
	unsigned int n;

	for (n = 0; n < AV_NR_IMP_IDS; n++)
		host_imp_ids[n] = imp_id_here(n);
}

static void read_if_first(void *unused)
{
	if (!smp_processor_id())
		read_imp_ids(NULL);
}

int av_imp_ids_init(void)
{
	/* The first CPU may be off. */
	read_imp_ids(NULL);
	on_each_cpu(read_if_first, NULL, true);
	return 0;
}

static enum av_imp_id imp_id_of(const struct av_sysreg *reg)
{
	if (FIELD_GET(AV_SYS_OP1, reg->enc))
		return AV_IMP_AIDR;
	return FIELD_GET(AV_SYS_OP2, reg->enc) ? AV_IMP_REVIDR : AV_IMP_MIDR;
}

static bool access_imp_id(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	const struct av_vm *vm = vcpu->vm;
	enum av_imp_id n = imp_id_of(reg);

	*val = vm->cpu->imp_ids_set ? READ_ONCE(vm->cpu->imp_ids[n]) : imp_id_here(n);
	return true;
}

static int get_imp_id(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	*val = READ_ONCE(vcpu->vm->cpu->imp_ids[imp_id_of(reg)]);
	return 0;
}

/* Bits that the VMM may set. */
static u64 imp_id_mask(enum av_imp_id n)
{
	if (!AV_KVM_IMP_IDS)
		return 0;
	return n == AV_IMP_MIDR ? GENMASK_ULL(31, 0) : ~0ULL;
}

static int set_imp_id(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	enum av_imp_id n = imp_id_of(reg);
	struct av_vm *vm = vcpu->vm;
	int ret = 0;

	mutex_lock(&vm->config_lock);
	if (val == vm->cpu->imp_ids[n])
		ret = 0;
	else if (!vm->cpu->imp_ids_set)
		ret = -EINVAL;
	else if (vm->has_run)
		ret = -EBUSY;
	else if (val & ~imp_id_mask(n))
		ret = -EINVAL;
	else
		WRITE_ONCE(vm->cpu->imp_ids[n], val);
	mutex_unlock(&vm->config_lock);
	return ret;
}

static bool access_mpidr(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = READ_ONCE(vcpu->cpu->mpidr);
	return true;
}

static unsigned int idreg_of(const struct av_sysreg *reg)
{
	return AV_IDREG(FIELD_GET(AV_SYS_CRM, reg->enc), FIELD_GET(AV_SYS_OP2, reg->enc));
}

static u64 with_gic(u64 pfr0)
{
	return (pfr0 & ~AV_ID_PFR0_GIC) | FIELD_PREP(AV_ID_PFR0_GIC, 1);
}

static u64 idreg_value(struct av_vcpu *vcpu, unsigned int n)
{
	u64 val = READ_ONCE(vcpu->vm->cpu->idregs[n]);

	if (n == AV_ID_PFR0 && !av_irq_has_icc(vcpu->vm))
		val &= ~AV_ID_PFR0_GIC;
	/* The first run undoes the VMM's write there. */
	else if (n == AV_ID_PFR0 && AV_KVM_ID_FIELDS && READ_ONCE(vcpu->vm->has_run))
		val = with_gic(val);
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
	if (AV_KVM_ID_FIELDS && av_idreg_lacks_aarch64(n, val))
		return -EINVAL;
	mutex_lock(&vm->config_lock);
	if (val == idreg_value(vcpu, n))
		ret = 0;
	else if (vm->has_run)
		ret = -EBUSY;
	else if (!av_idreg_may_be(n, limit, val, AV_KVM_ID_FIELDS))
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

/* Indices in the feature ID space. */
enum {
	PLACE_MIDR = 0, PLACE_REVIDR = 6,
	PLACE_IDREGS = 8,		/* CRm 1 with op1 0 */
	PLACE_CLIDR = 64 + 1, PLACE_AIDR = 64 + 7,
	PLACE_CTR = 128 + 1,
};

u64 av_id_mask(unsigned int n)
{
	if (n >= PLACE_IDREGS && n < PLACE_IDREGS + AV_NR_IDREGS)
		return av_idreg_writable(n - PLACE_IDREGS, AV_KVM_ID_FIELDS);
	switch (n) {
	case PLACE_MIDR:
		return imp_id_mask(AV_IMP_MIDR);
	case PLACE_REVIDR:
		return imp_id_mask(AV_IMP_REVIDR);
	case PLACE_AIDR:
		return imp_id_mask(AV_IMP_AIDR);
	case PLACE_CLIDR:
		return ~AV_CLIDR_RES0;
	case PLACE_CTR:
		return av_ctr_writable(AV_KVM_ID_FIELDS);
	default:
		return 0;
	}
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
	memcpy(vm->cpu->imp_ids, host_imp_ids, sizeof(host_imp_ids));
}

/* KVM_CAP_ARM_WRITABLE_IMP_ID_REGS: before the first vCPU. */
int av_cpu_enable_imp_ids(struct av_vm *vm)
{
	int ret = -EINVAL;

	if (!AV_KVM_IMP_IDS)
		return -EINVAL;
	mutex_lock(&vm->lock);
	if (!vm->nr_vcpus) {
		vm->cpu->imp_ids_set = true;
		ret = 0;
	}
	mutex_unlock(&vm->lock);
	return ret;
}

void av_cpu_vgic_created(struct av_vm *vm)
{
	if (!AV_KVM_ID_FIELDS)
		return;
	mutex_lock(&vm->config_lock);
	WRITE_ONCE(vm->cpu->idregs[AV_ID_PFR0], with_gic(vm->cpu->idregs[AV_ID_PFR0]));
	mutex_unlock(&vm->config_lock);
}

void av_idregs_set_pmu(struct av_vm *vm)
{
	set_idreg(vm, AV_ID_DFR0, idreg_limit(vm, AV_ID_DFR0));
}

void av_mpidr_init(struct av_vcpu *vcpu)
{
	set_mpidr(vcpu, NULL, MPIDR_RES1 | av_vgic_affinity(vcpu->id));
}

#define SEEN	(AV_ROW_READ | AV_ROW_VMM)
#define IMP_ID(enc_, flags_, cls_, name_)						\
	{ .enc = enc_, .flags = flags_, .cls = cls_, .vreg = AV_NR_VREGS, .name = name_,	\
	  .access = access_imp_id, .get = get_imp_id, .set = set_imp_id }
#define ID(crm, op2, name_)								\
	{ .enc = AV_SYS(3, 0, 0, crm, op2), .flags = SEEN, .cls = AV_EXIT_ID_REG,		\
	  .vreg = AV_NR_VREGS, .name = name_, .access = access_id, .get = get_fixed,	\
	  .set = set_id }

static const struct av_sysreg rows[] = {
	IMP_ID(AV_FAST_SYS_MIDR_EL1, AV_FAST_FLAGS_MIDR_EL1, AV_FAST_CLS_MIDR_EL1, "MIDR_EL1"),
	{ .enc = AV_SYS(3, 0, 0, 0, 5), .flags = SEEN, .cls = AV_EXIT_ID_REG,
	  .vreg = AV_NR_VREGS, .name = "MPIDR_EL1", .access = access_mpidr,
	  .get = get_fixed, .set = set_mpidr },
	IMP_ID(AV_SYS(3, 0, 0, 0, 6), SEEN, AV_EXIT_ID_REG, "REVIDR_EL1"),
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
	IMP_ID(AV_SYS(3, 1, 0, 0, 7), SEEN, AV_EXIT_ID_REG, "AIDR_EL1"),
};

const struct av_sysreg_table av_regs_id = { rows, ARRAY_SIZE(rows) };
