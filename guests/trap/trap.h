/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trap tests: the effect of each sensitive instruction and exception, as a text that must be
 * the same on KVM and on any other hypervisor of the same machine.
 *
 * A test is a few instructions at K_CODE (EL1) or U_CODE (EL0), run with known registers
 * until they reach their end or take an exception. It prints one line:
 *
 *	trap NAME MODE: EVENT; EVENT; … x0=… sp=…
 *
 * An event is an exception, with the vector it came through, ESR, the offset of ELR into the code,
 * SPSR, and FAR where the architecture defines it; or "end", with PSTATE. Then come the registers
 * that differ from their initial values. The output does not depend on the image's address in RAM,
 * on time, or on chance.
 *
 * A test whose result depends on a feature carries the feature and its level: "trap NAME?pan=1".
 * Two runs are compared by name: lines with the same name must be the same; a name with a feature
 * may be in one of them only, another name must be in both.
 */
#ifndef GUESTS_TRAP_H
#define GUESTS_TRAP_H

#include "arena.h"
#include "probe.h"

#define EL1H 1
#define EL1T 2
#define EL0 4
#define EL1 3
#define ALL 7

/* Flags of a test. */
#define SKIP 1		/* continue after an instruction that took an exception */
#define NO_ESR 2	/* the implementation chooses the syndrome */
#define INTERRUPTS 4	/* IRQs are not masked */
#define NO_X0 8		/* the implementation chooses the value in x0 */
#define PAR 16		/* x1 holds PAR_EL1: print it without the physical address */

/* Optional features; numbers for the assembler. */
#define FEATURE_PAN		1
#define FEATURE_UAO		2
#define FEATURE_LSE		3
#define FEATURE_RAS		4
#define FEATURE_SSBS		5
#define FEATURE_DIT		6
#define FEATURE_PAUTH		7
#define FEATURE_BTI		8
#define FEATURE_DPB		9
#define FEATURE_TLBIRANGE	10
#define FEATURE_AA32		11
#define FEATURE_LRCPC		12
#define FEATURE_FLAGM		13
#define FEATURE_AA32_EL1	14
#define FEATURE_HPDS		15
#define FEATURE_COUNT	16

/* Runs at EL1 before the test: may change registers, tables and the test's initial registers. */
typedef void (*trap_setup)(struct probe_state *state);

/* As the assembler lays it out: each address is relative to its field. */
struct trap_test {
	s32 name;
	s32 code;
	s32 setup;
	u32 size;
	u32 modes;
	u32 flags;
	u32 feature;
	u32 reserved;
};

#define STRING_(x) #x
#define STRING(x) STRING_(x)

#define END_IMMEDIATE 0xe0d
#define END "\n\tbrk #0xe0d\n"

/*
 * A row, made by the assembler, because C cannot put instructions into a field of a table.
 * `setup_symbol` is the name of a function marked __used, or "." for none; numbers are plain.
 */
#define TRAP_ROW(name, modes, flags, feature, setup_symbol, text)		\
	asm(".pushsection .snippets, \"a\"\n\t.balign 4\n771:\n\t"		\
	    text END "\t.ltorg\n772:\n\t.popsection\n\t"			\
	    ".pushsection .rodata.names, \"a\"\n773:\t.asciz \"" name "\"\n\t"	\
	    ".popsection\n\t"							\
	    ".pushsection .tests, \"a\"\n\t.balign 4\n\t"			\
	    ".word 773b - ., 771b - ., " setup_symbol " - ., 772b - 771b\n\t"	\
	    ".word " STRING(modes) ", " STRING(flags) ", " STRING(feature) ", 0\n\t" \
	    ".popsection")

#define TRAP(name, modes, text) TRAP_ROW(name, modes, 0, 0, ".", text)
#define TRAP_F(name, modes, flags, text) TRAP_ROW(name, modes, flags, 0, ".", text)
#define TRAP_SETUP(name, modes, flags, setup, text) \
	TRAP_ROW(name, modes, flags, 0, #setup, text)
#define TRAP_IF(name, modes, feature, text) TRAP_ROW(name, modes, 0, feature, ".", text)

#define SETUP static void __attribute__((used))

/* A 64-bit number into a register; only mov, so that no literal pool is needed. */
#define IMM(reg, value)								\
	"movz " reg ", #((" STRING(value) ") & 0xffff)\n\t"			\
	"movk " reg ", #((" STRING(value) ") >> 16 & 0xffff), lsl #16\n\t"	\
	"movk " reg ", #((" STRING(value) ") >> 32 & 0xffff), lsl #32\n\t"	\
	"movk " reg ", #((" STRING(value) ") >> 48 & 0xffff), lsl #48\n\t"

/*
 * report.c: one line at a time, hashed when it ends, and printed: to the disk if there
 * is one, because each character of a serial port is an exit.
 */
void report_open(void);
void report_close(void);
void line_add(const char *text, ...) __attribute__((format(printf, 1, 2)));
void line_end(void);
u64 line_count(void);
u64 line_hash(void);
const char *feature_name(unsigned int feature);
unsigned int feature_level(unsigned int feature);

/* runner.c */
const char *mode_name(unsigned int mode);
u64 code_base(unsigned int mode);
/* Registers as every test starts with them. */
void default_state(struct probe_state *state, unsigned int mode);
/* Adds the event to the line; false if it was the end of the code. */
bool describe_event(const struct probe_state *state, unsigned int mode, unsigned int flags);
void describe_registers(const struct probe_state *before, const struct probe_state *after,
			unsigned int flags);
void run_table(void);

/* registers.c, sweep.c, interrupts.c */
void run_registers(void);
void run_sweep(void);
void run_interrupts(void);

#endif
