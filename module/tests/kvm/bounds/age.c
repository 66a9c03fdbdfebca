// SPDX-License-Identifier: GPL-2.0
/*
 * The host asks whether memory was used, and takes it back, while very many slots map it. DAMON
 * asks; reclaim makes the same calls, but swapping a page exceeds the bound even without a VM.
 *
 *	SLOTS=n		number of slots (default 2,000; apart: 8,000)
 *	FILLED=n	number of slots that the guest has touched
 *	FLUSHED=1	and then invalidated: the state of their frames remains
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"

#define DAMON	"/sys/kernel/mm/damon/admin/kdamonds/"
#define HUGE	MAPPER_FRAMES_SIZE
#define GPA	0x200000000ULL

static void put_slots(struct mapper *m, void *memory)
{
	u32 n = setting("SLOTS", 2000), filled = setting("FILLED", 0), i;

	for (i = 0; i < n; i++)
		mapper_slot(m, 3 + i, GPA + i * HUGE, memory, HUGE);
	for (i = 0; i < filled; i += 512)
		mapper_block(m, i / 512, GPA + i * HUGE);
	if (filled)
		mapper_touch(m, MAPPER_VA, filled * HUGE, 16 * 0x1000);
	result("entries", read_stat(m->stats, "shadow_fill"), "count");
	if (setting("FLUSHED", 0))
		mapper_tlbi_all(m);
}

static void damon_write(const char *file, u64 value)
{
	char path[128], word[32];

	snprintf(path, sizeof(path), DAMON "%s", file);
	snprintf(word, sizeof(word), "%llu", (unsigned long long)value);
	must_write(path, word);
}

static u64 first_number(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long value;

	if (!file || fscanf(file, "%lu", &value) != 1)
		die("no number in %s", path);
	fclose(file);
	return value;
}

/* What DAMON's thread has executed so far: on a counted board, nanoseconds. */
static u64 damon_time(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/schedstat",
		 (unsigned long long)first_number(DAMON "0/pid"));
	return first_number(path);
}

/* Three looks, of 50 ms each. Returns their cost. */
static u64 damon(void *memory)
{
	u64 took;

	/* Newer kernels have a user of their own, and one at a time. */
	write_file("/sys/module/damon_stat/parameters/enabled", "N");
	damon_write("nr_kdamonds", 1);
	damon_write("0/contexts/nr_contexts", 1);
	must_write(DAMON "0/contexts/0/operations", "fvaddr");
	damon_write("0/contexts/0/monitoring_attrs/intervals/sample_us", 50000);
	damon_write("0/contexts/0/monitoring_attrs/intervals/aggr_us", 1000000);
	damon_write("0/contexts/0/targets/nr_targets", 1);
	damon_write("0/contexts/0/targets/0/pid_target", getpid());
	damon_write("0/contexts/0/targets/0/regions/nr_regions", 1);
	damon_write("0/contexts/0/targets/0/regions/0/start", (u64)memory);
	damon_write("0/contexts/0/targets/0/regions/0/end", (u64)memory + HUGE);
	must_write(DAMON "0/state", "on");
	usleep(180000);
	took = damon_time();
	must_write(DAMON "0/state", "off");
	return took;
}

static void age(const char *name, int advice, long huge)
{
	void *memory = mapper_memory(advice);
	struct mapper m;

	if (read_figure("/proc/self/smaps_rollup", "AnonHugePages") != huge)
		die("%s: not the pages asked for", name);
	new_mapper(&m, EACH_ITS_OWN, true);
	put_slots(&m, memory);
	meter_begin();
	damon(memory);
	meter_end("%s", name);
	/* To free very many small pages takes 6.12 itself too long. */
	if (huge) {
		meter_begin();
		if (madvise(memory, HUGE, MADV_DONTNEED))
			die("MADV_DONTNEED");
		meter_end("%s.drop", name);
	}
	free_mapper(&m);
}

void bounds_age_page(void)
{
	age("age_page", MADV_NOHUGEPAGE, 0);
}

void bounds_age_huge(void)
{
	age("age_huge", MADV_HUGEPAGE, 2048);
}

/*
 * Slots of a page each, none of them on the memory: the total cost of the looks, without the meter.
 */
void bounds_age_apart(void)
{
	u32 n = setting("SLOTS", 8000), i;
	char *memory = mapper_memory(MADV_NOHUGEPAGE), *other = map_memory(n * 2 * 0x1000);
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	for (i = 0; i < n; i++)
		mapper_slot(&m, 3 + i, GPA + i * 0x1000, other + i * 2 * 0x1000, 0x1000);
	result("age_apart.took", damon(memory), "instructions");
	free_mapper(&m);
}
