// SPDX-License-Identifier: GPL-2.0
/*
 * The upper half: 39 bits, the image at KERNEL_BASE by pages, and the mappings that programs add.
 */
#include "kernel.h"

#define PAGE 4096UL
#define POOL_LEAVES 6
#define MIB2 (2UL << 20)
#define KIB64 (64UL << 10)

static u64 root[512] __attribute__((aligned(4096)));
static u64 middle[512] __attribute__((aligned(4096)));
static u64 leaves[POOL_LEAVES][512] __attribute__((aligned(4096)));
static unsigned int leaves_used;
/* From the identity map to the upper half. */
static u64 delta;

u64 kernel_va(const void *at)
{
	return (u64)at >> 63 ? (u64)at : (u64)at + delta;
}

u64 kernel_pa(const void *at)
{
	return (u64)at >> 63 ? (u64)at - delta : (u64)at;
}

u64 *kernel_entry(u64 va)
{
	u64 *entry = &middle[va >> 21 & 511];

	if (!*entry) {
		if (!check(leaves_used < POOL_LEAVES, "no table left for %lx", va))
			power_off();
		*entry = kernel_pa(leaves[leaves_used++]) | PTE_TABLE;
	}
	return (u64 *)(*entry & PTE_ADDRESS) + (va >> 12 & 511);
}

void kernel_flush(void)
{
	asm volatile("dsb ishst\n\ttlbi vmalle1is\n\tdsb ish\n\tisb" : : : "memory");
}

bool kernel_init(void)
{
	u64 size = (u64)(image_end - image_start), at;

	if (!check(size <= MIB2, "an image of %lu bytes", size))
		return false;
	delta = KERNEL_BASE - (u64)image_start;
	root[KERNEL_BASE >> 30 & 511] = (u64)middle | PTE_TABLE;
	for (at = 0; at < size; at += PAGE)
		*kernel_entry(KERNEL_BASE + at) = ((u64)image_start + at) | KERNEL_PAGE;
	for (at = 0; at < KERNEL_UNUSED; at += PAGE)
		*kernel_entry(kernel_va(kernel_image) + at) |= PTE_PXN;
	dsb();
	return true;
}

static u64 map_behind(u64 va, u64 attributes)
{
	u64 end = va + KERNEL_PART;

	for (; va < end; va += PAGE)
		*kernel_entry(va) = (va - delta) | KERNEL_PAGE | PTE_PXN | attributes;
	return end;
}

u64 kernel_make_hole(void)
{
	u64 size = (u64)(image_end - image_start), hole;

	hole = map_behind(KERNEL_BASE + (size + KIB64 - 1) / KIB64 * KIB64, PTE_READONLY);
	map_behind(hole + KERNEL_HOLE, 0);
	dsb();
	return hole;
}

void kernel_run(void (*main)(unsigned int cpu), unsigned int cpu)
{
	__typeof__(main) upper = (__typeof__(main))kernel_va(main);

	write_sysreg(ttbr1_el1, (u64)root);
	write_sysreg(tcr_el1, TCR_VALUE | mmu_tcr_ips());
	isb();
	kernel_flush();
	write_sysreg(vbar_el1, kernel_va(kernel_vectors));
	isb();
	upper(cpu);
}

void kernel_sync_code(const void *at, size_t size, u64 executed_at)
{
	u64 line = 4UL << (read_sysreg(ctr_el0) >> 16 & 15), i;

	for (i = 0; i < size; i += line)
		asm volatile("dc cvau, %0" : : "r" ((u64)at + i) : "memory");
	dsb();
	for (i = 0; i < size; i += line)
		asm volatile("ic ivau, %0" : : "r" (executed_at + i) : "memory");
	dsb();
	isb();
}
