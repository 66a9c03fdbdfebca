/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware calls with a known answer, which depends only on the arguments and the VMM's settings.
 * One of them completes in the window (cpu/fast.c), the others are light exits (cpu/light.c). Pure.
 */
#ifndef AV_CPU_CALLS_H
#define AV_CPU_CALLS_H

#include "vm/regfile.h"

/* SMCCC and PSCI function IDs. */
#define AV_CALL_SMCCC_VERSION	0x80000000U
#define AV_CALL_ARCH_FEATURES	0x80000001U
#define AV_CALL_PSCI_VERSION	0x84000000U
#define AV_CALL_MIGRATE_TYPE	0x84000006U
#define AV_CALL_PSCI_FEATURES	0x8400000aU
#define AV_CALL_TRNG_VERSION	0x84000050U
#define AV_CALL_TRNG_FEATURES	0x84000051U
#define AV_CALL_VENDOR_UID	0x8600ff01U
#define AV_CALL_VENDOR_FEATURES	0x86000000U
/* For protected VMs: pKVM's calls, and one of the module's own that KVM lacks. */
#define AV_CALL_HYP_MEMINFO	0xc6000002U
#define AV_CALL_MEM_SHARE	0xc6000003U
#define AV_CALL_MEM_UNSHARE	0xc6000004U
#define AV_CALL_MEASUREMENT	0xc600f000U

/* PSCI 0.2 and later, in 32-bit form. */
static inline bool av_call_is_psci(u32 fn)
{
	return (fn & ~31U) == AV_CALL_PSCI_VERSION;
}

/* A protected guest shares a page, or takes it back. */
static inline bool av_call_is_share(u32 fn)
{
	return fn == AV_CALL_MEM_SHARE || fn == AV_CALL_MEM_UNSHARE;
}

/*
 * Does the call only compute an answer, without locks, sleeping, other vCPUs or
 * an exit to the VMM?
 */
static inline bool av_call_is_light(u32 fn)
{
	if (likely(av_call_is_psci(fn)))
		return BIT(fn & 31) & (BIT(AV_CALL_PSCI_VERSION & 31) |
				       BIT(AV_CALL_MIGRATE_TYPE & 31) |
				       BIT(AV_CALL_PSCI_FEATURES & 31));
	switch (fn) {
	case AV_CALL_SMCCC_VERSION:
	case AV_CALL_ARCH_FEATURES:
	case AV_CALL_TRNG_VERSION:
	case AV_CALL_TRNG_FEATURES:
	case AV_CALL_VENDOR_UID:
	case AV_CALL_VENDOR_FEATURES:
	/* av_smccc_answer_light() declines these when there is more to do. */
	case AV_CALL_MEM_SHARE:
	case AV_CALL_MEM_UNSHARE:
		return true;
	default:
		return false;
	}
}

/* HVC with any immediate, which is ignored as under KVM. */
static __always_inline bool av_insn_is_hvc(u64 insn)
{
	return (insn & ~0x1fffe0ULL) == 0xd4000002;
}

/* Did the stay end with a light call from virtual EL1? */
static __always_inline bool av_exit_is_light(const struct av_srf *srf)
{
	return srf->exit == AV_EXCEPTION_SYNC && av_esr_ec(srf->esr) == AV_EC_UNKNOWN &&
	       av_insn_is_hvc(srf->insn) && av_srf_el1(srf) && srf->psci_version &&
	       av_call_is_light(srf->regs[0]);
}

#endif /* AV_CPU_CALLS_H */
