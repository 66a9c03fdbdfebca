// SPDX-License-Identifier: GPL-2.0
/* The host's PMUs, found at module load. Nothing changes them afterwards: any context may look. */
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "compat/pmu.h"
#include "cpu/pmu_host.h"

#define DFR0_PMUVER	GENMASK_ULL(11, 8)
#define PMUVER_IMP_DEF	15

/* big.LITTLE machines have one per kind of CPU. */
#define MAX_PMUS	8

/* Written at module load only. */
static struct {
	unsigned int version, nr;
	u64 ceid[2];
	struct av_host_pmu pmu[MAX_PMUS];
} host;

static struct av_host_pmu *pmu_of_cpu(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < host.nr; i++)
		if (cpumask_test_cpu(cpu, &host.pmu[i].cpus))
			return &host.pmu[i];
	return NULL;
}

const struct av_host_pmu *av_host_pmu_of_type(u32 type)
{
	unsigned int i;

	for (i = 0; i < host.nr; i++)
		if (host.pmu[i].type == type)
			return &host.pmu[i];
	return NULL;
}

/* Find a CPU's PMU by creating an event on that CPU. */
static void find_pmu(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = AV_PMEVENT_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event *event;
	struct av_host_pmu *pmu;

	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return;
	pmu = &host.pmu[host.nr];
	pmu->type = event->pmu->type;
	host.nr += av_pmu_of_event(event, &pmu->counters, &pmu->cpus);
	perf_event_release_kernel(event);
}

int av_pmu_host_init(void)
{
	u64 version = FIELD_GET(DFR0_PMUVER, read_sanitised_ftr_reg(SYS_ID_AA64DFR0_EL1));
	unsigned int cpu;

	if (!version || version == PMUVER_IMP_DEF)
		return 0;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (cpu_online(cpu) && !pmu_of_cpu(cpu) && host.nr < MAX_PMUS)
			find_pmu(cpu);
	if (!host.nr)
		return 0;
	host.version = min_t(u64, version, AV_PMU_V3P5);
	host.ceid[0] = read_sysreg(pmceid0_el0);
	host.ceid[1] = read_sysreg(pmceid1_el0);
	return 0;
}

bool av_pmu_host_has(void)
{
	return host.nr;
}

unsigned int av_pmu_host_version(void)
{
	return host.version;
}

const struct av_host_pmu *av_host_pmu_here(void)
{
	return pmu_of_cpu(raw_smp_processor_id()) ?: &host.pmu[0];
}

const u64 *av_host_pmu_ceid(void)
{
	return host.ceid;
}
