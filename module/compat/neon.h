/* SPDX-License-Identifier: GPL-2.0 */
/* FP/SIMD in the kernel: since 6.19 the caller provides the memory for the saved state. */
#ifndef AV_COMPAT_NEON_H
#define AV_COMPAT_NEON_H

#include <asm/neon.h>
#include <asm/ptrace.h>

#if AV_HAS_NEON_STATE
#define av_neon_begin(state)	kernel_neon_begin(state)
#define av_neon_end(state)	kernel_neon_end(state)
#else
#define av_neon_begin(state)	((void)(state), kernel_neon_begin())
#define av_neon_end(state)	((void)(state), kernel_neon_end())
#endif

#endif /* AV_COMPAT_NEON_H */
