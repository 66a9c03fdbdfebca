// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of EL0 that are the guest's own, with tables that change: the guest changes entries, the
 * VMM replaces the page of a table, another vCPU replaces the table.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stale.h"

/* EL0 may execute the program. */
static void map_text(struct machine *m)
{
	u64 at;

	for (at = 0; at < CTL; at += PAGE)
		map_page(m, USER_TEXT + at,
			 (GUEST_BASE + at) | DESC_PAGE | DESC_USER | DESC_RDONLY | DESC_NG |
			 DESC_PXN);
	m->ctl->user_text = USER_TEXT;
}

static u64 vcpu_stat(struct machine *m, int vcpu, const char *name)
{
	int fd = ioctl(m->vcpus[vcpu].fd, KVM_GET_STATS_FD, 0);
	u64 value = fd < 0 ? 0 : read_stat(fd, name);

	close(fd);
	return value;
}

/* Stop, and tell how it went; only the module has these. */
static void tell_ended(struct machine *m, int vcpu, const char *part)
{
	stop_vcpus(m);
	printf("result %s.faults %llu count\nresult %s.in_window %llu count\n", part,
	       (unsigned long long)vcpu_stat(m, vcpu, "dabt_guest"), part,
	       (unsigned long long)vcpu_stat(m, vcpu, "fast_dabt"));
}

/* What the guest asks for: a copy of the table in which page 0 is there. */
static void replace_table(u64 *table, u64 *entry)
{
	char *page = map_memory(PAGE);
	u64 *copy = (u64 *)(page + ((char *)entry - (char *)table));

	memcpy(page, table, PAGE);
	*copy = FRAMES | DESC_PAGE | DESC_USER | DESC_NG | DESC_XN;
	if (mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, table) == MAP_FAILED)
		die("mremap");
}

/* Wait for the guest to ask. */
static bool asked(const struct ctl *c, u64 *ask)
{
	unsigned int tries;

	for (tries = 0; tries < 300000 && !failures; tries++) {
		*ask = __atomic_load_n(&c->ask, __ATOMIC_ACQUIRE);
		if (*ask != c->given)
			return true;
		usleep(200);
	}
	expect(failures, "no progress");
	return false;
}

void stale_own(void)
{
	u64 *entry, *table, n, ask, want = setting("ROUNDS", 20) * 8;
	struct machine m;
	struct ctl *c;

	entry = begin_tables(&m, LOW_VA, HOW_LAST, STALE_PAGES);
	table = (u64 *)((u64)entry & ~(PAGE - 1));
	c = m.ctl;
	c->l3[0] = STALE_HIGH + GUEST_BASE + ((char *)entry - m.memory);
	map_text(&m);
	start_vcpu(&m, guest_own);
	for (n = 0; n < want && asked(c, &ask); n++) {
		replace_table(table, entry);
		__atomic_store_n(&c->given, ask, __ATOMIC_RELEASE);
	}
	tell_ended(&m, 0, "own");
	end_tables(&m);
}

void stale_user(void)
{
	struct machine m;
	u64 *entry, n, i;

	entry = begin_tables(&m, LOW_VA, HOW_SHARED, STALE_PAGES);
	for (i = 0; i < STALE_PAGES; i++)
		entry[i] |= DESC_USER;
	map_text(&m);
	two_tables(&m, entry);
	start_vcpu(&m, guest_move);
	start_vcpu(&m, guest_user_reads);
	for (n = 0; n < setting("ROUNDS", 20) && !failures; n++)
		if (!progress(&m, 0, 1) || !progress(&m, 1, 1))
			break;
	tell_ended(&m, 1, "user");
	end_tables(&m);
}
