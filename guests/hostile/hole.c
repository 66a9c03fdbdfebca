// SPDX-License-Identifier: GPL-2.0
/*
 * Linux's image has a hole after it has freed its init sections, which a hypervisor may use like
 * the space of annex.c. These cases read, write and jump into the hole and around it.
 */
#include "hole.h"

#define FAR_CODE	(KERNEL_BASE + (40UL << 20))
#define FAR_ROUNDS	(2 * ENOUGH)
#define SPSR_MASKED	0x3c5UL
#define FIRST_WORDS	256	/* jump to each of these */

u64 gap;
bool lent;

/* ---- in the hole --------------------------------------------------------------------- */

void set_entry(u64 va, u64 entry)
{
	*(volatile u64 *)kernel_entry(va) = entry;
	asm volatile("dsb ishst\n\tisb" : : : "memory");
}

void flush_page(u64 va)
{
	asm volatile("dsb ishst\n\ttlbi vaae1is, %0\n\tdsb ish\n\tisb"
		     : : "r" (va >> 12 & 0xfffffffffffUL) : "memory");
}

/* The number of readable words in a page that the guest does not map. */
static unsigned int words_shown(u64 at)
{
	unsigned int i, shown = 0;

	if (*kernel_entry(at) || try_read(at).taken)
		return 0;
	for (i = 0; i < 512; i++)
		shown += !try_read(at + i * 8).taken;
	return shown;
}

static unsigned int shown(void)
{
	unsigned int i, words = 0;

	for (i = 0; i <= UNITS && !words; i++)
		words = words_shown(gap - UNIT + i * UNIT);
	return words;
}

void find_again(const char *name)
{
	unsigned int i, words = shown();

	for (i = 0; i < TURNS && !words; i++) {
		hot(ENOUGH, "to be found");
		words = shown();
	}
	result(name, words, "count");
}

static void (*case_run)(void);
static bool case_warm;

static void upper(unsigned int cpu)
{
	(void)cpu;
	write_sysreg(vbar_el1, kernel_va(kernel_first_vectors));
	isb();
	if (case_warm) {
		find_again("hole.shown");
		lent = shown();
	}
	((void (*)(void))kernel_va(case_run))();
}

void in_hole(void (*run)(void), bool warm)
{
	if (!kernel_init())
		return;
	gap = kernel_make_hole();
	case_run = run;
	case_warm = warm;
	kernel_run(upper, 0);
}

static bool in_units(u64 at)
{
	return lent && at - (gap - UNIT) < (UNITS + 1) * UNIT;
}

bool may_show(u64 at)
{
	return in_units(at) && at % UNIT < PAGE;
}

bool may_run(u64 at)
{
	return in_units(at) && at % UNIT >= PAGE;
}

void check_fault(const char *when, const char *what, u64 at, const struct outcome *o,
		 unsigned int class, unsigned int type)
{
	check(o->taken && class_of(o->esr) == class && FSC_TYPE(o->esr) == type && o->far == at,
	      "%s: a %s at %lx (the hole's %lx): taken %u, esr %lx, far %lx, %lx", when, what, at,
	      at - gap, o->taken, o->esr, o->far, o->value);
}

void check_nothing(const char *when, u64 at)
{
	u64 word = at + next_random() % 512 * 8;
	struct outcome o;

	if (!may_show(at)) {
		o = try_read(word);
		check_fault(when, "read", word, &o, CLASS_ACCESS, FSC_TRANSLATION);
		o = try_write(word, garbage());
		check_fault(when, "write", word, &o, CLASS_ACCESS, FSC_TRANSLATION);
	}
	if (!may_run(at)) {
		o = try_call(word);
		check_fault(when, "jump", word, &o, CLASS_FETCH, FSC_TRANSLATION);
	}
}

void check_nothing_in_units(const char *when)
{
	u64 at;

	for (at = gap; at < gap + UNITS * UNIT; at += PAGE)
		check_nothing(when, at);
}

/* ---- read and written ------------------------------------------------------------------ */

/* An address translation gives the result of the guest's tables. */
static void check_translation(u64 at)
{
	u64 par;

	asm volatile("at s1e1r, %1\n\tisb\n\tmrs %0, par_el1" : "=r" (par) : "r" (at) : "memory");
	check((par & 1) && (par >> 1 & 0x3c) == FSC_TRANSLATION, "AT of %lx: %lx", at, par);
}

/* Below the hole and above it are the guest's own pages; in the hole nothing is mapped. */
static void check_around(void)
{
	volatile u64 *low = (volatile u64 *)kernel_pa((void *)(gap - PAGE));
	struct outcome o = try_read(gap - 8);
	u64 at;

	check(!o.taken && o.value == low[511], "the word below: taken %u, %lx, not %lx", o.taken,
	      o.value, low[511]);
	o = try_write(gap - 8, 1);
	check_fault("around", "write", gap - 8, &o, CLASS_ACCESS, FSC_PERMISSION);
	o = try_call(gap - 8);
	check_fault("around", "jump", gap - 8, &o, CLASS_FETCH, FSC_PERMISSION);
	for (at = gap; at < gap + KERNEL_HOLE; at += PAGE)
		check_nothing("around", at);
	o = try_read(gap + KERNEL_HOLE);
	check(!o.taken, "the word above: esr %lx", o.esr);
}

static void access(void)
{
	unsigned int i, taken = 0;
	struct outcome o;

	for (i = 0; i < 3 * 512; i++) {
		o = try_write(gap + i % 512 * 8, garbage());
		taken += o.taken;
		if (!lent)
			check_fault("garbage", "write", gap + i % 512 * 8, &o, CLASS_ACCESS,
				    FSC_TRANSLATION);
		hot(1, "with garbage");
		leave();
		hot(1, "with garbage, and left");
		check_translation(gap + i % 512 * 8);
	}
	result("hole.taken", taken, "count");
	hot(ENOUGH / 4, "after garbage");
	check_around();
	hot(ENOUGH, "after a look around");
	check_nothing_in_units("at last");
	find_again("hole.again");
}

void case_hole_access(void)
{
	in_hole(access, true);
}

/* ---- virtual EL0 ------------------------------------------------------------------------- */

static void user(void)
{
	static const char *const what[] = { "user's read", "user's write", "user's jump" };
	unsigned int i, turn;
	struct outcome o;
	u64 at;

	user_init();
	for (turn = 0; turn < 3; turn++) {
		for (at = gap; at < gap + (UNITS + 1) * UNIT; at += PAGE) {
			for (i = USER_READ; i <= USER_JUMP; i++) {
				u64 word = at + next_random() % 512 * 8;

				o = in_user(i, word);
				check_fault("in user space", what[i], word, &o, i == USER_JUMP ?
					    CLASS_FETCH_USER : CLASS_ACCESS_USER, FSC_TRANSLATION);
				check(o.value == 0x6666, "a %s of %lx: x0 %lx", what[i], word,
				      o.value);
			}
			hot(8, "between user space");
		}
		hot(ENOUGH, "after user space");
	}
	find_again("hole.again");
}

void case_hole_user(void)
{
	in_hole(user, true);
}

/* ---- jumped to ----------------------------------------------------------------------------- */

struct jump hole_jump __attribute__((aligned(4096)));
static u32 far_page[1024] __attribute__((aligned(4096)));

_Static_assert(__builtin_offsetof(struct jump, x) == JUMP_X, "jump.S");
_Static_assert(__builtin_offsetof(struct jump, caller) == JUMP_CALLER, "jump.S");
_Static_assert(__builtin_offsetof(struct jump, stack) == JUMP_STACK, "jump.S");
_Static_assert(__builtin_offsetof(struct jump, scratch) == JUMP_SCRATCH, "jump.S");

void far_write(u32 *to, u64 va)
{
	volatile u32 *words = (volatile u32 *)kernel_pa(to);
	unsigned int i;

	for (i = 0; hole_far + i < hole_far_end; i++)
		words[i] = hole_far[i];
	kernel_sync_code((void *)words, i * 4, va);
}

void far_call(u64 va, unsigned int times, const char *when)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < times; i++) {
		u64 x[8] = { next_random(), SPSR_MASKED, (u32)next_random(), next_random(),
			     next_random() };

		hole_call(va, x);
		wrong += x[5] != x[4] || x[6] != x[2] || x[7] != x[3];
	}
	check(!wrong, "%s: %u of %u calls of %lx read other values than they wrote", when, wrong,
	      times, va);
}

static struct outcome jump_to(u64 at)
{
	unsigned int i;

	hole_jump.at = at;
	for (i = 0; i < ARRAY_SIZE(hole_jump.x); i++)
		hole_jump.x[i] = next_random();
	hole_jump.x[1] = SPSR_MASKED;
	hole_jump.x[2] = (u32)hole_jump.x[2];
	begin_try();
	hole_jump_run();
	return end_try(0);
}

/* The jump faulted before it executed anything. */
static void check_refused(u64 at, const struct outcome *o)
{
	const u64 *x = caught_frame.x;
	unsigned int i, wrong = 0;

	check_fault("into the hole", "jump", at, o, CLASS_FETCH, FSC_TRANSLATION);
	for (i = 0; i < ARRAY_SIZE(hole_jump.x); i++)
		wrong += x[i] != hole_jump.x[i];
	check(!wrong && caught_frame.elr == at &&
	      o->sp == (u64)hole_jump.stack + JUMP_STACK_SIZE - JUMP_ABOVE,
	      "a jump to %lx: %u other registers, elr %lx, sp %lx", at, wrong, caught_frame.elr,
	      o->sp);
}

/* One instruction was done completely; first: the jump was to the first word of its stub. */
static void check_done(u64 at, const struct outcome *o, unsigned int number, bool first)
{
	u64 off = o->sp - ((u64)hole_jump.stack + JUMP_STACK_SIZE - JUMP_ABOVE);
	const u64 *x = caught_frame.x, *given = hole_jump.x;
	bool done = true;

	check(caught_frame.elr == FAR_CODE + number * 8 + 4, "a jump to %lx: site %u, elr %lx", at,
	      number, caught_frame.elr);
	check(!off || (off == 16 && !first), "a jump to %lx: site %u, sp is %lx off", at, number,
	      off);
	if (!first)
		return;
	switch (number) {
	case 2:
		done = read_sysreg(contextidr_el1) == given[2];
		break;
	case 3:
		done = read_sysreg(tpidrro_el0) == given[3];
		break;
	case 4:
		done = read_sysreg(tpidr_el0) == given[4];
		break;
	case 8:
		done = x[5] == read_sysreg(tpidr_el0);
		break;
	case 9:
		done = x[6] == read_sysreg(contextidr_el1);
		break;
	}
	check(done && x[0] == given[0] && x[3] == given[3], "a jump to %lx: site %u is not done", at,
	      number);
}

struct jumps {
	u64 seen;
	unsigned int done, other;
};

static void jump_once(u64 at, bool runs, struct jumps *jumps)
{
	unsigned int nr = (hole_far_end - hole_far) / 2, number;
	struct outcome o = jump_to(at);
	bool first;

	if (!runs) {
		check_refused(at, &o);
		return;
	}
	number = o.esr & 0xffff;
	if (!o.taken || class_of(o.esr) != CLASS_BRK || number >= nr) {
		jumps->other++;
		return;
	}
	first = !(jumps->seen >> number & 1) && !(at % 16);
	check_done(at, &o, number, first);
	jumps->seen |= (u64)first << number;
	jumps->done++;
}

/* Jump to stubs first: after jumps that fail, a hypervisor may do without stubs for a while. */
static void jump_all(u64 unit)
{
	u64 at = unit + PAGE, end = at + FIRST_WORDS * 4;
	struct jumps jumps = { 0 };

	for (; at < end; at += 4)
		jump_once(at, lent, &jumps);
	for (end = unit + UNIT; at < end; at += 16)
		jump_once(at, lent, &jumps);
	for (end += PAGE; at < end; at += 16)
		jump_once(at, false, &jumps);
	for (at = unit; at < unit + PAGE; at += 16)
		jump_once(at, false, &jumps);
	result("hole.done", jumps.done, "count");
	result("hole.other", jumps.other, "count");
	check(!lent || jumps.seen, "no jump has found anything");
}

/*
 * Only stubs of the guest's instructions may be executed there; each returns to the instruction
 * after its own. Only instructions of the far page and of the vectors trap often here; in the far
 * page a BRK follows each.
 */
static void jump(void)
{
	volatile u32 *words = (volatile u32 *)kernel_pa(far_page);
	unsigned int i, nr = hole_far_end - hole_far;

	*kernel_entry(kernel_va(far_page)) |= PTE_PXN;
	set_entry(FAR_CODE, kernel_pa(far_page) | KERNEL_PAGE);
	kernel_flush();
	far_write(far_page, FAR_CODE);
	for (i = 0; i < TURNS && !lent; i++) {
		far_call(FAR_CODE, FAR_ROUNDS, "at first");
		lent = words_shown(gap);
	}
	result("hole.shown", words_shown(gap), "count");
	far_call(FAR_CODE, FAR_ROUNDS, "when it is in use");
	for (i = 1; i < nr; i += 2)
		words[i] = 0xd4200000 | i / 2 << 5;	/* brk */
	kernel_sync_code((void *)words, nr * 4, FAR_CODE);
	jump_all(gap);
	far_write(far_page, FAR_CODE);
	far_call(FAR_CODE, FAR_ROUNDS, "after jumps");
	hot(ENOUGH, "after jumps");
	find_again("hole.again");
}

void case_hole_jump(void)
{
	in_hole(jump, false);
}
