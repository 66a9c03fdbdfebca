/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A world for tests of the classification of aborts: a guest with one table per level in each half,
 * its slots, and its trees.
 */
#ifndef AV_TESTS_RESOLVE_WORLD_H
#define AV_TESTS_RESOLVE_WORLD_H

#include <stdlib.h>

#include "check.h"
#include "mmu/abort/classify.h"
#include "mmu/stub/stub.h"
#include "shadow_world.h"

#define TABLES		0x40000000ULL
#define RAM		0x80000000ULL
#define ROM		0x90000000ULL	/* a read-only slot */
#define LOGGED		0xa0000000ULL	/* a slot with the dirty log on */
#define DEVICE		0x10000000ULL	/* no slot */
#define BEYOND		0x1000000000ULL	/* of the VM's 36 bits, not of PARange's 40 */
#define OUTSIDE		0x10000000000ULL /* of PARange's */
#define ABSENT_TABLE	0x20000000ULL	/* a table where there is no memory */
#define BROKEN		0x30000000ULL	/* a table that the VMM took away */
#define SLOT_SIZE	0x100000ULL
#define IPA_BITS	36

#define TABLE		3ULL
#define AF		BIT_ULL(10)
#define PAGE		(3ULL | AF)
#define USER		BIT_ULL(6)
#define RDONLY		BIT_ULL(7)
#define NG		BIT_ULL(11)
#define PXN		BIT_ULL(53)
#define UXN		BIT_ULL(54)

/* Pages of the low half. */
#define RW		0x1000ULL
#define RO		0x2000ULL
#define KERNEL		0x3000ULL	/* EL1 only */
#define NO_EXEC		0x4000ULL
#define DEV		0x5000ULL
#define DEV_RO		0x6000ULL
#define ROM_RW		0x7000ULL
#define LOG		0x8000ULL
#define NO_AF		0x9000ULL
#define FAR_AWAY	0xa000ULL
#define TOO_LARGE	0xb000ULL
#define ROM_LOG		0xc000ULL
#define NONE		0xd000ULL
#define BOTH		0xe000ULL	/* to be executed by both */
#define LOW_NONE	0x200000ULL	/* and nothing around it */
#define NO_TABLE	0x40000000ULL	/* by level 1 */
#define BROKEN_TABLE	0x80000000ULL
#define OUT_OF_HALF	0x1000000000000ULL
#define HIGH		0xffffff8000000000ULL
#define HIGH_RO		(HIGH + 0x200000) /* the same frames: not to be written, not to be executed */
#define HIGH_USER	(HIGH + 0x400000) /* and here EL0 may do all */
#define HIGH_NONE	(HIGH + 0x600000)
#define HIGH_IMAGE	(HIGH + 0x800000) /* the same frames by pages, but none from AREA on */
#define HIGH_NO_AF	(HIGH + 0xa00000)
#define HIGH_TOO_LARGE	(HIGH + 0xc00000)
#define HIGH_NO_TABLE	(HIGH + 0xe00000)
#define HIGH_BROKEN	(HIGH + 0x1000000)
#define HIGH_NG		(HIGH + 0x1200000)
#define HIGH_NO_L2	(HIGH + 0x40000000)
#define HIGH_NO_L1	0xffff000000000000ULL
#define WINDOW		(~0ULL << 21)

/* Where the annex is, in a block. */
#define AREA		0x20000ULL

static u64 tables[9][AV_ENTRIES];
static int broken = -EFAULT;	/* the result of reading BROKEN */

static int read64(void *ctx, u64 ipa, u64 *val)
{
	if (ipa >> 12 == BROKEN >> 12)
		return broken;
	if (ipa < TABLES || ipa - TABLES >= sizeof(tables))
		return 1;
	*val = tables[(ipa - TABLES) >> 12][ipa >> 3 & (AV_ENTRIES - 1)];
	return 0;
}

static const struct av_mem_ops mem = { .read64 = read64 };

static u64 table(unsigned int n)
{
	return TABLES + n * 0x1000;
}

static void map(u64 va, u64 desc)
{
	tables[3][va >> 12 & (AV_ENTRIES - 1)] = desc;
}

/* All of it, except a hole as large as the annex. */
static void build_image(void)
{
	unsigned int i;

	for (i = 0; i < AV_ENTRIES; i++)
		if (i - (AREA >> 12) >= AV_STUB_AREA >> 12)
			tables[8][i] = (RAM + i * 0x1000) | PAGE;
}

static void build_tables(void)
{
	tables[0][0] = table(1) | TABLE;
	tables[1][0] = table(2) | TABLE;
	tables[1][1] = ABSENT_TABLE | TABLE;
	tables[1][2] = BROKEN | TABLE;
	tables[2][0] = table(3) | TABLE;
	map(RW, RAM | PAGE | USER | NG);
	map(RO, RAM | 0x1000 | PAGE | USER | RDONLY | PXN | NG);
	map(KERNEL, RAM | 0x2000 | PAGE | NG);
	map(NO_EXEC, RAM | PAGE | USER | UXN | PXN | NG);
	map(DEV, DEVICE | PAGE | USER | NG);
	map(DEV_RO, DEVICE | PAGE | USER | RDONLY | NG);
	map(ROM_RW, ROM | PAGE | USER | NG);
	map(ROM_LOG, (ROM + 0x1000) | PAGE | USER | RDONLY | NG);
	map(LOG, LOGGED | PAGE | USER | NG);
	map(BOTH, RAM | PAGE | USER | RDONLY | NG);
	map(NO_AF, RAM | 3 | USER | NG);
	map(FAR_AWAY, BEYOND | PAGE | USER | NG);
	map(TOO_LARGE, OUTSIDE | PAGE | USER | NG);
	/* The high half: blocks, an image, and the window's last block. */
	tables[4][511] = table(5) | TABLE;
	tables[5][0] = table(6) | TABLE;
	tables[6][0] = RAM | 1 | AF;
	tables[6][1] = RAM | 1 | AF | RDONLY | PXN | UXN;
	tables[6][2] = RAM | 1 | AF | USER;
	tables[6][4] = table(8) | TABLE;
	tables[6][5] = RAM | 1;
	tables[6][6] = OUTSIDE | 1 | AF;
	tables[6][7] = ABSENT_TABLE | TABLE;
	tables[6][8] = BROKEN | TABLE;
	tables[6][9] = RAM | 1 | AF | NG;
	tables[5][511] = table(7) | TABLE;
	tables[7][511] = RAM | 1 | AF;
	build_image();
}

static struct av_slot ram = { .base_gfn = RAM >> 12, .npages = SLOT_SIZE >> 12 };
static struct av_slot rom = { .base_gfn = ROM >> 12, .npages = SLOT_SIZE >> 12,
			      .flags = AV_SLOT_READONLY };
static struct av_slot logged = { .base_gfn = LOGGED >> 12, .npages = SLOT_SIZE >> 12,
				 .flags = AV_SLOT_LOG_DIRTY };
static struct av_slots *slots;

static void build_slots(void)
{
	struct av_slot *all[] = { &ram, &rom, &logged };
	static struct av_slot_edit edit;
	unsigned int i;

	slots = calloc(1, sizeof(*slots));
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct av_slots *next = calloc(1, sizeof(*next));

		for (edit.spares = 0; edit.spares < av_slots_need(slots, false, true); edit.spares++)
			edit.spare[edit.spares] = calloc(1, sizeof(struct av_slot_node));
		av_slots_replace(slots, NULL, all[i], next, &edit);
		while (edit.spares)
			free(edit.spare[--edit.spares]);
		while (edit.gone)
			free(edit.old[--edit.gone]);
		free(slots);
		slots = next;
	}
}

static void build_world(void)
{
	build_slots();
	build_tables();
	setup();
}

static void free_world(void)
{
	struct av_slot_node *node;
	unsigned int i;

	teardown();
	for (i = 0; i < AV_NR_ORDERS; i++)
		while ((node = av_slots_take_apart(slots, i)))
			free(node);
	free(slots);
}

static const struct av_regime guest = {
	.sctlr = AV_SCTLR_M,
	.tcr = 16 | 16 << 16 | AV_TCR_AS | AV_TCR_TBI1 | FIELD_PREP(AV_TCR_IPS, 2),
	.ttbr0 = TABLES, .ttbr1 = TABLES + 0x4000, .ipa_bits = 40,
};

static inline struct av_tree *load(bool high, u8 el, u8 split)
{
	struct av_tree_key key;

	av_tree_key(&sh, &guest, high, el, &key);
	key.window = high ? av_window_position(WINDOW) : 0;
	if (split)
		key.mode = el ? split : AV_MODE_EL0;
	return av_tree_get(&sh, &key, full_pool());
}

/* Syndromes. */
#define FSC(type, level)	(AV_FSC_##type | (level))
#define T	FSC(TRANSLATION, 3)
#define P	FSC(PERMISSION, 3)
#define A	FSC(ACCESS_FLAG, 3)
#define W	AV_ESR_WNR
#define CM	AV_ESR_CM

static inline bool same_answer(const struct av_answer *a, const struct av_answer *b)
{
	return a->kind == b->kind && a->cls == b->cls && a->insn == b->insn && a->err == b->err &&
	       a->far == b->far && a->iss == b->iss && a->ipa == b->ipa && a->rom == b->rom;
}

#endif /* AV_TESTS_RESOLVE_WORLD_H */
