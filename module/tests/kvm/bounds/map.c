// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of a guest are dropped, write-protected and taken back: those of many tables, or those
 * of one frame that very many entries map.
 *
 *	ENTRIES=n	number of entries of one frame (default 2,097,152)
 *	TABLES=n	number of level-3 tables (default 32,000, at most 32,768)
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define TABLE	0x200000UL	/* the span of a level-3 table */

void bounds_idle(void)
{
	meter_begin();
	usleep(100000);
	meter_end("idle");
}

static void fill(struct mapper *m, u64 from, u64 size, u64 step)
{
	mapper_touch(m, from, size, step);
	result("entries", read_stat(m->stats, "shadow_fill"), "count");
}

/* A frame that many entries map. */
static void many_entries(struct mapper *m)
{
	new_mapper(m, ONE_FRAME, true);
	fill(m, MAPPER_VA, setting("ENTRIES", 1 << 21) * PAGE, PAGE);
}

static void set_flags(struct mapper *m, u64 size, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 1, .flags = flags, .guest_phys_addr = MAPPER_FRAMES,
		.memory_size = size, .userspace_addr = (u64)m->frames,
	};

	if (ioctl(m->g.vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

/* Logged, the log read, no longer logged, deleted: the steps of a migration. */
void bounds_frame(void)
{
	static u64 bits[MAPPER_FRAMES_SIZE / PAGE / 64];
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = bits };
	struct mapper m;

	many_entries(&m);
	meter_begin();
	set_flags(&m, MAPPER_FRAMES_SIZE, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("frame.log_on");
	/* Written again, by some of the entries. */
	mapper_touch(&m, MAPPER_VA, 64 * TABLE, PAGE);
	meter_begin();
	if (ioctl(m.g.vm, KVM_GET_DIRTY_LOG, &log) || !(bits[0] & 1))
		die("KVM_GET_DIRTY_LOG");
	meter_end("frame.log_read");
	free_mapper(&m);
}

void bounds_frame_zap(void)
{
	struct mapper m;

	many_entries(&m);
	meter_begin();
	if (madvise(m.frames, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	meter_end("frame.zap");
	free_mapper(&m);
}

void bounds_frame_slot(void)
{
	struct mapper m;

	many_entries(&m);
	meter_begin();
	set_flags(&m, 0, 0);
	meter_end("frame.slot_deleted");
	free_mapper(&m);
}

/* As many tables as the largest VM has. */
static void many_tables(struct mapper *m)
{
	new_mapper(m, EACH_ITS_OWN, true);
	fill(m, MAPPER_VA, setting("TABLES", 32000) * TABLE, TABLE);
}

void bounds_tables_all(void)
{
	struct mapper m;

	many_tables(&m);
	meter_begin();
	mapper_tlbi_all(&m);
	meter_end("tables.all");
	/* What was dropped may still have to be freed. */
	meter_begin();
	mapper_touch(&m, MAPPER_VA, 64 * TABLE, TABLE);
	meter_end("tables.all_after");
	free_mapper(&m);
}

void bounds_tables_asid(void)
{
	struct mapper m;

	many_tables(&m);
	meter_begin();
	mapper_tlbi_asid(&m);
	meter_end("tables.asid");
	free_mapper(&m);
}

/*
 * Tables that an ASID's invalidation keeps, at the first fault in them: many on each level, and a
 * full one below, with the same entries as the guest, or with none of them.
 */
void bounds_tables_kept(void)
{
	const u64 gpa = 0x200000000;
	struct mapper m;

	many_tables(&m);
	mapper_slot(&m, 3, gpa, m.frames, PAGE);
	fill(&m, MAPPER_VA, TABLE, PAGE);
	mapper_tlbi_asid(&m);
	meter_begin();
	mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	meter_end("tables.kept");
	result("tables.kept_agreed", read_stat(m.vm_stats, "shadow_agreed"), "count");
	mapper_block(&m, 0, gpa);
	mapper_tlbi_asid(&m);
	meter_begin();
	mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	meter_end("tables.kept_not");
	result("tables.kept_relinked", read_stat(m.vm_stats, "shadow_relinked"), "count");
	result("tables.kept_agreed_then", read_stat(m.vm_stats, "shadow_agreed"), "count");
	free_mapper(&m);
}

static void many_trees(const struct mapper *m, u32 trees)
{
	u64 n = read_stat(m->vm_stats, "shadow_trees");

	if (n < trees)
		die("%llu trees where there should be %u", (unsigned long long)n, trees);
}

/* Trees by the thousand with a page each: there is much to look through and little to drop. */
void bounds_tables_trees(void)
{
	u32 trees = setting("TREES", 2000), i;
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	mapper_wide_asids(&m);
	for (i = 0; i < trees; i++) {
		mapper_set_asid(m.g.vcpu, 1 + i);
		mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	}
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	many_trees(&m, trees);
	meter_begin();
	mapper_tlbi_all(&m);
	meter_end("tables.trees");
	free_mapper(&m);
}

/*
 * One page of every tree there is, and of one ASID where half of the trees hold global
 * pages and half do not: all are looked at, and half passed over.
 */
void bounds_tables_page(void)
{
	const u64 global = MAPPER_VA + (1ULL << 30);
	u32 trees = setting("TREES", 2000), i;
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	mapper_wide_asids(&m);
	mapper_global(&m, 1);
	for (i = 0; i < trees; i++) {
		mapper_set_asid(m.g.vcpu, 2 + i);
		mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
		if (i % 2)
			mapper_touch(&m, global, PAGE, PAGE);
	}
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	many_trees(&m, trees);
	meter_begin();
	mapper_tlbi_va(&m);
	meter_end("tables.page_va");
	meter_begin();
	mapper_tlbi_vaa(&m);
	meter_end("tables.page_vaa");
	/* Nothing of it is left. */
	meter_begin();
	mapper_tlbi_vaa(&m);
	meter_end("tables.page_again");
	free_mapper(&m);
}

/* Hundreds of tables with an entry each, which go with a block; thousands, which go with all. */
void bounds_tables_sparse(void)
{
	const u64 gpa = 0x200000000, gib = 1ULL << 30;
	struct mapper m;
	u32 i;

	new_mapper(&m, EACH_ITS_OWN, true);
	/* A page each, so that nothing is filled along. */
	for (i = 0; i < 512; i++)
		mapper_slot(&m, 3 + i, gpa + i * TABLE, (char *)m.frames + i * PAGE, PAGE);
	for (i = 0; i < 8; i++)
		mapper_block(&m, i, gpa);
	fill(&m, MAPPER_VA, 8 * gib, TABLE);
	result("tables.sparse_pages", read_stat(m.vm_stats, "shadow_pages"), "count");
	meter_begin();
	mapper_tlbi_va(&m);
	meter_end("tables.sparse_va");
	result("tables.sparse_left", read_stat(m.vm_stats, "shadow_pages"), "count");
	meter_begin();
	mapper_tlbi_all(&m);
	meter_end("tables.sparse_all");
	free_mapper(&m);
}

/*
 * A block of the guest's: to invalidate one address of it is to drop all that
 * was filled from it. It is 512 slots on the same memory of the host.
 */
void bounds_tables_block(void)
{
	const u64 gpa = 0x200000000;
	struct mapper m;
	u32 i;

	new_mapper(&m, EACH_ITS_OWN, true);
	for (i = 0; i < 512; i++)
		mapper_slot(&m, 3 + i, gpa + i * TABLE, m.frames, TABLE);
	mapper_block(&m, 0, gpa);
	fill(&m, MAPPER_VA, 512 * TABLE, 16 * PAGE);
	meter_begin();
	mapper_tlbi_va(&m);
	meter_end("tables.block");
	free_mapper(&m);
}

/* One table more than there may be, over and over. */
void bounds_tables_budget(void)
{
	struct mapper m;

	many_tables(&m);
	meter_begin();
	mapper_touch(&m, MAPPER_VA + 32000 * TABLE, 2000 * TABLE, TABLE);
	meter_end("tables.budget");
	free_mapper(&m);
}

void bounds_tables_close(void)
{
	struct mapper m;

	many_tables(&m);
	meter_begin();
	free_mapper(&m);
	meter_end("tables.close");
}

/* A VMM in a process of its own, which lives on when it has got ready. */
static pid_t start_vmm(void (*get_ready)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		get_ready();
		if (write(ready[1], "", 1) != 1)
			die("write");
		pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("the VMM ended");
	close(ready[0]);
	return pid;
}

static void vmm_of_tables(void)
{
	struct mapper m;

	many_tables(&m);
}

/* The VMM is killed. */
void bounds_tables_exit(void)
{
	pid_t pid = start_vmm(vmm_of_tables);
	int status;

	meter_begin();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	meter_end("tables.exit");
}

/* A VMM with memory that its guest has mapped page by page. */
static void vmm_of_pages(void)
{
	const u64 size = setting("SIZE", 256 << 20);
	const u64 gpa = 0x200000000;
	struct mapper m;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	new_mapper(&m, EACH_ITS_OWN, false);
	mapper_slot(&m, 3, gpa, memory, size);
	mapper_block(&m, 0, gpa);
	fill(&m, MAPPER_VA, size, PAGE);
}

/*
 * The host is short of memory and takes a VMM's that is dying before it has
 * died: it may not sleep then.
 */
void bounds_reap(void)
{
	const struct sched_param above = { .sched_priority = 1 }, usual = { 0 };
	pid_t pid = start_vmm(vmm_of_pages);
	int status, pidfd;

	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0)
		die("pidfd_open");
	/* It is not to run, and end by itself, before that. */
	if (sched_setscheduler(0, SCHED_FIFO, &above))
		die("SCHED_FIFO");
	meter_begin();
	kill(pid, SIGKILL);
	if (process_mrelease(pidfd, 0))
		die("process_mrelease");
	meter_end("reap");
	sched_setscheduler(0, SCHED_OTHER, &usual);
	waitpid(pid, &status, 0);
	close(pidfd);
}

/* Trees that no vCPU keeps go when the host wants memory. */
void bounds_tables_shrink(void)
{
	struct mapper m;
	int asid;

	many_tables(&m);
	for (asid = 2; asid < 20; asid++) {
		mapper_set_asid(m.g.vcpu, asid);
		mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	}
	meter_begin();
	must_write("/proc/sys/vm/drop_caches", "2");
	meter_end("tables.shrink");
	free_mapper(&m);
}

void bounds_tables_unmap(void)
{
	struct mapper m;

	many_tables(&m);
	meter_begin();
	munmap(m.frames, MAPPER_FRAMES_SIZE);
	meter_end("tables.unmap");
	free_mapper(&m);
}
