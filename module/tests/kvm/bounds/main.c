// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how long the host's CPU is held at a stretch (meter.h) by the worst known requests of
 * guests and VMMs, on a counted board.
 *
 *	bounds ROW...		runs those rows; ends with "done"
 *	PAGES=1			the module maps nothing as blocks
 *	LISTS=1			leaves the host's lists of free pages as they are: quiet_host()
 *	QUIET=1			the host is quiet: a run before this one made it so
 *
 * Each row makes its state, then does its operation under the meter. tests/test_module_bounds.py
 * has the bound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"

u64 setting(const char *name, u64 usual)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : usual;
}

void result(const char *name, u64 value, const char *unit)
{
	printf("result %s %llu %s\n", name, (unsigned long long)value, unit);
	fflush(stdout);
}

void must_write(const char *path, const char *word)
{
	if (!write_file(path, word))
		die("%s into %s", word, path);
}

/* For the meter's own test: $WORD into the kernel's file $FILE, as $NAME. */
static void write_row(void)
{
	meter_begin();
	must_write(getenv("FILE"), getenv("WORD"));
	meter_end("%s", getenv("NAME"));
}

static const struct {
	const char *name;
	void (*run)(void);
} rows[] = {
	{ "idle", bounds_idle },
	{ "age_page", bounds_age_page },
	{ "age_huge", bounds_age_huge },
	{ "age_apart", bounds_age_apart },
	{ "api_pmu", bounds_api_pmu },
	{ "api_its", bounds_api_its },
	{ "api_system", bounds_api_system },
	{ "api_vcpu", bounds_api_vcpu },
	{ "api_vgic", bounds_api_vgic },
	{ "api_vm", bounds_api_vm },
	{ "asids", bounds_asids },
	{ "blocks", bounds_blocks },
	{ "blocks_slot", bounds_blocks_slot },
	{ "calls", bounds_calls },
	{ "coalesced", bounds_coalesced },
	{ "copies", bounds_copies },
	{ "copies_aliases", bounds_copies_aliases },
	{ "copies_frame", bounds_copies_frame },
	{ "copies_limit", bounds_copies_limit },
	{ "flushes", bounds_flushes },
	{ "frame", bounds_frame },
	{ "frame_zap", bounds_frame_zap },
	{ "frame_slot", bounds_frame_slot },
	{ "gic", bounds_gic },
	{ "gmem", bounds_gmem },
	{ "gmem_large", bounds_gmem_large },
	{ "gmem_slots", bounds_gmem_slots },
	{ "ioeventfd", bounds_ioeventfd },
	{ "irqfd_many", bounds_irqfd_many },
	{ "irqfd_shared", bounds_irqfd_shared },
	{ "its", bounds_its },
	{ "notify_apart", bounds_notify_apart },
	{ "notify_aliases", bounds_notify_aliases },
	{ "notify_frame", bounds_notify_frame },
	{ "notify_frames", bounds_notify_frames },
	{ "notify_host", bounds_notify_host },
	{ "private", bounds_private },
	{ "process_changed", bounds_process_changed },
	{ "process_gone", bounds_process_gone },
	{ "reclaim", bounds_reclaim },
	{ "ring", bounds_ring },
	{ "roots", bounds_roots },
	{ "routes", bounds_routes },
	{ "slot", bounds_slot },
	{ "slot_among_many", bounds_slot_among_many },
	{ "slot_charged", bounds_slot_charged },
	{ "slot_memory", bounds_slot_memory },
	{ "slots_many", bounds_slots_many },
	{ "spaces", bounds_spaces },
	{ "spaces_bases", bounds_spaces_bases },
	{ "spaces_high", bounds_spaces_high },
	{ "tables_all", bounds_tables_all },
	{ "tables_asid", bounds_tables_asid },
	{ "tables_kept", bounds_tables_kept },
	{ "tables_trees", bounds_tables_trees },
	{ "contexts", bounds_contexts },
	{ "log", bounds_log },
	{ "reap", bounds_reap },
	{ "tables_block", bounds_tables_block },
	{ "tables_budget", bounds_tables_budget },
	{ "tables_close", bounds_tables_close },
	{ "tables_exit", bounds_tables_exit },
	{ "tables_page", bounds_tables_page },
	{ "tables_shrink", bounds_tables_shrink },
	{ "tables_sparse", bounds_tables_sparse },
	{ "tables_unmap", bounds_tables_unmap },
	{ "traps", bounds_traps },
	{ "window", bounds_window },
	{ "write", write_row },
};

static void run_row(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(rows[i].name, name)) {
			rows[i].run();
			return;
		}
	}
	fprintf(stderr, "no row %s\n", name);
	exit(2);
}

/*
 * Three things for which stock kernels turn interrupts off for longer than the
 * bound, whoever it is that allocates or frees. Up to 2,000 pages at a time go
 * to per-CPU lists and back: lists of at most 252 pages take a tenth of it. Once
 * a second the statistics' worker cuts lists that have grown (6.12:
 * decay_pcp_high(), 290,000 instructions). And blocks of memory that were a
 * program's are claimed as the kernel's own: 64 MiB are, if page tables have been
 * in them, which go by RCU's softirq.
 */
static void quiet_host(void)
{
	const size_t step = 0x200000, size = 16384 * step;
	char *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0);
	size_t at;

	must_write("/proc/sys/vm/stat_interval", "1000000");
	if (!setting("LISTS", 0))
		must_write("/proc/sys/vm/percpu_pagelist_high_fraction", "1000000");
	if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE))
		die("mmap");
	for (at = 0; at < size; at += step)
		*(volatile char *)(memory + at);
	munmap(memory, size);
	sleep(2);
}

int main(int argc, char **argv)
{
	int i;

	if (!setting("QUIET", 0))
		quiet_host();
	write_file("/sys/module/armvisor/parameters/huge_pages", setting("PAGES", 0) ? "N" : "Y");
	meter_init();
	for (i = 1; i < argc; i++)
		run_row(argv[i]);
	printf("done\n");
	return 0;
}
