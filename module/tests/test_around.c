// SPDX-License-Identifier: GPL-2.0
/*
 * Fault-around: which neighbours are already filled, which of the others the guest maps alike, and
 * with which rights they may be filled.
 */
#include "mmu/walk/walk_down.h"
#include "resolve_world.h"

#define RWX	(AV_R | AV_W | AV_X)

/* ---- which entries a table has ---- */

static void use(struct av_pt *pt, u32 from, u32 to, bool used)
{
	while (from < to)
		av_pt_note_used(pt, from++, used);
}

static void test_next(void)
{
	static const u32 edges[] = { 0, 1, 62, 63, 64, 65, 127, 128, 255, 256, 447, 448, 510, 511 };
	struct av_pt pt = {};
	unsigned int i;
	u32 idx;

	for (idx = 0; idx <= AV_ENTRIES; idx++)
		CHECK_EQ(av_pt_next(&pt, idx), AV_ENTRIES);
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		u32 at = edges[i];

		av_pt_note_used(&pt, at, true);
		for (idx = 0; idx <= AV_ENTRIES; idx++)
			CHECK_EQ(av_pt_next(&pt, idx), idx <= at ? at : AV_ENTRIES);
		/* Noted once more, it is gone once all the same. */
		av_pt_note_used(&pt, at, true);
		av_pt_note_used(&pt, at, false);
		CHECK_EQ(av_pt_next(&pt, 0), AV_ENTRIES);
	}
	use(&pt, 0, AV_ENTRIES, true);
	for (idx = 0; idx <= AV_ENTRIES; idx++)
		CHECK_EQ(av_pt_next(&pt, idx), idx);
	use(&pt, 1, AV_ENTRIES - 1, false);
	CHECK_EQ(av_pt_next(&pt, 0), 0);
	CHECK_EQ(av_pt_next(&pt, 1), AV_ENTRIES - 1);
}

/* Against a plain list. */
static void test_next_at_random(void)
{
	u64 state = 1;
	unsigned int n, step;

	for (n = 0; n < 50; n++) {
		bool there[AV_ENTRIES + 1] = {};
		struct av_pt pt = {};
		u32 idx, want = AV_ENTRIES;

		for (step = 0; step < 1 + n * 8; step++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			idx = state >> 33 & (AV_ENTRIES - 1);
			there[idx] = state >> 60 & 3;
			av_pt_note_used(&pt, idx, there[idx]);
		}
		for (idx = AV_ENTRIES; idx--;) {
			want = there[idx] ? idx : want;
			CHECK_EQ(av_pt_next(&pt, idx), want);
		}
	}
}

static void test_group(void)
{
	const u64 base = HIGH + 7 * 0x200000ULL;
	struct av_pt pt = { .level = 3 };
	unsigned int n, group, i;

	for (n = 1; n <= 32; n *= 2) {
		u32 all = GENMASK(n - 1, 0);

		for (group = 0; group < AV_ENTRIES / n; group++) {
			u64 va = base + group * n * 0x1000ULL;

			CHECK_EQ(av_pt_group(&pt, va, n), 0);
			for (i = 0; i < n; i++) {
				av_pt_note_used(&pt, group * n + i, true);
				CHECK_EQ(av_pt_group(&pt, va, n), BIT(i));
				av_pt_note_used(&pt, group * n + i, false);
			}
			/* What is around it is not in it. */
			use(&pt, 0, AV_ENTRIES, true);
			CHECK_EQ(av_pt_group(&pt, va, n), all);
			use(&pt, group * n, (group + 1) * n, false);
			CHECK_EQ(av_pt_group(&pt, va, n), 0);
			use(&pt, 0, AV_ENTRIES, false);
		}
	}
}

/* ---- rights ---- */

static void test_frame_rights(void)
{
	static const struct {
		u64 page;
		u8 state, rights, want;
	} rows[] = {
		/* Not known: nothing, whatever the state. */
		{ 0, 0, AV_R, 0 },
		{ 0, AV_FRAME_EXECUTED | AV_FRAME_YOUNG, RWX, 0 },
		/* Known for reading, or for writing too. */
		{ 0x5000, 0, AV_R, AV_R },
		{ 0x5000, 0, AV_R | AV_W, AV_R },
		{ 0x5000 | AV_FRAME_WRITABLE, 0, AV_R, AV_R },
		{ 0x5000 | AV_FRAME_WRITABLE, 0, AV_R | AV_W, AV_R | AV_W },
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_YOUNG, AV_R | AV_W, AV_R | AV_W },
		{ 0x5000, 0, AV_W, 0 },
		/* Executed only once it is coherent; without X that does not matter. */
		{ 0x5000 | AV_FRAME_WRITABLE, 0, RWX, 0 },
		{ 0x5000 | AV_FRAME_WRITABLE, 0, AV_R | AV_X, 0 },
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_EXECUTED, RWX, RWX },
		{ 0x5000, AV_FRAME_EXECUTED, RWX, AV_R | AV_X },
		{ 0x5000, AV_FRAME_EXECUTED, AV_X, AV_X },
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_EXECUTED, AV_R | AV_W, AV_R | AV_W },
		/* A frame with a copy. */
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_COPIED, AV_R, 0 },
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_COPIED | AV_FRAME_EXECUTED, RWX, 0 },
		/* Nothing asked, nothing given. */
		{ 0x5000 | AV_FRAME_WRITABLE, AV_FRAME_EXECUTED, 0, 0 },
	};
	static struct av_piece piece;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (n = 0; n < AV_PIECE_FRAMES; n += AV_PIECE_FRAMES - 1) {
			memset(&piece, 0, sizeof(piece));
			piece.page[n] = rows[i].page;
			piece.state[n] = rows[i].state;
			CHECK_EQ(av_frame_rights(&piece, n, rows[i].rights), rows[i].want);
		}
}

/* A neighbour of a page at fault, in its table. */
struct row {
	const char *name;
	enum av_mode mode;
	bool copy;		/* the page at fault is filled with a copy */
	const struct av_slot *slot;
	u64 limits;		/* of the table */
	u64 at, desc;		/* of the page at fault, and of the neighbour */
	u8 want;
};

#define DATA	(PAGE | USER | UXN | PXN)
#define CODE	(PAGE | RDONLY | UXN)		/* EL1's */
#define ALL	(PAGE | USER | RDONLY)

static const struct row rows[] = {
	{ "data", AV_MODE_EL1, .at = DATA, .desc = DATA, .want = AV_R | AV_W },
	{ "code", AV_MODE_EL1, .at = DATA, .desc = CODE, .want = AV_R | AV_X },
	{ "not accessed", AV_MODE_EL1, .at = DATA, .desc = DATA & ~AF },
	{ "an address of no memory", AV_MODE_EL1, .at = DATA, .desc = DATA | BIT_ULL(40) },
	{ "the last address", AV_MODE_EL1, .at = DATA, .desc = DATA | GENMASK_ULL(39, 12),
	  .want = AV_R | AV_W },
	/* What the page at fault is like, the neighbour is. */
	{ "of one ASID", AV_MODE_EL1, .at = DATA, .desc = DATA | NG },
	{ "of every ASID", AV_MODE_EL1, .at = DATA | NG, .desc = DATA },
	{ "of one ASID, like it", AV_MODE_EL1, .at = DATA | NG, .desc = DATA | NG,
	  .want = AV_R | AV_W },
	{ "in a run of 16", AV_MODE_EL1, .at = DATA, .desc = DATA | AV_DESC_CONT },
	{ "in one, like it", AV_MODE_EL1, .at = DATA | AV_DESC_CONT, .desc = DATA | AV_DESC_CONT,
	  .want = AV_R | AV_W },
	/* What the slot allows: the fault may have been a store, the neighbour was not stored to. */
	{ "a read-only slot", AV_MODE_EL1, .slot = &rom, .at = DATA, .desc = DATA, .want = AV_R },
	{ "logged", AV_MODE_EL1, .slot = &logged, .at = DATA, .desc = DATA, .want = AV_R },
	{ "logged code", AV_MODE_EL1, .slot = &logged, .at = DATA, .desc = CODE,
	  .want = AV_R | AV_X },
	/* The level that the tree is for. */
	{ "EL0's", AV_MODE_EL0, .at = DATA, .desc = DATA | RDONLY, .want = AV_R },
	{ "EL1's, for EL0", AV_MODE_EL0, .at = DATA, .desc = CODE },
	{ "both's", AV_MODE_SHARED, .at = DATA, .desc = DATA, .want = AV_R | AV_W },
	{ "to be executed by both", AV_MODE_SHARED, .at = DATA, .desc = ALL, .want = AV_R },
	{ "to be executed by EL0", AV_MODE_SHARED, .at = DATA, .desc = ALL | PXN,
	  .want = AV_R | AV_X },
	{ "EL1's alone, for both", AV_MODE_SHARED, .at = DATA, .desc = CODE },
	{ "not to be written, by its table", AV_MODE_EL1, .limits = BIT_ULL(62), .at = DATA,
	  .desc = DATA, .want = AV_R },
	/* From copies: data beside data, code beside code. */
	{ "data beside data", AV_MODE_EL1_COPIES, .at = DATA, .desc = DATA, .want = AV_R | AV_W },
	{ "code beside data", AV_MODE_EL1_COPIES, .at = DATA, .desc = CODE },
	{ "code beside code", AV_MODE_EL1_COPIES, .copy = true, .at = CODE, .desc = CODE,
	  .want = AV_X },
	{ "data beside code", AV_MODE_EL1_COPIES, .copy = true, .at = CODE, .desc = DATA },
	{ "logged data beside data", AV_MODE_EL1_COPIES, .slot = &logged, .at = DATA, .desc = DATA,
	  .want = AV_R },
};

static void test_neighbours(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		const struct av_tree tree = { .key = { .mode = row->mode, .sctlr = 1, .asid = 1 } };
		struct av_walk_table table = {
			.beyond = av_walk_beyond(&guest), .limits = av_walk_limits(row->limits),
		};
		struct av_plan plan = {
			.tree = &tree, .slot = row->slot ?: &ram, .table = &table,
			.desc = row->at, .copy = row->copy,
		};
		unsigned long before = check_failed;

		av_walk_set_leaves(&guest, &table);
		plan.rights = av_plan_table(&tree, &table);
		CHECK_EQ(av_plan_neighbour(&plan, row->desc), row->want);
		if (check_failed > before)
			fprintf(stderr, "  in the row: %s\n", row->name);
	}
}

/* Whatever is filled, a walk of its own says so. */
static void test_neighbours_are_what_a_walk_says(void)
{
	const struct av_tree tree = { .key = { .mode = AV_MODE_EL1, .sctlr = 1 } };
	struct av_walk_table table = { .beyond = av_walk_beyond(&guest), .va = HIGH };
	struct av_plan plan = { .tree = &tree, .slot = &ram, .table = &table, .desc = DATA };
	unsigned int bit, bit2, filled = 0;
	struct av_walk walk;

	av_walk_set_leaves(&guest, &table);
	plan.rights = av_plan_table(&tree, &table);
	for (bit = 0; bit < 64; bit++)
		for (bit2 = 0; bit2 < 64; bit2++) {
			u64 desc = (DATA ^ BIT_ULL(bit) ^ BIT_ULL(bit2)) | AV_DESC_PAGE;
			u8 rights = av_plan_neighbour(&plan, desc);

			if (!rights)
				continue;
			filled++;
			CHECK_EQ(av_walk_page(&guest, &table, HIGH, desc, &walk), 0);
			CHECK_EQ(walk.el1, rights);
			CHECK(walk.global && walk.span == AV_PAGE_SHIFT);
		}
	CHECK(filled > 1000);
}

/* Which pages of the group, by the entries that there are and the register page. */
static void test_wanted(void)
{
	const u64 first = HIGH + 0x30000, all = GENMASK(AV_AROUND - 1, 0);
	unsigned int i;

	CHECK_EQ(av_around(first + 0xffff), first);
	CHECK_EQ(av_around(first - 1), first - 0x10000);
	CHECK_EQ(av_plan_wanted(first, 0, 0), all);
	CHECK_EQ(av_plan_wanted(first, 0x8001, 0), 0x7ffe);
	CHECK_EQ(av_plan_wanted(first, all, 0), 0);
	for (i = 0; i < AV_AROUND; i++)
		CHECK_EQ(av_plan_wanted(first, 0, first + i * 0x1000), all & ~BIT(i));
	CHECK_EQ(av_plan_wanted(first, 0, first - 0x1000), all);
	CHECK_EQ(av_plan_wanted(first, 0, first + 0x10000), all);
}

/* Known pages for an access: what is missing or logged is left to the slow way. */
static void test_known(void)
{
	static struct av_piece piece = {
		.page = { 0x5000 | AV_FRAME_WRITABLE, 0x6000 },
		.state = { AV_FRAME_EXECUTED },
	};

	CHECK_EQ(av_plan_known(&ram, &piece, 0, RWX, AV_W), RWX);
	CHECK_EQ(av_plan_known(&ram, &piece, 0, AV_R, AV_W), 0);
	CHECK_EQ(av_plan_known(&ram, &piece, 1, AV_R | AV_W, AV_R), AV_R);
	CHECK_EQ(av_plan_known(&ram, &piece, 1, AV_R | AV_W, AV_W), 0);
	CHECK_EQ(av_plan_known(&ram, &piece, 1, AV_R | AV_X, AV_R), 0);
	CHECK_EQ(av_plan_known(&logged, &piece, 0, AV_R, AV_R), AV_R);
	CHECK_EQ(av_plan_known(&logged, &piece, 0, AV_R | AV_W, AV_W), 0);
}

int main(void)
{
	RUN(test_next);
	RUN(test_next_at_random);
	RUN(test_group);
	RUN(test_frame_rights);
	build_world();
	RUN(test_neighbours);
	RUN(test_neighbours_are_what_a_walk_says);
	RUN(test_wanted);
	RUN(test_known);
	free_world();
	return TESTS_DONE();
}
