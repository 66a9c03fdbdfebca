// SPDX-License-Identifier: GPL-2.0
/*
 * Classification of aborts, one row a case: the guest's own, with their syndrome; hidden ones, with
 * their rights; devices.
 */
#include "resolve_world.h"

#define FETCH		BIT(0)		/* an instruction abort */
#define ISSUE		0x1ffffffULL	/* all that a syndrome can say */

struct row {
	const char *name;
	/* the abort: of the shadow tables, so its level means nothing */
	unsigned int how;
	u64 iss;
	u8 el;
	u8 split;		/* the level has a tree of its own: EL1's enum av_mode */
	bool high_copies;	/* and so in the high half */
	u64 pc, far;
	struct av_annex_place annex;
	/* the expected result */
	enum av_answer_kind kind;
	enum av_abort_work work;
	enum av_exit_class cls;
	u64 answer_iss;		/* AV_ANSWER_ABORT, AV_ANSWER_DEVICE */
	u8 rights;		/* AV_ABORT_FILL */
	int err;		/* AV_ANSWER_ERROR */
};

#define RWX	(AV_R | AV_W | AV_X)

#define COPIES		.split = AV_MODE_EL1_COPIES, .high_copies = true
#define HIDDEN(c, r)	.kind = AV_ANSWER_RESUME, .work = AV_ABORT_FILL, .cls = AV_EXIT_##c, \
			.rights = (r)
#define TRUE_FAULT(c, i)	.kind = AV_ANSWER_ABORT, .cls = AV_EXIT_##c, .answer_iss = (i)
#define ANNEX(block)	.annex.va = (block) + AREA
#define TRY_ANNEX(block, at)	.el = 1, COPIES, ANNEX(block), .far = (block) + AREA + (at)
#define IN_ANNEX(c)	.kind = AV_ANSWER_RESUME, .work = AV_ABORT_ANNEX, .cls = AV_EXIT_##c
#define BUS(i)		.kind = AV_ANSWER_DEVICE, .cls = AV_EXIT_DABT_TRUE, .answer_iss = (i)

static const struct row rows[] = {
	/* Hidden: the guest's tables allow it, and there is memory. */
	{ "a load", .iss = T, .far = RW, HIDDEN(DABT_TRANS, RWX) },
	{ "a store", .iss = T | W, .far = RW, HIDDEN(DABT_TRANS, RWX) },
	{ "a store to what may only be read yet", .iss = P | W, .far = RW, HIDDEN(DABT_PERM, RWX) },
	{ "an entry without AF", .iss = A, .far = RW, HIDDEN(DABT_TRANS, RWX) },
	{ "a fetch", FETCH, .iss = T, .far = RW, HIDDEN(PABT_HIDDEN, RWX) },
	{ "a load from a page for reading", .iss = T, .far = RO, HIDDEN(DABT_TRANS, AV_R | AV_X) },
	{ "cache maintenance of it", .iss = T | W | CM, .far = RO,
	  HIDDEN(DABT_TRANS, AV_R | AV_X) },
	{ "EL1 on EL0's page, which it may not execute", .iss = T, .el = 1, .far = RW,
	  HIDDEN(DABT_TRANS, RWX) },
	{ "EL1 in the high half", .iss = T | W, .el = 1, .far = HIGH + 0x123, HIDDEN(DABT_TRANS, RWX) },
	/* The slot has a say in the rights. */
	{ "a load from ROM", .iss = T, .far = ROM_RW, HIDDEN(DABT_TRANS, AV_R | AV_X) },
	{ "a load from a logged page", .iss = T, .far = LOG, HIDDEN(DABT_TRANS, AV_R | AV_X) },
	{ "a store to a logged page", .iss = P | W, .far = LOG, HIDDEN(DABT_PERM, RWX) },
	/* The tree that both levels share. */
	{ "EL1's own page", .iss = T, .el = 1, .far = KERNEL, .kind = AV_ANSWER_RESUME,
	  .work = AV_ABORT_SPLIT, .cls = AV_EXIT_DABT_TRANS },
	{ "EL1's own page, in a tree of its own", .iss = T, .el = 1, .split = AV_MODE_EL1,
	  .far = KERNEL, HIDDEN(DABT_TRANS, RWX) },
	{ "EL0 executes what EL1 may too", FETCH, .iss = T, .far = BOTH, .kind = AV_ANSWER_RESUME,
	  .work = AV_ABORT_SPLIT, .cls = AV_EXIT_PABT_HIDDEN },
	{ "EL0 reads it", .iss = T, .far = BOTH, HIDDEN(DABT_TRANS, AV_R) },
	{ "EL0 executes it, in a tree of its own", FETCH, .iss = T, .split = AV_MODE_EL0,
	  .far = BOTH, HIDDEN(PABT_HIDDEN, AV_R | AV_X) },
	/* EL1 from copies. */
	{ "a fetch, of a copy", FETCH, .iss = T, .el = 1, COPIES, .far = HIGH,
	  HIDDEN(PABT_HIDDEN, AV_X) },
	{ "a load where a copy is", .iss = P, .el = 1, COPIES, .far = HIGH + 0x1000,
	  HIDDEN(DABT_PERM, AV_R | AV_W) },
	{ "a load from the page that it is in", .iss = P, .el = 1, COPIES, .far = HIGH,
	  .pc = HIGH + 0xffc, .kind = AV_ANSWER_RESUME, .work = AV_ABORT_PLAIN,
	  .cls = AV_EXIT_DABT_PERM },
	{ "a fetch from the low half", FETCH, .iss = P, .el = 1, COPIES, .far = KERNEL,
	  .kind = AV_ANSWER_RESUME, .work = AV_ABORT_PLAIN, .cls = AV_EXIT_PABT_HIDDEN },
	{ "a store to the low half", .iss = T | W, .el = 1, COPIES, .far = KERNEL,
	  HIDDEN(DABT_TRANS, AV_R | AV_W) },
	/* The annex: registers in the first page, stubs in the others. */
	{ "a load of a register", .iss = T, TRY_ANNEX(HIGH, 0), IN_ANNEX(DABT_TRANS) },
	{ "a store at the page's end", .iss = P | W, TRY_ANNEX(HIGH, 0xfff), IN_ANNEX(DABT_PERM) },
	{ "cache maintenance", .iss = T | W | CM, TRY_ANNEX(HIGH, 8), IN_ANNEX(DABT_TRANS) },
	{ "a load with a tag", .iss = T, TRY_ANNEX(HIGH, -(0x5aULL << 56)), IN_ANNEX(DABT_TRANS) },
	{ "a fetch where registers are", FETCH, .iss = P, TRY_ANNEX(HIGH, 0xffc),
	  HIDDEN(PABT_HIDDEN, AV_X) },
	{ "a fetch of the first stub", FETCH, .iss = T, TRY_ANNEX(HIGH, AV_STUB_FIRST),
	  IN_ANNEX(PABT_HIDDEN) },
	{ "a load where stubs are", .iss = P, TRY_ANNEX(HIGH, AV_STUB_FIRST),
	  HIDDEN(DABT_PERM, AV_R | AV_W) },
	/* The guest's rights do not matter, but its mappings do. */
	{ "a store to a register in a page for reading", .iss = T | W, TRY_ANNEX(HIGH_RO, 0),
	  IN_ANNEX(DABT_TRANS) },
	{ "a stub in what is not executed", FETCH, .iss = T, TRY_ANNEX(HIGH_RO, AV_STUB_FIRST),
	  IN_ANNEX(PABT_HIDDEN) },
	{ "nothing is there", .iss = T, .el = 1, COPIES,
	  .annex.va = HIGH_NONE, .far = HIGH_NONE, TRUE_FAULT(DABT_TRUE, FSC(TRANSLATION, 2)) },
	{ "copies in the low half only", .iss = T, .el = 1, .split = AV_MODE_EL1_COPIES,
	  ANNEX(HIGH), .far = HIGH + AREA, HIDDEN(DABT_TRANS, RWX) },
	{ "an address of the low half", .iss = T, .el = 1, COPIES, .annex.va = RW,
	  .far = RW, HIDDEN(DABT_TRANS, AV_R | AV_W) },
	{ "an alignment fault", .iss = AV_FSC_ALIGNMENT, TRY_ANNEX(HIGH, 1),
	  TRUE_FAULT(ALIGN, AV_FSC_ALIGNMENT) },
	/* True: the guest's tables do not allow it, and their level counts. */
	{ "nothing there", .iss = T | W, .far = NONE, TRUE_FAULT(DABT_TRUE, T | W) },
	{ "nothing there, to fetch", FETCH, .iss = FSC(PERMISSION, 1), .far = NONE,
	  TRUE_FAULT(PABT_TRUE, T) },
	{ "no AF", .iss = T, .far = NO_AF, TRUE_FAULT(DABT_TRUE, A) },
	{ "outside of the half", .iss = T, .far = OUT_OF_HALF,
	  TRUE_FAULT(DABT_TRUE, FSC(TRANSLATION, 0)) },
	{ "a store to a page for reading", .iss = T | W, .far = RO, TRUE_FAULT(DABT_TRUE, P | W) },
	{ "EL0 on EL1's page", .iss = T, .far = KERNEL, TRUE_FAULT(DABT_TRUE, P) },
	{ "a fetch of what is not executed", FETCH, .iss = P, .far = NO_EXEC,
	  TRUE_FAULT(PABT_TRUE, P) },
	{ "EL1 executes what EL0 may write", FETCH, .iss = P, .el = 1, .split = AV_MODE_EL1, .far = RW,
	  TRUE_FAULT(PABT_TRUE, P) },
	{ "cache maintenance of nothing", .iss = T | W | CM, .far = NONE,
	  TRUE_FAULT(DABT_TRUE, T | W | CM) },
	{ "the rest of the syndrome is not the guest's", .iss = (ISSUE & ~0x3fULL & ~CM) | T,
	  .far = NONE, TRUE_FAULT(DABT_TRUE, T | W) },
	{ "nor of a fetch", FETCH, .iss = (ISSUE & ~0x3fULL) | T, .far = NONE,
	  TRUE_FAULT(PABT_TRUE, T) },
	{ "a table in no memory", .iss = T, .far = NO_TABLE,
	  TRUE_FAULT(DABT_TRUE, FSC(EXTERNAL_WALK, 2)) },
	{ "a page beyond PARange", .iss = T, .far = TOO_LARGE,
	  TRUE_FAULT(DABT_TRUE, FSC(ADDRESS_SIZE, 3)) },
	{ "a page beyond the VM's addresses", .iss = T, .far = FAR_AWAY,
	  TRUE_FAULT(DABT_TRUE, FSC(ADDRESS_SIZE, 0)) },
	/* No memory: a device. */
	{ "a load from a device", .iss = T, .far = DEV + 8, BUS(AV_FSC_EXTERNAL) },
	{ "a store to a device", .iss = T | W, .far = DEV + 8, BUS(AV_FSC_EXTERNAL | W) },
	{ "a store to a device for reading", .iss = T | W, .far = DEV_RO,
	  TRUE_FAULT(DABT_TRUE, P | W) },
	{ "a store to ROM", .iss = P | W, .far = ROM_RW, BUS(AV_FSC_EXTERNAL | W) },
	{ "cache maintenance of ROM", .iss = T | W | CM, .far = ROM_RW,
	  HIDDEN(DABT_TRANS, AV_R | AV_X) },
	{ "cache maintenance of a device", .iss = T | W | CM, .far = DEV, .kind = AV_ANSWER_SKIP,
	  .cls = AV_EXIT_CACHE },
	{ "a fetch from a device", FETCH, .iss = T, .far = DEV,
	  TRUE_FAULT(PABT_TRUE, AV_FSC_EXTERNAL) },
	{ "a load from a device, its syndrome full", .iss = (ISSUE & ~0x3fULL & ~CM & ~W) | T,
	  .far = DEV, BUS(AV_FSC_EXTERNAL) },
	/* Not of the tables: passed on. */
	{ "alignment", .iss = AV_FSC_ALIGNMENT | W, .far = RW + 1,
	  TRUE_FAULT(ALIGN, AV_FSC_ALIGNMENT | W) },
	{ "an external abort", .iss = AV_FSC_EXTERNAL | AV_ESR_FNV | AV_ESR_EA, .far = RW,
	  TRUE_FAULT(DABT_TRUE, AV_FSC_EXTERNAL | AV_ESR_FNV | AV_ESR_EA) },
	{ "one of a fetch", FETCH, .iss = AV_FSC_EXTERNAL | AV_ESR_FNV, .far = RW,
	  TRUE_FAULT(PABT_TRUE, AV_FSC_EXTERNAL | AV_ESR_FNV) },
	{ "lockdown", .iss = AV_FSC_LOCKDOWN, .far = RW, TRUE_FAULT(DABT_TRUE, AV_FSC_LOCKDOWN) },
	{ "an exclusive that is not supported", .iss = AV_FSC_EXCLUSIVE | W, .far = RW,
	  TRUE_FAULT(DABT_TRUE, AV_FSC_EXCLUSIVE | W) },
	{ "an atomic update that is not supported", .iss = AV_FSC_ATOMIC_UPDATE, .far = RW,
	  TRUE_FAULT(DABT_TRUE, AV_FSC_ATOMIC_UPDATE) },
	{ "a conflict in the TLB", .iss = AV_FSC_TLB_CONFLICT, .far = RW, .kind = AV_ANSWER_RESUME,
	  .work = AV_ABORT_FLUSH, .cls = AV_EXIT_DABT_TRANS },
	/* The end. */
	{ "a walk that the hardware could not do", .iss = FSC(EXTERNAL_WALK, 2), .far = RW,
	  .kind = AV_ANSWER_KILL, .cls = AV_EXIT_DABT_TRANS },
	{ "an address too large for the hardware", FETCH, .iss = FSC(ADDRESS_SIZE, 1), .far = RW,
	  .kind = AV_ANSWER_KILL, .cls = AV_EXIT_PABT_HIDDEN },
	/* The guest has something where the window is. */
	{ "the window", .iss = T, .el = 1, .far = WINDOW + 0x40, .kind = AV_ANSWER_RESUME,
	  .work = AV_ABORT_WINDOW, .cls = AV_EXIT_DABT_TRANS },
	{ "its last byte, with a tag", .iss = P | W, .el = 1, .far = ~0ULL ^ 0x5aULL << 56,
	  .kind = AV_ANSWER_RESUME, .work = AV_ABORT_WINDOW, .cls = AV_EXIT_DABT_PERM },
	{ "it is executed", FETCH, .iss = P, .el = 1, .far = WINDOW + 0x1000,
	  .kind = AV_ANSWER_RESUME, .work = AV_ABORT_WINDOW, .cls = AV_EXIT_PABT_HIDDEN },
	{ "EL0 on the window, which is the guest's to refuse", .iss = T, .far = WINDOW,
	  TRUE_FAULT(DABT_TRUE, FSC(PERMISSION, 2)) },
	{ "memory that the VMM took away", .iss = T, .far = BROKEN_TABLE,
	  .kind = AV_ANSWER_ERROR, .cls = AV_EXIT_DABT_TRANS, .err = -EFAULT },
};

/* What mmu/fault/fast.c makes of it by the descriptor, if there is a table: no more, no less. */
static void check_near(const struct av_view *view, const struct av_classified *r,
		       const struct av_answer *answer)
{
	struct av_walk_table table;
	struct av_classified near;
	struct av_answer again;
	u64 desc;
	int ret;

	near.access = av_abort_access(view->esr);
	av_classify_begin(view->esr, view->far, &again);
	if (!r->walked || r->work == AV_ABORT_ANNEX || !av_walk_keep(&guest, &r->walk, &table) ||
	    mem.read64(NULL, r->walk.desc_ipa, &desc))
		return;
	ret = av_walk_page(&guest, &table, r->walk.va, desc, &near.walk);
	ret = av_walk_permits(&near.walk, ret, view->el, near.access);
	if (view->el || !table.e0pd)
		CHECK_EQ(av_walk_table_permits(&table, desc, view->el, near.access), ret);
	if (!ret) {
		CHECK(answer->kind != AV_ANSWER_ABORT || near.walk.ipa >> IPA_BITS || !r->slot);
		CHECK(!memcmp(&near.walk, &r->walk, sizeof(near.walk)));
		return;
	}
	av_classify_guests(view->esr, AV_FAULT_FSC(ret), &again);
	CHECK(same_answer(answer, &again));
}

static void check_row(const struct row *row)
{
	u64 ec = row->how & FETCH ? AV_EC_IABT_LOW : AV_EC_DABT_LOW;
	struct av_tree *tree[2] = {
		load(false, row->el, row->split),
		load(true, row->el, row->high_copies ? AV_MODE_EL1_COPIES : 0),
	};
	struct av_view view = {
		.regime = &guest, .tree = tree, .slots = slots, .mem = &mem, .el = row->el,
		.esr = FIELD_PREP(AV_ESR_EC, ec) | AV_ESR_IL | row->iss, .far = row->far,
		.pc = row->pc, .annex = row->annex, .annex_size = AV_STUB_AREA,
		.ipa_bits = IPA_BITS,
	};
	struct av_classified r = { .work = 99 };
	struct av_answer answer;

	av_classify(&view, &r, &answer);
	check_near(&view, &r, &answer);
	CHECK_EQ(answer.kind, row->kind);
	CHECK_EQ(r.work, row->work);
	CHECK_EQ(answer.cls, row->cls);
	CHECK_EQ(answer.far, row->far);
	CHECK_EQ(answer.insn, row->how & FETCH);
	if (row->kind == AV_ANSWER_ABORT || row->kind == AV_ANSWER_DEVICE)
		CHECK_EQ(answer.iss, row->answer_iss);
	if (row->kind == AV_ANSWER_DEVICE)
		CHECK_EQ(answer.ipa, r.walk.ipa);
	if (row->kind == AV_ANSWER_ERROR)
		CHECK_EQ(answer.err, row->err);
	if (row->kind == AV_ANSWER_KILL)
		CHECK_EQ(answer.iss, view.esr);
	if (row->work == AV_ABORT_FILL) {
		CHECK_EQ(r.rights, row->rights);
		CHECK_EQ(r.copy, row->high_copies && row->how & FETCH);
		CHECK_EQ(r.tree, tree[row->far >> 63]);
		CHECK_EQ(r.slot, av_slot_find(slots, r.walk.ipa >> 12));
	}
	if (row->work == AV_ABORT_ANNEX)
		CHECK_EQ(r.walk.va, av_untag(&guest, row->far));
	av_tree_put(&sh, tree[0]);
	av_tree_put(&sh, tree[1]);
}

static void test_rows(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned long before = check_failed;

		check_row(&rows[i]);
		if (check_failed > before)
			fprintf(stderr, "  in the row: %s\n", rows[i].name);
	}
}

/* No syndrome is without an answer, and none gives more than the guest's tables do. */
static void test_every_syndrome(void)
{
	struct av_tree *tree[2] = { load(false, 0, false), load(true, 0, false) };
	u64 far[] = { RW, RO, KERNEL, NO_EXEC, DEV, ROM_RW, LOG, NO_AF, NONE, WINDOW };
	struct av_classified r;
	struct av_answer answer;
	unsigned int i, bits;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		for (bits = 0; bits < 1024; bits++) {
			struct av_view view = {
				.regime = &guest, .tree = tree, .slots = slots, .mem = &mem,
				.esr = FIELD_PREP(AV_ESR_EC, bits & 512 ? AV_EC_IABT_LOW :
						  AV_EC_DABT_LOW) | (bits & 511),
				.far = far[i], .ipa_bits = IPA_BITS,
			};
			u8 wants = bits & 512 ? AV_X : bits & W && !(bits & CM) ? AV_W : AV_R;

			memset(&r, 0xff, sizeof(r));
			av_classify(&view, &r, &answer);
			CHECK(answer.kind <= AV_ANSWER_KILL && r.work <= AV_ABORT_WINDOW);
			CHECK(r.work != AV_ABORT_ANNEX);
			CHECK(r.work == AV_ABORT_ANSWERED || answer.kind == AV_ANSWER_RESUME);
			if (r.work == AV_ABORT_FILL) {
				CHECK(r.rights & wants && !(r.rights & ~r.walk.el0));
				CHECK(!(r.slot == &rom && r.rights & AV_W));
			}
			if (answer.kind == AV_ANSWER_DEVICE) {
				CHECK(r.walk.el0 & wants && !(answer.iss & ~(W | 0x3fULL)));
				CHECK_EQ(answer.rom, r.slot == &rom);
			}
		}
	}
	av_tree_put(&sh, tree[0]);
	av_tree_put(&sh, tree[1]);
}

/* The trees that the two levels run on: different ones, but where both share. */
static struct av_tree *halves[3][2];

static struct av_view draw_device_view(unsigned int n)
{
	static const u64 far[] = { DEV, DEV_RO, ROM_RW, RW, NONE };
	static const u64 iss[] = { T, T | W, T | CM, T | W | CM, P, P | W, AV_FSC_EXTERNAL };
	unsigned int mode = n / 7 / 5 / 2 % 3;

	return (struct av_view) {
		.regime = &guest, .tree = halves[mode], .slots = slots, .mem = &mem,
		.el = mode == 2, .ipa_bits = IPA_BITS,
		.esr = FIELD_PREP(AV_ESR_EC, n / 7 / 5 % 2 ? AV_EC_IABT_LOW : AV_EC_DABT_LOW) |
		       iss[n % 7],
		.far = far[n / 7 % 5] + 8 * (n % 3),
	};
}

#define DEVICE_VIEWS	(7 * 5 * 2 * 3)

static bool again_of(const struct av_device_page *d, const struct av_view *v,
		     struct av_answer *answer)
{
	return av_device_again(d, v->tree[!!(v->far & BIT_ULL(55))], v->el, v->esr, v->far,
			       answer);
}

/* After any access to a device: an answer without the tables equals the answer by the tables. */
static void test_device_again(void)
{
	struct av_answer first, answer, again;
	unsigned int i, j, hits = 0;
	struct av_classified r;

	halves[0][0] = halves[1][0] = load(false, 0, 0);
	halves[2][0] = load(false, 1, AV_MODE_EL1);
	for (i = 0; i < 3; i++)
		halves[i][1] = load(true, i == 2, 0);
	for (i = 0; i < DEVICE_VIEWS; i++) {
		struct av_view before = draw_device_view(i);
		struct av_device_page page = {};

		av_classify(&before, &r, &first);
		if (first.kind != AV_ANSWER_DEVICE)
			continue;
		av_device_note(&page, &before, &r, &first);
		CHECK_EQ(again_of(&page, &before, &again),
			 !first.rom && (before.esr & AV_ESR_FSC) == T);
		for (j = 0; j < DEVICE_VIEWS; j++) {
			struct av_view view = draw_device_view(j);

			if (!again_of(&page, &view, &again))
				continue;
			av_classify(&view, &r, &answer);
			CHECK(same_answer(&again, &answer));
			hits++;
		}
	}
	CHECK(hits > 20);
	for (i = 0; i < 3; i++)
		av_tree_put(&sh, halves[i][1]);
	av_tree_put(&sh, halves[0][0]);
	av_tree_put(&sh, halves[2][0]);
}

/* Loads were seen to be allowed, then stores too; another page starts over. */
static void test_device_note(void)
{
	struct av_tree *tree[2] = { load(false, 0, 0), load(true, 0, 0) };
	struct av_view load_view = {
		.regime = &guest, .tree = tree, .slots = slots, .mem = &mem,
		.esr = FIELD_PREP(AV_ESR_EC, AV_EC_DABT_LOW) | T, .far = DEV,
		.ipa_bits = IPA_BITS,
	};
	struct av_view store = load_view, other = load_view;
	struct av_device_page page = {};
	struct av_answer answer;
	struct av_classified r;

	store.esr |= W;
	other.far = DEV_RO;
	av_classify(&load_view, &r, &answer);
	av_device_note(&page, &load_view, &r, &answer);
	CHECK(again_of(&page, &load_view, &answer));
	CHECK(!again_of(&page, &store, &answer));
	av_classify(&store, &r, &answer);
	av_device_note(&page, &store, &r, &answer);
	CHECK(again_of(&page, &load_view, &answer));
	CHECK(again_of(&page, &store, &answer));
	av_classify(&other, &r, &answer);
	av_device_note(&page, &other, &r, &answer);
	CHECK(!again_of(&page, &load_view, &answer));
	CHECK_EQ(page.access, AV_R);
	av_tree_put(&sh, tree[0]);
	av_tree_put(&sh, tree[1]);
}

int main(void)
{
	build_world();
	RUN(test_rows);
	RUN(test_every_syndrome);
	RUN(test_device_again);
	RUN(test_device_note);
	free_world();
	return TESTS_DONE();
}
