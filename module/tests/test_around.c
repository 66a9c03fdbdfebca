// SPDX-License-Identifier: GPL-2.0
/*
 * Fault-around: which neighbours are already filled, which of the others the guest maps alike, and
 * with which rights they may be filled.
 */
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

#define IN(s, n)	{ .slot = &(s), .frame = (n) }
#define LAST		((SLOT_SIZE >> 12) - 1)
#define FROM_RAM(ipa)	{ .slot = &ram, .frame = ((ipa) >> 12) - (RAM >> 12) }

/* A neighbour of a page at fault. */
struct row {
	const char *name;
	enum av_mode mode;
	bool any;		/* the tree serves all ASIDs */
	bool copy;		/* the page at fault is filled with a copy */
	struct {
		struct av_slot *slot;	/* of the page at fault */
		u64 frame;		/* of the neighbour, from the slot's first */
	} at;
	u8 el1, el0;
	bool ng;
	u64 annex;
	u8 want;
};

#define VA	(HIGH + 0x5000)

static const struct row rows[] = {
	/* The slot of the page at fault, from its first page to its last. */
	{ "the first page", AV_MODE_EL1, .at = IN(ram, 0), .el1 = RWX, .want = RWX },
	{ "the last page", AV_MODE_EL1, .at = IN(ram, LAST), .el1 = RWX, .want = RWX },
	{ "one behind it", AV_MODE_EL1, .at = IN(ram, LAST + 1), .el1 = RWX },
	{ "one before it", AV_MODE_EL1, .at = IN(ram, -1ULL), .el1 = RWX },
	{ "another slot's", AV_MODE_EL1, .at = FROM_RAM(ROM), .el1 = RWX },
	{ "no slot's", AV_MODE_EL1, .at = FROM_RAM(DEVICE), .el1 = RWX },
	{ "beyond all", AV_MODE_EL1, .at = FROM_RAM(GENMASK_ULL(47, 12)), .el1 = RWX },
	/* What the slot allows: the fault may have been a store, the neighbour was not stored to. */
	{ "a read-only slot", AV_MODE_EL1, .at = IN(rom, 3), .el1 = RWX, .want = AV_R | AV_X },
	{ "to be written only", AV_MODE_EL1, .at = IN(rom, 3), .el1 = AV_W },
	{ "logged", AV_MODE_EL1, .at = IN(logged, 3), .el1 = RWX, .want = AV_R | AV_X },
	{ "logged, for reading", AV_MODE_EL1, .at = IN(logged, 3), .el1 = AV_R, .want = AV_R },
	/* The level that the tree is for. */
	{ "EL0's rights", AV_MODE_EL0, .at = IN(ram, 1), .el1 = RWX, .el0 = AV_R, .want = AV_R },
	{ "EL1's alone", AV_MODE_EL0, .at = IN(ram, 1), .el1 = RWX },
	{ "EL1's rights", AV_MODE_EL1, .at = IN(ram, 1), .el1 = AV_R, .el0 = RWX, .want = AV_R },
	{ "both's", AV_MODE_SHARED, .at = IN(ram, 1), .el1 = AV_R | AV_W, .el0 = RWX, .want = RWX },
	{ "both's, to be executed by both", AV_MODE_SHARED, .at = IN(ram, 1), .el1 = RWX, .el0 = RWX,
	  .want = AV_R | AV_W },
	{ "both's, to be executed only", AV_MODE_SHARED, .at = IN(ram, 1), .el1 = AV_X, .el0 = AV_X },
	{ "both's, EL1's alone", AV_MODE_SHARED, .at = IN(ram, 1), .el1 = RWX },
	/* Every ASID's tree holds global pages. */
	{ "global, of all", AV_MODE_EL1, .any = true, .at = IN(ram, 1), .el1 = RWX, .want = RWX },
	{ "one ASID's, of all", AV_MODE_EL1, .any = true, .at = IN(ram, 1), .el1 = RWX, .ng = true },
	{ "one ASID's, of it", AV_MODE_EL1, .at = IN(ram, 1), .el1 = RWX, .ng = true, .want = RWX },
	/* From copies: data beside data, code beside code. */
	{ "data beside data", AV_MODE_EL1_COPIES, .at = IN(ram, 1), .el1 = AV_R | AV_W,
	  .want = AV_R | AV_W },
	{ "code beside data", AV_MODE_EL1_COPIES, .at = IN(ram, 1), .el1 = RWX },
	{ "code for reading beside data", AV_MODE_EL1_COPIES, .at = IN(ram, 1), .el1 = AV_R | AV_X },
	{ "code beside code", AV_MODE_EL1_COPIES, .copy = true, .at = IN(ram, 1), .el1 = RWX,
	  .want = AV_X },
	{ "data beside code", AV_MODE_EL1_COPIES, .copy = true, .at = IN(ram, 1), .el1 = AV_R | AV_W },
	{ "code of another slot", AV_MODE_EL1_COPIES, .copy = true, .at = FROM_RAM(ROM), .el1 = RWX },
	{ "logged data beside data", AV_MODE_EL1_COPIES, .at = IN(logged, 1), .el1 = AV_R | AV_W,
	  .want = AV_R },
	/* Registers. */
	{ "the annex", AV_MODE_EL1, .at = IN(ram, 1), .el1 = RWX, .annex = VA },
	{ "the annex, anywhere in it", AV_MODE_EL1, .at = IN(ram, 1), .el1 = RWX, .annex = VA + 0xff8 },
	{ "one before the annex", AV_MODE_EL1, .at = IN(ram, 1), .el1 = RWX, .annex = VA + 0x1000,
	  .want = RWX },
	{ "one behind the annex", AV_MODE_EL1, .at = IN(ram, 1), .el1 = RWX, .annex = VA - 0x1000,
	  .want = RWX },
};

static void test_neighbour_rights(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct av_tree tree = {
			.key = { .mode = row->mode, .sctlr = 1, .asid = row->any ? AV_ASID_ANY : 1 },
		};
		struct av_resolved r = {
			.tree = &tree, .slot = row->at.slot, .copy = row->copy, .access = AV_W,
		};
		struct av_walk walk = {
			.va = VA, .ipa = (r.slot->base_gfn + row->at.frame) << 12, .el1 = row->el1, .el0 = row->el0,
			.global = !row->ng, .level = 3, .span = 12,
		};
		unsigned long before = check_failed;

		CHECK_EQ(av_neighbour_rights(&r, &walk, row->annex), row->want);
		if (check_failed > before)
			fprintf(stderr, "  in the row: %s\n", row->name);
	}
}

/* ---- mapped alike ---- */

static struct av_regime with_ips(unsigned int ips)
{
	struct av_regime r = guest;

	r.tcr = (r.tcr & ~AV_TCR_IPS) | FIELD_PREP(AV_TCR_IPS, ips);
	return r;
}

/* The walk of RW, as it is when it has been walked to. */
static struct av_walk walk_of(u64 va)
{
	struct av_walk walk;

	CHECK_EQ(av_walk(&guest, &mem, NULL, va, &walk), 0);
	return walk;
}

/* Every bit but the address's is an attribute; every bit of the address is none. */
static void test_alike(void)
{
	struct av_walk walk = walk_of(RW);
	u64 desc = tables[3][RW >> 12];
	unsigned int bit;

	CHECK_EQ(walk.desc, desc);
	CHECK(av_walk_alike(&guest, &walk, desc));
	for (bit = 0; bit < 64; bit++) {
		bool address = bit >= 12 && bit < 40;

		CHECK_EQ(av_walk_alike(&guest, &walk, desc ^ BIT_ULL(bit)), address);
	}
	CHECK(!av_walk_alike(&guest, &walk, 0));
	CHECK(!av_walk_alike(&guest, &walk, ~0ULL));
	/* The last page that there may be, and the first that may not. */
	CHECK(av_walk_alike(&guest, &walk, desc | GENMASK_ULL(39, 12)));
	CHECK(!av_walk_alike(&guest, &walk, (desc & ~GENMASK_ULL(47, 12)) | BIT_ULL(40)));
}

static void test_alike_within_output_size(void)
{
	static const u8 bits[] = { 32, 36, 40, 40, 40, 40, 40, 40 };
	struct av_walk walk = walk_of(RW);
	unsigned int ips, bit;

	for (ips = 0; ips < ARRAY_SIZE(bits); ips++) {
		struct av_regime r = with_ips(ips);

		for (bit = 12; bit < 48; bit++)
			CHECK_EQ(av_walk_alike(&r, &walk, walk.desc ^ BIT_ULL(bit)), bit < bits[ips]);
	}
}

/* Whatever is alike is walked to with the same rights, span and memory. */
static void test_alike_is_what_a_walk_says(void)
{
	static const u64 from[] = { RW, RO, KERNEL, NO_EXEC, DEV, BOTH, HIGH_IMAGE };
	unsigned int i, bit, bit2, alike = 0;
	struct av_walk other;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		struct av_walk walk = walk_of(from[i]);

		for (bit = 0; bit < 64; bit++)
			for (bit2 = 0; bit2 < 64; bit2++) {
				u64 desc = walk.desc ^ BIT_ULL(bit) ^ BIT_ULL(bit2);
				u64 va = walk.va ^ 0x1000;

				if (!av_walk_alike(&guest, &walk, desc))
					continue;
				alike++;
				CHECK_EQ(av_walk_sibling(&guest, &walk, va, desc, &other), 0);
				CHECK_EQ(other.ipa, desc & GENMASK_ULL(47, 12));
				CHECK(other.el1 == walk.el1 && other.el0 == walk.el0);
				CHECK(other.global == walk.global && other.span == walk.span);
				CHECK(other.attr == walk.attr && other.sh == walk.sh);
			}
	}
	CHECK(alike > 1000);
}

int main(void)
{
	RUN(test_next);
	RUN(test_next_at_random);
	RUN(test_group);
	RUN(test_frame_rights);
	build_world();
	RUN(test_neighbour_rights);
	RUN(test_alike);
	RUN(test_alike_within_output_size);
	RUN(test_alike_is_what_a_walk_says);
	free_world();
	return TESTS_DONE();
}
