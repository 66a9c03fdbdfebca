/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The image's tables: copies of leaves of the host's kernel half, not global. image.h says what
 * they are for. Four levels, 4 KiB pages. Pure.
 *
 * A leaf here is a page or a block of 2 MiB and never permits more than the host's did when it was
 * copied. A valid entry changes only by way of an invalid one and a TLBI (break-before-make): a
 * light exit that comes in between misses. Tables are freed only with the image. Callers serialize;
 * table walks of other CPUs go on all the time.
 */
#ifndef AV_SWITCH_IMAGE_TABLES_H
#define AV_SWITCH_IMAGE_TABLES_H

#include "lib/av_types.h"

#define AV_IMAGE_ENTRIES	512
#define AV_IMAGE_BLOCK		BIT_ULL(21)
/* The first address of a kernel half of 48 bits. */
#define AV_IMAGE_FIRST		(~0ULL << 48)

/* What came of copying a leaf. */
enum av_image_result {
	AV_IMAGE_COPIED,	/* the entry is new, or has other rights than before */
	AV_IMAGE_SAME,		/* it was there: the exception had another reason */
	AV_IMAGE_UNMAPPED,	/* the host maps nothing there */
	AV_IMAGE_REFUSED,	/* it must not be in the image */
	AV_IMAGE_NO_MEMORY,
	AV_NR_IMAGE_RESULTS
};

struct av_image;

struct av_image_ops {
	/* An empty table, or NULL. May sleep. */
	u64 *(*alloc)(void);
	void (*free)(u64 *table);
	u64 (*pa_of)(const u64 *table);
	u64 *(*table_at)(u64 pa);
	/* May the host's leaf be in the image? Asked for each page, or for a block's first. */
	bool (*may_map)(u64 va, u64 pa);
	/* May pages of one range become a block? May a block of the host's not stay one? */
	bool (*may_merge)(u64 start);
	bool (*must_split)(u64 start);
	/* Must the page's entry stay as it is, once it is there? */
	bool (*keeps)(u64 va);
	/* Entries that were added become visible to table walks. */
	void (*publish)(void);
	/* Remove an address from all TLBs, under all ASIDs; wait for it. */
	void (*flush)(u64 va);
	/* The same for all addresses of the image. */
	void (*flush_all)(void);
};

struct av_image {
	u64 *root;		/* level 0 */
	const struct av_image_ops *ops;
	unsigned int tables, blocks, pages;
};

/* Make the root. False: no memory. */
bool av_image_begin(struct av_image *image, const struct av_image_ops *ops);

/* Free all tables. No CPU uses them, and no TLB has anything of them. */
void av_image_end(struct av_image *image);

/*
 * Copy the host's leaf for an address and, where the host has pages, those of the same 2 MiB.
 * host: its root for TTBR1. The result is that of the address itself.
 */
enum av_image_result av_image_copy(struct av_image *image, const u64 *host, u64 va);

/* The physical address to which the host's tables translate an address; 0: to none. */
u64 av_image_host_pa(const struct av_image *image, const u64 *host, u64 va);

/*
 * Remove all leaves from start to before end, and blocks that reach into that range. Returns how
 * many there were; relax is called after each table of the last level, unless it is NULL.
 */
unsigned int av_image_clear(struct av_image *image, u64 start, u64 end, void (*relax)(void));

#endif /* AV_SWITCH_IMAGE_TABLES_H */
