// SPDX-License-Identifier: GPL-2.0
/* Finding the annex's place, before a kernel's code or in a hole: see annex_find.h. */
#include "mmu/shadow/shadow.h"
#include "mmu/stub/annex_find.h"
#include "mmu/stub/stub.h"
#include "switch/window_desc.h"

/* How far below the vectors to look for an Image, and how far above for a hole. */
#define FAR_BELOW	(64ULL << 20)
#define FAR_ABOVE	(64ULL << 20)
/* Least size of a hole, and of the parts of the image around it. */
#define HOLE		(512ULL << 10)
#define RUN		(HOLE / AV_STUB_AREA)
/* Most places in a hole to try. */
#define TRIES		4

#define IMAGE_MAGIC	0x644d5241	/* "ARM\x64", at byte 56 */
#define IMAGE_SIZE	2		/* words of the header */
#define IMAGE_MAGIC_AT	7

/* Words read at once. */
#define WORDS		64
#define NOPS		0xd503201fd503201f

static void step(struct av_annex_search *s)
{
	if (!(++s->steps % AV_ANNEX_STEPS))
		s->offer();
}

static int walk(struct av_annex_search *s, u64 va, struct av_walk *at)
{
	step(s);
	return av_walk(s->regime, s->mem, s->ctx, va, at);
}

static bool read_words(struct av_annex_search *s, u64 ipa, u64 *words, unsigned int n)
{
	step(s);
	return !s->words(s->ctx, ipa, words, n);
}

/* Not in the last GiB, where the window may move to. */
static bool may_be_at(u64 va)
{
	return !(va % AV_STUB_AREA) && va < AV_WINDOW_GIB;
}

/* ---- before the code ---- */

/* The address of the Image that contains the vectors, which are at ipa; 0: none. */
static u64 find_image(struct av_annex_search *s, u64 vbar, u64 ipa)
{
	u64 below, words[8];

	for (below = vbar % AV_STUB_AREA; below < FAR_BELOW && below <= ipa;
	     below += AV_STUB_AREA) {
		if (!read_words(s, ipa - below, words, ARRAY_SIZE(words)))
			return 0;
		if ((u32)words[IMAGE_MAGIC_AT] == IMAGE_MAGIC && words[IMAGE_SIZE] > below)
			return vbar - below;
	}
	return 0;
}

/* Is the page a linker's padding: zeroes, or NOPs? */
static bool is_gap(struct av_annex_search *s, u64 ipa)
{
	u64 words[WORDS];
	unsigned int i, j;

	for (i = 0; i < AV_PAGE_SIZE; i += sizeof(words)) {
		if (!read_words(s, ipa + i, words, WORDS))
			return false;
		for (j = 0; j < WORDS; j++)
			if (words[j] && words[j] != NOPS)
				return false;
	}
	return true;
}

/*
 * Has an Image at va reserved pages that it does not use? All pages before the code must be
 * mapped non-executable, from ipa on as they are in memory, and all but the first, which has
 * the header, must be padding.
 */
static bool is_reserved(struct av_annex_search *s, u64 va, u64 ipa)
{
	struct av_walk at;
	u64 i;

	for (i = 0; i < AV_STUB_AREA; i += AV_PAGE_SIZE) {
		if (walk(s, va + i, &at) || at.el1 & AV_X || at.ipa != ipa + i)
			return false;
		if (i && !is_gap(s, at.ipa))
			return false;
	}
	return true;
}

static bool find_front(struct av_annex_search *s, u64 vbar, u64 ipa, struct av_annex_place *place)
{
	u64 va = find_image(s, vbar, ipa);

	if (!va || !may_be_at(va))
		return false;
	ipa -= vbar - va;
	if (!is_reserved(s, va, ipa))
		return false;
	*place = (struct av_annex_place) { .va = va, .anchor = va, .ipa = ipa };
	return true;
}

/* ---- in a hole ---- */

/* Consecutive pages of an image, AV_STUB_AREA apart. */
struct run {
	u64 first, last;
	unsigned int nr;
	u8 rights;		/* EL1's, of the last page */
	bool written;		/* all of them are writable and not executable */
};

static void add_page(struct run *run, u64 va, u8 rights)
{
	bool written = (rights & (AV_W | AV_X)) == AV_W;

	if (!run->nr++) {
		run->first = va;
		run->written = true;
	}
	run->last = va;
	run->rights = rights;
	run->written &= written;
}

static bool is_empty(struct av_annex_search *s, u64 va)
{
	struct av_walk at;
	u64 i;

	for (i = 0; i < AV_STUB_AREA; i += AV_PAGE_SIZE)
		if (!av_walk_empty(walk(s, va + i, &at)))
			return false;
	return true;
}

/* The first free place in a hole that begins after the page at anchor. */
static bool find_empty(struct av_annex_search *s, u64 anchor, u64 ipa,
		       struct av_annex_place *place)
{
	u64 va = anchor & ~(AV_STUB_AREA - 1ULL);
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		va += AV_STUB_AREA;
		if (!may_be_at(va) || !is_empty(s, va))
			continue;
		*place = (struct av_annex_place) {
			.va = va, .anchor = anchor, .ipa = ipa, .hole = true,
		};
		return true;
	}
	return false;
}

/*
 * Look between the read-only and the writable part of the same image, which has the same layout
 * in memory as in the address space: something between them has been unmapped. A page with
 * another offset in memory is not the image's.
 */
static bool find_hole(struct av_annex_search *s, u64 vbar, u64 ipa, struct av_annex_place *place)
{
	u64 va = vbar & ~(AV_STUB_AREA - 1ULL), end = va + FAR_ABOVE;
	struct run below = {}, run = {};
	struct av_walk at;

	for (va += AV_STUB_AREA; va < end && va > vbar; va += AV_STUB_AREA) {
		if (walk(s, va, &at)) {
			if (run.nr)
				below = run;
			run.nr = 0;
			continue;
		}
		if (at.ipa - va != ipa - vbar)
			return false;
		add_page(&run, va, at.el1);
		if (run.nr == RUN && run.written && below.nr >= RUN && below.rights == AV_R &&
		    run.first - below.last > HOLE)
			return find_empty(s, below.last, below.last - vbar + ipa, place);
	}
	return false;
}

bool av_annex_find(struct av_annex_search *s, u64 vbar, struct av_annex_place *place)
{
	struct av_walk at;

	/* Stubs are for little-endian kernels with untagged addresses. */
	if (s->regime->sctlr & AV_SCTLR_EE || !(vbar & BIT_ULL(55)) ||
	    av_untag(s->regime, vbar) != vbar || walk(s, vbar, &at))
		return false;
	return find_front(s, vbar, at.ipa, place) || find_hole(s, vbar, at.ipa, place);
}
