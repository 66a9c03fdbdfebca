// SPDX-License-Identifier: GPL-2.0
/* A model of a sequence by the architecture: registers, flags, masks, and the interrupt. */
#include "annex.h"

#define NO_PLACE	-1
#define EL1H		5
/* Of SPSR: flags, masks and the mode. */
#define SPSR_KNOWN	0xf00003dfUL

struct model {
	u64 x[32];	/* the last one is XZR */
	u64 nzcv, daif;
	u64 sys[NR_REGS];
	const u64 *stack;
};

static void subtract(struct model *m, const struct op *op)
{
	u64 a = m->x[op->n], b = op->imm, result = a - b;

	m->nzcv = (result >> 63) << 31 | (u64)!result << 30 | (u64)(a >= b) << 29 |
		  ((a ^ b) & (a ^ result)) >> 63 << 28;
	m->x[op->d] = result;
}

static void step(struct model *m, const struct op *op)
{
	u64 *d = &m->x[op->d], n = m->x[op->n];

	switch (op->kind) {
	case OP_MRS:
		*d = op->reg == REG_DAIF ? m->daif : m->sys[op->reg];
		break;
	case OP_MSR:
		if (op->reg == REG_DAIF)
			m->daif = n & DAIF_ALL;
		else
			m->sys[op->reg] = n;
		break;
	case OP_DAIFSET:
		m->daif |= op->imm << 6;
		break;
	case OP_DAIFCLR:
		m->daif &= ~(u64)(op->imm << 6);
		break;
	case OP_MOVZ:
		*d = op->imm;
		break;
	case OP_MOV:
		*d = n;
		break;
	case OP_ADD:
		*d = n + op->imm;
		break;
	case OP_SUBS:
		subtract(m, op);
		break;
	case OP_LDR:
		*d = m->stack[op->imm];
		break;
	}
	m->x[31] = 0;
}

/* How many instructions were done when the interrupt came. The last one is a branch. */
static int place_of(const struct sequence *sequence, u64 elr)
{
	u64 words = (elr - sequence->va) / 4;

	if (elr == kernel_va(annex_end))
		return sequence->nr + 1;
	return words <= sequence->nr && !(elr & 3) ? (int)words : NO_PLACE;
}

static struct finding found(enum wrong what, unsigned int at, u64 is, u64 should)
{
	return (struct finding){ what, at, is, should };
}

/* The interrupt was taken after `at` instructions: may that be, and are its registers right? */
static struct finding interrupt(struct model *m, const struct state *after, unsigned int at)
{
	u64 spsr = m->nzcv | m->daif | EL1H;

	if (m->daif & DAIF_I)
		return found(WRONG_IRQ_MASKED, at, after->irq_elr, m->daif);
	if ((after->irq_spsr & SPSR_KNOWN) != spsr)
		return found(WRONG_SPSR, at, after->irq_spsr, spsr);
	m->sys[REG_ELR] = after->irq_elr;
	m->sys[REG_SPSR] = after->irq_spsr;
	return found(RIGHT, 0, 0, 0);
}

static struct finding run(struct model *m, const struct sequence *sequence,
			  const struct state *after, bool pending)
{
	int place = after->irq_count ? place_of(sequence, after->irq_elr) : NO_PLACE;
	struct finding f;
	unsigned int i;

	if (after->irq_count > 1 || (after->irq_count && after->irq_id != machine.virtual_timer_irq))
		return found(WRONG_IRQ_COUNT, after->irq_count, after->irq_id, machine.virtual_timer_irq);
	if (after->irq_count && place == NO_PLACE)
		return found(WRONG_IRQ_PLACE, 0, after->irq_elr, sequence->va);
	for (i = 0; i <= sequence->nr + 1; i++) {
		if ((int)i == place) {
			f = interrupt(m, after, i);
			if (f.what)
				return f;
			pending = false;
		} else if (pending && !(m->daif & DAIF_I)) {
			return found(WRONG_IRQ_LATE, i, after->irq_elr, sequence->va + i * 4);
		}
		if (i < sequence->nr)
			step(m, &sequence->op[i]);
	}
	return found(RIGHT, 0, 0, 0);
}

static struct finding compare(const struct model *m, const struct state *before,
			      const struct state *after)
{
	unsigned int i;

	for (i = 0; i < 31; i++)
		if (after->x[i] != m->x[i])
			return found(WRONG_X, i, after->x[i], m->x[i]);
	for (i = 0; i < NR_WRITTEN; i++)
		if (after->sys[i] != m->sys[i])
			return found(WRONG_SYS, i, after->sys[i], m->sys[i]);
	if (after->nzcv != m->nzcv)
		return found(WRONG_NZCV, 0, after->nzcv, m->nzcv);
	if (after->sp != before->sp)
		return found(WRONG_SP, 0, after->sp, before->sp);
	return found(RIGHT, 0, 0, 0);
}

struct finding model_compare(const struct sequence *sequence, const struct state *before,
			     const struct state *after, const u64 *stack, bool pending)
{
	struct model m = { .nzcv = before->nzcv, .daif = DAIF_ALL, .stack = stack };
	struct finding f;
	unsigned int i;

	for (i = 0; i < 31; i++)
		m.x[i] = before->x[i];
	for (i = 0; i < NR_REGS; i++)
		m.sys[i] = before->sys[i];
	f = run(&m, sequence, after, pending);
	return f.what ? f : compare(&m, before, after);
}
