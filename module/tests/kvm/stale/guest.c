// SPDX-License-Identifier: GPL-2.0
/*
 * The guests of main.c, in a separate section that is copied into the guest's memory: they refer
 * to nothing outside of it, and keep their state in struct ctl.
 */
#include "stale.h"

#define GUEST_TEXT	__attribute__((section("guest_text"), noinline, used))
#define ONCE(x)	(*(volatile __typeof__(x) *)&(x))

#define DEVICE	(STALE_HIGH + GUEST_MMIO)

static inline u64 acquire(u64 *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void release(u64 *at, u64 value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static inline void complain(u64 what, u64 where, u64 got, u64 wanted)
{
	register u64 x0 asm("x0") = what;
	register u64 x1 asm("x1") = where;
	register u64 x2 asm("x2") = got;
	register u64 x3 asm("x3") = wanted;

	asm volatile("str	%0, [%4]" :: "r" (x0), "r" (x1), "r" (x2), "r" (x3), "r" (DEVICE + 8)
		     : "memory");
}

/* A round is done: a moment to be stopped. */
static inline void done(struct ctl *c, int vcpu)
{
	release(&c->rounds[vcpu], c->rounds[vcpu] + 1);
	*(volatile u64 *)DEVICE = 0;
}

static inline void tlbi(u64 how, u64 va)
{
	u64 x = (u64)STALE_ASID << 48 | (va >> 12 & 0xfffffffffffULL);

	asm volatile("dsb ish" ::: "memory");
	/* No switch: its table would be outside of the guest. */
	if (how & HOW_ANY && how & HOW_LAST)
		asm volatile("tlbi vaale1is, %0" :: "r" (x));
	else if (how & HOW_ANY)
		asm volatile("tlbi vaae1is, %0" :: "r" (x));
	else if (how & HOW_SHARED && how & HOW_LAST)
		asm volatile("tlbi vale1is, %0" :: "r" (x));
	else if (how & HOW_SHARED)
		asm volatile("tlbi vae1is, %0" :: "r" (x));
	else if (how & HOW_LAST)
		asm volatile("tlbi vale1, %0" :: "r" (x));
	else
		asm volatile("tlbi vae1, %0" :: "r" (x));
	asm volatile("dsb ish\n\tisb" ::: "memory");
}

/* Store, and say whether that was refused. */
static inline bool refused(u64 va, u64 value)
{
	u64 left;

	asm volatile("msr	tpidr_el1, %1\n\t"
		     "str	%2, [%1]\n\t"
		     "mrs	%0, tpidr_el1\n\t"
		     "msr	tpidr_el1, xzr"
		     : "=r" (left) : "r" (va), "r" (value) : "memory");
	return !left;
}

static inline u64 random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* ---- one vCPU, and a VMM that changes the memory ---- */

/* Counters are written in every other page, and compared in all. */
static inline void look_at(struct ctl *c, u64 i, bool alone)
{
	volatile u64 *page = (volatile u64 *)(c->va + i * PAGE);
	u64 since = acquire(&c->since[i]), first, second;

	if (alone)
		tlbi(c->how, (u64)page);
	first = page[0];
	if (first < since)
		complain(BAD_OLD, i, first, since);
	second = page[1];
	if (c->mode && second != c->expected[i])
		complain(BAD_COUNT, i, second, c->expected[i]);
	if (i % 2)
		return;
	page[1] = second + 1;
	c->expected[i] = second + 1;
}

/* Pages are invalidated one by one as they are looked at, or all of them first: then they come in groups. */
GUEST_TEXT void guest_look(struct ctl *c)
{
	u64 i, strict, n;

	for (n = 0;; n++) {
		strict = acquire(&c->strict);
		if (strict && !c->mode)
			for (i = 0; i < STALE_PAGES; i++)
				c->expected[i] = ((volatile u64 *)(c->va + i * PAGE))[1];
		release(&c->mode, strict);
		for (i = 0; i < STALE_PAGES && n % 2; i++)
			tlbi(c->how, c->va + i * PAGE);
		for (i = 0; i < STALE_PAGES; i++)
			look_at(c, (i * 37 + n) % STALE_PAGES, !(n % 2));
		done(c, 0);
	}
}

/* ---- one page that leads to a frame after the other ---- */

/* A frame through the page: its contents, whether a store is refused, and where that shows. */
static inline void poke(struct ctl *c, u64 i, u64 n, bool rdonly)
{
	volatile u64 *page = (volatile u64 *)(c->va + POKED * PAGE);
	volatile u64 *alias = (volatile u64 *)(c->va + i * PAGE);
	u64 first, seq, since;
	bool no;

	seq = acquire(&c->seq);
	since = acquire(&c->since[i]);
	first = page[0];
	if (first < since || first % STALE_PAGES != i)
		complain(BAD_OLD, i, first, since);
	no = refused((u64)(page + 1), n);
	if (no != rdonly)
		complain(BAD_RIGHTS, i, no, rdonly);
	first = alias[1];
	asm volatile("dmb ish" ::: "memory");
	if (!no && first != n && !(seq & 1) && acquire(&c->seq) == seq)
		complain(BAD_COUNT, i, first, n);
}

/*
 * The same frame some times in a row, with other rights now and then; with nothing in between, and
 * with the entry written over without having been 0.
 */
GUEST_TEXT void guest_poke(struct ctl *c)
{
	volatile u64 *entry = (volatile u64 *)c->l3[0];
	u64 n, i = 0;

	for (n = 1;; n++) {
		bool rdonly = n % 8 == 5;

		if (n % 4 == 0)
			i = random(&c->seed) % STALE_PAGES;
		*entry = (FRAMES + i * PAGE) | DESC_PAGE | DESC_XN | (rdonly ? DESC_RDONLY : 0);
		asm volatile("dsb ishst\n\tisb" ::: "memory");
		poke(c, i, n, rdonly);
		if (n % 3)
			*entry = 0;
		if (n % 5 == 0)
			tlbi(c->how, c->va + random(&c->seed) % STALE_PAGES * PAGE);
		tlbi(c->how, c->va + POKED * PAGE);
		if (n % 3 && n % 16 == 7 && !refused(c->va + POKED * PAGE + 8, n))
			complain(BAD_RIGHTS, i, 0, 2);
		if (n % 64 == 0)
			done(c, 0);
	}
}

/* Another vCPU, which has the frames by addresses of their own. */
GUEST_TEXT void guest_aside(struct ctl *c)
{
	u64 n, i, seed = 99, since, first;

	for (n = 1;; n++) {
		i = random(&seed) % STALE_PAGES;
		since = acquire(&c->since[i]);
		first = *(volatile u64 *)(c->va + i * PAGE);
		if (first < since || first % STALE_PAGES != i)
			complain(BAD_OLD, i, first, since);
		if (n % 4 == 0)
			tlbi(HOW_LAST | HOW_SHARED, c->va + i * PAGE);
		if (n % 64 == 0)
			done(c, 1);
	}
}

/* ---- rights that change ---- */

/*
 * Page 1 is made read-only and writable again: c->state says which it is, while
 * c->seq is even. The table of the pages is c->l3[0], its entry for page 0.
 */
GUEST_TEXT void guest_toggle(struct ctl *c)
{
	volatile u64 *entry = (volatile u64 *)c->l3[0] + 1;
	u64 delay;

	for (;;) {
		release(&c->seq, c->seq + 1);
		*entry ^= DESC_RDONLY;
		tlbi(c->how, c->va + PAGE);
		release(&c->state, !c->state);
		release(&c->seq, c->seq + 1);
		if (c->seq % 64 == 0)
			done(c, 0);
		/* Let the other one see it, or run into the next change. */
		delay = random(&c->seed) % 128;
		for (delay = delay < 64 ? 0 : delay * 512; delay; delay--)
			asm volatile("");
	}
}

/*
 * Page 0 is always writable, 2 always read-only, also just when the one between them was filled;
 * the memory of 2 is written elsewhere, so that it is known to be writable.
 */
GUEST_TEXT void guest_probe(struct ctl *c)
{
	u64 n, i, seq, state, no;

	for (n = 0;; n++) {
		seq = acquire(&c->seq);
		state = acquire(&c->state);
		if (n % 3 == 0)
			(void)*(volatile u64 *)(c->va + PAGE);
		no = refused(c->va + PAGE + 8, n);
		if (!(seq & 1) && acquire(&c->seq) == seq) {
			c->odd[1]++;
			if (no != state)
				complain(BAD_RIGHTS, 1, no, state);
		}
		if (!refused(c->va + 2 * PAGE + 8, n))
			complain(BAD_RIGHTS, 2, 0, 1);
		if (refused(c->va + 8, n))
			complain(BAD_RIGHTS, 0, 1, 0);
		if (n % 16 == 0)
			*(volatile u64 *)(c->va + ALIAS * PAGE + 16) = n;
		/* Map one of them again, or all of them. */
		if (n % 4 == 0)
			tlbi(HOW_LAST, c->va + random(&c->seed) % 3 * PAGE);
		for (i = 0; i < 3 && n % 2; i++)
			tlbi(HOW_LAST, c->va + (i + n / 2) % 3 * PAGE);
		if (n % 64 == 0)
			done(c, 1);
	}
}

/* ---- tables that move ---- */

/* Entries that lead astray: to a frame of garbage, or nowhere, with any rights. */
static inline u64 garbage(struct ctl *c, u64 i)
{
	u64 word = random(&c->seed) << 40 ^ random(&c->seed) << 20 ^ random(&c->seed);

	if (i % 4 == 0)
		return c->garbage | DESC_PAGE | DESC_XN | (word & DESC_NG);
	if (i % 4 == 1)
		return c->garbage | DESC_PAGE | DESC_XN | DESC_RDONLY;
	return i % 4 == 2 ? word : 0;
}

/*
 * Two tables of level 3 say the same; level 2 leads to one of them, by turns. Once
 * that is invalidated, the other one is used for something else.
 */
GUEST_TEXT void guest_move(struct ctl *c)
{
	u64 n, i, keep;

	for (n = 0;; n++) {
		volatile u64 *now = (volatile u64 *)c->l3[n % 2];
		volatile u64 *next = (volatile u64 *)c->l3[(n + 1) % 2];

		for (i = 0; i < 512; i++) {
			keep = now[i];
			next[i] = keep;
		}
		asm volatile("dsb ish" ::: "memory");
		*(volatile u64 *)c->l2_entry = ((u64)next - STALE_HIGH) | DESC_TABLE;
		tlbi(c->how, c->va + random(&c->seed) % STALE_PAGES * PAGE);
		for (i = 0; i < 512; i++)
			now[i] = garbage(c, i + n);
		asm volatile("dsb ish" ::: "memory");
		if (n % 8 == 0)
			done(c, 0);
	}
}

/*
 * Each page holds its number. A page that was read is invalidated, so that the next read walks
 * again.
 */
GUEST_TEXT void guest_read(struct ctl *c)
{
	u64 n = 0, i, k, seed = 77, got;

	for (;;) {
		i = random(&seed) % STALE_PAGES;
		got = *(volatile u64 *)(c->va + i * PAGE);
		if (got != i + 1)
			complain(BAD_GARBAGE, i, got, i + 1);
		*(volatile u64 *)(c->va + i * PAGE + 16) = n;
		if (random(&seed) % 4 == 0)
			tlbi(HOW_LAST, c->va + random(&seed) % STALE_PAGES * PAGE);
		/* And now and then all of a group, which is filled at once then. */
		for (k = n % 16 ? 16 : 0; k < 16; k++)
			tlbi(HOW_LAST, c->va + (i / 16 * 16 + k) % STALE_PAGES * PAGE);
		if (++n % 256 == 0)
			done(c, 1);
	}
}

/* ---- a large leaf ---- */

/* A page of each piece, then one address of the leaf is invalidated. */
GUEST_TEXT void guest_leaf(struct ctl *c)
{
	u64 at, n;

	for (n = 1;; n++) {
		for (at = 0; at < c->size; at += c->step) {
			volatile u64 *page = (volatile u64 *)(c->va + at);

			if (page[0] != n - 1)
				complain(BAD_OLD, at, page[0], n - 1);
			page[0] = n;
		}
		tlbi(c->how, c->va + random(&c->seed) % (c->size / PAGE) * PAGE);
		done(c, 0);
	}
}

/* ---- two slots ---- */

/*
 * All pages in their order, without an invalidation: what they hold is told, and every other
 * one is written. Before it waits, the pages are invalidated from both ends by turns, so
 * that the two slots' come in alternation.
 */
GUEST_TEXT void guest_edge(struct ctl *c)
{
	u64 i, n;

	for (n = 1;; n++) {
		if (acquire(&c->hold)) {
			for (i = 0; i < STALE_PAGES; i++)
				tlbi(c->how, c->va + (i % 2 ? STALE_PAGES - 1 - i / 2 : i / 2) * PAGE);
			release(&c->held, 1);
			while (acquire(&c->hold))
				;
			release(&c->held, 0);
		}
		for (i = 0; i < STALE_PAGES; i++) {
			volatile u64 *page = (volatile u64 *)(c->va + i * PAGE);

			release(&c->seen[i], page[0]);
			if (i % 2 == 0)
				page[1] = n;
		}
		done(c, 0);
	}
}

/* ---- faults of EL0 ---- */

struct user_access {
	u64 esr, word;
};

struct user_access guest_user(u64 va, u64 write, u64 text);

#define ESR_SVC		0x56000000ULL
#define ESR_ABORT	0x92000000ULL	/* a data abort from EL0 */
#define ESR_WRITE	0x40ULL
#define FSC_TRANSLATION	0x07ULL
#define FSC_ACCESS	0x0bULL
#define FSC_PERMISSION	0x0fULL

/* The result of an access by a descriptor. */
static inline u64 answer(u64 desc, u64 write)
{
	u64 fault = ESR_ABORT | (write ? ESR_WRITE : 0);

	if (!(desc & 1))
		return fault | FSC_TRANSLATION;
	if (!(desc & DESC_AF))
		return fault | FSC_ACCESS;
	if (!(desc & DESC_USER) || (write && desc & DESC_RDONLY))
		return fault | FSC_PERMISSION;
	return ESR_SVC;
}

static inline void try_user(struct ctl *c, u64 i, u64 desc, u64 write)
{
	u64 va = c->va + i * PAGE;
	struct user_access got = guest_user(va, write, c->user_text);

	if (got.esr != answer(desc, write))
		complain(BAD_USER, i | write << 32, got.esr, desc);
	if (got.esr != ESR_SVC && got.word != va)
		complain(BAD_FAULT, i, got.word, va);
}

/* Not there; or as a user's page; read-only; not accessed; the kernel's. */
static inline u64 some_desc(struct ctl *c, u64 i)
{
	u64 desc = (FRAMES + i * PAGE) | DESC_PAGE | DESC_USER | DESC_NG | DESC_XN;

	switch (random(&c->seed) % 8) {
	case 0: case 1: case 2:
		return 0;
	case 3:
		return desc | DESC_RDONLY;
	case 4:
		return desc & ~DESC_AF;
	case 5:
		return desc & ~DESC_USER;
	default:
		return desc;
	}
}

/*
 * Entries change, and EL0 looks. Then page 0 is not there, and seen not to be; the VMM has another
 * page in place of the table, in which it is: nothing needs to be invalidated for that.
 */
GUEST_TEXT void guest_own(struct ctl *c)
{
	volatile u64 *entry = (volatile u64 *)c->l3[0];
	u64 n, i, k;

	for (n = 1;; n++) {
		for (i = 0; i < 8; i++) {
			entry[i] = some_desc(c, i);
			tlbi(c->how, c->va + i * PAGE);
		}
		for (k = 0; k < 24; k++) {
			i = random(&c->seed) % 8;
			try_user(c, i, entry[i], random(&c->seed) % 2);
		}
		entry[0] = 0;
		tlbi(c->how, c->va);
		for (k = 0; k < 4; k++)
			try_user(c, 0, 0, k % 2);
		if (n % 4 == 0) {
			release(&c->ask, n);
			while (acquire(&c->given) != n)
				;
			try_user(c, 0, entry[0], 1);
			try_user(c, 0, entry[0], 0);
			if (!entry[0])
				complain(BAD_OLD, 0, 0, 0);
		}
		done(c, 0);
	}
}

/* As guest_read(), from EL0, and of pages that are never there: guest_move()'s garbage has them. */
GUEST_TEXT void guest_user_reads(struct ctl *c)
{
	u64 n = 0, i, seed = 77;

	for (;;) {
		struct user_access got;

		i = random(&seed) % STALE_PAGES;
		got = guest_user(c->va + i * PAGE, 0, c->user_text);
		if (got.esr != ESR_SVC || got.word != i + 1)
			complain(BAD_GARBAGE, i, got.esr, got.word);
		try_user(c, ABSENT + i, 0, n % 2);
		if (random(&seed) % 4 == 0)
			tlbi(HOW_LAST, c->va + random(&seed) % STALE_PAGES * PAGE);
		if (++n % 256 == 0)
			done(c, 1);
	}
}
