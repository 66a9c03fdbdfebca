/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work on exit from the guest. An exit bypasses the host's vectors. So, besides saving registers,
 * this code repeats their work for an exception from EL0: clear predictors (mitigate.h), and give
 * PSTATE the kernel's values.
 *
 * An exception into the window sets PAN, UAO and SSBS as any exception does. It sets TCO and leaves
 * DIT at the guest's value: both are restored here.
 *
 * GCSCRE0_EL1 enables the VMM's own shadow stack, if the VMM asked for one: each call in the
 * guest would push to it. So the register is 0 while the guest runs, and GCS instructions of
 * the guest are UNDEFINED.
 */
#ifndef AV_SWITCH_LEAVE_H
#define AV_SWITCH_LEAVE_H

#include <linux/arm-smccc.h>
#include <linux/percpu.h>
#include <asm/sysreg.h>

#include "switch/mitigate.h"
#include "switch/private.h"
#include "switch/profile.h"

struct av_leave {
	bool known;			/* the fields below are valid */
	bool dit, tco, gcs, tidcp;	/* the CPU has these */
	bool unpriv_tlbi;		/* av_unpriv_load_leaks() */
	bool plain;			/* no PSTATE bit, profiler or firmware needs work */
	bool light;			/* light exits are possible (switch/switch.h) */
	u64 image_sp;			/* the CPU's stack for them: switch/image.h */
	struct av_profilers profilers;
	struct av_mitigation mitigation;
};

/* Module load: check each online CPU. */
int av_leave_init(void);

/* Is av_meltdown_safe() true for all CPUs? */
bool av_cpus_meltdown_safe(void);

DECLARE_PER_CPU(struct av_leave, av_leave_of_cpu);
/* Fill in *leave for the current CPU. Interrupts off. */
void av_leave_find_out(struct av_leave *leave);

/* This CPU's struct av_leave. Call with interrupts off. */
static inline const struct av_leave *av_leave_here(void)
{
	struct av_leave *leave = this_cpu_ptr(&av_leave_of_cpu);

	if (unlikely(!leave->known))
		av_leave_find_out(leave);
	return leave;
}

#define AV_REG_DIT	sys_reg(3, 3, 4, 2, 5)
#define AV_REG_TCO	sys_reg(3, 3, 4, 2, 7)
#define AV_REG_GCSCRE0	sys_reg(3, 0, 2, 5, 2)

/* Save the bits of this CPU's PSTATE that the guest may change, and turn the VMM's GCS off. */
static inline void av_host_pstate_save(const struct av_leave *leave, struct av_host_pstate *p)
{
	if (leave->dit)
		p->dit = read_sysreg_s(AV_REG_DIT);
	if (leave->tco)
		p->tco = read_sysreg_s(AV_REG_TCO);
	if (unlikely(leave->gcs)) {
		p->gcscre0 = read_sysreg_s(AV_REG_GCSCRE0);
		write_sysreg_s(0, AV_REG_GCSCRE0);
	}
}

/* For host code at a light exit. The exception return gives the guest its own values back. */
static inline void av_host_pstate_light(const struct av_leave *leave,
					const struct av_host_pstate *p)
{
	if (leave->dit)
		write_sysreg_s(p->dit, AV_REG_DIT);
	if (leave->tco)
		write_sysreg_s(p->tco, AV_REG_TCO);
}

static inline void av_host_pstate_restore(const struct av_leave *leave,
					  const struct av_host_pstate *p)
{
	av_host_pstate_light(leave, p);
	if (unlikely(leave->gcs))
		write_sysreg_s(p->gcscre0, AV_REG_GCSCRE0);
}

/* Call the firmware mitigation that this CPU needs, if any. Interrupts off. */
static inline void av_leave_firmware(const struct av_leave *leave)
{
	switch (leave->mitigation.firmware) {
	case AV_FIRMWARE_WORKAROUND_1:
		arm_smccc_1_1_invoke(ARM_SMCCC_ARCH_WORKAROUND_1, NULL);
		break;
	case AV_FIRMWARE_WORKAROUND_3:
		arm_smccc_1_1_invoke(ARM_SMCCC_ARCH_WORKAROUND_3, NULL);
		break;
	}
}

#endif /* AV_SWITCH_LEAVE_H */
