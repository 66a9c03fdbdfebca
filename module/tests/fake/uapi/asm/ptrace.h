/* SPDX-License-Identifier: GPL-2.0 */
/* arm64's registers, for asm/kvm.h on any machine. */
#ifndef AV_FAKE_UAPI_PTRACE_H
#define AV_FAKE_UAPI_PTRACE_H

#include <linux/types.h>

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct user_fpsimd_state {
	__uint128_t vregs[32];
	__u32 fpsr;
	__u32 fpcr;
	__u32 __reserved[2];
};

#endif /* AV_FAKE_UAPI_PTRACE_H */
