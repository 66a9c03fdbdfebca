// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of the guest that move (mmu/shadow/moved.c): the entries follow, and whatever the guest
 * does, each translation is one that it had at that place since the last TLBI of it.
 */
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "mmu/shadow/resync.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define TABLE		0x8000ULL	/* the guest's, one behind the other */
#define NR_TABLES	3
#define NR_PLACES	5
#define NR_USED		40		/* entries of a table that the guest uses */
#define NR_HAD		8

#define VALID		3ULL
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define RDONLY		AV_PTE_RDONLY

static u64 words[NR_TABLES][AV_ENTRIES];
static int hung[NR_PLACES];	/* the table there, or -1 */
/* What the guest had for each page since a TLBI reached it. */
static struct had {
	u64 key[NR_HAD];
	unsigned int nr;
} had[NR_PLACES][NR_USED];

static struct av_tree *tree;
static unsigned long moved, followed;

static u64 address(int place, int n)
{
	static const u64 base[NR_PLACES] = {
		0x40000000, 0x40200000, 0x80000000, 0x7000000000, 0x700000000000,
	};

	return base[place] + n * PAGE;
}

static int read_words(u64 ipa, u64 *to, unsigned int n)
{
	u64 at = (ipa - TABLE) / 8;

	if (ipa < TABLE || at + n > NR_TABLES * AV_ENTRIES)
		return -1;
	memcpy(to, &words[0][0] + at, n * 8);
	return 0;
}

static u64 key_at(int place, int n)
{
	return hung[place] < 0 ? 0 : av_walk_key(words[hung[place]][n], 0);
}

static void has_now(int place, int n)
{
	struct had *h = &had[place][n];

	if (h->nr < NR_HAD)
		h->key[h->nr++] = key_at(place, n);
}

static void all_of(int place, bool anew)
{
	int n;

	for (n = 0; n < NR_USED; n++) {
		if (anew)
			had[place][n].nr = 0;
		has_now(place, n);
	}
}

static enum av_found_table find(const struct av_resync *how, u64 va, struct av_fill *f)
{
	int place;

	for (place = 0; place < NR_PLACES; place++)
		if (address(place, 0) == va)
			break;
	if (below(8) == 0)
		return AV_TABLE_LATER;
	if (place == NR_PLACES || hung[place] < 0)
		return AV_TABLE_NONE;
	f->table = TABLE + hung[place] * PAGE;
	f->desc = av_walk_key(VALID, 0);
	return AV_TABLE_FOUND;
}

static void tlbi_asid(void)
{
	struct av_resync how = { .tree = tree, .find = find };
	int place;

	keep_tables = below(8);
	renewing = below(2) ? &how : NULL;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	renewing = NULL;
	for (place = 0; place < NR_PLACES; place++)
		all_of(place, true);
}

static void tlbi_pages(int place, int from, int to)
{
	tlbi(AV_TLBI_VA, address(place, from), address(place, to) + PAGE - 1, 1);
	for (; from <= to; from++)
		if (from < NR_USED) {
			had[place][from].nr = 0;
			has_now(place, from);
		}
}

static void change(void)
{
	int table = below(NR_TABLES), n = below(NR_USED), place;
	u64 *word = &words[table][n];

	for (place = 0; place < NR_PLACES; place++)
		if (hung[place] == table && had[place][n].nr >= NR_HAD - 1)
			tlbi_pages(place, n, n);
	if (*word && below(2))
		*word |= RDONLY;
	else
		*word = below(4) ? below(NR_GFNS) << 12 | AF | NG | AV_PTE_USER | VALID : 0;
	for (place = 0; place < NR_PLACES; place++)
		if (hung[place] == table)
			has_now(place, n);
}

static bool fault(int place, int n)
{
	const struct av_pt *before = av_shadow_table(tree, address(place, 0)), *pt;
	u64 desc = hung[place] < 0 ? 0 : words[hung[place]][n];

	if (!(desc & AF))
		return false;
	CHECK_EQ(fill_by(tree, address(place, n), desc >> 12 & (NR_GFNS - 1),
			 AV_R | (desc & RDONLY ? 0 : AV_W), av_walk_key(desc, 0),
			 TABLE + hung[place] * PAGE), 0);
	pt = av_shadow_table(tree, address(place, 0));
	CHECK(pt && pt->va == address(place, 0));
	if (before || pt->live < 2)
		return false;
	followed += pt->live - 1;
	return true;
}

static void move(void)
{
	int from = below(NR_PLACES), to = below(NR_PLACES);

	if (hung[from] < 0 || hung[to] >= 0)
		return;
	/* What was there is gone from all TLBs, as before a break is made good. */
	tlbi_pages(to, 0, AV_ENTRIES - 1);
	hung[to] = hung[from];
	all_of(to, false);
	if (below(8))
		hung[from] = -1;
	if (below(4))
		tlbi_asid();
	else
		tlbi_pages(from, 0, AV_ENTRIES - 1);
	moved += fault(to, below(NR_USED));
}

static bool was_there(const struct had *h, u64 pte)
{
	unsigned int i;

	for (i = 0; i < h->nr; i++)
		if (h->key[i] & VALID &&
		    (h->key[i] >> 12 & (NR_GFNS - 1)) + 0x100000 == (pte & AV_PTE_ADDR) >> 12 &&
		    !(h->key[i] & RDONLY & ~pte))
			return true;
	return false;
}

static void check_all(void)
{
	int place, n;

	check_rmap();
	for (place = 0; place < NR_PLACES; place++)
		for (n = 0; n < NR_USED; n++) {
			u64 pte = touch(tree, address(place, n));

			CHECK(!pte || was_there(&had[place][n], pte));
		}
}

static void event(void)
{
	int place = below(NR_PLACES), n = below(NR_USED);

	switch (below(12)) {
	case 0:
		move();
		break;
	case 1:
		tlbi_asid();
		break;
	case 2:
		tlbi_pages(place, n, n + below(3));
		break;
	case 3:
		zap(below(NR_GFNS), NR_GFNS);
		break;
	case 4 ... 6:
		change();
		break;
	default:
		fault(place, n);
	}
}

static void begin(void)
{
	int place, table, n;

	setup();
	guest_words = read_words;
	tree = get(0x1000, false, 1, 1);
	for (place = 0; place < NR_PLACES; place++)
		hung[place] = place < NR_TABLES ? place : -1;
	memset(words, 0, sizeof(words));
	for (table = 0; table < NR_TABLES; table++)
		for (n = 0; n < NR_USED; n++)
			words[table][n] = (u64)(table * 100 + n) << 12 | AF | NG | AV_PTE_USER | VALID;
	for (place = 0; place < NR_PLACES; place++)
		all_of(place, true);
}

static void end(void)
{
	unload(tree);
	teardown();
}

static void test_random(void)
{
	int round, i;

	for (round = 0; round < 60; round++) {
		begin();
		for (i = 0; i < 400; i++) {
			event();
			check_all();
		}
		end();
	}
	CHECK(moved > 50 && followed > 500);
}

/* A whole table moves: one fault brings all of its entries, and the old place has none. */
static void test_follows(void)
{
	int n;

	begin();
	for (n = 0; n < NR_USED; n++)
		fault(0, n);
	hung[4] = hung[0];
	hung[0] = -1;
	keep_tables = true;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK(fault(4, 7));
	CHECK_EQ(av_shadow_table(tree, address(4, 0))->live, NR_USED);
	for (n = 0; n < NR_USED; n++) {
		CHECK(touch(tree, address(4, n)));
		CHECK(!touch(tree, address(0, n)));
	}
	CHECK_EQ(tables_relinked, 1);
	end();
}

static unsigned int nr_tables_of_pages(void)
{
	unsigned int n = 0, id;

	for (id = 1; id < sh.fresh_id; id++)
		n += (uintptr_t)sh.by_id[id] >= sh.max.pts && sh.by_id[id]->level == 3;
	return n;
}

/* So do they where the TLBI is one of all its addresses; what the guest unmaps is dropped. */
static void test_follows_by_address(void)
{
	int n;

	begin();
	keep_tables = true;
	for (n = 0; n < NR_USED; n++) {
		fault(0, n);
		fault(1, n);
	}
	hung[4] = hung[0];
	hung[0] = -1;
	tlbi_pages(0, 0, AV_ENTRIES - 1);
	memset(words[1], 0, sizeof(words[1]));
	tlbi_pages(1, 0, AV_ENTRIES - 1);
	CHECK(fault(4, 7));
	CHECK_EQ(av_shadow_table(tree, address(4, 0))->live, NR_USED);
	CHECK_EQ(tables_relinked, 1);
	for (n = 0; n < NR_USED; n++)
		CHECK(!touch(tree, address(0, n)) && !touch(tree, address(1, n)));
	CHECK_EQ(nr_tables_of_pages(), 1);
	end();
}

/* While the host drops everything in parts, a table does not move to where it has been. */
static void test_host_drops_all(void)
{
	struct av_tlbi_walk walk = { .op = { .scope = AV_TLBI_ALL } };
	int n;

	begin();
	fault(1, 0);
	for (n = 0; n < NR_USED; n++)
		fault(0, n);
	hung[4] = hung[0];
	hung[0] = -1;
	keep_tables = true;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK(fault(4, 0));
	hung[0] = hung[4];
	hung[4] = -1;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	av_shadow_forbid_heirs(&sh);
	CHECK(tlbi_part(&walk, 2));
	CHECK(!fault(0, 7));
	while (tlbi_part(&walk, 2))
		;
	av_shadow_permit_heirs(&sh);
	for (n = 0; n < NR_USED; n++)
		CHECK(n == 7 || !touch(tree, address(0, n)));
	while (av_shadow_reap(&sh, NULL))
		;
	check_rmap();
	end();
}

/* A TLBI in parts has not been there yet: walkers may reach the table, whatever its generation. */
static void test_not_reached_yet(void)
{
	struct av_tlbi_walk walk = { .op = { .scope = AV_TLBI_ASID, .asid = 1 }, .keep = true };

	begin();
	hung[4] = hung[0];
	hung[0] = -1;
	fault(1, 0);
	fault(4, 0);
	fault(4, 1);
	hung[0] = hung[4];
	CHECK(tlbi_part(&walk, 2));
	CHECK(!fault(0, 7));
	CHECK(touch(tree, address(4, 1)));
	while (tlbi_part(&walk, 2))
		;
	CHECK(!touch(tree, address(4, 1)));
	check_rmap();
	end();
}

/* Where a larger leaf makes each part begin anew, tables are dropped, so that it ends. */
static void test_larger_leaf(void)
{
	struct av_tlbi_walk walk = {
		.op = { .scope = AV_TLBI_VA, .asid = 1, .start = 0x40000000, .last = 0x40000fff },
		.keep = true,
	};
	unsigned int i, parts = 0;

	begin();
	fill(tree, 0x40000000 + 100 * AV_BLOCK_SIZE, 5, 3, AV_R, 30, false);
	for (i = 0; i < 10; i++)
		CHECK_EQ(fill_by(tree, 0x40000000 + i * AV_BLOCK_SIZE, words[0][0] >> 12 & (NR_GFNS - 1),
				 AV_R, av_walk_key(words[0][0], 0), TABLE), 0);
	while (tlbi_part(&walk, 5) && parts < 1000)
		parts++;
	CHECK(parts > 0 && parts < 1000);
	for (i = 0; i < 10; i++)
		CHECK(!touch(tree, 0x40000000 + i * AV_BLOCK_SIZE));
	while (av_shadow_reap(&sh, NULL))
		;
	check_rmap();
	end();
}

/* While walkers may reach the table it stays where it is. */
static void test_in_use_stays(void)
{
	begin();
	fault(0, 1);
	fault(0, 2);
	hung[3] = hung[0];
	CHECK(!fault(3, 1));
	CHECK(touch(tree, address(0, 2)));
	CHECK(!touch(tree, address(3, 2)));
	end();
}

int main(void)
{
	RUN(test_follows);
	RUN(test_follows_by_address);
	RUN(test_host_drops_all);
	RUN(test_not_reached_yet);
	RUN(test_larger_leaf);
	RUN(test_in_use_stays);
	RUN(test_random);
	return TESTS_DONE();
}
