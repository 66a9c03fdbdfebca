// SPDX-License-Identifier: GPL-2.0
/*
 * Moves of the window (mmu/shadow/position.c): to a position that the guest neither touches nor
 * maps, so that each vCPU makes progress whatever the others do.
 */
#include "check.h"
#include "draw.h"
#include "mmu/shadow/position.h"

#define LAST		(AV_WINDOW_POSITIONS - 1)
#define NONE		AV_WINDOW_POSITIONS

static struct av_shadow sh;
static bool has[AV_WINDOW_POSITIONS];	/* the guest's tables have something there */
static unsigned int looks;

static bool mapped(void *arg, unsigned int position)
{
	CHECK(arg == &looks && position < AV_WINDOW_POSITIONS);
	CHECK(!(sh.touched[position / 64] >> position % 64 & 1));
	looks++;
	return has[position];
}

static void begin(void)
{
	memset(&sh, 0, sizeof(sh));
	memset(has, 0, sizeof(has));
}

static unsigned int choose(unsigned int from)
{
	unsigned int to;

	looks = 0;
	to = av_window_choose(sh.touched, from, mapped, &looks);
	CHECK(to < AV_WINDOW_POSITIONS && to != from && looks <= AV_WINDOW_LOOKS);
	return to;
}

static void touch_all_but(unsigned int a, unsigned int b)
{
	unsigned int i;

	for (i = 0; i < AV_WINDOW_POSITIONS; i++)
		if (i != a && i != b)
			av_window_touched(&sh, i);
}

static void test_choose(void)
{
	unsigned int i;

	/* Nothing is in the way. */
	begin();
	CHECK_EQ(choose(5), 4);
	CHECK_EQ(choose(0), LAST);
	/* Not a touched or mapped position. */
	av_window_touched(&sh, 4);
	has[3] = has[2] = true;
	CHECK_EQ(choose(5), 1);
	CHECK_EQ(looks, 3);
	/* All are mapped: an untouched one, after a few looks. */
	memset(has, 1, sizeof(has));
	CHECK_EQ(choose(5), 3);
	CHECK_EQ(looks, AV_WINDOW_LOOKS);
	/* One is left, mapped or not: wherever it is. */
	for (i = 0; i < AV_WINDOW_POSITIONS; i++) {
		begin();
		has[i] = i % 2;
		touch_all_but(i, NONE);
		CHECK_EQ(choose((i + 77) % AV_WINDOW_POSITIONS), i);
		CHECK_EQ(looks, 1);
	}
	/* All are touched, but where the window is. */
	begin();
	touch_all_but(5, NONE);
	CHECK_EQ(choose(5), 4);
	av_window_touched(&sh, 5);
	CHECK_EQ(choose(5), 4);
	CHECK_EQ(looks, 0);
}

static unsigned int nr_touched(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(sh.touched); i++)
		n += __builtin_popcountll(sh.touched[i]);
	return n;
}

static void test_move(void)
{
	begin();
	sh.window = 100;
	CHECK_EQ(av_window_move(&sh, 100, 7), 7);
	CHECK_EQ(sh.window, 7);
	CHECK_EQ(sh.touched[100 / 64], BIT_ULL(100 % 64));
	/* A vCPU that has it elsewhere follows, and avoids that position. */
	CHECK_EQ(av_window_move(&sh, 200, 9), 7);
	CHECK_EQ(sh.window, 7);
	CHECK_EQ(nr_touched(), 2);
	/* The last that was not touched: all is forgotten but that. */
	touch_all_but(7, NONE);
	CHECK_EQ(nr_touched(), LAST);
	CHECK_EQ(av_window_move(&sh, 7, 6), 6);
	CHECK_EQ(nr_touched(), 1);
	CHECK_EQ(sh.touched[0], BIT_ULL(7));
	/* Not because of a vCPU that only follows. */
	touch_all_but(NONE, NONE);
	CHECK_EQ(av_window_move(&sh, 7, 5), 6);
	CHECK_EQ(nr_touched(), AV_WINDOW_POSITIONS);
}

/* ---- vCPUs ------------------------------------------------------------------ */

/* KVM's limit of vCPUs; each executes instructions that access three positions. */
#define VCPUS	254
#define NEEDS	3
#define DONE	20

static struct {
	unsigned int position, need[NEEDS], tries, done;
	bool follow;
} vcpus[VCPUS];

static void new_instruction(unsigned int v, unsigned int range)
{
	unsigned int i;

	for (i = 0; i < NEEDS; i++)
		vcpus[v].need[i] = below(range);
	vcpus[v].tries = 0;
}

/* An instruction that accesses one position. */
static void set_needs(unsigned int v, unsigned int position)
{
	unsigned int i;

	for (i = 0; i < NEEDS; i++)
		vcpus[v].need[i] = position;
}

/* The access that finds the window; NEEDS: none does. */
static unsigned int in_the_way(unsigned int v)
{
	unsigned int i;

	for (i = 0; i < NEEDS && vcpus[v].need[i] != vcpus[v].position; i++)
		av_window_touched(&sh, vcpus[v].need[i]);
	return i;
}

/* One entry, as in mmu/roots/window.c. Returns if the window moved. */
static bool enter(unsigned int v, unsigned int range)
{
	unsigned int from, to, i;
	bool moved;

	if (vcpus[v].follow)
		vcpus[v].position = sh.window;
	vcpus[v].follow = false;
	if (in_the_way(v) == NEEDS) {
		vcpus[v].done++;
		new_instruction(v, range);
		return false;
	}
	from = vcpus[v].position;
	to = sh.window == from ? choose(from) : sh.window;
	moved = sh.window == from;
	vcpus[v].position = av_window_move(&sh, from, to);
	CHECK(vcpus[v].position != from);
	vcpus[v].tries++;
	for (i = 0; i < VCPUS; i++)
		vcpus[i].follow |= i != v;
	return moved;
}

static bool all_done(unsigned int nr)
{
	unsigned int v;

	for (v = 0; v < nr; v++)
		if (vcpus[v].done < DONE)
			return false;
	return true;
}

/*
 * nr vCPUs that use range positions, at random or in turn. None waits for another for ever: each
 * gets on after a few entries, though all of the positions are in use all the time.
 */
static void check_progress(unsigned int nr, unsigned int range, bool in_turn)
{
	unsigned int v, entries = 0;

	begin();
	memset(has, 1, sizeof(has));
	memset(vcpus, 0, sizeof(vcpus));
	sh.window = below(range);
	for (v = 0; v < nr; v++) {
		vcpus[v].position = sh.window;
		new_instruction(v, range);
	}
	while (!all_done(nr) && entries < nr * DONE * 20) {
		v = in_turn ? entries % nr : below(nr);
		enter(v, range);
		CHECK(vcpus[v].tries <= 40);
		entries++;
	}
	CHECK(all_done(nr));
}

static void test_progress(void)
{
	static const unsigned int nr[] = { 1, 2, 3, 64, VCPUS };
	static const unsigned int range[] = { 2, 3, 4, 16, AV_WINDOW_POSITIONS };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		for (j = 0; j < ARRAY_SIZE(range); j++) {
			check_progress(nr[i], range[j], false);
			check_progress(nr[i], range[j], true);
		}
	}
}

/* A guest that goes through all positions, down or up: how often does the window move? */
static void test_every_position(void)
{
	unsigned int step, i, round, moves;

	for (step = 1; step <= LAST; step += LAST - 1) {
		begin();
		memset(has, 1, sizeof(has));
		memset(vcpus, 0, sizeof(vcpus));
		sh.window = vcpus[0].position = AV_WINDOW_HOME;
		for (round = 0; round < 3; round++) {
			moves = 0;
			for (i = 0; i < AV_WINDOW_POSITIONS; i++) {
				unsigned int at = i * step % AV_WINDOW_POSITIONS;

				set_needs(0, at);
				while (in_the_way(0) < NEEDS)
					moves += enter(0, AV_WINDOW_POSITIONS);
			}
			CHECK(moves >= 1 && moves <= AV_WINDOW_POSITIONS);
		}
	}
}

int main(void)
{
	RUN(test_choose);
	RUN(test_move);
	RUN(test_progress);
	RUN(test_every_position);
	return TESTS_DONE();
}
