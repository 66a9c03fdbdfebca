// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a device register that user space emulates, read and write, and of one that the
 * kernel emulates: the distributor's GICD_IIDR.
 */
#include "cost.h"

#define LOOPS 500
#define RTC_DATA 0x000
#define RTC_MATCH 0x004
#define RTC_PERIPHERAL_ID 0xfe0
#define PL031_PART 0x31
#define GICD_IIDR 0x008

static volatile u32 *rtc(u64 offset)
{
	return (volatile u32 *)(machine.rtc.base + offset);
}

static void read_rtc(void)
{
	(void)*rtc(RTC_DATA);
}

static void write_rtc(void)
{
	*rtc(RTC_MATCH) = 0;
}

static void read_iidr(void)
{
	(void)*(volatile u32 *)(machine.gic_distributor.base + GICD_IIDR);
}

void guest_main(void)
{
	u64 loops = machine_option(&machine, "loops", LOOPS);

	mmu_enable();
	if (!check(machine.rtc.base, "the device tree names no PL031"))
		return;
	check(*rtc(RTC_PERIPHERAL_ID) == PL031_PART, "%lx is no PL031: its ID reads %x",
	      machine.rtc.base, *rtc(RTC_PERIPHERAL_ID));
	result("mmio.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("mmio.loops", loops, "count");
	result_milli("mmio.read", cost_of(read_rtc, loops), "ticks");
	result_milli("mmio.write", cost_of(write_rtc, loops), "ticks");
	if (check(machine.gic_distributor.base, "the device tree names no GICv3"))
		result_milli("mmio.kernel", cost_of(read_iidr, loops), "ticks");
}
