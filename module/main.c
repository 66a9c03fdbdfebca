// SPDX-License-Identifier: GPL-2.0
#include <linux/init.h>
#include <linux/module.h>

#include "switch/switch.h"

static int __init av_module_init(void)
{
	int ret = av_window_init();

	if (ret)
		return ret;
	ret = av_switch_selftest();
	if (ret)
		av_window_exit();
	return ret;
}

static void __exit av_module_exit(void)
{
	av_window_exit();
}

module_init(av_module_init);
module_exit(av_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Virtual machines on arm64 without EL2");
