// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/*
 * What this core does at EL0 with A32 instructions that only PL1 has: takes an exception, does
 * nothing, or does them. The architecture leaves it open for some, and 32-bit guests depend on it.
 * A program without a library, for 32-bit Arm; prints run.sh's facts.
 */
#define SIGILL 4
#define SIGBUS 7
#define SIGSEGV 11
#define SA_SIGINFO 4UL
#define SA_NODEFER 0x40000000UL
#define SA_RESTORER 0x04000000UL
/* Words of struct ucontext: the registers begin at 8. */
#define UCONTEXT_PC (8 + 15)

enum { SYS_EXIT = 1, SYS_WRITE = 4, SYS_SIGACTION = 174 };

static long call(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	register long r7 asm("r7") = number;
	register unsigned long r0 asm("r0") = a, r1 asm("r1") = b, r2 asm("r2") = c, r3 asm("r3") = d;

	asm volatile("svc #0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3) : "memory");
	return (long)r0;
}

static void print(const char *text)
{
	unsigned long n = 0;

	while (text[n])
		n++;
	call(SYS_WRITE, 1, (unsigned long)text, n, 0);
}

static volatile unsigned long taken;

/* Skip the instruction. */
static void on_signal(int number, void *info, unsigned long *context)
{
	(void)info;
	taken = (unsigned long)number;
	context[UCONTEXT_PC] += 4;
}

void restorer(void);
asm(".text\nrestorer:\n	mov r7, #173\n	svc #0\n");

static void catch_signal(unsigned long number)
{
	const unsigned long action[] = {
		(unsigned long)on_signal, SA_SIGINFO | SA_NODEFER | SA_RESTORER,
		(unsigned long)restorer, 0, 0,
	};

	call(SYS_SIGACTION, number, (unsigned long)action, 0, 8);
}

static volatile unsigned long loads[4], returns[4];

struct seen {
	unsigned long value, came_by, psr;
};

/*
 * In: LR and the second word at r6 are the address after the probe, the first word at r6 is 0x5eed;
 * at r9 are that address and a CPSR. r5 is 0. r7 stays 0 if the instruction branches.
 */
#define PROBE(name, insn)						\
	static __attribute__((noinline)) void name(struct seen *seen)	\
	{								\
		register unsigned long value asm("r5") = 0;			\
		register unsigned long came_by asm("r7") = 0;			\
		register volatile unsigned long *l asm("r6") = loads;		\
		register volatile unsigned long *r asm("r9") = returns;		\
									\
		loads[0] = 0x5eed;					\
		returns[1] = 0x10;					\
		asm volatile("	mov	r8, sp\n"			\
			     "	adr	lr, 2f\n"			\
			     "	str	lr, [r6, #4]\n"			\
			     "	str	lr, [r9]\n"			\
			     insn "\n"					\
			     "	mov	r7, #1\n"			\
			     "2:	mov	sp, r8\n"		\
			     : "+r"(value), "+r"(came_by), "+r"(l), "+r"(r)	\
			     : : "r8", "r10", "lr", "cc", "memory");	\
		asm volatile("mrs %0, cpsr" : "=r"(seen->psr));		\
		seen->value = value;					\
		seen->came_by = came_by;				\
	}

PROBE(cps, ".inst 0xf10c0080")			/* cpsid i */
PROBE(msr_mode, ".inst 0xe321f093")		/* msr cpsr_c, #0x93 */
PROBE(mrs_spsr, ".inst 0xe14f5000")		/* mrs r5, spsr */
PROBE(msr_spsr, ".inst 0xe169f005")		/* msr spsr_fc, r5 */
PROBE(srs, ".inst 0xf96d0513")			/* srsdb sp!, #19 */
PROBE(rfe, ".inst 0xf8990a00")			/* rfeia r9 */
PROBE(ldm_user, ".inst 0xe8d60020")		/* ldmia r6, {r5}^ */
PROBE(stm_user, ".inst 0xe8c60020")		/* stmia r6, {r5}^ */
PROBE(ldm_pc, ".inst 0xe8d68020")		/* ldmia r6, {r5, pc}^ */
PROBE(movs_pc, ".inst 0xe1b0f00e")		/* movs pc, lr */
PROBE(subs_pc, ".inst 0xe25ef000")		/* subs pc, lr, #0 */
PROBE(adds_pc, ".inst 0xe29ef000")		/* adds pc, lr, #0 */
PROBE(eret, ".inst 0xe160006e")
PROBE(mrs_banked, ".inst 0xe1035300")		/* mrs r5, sp_svc */
PROBE(hvc, ".inst 0xe1400070")
PROBE(read_midr, ".inst 0xee105f10")		/* mrc p15, 0, r5, c0, c0, 0 */
PROBE(read_pmuserenr, ".inst 0xee195f1e")	/* mrc p15, 0, r5, c9, c14, 0 */
PROBE(read_dbgdidr, ".inst 0xee105e10")		/* mrc p14, 0, r5, c0, c0, 0 */
PROBE(write_tpidruro, ".inst 0xee0d5f70")	/* mcr p15, 0, r5, c13, c0, 3 */
PROBE(cp15_barrier, ".inst 0xee075fba")		/* mcr p15, 0, r5, c7, c10, 5 */
PROBE(setend, ".inst 0xf1010000")		/* setend le */

static const struct {
	const char *name;
	void (*probe)(struct seen *seen);
} probes[] = {
	{ "cps", cps }, { "msr-mode", msr_mode }, { "mrs-spsr", mrs_spsr },
	{ "msr-spsr", msr_spsr }, { "srs", srs }, { "rfe", rfe }, { "ldm-user", ldm_user },
	{ "stm-user", stm_user }, { "ldm-pc", ldm_pc }, { "movs-pc", movs_pc },
	{ "subs-pc", subs_pc }, { "adds-pc", adds_pc }, { "eret", eret },
	{ "mrs-banked", mrs_banked }, { "hvc", hvc }, { "read-midr", read_midr },
	{ "read-pmuserenr", read_pmuserenr }, { "read-dbgdidr", read_dbgdidr },
	{ "write-tpidruro", write_tpidruro }, { "cp15-barrier", cp15_barrier },
	{ "setend", setend },
};

static void tell(const char *name, const struct seen *seen)
{
	print("check a32-");
	print(name);
	if (taken == SIGILL)
		print(" seen undefined: SIGILL\n");
	else if (taken)
		print(" seen another signal\n");
	else if (!seen->came_by)
		print(" seen it branches\n");
	else if (seen->value || loads[0] != 0x5eed)
		print(" seen it reads or writes\n");
	else if ((seen->psr & 0xff) != 0x10)
		print(" seen the mode or a mask changes\n");
	else
		print(" seen nothing happens\n");
}

void start(void)
{
	struct seen seen;
	unsigned long i;

	catch_signal(SIGILL);
	catch_signal(SIGBUS);
	catch_signal(SIGSEGV);
	for (i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		taken = 0;
		probes[i].probe(&seen);
		tell(probes[i].name, &seen);
	}
	call(SYS_EXIT, 0, 0, 0, 0);
}
