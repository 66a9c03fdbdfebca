// SPDX-License-Identifier: GPL-2.0
/* Hypercalls: rules in hyp.h. */
#include <linux/arm-smccc.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <asm/hypervisor.h>

#include "hyp.h"

/* Function numbers of the service; FEATURES has a bit at each. */
#define HYP_MEMINFO	2
#define MEM_SHARE	3
#define MEM_UNSHARE	4

#define CALL(number)	ARM_SMCCC_CALL_VAL(ARM_SMCCC_FAST_CALL, ARM_SMCCC_SMC_64,		\
					   ARM_SMCCC_OWNER_VENDOR_HYP, number)

/* The kernel has read UID and FEATURES at boot. */
bool av_hyp_present(const char **why)
{
	struct arm_smccc_res res;

	if (!kvm_arm_hyp_service_available(HYP_MEMINFO) ||
	    !kvm_arm_hyp_service_available(MEM_SHARE) ||
	    !kvm_arm_hyp_service_available(MEM_UNSHARE)) {
		*why = "offers no calls to share memory (HYP_MEMINFO, MEM_SHARE, MEM_UNSHARE)";
		return false;
	}
	arm_smccc_1_1_invoke(CALL(HYP_MEMINFO), 0, 0, 0, &res);
	if (res.a0 != PAGE_SIZE) {
		*why = "shares memory in units that are not this kernel's pages (HYP_MEMINFO)";
		return false;
	}
	return true;
}

static int call_for(u32 call, phys_addr_t page)
{
	struct arm_smccc_res res;

	arm_smccc_1_1_invoke(call, page, 0, 0, &res);
	return res.a0 == SMCCC_RET_SUCCESS ? 0 : -EPERM;
}

int av_hyp_share(phys_addr_t page)
{
	return call_for(CALL(MEM_SHARE), page);
}

int av_hyp_unshare(phys_addr_t page)
{
	return call_for(CALL(MEM_UNSHARE), page);
}
