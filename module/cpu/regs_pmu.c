// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU's registers as rows, for vCPUs with the feature (AV_ROW_PMU).
 * cpu/pmu.c implements them.
 */
#include "compat/kvm_level.h"
#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "stats/stats.h"

#define PMMIR_SLOTS	GENMASK_ULL(7, 0)

static bool access_pmu(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	return av_pmu_guest(vcpu, reg->enc, write, val);
}

static int get_pmu(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	*val = av_pmu_vmm_get(vcpu, reg->enc);
	return 0;
}

static int set_pmu(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	av_pmu_vmm_set(vcpu, reg->enc, val);
	return 0;
}

/*
 * The guest's PMU does not describe the CPU's slots and buses. Linux reads PMMIR_EL1 on every CPU
 * with FEAT_PMUv3p4.
 */
static bool access_pmmir(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val)
{
	*val = 0;
	/* UNDEFINED on other CPUs, under KVM too. */
	return av_pmu_host_version() >= AV_PMU_V3P4;
}

static int get_pmmir(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val)
{
	*val = 0;
	return 0;
}

/* As KVM since 7.3: SLOTS is zero and fixed by the first run, and all other bits are invalid. */
static int set_pmmir(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val)
{
	if (!val)
		return 0;
	return val & ~PMMIR_SLOTS || !READ_ONCE(vcpu->vm->has_run) ? -EINVAL : -EBUSY;
}

#define PMMIR_SEEN	(AV_ROW_READ | AV_ROW_VMM | AV_ROW_PMU)

/* PMUSERENR_EL0 decides for virtual EL0. */
#define PMU(sys, flags_, name_)							\
	{ .enc = sys, .flags = (flags_) | AV_ROW_PMU | AV_ROW_EL0, .cls = AV_EXIT_SYSREG, \
	  .vreg = AV_NR_VREGS, .name = name_, .access = access_pmu,		\
	  .get = get_pmu, .set = set_pmu }
#define PM(crm, op2, flags_, name_) \
	PMU(AV_SYS(3, 3, 9, crm, op2), flags_, name_)

#define NUMBERED(crm, n, name_) \
	PMU(AV_SYS(3, 3, 14, (crm) + (n) / 8, (n) % 8), AV_ROW_ALL, name_ #n "_EL0")
#define COUNTER(n)	NUMBERED(8, n, "PMEVCNTR")
#define TYPE(n)		NUMBERED(12, n, "PMEVTYPER")
#define SEVEN(X, a, b, c, d, e, f, g)	X(a), X(b), X(c), X(d), X(e), X(f), X(g)
#define THIRTY_ONE(X)								\
	SEVEN(X, 0, 1, 2, 3, 4, 5, 6),						\
	SEVEN(X, 7, 8, 9, 10, 11, 12, 13),					\
	SEVEN(X, 14, 15, 16, 17, 18, 19, 20),					\
	SEVEN(X, 21, 22, 23, 24, 25, 26, 27),					\
	X(28), X(29), X(30)

static const struct av_sysreg rows[] = {
	PMU(AV_SYS(3, 0, 9, 14, 1), AV_ROW_ALL, "PMINTENSET_EL1"),
	PMU(AV_SYS(3, 0, 9, 14, 2), AV_ROW_ALL, "PMINTENCLR_EL1"),
	{ .enc = AV_SYS(3, 0, 9, 14, 6), .flags = AV_KVM_PMMIR ? PMMIR_SEEN : AV_ROW_RW,
	  .cls = AV_EXIT_SYSREG, .vreg = AV_NR_VREGS, .name = "PMMIR_EL1",
	  .access = access_pmmir, .get = get_pmmir, .set = set_pmmir },
	PM(12, 0, AV_ROW_ALL, "PMCR_EL0"),
	PM(12, 1, AV_ROW_ALL, "PMCNTENSET_EL0"),
	PM(12, 2, AV_ROW_ALL, "PMCNTENCLR_EL0"),
	PM(12, 3, AV_ROW_ALL, "PMOVSCLR_EL0"),
	PM(12, 4, AV_ROW_WRITE | AV_ROW_VMM, "PMSWINC_EL0"),
	PM(12, 5, AV_ROW_ALL, "PMSELR_EL0"),
	PM(12, 6, AV_ROW_READ, "PMCEID0_EL0"),
	PM(12, 7, AV_ROW_READ, "PMCEID1_EL0"),
	PM(13, 0, AV_ROW_ALL, "PMCCNTR_EL0"),
	PM(13, 1, AV_ROW_RW, "PMXEVTYPER_EL0"),
	PM(13, 2, AV_ROW_RW, "PMXEVCNTR_EL0"),
	PM(14, 0, AV_ROW_ALL, "PMUSERENR_EL0"),
	PM(14, 3, AV_ROW_ALL, "PMOVSSET_EL0"),
	THIRTY_ONE(COUNTER),
	THIRTY_ONE(TYPE),
	PMU(AV_SYS(3, 3, 14, 15, 7), AV_ROW_ALL, "PMCCFILTR_EL0"),
};

const struct av_sysreg_table av_regs_pmu = { rows, ARRAY_SIZE(rows) };
