// SPDX-License-Identifier: GPL-2.0
#include "arena.h"
#include "mmu.h"
#include "probe.h"

#define PAGE 4096UL
#define WORDS (PAGE / sizeof(u64))
#define BLOCK_SIZE (2UL << 20)

#define KERNEL_RW (PTE_PAGE | PTE_AF | PTE_INNER | PTE_UXN | PTE_PXN)
#define KERNEL_RX (PTE_PAGE | PTE_AF | PTE_INNER | PTE_UXN | PTE_READONLY)
#define USER_RW (PTE_PAGE | PTE_AF | PTE_INNER | PTE_USER | PTE_UXN | PTE_PXN)
#define USER_RX (PTE_PAGE | PTE_AF | PTE_INNER | PTE_USER | PTE_READONLY | PTE_PXN)

static u64 code_page[WORDS] __attribute__((aligned(4096)));
static u64 data_page[WORDS] __attribute__((aligned(4096)));
static u64 readonly_page[WORDS] __attribute__((aligned(4096)));
static u64 cont_pages[16][WORDS] __attribute__((aligned(65536)));
static u64 block[BLOCK_SIZE / sizeof(u64)] __attribute__((aligned(2 << 20)));

static u64 upper_1[512] __attribute__((aligned(4096)));
static u64 upper_2[512] __attribute__((aligned(4096)));
static u64 upper_3[512] __attribute__((aligned(4096)));
static u64 lower_2[512] __attribute__((aligned(4096)));
static u64 lower_3[512] __attribute__((aligned(4096)));
static u64 strict_3[3][512] __attribute__((aligned(4096)));

static struct {
	u64 sctlr;
	u64 tcr;
	u64 mair;
	u64 ttbr0;
	u64 ttbr1;
} baseline;

static unsigned int index_3(u64 address)
{
	return address >> 12 & 511;
}

asm(".pushsection .rodata\n\t.balign 4096\nfunction_page:\n\tret\n\t.set number, 1\n\t"
    ".rept 1023\n\t.word number * 0x9e3779b1\n\t.set number, number + 1\n\t.endr\n\t"
    ".popsection");
extern const u32 function_page[];

static unsigned int index_2(u64 address)
{
	return address >> 21 & 511;
}

static unsigned int index_1(u64 address)
{
	return address >> 30 & 511;
}

u64 *arena_entry(u64 address)
{
	return (address >> 63 ? upper_3 : lower_3) + index_3(address);
}

u64 arena_data_physical(void)
{
	return (u64)data_page;
}

u64 *arena_table_entry(u64 address)
{
	return &upper_2[index_2(address)];
}

static void set_page(u64 address, const void *page, u64 attributes)
{
	u64 not_global = address >> 63 ? 0 : PTE_NG;

	*arena_entry(address) = (u64)page | attributes | not_global;
}

static void build_upper(void)
{
	unsigned int i;

	set_page(K_CODE, code_page, KERNEL_RX);
	set_page(K_FUNCTION, function_page, KERNEL_RX);
	set_page(K_DATA, data_page, KERNEL_RW);
	set_page(K_READONLY, readonly_page, KERNEL_RW | PTE_READONLY);
	set_page(K_USER, data_page, USER_RW);
	set_page(K_OLD, data_page, KERNEL_RW & ~PTE_AF);
	set_page(K_DEVICE, data_page, KERNEL_RW | PTE_DEVICE);
	set_page(K_UNMAPPED, NULL, 0);
	set_page(K_CHANGE, data_page, KERNEL_RW);
	for (i = 0; i < 16; i++)
		set_page(K_CONT + i * PAGE, cont_pages[i], KERNEL_RW | PTE_CONT);
	upper_1[index_1(K_BASE)] = (u64)upper_2 | PTE_TABLE;
	upper_2[index_2(K_BASE)] = (u64)upper_3 | PTE_TABLE;
	upper_2[index_2(K_BLOCK)] = (u64)block | (KERNEL_RW & ~PTE_PAGE) | PTE_BLOCK;
	upper_2[index_2(K_TABLE_RO)] = (u64)strict_3[0] | PTE_TABLE | TABLE_READONLY;
	upper_2[index_2(K_TABLE_XN)] = (u64)strict_3[1] | PTE_TABLE | TABLE_PXN | TABLE_UXN;
	upper_2[index_2(K_TABLE_USER)] = (u64)strict_3[2] | PTE_TABLE | TABLE_NO_USER;
	strict_3[0][index_3(K_TABLE_RO)] = (u64)data_page | KERNEL_RW;
	strict_3[1][index_3(K_TABLE_XN)] = (u64)code_page | KERNEL_RX;
	strict_3[2][index_3(K_TABLE_USER)] = (u64)data_page | USER_RW;
	/* A test may have written into the unused entries after these. */
	for (i = 0; i < ARRAY_SIZE(strict_3); i++)
		strict_3[i][1] = 0;
}

static void build_lower(void)
{
	u64 *root = (u64 *)(baseline.ttbr0 & PTE_ADDRESS);

	set_page(U_CODE, code_page, USER_RX);
	set_page(U_DATA, data_page, USER_RW);
	set_page(U_READONLY, readonly_page, USER_RW | PTE_READONLY);
	set_page(U_KERNEL, data_page, KERNEL_RW);
	set_page(U_OLD, data_page, USER_RW & ~PTE_AF);
	set_page(U_EXECUTE, code_page, (USER_RX & ~PTE_USER));
	set_page(U_UNMAPPED, NULL, 0);
	set_page(U_CHANGE, data_page, USER_RW);
	root[index_1(U_BASE)] = (u64)lower_2 | PTE_TABLE;
	lower_2[index_2(U_BASE)] = (u64)lower_3 | PTE_TABLE;
}

static void fill(u64 *page, u64 seed)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		page[i] = seed << 32 | i;
}

void arena_reset_memory(void)
{
	unsigned int i;

	build_upper();
	build_lower();
	fill(data_page, 0xda7a0000);
	fill(readonly_page, 0xaead0000);
	for (i = 0; i < 16; i++)
		cont_pages[i][0] = 0xc0170000UL << 32 | i;
	block[0] = 0xb10c0000UL << 32;
	block[ARRAY_SIZE(block) - 1] = 0xb10cffffUL << 32;
	asm volatile("dsb ish\n\ttlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
}

void arena_restore(void)
{
	/* The order matters: walks must make sense at every step. */
	write_sysreg(mair_el1, baseline.mair);
	write_sysreg(ttbr0_el1, baseline.ttbr0);
	write_sysreg(ttbr1_el1, baseline.ttbr1);
	write_sysreg(tcr_el1, baseline.tcr);
	isb();
	write_sysreg(sctlr_el1, baseline.sctlr);
	write_sysreg(vbar_el1, (u64)probe_vectors);
	write_sysreg(cpacr_el1, 0);
	write_sysreg(cntkctl_el1, 0);
	write_sysreg(mdscr_el1, 0);
	write_sysreg(dbgbcr0_el1, 0);
	write_sysreg(dbgwcr0_el1, 0);
	write_sysreg(oslar_el1, 0);
	write_sysreg(contextidr_el1, 0);
	write_sysreg(tpidr_el0, 0);
	write_sysreg(tpidr_el1, 0);
	isb();
}

void arena_init(void)
{
	mmu_enable();
	baseline.sctlr = SCTLR_MMU_ON;
	baseline.tcr = TCR_VALUE | mmu_tcr_ips();
	baseline.mair = MAIR_VALUE;
	baseline.ttbr0 = read_sysreg(ttbr0_el1) | (u64)ARENA_ASID << 48;
	baseline.ttbr1 = (u64)upper_1;
	arena_reset_memory();
	arena_restore();
	write_sysreg(oslar_el1, 0);
	isb();
	asm volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
}

void arena_load_code(const void *code, size_t size)
{
	u64 line = 4UL << (read_sysreg(ctr_el0) >> 16 & 15);
	const u32 *from = code;
	u32 *to = (u32 *)code_page;
	u64 at;
	size_t i;

	if (!check(size <= ARENA_CODE_SIZE, "%lu bytes of code do not fit into a page", size))
		return;
	for (i = 0; i < size / 4; i++)
		to[i] = from[i];
	for (at = (u64)code_page; at < (u64)code_page + size; at += line)
		asm volatile("dc cvau, %0" : : "r" (at) : "memory");
	/* IC by address would miss the other aliases of the page. */
	asm volatile("dsb ish\n\tic iallu\n\tdsb nsh\n\tisb" : : : "memory");
}

const char *arena_physical_name(u64 physical)
{
	u64 page = physical & PTE_ADDRESS;

	if (page == (u64)code_page)
		return "code";
	if (page == (u64)data_page)
		return "data";
	if (page == (u64)readonly_page)
		return "readonly";
	if (page == (u64)block)
		return "block";
	return NULL;
}

u64 arena_hash(u64 hash)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		hash = ((hash << 7 | hash >> 57) ^ data_page[i]) * 0x9e3779b97f4a7c15UL;
	return hash;
}
