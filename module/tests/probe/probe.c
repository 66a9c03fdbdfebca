// SPDX-License-Identifier: GPL-2.0
/*
 * A probe, a BRK, in a function that light exits run: tests/test_module_image.py. A module's,
 * because tracefs has none for functions without ftrace's sites, as older compilers make them.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static unsigned long hits;
module_param(hits, ulong, 0444);
MODULE_PARM_DESC(hits, "how often the function was called");

static int hit(struct kprobe *probe, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "av_mmu_fault_light",
	.pre_handler = hit,
};

static int __init probe_init(void)
{
	return register_kprobe(&probe);
}

static void __exit probe_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(probe_init);
module_exit(probe_exit);

MODULE_DESCRIPTION("A probe in light exits");
MODULE_LICENSE("GPL");
