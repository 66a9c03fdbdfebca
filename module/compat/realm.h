/* SPDX-License-Identifier: GPL-2.0 */
/* Is the host a Realm (Arm CCA)? Kernels before 6.13 cannot be one. */
#ifndef AV_COMPAT_REALM_H
#define AV_COMPAT_REALM_H

#include <linux/types.h>

#if AV_HAS_REALM_WORLD

#include <asm/rsi.h>

static inline bool av_is_realm(void)
{
	return is_realm_world();
}

#else

static inline bool av_is_realm(void)
{
	return false;
}

#endif

#endif /* AV_COMPAT_REALM_H */
