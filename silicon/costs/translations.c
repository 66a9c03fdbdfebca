// SPDX-License-Identifier: GPL-2.0
/*
 * Two translations of one address: does this core ever use the wrong one? armvisor relies on what the
 * architecture says of that, and no emulated board can show it.
 *
 * The host's tables map a page of this module's. Copies of the tables on the way to it map another
 * page there, not global, under another ASID. TTBR1_EL1 changes between the two with all of DAIF
 * masked, and each time the page tells which translation was used:
 *
 *	asid	the host's entry is not global: the ASID alone must tell them apart
 *	flush	the host's entry is global, and TLBI VMALLE1 comes before each use
 *
 * Everything else that the copies map is what the host's tables map when they are made, which is
 * under the same mask. A TLB conflict abort is taken by vectors.S and counted.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include <asm/daifflags.h>
#include <asm/sysreg.h>

#include "costs.h"

#define RUNS	400
#define TURNS	50
#define LEVELS	4
#define ENTRIES	512
#define ADDRESS	GENMASK_ULL(47, 12)
#define NOT_GLOBAL	BIT_ULL(11)
#define HOSTS	0x686f737473ULL
#define OTHERS	0x6f7468657273ULL
#define CONFLICT	(~0ULL)
/* TCR_EL1, ID_AA64MMFR0_EL1 */
#define T1SZ	GENMASK_ULL(21, 16)
#define AS_16	BIT_ULL(36)
#define DS	BIT_ULL(59)
#define ASIDBITS	GENMASK_ULL(7, 4)
#define ASIDBITS_16	2

u64 costs_host[2];

static const struct kind {
	const char *name;
	bool global, flush;
} kinds[] = {
	{ "asid" },
	{ "flush", .global = true, .flush = true },
};

struct counts {
	unsigned long right, wrong, conflicts;
};

/* Of tables with 4 KiB pages and addresses of 48 bits: how many levels are walked; or 0. */
static unsigned int levels(void)
{
	u64 tcr = read_sysreg(tcr_el1);
	unsigned int bits = 64 - FIELD_GET(T1SZ, tcr);

	if (PAGE_SIZE != SZ_4K || bits > 48 || tcr & DS)
		return 0;
	return DIV_ROUND_UP(bits - 12, 9);
}

static unsigned int index_of(unsigned long at, unsigned int level)
{
	return at >> (12 + 9 * (LEVELS - 1 - level)) & (ENTRIES - 1);
}

static u64 *first_table(void)
{
	return phys_to_virt(read_sysreg(ttbr1_el1) & ADDRESS);
}

/* The host's entry for a page; NULL: the tables have another form. */
static u64 *hosts_entry(unsigned long at)
{
	unsigned int level = LEVELS - levels();
	u64 *entry = &first_table()[index_of(at, level)];

	for (; level < LEVELS - 1; level++) {
		if ((*entry & 3) != 3)
			return NULL;
		entry = (u64 *)phys_to_virt(*entry & ADDRESS) + index_of(at, level + 1);
	}
	return (*entry & 3) == 3 ? entry : NULL;
}

static void set_entry(u64 *entry, unsigned long at, u64 value)
{
	WRITE_ONCE(*entry, value);
	dsb(ishst);
	asm volatile("tlbi vaae1is, %0\n\tdsb ish\n\tisb" : : "r" (at >> 12 & GENMASK(43, 0)) : "memory");
}

/* The page is this module's: nobody else uses its entry. It is invalid in between. */
static void make_global(u64 *entry, unsigned long at, bool global)
{
	u64 value = *entry;

	set_entry(entry, at, 0);
	set_entry(entry, at, global ? value & ~NOT_GLOBAL : value | NOT_GLOBAL);
}

/* Copies of the tables on the way to @at, with @page there. Returns the value of TTBR1_EL1 for them. */
static u64 copy_tables(u64 **copy, unsigned long at, struct page *page, u64 host)
{
	unsigned int first = LEVELS - levels(), level;
	bool wide = FIELD_GET(ASIDBITS, read_sysreg(id_aa64mmfr0_el1)) == ASIDBITS_16 &&
		    read_sysreg(tcr_el1) & AS_16;
	u64 *table = first_table(), *entry;

	for (level = first; level < LEVELS - 1; level++) {
		memcpy(copy[level], table, PAGE_SIZE);
		entry = &copy[level][index_of(at, level)];
		table = phys_to_virt(*entry & ADDRESS);
		*entry = (*entry & ~ADDRESS) | virt_to_phys(copy[level + 1]);
	}
	memcpy(copy[level], table, PAGE_SIZE);
	entry = &copy[level][index_of(at, level)];
	*entry = (*entry & ~ADDRESS) | page_to_phys(page) | NOT_GLOBAL;
	dsb(ishst);
	return ((host ^ (wide ? BIT_ULL(63) : BIT_ULL(55))) & GENMASK_ULL(63, 48)) |
	       virt_to_phys(copy[first]);
}

static u64 read_under(u64 ttbr1, const u64 *at, bool flush)
{
	write_sysreg(ttbr1, ttbr1_el1);
	isb();
	if (flush)
		asm volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
	return costs_load(at);
}

static void note(struct counts *counts, u64 value, u64 expected)
{
	if (value == expected)
		counts->right++;
	else if (value == CONFLICT)
		counts->conflicts++;
	else
		counts->wrong++;
}

static noinline void take_turns(u64 **copy, const u64 *at, struct page *page, bool flush,
				struct counts *counts)
{
	unsigned long flags = local_daif_save();
	u64 vbar = read_sysreg(vbar_el1), host = read_sysreg(ttbr1_el1), other;
	unsigned int i;

	other = copy_tables(copy, (unsigned long)at, page, host);
	costs_host[0] = vbar;
	costs_host[1] = host;
	write_sysreg((u64)costs_switch_vectors, vbar_el1);
	isb();
	for (i = 0; i < TURNS; i++) {
		note(counts, read_under(other, at, flush), OTHERS);
		note(counts, read_under(host, at, flush), HOSTS);
	}
	write_sysreg(vbar, vbar_el1);
	/* Nothing is left of the copies. */
	asm volatile("isb\n\ttlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
	local_daif_restore(flags);
}

static void check(struct seq_file *out, const struct kind *kind, u64 **copy, u64 *at,
		  struct page *page)
{
	u64 *entry = hosts_entry((unsigned long)at);
	struct counts counts = { 0 };
	unsigned int run;

	if (!entry) {
		seq_printf(out, "check translations-%s absent the host's tables have another form\n",
			   kind->name);
		return;
	}
	make_global(entry, (unsigned long)at, kind->global);
	for (run = 0; run < RUNS; run++) {
		take_turns(copy, at, page, kind->flush, &counts);
		cond_resched();
	}
	seq_printf(out, "check translations-%s %s %lu right, %lu wrong, %lu conflict aborts\n",
		   kind->name, counts.wrong || counts.conflicts ? "failed" : "ok", counts.right,
		   counts.wrong, counts.conflicts);
}

/* Page 0 is what the host's tables map. */
static int check_all(struct seq_file *out, u64 **copy, struct page **page)
{
	u64 *at = vmap(page, 1, VM_MAP, PAGE_KERNEL);
	unsigned int i;

	if (!at)
		return -ENOMEM;
	*(u64 *)page_address(page[0]) = HOSTS;
	*(u64 *)page_address(page[1]) = OTHERS;
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		check(out, &kinds[i], copy, at, page[1]);
	vunmap(at);
	return 0;
}

int translations_check(struct seq_file *out)
{
	u64 *copy[LEVELS] = { NULL }, midr = read_sysreg(midr_el1);
	struct page *page[2] = { NULL };
	unsigned int i;
	bool have = true;
	int r = -ENOMEM;

	/* Their TTBRs need more than is done here (errata 27456 and E1003). */
	if (!levels() || THUNDERX(midr) || FALKOR(midr)) {
		seq_puts(out, "check translations absent not of 4 KiB pages and 48 bits, or a core with errata\n");
		return 0;
	}
	for (i = 0; i < LEVELS; i++) {
		copy[i] = (u64 *)__get_free_page(GFP_KERNEL);
		have &= !!copy[i];
	}
	for (i = 0; i < ARRAY_SIZE(page); i++) {
		page[i] = alloc_page(GFP_KERNEL);
		have &= !!page[i];
	}
	if (have)
		r = check_all(out, copy, page);
	for (i = 0; i < ARRAY_SIZE(page); i++)
		if (page[i])
			__free_page(page[i]);
	for (i = 0; i < LEVELS; i++)
		free_page((unsigned long)copy[i]);
	return r;
}
