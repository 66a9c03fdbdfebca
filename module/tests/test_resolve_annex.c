// SPDX-License-Identifier: GPL-2.0
/*
 * Aborts that belong to the annex: in pages that the guest has reserved and mapped, and in a hole.
 * All others are classified as without an annex.
 */
#include "resolve_world.h"

#define PAGES		((int)(AV_STUB_AREA / AV_PAGE_SIZE))
/* The image's last page below its hole: the anchor. */
#define ANCHOR		(HIGH_IMAGE + AREA - AV_PAGE_SIZE)
#define ANCHOR_IPA	(RAM + AREA - AV_PAGE_SIZE)

/* Taken away from an address of the high half, another tag than all ones. */
#define TAG		(0x5aULL << 56)

enum how { FETCH, LOAD, STORE, HOWS };

static u64 esr_of(enum how how)
{
	return FIELD_PREP(AV_ESR_EC, how == FETCH ? AV_EC_IABT_LOW : AV_EC_DABT_LOW) |
	       (how == STORE ? W : 0) | T;
}

/* ---- mappings ---- */

/* What is there belongs to EL1 on copies, by page; all else is as if there were no annex. */
static void check_annex(struct av_view view, u64 block, int page, int pages)
{
	bool copies = view.tree[1]->key.mode == AV_MODE_EL1_COPIES && block != HIGH_NONE;
	bool fetch = av_esr_ec(view.esr) == AV_EC_IABT_LOW;
	struct av_answer answer, without;
	struct av_classified r;
	enum av_abort_work work;

	view.far = block + AREA + page * AV_PAGE_SIZE + (fetch ? 0xffc : 0xfff) * (page & 1);
	av_classify(&view, &r, &without);
	work = r.work;
	CHECK(work != AV_ABORT_ANNEX);
	view.annex.va = block + AREA;
	view.annex_size = pages * AV_PAGE_SIZE;
	av_classify(&view, &r, &answer);
	if (copies && (fetch ? page >= 1 && page < pages : !page)) {
		/* An instruction there that reads its own page. */
		view.pc = view.far ^ 4;
		av_classify(&view, &r, &answer);
		CHECK_EQ(r.work == AV_ABORT_ANNEX, fetch);
		view.pc = 0;
		av_classify(&view, &r, &answer);
		CHECK(r.work == AV_ABORT_ANNEX && answer.kind == AV_ANSWER_RESUME);
		CHECK(r.tree == view.tree[1]);
		CHECK(av_annex_same(&r.annex, &view.annex));
		return;
	}
	CHECK_EQ(r.work, work);
	CHECK(same_answer(&answer, &without));
}

static void test_annex(void)
{
	static const u64 blocks[] = { HIGH, HIGH_RO, HIGH_USER, HIGH_NONE };
	struct av_tree *low = load(false, 1, 0), *high[] = {
		load(true, 1, AV_MODE_EL1_COPIES), load(true, 1, 0), load(true, 0, 0),
	};
	unsigned int i, j, how;
	int page;

	for (i = 0; i < ARRAY_SIZE(high); i++) {
		struct av_tree *tree[] = { low, high[i] };
		struct av_view view = {
			.regime = &guest, .tree = tree, .slots = slots, .mem = &mem, .el = i < 2,
			.ipa_bits = IPA_BITS,
		};

		for (how = 0; how < HOWS; how++) {
			view.esr = esr_of(how);
			for (j = 0; j < ARRAY_SIZE(blocks); j++)
				for (page = -1; page <= 16; page++) {
					check_annex(view, blocks[j], page, 16);
					check_annex(view, blocks[j], page, 3);
				}
		}
		av_tree_put(&sh, high[i]);
	}
	av_tree_put(&sh, low);
}

/* ---- a hole ---- */

/* Of EL1 on copies, who has an annex. */
static struct av_tree *on_copies[2];

/* An address without a mapping, and the level that shows it. */
static const struct hole {
	u64 va;
	u8 level;
} holes[] = {
	{ HIGH_IMAGE + AREA, 3 }, { HIGH_NONE + AREA, 2 }, { HIGH_NO_L2 + AREA, 1 },
	{ HIGH_NO_L1 + AREA, 0 },
};

/* An access to a page of an annex in a hole at va, by code of the image, or by what is fetched. */
static struct av_view access_to(u64 va, enum how how, int page)
{
	u64 far = va + page * AV_PAGE_SIZE;

	return (struct av_view) {
		.regime = &guest, .tree = on_copies, .slots = slots, .mem = &mem, .el = 1,
		.ipa_bits = IPA_BITS, .esr = esr_of(how), .far = far,
		.pc = how == FETCH ? far : HIGH_IMAGE + 0x1000,
		.annex = { .va = va, .anchor = ANCHOR, .ipa = ANCHOR_IPA, .hole = true },
		.annex_size = AV_STUB_AREA,
	};
}

/* Data in the first page, code in the others. */
static bool is_for(enum how how, int page, int pages)
{
	return how == FETCH ? page >= 1 && page < pages : !page;
}

static void resolve(const struct av_view *view, struct av_classified *r, struct av_answer *answer)
{
	memset(r, 0, sizeof(*r));
	av_classify(view, r, answer);
}

static void check_filled(const struct av_view *view, bool empty, u8 span, bool global)
{
	struct av_answer answer;
	struct av_classified r;

	resolve(view, &r, &answer);
	CHECK_EQ(r.work, AV_ABORT_ANNEX);
	CHECK_EQ(answer.kind, AV_ANSWER_RESUME);
	CHECK_EQ(answer.err, 0);
	CHECK(r.walked);
	CHECK_EQ(r.empty, empty);
	CHECK_EQ(r.walk.va, av_untag(&guest, view->far));
	CHECK_EQ(r.walk.span, span);
	CHECK_EQ(r.walk.global, global);
	CHECK_EQ(r.tree, view->tree[1]);
	CHECK(av_annex_same(&r.annex, &view->annex));
}

static void check_in_hole(const struct av_view *view)
{
	check_filled(view, true, AV_PAGE_SHIFT, true);
}

/* As if there were no annex, to the last bit. */
static void check_as_without(struct av_view view, struct av_answer *answer)
{
	struct av_classified r, without_r;
	struct av_answer without;

	resolve(&view, &r, answer);
	view.annex = (struct av_annex_place) {};
	resolve(&view, &without_r, &without);
	CHECK(r.work != AV_ABORT_ANNEX);
	CHECK(!memcmp(&r, &without_r, sizeof(r)));
	CHECK(same_answer(answer, &without));
}

/* And that is a fault of the guest's own. */
static void check_true_fault(const struct av_view *view, u32 fsc)
{
	bool fetch = av_esr_ec(view->esr) == AV_EC_IABT_LOW;
	struct av_answer answer;

	check_as_without(*view, &answer);
	CHECK_EQ(answer.kind, AV_ANSWER_ABORT);
	CHECK_EQ(answer.cls, fetch ? AV_EXIT_PABT_TRUE : AV_EXIT_DABT_TRUE);
	CHECK_EQ(answer.iss, fsc | (fetch ? 0 : view->esr & W));
	CHECK_EQ(answer.far, view->far);
}

static void check_hole_at(const struct av_view *view, const struct hole *hole, enum how how,
			  int page)
{
	struct av_answer answer;

	if (is_for(how, page, view->annex_size / AV_PAGE_SIZE))
		check_in_hole(view);
	else if (page >= 0 && page < PAGES)
		check_true_fault(view, FSC(TRANSLATION, hole->level));
	else
		check_as_without(*view, &answer);
}

/* Each page, and its neighbours, of an annex of this many pages. */
static void check_hole(const struct hole *hole, enum how how, int pages)
{
	unsigned int offset;
	int page;

	for (page = -1; page <= PAGES; page++) {
		for (offset = 0; offset < AV_PAGE_SIZE; offset += 0xffc) {
			struct av_view view = access_to(hole->va, how, page);

			view.annex_size = pages * AV_PAGE_SIZE;
			view.far += offset;
			check_hole_at(&view, hole, how, page);
			/* It does not matter to a fetch where PC is. */
			view.pc = 0;
			check_hole_at(&view, hole, how, page);
		}
	}
}

static void test_hole(void)
{
	struct av_view tagged = access_to(HIGH_NONE + AREA, LOAD, 0);
	enum how how;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		for (how = 0; how < HOWS; how++) {
			check_hole(&holes[i], how, PAGES);
			check_hole(&holes[i], how, 3);
		}
	}
	tagged.far -= TAG;
	check_in_hole(&tagged);
}

/* Marks of a hole, and an address space that has no annex. */
struct anchor {
	u64 va, ipa;
};

/* The guest's rights do not matter. */
static const struct anchor there[] = {
	{ ANCHOR, ANCHOR_IPA }, { HIGH, RAM }, { HIGH_RO, RAM }, { HIGH_USER, RAM },
	{ HIGH_NG, RAM },
};

static const struct anchor not_there[] = {
	/* Something else is. */
	{ ANCHOR, ANCHOR_IPA - AV_PAGE_SIZE }, { ANCHOR, ANCHOR_IPA + AV_PAGE_SIZE },
	{ ANCHOR, ANCHOR_IPA | 1ULL << 39 }, { ANCHOR, 0 },
	{ ANCHOR - AV_PAGE_SIZE, ANCHOR_IPA },
	{ HIGH_IMAGE + AREA + AV_STUB_AREA, ANCHOR_IPA },
	/* Nothing is. A walk that fails leaves 0, which is memory's as well as any. */
	{ HIGH_IMAGE + AREA, RAM + AREA }, { HIGH_IMAGE + AREA, 0 },
	{ HIGH_NONE, RAM }, { HIGH_NONE, 0 }, { HIGH_NO_L2, 0 }, { HIGH_NO_L1, 0 },
	{ HIGH_NO_AF, RAM }, { HIGH_NO_AF, 0 }, { HIGH_TOO_LARGE, OUTSIDE },
	{ HIGH_TOO_LARGE, 0 }, { HIGH_NO_TABLE, 0 }, { HIGH_BROKEN, RAM }, { HIGH_BROKEN, 0 },
	{ 0, 0 },
};

static void check_anchor(const struct anchor *anchor, bool holds)
{
	unsigned int i, page;
	enum how how;

	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		for (how = 0; how < HOWS; how++) {
			for (page = 0; page < 2; page++) {
				struct av_view view = access_to(holes[i].va, how, page);

				view.annex.anchor = anchor->va;
				view.annex.ipa = anchor->ipa;
				if (holds && is_for(how, page, PAGES))
					check_in_hole(&view);
				else
					check_true_fault(&view, FSC(TRANSLATION, holes[i].level));
			}
		}
	}
}

static void test_anchor(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(there); i++)
		check_anchor(&there[i], true);
	for (i = 0; i < ARRAY_SIZE(not_there); i++)
		check_anchor(&not_there[i], false);
}

/* What the guest has mapped since is for whoever fills to see. */
static void test_hole_mapped(void)
{
	static const u64 blocks[] = { HIGH, HIGH_RO, HIGH_USER, HIGH_NG };
	struct av_answer answer;
	enum how how;
	unsigned int i;
	int page;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		for (how = 0; how < HOWS; how++) {
			for (page = -1; page <= PAGES; page++) {
				struct av_view view = access_to(blocks[i] + AREA, how, page);

				if (is_for(how, page, PAGES))
					check_filled(&view, false, AV_BLOCK_SHIFT,
						     blocks[i] != HIGH_NG);
				else
					check_as_without(view, &answer);
			}
		}
	}
}

static void check_mapped_anchor(u64 block, const struct anchor *anchor, bool holds)
{
	enum how how;
	int page;

	for (how = 0; how < HOWS; how++) {
		for (page = 0; page < 2; page++) {
			struct av_view view = access_to(block + AREA, how, page);
			struct av_answer answer;

			view.annex.anchor = anchor->va;
			view.annex.ipa = anchor->ipa;
			if (holds && is_for(how, page, PAGES))
				check_filled(&view, false, AV_BLOCK_SHIFT, block != HIGH_NG);
			else
				check_as_without(view, &answer);
		}
	}
}

/* In an address space without the anchor, the annex does not see the mapping there. */
static void test_mapped_anchor(void)
{
	static const u64 blocks[] = { HIGH, HIGH_RO, HIGH_USER, HIGH_NG };
	static const struct anchor unreadable = { HIGH_BROKEN, RAM };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		for (j = 0; j < ARRAY_SIZE(there); j++)
			check_mapped_anchor(blocks[i], &there[j], true);
		for (j = 0; j < ARRAY_SIZE(not_there); j++)
			check_mapped_anchor(blocks[i], &not_there[j], false);
		for (broken = -1; broken >= -133; broken--)
			check_mapped_anchor(blocks[i], &unreadable, false);
		broken = -EFAULT;
	}
}

/* The guest has a mapping there, even if an unusable one: that ends the annex too. */
static void test_other_faults(void)
{
	static const struct {
		u64 block;
		u32 fsc;
	} faults[] = {
		{ HIGH_NO_AF, FSC(ACCESS_FLAG, 2) }, { HIGH_TOO_LARGE, FSC(ADDRESS_SIZE, 2) },
		{ HIGH_NO_TABLE, FSC(EXTERNAL_WALK, 3) },
	};
	enum how how;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		for (how = 0; how < HOWS; how++) {
			struct av_view view = access_to(faults[i].block + AREA, how, how == FETCH);

			check_filled(&view, false, AV_PAGE_SHIFT, true);
			/* There is none any more. */
			view.annex = (struct av_annex_place) {};
			check_true_fault(&view, faults[i].fsc);
		}
	}
}

/* Whatever the number: of the guest's own walk it is the answer, of the anchor's it is none. */
static void test_errors(void)
{
	for (broken = -1; broken >= -133; broken--) {
		struct av_view own = access_to(HIGH_BROKEN + AREA, LOAD, 0);
		struct av_view anchors = access_to(HIGH_NONE + AREA, LOAD, 0);
		struct av_answer answer;

		check_as_without(own, &answer);
		CHECK_EQ(answer.kind, AV_ANSWER_ERROR);
		CHECK_EQ(answer.err, broken);
		anchors.annex.anchor = HIGH_BROKEN;
		anchors.annex.ipa = 0;
		check_true_fault(&anchors, FSC(TRANSLATION, 2));
	}
	broken = -EFAULT;
}

/* Where the guest has reserved what it has mapped, nothing mapped is no annex. */
static void test_no_hole(void)
{
	enum how how;

	for (how = 0; how < HOWS; how++) {
		struct av_view view = access_to(HIGH_NONE + AREA, how, how == FETCH);

		view.annex.hole = false;
		check_true_fault(&view, FSC(TRANSLATION, 2));
	}
}

static void check_others(struct av_view view, u8 level)
{
	u64 va = view.annex.va;
	enum how how;
	int page;

	for (how = 0; how < HOWS; how++) {
		for (page = 0; page < PAGES; page++) {
			view.esr = esr_of(how);
			view.far = va + page * AV_PAGE_SIZE;
			check_true_fault(&view, FSC(TRANSLATION, level));
		}
	}
}

/* Only EL1 has one, only on copies, and only in the high half. */
static void test_others(void)
{
	struct av_tree *own[] = { on_copies[0], load(true, 1, AV_MODE_EL1) };
	struct av_tree *el0[] = { load(false, 0, 0), load(true, 0, 0) };
	struct av_view view = access_to(HIGH_NONE + AREA, LOAD, 0);

	view.tree = own;
	check_others(view, 2);
	view.tree = el0;
	view.el = 0;
	check_others(view, 2);
	check_others(access_to(LOW_NONE + AREA, LOAD, 0), 2);
	av_tree_put(&sh, own[1]);
	av_tree_put(&sh, el0[0]);
	av_tree_put(&sh, el0[1]);
}

/* The guest's own code where registers are, which reads or writes itself: no site does. */
static void check_own_page(const struct hole *hole, enum how how, u64 offset)
{
	static const s64 pcs[] = { -4, 0, 4, 0x800, 0xffc, 0x1000, 0x1ffc, AV_STUB_AREA };
	struct av_view view = access_to(hole->va, how, 0);
	unsigned int i;

	view.far += offset;
	for (i = 0; i < ARRAY_SIZE(pcs); i++) {
		view.pc = hole->va + pcs[i];
		if ((u64)pcs[i] < AV_PAGE_SIZE)
			check_true_fault(&view, FSC(TRANSLATION, hole->level));
		else
			check_in_hole(&view);
	}
}

static void test_own_page(void)
{
	unsigned int i;
	enum how how;

	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		for (how = LOAD; how < HOWS; how++) {
			check_own_page(&holes[i], how, 0);
			check_own_page(&holes[i], how, 0x7fc);
			check_own_page(&holes[i], how, 0xfff);
			check_own_page(&holes[i], how, -TAG);
		}
	}
}

int main(void)
{
	build_world();
	on_copies[0] = load(false, 1, AV_MODE_EL1_COPIES);
	on_copies[1] = load(true, 1, AV_MODE_EL1_COPIES);
	RUN(test_annex);
	RUN(test_hole);
	RUN(test_anchor);
	RUN(test_hole_mapped);
	RUN(test_mapped_anchor);
	RUN(test_other_faults);
	RUN(test_errors);
	RUN(test_no_hole);
	RUN(test_others);
	RUN(test_own_page);
	av_tree_put(&sh, on_copies[0]);
	av_tree_put(&sh, on_copies[1]);
	free_world();
	return TESTS_DONE();
}
