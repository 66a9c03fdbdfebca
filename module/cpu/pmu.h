/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's PMU (PMUv3): registers, counters and their events.
 *
 * The host counts: cpu/pmu_events.c has a perf event for each running counter.
 * A counter's value is its value when the event was created (value[]) plus the
 * event's count since (ops->counted()). SW_INCR and CHAIN have no event and are
 * counted here.
 *
 * Pure. The host's PMU interrupt calls av_pmu_overflowed(), so the vCPU's thread calls the others
 * with interrupts off.
 */
#ifndef AV_CPU_PMU_H
#define AV_CPU_PMU_H

#include "lib/av_types.h"

#define AV_PMU_CYCLES		31	/* the cycle counter's bit and array index */
#define AV_PMU_COUNTERS		32
#define AV_PMU_EVENTS		65536	/* bits of a filter */

/* PMUVer of ID_AA64DFR0_EL1 */
#define AV_PMU_V3		1
#define AV_PMU_V3P4		5	/* PMMIR_EL1 */
#define AV_PMU_V3P5		6	/* 64-bit event counters */

#define AV_PMCR_E		BIT_ULL(0)
#define AV_PMCR_P		BIT_ULL(1)
#define AV_PMCR_C		BIT_ULL(2)
#define AV_PMCR_LC		BIT_ULL(6)
#define AV_PMCR_LP		BIT_ULL(7)
#define AV_PMCR_WRITABLE	GENMASK_ULL(7, 0)
#define AV_PMCR_N		GENMASK_ULL(15, 11)

#define AV_PMUSERENR_EN		BIT_ULL(0)
#define AV_PMUSERENR_SW		BIT_ULL(1)
#define AV_PMUSERENR_CR		BIT_ULL(2)
#define AV_PMUSERENR_ER		BIT_ULL(3)
#define AV_PMUSERENR_ALL	GENMASK_ULL(3, 0)

/* PMEVTYPER<n>_EL0 and PMCCFILTR_EL0 */
#define AV_PMTYPE_P		BIT_ULL(31)	/* do not count at EL1 */
#define AV_PMTYPE_U		BIT_ULL(30)	/* do not count at EL0 */
#define AV_PMTYPE_NSK		BIT_ULL(29)	/* invert P and U, in a CPU with EL3 */
#define AV_PMTYPE_NSU		BIT_ULL(28)

#define AV_PMEVENT_SW_INCR	0x00
#define AV_PMEVENT_CPU_CYCLES	0x11
#define AV_PMEVENT_CHAIN	0x1e

/* The model of PMU that the VM's vCPUs have. */
struct av_pmu_model {
	u8 counters;		/* event counters: PMCR_EL0.N */
	u8 version;		/* PMUVer */
	u64 ceid[2];		/* PMCEID<n>_EL0 of the host */
	const u64 *filter;	/* one bit per event that may be counted; NULL: all */
};

struct av_pmu;

struct av_pmu_ops {
	/* Returns the count of a counter's event so far. */
	u64 (*counted)(struct av_pmu *pmu, unsigned int n);
};

struct av_pmu {
	const struct av_pmu_ops *ops;
	u64 pmcr;		/* without N */
	u64 pmselr, pmuserenr;
	u64 enabled;		/* PMCNTENSET_EL0 */
	u64 interrupt;		/* PMINTENSET_EL1 */
	u64 overflow;		/* PMOVSSET_EL0 */
	u64 value[AV_PMU_COUNTERS];
	u64 type[AV_PMU_COUNTERS];
	/* Counters whose value or event changed: their perf events must be recreated. */
	u32 anew;
};

/* The perf event that a counter needs. */
struct av_pmu_plan {
	bool counts;		/* the counter is on, and the host counts its event */
	bool el0, el1;		/* in these modes */
	bool wide;		/* 64 bits */
	u16 event;
};

void av_pmu_reset(struct av_pmu *pmu);

/*
 * An access by the guest. @enc is a PMU register that may be accessed in this
 * direction. Returns false if UNDEFINED.
 */
bool av_pmu_access(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc, bool el1,
		   bool write, u64 *val);

/* The VMM's accesses. The caller handles PMCR_EL0.N, which belongs to the VM. */
#define AV_PMU_PMCR		AV_SYS(3, 3, 9, 12, 0)

u64 av_pmu_get(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc);
void av_pmu_set(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc, u64 val);

/* Before a vCPU's first run: apply the VMM's writes. */
void av_pmu_reload(struct av_pmu *pmu, const struct av_pmu_model *model);

struct av_pmu_plan av_pmu_plan(const struct av_pmu *pmu, const struct av_pmu_model *model,
			       unsigned int n);

/* Returns the number of events after which a counter with this value overflows. */
u64 av_pmu_period(const struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n,
		  u64 value);

/* A counter's event has reached its period. */
void av_pmu_overflowed(struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n);

/* The level of the interrupt line. */
static inline bool av_pmu_line(const struct av_pmu *pmu)
{
	return pmu->pmcr & AV_PMCR_E && pmu->overflow & pmu->interrupt;
}

/* The number of events in this PMU version, a power of 2; 0 without a PMU. */
u32 av_pmu_events(unsigned int version);

/*
 * KVM_ARM_VCPU_PMU_V3_FILTER: allow or deny events. base and nr must be in
 * range. The first range sets all other events to the opposite.
 */
void av_pmu_filter(u64 *filter, bool first, u32 base, u32 nr, bool allow);

#endif /* AV_CPU_PMU_H */
