/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a CPU clears its branch predictors on exit from the guest.
 *
 * The host does this in its vectors, for exceptions from EL0, and when it switches away from a
 * process that branched to kernel addresses. The guest takes neither path to the host. It runs at
 * EL0 and at kernel addresses, so every exit needs both. Nothing of the host is reachable until its
 * tables are back, so clearing on the way out of the window is early enough.
 *
 * A trap that ends in the window reaches nothing of the host, but an SVC takes the guest from its
 * user space to its kernel, which needs protection too. So the window executes CLRBHB there as
 * well. As under KVM, the guest's kernel has its own loop, which it chooses by MIDR_EL1. Only exits
 * call firmware for the guest (cpu/smccc.c), so on a CPU that needs firmware every SVC exits.
 *
 *  - branch history (CVE-2022-23960) is cleared by hardware; by CLRBHB, a hint that the switch
 *    always executes; by a loop of branches; or by firmware;
 *  - branch targets (CVE-2017-5715) are cleared by firmware, unless CSV2 says that targets
 *    learnt elsewhere are not used. If firmware cannot, the host is vulnerable to its own
 *    processes, and reports it; history is not cleared then, either.
 *
 * Two more properties of CPU models are looked up here, in lists of the same kind. The lists
 * are Linux's. Pure.
 */
#ifndef AV_SWITCH_MITIGATE_H
#define AV_SWITCH_MITIGATE_H

#include "lib/av_types.h"

struct av_cpu_facts {
	u32 midr;
	u64 pfr0, mmfr1, isar2;		/* ID_AA64*_EL1 of this CPU */
	bool workaround_1, workaround_3;	/* firmware says that this CPU needs it */
};

enum av_firmware_call { AV_FIRMWARE_NONE, AV_FIRMWARE_WORKAROUND_1, AV_FIRMWARE_WORKAROUND_3 };

struct av_mitigation {
	u16 loops;			/* iterations of the branch loop; 0: no loop */
	u8 firmware;			/* enum av_firmware_call */
};

struct av_mitigation av_mitigation_for(const struct av_cpu_facts *cpu);

/* Does the guest's kernel rely on an exit when its user space enters it? */
static inline bool av_mitigation_needs_exit(const struct av_mitigation *m)
{
	return m->firmware != AV_FIRMWARE_NONE;
}

/*
 * Errata 2966298 and 3117295 (Cortex-A520, A510): an unprivileged load may leak, by
 * speculation, memory that only EL1 may read. A TLBI before each return to EL0 prevents it. It
 * is an erratum workaround, so mitigations=off does not disable it.
 */
bool av_unpriv_load_leaks(u32 midr);

/*
 * Is EL0 unable to read EL1's memory by speculation (CVE-2017-5754)? Yes if CSV3 says so, or if
 * the model is on Linux's list of safe ones.
 */
bool av_meltdown_safe(u32 midr, u64 pfr0);

#endif /* AV_SWITCH_MITIGATE_H */
