// SPDX-License-Identifier: GPL-2.0
/* A guest that changes its own tables: two vCPUs, and a leaf of a GiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stale.h"

#define SIZE	(STALE_PAGES * PAGE)
#define GIB	(1ULL << 30)
#define MOST_ROUNDS	1000

u64 *begin_tables(struct machine *m, u64 va, u64 how, u64 pages)
{
	u64 *entry = NULL, i;

	new_machine(m);
	m->frames = map_memory(2 * SIZE);
	for (i = 0; i < 2 * STALE_PAGES; i++)
		*(u64 *)(m->frames + i * PAGE) = i + 1;
	pages_slot(m, m->frames, 2 * SIZE, 0);
	for (i = 0; i < pages; i++)
		entry = map_page(m, va + i * PAGE,
				 (FRAMES + i * PAGE) | DESC_PAGE | DESC_XN |
				 (va == LOW_VA ? DESC_NG : 0));
	m->ctl->va = va;
	m->ctl->how = how;
	m->ctl->seed = va ^ how;
	return entry - (pages - 1);
}

void end_tables(struct machine *m)
{
	free_machine(m);
	munmap(m->frames, 2 * SIZE);
}

/* The guest's address of an entry. */
static u64 guests(struct machine *m, const u64 *entry)
{
	return STALE_HIGH + GUEST_BASE + ((const char *)entry - m->memory);
}

static u64 rounds(u64 usual)
{
	return setting("ROUNDS", usual);
}

static const struct {
	u64 va, how;
} views[] = {
	{ LOW_VA, HOW_LAST | HOW_SHARED }, { HIGH_VA, HOW_LAST | HOW_SHARED }, { LOW_VA, HOW_SHARED },
	{ HIGH_VA, HOW_ANY },
};

void stale_rights(void)
{
	struct machine m;
	u64 *entry, n;
	size_t v;

	for (v = 0; v < ARRAY_SIZE(views) && !failures; v++) {
		/* Nothing else in their group, so that all of it may be invalid. */
		entry = begin_tables(&m, views[v].va, views[v].how, 3);
		entry[ALIAS] = entry[2];
		entry[2] |= DESC_RDONLY;
		m.ctl->l3[0] = guests(&m, entry);
		start_vcpu(&m, guest_toggle);
		start_vcpu(&m, guest_probe);
		/* On a busy machine both may see the same right for some rounds. */
		for (n = 0; (n < rounds(20) || (!m.ctl->odd[1] && n < MOST_ROUNDS)) && !failures; n++)
			if (!progress(&m, 0, 1) || !progress(&m, 1, 1))
				break;
		expect(failures || m.ctl->odd[1], "the right was never seen to be one or the other");
		expect(!failures, "view %zu", v);
		end_tables(&m);
	}
}

void two_tables(struct machine *m, u64 *entry)
{
	u64 *l3 = (u64 *)((u64)entry & ~(PAGE - 1)), i;
	u64 l3_gpa = GUEST_BASE + ((char *)l3 - m->memory);

	m->ctl->l3[0] = guests(m, l3);
	m->ctl->l3[1] = STALE_HIGH + new_table(m);
	m->ctl->garbage = FRAMES + SIZE;
	/* The entry that leads there. */
	for (i = TABLES; i < m->next_table; i += 8)
		if (*(u64 *)(m->memory + i) == (l3_gpa | DESC_TABLE))
			m->ctl->l2_entry = guests(m, (u64 *)(m->memory + i));
}

void stale_moved(void)
{
	/* Of more than the last level. */
	static const struct {
		u64 va, how;
	} views[] = {
		{ LOW_VA, HOW_SHARED }, { HIGH_VA, HOW_SHARED }, { HIGH_VA, HOW_ANY },
	};
	u64 *entry, n;
	struct machine m;
	size_t v;

	for (v = 0; v < ARRAY_SIZE(views) && !failures; v++) {
		entry = begin_tables(&m, views[v].va, views[v].how, STALE_PAGES);
		two_tables(&m, entry);
		start_vcpu(&m, guest_move);
		start_vcpu(&m, guest_read);
		for (n = 0; n < rounds(20) && !failures; n++)
			if (!progress(&m, 0, 1) || !progress(&m, 1, 1))
				break;
		expect(!failures, "view %zu", v);
		end_tables(&m);
	}
}

/* Level 1's entry for the pages' addresses. */
static u64 *level1(struct machine *m, u64 va)
{
	u64 *l0 = entries(m, GUEST_BASE + TABLES + (va >> 55 ? PAGE : 0)) + (va >> 39 & 511);

	if (!*l0)
		*l0 = new_table(m) | DESC_TABLE;
	return entries(m, *l0 & ~(PAGE - 1)) + (va >> 30 & 511);
}

/* A GiB as one leaf, or as 32 MiB with the contiguous bit. */
static void large_leaf(struct machine *m, u64 va, u64 size, u64 how)
{
	u64 attributes = DESC_BLOCK | DESC_XN | (va >> 55 ? 0 : DESC_NG), *l1, *l2, i;

	new_machine(m);
	m->frames = mmap(NULL, GIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->frames == MAP_FAILED || madvise(m->frames, GIB, MADV_NOHUGEPAGE))
		die("mmap");
	pages_slot(m, m->frames, GIB, 0);
	l1 = level1(m, va);
	if (size == GIB) {
		*l1 = FRAMES | attributes;
	} else {
		*l1 = new_table(m) | DESC_TABLE;
		l2 = entries(m, *l1 & ~(PAGE - 1));
		for (i = 0; i < 16; i++)
			l2[i] = (FRAMES + i * 0x200000) | attributes | DESC_CONT;
	}
	m->ctl->va = va;
	m->ctl->how = how;
	m->ctl->size = size;
	m->ctl->step = size == GIB ? 0x200000 : 0x10000;
}

void stale_leaf(void)
{
	static const struct {
		u64 va, size, how;
	} rows[] = {
		{ 0x80000000, GIB, HOW_LAST }, { 0x80000000, GIB, 0 },
		{ 0x80000000, 32 << 20, HOW_LAST }, { 0xffff808080000000, GIB, HOW_LAST | HOW_SHARED },
	};
	u64 n, pages, most, r;
	struct machine m;

	for (r = 0; r < ARRAY_SIZE(rows) && !failures; r++) {
		large_leaf(&m, rows[r].va, rows[r].size, rows[r].how);
		start_vcpu(&m, guest_leaf);
		for (most = 0, n = 0; n < rounds(12) && !failures; n++) {
			progress(&m, 0, 1);
			pages = read_stat(m.vm_stats, "shadow_pages");
			most = pages > most ? pages : most;
		}
		/* 512 tables of two pages each, as many that wait to be taken apart, and a few. */
		expect(most < 2200, "row %llu: %llu pages of shadow tables", (unsigned long long)r,
		       (unsigned long long)most);
		printf("result leaf.%llu.pages %llu count\n", (unsigned long long)r,
		       (unsigned long long)most);
		free_machine(&m);
		munmap(m.frames, GIB);
	}
}
