// SPDX-License-Identifier: GPL-2.0
/*
 * A huge page of the host that a guest has mapped at many addresses, by blocks and by pages:
 * logged, read, punched, and its slot deleted.
 *
 *	ENTRIES=n	number of 2 MiB mappings (default 65,536)
 */
#include <sys/mman.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define TABLE	0x200000UL

/* Blocks that are mapped when all of it has been touched. */
static void touch_all(struct mapper *m)
{
	mapper_touch(m, MAPPER_VA, setting("ENTRIES", 65536) * TABLE, TABLE);
}

static void many_blocks(struct mapper *m)
{
	new_mapper(m, EACH_ITS_OWN, true);
	mapper_both_sizes(m);
	touch_all(m);
	result("entries", read_stat(m->stats, "shadow_fill"), "count");
	result("blocks.mapped", read_stat(m->vm_stats, "pages_2m"), "count");
}

static void set_flags(struct mapper *m, u64 size, u32 flags)
{
	mapper_set_slot(m, 1, MAPPER_FRAMES, m->frames, size, flags);
}

void bounds_blocks(void)
{
	static u64 bits[MAPPER_FRAMES_SIZE / PAGE / 64];
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = bits };
	struct mapper m;

	many_blocks(&m);
	meter_begin();
	read_stat(m.vm_stats, "pages_2m");
	meter_end("blocks.count");
	meter_begin();
	set_flags(&m, MAPPER_FRAMES_SIZE, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("blocks.log_on");
	result("blocks.logged", read_stat(m.vm_stats, "pages_2m"), "count");
	mapper_touch(&m, MAPPER_VA, 64 * TABLE, TABLE);
	meter_begin();
	if (ioctl(m.g.vm, KVM_GET_DIRTY_LOG, &log) || !(bits[0] & 1))
		die("KVM_GET_DIRTY_LOG");
	meter_end("blocks.log_read");
	meter_begin();
	set_flags(&m, MAPPER_FRAMES_SIZE, 0);
	meter_end("blocks.log_off");
	touch_all(&m);
	result("blocks.again", read_stat(m.vm_stats, "pages_2m"), "count");
	/* The host has to split its own. */
	meter_begin();
	if (madvise((char *)m.frames + 300 * PAGE, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	meter_end("blocks.punch");
	/*
	 * vCPUs free the tables that the notifier has unlinked, and map the pages that they use
	 * again.
	 */
	touch_all(&m);
	result("blocks.punched", read_stat(m.vm_stats, "pages_2m"), "count");
	free_mapper(&m);
}

void bounds_blocks_slot(void)
{
	struct mapper m;

	many_blocks(&m);
	meter_begin();
	set_flags(&m, 0, 0);
	meter_end("blocks.slot_deleted");
	result("blocks.left", read_stat(m.vm_stats, "pages_2m"), "count");
	free_mapper(&m);
}
