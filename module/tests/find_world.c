// SPDX-License-Identifier: GPL-2.0
/* A guest for tests of the search for the annex's place: see find_world.h. */
#include "find_world.h"
#include "require.h"

#define NR_WORDS	128

struct world w;
u64 tables[NR_TABLES][AV_ENTRIES];
unsigned int nr_tables;

static struct {
	u64 ipa, word;
} words[NR_WORDS];
static unsigned int nr_words;

static const u64 *broken;
static int broken_ret;

/* Walks and reads since the CPU was offered, and how often it was. */
static unsigned int since, offers;

void reset(u64 image, u64 ipa)
{
	memset(tables, 0, (nr_tables ?: NR_TABLES) * sizeof(tables[0]));
	nr_tables = 2;
	nr_words = 0;
	broken = NULL;
	w = (struct world) {
		.regime = {
			.sctlr = AV_SCTLR_M,
			.tcr = 16 | 16 << 16 | FIELD_PREP(AV_TCR_TG1, 2) |
			       FIELD_PREP(AV_TCR_IPS, 2),
			.ttbr0 = TABLES, .ttbr1 = TABLES + AV_PAGE_SIZE, .ipa_bits = 40,
		},
		.vbar = image + AREA + 0x800,
		.image = image, .ipa = ipa, .memory = MEMORY,
	};
}

/* ---- tables ---- */

static u64 *desc_at(u64 va, int last)
{
	u64 *desc = &tables[va >> 55 & 1][va >> 39 & 511];
	int level;

	for (level = 1; level <= last; level++) {
		if (!*desc) {
			REQUIRE(nr_tables < NR_TABLES);
			*desc = (TABLES + nr_tables++ * AV_PAGE_SIZE) | TABLE;
		}
		desc = &tables[(*desc - TABLES) >> 12][va >> (39 - 9 * level) & 511];
	}
	return desc;
}

u64 *page_of(u64 va)
{
	return desc_at(va, 3);
}

u64 *block_of(u64 va)
{
	return desc_at(va, 2);
}

u64 area(unsigned int n)
{
	return w.image + n * AREA;
}

u64 area_ipa(unsigned int n)
{
	return w.ipa + n * AREA;
}

void map_areas(unsigned int first, unsigned int nr, u64 desc)
{
	u64 at;

	for (at = first * AREA; at < (first + nr) * AREA; at += AV_PAGE_SIZE)
		*page_of(w.image + at) = desc ? desc | (w.ipa + at) : 0;
}

void break_desc(const u64 *desc, int ret)
{
	broken = desc;
	broken_ret = ret;
}

static int read_table(u64 ipa, u64 *val)
{
	const u64 *desc;

	if (ipa < TABLES || ipa - TABLES >= sizeof(tables))
		return 1;
	desc = &tables[0][0] + (ipa - TABLES) / sizeof(*desc);
	if (desc == broken)
		return broken_ret;
	*val = *desc;
	return 0;
}

/* ---- memory ---- */

void put(u64 ipa, u64 word)
{
	REQUIRE(nr_words < NR_WORDS);
	words[nr_words].ipa = ipa;
	words[nr_words++].word = word;
}

void put_header(u64 ipa, u64 size)
{
	put(ipa + 16, size);
	put(ipa + 56, IMAGE_MAGIC);
}

/* The last one put there counts. */
bool peek(u64 ipa, u64 *word)
{
	unsigned int i;

	if (ipa < w.memory || ipa >= MEMORY_END)
		return false;
	*word = w.filler;
	for (i = 0; i < nr_words; i++)
		if (words[i].ipa == ipa)
			*word = words[i].word;
	return true;
}

/* ---- a search ---- */

static void count(unsigned int *what)
{
	++*what;
	REQUIRE(++since <= AV_ANNEX_STEPS);
}

/* Each walk reads one descriptor of a root. */
static int read64(void *ctx, u64 ipa, u64 *val)
{
	REQUIRE(ctx == &w && !(ipa & 7));
	if (ipa >> 12 == w.regime.ttbr0 >> 12 || ipa >> 12 == w.regime.ttbr1 >> 12)
		count(&w.walks);
	return read_table(ipa, val);
}

static int read_words(void *ctx, u64 ipa, u64 *to, unsigned int n)
{
	unsigned int i;

	count(&w.reads);
	REQUIRE(ctx == &w && !(ipa & 7));
	REQUIRE(ipa < 1ULL << 40);
	REQUIRE(n && ipa % AV_PAGE_SIZE + n * 8 <= AV_PAGE_SIZE);
	if (w.reads == w.fails)
		return -EFAULT;
	for (i = 0; i < n; i++)
		if (!peek(ipa + i * 8, &to[i]))
			return -EFAULT;
	return 0;
}

static void offer(void)
{
	since = 0;
	offers++;
}

bool find(struct av_annex_place *place)
{
	static const struct av_mem_ops mem = { .read64 = read64 };
	struct av_annex_search search = {
		.regime = &w.regime, .mem = &mem, .ctx = &w, .words = read_words, .offer = offer,
	};
	bool found;

	w.walks = 0;
	w.reads = 0;
	since = 0;
	offers = 0;
	found = av_annex_find(&search, w.vbar, place);
	REQUIRE(search.steps == w.walks + w.reads);
	REQUIRE(search.steps <= MOST_STEPS);
	REQUIRE(offers == search.steps / AV_ANNEX_STEPS);
	return found;
}

static int look64(void *ctx, u64 ipa, u64 *val)
{
	return read_table(ipa, val);
}

int look(u64 va, struct av_walk *at)
{
	static const struct av_mem_ops mem = { .read64 = look64 };

	return av_walk(&w.regime, &mem, NULL, va, at);
}
