/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Predictors of a CPU: how they are made to forget, on the way out, what they
 * may have learnt from the guest.
 *
 * The host does this in its own vectors, for exceptions from EL0, and when it
 * switches away from a process that jumped to kernel addresses; the guest
 * enters the host neither way. The guest runs at EL0 and at kernel addresses,
 * so every exit counts as both. Nothing of the host is reachable until its
 * tables are back, so this is done on leaving the window.
 *
 * Traps that end in the window reach nothing of the host, but SVC there takes
 * the guest from its user space to its kernel, which must be kept apart as well.
 * CLRBHB is executed there too. The loop is the guest's own, by the MIDR_EL1
 * that it reads, as under KVM. Firmware is called for the guest at exits only
 * (cpu/smccc.c), so where firmware is needed SVC always leaves.
 *
 *  - branch history (CVE-2022-23960): by hardware; by CLRBHB, a hint that the
 *    switcher always executes; by a loop of branches; or by firmware;
 *  - branch targets (CVE-2017-5715), unless CSV2 says that targets learnt
 *    elsewhere are not used: by firmware. Where firmware cannot, the host is
 *    open to its own processes, and says so; then history is not cleared either.
 *
 * Two more facts of a CPU model are looked up here, in lists of the same kind.
 * The lists are those of Linux. Pure.
 */
#ifndef AV_SWITCH_MITIGATE_H
#define AV_SWITCH_MITIGATE_H

#include "lib/av_types.h"

struct av_cpu_facts {
	u32 midr;
	u64 pfr0, mmfr1, isar2;		/* ID_AA64*_EL1 of this CPU */
	bool workaround_1, workaround_3;	/* the firmware says that this CPU needs it */
};

enum av_firmware_call { AV_FIRMWARE_NONE, AV_FIRMWARE_WORKAROUND_1, AV_FIRMWARE_WORKAROUND_3 };

struct av_mitigation {
	u16 loops;			/* of the branch loop; 0: none */
	u8 firmware;			/* enum av_firmware_call */
};

struct av_mitigation av_mitigation_for(const struct av_cpu_facts *cpu);

/* Does the guest's kernel need an exit between its user space and itself? */
static inline bool av_mitigation_needs_exit(const struct av_mitigation *m)
{
	return m->firmware != AV_FIRMWARE_NONE;
}

/*
 * Errata 2966298 and 3117295 (Cortex-A520, A510): an unprivileged load by
 * speculation may leak memory that only EL1 may read. A TLBI before each return
 * to EL0 prevents that. As a workaround of an erratum the TLBI stays with
 * mitigations=off.
 */
bool av_unpriv_load_leaks(u32 midr);

/*
 * Is EL0 kept from reading EL1's memory by speculation (CVE-2017-5754)? Yes if
 * CSV3 says so, or if the model is on Linux's list of safe ones.
 */
bool av_meltdown_safe(u32 midr, u64 pfr0);

#endif /* AV_SWITCH_MITIGATE_H */
