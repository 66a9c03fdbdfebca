// SPDX-License-Identifier: GPL-2.0
/*
 * Does the module support this machine? One row per obstacle, each with a remedy. The switcher
 * depends on how the host translates addresses and masks interrupts.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "lib/av_types.h"
#include "preconditions.h"
#include "switch/wide.h"

#define HOST_TCR_A1		BIT_ULL(22)
#define HOST_SCTLR_NMI	BIT_ULL(61)
#define HOST_MMFR0_TGRAN4	GENMASK_ULL(31, 28)

static bool page_size_wrong(void)
{
	return PAGE_SIZE != 4096;
}

static bool no_granule(void)
{
	return FIELD_GET(HOST_MMFR0_TGRAN4, read_sysreg(id_aa64mmfr0_el1)) == 15;
}

/* Shadow entries hold 48 bits of a physical address, whatever the host's hold. */
static bool address_space_wrong(void)
{
	struct av_host_tables host;

	return !av_host_tables_of(read_sysreg(tcr_el1), &host) ||
	       virt_to_phys(high_memory - 1) >> AV_PA_BITS;
}

/* The switcher needs the ASID in TTBR1, whose tables map the window. */
static bool asid_elsewhere(void)
{
	return !(read_sysreg(tcr_el1) & HOST_TCR_A1);
}

/* PREEMPT_RT's spinlocks sleep. The module takes some with interrupts off, just before an entry. */
static bool realtime(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT);
}

/* PSTATE.I does not mask a pseudo-NMI, which could arrive in the middle of a switch. */
static bool pseudo_nmi(void)
{
#ifdef CONFIG_ARM64_PSEUDO_NMI
	if (system_uses_irq_prio_masking())
		return true;
#endif
	return read_sysreg(sctlr_el1) & HOST_SCTLR_NMI;
}

static int is_sdei(struct device *dev, void *data)
{
	struct device_driver *driver = READ_ONCE(dev->driver);

	return driver && !strcmp(driver->name, "sdei");
}

/* SDEI events ignore PSTATE.DAIF and run on the kernel's tables. */
static bool firmware_events(void)
{
	return bus_for_each_dev(&platform_bus_type, NULL, NULL, is_sdei);
}

static const struct precondition {
	bool (*fails)(void);
	const char *sentence;
} preconditions[] = {
	{ page_size_wrong,
	  "this kernel has pages of another size than 4 KiB; boot one with 4 KiB pages (Debian: linux-image-arm64)" },
	{ no_granule,
	  "this CPU cannot translate in 4 KiB granules; there is no remedy on this machine" },
	{ address_space_wrong,
	  "this kernel's addresses have neither 39, 48 nor 52 bits, or memory is above 256 TiB; boot one built with ARM64_VA_BITS=48" },
	{ asid_elsewhere,
	  "this kernel keeps its ASIDs in TTBR0, which no kernel from 5.0 on does; boot a newer one" },
	{ realtime,
	  "this is a PREEMPT_RT kernel, whose spinlocks sleep; boot an ordinary one (Debian: linux-image-arm64)" },
	{ pseudo_nmi,
	  "this kernel uses non-maskable interrupts; boot without irqchip.gicv3_pseudo_nmi=1" },
	{ firmware_events,
	  "this machine's firmware delivers events that cannot be masked (SDEI); turn firmware-first error handling off in its set-up" },
};

int av_check_preconditions(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(preconditions); i++) {
		if (!preconditions[i].fails())
			continue;
		pr_err("armvisor: cannot run here: %s\n", preconditions[i].sentence);
		return -ENODEV;
	}
	return 0;
}
