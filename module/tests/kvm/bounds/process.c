// SPDX-License-Identifier: GPL-2.0
/*
 * A guest's process invalidates its ASID, and its shadow tables are kept. This measures the work on
 * them at once, perhaps with interrupts off.
 *
 *	GIBS=n		GiB of blocks that the process had (default 56)
 *	SLOTS=n		number of further slots (default 8,000)
 */
#include <stdio.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define TABLE	0x200000UL
#define GPA	0x200000000ULL
#define FIRST	3		/* slot that is not the mapper's */

/* It is gone, and had very many blocks: another one gets its place. */
void bounds_process_gone(void)
{
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	/* Like a kernel's: the process has nothing in the lower half but its own. */
	mapper_go_high(&m);
	mapper_blocks(&m);
	mapper_touch(&m, MAPPER_VA, setting("GIBS", 56) << 30, TABLE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	/* By another process, so that nothing of this one is used afterwards. */
	mapper_set_asid(m.g.vcpu, 2);
	mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	mapper_tlbi_asid(&m);
	meter_begin();
	mapper_set_asid(m.g.vcpu, 3);
	mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	meter_end("process.gone");
	free_mapper(&m);
}

/*
 * It has other pages everywhere now: the tables' entries are compared and dropped, and each frame
 * is in a separate slot among very many.
 */
void bounds_process_changed(void)
{
	u32 n = setting("SLOTS", 8000), i;
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	for (i = 0; i < n; i++)
		mapper_slot(&m, FIRST + i, GPA + i * 2 * PAGE, m.frames, PAGE);
	for (i = 0; i < 512; i++)
		mapper_frame(&m, i, GPA + i * (n / 512) * 2 * PAGE);
	mapper_touch(&m, MAPPER_VA, 8 * TABLE, PAGE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	for (i = 0; i < 512; i++)
		mapper_frame(&m, i, MAPPER_FRAMES + i * PAGE);
	meter_begin();
	mapper_tlbi_asid(&m);
	meter_end("process.changed");
	free_mapper(&m);
}
