// SPDX-License-Identifier: GPL-2.0
/*
 * Module load and unload.
 *
 * All preconditions are checked before anything is created. A failure is one sentence that says
 * what is missing and what to do. The device node is created last, because VMs can be created as
 * soon as it exists. An open file pins the module, so none is open at unload.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "api/api.h"
#include "cpu/cpu.h"
#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "mmu/mmu.h"
#include "preconditions.h"
#include "stats/stats.h"
#include "switch/image.h"
#include "switch/leave.h"
#include "switch/switch.h"
#include "switch/tlb.h"

struct step {
	int (*init)(void);
	void (*exit)(void);
};

/* If the host started at EL2 and has its own KVM, KVM's minor number is taken. */
static int api_init(void)
{
	int ret = av_api_init(false);

	return ret == -EBUSY ? av_api_init(true) : ret;
}

/* Run in this order, undone in reverse. */
static const struct step steps[] = {
	{ av_check_preconditions, NULL },
	{ av_leave_init, NULL },
	{ av_sysreg_init, NULL },
	{ av_imp_ids_init, NULL },
	{ av_asid_init, NULL },
	{ av_window_init, av_window_exit },
	{ av_image_init, av_image_exit },
	{ av_cpu_selftest, NULL },
	{ av_pmu_host_init, NULL },
	{ av_mmu_init, av_mmu_exit },
	{ av_irq_init, av_irq_exit },
	{ api_init, av_api_exit },
};

static void undo(unsigned int done)
{
	while (done--)
		if (steps[done].exit)
			steps[done].exit();
}

static int __init av_module_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ret = steps[i].init();
		if (ret) {
			undo(i);
			return ret;
		}
	}
	pr_info("armvisor: /dev/%s is ready\n", av_api_node());
	return 0;
}

static void __exit av_module_exit(void)
{
	undo(ARRAY_SIZE(steps));
	av_stats_exit_module();
}

module_init(av_module_init);
module_exit(av_module_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(AV_VERSION);
MODULE_DESCRIPTION("Virtual machines on arm64 without EL2");
