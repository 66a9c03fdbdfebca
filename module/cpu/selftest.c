// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the world switch at module load: a few instructions run at EL0 from a kernel address, and
 * their effect on the registers is checked. A machine where the switch fails is refused before a
 * guest depends on it. It also times entry plus exit, long and short, so that statistics can tell
 * them from the guest's time. Last, it times a trap that the window's assembly completes, including
 * exception entry and return, which the window's own times lack (stats/fast_time.h).
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <asm/pgtable-hwdef.h>

#include "compat/icache.h"
#include "cpu/cpu.h"
#include "cpu/quick.h"
#include "lib/counter.h"
#include "switch/private.h"
#include "switch/switch.h"
#include "switch/tlb.h"
#include "switch/window_desc.h"

#define TEST_VA		0xffff800008000000ULL
#define TEST_SP		0x1234567890abcdef
#define TEST_SVC	0x2a
#define TEST_INSN	0xd538d083
#define TEST_DESC	(PTE_TYPE_PAGE | PTE_AF | av_host_tables.shareable | PTE_NG | PTE_PXN | \
			 PTE_USER | PTE_RDONLY | PTE_ATTRINDX(MT_NORMAL))

/* add xN, xN, #1 */
#define ADD_1(n)	(0x91000400 | (n) << 5 | (n))

/* The first of the two loads below. */
#define TEST_ABORT	(TEST_VA + 16 * sizeof(u32))

static const u32 test_code[] = {
	0x8b010000,			/* add x0, x0, x1 */
	0x910003e2,			/* mov x2, sp */
	TEST_INSN,			/* mrs x3, tpidr_el1: unknown at EL0 */
	/* The registers that a light exit saves or leaves alone. */
	ADD_1(18), ADD_1(19), ADD_1(20), ADD_1(21), ADD_1(22), ADD_1(23), ADD_1(24),
	ADD_1(25), ADD_1(26), ADD_1(27), ADD_1(28), ADD_1(29), ADD_1(30),
	0xf94000a4,			/* ldr x4, [x5]: x5 is not mapped */
	0xf94000a4,
	0xd4000001 | TEST_SVC << 5,	/* svc #TEST_SVC */
};

struct selftest {
	struct av_vm_switch vsw;
	struct av_vcpu_switch csw;
	struct av_srf *srf;
	u64 *tables[4];		/* from the root to the code */
	u64 *way[2];		/* to the window's table */
	u32 *code;
	unsigned int light;	/* number of light exits so far */
	unsigned int answers;	/* how many exits to answer without any effect */
};

static int selftest_pages(struct selftest *t)
{
	int i;

	t->srf = av_srf_alloc();
	t->code = (void *)get_zeroed_page(GFP_KERNEL);
	if (!t->srf || !t->code)
		return -ENOMEM;
	for (i = 0; i < 4; i++) {
		t->tables[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!t->tables[i])
			return -ENOMEM;
	}
	for (i = 0; i < 2; i++) {
		t->way[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!t->way[i])
			return -ENOMEM;
	}
	return 0;
}

static void selftest_map(struct selftest *t)
{
	u64 *root = t->tables[0], desc;
	int level;

	memcpy(t->code, test_code, sizeof(test_code));
	av_sync_icache_aliases((unsigned long)t->code, PAGE_SIZE);

	desc = virt_to_phys(t->code) | TEST_DESC;
	for (level = 3; level >= 0; level--) {
		t->tables[level][(TEST_VA >> (39 - 9 * level)) & 511] = desc;
		desc = virt_to_phys(t->tables[level]) | PMD_TYPE_TABLE;
	}
	/* The window, mapped as in every guest tree. */
	root[AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(t->way[0]));
	t->way[0][AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(t->way[1]));
	av_window_hang(t->way[1], t->csw.position, virt_to_phys(t->vsw.l3));
	dsb(ishst);
}

static void selftest_load(struct av_srf *srf)
{
	srf->regs[4]++;
	srf->pc += 4;
}

/* Answer the first light exit; the second ends the stay. */
static bool selftest_light(void *data)
{
	struct selftest *t = data;

	if (t->answers)
		return --t->answers;
	if (t->light++)
		return false;
	selftest_load(t->srf);
	return true;
}

/* Run until the guest causes an exit. Returns false if it never does. */
static bool selftest_enter(struct selftest *t, const struct av_entry *entry)
{
	struct av_host_controls host;
	unsigned int tries = 100;

	do {
		local_irq_disable();
		av_host_controls_read(&host);
		/* The host's TCR_EL1, so that exits may be light. */
		av_srf_set(t->srf, AV_TCR_EL1, host.tcr);
		av_controls(&t->csw.priv->guest, t->srf, &host, 0);
		t->srf->light = av_controls_suit_host(&t->csw.priv->guest, &host);
		av_switch_run(&t->csw, t->srf, entry);
		local_irq_enable();
	} while (t->srf->exit == AV_EXCEPTION_IRQ && --tries);
	return t->srf->exit == AV_EXCEPTION_SYNC;
}

/* Do the registers have the expected values, and was C asked as often as expected? */
static bool selftest_kept(const struct selftest *t)
{
	unsigned int n;

	for (n = 6; n < ARRAY_SIZE(t->srf->regs); n++)
		if (t->srf->regs[n] != TEST_SP + n + (n >= 18))
			return false;
	return t->light == (t->srf->light ? 2 : 0);
}

static int selftest_run(struct selftest *t)
{
	struct av_srf *srf = t->srf;
	struct av_entry entry = {
		.root0 = page_to_phys(ZERO_PAGE(0)),
		.ttbr1[1] = virt_to_phys(t->tables[0]) | av_tlb_asid_of(&t->csw, 0),
		.el = 1,
	};
	unsigned int n;

	for (n = 6; n < ARRAY_SIZE(srf->regs); n++)
		srf->regs[n] = TEST_SP + n;
	srf->regs[0] = 1;
	srf->regs[1] = 2;
	srf->sp = TEST_SP;
	srf->pc = TEST_VA;
	av_srf_set_vpstate(srf, AV_PSR_EL1H);
	srf->slow = 1;			/* the fetched instruction must reach C */
	if (!selftest_enter(t, &entry) || av_esr_ec(srf->esr) != AV_EC_UNKNOWN ||
	    srf->insn != TEST_INSN || srf->pc != TEST_VA + 8)
		goto broken;
	srf->pc += 4;
	while (selftest_enter(t, &entry) && av_esr_ec(srf->esr) == AV_EC_DABT_LOW)
		selftest_load(srf);
	if (srf->exit == AV_EXCEPTION_SYNC && av_esr_ec(srf->esr) == AV_EC_SVC64 &&
	    (srf->esr & 0xffff) == TEST_SVC && srf->pc == TEST_VA + sizeof(test_code) &&
	    srf->regs[0] == 3 && srf->regs[2] == TEST_SP && srf->sp == TEST_SP &&
	    srf->regs[4] == 2 && selftest_kept(t))
		return 0;
broken:
	pr_err("armvisor: the world switch does not work on this machine (exit %llu, ESR %#llx, FAR %#llx, PC %#llx): please report it with the CPU's name and the kernel's version\n",
	       srf->exit, srf->esr, srf->far, srf->pc);
	return -ENODEV;
}

/* Round trips per measurement; the fastest of TRIES measurements counts. */
#define TRIPS	64
#define TRIES	8

/* Traps in a row: fewer than AV_TOKEN_SAMPLE. */
#define TRAPS	512

/* The code for these, and where it ends. x6 is the number of traps. */
#define TEST_TRAPS	(TEST_VA + PAGE_SIZE / 2)
#define TEST_TRAPS_END	(TEST_TRAPS + 4 * sizeof(u32))

static u64 switch_ps[2], fast_ps;

u64 av_cpu_switch_ps(bool short_way)
{
	return switch_ps[short_way];
}

/* Each trip is one abort; the last ends the stay. C does next to nothing. Interrupts are off. */
static u64 time_short(struct selftest *t)
{
	u64 begun = av_counter();

	t->answers = TRIPS;
	av_switch_again(&t->csw, t->srf);
	/* A host interrupt ended the stay early. */
	return t->answers ? ~0ULL : av_counter() - begun;
}

static u64 time_long(struct selftest *t)
{
	u64 begun = av_counter();
	unsigned int i;

	for (i = 0; i < TRIPS; i++)
		av_switch_again(&t->csw, t->srf);
	return av_counter() - begun;
}

/* After selftest_run(), with its tables; PC is at an instruction that aborts. */
static void selftest_time(struct selftest *t)
{
	u64 (*const way[])(struct selftest *t) = { time_long, time_short };
	u64 best, ps = div_u64(1000000000000ULL, read_sysreg(cntfrq_el0));
	u32 light = t->srf->light;
	unsigned int i, try;

	t->srf->pc = TEST_ABORT;
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		t->srf->light = i ? light : 0;
		best = ~0ULL;
		for (try = 0; try < TRIES; try++) {
			local_irq_disable();
			best = min(best, way[i](t));
			local_irq_enable();
		}
		switch_ps[i] = best < ~0ULL ? div_u64(best * ps, TRIPS) : 0;
	}
	t->answers = 0;
	if (!light)
		switch_ps[1] = 0;
}

u64 av_cpu_fast_ps(void)
{
	return fast_ps;
}

static u64 time_traps(struct selftest *t)
{
	struct av_srf *srf = t->srf;
	u64 begun;

	srf->pc = TEST_TRAPS;
	srf->regs[6] = TRAPS;
	srf->fast[AV_FAST_ESR_EL1] = 0;
	begun = av_counter();
	av_switch_again(&t->csw, srf);
	/* Not if a host interrupt came, or if the window completes nothing on this CPU. */
	return srf->pc == TEST_TRAPS_END && srf->fast[AV_FAST_ESR_EL1] == TRAPS ?
	       av_counter() - begun : ~0ULL;
}

/* Call after selftest_time(). Times reads of ESR_EL1 as in a copy, less one entry and exit. */
static void selftest_time_traps(struct selftest *t)
{
	u64 best = ~0ULL, ps = div_u64(1000000000000ULL, read_sysreg(cntfrq_el0)), all;
	u32 *code = t->code + (TEST_TRAPS - TEST_VA) / sizeof(u32);
	unsigned int try;

	code[0] = av_token_svc(AV_TOKEN_READ_ESR_EL1, 0);
	code[1] = 0xd10004c6;			/* sub x6, x6, #1 */
	code[2] = 0xb5ffffc6;			/* cbnz x6, -8 */
	code[3] = 0xd4000001 | TEST_SVC << 5;
	av_sync_icache_aliases((unsigned long)code, TEST_TRAPS_END - TEST_TRAPS);
	t->srf->light = 0;
	t->srf->quick = AV_QUICK_TOKENS;
	t->srf->quick_nr = AV_TOKENS;
	t->srf->in_place = 1;
	for (try = 0; try < TRIES; try++) {
		local_irq_disable();
		best = min(best, time_traps(t));
		local_irq_enable();
	}
	all = best < ~0ULL ? best * ps : 0;
	fast_ps = div_u64(all - min(all, switch_ps[0]), TRAPS);
}

int av_cpu_selftest(void)
{
	struct selftest *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int ret, i;

	if (!t)
		return -ENOMEM;
	ret = selftest_pages(t);
	if (ret)
		goto free;
	ret = av_switch_vm_init(&t->vsw);
	if (ret)
		goto free;
	ret = av_switch_vcpu_init(&t->vsw, &t->csw, t->srf, 0);
	if (!ret) {
		av_switch_set_light(&t->csw, selftest_light, t);
		selftest_map(t);
		/* Whether exits may be light can differ between CPUs. */
		preempt_disable();
		ret = selftest_run(t);
		if (!ret) {
			selftest_time(t);
			selftest_time_traps(t);
		}
		preempt_enable();
		av_switch_vcpu_destroy(&t->vsw, &t->csw, 0);
	}
	av_switch_vm_destroy(&t->vsw);
free:
	av_srf_free(t->srf);
	free_page((unsigned long)t->code);
	for (i = 0; i < 4; i++)
		free_page((unsigned long)t->tables[i]);
	for (i = 0; i < 2; i++)
		free_page((unsigned long)t->way[i]);
	kfree(t);
	return ret;
}
