/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sequences of the instructions that kernels use most. Each runs thousands of times in the upper
 * half, with given values in all registers and an interrupt at any place. A model must predict
 * registers, masks, memory and the interrupt's PC exactly.
 *
 * So the guest tests a hypervisor that replaces instructions that trap often.
 */
#ifndef GUESTS_ANNEX_H
#define GUESTS_ANNEX_H

/* Offsets in struct state, for run.S. */
#define STATE_SP	248
#define STATE_NZCV	256
#define STATE_SYS	264	/* ELR SPSR CONTEXTIDR TPIDRRO TPIDR */
#define STATE_IRQ_X	352
#define STATE_IRQ_ELR	368
#define STATE_IRQ_COUNT	384
#define STATE_CALLER	400

#define DAIF_I		0x80
#define DAIF_ALL	0x3c0

#ifndef __ASSEMBLER__
#include "kernel.h"

/* System registers; the first are those that sequences write. */
enum reg {
	REG_ELR, REG_SPSR, REG_CONTEXTIDR, REG_TPIDRRO, REG_TPIDR,
	REG_ESR, REG_FAR, REG_TCR, REG_TTBR0, REG_TTBR1, REG_TPIDR_EL1,
	NR_REGS,
	REG_DAIF = NR_REGS,
};
#define NR_WRITTEN (REG_TPIDR + 1)

/* The state of a CPU before a sequence, and after it. */
struct state {
	u64 x[31];
	u64 sp;
	u64 nzcv;
	u64 sys[NR_REGS];
	u64 irq_x[2];
	u64 irq_elr, irq_spsr;
	u64 irq_count, irq_id;
	u64 caller[13];
};

/* Run the code at x17, until it branches to annex_end. TPIDR_EL1 is the state. */
void annex_run(struct state *state);
extern char annex_end[];

enum kind {
	OP_MRS, OP_MSR, OP_DAIFSET, OP_DAIFCLR,
	/* instructions that overwrite a register, or nearly do */
	OP_MOVZ, OP_MOV, OP_ADD, OP_SUBS, OP_LDR,
	OP_SLOT,	/* a NOP, or a branch to the next instruction */
};

struct op {
	u8 kind, reg;
	u8 d, n;
	u32 imm;
};

#define MAX_OPS		28
#define SLOT_WORDS	32	/* of a sequence in its page */
struct sequence {
	struct op op[MAX_OPS];
	unsigned int nr;
	u64 va;
	u32 *words;	/* the address that it is written to */
};

/* Registers that no sequence overwrites: of 32 bits, and values for SPSR. */
#define KEPT_FIRST	20
#define KEPT_SMALL	22
#define KEPT_LAST	24

/* sequence.c */
u64 next_random(u64 *seed);
void sequence_make(struct sequence *sequence, u64 *seed);
void sequence_write(const struct sequence *sequence);
/* Turn the NOP into a branch or back, as a kernel does under other CPUs. */
void sequence_flip(const struct sequence *sequence);

/* Below and above SP: the part of the stack that a sequence may see. */
#define STACK_WORDS	1024
#define BELOW_WORDS	64

enum wrong {
	RIGHT,
	WRONG_IRQ_PLACE,	/* PC is at no instruction of the sequence */
	WRONG_IRQ_MASKED,
	WRONG_IRQ_LATE,
	WRONG_IRQ_COUNT,
	WRONG_SPSR,
	WRONG_X,
	WRONG_SP,
	WRONG_NZCV,
	WRONG_SYS,
	WRONG_STACK,
	NR_WRONG,
};

struct finding {
	enum wrong what;
	unsigned int at;	/* place, register or word */
	u64 is, should;
};

/*
 * model.c: run the sequence from before, and compare with after. pending: an interrupt was
 * pending at the start, so it must be taken as soon as it is unmasked.
 */
struct finding model_compare(const struct sequence *sequence, const struct state *before,
			     const struct state *after, const u64 *stack, bool pending);
#endif
#endif
