// SPDX-License-Identifier: GPL-2.0
/*
 * The maximum number of vCPUs, and on each more address spaces than it keeps trees for: each run is
 * in another one. No run may fail, and the VM's memory is bounded.
 *
 *	VCPUS=n SPACES=n	254 and 33
 *	AGAIN=1			all of it twice
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define BASES	0x200000000ULL	/* tables of level 0, for spaces_bases */

#define MAX_VCPUS	254

struct machine {
	struct mapper m;
	u32 nr_vcpus, spaces;
	int vcpus[MAX_VCPUS];
	u64 *bases;		/* or NULL */
};

/* All vCPUs run the first one's program by the first one's tables. */
static void as_the_first(struct machine *s, int vcpu)
{
	static const u64 regs[] = {
		MAPPER_REG_TTBR1, MAPPER_REG_TCR, REG_PC, REG_X(5),
	};
	size_t i;

	mapper_vcpu(vcpu, MAPPER_ASID);
	for (i = 0; i < ARRAY_SIZE(regs); i++)
		set_reg(vcpu, regs[i], get_reg(s->m.g.vcpu, regs[i]));
}

static void begin(struct machine *s, bool high)
{
	struct rlimit files = { 1 << 12, 1 << 12 };
	u32 i;

	memset(s, 0, sizeof(*s));
	s->nr_vcpus = setting("VCPUS", MAX_VCPUS);
	s->spaces = setting("SPACES", 33);
	if (s->nr_vcpus > MAX_VCPUS || setrlimit(RLIMIT_NOFILE, &files))
		die("%u vCPUs", s->nr_vcpus);
	new_mapper(&s->m, EACH_ITS_OWN, false);
	mapper_wide_asids(&s->m);
	if (high)
		mapper_go_high_by_asid(&s->m);
	s->vcpus[0] = s->m.g.vcpu;
	for (i = 1; i < s->nr_vcpus; i++) {
		s->vcpus[i] = new_vcpu(s->m.g.vm, i);
		init_vcpu(s->vcpus[i]);
		as_the_first(s, s->vcpus[i]);
	}
}

/* A table of level 0 for each address space, the same in all. */
static void make_bases(struct machine *s)
{
	u64 n = (u64)s->nr_vcpus * s->spaces, i;

	s->bases = map_memory(n * PAGE);
	for (i = 0; i < n; i++)
		mapper_copy_base(&s->m, &s->bases[i * PAGE / 8]);
	mapper_slot(&s->m, 3, BASES, s->bases, n * PAGE);
}

static void go_to(struct machine *s, u32 vcpu, u32 space)
{
	u64 n = (u64)vcpu * s->spaces + space;

	if (s->bases)
		set_reg(s->vcpus[vcpu], MAPPER_REG_TTBR0, (BASES + n * PAGE) | 1ULL << 48);
	else
		mapper_set_asid(s->vcpus[vcpu], 1 + n);
}

static void run_all(struct machine *s, const char *name)
{
	u32 space, i, runs = 0;

	meter_begin();
	for (space = 0; space < s->spaces; space++) {
		for (i = 0; i < s->nr_vcpus; i++) {
			go_to(s, i, space);
			if (ioctl(s->vcpus[i], KVM_RUN, 0))
				die("KVM_RUN after %u runs", runs);
			runs++;
		}
	}
	meter_end("%s.run", name);
	result("entries", runs, "count");
}

/* The worst operations with so many trees, and the end. */
static void finish(struct machine *s, const char *name)
{
	char label[32];
	u32 i;

	snprintf(label, sizeof(label), "%s.trees", name);
	result(label, read_stat(s->m.vm_stats, "shadow_trees"), "count");
	snprintf(label, sizeof(label), "%s.pages", name);
	result(label, read_stat(s->m.vm_stats, "shadow_pages"), "count");
	/* In spaces that others have, and of its own. */
	meter_begin();
	mapper_tlbi_vaa(&s->m);
	meter_end("%s.vaa", name);
	meter_begin();
	mapper_tlbi_all(&s->m);
	meter_end("%s.all", name);
	for (i = 1; i < s->nr_vcpus; i++)
		close(s->vcpus[i]);
	if (s->bases)
		munmap(s->bases, (u64)s->nr_vcpus * s->spaces * PAGE);
	meter_begin();
	free_mapper(&s->m);
	meter_end("%s.close", name);
}

/* By ASID: trees of the lower half. */
void bounds_spaces(void)
{
	long before = charged_memory();
	struct machine s;

	begin(&s, false);
	run_all(&s, "spaces");
	result("spaces.charged", charged_memory() - before, "KiB");
	if (setting("AGAIN", 0))
		run_all(&s, "spaces.again");
	finish(&s, "spaces");
}

/* By their tables, with one ASID: all trees are in one list. */
void bounds_spaces_bases(void)
{
	struct machine s;

	begin(&s, false);
	make_bases(&s);
	run_all(&s, "spaces_bases");
	finish(&s, "spaces_bases");
}

/* By ASID, with trees of both halves for each. */
void bounds_spaces_high(void)
{
	long before = charged_memory();
	struct machine s;

	begin(&s, true);
	run_all(&s, "spaces_high");
	result("spaces_high.charged", charged_memory() - before, "KiB");
	finish(&s, "spaces_high");
}

#define ROOT_ENTRY	(1ULL << 39)	/* the span of a level-0 entry */
#define TABLE		0x200000UL

/*
 * The end of a vCPU whose root tables are nearly full, and of its VM: most of what there may be is
 * tables with an entry each.
 *
 *	SPACES=n ROOTS=n	30 and 480
 */
void bounds_roots(void)
{
	u32 spaces = setting("SPACES", 30), i;
	u64 roots = setting("ROOTS", 480);
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	mapper_all_roots(&m);
	mapper_both_sizes(&m);
	for (i = 0; i < spaces; i++) {
		mapper_set_asid(m.g.vcpu, 1 + i);
		/* A block of the host's: two tables lead to it. */
		mapper_touch(&m, MAPPER_VA + TABLE, roots * ROOT_ENTRY, ROOT_ENTRY);
	}
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	result("roots.pages", read_stat(m.vm_stats, "shadow_pages"), "count");
	meter_begin();
	free_mapper(&m);
	meter_end("roots.close");
}
