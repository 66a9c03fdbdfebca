/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a CPU's predictors may have learnt from the guest, and how they are
 * made to forget it on the way out.
 *
 * The host does this in its own vectors, for what comes from EL0, and when a
 * process that jumped to kernel addresses is left; the guest enters neither
 * way. It runs at EL0 and at kernel addresses, so every exit counts as both.
 * Until the host's tables are back there is nothing of the host's to reach, so
 * it is done on leaving the window.
 *
 * What ends in the window reaches nothing of the host's, but SVC there takes the
 * guest from its user space to its kernel, which are to be kept apart as well:
 * CLRBHB is executed there too; the loop is the guest's own, by the MIDR_EL1
 * that it reads, as under KVM; firmware's part is done for it at exits only
 * (cpu/smccc.c), so that where there is one SVC always leaves.
 *
 *  - branch history (CVE-2022-23960): by hardware; by CLRBHB, a hint that the
 *    switcher always executes; by a loop of branches; or by firmware;
 *  - branch targets (CVE-2017-5715), where CSV2 does not say that those learnt
 *    elsewhere are not used: by firmware. Where that cannot do it the host is
 *    open to its own processes, and says so; then history is not cleared either.
 *
 * Two more facts of a model are looked up here, as they are lists of the same
 * kind. The lists are those of Linux. Pure.
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
 * speculation may leak what only EL1 may read. A TLBI before each return to
 * EL0 keeps it from that; it is an erratum's, so mitigations=off keeps it.
 */
bool av_unpriv_load_leaks(u32 midr);

/*
 * Is EL0 kept from reading by speculation what only EL1 may (CVE-2017-5754)?
 * CSV3 says so, or the model is one that Linux knows not to do it.
 */
bool av_meltdown_safe(u32 midr, u64 pfr0);

#endif /* AV_SWITCH_MITIGATE_H */
