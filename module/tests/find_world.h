/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest for tests of the search for the annex's place: tables of 4 KiB granules, and memory that
 * repeats one word, with a few exceptions. Its kernel's image has the same layout in memory as in
 * the address space. In units of 64 KiB from its start:
 *
 *	0		the Image's header, and the gap behind it
 *	1		the vectors
 *	2...		code and read-only data
 *
 * Each search is also checked for its bounds: it offers the CPU after each AV_ANNEX_STEPS of its
 * walks and reads, and makes at most MOST_STEPS.
 */
#ifndef AV_TESTS_FIND_WORLD_H
#define AV_TESTS_FIND_WORLD_H

#include "mmu/stub/annex_find.h"
#include "mmu/shadow/shadow.h"
#include "mmu/stub/stub.h"

#define AREA		((u64)AV_STUB_AREA)
#define PAGES		(AV_STUB_AREA / AV_PAGE_SIZE)
#define MIB		(1ULL << 20)

/* The vectors, headers and the page of each area, and each word; samples, and four areas. */
#define MOST_STEPS	(1 + 1024 + 16 + 15 * 4096 / 512 + 1023 + 4 * 16)

#define IMAGE		0xffff800010000000ULL
#define IMAGE_IPA	0x48000000ULL
#define IMAGE_MAGIC	0x644d5241
#define NOP		0xd503201fULL
#define NOPS		(NOP << 32 | NOP)

/* Tables: the roots of both halves are the first two. Then memory. */
#define TABLES		0x1000000ULL
#define NR_TABLES	64
#define MEMORY		0x40000000ULL
#define MEMORY_END	0x60000000ULL
#define OUTSIDE		0x10000000000ULL /* of PARange's 40 bits */

#define VALID		BIT_ULL(0)
#define TABLE		3ULL
#define AF		BIT_ULL(10)
#define RDONLY		BIT_ULL(7)
#define PXN		BIT_ULL(53)
#define UXN		BIT_ULL(54)

/* A kernel's descriptors of pages, without the address. */
#define RX		(TABLE | AF | UXN | RDONLY)
#define R		(TABLE | AF | UXN | RDONLY | PXN)
#define RW		(TABLE | AF | UXN | PXN)
#define RWX		(TABLE | AF | UXN)

struct world {
	struct av_regime regime;
	u64 vbar;
	u64 image, ipa;		/* where it begins */
	u64 memory;		/* begins here */
	u64 filler;		/* the word of memory that nobody has put there */
	unsigned int fails;	/* the so manieth read of words does; 0: none */
	/* Seen in the last search. */
	unsigned int walks, reads;
};

extern struct world w;
extern u64 tables[NR_TABLES][AV_ENTRIES];
extern unsigned int nr_tables;

/* A guest with nothing but such an image's addresses. */
void reset(u64 image, u64 ipa);

/* The descriptor of va's page, or of its block. */
u64 *page_of(u64 va);
u64 *block_of(u64 va);

u64 area(unsigned int n);
u64 area_ipa(unsigned int n);

/* So many areas of the image, in pages; 0: not mapped. */
void map_areas(unsigned int first, unsigned int nr, u64 desc);

/* From now on, reading this descriptor gives that; NULL: none. */
void break_desc(const u64 *desc, int ret);

/* A word of memory; the header of an Image of size bytes. */
void put(u64 ipa, u64 word);
void put_header(u64 ipa, u64 size);

bool find(struct av_annex_place *place);

/* The same without being counted: the guest's own tables. */
int look(u64 va, struct av_walk *at);
bool peek(u64 ipa, u64 *word);

#endif /* AV_TESTS_FIND_WORLD_H */
