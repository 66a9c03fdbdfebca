// SPDX-License-Identifier: GPL-2.0
/*
 * All of the module on a kernel whose pages have another size than 4 KiB (see Kbuild): it says why
 * it does not load. The rest is written for 4 KiB, and does not compile there.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>

#include "preconditions.h"

static int __init av_module_init(void)
{
	return av_check_preconditions() ? : -ENODEV;
}

module_init(av_module_init);

MODULE_DESCRIPTION("Virtual machines on arm64 without EL2");
MODULE_LICENSE("GPL");
MODULE_VERSION(AV_VERSION);
