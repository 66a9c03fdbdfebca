// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that changes its tables in and around the hole of its image. Pages that it maps there
 * must be its own, pages that it does not map must not exist, and its frequent instructions must
 * always work.
 */
#include "hole.h"

#define LOW_PAGES	(KERNEL_PART / PAGE)
#define ASID(n)		((u64)(n) << 48)
#define TCR_A1		(1UL << 22)
#define MINE		(1UL << 55)	/* a software bit of a descriptor */
#define FAR_TABLES	34
#define FAR_UNITS	1024		/* 64 MiB */

static u64 frame[512] __attribute__((aligned(4096)));

static void set_pattern(void)
{
	volatile u64 *low = (volatile u64 *)kernel_pa(frame);
	unsigned int i;

	for (i = 0; i < 512; i++)
		low[i] = next_random();
}

/* The page maps the frame: reads return its contents, and writes reach it. */
static void check_own(const char *when, u64 at)
{
	volatile u64 *low = (volatile u64 *)kernel_pa(frame);
	unsigned int i, n;
	struct outcome o;

	for (i = 0; i < 32; i++) {
		u64 value = next_random();

		/* The first words are those that could be registers. */
		n = i < 18 ? i : next_random() % 512;
		o = try_read(at + n * 8);
		check(!o.taken && o.value == low[n], "%s: %lx: taken %u, esr %lx, %lx, not %lx",
		      when, at + n * 8, o.taken, o.esr, o.value, low[n]);
		o = try_write(at + n * 8, value);
		check(!o.taken && low[n] == value, "%s: written at %lx: taken %u, esr %lx, %lx",
		      when, at + n * 8, o.taken, o.esr, low[n]);
	}
}

/* Code at the end of the page, written through the identity map. */
static void check_code(const char *when, u64 at)
{
	volatile u32 *low = (volatile u32 *)kernel_pa(frame);
	struct outcome o;

	low[1022] = 0xd65f03c0;		/* ret */
	low[1023] = 0xd4200000 | (next_random() & 0xffff) << 5;		/* brk */
	kernel_sync_code((void *)&low[1022], 8, at + 1022 * 4);
	o = try_call(at + 1022 * 4);
	check(!o.taken, "%s: a call of %lx: esr %lx", when, at, o.esr);
	o = try_call(at + 1023 * 4);
	check(o.taken && class_of(o.esr) == CLASS_BRK &&
	      (o.esr & 0xffff) == (low[1023] >> 5 & 0xffff),
	      "%s: a BRK at %lx: taken %u, esr %lx", when, at, o.taken, o.esr);
}

/* ---- a page in the hole ------------------------------------------------------------------ */

static void map_page(u64 at)
{
	struct outcome o;

	set_pattern();
	set_entry(at, kernel_pa(frame) | KERNEL_PAGE);
	if (!may_show(at))
		check_own("mapped without a TLBI", at);
	o = try_read(at + 0x800);
	check(!o.taken, "mapped at %lx: esr %lx", at, o.esr);
	hot(ENOUGH / 4, "with a page mapped");
	flush_page(at);
	check_own("mapped", at);
	check_code("mapped", at);
	hot(ENOUGH / 4, "with a page mapped, and TLBI");
	check_own("mapped, and later", at);
	check_code("mapped, and later", at);
}

static void unmap_page(u64 at, bool late)
{
	set_entry(at, 0);
	if (late)
		hot(ENOUGH / 8, "unmapped without a TLBI");
	flush_page(at);
	check_nothing("unmapped", at);
	hot(ENOUGH / 4, "unmapped");
	check_nothing("unmapped, and later", at);
}

static void map(void)
{
	static const u16 pages[] = { 0, 1, 2, 15, 16, 17, 32, 48, 64, 255, 0, 1, 16, 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		map_page(gap + pages[i] * PAGE);
		unmap_page(gap + pages[i] * PAGE, i & 1);
	}
	find_again("hole.again");
}

void case_hole_map(void)
{
	in_hole(map, true);
}

/* Map frequent code of the guest in place of the hole, then the hole again. */
static void code(void)
{
	static const u16 pages[] = { 1, 0, 16, 17, 3 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		u64 at = gap + pages[i] * PAGE;

		set_entry(at, kernel_pa(frame) | KERNEL_PAGE);
		flush_page(at);
		/* Jumps there may run stubs until the hypervisor finds the new page. */
		hot(ENOUGH / 4, "with a page mapped");
		far_write((u32 *)frame, at);
		far_call(at, ENOUGH, "code in the hole");
		hot(ENOUGH / 2, "with code in the hole");
		far_call(at, ENOUGH, "code in the hole, and more");
		check_own("with code in the hole", at);
		set_entry(at, 0);
		flush_page(at);
		check_nothing("code taken away", at);
		hot(ENOUGH / 2, "with code taken away");
	}
	find_again("hole.again");
}

void case_hole_code(void)
{
	in_hole(code, true);
}

/* ---- below the hole ------------------------------------------------------------------------ */

static u64 low_part[LOW_PAGES];

/* The last pages below the hole. */
static void set_low(unsigned int pages, u64 entry)
{
	u64 at;

	for (at = gap - pages * PAGE; at < gap; at += PAGE)
		set_entry(at, entry);
}

static void low_back(unsigned int pages)
{
	u64 at;

	for (at = gap - pages * PAGE; at < gap; at += PAGE)
		set_entry(at, low_part[LOW_PAGES - (gap - at) / PAGE]);
}

/* Without an image around it, the hole may not be used: nothing is mapped there. */
static void check_bare(const char *when)
{
	bool was = lent;

	lent = false;
	check_nothing_in_units(when);
	lent = was;
}

static void all_gone(bool late)
{
	struct outcome o;

	set_low(LOW_PAGES, 0);
	if (late)
		hot(ENOUGH / 8, "the part below unmapped, without a TLBI");
	kernel_flush();
	check_bare("with nothing below");
	hot(ENOUGH / 2, "with nothing below");
	check_bare("with nothing below, and later");
	low_back(LOW_PAGES);
	o = try_read(gap - 8);
	check(!o.taken, "the part below is back: esr %lx", o.esr);
	hot(ENOUGH / 2, "with the part below again");
	check_nothing_in_units("with the part below again");
}

static void all_elsewhere(void)
{
	struct outcome o;

	set_pattern();
	set_low(LOW_PAGES, 0);
	kernel_flush();
	set_low(LOW_PAGES, kernel_pa(frame) | KERNEL_PAGE | PTE_READONLY | PTE_PXN);
	check_bare("with another part below");
	hot(ENOUGH / 2, "with another part below");
	o = try_read(gap - PAGE);
	check(!o.taken && o.value == *(u64 *)kernel_pa(frame), "another part below: esr %lx, %lx",
	      o.esr, o.value);
	check_bare("with another part below, and later");
	set_low(LOW_PAGES, 0);
	kernel_flush();
	low_back(LOW_PAGES);
	hot(ENOUGH / 2, "with the own part below");
}

/* The hole begins at a lower address, then at its first address again. */
static void larger(void)
{
	u64 at;

	set_low(UNIT / PAGE, 0);
	kernel_flush();
	check_nothing("a larger hole", gap - UNIT);
	hot(ENOUGH, "with a larger hole");
	check_nothing_in_units("a larger hole");
	set_pattern();
	for (at = gap - UNIT; at < gap; at += 5 * PAGE) {
		set_entry(at, kernel_pa(frame) | KERNEL_PAGE);
		if (!may_show(at))
			check_own("where a larger hole was", at);
		flush_page(at);
		check_own("where a larger hole was, and TLBI", at);
		set_entry(at, 0);
		flush_page(at);
		hot(ENOUGH / 4, "where a larger hole was");
	}
	low_back(UNIT / PAGE);
	kernel_flush();
	hot(ENOUGH / 2, "with the hole as it was");
	check_nothing_in_units("the hole as it was");
}

static void anchor(void)
{
	unsigned int i;

	for (i = 0; i < LOW_PAGES; i++)
		low_part[i] = *kernel_entry(gap - (LOW_PAGES - i) * PAGE);
	for (i = 0; i < 4; i++) {
		all_gone(i & 1);
		all_elsewhere();
		larger();
	}
	find_again("hole.again");
}

void case_hole_anchor(void)
{
	in_hole(anchor, true);
}

/* ---- two roots ------------------------------------------------------------------------------- */

static u64 other_root[512] __attribute__((aligned(4096)));
static u64 other_middle[512] __attribute__((aligned(4096)));
static u64 other_leaf[512] __attribute__((aligned(4096)));

static u64 *table_of(u64 entry)
{
	return (u64 *)(entry & PTE_ADDRESS);
}

static void copy_table(u64 *to, const u64 *from)
{
	unsigned int i;

	for (i = 0; i < 512; i++)
		to[i] = from[i];
}

/* A copy of root, with non-global pages in the hole, whose units share one level-3 table. */
static u64 make_other_root(u64 root)
{
	u64 *to = (u64 *)kernel_pa(other_root), *middle = (u64 *)kernel_pa(other_middle);
	u64 *leaf = (u64 *)kernel_pa(other_leaf);
	u64 high = KERNEL_BASE >> 30 & 511, at;

	copy_table(to, table_of(root));
	copy_table(middle, table_of(to[high]));
	copy_table(leaf, table_of(middle[gap >> 21 & 511]));
	to[high] = (u64)middle | PTE_TABLE;
	middle[gap >> 21 & 511] = (u64)leaf | PTE_TABLE;
	for (at = gap; at < gap + UNITS * UNIT && !((at ^ gap) >> 21); at += PAGE)
		leaf[at >> 12 & 511] = kernel_pa(frame) | KERNEL_PAGE | PTE_NG;
	dsb();
	return (u64)to;
}

static void use_root(u64 root, bool flush)
{
	u64 now;

	write_sysreg(ttbr1_el1, root);
	isb();
	if (flush)
		kernel_flush();
	now = read_sysreg(ttbr1_el1);
	check(now == root, "TTBR1_EL1 is %lx, not %lx", now, root);
}

/* Switch often enough for the hypervisor to do it without an exit, if it can. */
static void switch_often(u64 a, u64 b, unsigned int times)
{
	u64 *low = (u64 *)kernel_pa(frame), at;
	unsigned int i, n;
	struct outcome o;

	for (i = 0; i < times; i++) {
		n = next_random() % 512;
		at = gap + (i % 8 ? PAGE : 0) + n * 8;
		use_root(b, false);
		o = try_read(at);
		check(!o.taken && o.value == low[n], "in the other root, %lx: esr %lx, %lx, not %lx",
		      at, o.esr, o.value, low[n]);
		hot(2, "in the other root");
		use_root(a, false);
		if (!may_show(at)) {
			o = try_read(at);
			check_fault("in the first root", "read", at, &o, CLASS_ACCESS,
				    FSC_TRANSLATION);
		}
		hot(2, "in the first root");
	}
}

/* flush: both roots have the same ASID, so TLBIs are needed. */
static void in_both(u64 a, u64 b, bool flush)
{
	use_root(b, flush);
	check_own("in the other root", gap);
	check_own("in the other root", gap + PAGE);
	hot(ENOUGH / 2, "in the other root");
	check_own("in the other root, later", gap);
	check_own("in the other root, later", gap + PAGE);
	check_own("in the other root, later", gap + UNIT);
	use_root(a, flush);
	check_nothing_in_units("in the first root");
	hot(ENOUGH / 2, "in the first root");
	check_nothing_in_units("in the first root, later");
}

static void roots(void)
{
	u64 root = read_sysreg(ttbr1_el1), other = make_other_root(root);
	unsigned int i;

	set_pattern();
	write_sysreg(tcr_el1, read_sysreg(tcr_el1) | TCR_A1);
	use_root(root | ASID(1), true);
	find_again("hole.asid");
	for (i = 0; i < 4; i++) {
		in_both(root | ASID(1), other | ASID(2), false);
		switch_often(root | ASID(1), other | ASID(2), 500);
		in_both(root | ASID(1), other | ASID(1), true);
	}
	find_again("hole.again");
}

void case_hole_roots(void)
{
	in_hole(roots, true);
}

/* ---- descriptors without the access flag ------------------------------------------------------ */

static void without_flag(u64 from, u64 end, bool flush)
{
	struct outcome o;
	u64 at;

	for (at = from; at < end; at += PAGE)
		set_entry(at, kernel_pa(frame) | (KERNEL_PAGE & ~PTE_AF));
	if (flush)
		kernel_flush();
	hot(ENOUGH / 4, "without the access flag");
	for (at = from; at < end; at += PAGE) {
		if (flush || !may_show(at)) {
			o = try_read(at + 8);
			check_fault("without the flag", "read", at + 8, &o, CLASS_ACCESS,
				    FSC_ACCESS_FLAG);
			o = try_write(at + 8, garbage());
			check_fault("without the flag", "write", at + 8, &o, CLASS_ACCESS,
				    FSC_ACCESS_FLAG);
		}
		if (flush) {
			o = try_call(at + 8);
			check_fault("without the flag", "jump", at + 8, &o, CLASS_FETCH,
				    FSC_ACCESS_FLAG);
		}
	}
	hot(ENOUGH / 4, "without the access flag, and faults");
	kernel_flush();
	/* Setting the access flag needs no TLBI. */
	set_pattern();
	for (at = from; at < end; at += PAGE) {
		set_entry(at, kernel_pa(frame) | KERNEL_PAGE);
		check_own("with the access flag", at);
	}
	hot(ENOUGH / 4, "with the access flag");
	for (at = from; at < end; at += PAGE)
		set_entry(at, 0);
	kernel_flush();
	hot(ENOUGH, "with nothing there again");
	check_nothing_in_units("with nothing there again");
}

static void flag(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		without_flag(gap, gap + PAGE, i & 1);
		without_flag(gap + PAGE, gap + 2 * PAGE, i & 1);
		without_flag(gap + UNIT, gap + UNIT + PAGE, i & 1);
		without_flag(gap, gap + UNIT, i & 1);
	}
	find_again("hole.again");
}

void case_hole_flag(void)
{
	in_hole(flag, true);
}

/* ---- long searches ------------------------------------------------------------------------------ */

static u64 far_tables[FAR_TABLES][512] __attribute__((aligned(4096)));

/* As kernel_entry(), with more tables. */
static u64 *far_entry(u64 va)
{
	static unsigned int used;
	u64 *middle = table_of(table_of(read_sysreg(ttbr1_el1))[va >> 30 & 511]);
	u64 *entry = &middle[va >> 21 & 511];

	if (!*entry) {
		if (!check(used < FAR_TABLES, "no table left for %lx", va))
			power_off();
		*entry = kernel_pa(far_tables[used++]) | PTE_TABLE;
	}
	return table_of(*entry) + (va >> 12 & 511);
}

/* Map one page of each unmapped unit above the vectors, at the image's distance from memory. */
static void map_far(unsigned int page, u64 attributes)
{
	u64 first = kernel_va(kernel_first_vectors) & ~(UNIT - 1);
	u64 delta = first - kernel_pa((void *)first), at;
	unsigned int i;

	for (i = 1; i < FAR_UNITS; i++) {
		at = first + i * UNIT + page * PAGE;
		if (!*far_entry(at))
			*far_entry(at) = (at - delta) | KERNEL_PAGE | PTE_PXN | MINE | attributes;
	}
	kernel_flush();
}

static void unmap_far(unsigned int page)
{
	u64 first = kernel_va(kernel_first_vectors) & ~(UNIT - 1), *entry;
	unsigned int i;

	for (i = 1; i < FAR_UNITS; i++) {
		entry = far_entry(first + i * UNIT + page * PAGE);
		if (*entry & MINE)
			*entry = 0;
	}
	kernel_flush();
}

static void search_for(const char *name)
{
	u64 start = read_sysreg(cntvct_el0);

	hot(ENOUGH, "with much to look at");
	result(name, read_sysreg(cntvct_el0) - start, "ticks");
}

/* The hypervisor has no place yet: there is none, or the search for it is long. */
static void search(void)
{
	static u64 upper_part[LOW_PAGES];
	u64 upper = gap + KERNEL_HOLE;
	unsigned int i;

	for (i = 0; i < LOW_PAGES; i++) {
		upper_part[i] = *kernel_entry(upper + i * PAGE);
		set_entry(upper + i * PAGE, 0);
	}
	map_far(15, 0);
	search_for("hole.sixteenth");
	unmap_far(15);
	map_far(0, PTE_READONLY);
	search_for("hole.read");
	unmap_far(0);
	map_far(0, 0);
	search_for("hole.full");
	unmap_far(0);
	for (i = 0; i < LOW_PAGES; i++)
		set_entry(upper + i * PAGE, upper_part[i]);
	map_far(15, 0);
	search_for("hole.no.unit");
	unmap_far(15);
	find_again("hole.again");
	lent = true;
	check_nothing_in_units("at last");
	hot(ENOUGH, "at last");
}

void case_hole_search(void)
{
	in_hole(search, false);
}
