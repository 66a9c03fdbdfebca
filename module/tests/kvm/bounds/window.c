// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a guest whose kernel half has many tables moves (mmu/shadow/position.h): to each of
 * its positions in turn. Then the VM ends.
 *
 *	TABLES=n	number of level-3 tables (default 16,000)
 */
#include "bounds.h"

#define PAGE		0x1000UL
#define TABLE		0x200000UL	/* the span of a level-3 table */
#define POSITIONS	512
#define LAST_GIB	(-(u64)POSITIONS * TABLE)

void bounds_window(void)
{
	struct mapper m;
	unsigned int i;

	new_mapper(&m, EACH_ITS_OWN, true);
	mapper_go_high(&m);
	mapper_last_gib(&m);
	mapper_touch(&m, MAPPER_HIGH + MAPPER_SPAN, setting("TABLES", 16000) * TABLE, TABLE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	meter_begin();
	for (i = POSITIONS; i--; )
		mapper_touch(&m, LAST_GIB + i * TABLE, PAGE, PAGE);
	meter_end("window.moves");
	result("window.trees", read_stat(m.vm_stats, "shadow_trees"), "count");
	meter_begin();
	free_mapper(&m);
	meter_end("window.close");
}
