/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's own linux/kvm.h needs outside of the kernel. */
#ifndef __user
#define __user
#endif
