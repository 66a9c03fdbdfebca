// SPDX-License-Identifier: GPL-2.0
/*
 * Linux does not use the space between its Image header and its code, so a hypervisor may use it
 * once certain instructions of the kernel trap often. These cases execute them often, and then read
 * that space, write to it, jump there, and unmap it.
 */
#include "hostile.h"
#include "kernel.h"

#define PAGE		4096UL
#define GARBAGE		2000
#define JUMPS		2000
#define OTHER_KERNEL	(KERNEL_BASE + (32UL << 20))
#define USER_CODE	(KERNEL_BASE + (16UL << 20))

#define CLASS_SVC	0x15

#define EL0		0x3c0UL

/* ---- frequent instructions ------------------------------------------------------------- */

struct values {
	u64 elr, spsr, context, readonly, thread, masks, masked;
};

static void exchange(struct values *v)
{
	u64 tcr, table0, table1, esr, far;

	asm volatile("msr elr_el1, %[elr]\n\tmsr spsr_el1, %[spsr]\n\t"
		     "msr contextidr_el1, %[context]\n\tmsr tpidrro_el0, %[readonly]\n\t"
		     "msr tpidr_el0, %[thread]\n\tmsr daifclr, #15\n\tmrs %[masks], daif\n\t"
		     "msr daifset, #3\n\tmsr daifset, #15\n\tmrs %[masked], daif\n\t"
		     "mrs %[elr], elr_el1\n\tmrs %[spsr], spsr_el1\n\t"
		     "mrs %[context], contextidr_el1\n\tmrs %[readonly], tpidrro_el0\n\t"
		     "mrs %[thread], tpidr_el0"
		     : [elr] "+&r" (v->elr), [spsr] "+&r" (v->spsr), [context] "+&r" (v->context),
		       [readonly] "+&r" (v->readonly), [thread] "+&r" (v->thread),
		       [masks] "=&r" (v->masks), [masked] "=&r" (v->masked));
	asm volatile("mrs %0, tcr_el1\n\tmrs %1, ttbr0_el1\n\tmrs %2, ttbr1_el1\n\t"
		     "mrs %3, esr_el1\n\tmrs %4, far_el1"
		     : "=r" (tcr), "=r" (table0), "=r" (table1), "=r" (esr), "=r" (far));
}

/* May be called in either half. */
void hot(unsigned int times, const char *when)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < times; i++) {
		struct values is = {
			.elr = next_random(), .spsr = next_random() & 0xf00003c0,
			.context = next_random() & 0xffffffff, .readonly = next_random(),
			.thread = next_random(),
		}, was = is;

		exchange(&is);
		wrong += is.elr != was.elr || is.spsr != was.spsr || is.context != was.context ||
			 is.readonly != was.readonly || is.thread != was.thread ||
			 is.masks || is.masked != 0x3c0;
	}
	check(!wrong, "%s: %u of %u rounds read other values than they wrote", when, wrong, times);
}

/* Number of words in the first page that are not the kernel's: 0 if the hypervisor has no annex. */
static unsigned int others_in_first_page(void)
{
	volatile u64 *words = (volatile u64 *)kernel_va(kernel_image);
	unsigned int i, others = 0;

	for (i = 8; i < 512; i++)
		others += words[i] != kernel_filler(i * 8);
	return others;
}

static void make_hot(void)
{
	unsigned int i, others = 0;

	for (i = 0; i < TURNS && !others; i++) {
		hot(ENOUGH, "at first");
		others = others_in_first_page();
	}
	result("annex.turns", i, "count");
	result("annex.others", others, "count");
}

static void in_kernel(void (*run)(unsigned int))
{
	if (kernel_init())
		kernel_run(run, 0);
}

/* ---- virtual EL0 ------------------------------------------------------------------------- */

static u64 user_page[512] __attribute__((aligned(4096)));

void user_init(void)
{
	static const u32 words[] = {
		0xf9400020, 0xd4000001,		/* ldr x0, [x1]; svc #0 */
		0xf9000020, 0xd4000001,		/* str x0, [x1]; svc #0 */
		0xd61f0020, 0xd4000001,		/* br x1; svc #0 */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		((volatile u32 *)user_page)[i] = words[i];
	*kernel_entry(USER_CODE) = kernel_pa(user_page) | PTE_PAGE | PTE_AF | PTE_INNER |
				   PTE_USER | PTE_READONLY | PTE_PXN;
	kernel_flush();
	kernel_sync_code(user_page, sizeof(words), USER_CODE);
}

struct outcome in_user(unsigned int what, u64 address)
{
	u64 pc = USER_CODE + what * 8, value;

	begin_try();
	asm volatile("adr x19, 1f\n\tmov x0, #0x6666\n\tmov x1, %1\n\t"
		     "msr elr_el1, %2\n\tmsr spsr_el1, %3\n\teret\n1:\tmov %0, x0"
		     : "=&r" (value) : "r" (address), "r" (pc), "r" (EL0)
		     : "x0", "x1", "x19", "memory");
	return end_try(value);
}

static void check_denied(const char *what, u64 address, const struct outcome *o, bool fetch)
{
	unsigned int class = fetch ? CLASS_FETCH_USER : CLASS_ACCESS_USER;

	check(o->taken && class_of(o->esr) == class && FSC_TYPE(o->esr) == FSC_PERMISSION &&
	      o->far == address && o->value == 0x6666,
	      "%s of %lx from user space: taken %u, esr %lx, far %lx, x0 %lx", what, address,
	      o->taken, o->esr, o->far, o->value);
}

static void deny_all(void)
{
	u64 at = kernel_va(kernel_image) + 0x230, end = kernel_va(kernel_image) + KERNEL_UNUSED;
	struct outcome o;

	for (; at < end; at += PAGE) {
		o = in_user(USER_READ, at);
		check_denied("a read", at, &o, false);
		o = in_user(USER_WRITE, at);
		check_denied("a write", at, &o, false);
		o = in_user(USER_JUMP, at);
		check_denied("a jump", at, &o, true);
	}
}

/* If the kernel lets user space read the area, user space reads the kernel's memory. */
static void allow_reads(void)
{
	u64 start = kernel_va(kernel_image), at;
	struct outcome o;

	for (at = start; at < start + KERNEL_UNUSED; at += PAGE)
		*kernel_entry(at) |= PTE_USER | PTE_READONLY;
	kernel_flush();
	for (at = start + 0x230; at < start + KERNEL_UNUSED; at += PAGE) {
		hot(20, "with an open area");
		o = in_user(USER_READ, at);
		check(o.taken && class_of(o.esr) == CLASS_SVC && o.value == kernel_filler(at - start),
		      "an open page at %lx: esr %lx, %lx", at, o.esr, o.value);
		o = in_user(USER_WRITE, at);
		check_denied("a write", at, &o, false);
	}
}

static void user(unsigned int cpu)
{
	(void)cpu;
	user_init();
	make_hot();
	deny_all();
	hot(ENOUGH, "after user space");
	allow_reads();
	hot(ENOUGH, "at last");
}

void case_annex_user(void)
{
	in_kernel(user);
}

/* ---- virtual EL1 -------------------------------------------------------------------------- */

/* All pages but the first have the kernel's own bytes. */
static void own_bytes(u64 start, const char *when)
{
	u64 at, wrong = 0;

	for (at = PAGE; at < KERNEL_UNUSED; at += 8)
		wrong += *(volatile u64 *)(start + at) != kernel_filler(at);
	check(!wrong, "%s: %lu words of the area are others", when, wrong);
}

static void kernel(unsigned int cpu)
{
	volatile u64 *low = (volatile u64 *)kernel_pa(kernel_image);
	u64 start = kernel_va(kernel_image), at;
	struct outcome o;

	(void)cpu;
	make_hot();
	own_bytes(start, "read");
	/* Writes reach the kernel's memory. */
	for (at = PAGE; at < KERNEL_UNUSED; at += 504) {
		*(volatile u64 *)(start + at) = at;
		check(low[at / 8] == at, "written at %lx: %lx", at, low[at / 8]);
		*(volatile u64 *)(start + at) = kernel_filler(at);
	}
	hot(ENOUGH, "after writes");
	own_bytes(start, "after writes");
	/* Code in the first page is the guest's. */
	*kernel_entry(start) &= ~PTE_PXN;
	kernel_flush();
	((volatile u32 *)low)[0x800 / 4] = 0xd65f03c0;	/* ret */
	((volatile u32 *)low)[0x804 / 4] = 0xd4200000;	/* brk #0 */
	kernel_sync_code((void *)((u64)low + 0x800), 8, start + 0x800);
	o = try_call(start + 0x800);
	check(!o.taken, "a call of the first page: esr %lx", o.esr);
	o = try_call(start + 0x804);
	check(o.taken && class_of(o.esr) == 0x3c, "a BRK in the first page: taken %u, esr %lx",
	      o.taken, o.esr);
	hot(ENOUGH, "at last");
}

void case_annex_kernel(void)
{
	in_kernel(kernel);
}

/* ---- garbage: a guest may harm itself ------------------------------------------------------- */

void leave(void)
{
	(void)read_sysreg(id_aa64mmfr0_el1);
	(void)read_sysreg(isr_el1);
	write_sysreg(cntv_ctl_el0, 0);
	isb();
}

u64 garbage(void)
{
	u64 n = next_random();

	switch (n & 3) {
	case 0:
		return -1UL;
	case 1:
		return n >> 2 & 0xffff;
	default:
		return next_random();
	}
}

static void words_back(unsigned int cpu)
{
	volatile u64 *words = (volatile u64 *)kernel_va(kernel_image);
	unsigned int i, n;
	u64 was;

	(void)cpu;
	make_hot();
	for (i = 0; i < GARBAGE; i++) {
		n = next_random() % 512;
		was = words[n];
		words[n] = garbage();
		leave();
		words[n] = was;
		leave();
	}
	result("annex.written", i, "count");
}

/* Garbage in one word after the other, each for a moment. */
void case_annex_words(void)
{
	in_kernel(words_back);
}

static void words_kept(unsigned int cpu)
{
	volatile u64 *words = (volatile u64 *)kernel_va(kernel_image);
	unsigned int i;

	(void)cpu;
	make_hot();
	for (i = 0; i < GARBAGE; i++) {
		words[next_random() % 512] = garbage();
		if (i % 8 == 0)
			leave();
		if (i % 64 == 0)
			try_read(0x7000000000UL);
	}
}

void case_annex_garbage(void)
{
	in_kernel(words_kept);
}

static void jump(unsigned int cpu)
{
	unsigned int i;

	(void)cpu;
	make_hot();
	for (i = 0; i < JUMPS; i++)
		try_call(kernel_va(kernel_image) + PAGE + next_random() % 0x1000 * 4);
}

/* Jump to words of the area, whatever they are. */
void case_annex_jump(void)
{
	in_kernel(jump);
}

/* ---- taken away ------------------------------------------------------------------------------ */

static u64 other_page[512] __attribute__((aligned(4096)));
static char other_image[2 * KERNEL_UNUSED] __attribute__((aligned(65536)));

/* Map nothing there, then another frame, then the kernel's own again. */
static void remap_page(u64 at)
{
	u64 own = *kernel_entry(at);
	struct outcome o;

	*kernel_entry(at) = 0;
	kernel_flush();
	o = try_read(at + 0x230);
	check(o.taken && FSC_TYPE(o.esr) == FSC_TRANSLATION, "unmapped at %lx: taken %u, esr %lx",
	      at, o.taken, o.esr);
	hot(ENOUGH / 8, "unmapped");
	*kernel_entry(at) = kernel_pa(other_page) | KERNEL_PAGE;
	kernel_flush();
	o = try_read(at + 0x230);
	check(!o.taken && o.value == 0x77777, "another page at %lx: esr %lx, %lx", at, o.esr,
	      o.value);
	hot(ENOUGH / 8, "with another page");
	*kernel_entry(at) = 0;
	kernel_flush();
	*kernel_entry(at) = own;
	kernel_flush();
	hot(ENOUGH / 8, "with the own page");
}

static void remap_first(unsigned int cpu)
{
	(void)cpu;
	other_page[0x230 / 8] = 0x77777;
	make_hot();
	remap_page(kernel_va(kernel_image));
}

static void remap_others(unsigned int cpu)
{
	u64 start = kernel_va(kernel_image), at;

	(void)cpu;
	other_page[0x230 / 8] = 0x77777;
	make_hot();
	for (at = start + PAGE; at < start + KERNEL_UNUSED; at += PAGE)
		remap_page(at);
	own_bytes(start, "at last");
}

void case_annex_remap_first(void)
{
	in_kernel(remap_first);
}

void case_annex_remap(void)
{
	in_kernel(remap_others);
}

/* The same header and vectors elsewhere: another kernel. */
static void make_other_kernel(void)
{
	/* A copy of the vectors could not reach the library, so these branch to themselves. */
	u64 *to = (u64 *)kernel_pa(other_image);
	const u64 *from = (const u64 *)kernel_pa(kernel_image);
	unsigned int i;
	u64 at;

	for (i = 0; i < KERNEL_UNUSED / 8; i++)
		to[i] = from[i];
	for (; i < 2 * KERNEL_UNUSED / 8; i++)
		to[i] = 0x1400000014000000UL;
	for (at = 0; at < 2 * KERNEL_UNUSED; at += PAGE)
		*kernel_entry(OTHER_KERNEL + at) = (kernel_pa(other_image) + at) | KERNEL_PAGE |
						   (at < KERNEL_UNUSED ? PTE_PXN : 0);
	kernel_flush();
}

static void move(unsigned int cpu)
{
	u64 start = kernel_va(kernel_image), at;
	unsigned int i;

	(void)cpu;
	make_other_kernel();
	make_hot();
	for (i = 0; i < 12; i++) {
		write_sysreg(vbar_el1, i & 1 ? OTHER_KERNEL + KERNEL_UNUSED :
			     kernel_va(kernel_vectors));
		isb();
		hot(ENOUGH / 2, "in one kernel or the other");
		own_bytes(start, "the first kernel");
		own_bytes(OTHER_KERNEL, "the other kernel");
		for (at = start; at < start + KERNEL_UNUSED; at += PAGE)
			*kernel_entry(at) ^= 1;
		kernel_flush();
		hot(ENOUGH / 2, "with the first one's area changed");
		for (at = start; at < start + KERNEL_UNUSED; at += PAGE)
			*kernel_entry(at) ^= 1;
		kernel_flush();
	}
}

void case_annex_move(void)
{
	in_kernel(move);
}

static void once_more(unsigned int cpu)
{
	(void)cpu;
	hot(ENOUGH, "in the upper half");
}

/* With the MMU off: uses registers only, no memory. */
static void off(void)
{
	u64 n = ENOUGH, wrong = 0, is, was;

	asm volatile("dsb sy\n\tmsr sctlr_el1, %[off]\n\tisb\n"
		     "1:\tmul %[was], %[n], %[n]\n\tmsr tpidr_el0, %[was]\n\tmsr elr_el1, %[n]\n\t"
		     "mrs %[is], tpidr_el0\n\tcmp %[is], %[was]\n\tcinc %[wrong], %[wrong], ne\n\t"
		     "mrs %[is], elr_el1\n\tcmp %[is], %[n]\n\tcinc %[wrong], %[wrong], ne\n\t"
		     "subs %[n], %[n], #1\n\tb.ne 1b\n\t"
		     "msr sctlr_el1, %[on]\n\tisb"
		     : [n] "+&r" (n), [wrong] "+&r" (wrong), [is] "=&r" (is), [was] "=&r" (was)
		     : [off] "r" (SCTLR_MMU_ON & ~(SCTLR_M | SCTLR_C)), [on] "r" (SCTLR_MMU_ON)
		     : "memory", "cc");
	check(!wrong, "%lu of other values with the MMU off", wrong);
}

void case_annex_off(void)
{
	unsigned int i;

	if (!kernel_init())
		return;
	for (i = 0; i < 4; i++) {
		kernel_run(once_more, 0);
		hot(ENOUGH / 4, "in the lower half");
		off();
	}
}
