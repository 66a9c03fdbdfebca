// SPDX-License-Identifier: GPL-2.0
/*
 * A long random sequence of all operations on a vGIC. After each step the candidate bitmaps and the
 * output lines must match the state of the interrupts.
 */
#include <stdlib.h>

#include "check.h"
#include "vgic_world.h"

static bool summed_up(const struct av_vgic_queue *queue)
{
	u32 level, word;

	for (level = 0; level < AV_VGIC_LEVELS; level++) {
		for (word = 0; word < AV_VGIC_MAX_IRQS / 32; word++)
			if ((queue->words[level] >> word & 1) != !!queue->bits[level][word])
				return false;
		if ((queue->levels >> level & 1) != !!queue->words[level])
			return false;
	}
	return true;
}

/* In how many places of the queues is it? */
static unsigned int places(const struct av_vgic_queue queue[2], u32 intid)
{
	unsigned int n = 0;
	u32 level;

	for (level = 0; level < AV_VGIC_LEVELS; level++)
		n += (queue[0].bits[level][intid / 32] >> (intid % 32) & 1) +
		     (queue[1].bits[level][intid / 32] >> (intid % 32) & 1);
	return n;
}

/* The best one, from the interrupts' own state. */
static u32 slow_highest(struct av_vgic_cpu *cpu)
{
	u32 intid, best = 1023;
	int priority = 256;

	for (intid = 0; vgic.enabled && intid < 32 + NR_SPIS; intid++) {
		const struct av_virq *irq = av_vgic_irq(&vgic, cpu, intid);

		if ((intid >= 32 && irq->target != (s16)cpu->index) || !irq->enabled ||
		    irq->active || !(irq->latch || (irq->level && irq->line)) ||
		    !(irq->group1 ? cpu->grpen1 : cpu->grpen0) || irq->priority >= priority)
			continue;
		priority = irq->priority;
		best = intid;
	}
	return best;
}

/* Everything derived must follow from the interrupts' own state. */
static bool consistent(void)
{
	unsigned int c;
	u32 intid;

	for (c = 0; c < 2; c++) {
		const struct av_vgic_queue *queue = cpus[c].queue;

		if (!summed_up(&queue[0]) || !summed_up(&queue[1]))
			return false;
		for (intid = 0; intid < 32 + NR_SPIS; intid++) {
			const struct av_virq *irq = av_vgic_irq(&vgic, &cpus[c], intid);
			bool mine = intid < 32 || irq->target == (s16)c;
			bool want = mine && irq->enabled && !irq->active &&
				    (irq->latch || (irq->level && irq->line));

			/* In one place at most: the one that its state says. */
			if (mine && irq->queued != want)
				return false;
			if (places(queue, intid) != want)
				return false;
			if (want && !(queue[irq->group1].bits[irq->priority >> 3][intid / 32] >>
				      (intid % 32) & 1))
				return false;
		}
		if (av_vgic_highest(&vgic, &cpus[c]) != slow_highest(&cpus[c]))
			return false;
		if (cpus[c].out != av_vgic_output(&vgic, &cpus[c]))
			return false;
	}
	return true;
}

static void random_step(void)
{
	static const u32 regs[] = {
		PMR, IAR0, EOIR0, BPR0, AP0R0, AP1R0, DIR, RPR, SGI1R, SGI0R, IAR1, EOIR1,
		HPPIR1, BPR1, CTLR, SRE, GRPEN0, GRPEN1,
	};
	struct av_vgic_io io = io_at(rand() & 1, 0, 4, !(rand() & 7));
	u64 val = (u64)rand() << 32 ^ (u64)rand() << 8 ^ (u64)rand();

	switch (rand() % 6) {
	case 0:
		av_vgic_inject(&vgic, io.cpu, rand() % (32 + NR_SPIS), val & 1, val & 2);
		break;
	case 1:
		if (rand() & 1)
			val %= 32 + NR_SPIS;
		av_vgic_icc(&vgic, io.cpu, regs[rand() % ARRAY_SIZE(regs)], rand() & 1, &val);
		break;
	case 2:
		io.offset = (u32)rand() % 0xe00 & ~3u;
		av_vgic_dist_write(&io, val);
		break;
	case 3:
		io.offset = SGI_BASE + ((u32)rand() % 0xe00 & ~3u);
		av_vgic_redist_write(&io, val);
		break;
	case 4:
		io.offset = 0x6000 + (32 + (u32)rand() % NR_SPIS) * 8;
		av_vgic_dist_write(&io, val & 3);
		break;
	default:
		icc_set((int)io.cpu->index, rand() & 1 ? EOIR1 : GRPEN1, rand() & 1);
		break;
	}
}

static void random_sequences(void)
{
	int i;

	srand(1);
	boot();
	for (i = 0; i < 200000; i++) {
		random_step();
		if (!consistent()) {
			CHECK(!"consistent after each step");
			return;
		}
	}
	CHECK(i == 200000);
}

int main(void)
{
	RUN(random_sequences);
	return TESTS_DONE();
}
