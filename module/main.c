// SPDX-License-Identifier: GPL-2.0
#include <linux/init.h>
#include <linux/module.h>

static int __init av_module_init(void)
{
	return 0;
}

static void __exit av_module_exit(void)
{
}

module_init(av_module_init);
module_exit(av_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Virtual machines on arm64 without EL2");
