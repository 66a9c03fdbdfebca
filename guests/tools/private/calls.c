// SPDX-License-Identifier: GPL-2.0
/*
 * The answers of a guest's hypercalls for its memory. A line has the answer of each call of the
 * row: x0 in decimal, or `esr` with the syndrome of the exception that the call took instead; words
 * describe the result of an access.
 */
#include "private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CALL_UID	0x8600ff01
#define CALL_FEATURES	0x86000000
#define CALL_MEMINFO	0xc6000002
#define CALL_SHARE	0xc6000003
#define CALL_UNSHARE	0xc6000004
#define CALL_MMIO_GUARD	0xc6000007
#define CALL_MEASUREMENT	0xc600f000
#define MEASURED_FILE	"/tmp/private.measured"

#define OFFSET		(64 * PUPPET_PAGE)
#define AT		(PUPPET_RAM + OFFSET)
#define NO_MEMORY	(PUPPET_RAM + 4 * PUPPET_SIZE)

static void add(char *said, const char *word)
{
	size_t used = strlen(said);

	snprintf(said + used, SAID_SIZE - used, "%s%s", used ? " " : "", word);
}

static void add_answer(char *said, const struct puppet_answer *answer)
{
	char word[64];

	if (answer->error)
		snprintf(word, sizeof(word), "%s", error_name(answer->error));
	else if (answer->esr)
		snprintf(word, sizeof(word), "esr:%" PRIx64, answer->esr);
	else
		snprintf(word, sizeof(word), "%" PRId64, (int64_t)answer->x[0]);
	add(said, word);
}

static bool call(struct subject *subject, char *said, uint64_t function, uint64_t a, uint64_t b)
{
	struct puppet_answer answer = puppet_call(&subject->puppet, function, a, b, 0);

	add_answer(said, &answer);
	return !answer.error && !answer.esr && !answer.x[0];
}

static bool share(struct subject *subject, char *said, uint64_t address)
{
	return call(subject, said, CALL_SHARE, address, 0);
}

static bool unshare(struct subject *subject, char *said, uint64_t address)
{
	return call(subject, said, CALL_UNSHARE, address, 0);
}

static void store(struct subject *subject, char *said, uint64_t value)
{
	struct puppet_answer answer = puppet_store(&subject->puppet, AT, value);

	if (answer.error || answer.esr)
		add_answer(said, &answer);
}

static void load(struct subject *subject, char *said)
{
	struct puppet_answer answer = puppet_load(&subject->puppet, AT);

	add_answer(said, &answer);
}

static void try_uid(struct subject *subject, char *said)
{
	struct puppet_answer answer = puppet_call(&subject->puppet, CALL_UID, 0, 0, 0);

	snprintf(said, SAID_SIZE, "%08x-%08x-%08x-%08x", (uint32_t)answer.x[0],
		 (uint32_t)answer.x[1], (uint32_t)answer.x[2], (uint32_t)answer.x[3]);
}

static void try_features(struct subject *subject, char *said)
{
	call(subject, said, CALL_FEATURES, 0, 0);
}

static void try_meminfo(struct subject *subject, char *said)
{
	call(subject, said, CALL_MEMINFO, 0, 0);
	call(subject, said, CALL_MEMINFO, 1, 0);
}

/* The measurement, with its inputs in a file; an index beyond its end; a nonzero unused argument. */
static void try_measurement(struct subject *subject, char *said)
{
	struct puppet_answer half[2];
	unsigned int i, byte;
	char word[4];

	puppet_write_measured(&subject->puppet, MEASURED_FILE);
	half[0] = puppet_call(&subject->puppet, CALL_MEASUREMENT, 0, 0, 0);
	half[1] = puppet_call(&subject->puppet, CALL_MEASUREMENT, 1, 0, 0);
	for (i = 0; i < 2; i++)
		add_answer(said, &half[i]);
	call(subject, said, CALL_MEASUREMENT, 2, 0);
	call(subject, said, CALL_MEASUREMENT, 0, 1);
	add(said, "sha256:");
	for (i = 0; i < 2 && !half[i].x[0]; i++)
		for (byte = 0; byte < 16; byte++) {
			snprintf(word, sizeof(word), "%02x",
				 (uint8_t)(half[i].x[1 + byte / 8] >> byte % 8 * 8));
			strcat(said, word);
		}
}

static void try_mmio_guard(struct subject *subject, char *said)
{
	call(subject, said, CALL_MMIO_GUARD, PUPPET_DEVICE, 0);
}

static void try_share(struct subject *subject, char *said)
{
	store(subject, said, 7);
	share(subject, said, AT);
	share(subject, said, AT);
	unshare(subject, said, AT);
	unshare(subject, said, AT);
	share(subject, said, AT);
	load(subject, said);
}

static void try_untouched(struct subject *subject, char *said)
{
	unshare(subject, said, AT);
	share(subject, said, AT);
	unshare(subject, said, AT);
}

static void try_unaligned(struct subject *subject, char *said)
{
	share(subject, said, AT + 8);
	unshare(subject, said, AT + 8);
}

static void try_argument(struct subject *subject, char *said)
{
	static const uint64_t change[] = { CALL_SHARE, CALL_UNSHARE };
	struct puppet_answer answer;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(change); i++) {
		answer = puppet_call(&subject->puppet, change[i], AT, 0, 1);
		add_answer(said, &answer);
		share(subject, said, AT);
	}
}

static void try_no_memory(struct subject *subject, char *said)
{
	unshare(subject, said, NO_MEMORY);
	share(subject, said, NO_MEMORY);
	share(subject, said, PUPPET_DEVICE);
	share(subject, said, -PUPPET_PAGE);
}

/*
 * The host reads and writes shared memory; both sides see the writes, and the contents stay after
 * the guest has taken the page back.
 */
static void try_contents(struct subject *subject, char *said)
{
	volatile uint64_t *word = (volatile uint64_t *)(subject->ram + OFFSET);

	store(subject, said, 5);
	if (share(subject, said, AT)) {
		add(said, *word == ~5UL ? "same" : "other");
		*word = ~6UL;
		load(subject, said);
		unshare(subject, said, AT);
	}
	load(subject, said);
}

const struct row calls[] = {
	{ "uid", try_uid },
	{ "features", try_features },
	{ "meminfo", try_meminfo },
	{ "measurement", try_measurement },
	{ "measured", try_measured },
	{ "mmio-guard", try_mmio_guard },
	{ "share", try_share },
	{ "untouched", try_untouched },
	{ "unaligned", try_unaligned },
	{ "argument", try_argument },
	{ "no-memory", try_no_memory },
	{ "contents", try_contents },
	{ }
};
