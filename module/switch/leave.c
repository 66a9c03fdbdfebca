// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU work on entry and exit. It is determined when a CPU first enters a guest, so that
 * CPUs may differ and may come online later.
 */
#include <linux/cpu.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <asm/cputype.h>

#include "switch/image.h"
#include "switch/leave.h"

#define PFR0_DIT	GENMASK_ULL(51, 48)
#define PFR1_MTE	GENMASK_ULL(11, 8)
#define PFR1_GCS	GENMASK_ULL(47, 44)
#define MMFR1_TIDCP1	GENMASK_ULL(55, 52)
/* By encoding: older assemblers do not know the name. */
#define REG_ISAR2	sys_reg(3, 0, 0, 6, 2)

DEFINE_PER_CPU(struct av_leave, av_leave_of_cpu);
static bool meltdown_safe;

/* Does the firmware implement the call, and does this CPU need it? (1: implemented, not needed.) */
static bool firmware_needs(u32 call)
{
	struct arm_smccc_res res = { .a0 = (unsigned long)SMCCC_RET_NOT_SUPPORTED };

	if (arm_smccc_1_1_get_conduit() == SMCCC_CONDUIT_NONE)
		return false;
	arm_smccc_1_1_invoke(ARM_SMCCC_ARCH_FEATURES_FUNC_ID, call, &res);
	return (int)res.a0 == SMCCC_RET_SUCCESS;
}

void av_leave_find_out(struct av_leave *leave)
{
	struct av_cpu_facts cpu = {
		.midr = read_cpuid_id(),
		.pfr0 = read_sysreg(id_aa64pfr0_el1),
		.mmfr1 = read_sysreg(id_aa64mmfr1_el1),
		.isar2 = read_sysreg_s(REG_ISAR2),
		.workaround_1 = firmware_needs(ARM_SMCCC_ARCH_WORKAROUND_1),
		.workaround_3 = firmware_needs(ARM_SMCCC_ARCH_WORKAROUND_3),
	};

	leave->dit = FIELD_GET(PFR0_DIT, cpu.pfr0);
	leave->tco = FIELD_GET(PFR1_MTE, read_sysreg(id_aa64pfr1_el1));
	/* Sanitised: a kernel without GCS support leaves it off and may lack its registers. */
	leave->gcs = FIELD_GET(PFR1_GCS, read_sanitised_ftr_reg(SYS_ID_AA64PFR1_EL1));
	leave->tidcp = FIELD_GET(MMFR1_TIDCP1, cpu.mmfr1);
	leave->unpriv_tlbi = av_unpriv_load_leaks(cpu.midr);
	av_profilers_find(&leave->profilers);
	/* mitigations=off: the host's owner does not want them. */
	if (!cpu_mitigations_off())
		leave->mitigation = av_mitigation_for(&cpu);
	leave->plain = !leave->dit && !leave->tco && !leave->gcs && !leave->unpriv_tlbi &&
		       !leave->profilers.spe && !leave->profilers.trbe &&
		       leave->mitigation.firmware == AV_FIRMWARE_NONE;
	leave->light = !leave->unpriv_tlbi && leave->mitigation.firmware == AV_FIRMWARE_NONE;
	leave->image_sp = av_image_stack_of(smp_processor_id());
	leave->known = true;
}

static void look_here(void *unsafe)
{
	if (!av_meltdown_safe(read_cpuid_id(), read_sysreg(id_aa64pfr0_el1)))
		WRITE_ONCE(*(bool *)unsafe, true);
}

/* The kernel lets a later CPU come online only if it is no worse than those present. */
int av_leave_init(void)
{
	bool unsafe = false;

	on_each_cpu(look_here, &unsafe, true);
	meltdown_safe = !unsafe;
	return 0;
}

bool av_cpus_meltdown_safe(void)
{
	return meltdown_safe;
}
