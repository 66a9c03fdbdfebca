// SPDX-License-Identifier: GPL-2.0
/* GICv3, private interrupts of one CPU at a time, group 1, no security. */
#include "guest.h"

#define GICD_CTLR 0x0000
#define GICR_TYPER 0x0008
#define GICR_WAKER 0x0014
#define GICR_SGI 0x10000
#define GICR_IGROUPR0 (GICR_SGI + 0x0080)
#define GICR_ISENABLER0 (GICR_SGI + 0x0100)
#define GICR_IPRIORITYR (GICR_SGI + 0x0400)

#define CTLR_ENABLE (1U << 1 | 1U << 4)
#define CTLR_RWP (1U << 31)
#define WAKER_SLEEP (1U << 1)
#define WAKER_ASLEEP (1U << 2)
#define TYPER_LAST (1U << 4)
#define FRAME_SIZE 0x20000

static volatile u32 *reg32(u64 base, u64 offset)
{
	return (volatile u32 *)(base + offset);
}

/* The upper half of a frame's GICR_TYPER has the affinity of its CPU. */
u64 gic_redistributor(unsigned int cpu)
{
	u64 mpidr = machine.mpidr[cpu];
	u64 affinity = (mpidr & 0xffffff) | (mpidr >> 32 & 0xff) << 24;
	u64 base = machine.gic_redistributor.base;
	u64 end = base + machine.gic_redistributor.size;

	for (; base + FRAME_SIZE <= end; base += FRAME_SIZE) {
		if (*reg32(base, GICR_TYPER + 4) == affinity)
			return base;
		if (*reg32(base, GICR_TYPER) & TYPER_LAST)
			break;
	}
	return 0;
}

bool gic_init(unsigned int cpu)
{
	u64 base = gic_redistributor(cpu);

	if (!check(base, "CPU %u has no GICv3 redistributor in the device tree's range", cpu))
		return false;
	if (!cpu) {
		*reg32(machine.gic_distributor.base, GICD_CTLR) = CTLR_ENABLE;
		while (*reg32(machine.gic_distributor.base, GICD_CTLR) & CTLR_RWP)
			;
	}
	*reg32(base, GICR_WAKER) &= ~WAKER_SLEEP;
	while (*reg32(base, GICR_WAKER) & WAKER_ASLEEP)
		;
	write_sysreg(s3_0_c12_c12_5, read_sysreg(s3_0_c12_c12_5) | 1);	/* ICC_SRE */
	isb();
	write_sysreg(s3_0_c4_c6_0, 0xff);	/* ICC_PMR */
	write_sysreg(s3_0_c12_c12_3, 0);	/* ICC_BPR1 */
	write_sysreg(s3_0_c12_c12_7, 1);	/* ICC_IGRPEN1 */
	isb();
	return true;
}

void gic_enable(unsigned int cpu, u32 irq)
{
	u64 base = gic_redistributor(cpu);

	*(volatile u8 *)(base + GICR_IPRIORITYR + irq) = 0x80;
	*reg32(base, GICR_IGROUPR0) |= 1U << irq;
	*reg32(base, GICR_ISENABLER0) = 1U << irq;
	dsb();
}

u32 gic_acknowledge(void)
{
	u32 irq = (u32)read_sysreg(s3_0_c12_c12_0);	/* ICC_IAR1 */

	dsb();
	return irq;
}

void gic_end(u32 irq)
{
	write_sysreg(s3_0_c12_c12_1, irq);	/* ICC_EOIR1 */
	isb();
}
