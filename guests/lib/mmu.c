// SPDX-License-Identifier: GPL-2.0
/*
 * An identity map of RAM and devices under TTBR0: 39-bit addresses, 4 KiB
 * granule, 1 GiB blocks where RAM fills them and 2 MiB blocks elsewhere.
 * TTBR1 walks are off; programs that want the upper half turn them on.
 */
#include "guest.h"
#include "mmu.h"

#define GIB_SHIFT 30
#define MIB2_SHIFT 21
#define POOL_TABLES 16
#define DEVICE_BLOCK (PTE_BLOCK | PTE_AF | PTE_DEVICE | PTE_UXN | PTE_PXN)

static u64 root[512] __attribute__((aligned(4096)));
static u64 pool[POOL_TABLES][512] __attribute__((aligned(4096)));
static unsigned int pool_used;

static u64 *table_below(u64 address)
{
	u64 *entry = &root[address >> GIB_SHIFT];

	if (!*entry) {
		if (pool_used == POOL_TABLES) {
			check(false, "no page table left to map %lx: raise POOL_TABLES", address);
			power_off();
		}
		*entry = (u64)pool[pool_used++] | PTE_TABLE;
	}
	return (u64 *)(*entry & PTE_ADDRESS);
}

static void map(const struct region *region, u64 attributes)
{
	u64 end = region->base + region->size;
	u64 at = region->base & ~((1UL << MIB2_SHIFT) - 1);

	while (at < end && at >> GIB_SHIFT < ARRAY_SIZE(root)) {
		if (!(at & ((1UL << GIB_SHIFT) - 1)) && end - at >= 1UL << GIB_SHIFT) {
			root[at >> GIB_SHIFT] = at | attributes;
			at += 1UL << GIB_SHIFT;
		} else {
			table_below(at)[at >> MIB2_SHIFT & 511] = at | attributes;
			at += 1UL << MIB2_SHIFT;
		}
	}
}

/* Data written with the caches off must not be hidden by their contents. */
static void clean_image(void)
{
	u64 line = 4UL << (read_sysreg(ctr_el0) >> 16 & 15);
	u64 at;

	for (at = (u64)image_start & ~(line - 1); at < (u64)image_end; at += line)
		asm volatile("dc civac, %0" : : "r" (at) : "memory");
	dsb();
}

void mmu_init(void)
{
	const struct region *devices[] = {
		&machine.serial, &machine.rtc, &machine.gic_distributor,
		&machine.gic_redistributor, &machine.gic_its,
	};
	unsigned int i;

	for (i = 0; i < machine.ram_count; i++)
		map(&machine.ram[i], PTE_BLOCK | PTE_AF | PTE_INNER | PTE_NORMAL);
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		if (devices[i]->size)
			map(devices[i], DEVICE_BLOCK);
	for (i = 0; i < machine.virtio_count; i++)
		map(&machine.virtio[i], DEVICE_BLOCK);
}

void mmu_enable(void)
{
	mmu_init();
	clean_image();
	write_sysreg(mair_el1, MAIR_VALUE);
	write_sysreg(tcr_el1, TCR_VALUE | TCR_EPD1 | mmu_tcr_ips());
	write_sysreg(ttbr0_el1, (u64)root);
	isb();
	asm volatile("tlbi vmalle1\n\tdsb nsh\n\tic iallu\n\tdsb nsh\n\tisb" : : : "memory");
	write_sysreg(sctlr_el1, SCTLR_MMU_ON);
	isb();
}
