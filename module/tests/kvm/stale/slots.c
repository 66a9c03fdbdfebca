// SPDX-License-Identifier: GPL-2.0
/*
 * Two slots, the second one's frames right behind the first one's, with separate memory. The module
 * keeps the state of a slot's frames in pieces of 315 (module/mmu/slots/gfn_info.h), and the first
 * slot ends within one. A frame of the second slot must not use the rest of that piece.
 *
 * The guest goes through the first slot's last pages to the second slot's, all for the first time.
 * Then the VMM changes the second slot's memory, and the guest reads it again, without an
 * invalidation in between.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stale.h"

/* The guest's pages: this many at the first slot's end, and all of the second slot. */
#define BEFORE	8
#define AFTER	(STALE_PAGES - BEFORE)
#define CHANGED	24			/* of those, if not all are changed */
#define SECOND	(FRAMES + BEFORE * PAGE)

#define WRITTEN	(0x5555555555555555ULL & ((1ULL << AFTER) - 1))	/* that guest_edge() writes */

struct pair {
	struct machine m;
	char *first, *second;		/* the VMM's mappings */
	u64 pages;			/* of the first one */
	u64 number;			/* the first words of new pages count up from it */
	u64 wanted[STALE_PAGES];	/* the value that the guest must find there */
};

/* The first one's pages are no multiple of a piece's; the slots meet in a group of pages, or between two. */
static const struct {
	u64 va, how, pages;
} rows[] = {
	{ LOW_VA, HOW_LAST, 8 }, { LOW_VA + 3 * PAGE, 0, 331 },
	{ HIGH_VA + 3 * PAGE, HOW_LAST | HOW_SHARED, 8 }, { HIGH_VA, HOW_ANY, 331 },
};

/* The second word of a page, which the guest writes if the page's number is even. */
static u64 counter(const struct pair *p, u64 page)
{
	const char *at = page < BEFORE ? p->first + (p->pages - BEFORE + page) * PAGE :
					 p->second + (page - BEFORE) * PAGE;

	return ((volatile u64 *)at)[1];
}

/* New pages, here or anywhere. */
static char *new_pages(char *here, u64 pages, u64 number)
{
	char *at = mmap(here, pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | (here ? MAP_FIXED : 0), -1, 0);
	u64 i;

	if (at == MAP_FAILED)
		die("mmap");
	for (i = 0; i < pages; i++)
		*(u64 *)(at + i * PAGE) = number + i;
	return at;
}

static void put_slot(struct machine *m, u32 slot, u64 gpa, char *memory, u64 pages, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa, .memory_size = pages * PAGE,
		.userspace_addr = (u64)memory,
	};

	if (ioctl(m->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

static void put_second(struct pair *p, u32 flags)
{
	put_slot(&p->m, 2, SECOND, p->second, AFTER, flags);
}

/* The second slot goes, and is there again with other memory. */
static void replace_second(struct pair *p, u32 flags)
{
	char *old = p->second;

	put_slot(&p->m, 2, SECOND, NULL, 0, 0);
	p->second = new_pages(NULL, AFTER, p->number);
	put_second(p, flags);
	munmap(old, AFTER * PAGE);
}

/* Numbers that no page has had: one that was freed may be used for another at once. */
static void next_number(struct pair *p)
{
	p->number += 1000;
}

static void want(struct pair *p, u64 from, u64 pages, u64 number)
{
	u64 i;

	for (i = 0; i < pages; i++)
		p->wanted[from + i] = number + i;
}

/* The guest waits while all its pages are replaced, then goes through them in order. */
static void renew(struct pair *p, u32 flags)
{
	struct ctl *c = p->m.ctl;
	u64 i;

	__atomic_store_n(&c->hold, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 25000 && !failures && !__atomic_load_n(&c->held, __ATOMIC_ACQUIRE); i++)
		usleep(200);
	expect(failures || c->held, "the guest does not wait");
	next_number(p);
	new_pages(p->first, p->pages, p->number);
	replace_second(p, flags);
	want(p, 0, BEFORE, p->number + p->pages - BEFORE);
	want(p, BEFORE, AFTER, p->number);
	__atomic_store_n(&c->hold, 0, __ATOMIC_RELEASE);
	progress(&p->m, 0, 2);
}

/* The guest sees the current contents, and writes to the VMM's current memory. */
static void check(struct pair *p)
{
	u64 last[STALE_PAGES], i;

	progress(&p->m, 0, 2);
	for (i = 0; i < STALE_PAGES && !failures; i++)
		expect(p->m.ctl->seen[i] == p->wanted[i], "page %llu: the guest sees %llu, not %llu",
		       (unsigned long long)i, (unsigned long long)p->m.ctl->seen[i],
		       (unsigned long long)p->wanted[i]);
	for (i = 0; i < STALE_PAGES; i++)
		last[i] = counter(p, i);
	progress(&p->m, 0, 2);
	for (i = 0; i < STALE_PAGES && !failures; i++)
		expect((counter(p, i) != last[i]) == !(i % 2), "page %llu: written elsewhere",
		       (unsigned long long)i);
}

/* ---- the VMM's changes ---- */

static void dont_need(struct pair *p)
{
	if (madvise(p->second, CHANGED * PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	memset(p->wanted + BEFORE, 0, CHANGED * sizeof(u64));
}

static void map_over(struct pair *p)
{
	next_number(p);
	new_pages(p->second, CHANGED, p->number);
	want(p, BEFORE, CHANGED, p->number);
}

static void other_slot(struct pair *p)
{
	struct machine *m = &p->m;

	__atomic_store_n(&m->may_miss, true, __ATOMIC_RELEASE);
	next_number(p);
	replace_second(p, 0);
	want(p, BEFORE, AFTER, p->number);
	progress(m, 0, 1);
	__atomic_store_n(&m->may_miss, false, __ATOMIC_RELEASE);
}

static u64 get_log(struct pair *p)
{
	u64 bits = 0;
	struct kvm_dirty_log log = { .slot = 2, .dirty_bitmap = &bits };

	if (ioctl(p->m.vm, KVM_GET_DIRTY_LOG, &log))
		die("KVM_GET_DIRTY_LOG");
	return bits;
}

static void check_log(struct pair *p)
{
	u64 log;

	progress(&p->m, 0, 2);
	get_log(p);
	progress(&p->m, 0, 2);
	log = get_log(p);
	expect(log == WRITTEN, "logged: %#llx, not %#llx", (unsigned long long)log,
	       (unsigned long long)WRITTEN);
}

/* Of pages that were there before it is logged, and that come while it is. */
static void logged(struct pair *p)
{
	put_second(p, KVM_MEM_LOG_DIRTY_PAGES);
	check_log(p);
	renew(p, KVM_MEM_LOG_DIRTY_PAGES);
	check_log(p);
	dont_need(p);
	check_log(p);
}

/* ---- all of it ---- */

static void begin(struct pair *p, int row)
{
	u64 va = rows[row].va, attributes = DESC_PAGE | DESC_XN | (va >> 55 ? 0 : DESC_NG), i;
	struct machine *m = &p->m;

	memset(p, 0, sizeof(*p));
	new_machine(m);
	p->pages = rows[row].pages;
	p->number = 1;
	p->first = new_pages(NULL, p->pages, p->number);
	p->second = new_pages(NULL, AFTER, p->number);
	put_slot(m, 1, SECOND - p->pages * PAGE, p->first, p->pages, 0);
	put_second(p, 0);
	for (i = 0; i < STALE_PAGES; i++)
		map_page(m, va + i * PAGE, (FRAMES + i * PAGE) | attributes);
	m->ctl->va = va;
	m->ctl->how = rows[row].how;
	start_vcpu(m, guest_edge);
	progress(m, 0, 2);
}

static void end(struct pair *p)
{
	free_machine(&p->m);
	munmap(p->first, p->pages * PAGE);
	munmap(p->second, AFTER * PAGE);
}

void stale_adjacent(void)
{
	static const struct {
		const char *name;
		void (*act)(struct pair *p);
	} acts[] = {
		{ "MADV_DONTNEED", dont_need }, { "MAP_FIXED", map_over },
		{ "another slot", other_slot }, { "logged", logged },
	};
	struct pair p;
	size_t row;
	u64 n, a;

	for (row = 0; row < ARRAY_SIZE(rows) && !failures; row++) {
		begin(&p, row);
		for (n = 0; n < setting("TIMES", 4) * ARRAY_SIZE(acts) && !failures; n++) {
			a = n % ARRAY_SIZE(acts);
			renew(&p, 0);
			acts[a].act(&p);
			check(&p);
			expect(!failures, "%s, row %zu", acts[a].name, row);
		}
		end(&p);
	}
}
