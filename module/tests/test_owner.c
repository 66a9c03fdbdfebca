// SPDX-License-Identifier: GPL-2.0
/*
 * The owner of a protected VM's page: every change from every owner, and threads that share, take
 * back, lend and put pages in at the same time, checked against forbidden states.
 */
#include <pthread.h>
#include <sched.h>

#include "check.h"
#include "mmu/gmem/page_state.h"

#define PA	0x12345000ULL

static const enum av_page_state owners[] = {
	AV_OWNER_GUEST, AV_OWNER_SHARED, AV_OWNER_LENT, AV_OWNER_LEAVING,
};

static void settle_alone(u64 *word)
{
	av_page_state_settle(word, true);
}

static void settle_held(u64 *word)
{
	av_page_state_settle(word, false);
}

/* What each call makes of each owner; the same owner where it changes nothing. */
static const struct {
	bool (*ask)(u64 *word);
	void (*tell)(u64 *word);
	enum av_page_state to[4];
	bool said[4];
} calls[] = {
	{
		.ask = av_page_state_share,
		.to = { AV_OWNER_SHARED, AV_OWNER_SHARED, AV_OWNER_LENT, AV_OWNER_LEAVING },
		.said = { true, false, false, false },
	}, {
		.ask = av_page_state_take,
		.to = { AV_OWNER_GUEST, AV_OWNER_GUEST, AV_OWNER_LENT, AV_OWNER_LEAVING },
		.said = { false, true, false, false },
	}, {
		.ask = av_page_state_recall,
		.to = { AV_OWNER_GUEST, AV_OWNER_LEAVING, AV_OWNER_LEAVING, AV_OWNER_LEAVING },
		.said = { false, true, true, false },
	}, {
		.ask = av_page_state_lend,
		.to = { AV_OWNER_GUEST, AV_OWNER_LENT, AV_OWNER_LENT, AV_OWNER_LEAVING },
		.said = { false, true, true, false },
	}, {
		.tell = settle_alone,
		.to = { AV_OWNER_GUEST, AV_OWNER_SHARED, AV_OWNER_LENT, AV_OWNER_GUEST },
	}, {
		.tell = settle_held,
		.to = { AV_OWNER_GUEST, AV_OWNER_SHARED, AV_OWNER_LENT, AV_OWNER_LENT },
	},
};

static void test_every_change(void)
{
	static const u64 pages[] = { 0, PA };
	unsigned int call, i, page;

	for (call = 0; call < ARRAY_SIZE(calls); call++)
		for (i = 0; i < ARRAY_SIZE(owners); i++)
			for (page = 0; page < ARRAY_SIZE(pages); page++) {
				u64 word = pages[page] | owners[i];

				if (calls[call].ask)
					CHECK_EQ(calls[call].ask(&word), calls[call].said[i]);
				else
					calls[call].tell(&word);
				CHECK_EQ(word, pages[page] | calls[call].to[i]);
			}
}

static void test_a_page_is_put_once(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(owners); i++) {
		u64 word = owners[i];

		CHECK_EQ(av_page_state_put(&word, PA), PA);
		CHECK_EQ(word, PA | owners[i]);
		CHECK_EQ(av_page_state_put(&word, 2 * PA), PA);
		CHECK_EQ(word, PA | owners[i]);
	}
}

/* ---- threads ------------------------------------------------------------------- */

#define ROUNDS	200000

/*
 * Two vCPUs share and take one page back, two processes borrow it. A borrower records that it has
 * the page, as a mapping does. A recall removes all of these records, as the host's rmap does,
 * under the lock that stands for the page's own.
 */
static u64 word;
static pthread_mutex_t page_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int mappings;
static unsigned long shares, takes, recalls, loans, wrong;

/* Under the page's lock, where neither a fault nor a recall of it is half done. */
static void look(void)
{
	/* A page that is the guest's again is in no process's tables. */
	if (av_page_state_of(READ_ONCE(word)) == AV_OWNER_GUEST && mappings)
		wrong++;
}

static void *vcpu(void *arg)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		if (av_page_state_share(&word))
			__atomic_add_fetch(&shares, 1, __ATOMIC_RELAXED);
		if (i % 7 == 0)
			sched_yield();
		if (av_page_state_take(&word)) {
			__atomic_add_fetch(&takes, 1, __ATOMIC_RELAXED);
		} else if (av_page_state_recall(&word)) {
			bool alone = i % 3;

			pthread_mutex_lock(&page_lock);
			mappings = 0;
			pthread_mutex_unlock(&page_lock);
			/* Nobody maps it until it is settled. */
			if (READ_ONCE(mappings))
				__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
			if (alone)
				__atomic_add_fetch(&recalls, 1, __ATOMIC_RELAXED);
			av_page_state_settle(&word, alone);
		}
	}
	return arg;
}

static void *process(void *arg)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&page_lock);
		if (av_page_state_lend(&word)) {
			mappings++;
			loans++;
		}
		look();
		pthread_mutex_unlock(&page_lock);
	}
	return arg;
}

static void *host(void *arg)
{
	u64 pa = (u64)(unsigned long)arg;

	av_page_state_put(&word, pa);
	return arg;
}

static void test_threads(void)
{
	void *(*const threads[])(void *) = { vcpu, vcpu, process, process, host, host };
	pthread_t thread[ARRAY_SIZE(threads)];
	unsigned long i, left;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK(!pthread_create(&thread[i], NULL, threads[i], (void *)(PA << i)));
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(wrong, 0);
	CHECK(shares > ROUNDS / 100 && takes && recalls && loans);
	/* Each share was ended once, except one that still lasts. */
	left = av_page_state_of(word) != AV_OWNER_GUEST;
	CHECK_EQ(shares, takes + recalls + left);
	CHECK((word & AV_OWNER_PAGE) == PA << 4 || (word & AV_OWNER_PAGE) == PA << 5);
}

int main(void)
{
	RUN(test_every_change);
	RUN(test_a_page_is_put_once);
	RUN(test_threads);
	return TESTS_DONE();
}
