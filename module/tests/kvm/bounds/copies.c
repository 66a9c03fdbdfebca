// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of code are dropped: many at once, or one that very many entries map. Without copies
 * (cheap_traps), or on KVM, the same is done to memory that was executed.
 *
 *	COPIES=n	number of copies (default 8,192, a VM's maximum)
 *	ENTRIES=n	number of entries of one copy (default 65,536)
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define RET	0xd65f03c0
#define CODE	(4UL << 30)	/* where new_mapper() puts its slot of this number: */
#define SLOT	2
#define SIZE	(1UL << 30)

struct code {
	struct mapper m;
	u32 copies;
	char *memory;
};

static void set_slot(struct code *c, size_t size)
{
	mapper_slot(&c->m, SLOT, CODE, c->memory, size);
}

/* Functions of a page each, in a slot large enough for this many copies. */
static void new_code(struct code *c)
{
	int fd = memfd_create("code", 0);
	u32 i;

	c->copies = setting("COPIES", 8192);
	new_mapper(&c->m, EACH_ITS_OWN, false);
	/* A file's pages: that memory is freed, is the host's own work, and more than the bound. */
	if (fd < 0 || ftruncate(fd, SIZE))
		die("memfd");
	c->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->memory == MAP_FAILED)
		die("mmap");
	close(fd);
	for (i = 0; i < c->copies; i++)
		*(u32 *)(c->memory + i * PAGE) = RET;
	set_slot(c, SIZE);
	mapper_go_high(&c->m);
}

static void execute_all(struct code *c)
{
	u32 i;

	for (i = 0; i < c->copies; i++)
		*(u32 *)(c->memory + i * PAGE) = RET;
	mapper_execute(&c->m, MAPPER_HIGH + CODE, c->copies * PAGE, PAGE);
	/* What the row is about, in the place of shadow entries. */
	result("entries", read_stat(c->m.vm_stats, "code_copies"), "count");
}

/* The host takes the memory back; the slot goes; the VMM may have written to any of it. */
void bounds_copies(void)
{
	struct code c;

	new_code(&c);
	execute_all(&c);
	meter_begin();
	if (madvise(c.memory, c.copies * PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	meter_end("copies.zap");
	execute_all(&c);
	meter_begin();
	set_slot(&c, 0);
	meter_end("copies.slot_deleted");
	set_slot(&c, SIZE);
	execute_all(&c);
	meter_begin();
	set_reg(c.m.g.vcpu, REG_PC, get_reg(c.m.g.vcpu, REG_PC));
	meter_end("copies.forgotten");
	free_mapper(&c.m);
	munmap(c.memory, SIZE);
}

/* One more than there may be, over and over; memory is short; the end. */
void bounds_copies_limit(void)
{
	struct code c;

	new_code(&c);
	execute_all(&c);
	c.copies += 64;
	meter_begin();
	execute_all(&c);
	meter_end("copies.limit");
	meter_begin();
	must_write("/proc/sys/vm/drop_caches", "2");
	meter_end("copies.shrink");
	execute_all(&c);
	meter_begin();
	free_mapper(&c.m);
	meter_end("copies.close");
	munmap(c.memory, SIZE);
}

/* One function that has very many addresses is written, and executed again. */
void bounds_copies_frame(void)
{
	const u64 size = setting("ENTRIES", 1 << 16) * PAGE;
	struct mapper m;

	new_mapper(&m, ONE_FRAME, true);
	*(u32 *)m.frames = RET;
	mapper_go_high(&m);
	mapper_execute(&m, MAPPER_HIGH + MAPPER_VA, size, PAGE);
	result("copies", read_stat(m.vm_stats, "code_copies"), "count");
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	meter_begin();
	mapper_touch(&m, MAPPER_HIGH + MAPPER_VA + PAGE - 8, 8, 8);
	meter_end("copies_frame.written");
	*(u32 *)m.frames = RET;
	mapper_execute(&m, MAPPER_HIGH + MAPPER_VA, size, PAGE);
	meter_begin();
	if (madvise(m.frames, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	meter_end("copies_frame.zap");
	free_mapper(&m);
}

/* Functions that have a hundred addresses each, all of which the VMM may have written to. */
void bounds_copies_aliases(void)
{
	const u64 size = setting("ENTRIES", 1 << 16) * PAGE;
	struct mapper m;
	u64 i;

	new_mapper(&m, EACH_ITS_OWN, true);
	for (i = 0; i < MAPPER_FRAMES_SIZE; i += PAGE)
		*(u32 *)((char *)m.frames + i) = RET;
	mapper_go_high(&m);
	mapper_execute(&m, MAPPER_HIGH + MAPPER_VA, size, PAGE);
	result("copies", read_stat(m.vm_stats, "code_copies"), "count");
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	meter_begin();
	set_reg(m.g.vcpu, REG_PC, get_reg(m.g.vcpu, REG_PC));
	meter_end("copies_aliases.forgotten");
	free_mapper(&m);
}
