// SPDX-License-Identifier: GPL-2.0
/*
 * What a class of instructions takes on this core, in cycles: the least in a loop of nothing else,
 * the most among loads and stores that it may wait for.
 *
 * The clock is the counter. A chain of ADDs, each of which needs the one before, takes a cycle each
 * on every core that this is for: it says how many ticks a cycle is. So neither a PMU nor the CPU's
 * frequency need be known. It is measured before and after each class: cycles are of the mean, and
 * how far the measurements are apart is told.
 *
 * A loop has interrupts off for a millisecond or less: its first turns say how many there may be.
 * The best of ROUNDS counts, as a hypervisor below may take the CPU away in the others.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/arch_timer.h>
#include <asm/daifflags.h>
#include <asm/sysreg.h>
#include <clocksource/arm_arch_timer.h>

#include "costs.h"

#define ROUNDS		31
#define UNROLL		16
#define MOST_LOOPS	1024	/* of UNROLL each */
#define CHAIN		256	/* ADDs of one turn */
#define WARM_UP_MS	300	/* governors raise the frequency meanwhile */

/* All are powers of two. */
#define PAGES_L1	8	/* every TLB's first level has more */
#define PAGES_L2	512	/* more than a first level has, less than a second one */
#define PAGES_WALK	8192	/* more than a second level has; their descriptors are 64 KiB */

typedef void loop_fn(unsigned long n);

static u64 scratch[128] __aligned(64);

#define LOOP(name, times, before, insn)					\
	static noinline void name(unsigned long n)			\
	{								\
		u64 *at = scratch;					\
									\
		asm volatile("1:\n"					\
			     "	.rept " #times "\n"			\
			     before "\n" insn "\n"			\
			     "	.endr\n"				\
			     "	subs	%0, %0, #1\n"			\
			     "	b.ne	1b\n"				\
			     : "+&r" (n) : "r" (at)			\
			     : "x9", "x10", "x11", "cc", "memory");	\
	}

/* Stores and loads of lines that the first cache has; not of the line that `cache` cleans. */
#define BUSY								\
	"	stp	xzr, xzr, [%1, #64]\n"				\
	"	stp	xzr, xzr, [%1, #128]\n"				\
	"	ldp	x9, x10, [%1, #192]\n"				\
	"	ldp	x9, x10, [%1, #256]\n"

LOOP(chain, 256, "", "	add	x9, x9, x11")
LOOP(none, 16, "", "")
LOOP(busy, 16, BUSY, "")

#define BOTH(name, insn) LOOP(name##_alone, 16, "", insn) LOOP(name##_busy, 16, BUSY, insn)

BOTH(isb, "	isb")
BOTH(dsb, "	dsb	ish")
BOTH(dmb, "	dmb	ish")
BOTH(read, "	mrs	x11, far_el1")
BOTH(write, "	msr	far_el1, xzr")
BOTH(tlbi, "	tlbi	vaae1, xzr")
BOTH(cache, "	dc	cvac, %1")

static const struct class {
	const char *name;
	loop_fn *alone, *busy;
} classes[] = {
	{ "isb", isb_alone, isb_busy },
	{ "dsb", dsb_alone, dsb_busy },
	{ "dmb", dmb_alone, dmb_busy },
	{ "sysreg_read", read_alone, read_busy },
	{ "sysreg_write", write_alone, write_busy },
	{ "tlbi", tlbi_alone, tlbi_busy },
	{ "cache", cache_alone, cache_busy },
};

/* A kernel that checks indirect calls takes none to assembly. */
static noinline void exceptions(unsigned long n)
{
	costs_exceptions(n * UNROLL);
}

/* Ticks of n turns with everything masked. */
static u64 ticks_once(loop_fn *loop, unsigned long n)
{
	unsigned long flags = local_daif_save();
	u64 start, end, far = read_sysreg(far_el1);

	start = arch_timer_read_counter();
	loop(n);
	dsb(ish);
	end = arch_timer_read_counter();
	write_sysreg(far, far_el1);
	local_daif_restore(flags);
	return end - start;
}

/* Turns that take a millisecond or less, at most `most`. */
static unsigned long turns(loop_fn *loop, unsigned long most)
{
	u64 ticks;

	ticks_once(loop, 4);
	ticks = max(1ULL, ticks_once(loop, 4));
	return clamp(div64_u64(4ULL * (arch_timer_get_cntfrq() / 1000), ticks), 4ULL, (u64)most);
}

/* The best of n turns, in 1/1024 ticks each. */
static u64 best(loop_fn *loop, unsigned long n)
{
	u64 least = U64_MAX;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		least = min(least, ticks_once(loop, n));
		cond_resched();
	}
	return div64_u64(least << 10, n);
}

/* ---- cycles --------------------------------------------------------------------- */

static u64 slowest, fastest;	/* ticks of a cycle, in 2^-30 */

static u64 cycle_now(void)
{
	u64 cycle = div64_u64(best(chain, turns(chain, 1 << 14)) << 20, CHAIN);

	slowest = max(slowest, cycle);
	fastest = min(fastest, cycle);
	return max(1ULL, cycle);
}

/* Thousandths of a cycle, of 1/1024 ticks of a turn beyond another turn's. */
static u64 each(u64 ticks, u64 less, unsigned int times, u64 cycle)
{
	u64 more = ticks > less ? ticks - less : 0;

	return div64_u64((more << 20) / times * 1000, cycle);
}

static void print(struct seq_file *out, const char *name, u64 least, u64 most)
{
	most = max(least, most);
	seq_printf(out, "cost %s %llu.%03llu %llu.%03llu\n", name, least / 1000, least % 1000,
		   most / 1000, most % 1000);
}

static void measure(struct seq_file *out, const struct class *class)
{
	u64 cycle = cycle_now(), alone, among;

	alone = best(class->alone, turns(class->alone, MOST_LOOPS));
	among = best(class->busy, turns(class->busy, MOST_LOOPS));
	cycle = (cycle + cycle_now()) / 2;
	print(out, class->name, each(alone, best(none, MOST_LOOPS), UNROLL, cycle),
	      each(among, best(busy, MOST_LOOPS), UNROLL, cycle));
}

/* ---- translations --------------------------------------------------------------- */

static struct {
	struct page **page;	/* PAGES_WALK times the same one: its lines are in the first cache */
	char *at;
	unsigned int among;
} walked;

static int map_pages(void)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	unsigned int i;

	walked.page = kvmalloc_array(PAGES_WALK, sizeof(*walked.page), GFP_KERNEL);
	if (!page || !walked.page)
		goto none;
	for (i = 0; i < PAGES_WALK; i++)
		walked.page[i] = page;
	walked.at = vmap(walked.page, PAGES_WALK, VM_MAP, PAGE_KERNEL);
	if (walked.at)
		return 0;
none:
	kvfree(walked.page);
	if (page)
		__free_page(page);
	return -ENOMEM;
}

static void unmap_pages(void)
{
	vunmap(walked.at);
	__free_page(walked.page[0]);
	kvfree(walked.page);
}

/*
 * n times each of the pages, in an order that has all of them and no stride. Each address needs the
 * value of the load before, which is 0.
 */
static noinline void chase(unsigned long n)
{
	unsigned long at = 0, mask = walked.among - 1, i;

	for (i = n * walked.among; i; i--)
		at = (at * 5 + 4097 + *(volatile unsigned long *)(walked.at + at * PAGE_SIZE)) & mask;
}

/* 1/1024 ticks of a load among so many pages. */
static u64 chased(unsigned int pages)
{
	walked.among = pages;
	chase(1);
	return best(chase, PAGES_WALK / pages) / pages;
}

static int measure_walks(struct seq_file *out)
{
	u64 l1, l2, walk, cycle;
	int r = map_pages();

	if (r)
		return r;
	cycle = cycle_now();
	l1 = chased(PAGES_L1);
	l2 = chased(PAGES_L2);
	walk = chased(PAGES_WALK);
	cycle = (cycle + cycle_now()) / 2;
	unmap_pages();
	l2 = each(l2, l1, 1, cycle);
	walk = each(walk, l1, 1, cycle);
	if (l2)
		print(out, "l2_hit", l2, l2);
	if (walk > l2)
		print(out, "walk_hit", walk - l2, walk);
	return 0;
}

/* ---- all ------------------------------------------------------------------------ */

static void warm_up(void)
{
	ktime_t end = ktime_add_ms(ktime_get(), WARM_UP_MS);

	while (ktime_before(ktime_get(), end)) {
		chain(64);
		cond_resched();
	}
}

int costs_measure(struct seq_file *out)
{
	unsigned int i;
	u64 svc;
	int r;

	warm_up();
	slowest = 0;
	fastest = U64_MAX;
	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		/* Cleaning a line on early ones needs more than that (erratum 819472 and others). */
		if (!strcmp(classes[i].name, "cache") &&
		    COSTS_CORE(read_sysreg(midr_el1)) == CORTEX_A53)
			continue;
		measure(out, &classes[i]);
	}
	svc = best(exceptions, turns(exceptions, MOST_LOOPS));
	svc = each(svc, 0, UNROLL, cycle_now());
	print(out, "exception", svc, svc);
	r = measure_walks(out);
	seq_printf(out, "cycles-per-tick %llu\n", div64_u64(1000ULL << 30, cycle_now()));
	seq_printf(out, "check frequency %s a cycle took from %llu to %llu ps of the counter\n",
		   slowest - fastest > fastest / 33 ? "differs" : "ok",
		   div64_u64((fastest >> 10) * (1000000000000ULL / arch_timer_get_cntfrq()), 1 << 20),
		   div64_u64((slowest >> 10) * (1000000000000ULL / arch_timer_get_cntfrq()), 1 << 20));
	return r;
}
