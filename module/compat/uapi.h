/* SPDX-License-Identifier: GPL-2.0 */
/* Included first in each C file (Kbuild): what uapi/linux/kvm.h needs and old kernels lack. */
#ifndef AV_COMPAT_UAPI_H
#define AV_COMPAT_UAPI_H

#include <linux/stddef.h>

/* 5.16 */
#ifndef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(type, name)	\
	struct {				\
		struct { } __empty_ ## name;	\
		type name[];			\
	}
#endif

#endif /* AV_COMPAT_UAPI_H */
