// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that shares and takes back in hostile ways: pages that are not its own, pages that are in
 * that state already, pages that its host uses at that moment, and without end. A line has x0 of
 * each call, or the number of refused calls of a series; words describe anything else.
 */
#define _GNU_SOURCE
#include "private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define CALL_SHARE	0xc6000003
#define CALL_UNSHARE	0xc6000004

#define OFFSET		(64 * PUPPET_PAGE)
#define AT		(PUPPET_RAM + OFFSET)
#define PAGES		(PUPPET_SIZE / PUPPET_PAGE - 64)
#define ROUNDS		1200
#define FEW_ROUNDS	10	/* where all calls are refused */
#define SHARED_WORD	5UL
#define SECRET_WORD	6UL
#define READ_LATER_US	100000

static void add(char *said, const char *word)
{
	size_t used = strlen(said);

	snprintf(said + used, SAID_SIZE - used, "%s%s", used ? " " : "", word);
}

static void add_answer(char *said, struct puppet_answer answer)
{
	char word[64];

	if (answer.error)
		snprintf(word, sizeof(word), "%s", error_name(answer.error));
	else if (answer.esr)
		snprintf(word, sizeof(word), "esr:%" PRIx64, answer.esr);
	else
		snprintf(word, sizeof(word), "%" PRId64, (int64_t)answer.x[0]);
	add(said, word);
}

static void call(struct subject *subject, char *said, uint64_t function, uint64_t at)
{
	add_answer(said, puppet_call(&subject->puppet, function, at, 0, 0));
}

static void calls_of_all(struct subject *subject, char *said, uint64_t function)
{
	add_answer(said, puppet_calls(&subject->puppet, function, AT, PAGES));
}

/* Before the first page of its memory, after the last, in no slot, and beyond the IPA size. */
static const uint64_t not_its_own[] = {
	PUPPET_RAM - PUPPET_PAGE, PUPPET_RAM + PUPPET_SIZE, 0, 1UL << 39, 1UL << 40, 1UL << 47,
	1UL << 52, 1UL << 63,
};

static void try_share_others(struct subject *subject, char *said)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(not_its_own); i++)
		call(subject, said, CALL_SHARE, not_its_own[i]);
}

static void try_unshare_others(struct subject *subject, char *said)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(not_its_own); i++)
		call(subject, said, CALL_UNSHARE, not_its_own[i]);
}

/* The page that the guest runs in; the host then reads it, or does not. */
static void try_code(struct subject *subject, char *said)
{
	call(subject, said, CALL_SHARE, PUPPET_RAM);
	call(subject, said, CALL_SHARE, PUPPET_RAM);
	add(said, *(volatile uint32_t *)subject->ram ? "seen" : "zero");
	call(subject, said, CALL_UNSHARE, PUPPET_RAM);
	call(subject, said, CALL_UNSHARE, PUPPET_RAM);
}

/* Share each page of a range twice, then take each back twice. */
static void try_twice(struct subject *subject, char *said)
{
	calls_of_all(subject, said, CALL_SHARE);
	calls_of_all(subject, said, CALL_SHARE);
	calls_of_all(subject, said, CALL_UNSHARE);
	calls_of_all(subject, said, CALL_UNSHARE);
}

struct reader {
	int end;
	uint64_t page[PUPPET_PAGE / 8];
};

static void *read_later(void *arg)
{
	struct reader *reader = arg;

	usleep(READ_LATER_US);
	if (read(reader->end, reader->page, sizeof(reader->page)) < 0)
		reader->page[0] = 0;
	return NULL;
}

/* The guest takes back a page that is in a pipe of the host, and writes a secret to it. */
static void try_in_use(struct subject *subject, char *said)
{
	struct iovec from = { subject->ram + OFFSET, PUPPET_PAGE };
	static struct reader reader;
	pthread_t thread;
	int ends[2];

	puppet_store(&subject->puppet, AT, SHARED_WORD);
	call(subject, said, CALL_SHARE, AT);
	if (pipe2(ends, O_CLOEXEC) || vmsplice(ends[1], &from, 1, 0) != (ssize_t)PUPPET_PAGE) {
		add(said, "not-in-use");
		return;
	}
	reader = (struct reader){ .end = ends[0], .page = { ~0UL } };
	if (pthread_create(&thread, NULL, read_later, &reader))
		fail("a thread");
	call(subject, said, CALL_UNSHARE, AT);
	puppet_store(&subject->puppet, AT, SECRET_WORD);
	pthread_join(thread, NULL);
	add(said, reader.page[0] == ~SECRET_WORD ? "secret" : "no-secret");
	close(ends[0]);
	close(ends[1]);
}

/* x0, and the number of pages, which is in x1. True if there were any. */
static bool range(struct subject *subject, char *said, uint64_t function, uint64_t at,
		  uint64_t pages)
{
	struct puppet_answer answer = puppet_call(&subject->puppet, function, at, pages, 0);
	char word[32];

	add_answer(said, answer);
	if (answer.error || answer.esr || answer.x[0])
		return false;
	snprintf(word, sizeof(word), "of:%" PRIu64, answer.x[1]);
	add(said, word);
	return true;
}

/* Ranges up to a shared page, up to a private one, beyond the memory, and with a held page. */
static void try_range(struct subject *subject, char *said)
{
	range(subject, said, CALL_SHARE, AT + 3 * PUPPET_PAGE, 2);
	range(subject, said, CALL_SHARE, AT, 5);
	range(subject, said, CALL_SHARE, AT, 5);
	range(subject, said, CALL_UNSHARE, AT, ~0UL);
	range(subject, said, CALL_SHARE, PUPPET_RAM + PUPPET_SIZE - PUPPET_PAGE, ~0UL);
	range(subject, said, CALL_UNSHARE, PUPPET_RAM + PUPPET_SIZE - PUPPET_PAGE, 2);
	range(subject, said, CALL_SHARE, PUPPET_RAM - PUPPET_PAGE, 2);
	range(subject, said, CALL_UNSHARE, PUPPET_RAM - PUPPET_PAGE, 2);
}

#define TABLE	512		/* pages whose owners the module keeps together */
#define BEHIND	(PUPPET_RAM + PUPPET_SIZE)
#define LAST	(BEHIND + (TABLE - 1) * PUPPET_PAGE)

/* The number of pages, of this many, that the host's kernel can read. */
static void add_readable(char *said, const char *first, unsigned int pages)
{
	unsigned int readable = 0, i;
	char word[32];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
	for (i = 0; i < pages; i++)
		readable += write(ends[1], first + i * PUPPET_PAGE, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	snprintf(word, sizeof(word), "seen:%u", readable);
	add(said, word);
}

/* A range ends at the end of a slot, and before a table of owners that does not exist yet. */
static void try_range_of_slots(struct subject *subject, char *said)
{
	const char *what = "a slot", *ram;
	int file;

	if (subject->kind != GMEM) {
		add(said, "-");
		return;
	}
	file = puppet_gmem(&subject->puppet, 2 * TABLE * PUPPET_PAGE, &what);
	ram = mmap(NULL, 2 * TABLE * PUPPET_PAGE, PROT_READ, MAP_SHARED, file, 0);
	if (ram == MAP_FAILED || puppet_add_gmem(&subject->puppet, 1, BEHIND,
						 2 * TABLE * PUPPET_PAGE, file, ram))
		fail(what);
	range(subject, said, CALL_SHARE, BEHIND - PUPPET_PAGE, 3);
	call(subject, said, CALL_SHARE, LAST);
	range(subject, said, CALL_UNSHARE, LAST, 4);
	call(subject, said, CALL_SHARE, LAST);
	add_readable(said, ram + LAST - BEHIND, 2);
	range(subject, said, CALL_UNSHARE, LAST, 4);
	range(subject, said, CALL_SHARE, LAST - PUPPET_PAGE, 4);
	range(subject, said, CALL_SHARE, LAST + PUPPET_PAGE, 2);
	add_readable(said, ram + LAST - BEHIND - PUPPET_PAGE, 4);
	range(subject, said, CALL_UNSHARE, LAST - PUPPET_PAGE, 5);
	add_readable(said, ram + LAST - BEHIND - PUPPET_PAGE, 4);
	munmap((char *)ram, 2 * TABLE * PUPPET_PAGE);
	close(file);
}

#define RANGE	4
#define HELD	2

/*
 * Pages that the host has read are taken back as a range while a pipe has one of them: those
 * before it come back, those behind it stay shared until the pipe is empty.
 */
static void try_range_in_use(struct subject *subject, char *said)
{
	volatile uint64_t *word = (volatile uint64_t *)(subject->ram + OFFSET);
	struct iovec from = { subject->ram + OFFSET + HELD * PUPPET_PAGE, PUPPET_PAGE };
	static struct reader reader;
	uint64_t seen = 0;
	pthread_t thread;
	unsigned int i;
	int ends[2];

	if (!range(subject, said, CALL_SHARE, AT, RANGE))
		return;
	for (i = 0; i < RANGE; i++)
		seen |= word[i * PUPPET_PAGE / sizeof(*word)];
	add(said, seen ? "changed" : "zero");
	if (pipe2(ends, O_CLOEXEC) || vmsplice(ends[1], &from, 1, 0) != (ssize_t)PUPPET_PAGE) {
		add(said, "not-in-use");
		return;
	}
	range(subject, said, CALL_UNSHARE, AT, RANGE);
	word[(RANGE - 1) * PUPPET_PAGE / sizeof(*word)] = SHARED_WORD;
	reader = (struct reader){ .end = ends[0], .page = { ~0UL } };
	if (pthread_create(&thread, NULL, read_later, &reader))
		fail("a thread");
	range(subject, said, CALL_UNSHARE, AT + HELD * PUPPET_PAGE, RANGE);
	puppet_store(&subject->puppet, AT + HELD * PUPPET_PAGE, SECRET_WORD);
	pthread_join(thread, NULL);
	add(said, reader.page[0] == ~SECRET_WORD ? "secret" : "no-secret");
	call(subject, said, CALL_UNSHARE, AT + (RANGE - 1) * PUPPET_PAGE);
	close(ends[0]);
	close(ends[1]);
}

/* $ROUNDS may be fewer. */
static unsigned int rounds_of(const struct subject *subject)
{
	const char *rounds = getenv("ROUNDS");

	return !subject->protected ? FEW_ROUNDS : rounds ? (unsigned int)atoi(rounds) : ROUNDS;
}

/* A million calls; afterwards the page behaves like any other. */
static void try_millions(struct subject *subject, char *said)
{
	unsigned int rounds = rounds_of(subject);
	struct puppet_answer answer;
	uint64_t refused = 0;
	char word[48];
	unsigned int i;

	for (i = 0; i < 2 * rounds; i++) {
		answer = puppet_calls(&subject->puppet, i % 2 ? CALL_UNSHARE : CALL_SHARE, AT, PAGES);
		if (answer.error || answer.esr) {
			add_answer(said, answer);
			return;
		}
		refused += answer.x[0];
	}
	snprintf(word, sizeof(word), "%" PRIu64 " of %lu", refused, 2 * rounds * PAGES);
	add(said, word);
	call(subject, said, CALL_SHARE, AT);
	call(subject, said, CALL_UNSHARE, AT);
}

const struct row sharers[] = {
	{ "share-others", try_share_others },
	{ "unshare-others", try_unshare_others },
	{ "code", try_code },
	{ "twice", try_twice },
	{ "in-use", try_in_use },
	{ "range", try_range },
	{ "range-of-slots", try_range_of_slots },
	{ "range-in-use", try_range_in_use },
	{ "millions", try_millions },
	{ }
};
