// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC's interrupts: state, routing, input lines, SGIs. Pure; rules in
 * vgic.h.
 */
#include "irq/lpi.h"

void av_vgic_cpu_init(struct av_vgic_cpu *cpu, u32 id)
{
	unsigned int i;

	memset(cpu, 0, sizeof(*cpu));
	cpu->id = id;
	cpu->mpidr = av_vgic_affinity(id);
	cpu->bpr0 = 7 - AV_VGIC_PRI_BITS;
	cpu->bpr1 = 8 - AV_VGIC_PRI_BITS;
	cpu->lease = AV_VGIC_NO_LEASE;
	for (i = 0; i < AV_VGIC_LEVELS; i++)
		av_list_init(&cpu->lpis[i]);
	for (i = 0; i < AV_VGIC_PRIVATE; i++) {
		struct av_virq *irq = &cpu->private[i];

		irq->group1 = true;
		irq->enabled = i < AV_VGIC_SGIS;
		irq->level = i >= AV_VGIC_SGIS;
		irq->mpidr = cpu->mpidr;
	}
}

void av_vgic_add_cpu(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	unsigned int i;

	cpu->index = vgic->nr_cpus;
	for (i = 0; i < AV_VGIC_PRIVATE; i++)
		cpu->private[i].target = (s16)cpu->index;
	vgic->cpus[vgic->nr_cpus++] = cpu;
}

void av_vgic_init(struct av_vgic *vgic, struct av_virq *spis)
{
	unsigned int i;

	/* At reset an SPI is routed to the first vCPU, whatever that vCPU's id. */
	for (i = 0; i < vgic->nr_spis; i++) {
		spis[i].group1 = true;
		spis[i].target = vgic->nr_cpus ? 0 : -1;
	}
	for (i = 0; i < vgic->nr_cpus; i++)
		vgic->cpus[i]->pendbaser = AV_LPI_BASE_RESET;
	vgic->spis = spis;
	if (!vgic->revision)
		vgic->revision = AV_VGIC_REV_3;
	vgic->initialized = true;
}

struct av_virq *av_vgic_irq(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid)
{
	if (intid < AV_VGIC_PRIVATE)
		return cpu ? &cpu->private[array_index_nospec(intid, AV_VGIC_PRIVATE)] : NULL;
	if (intid >= AV_LPI_MIN) {
		struct av_lpi *lpi = av_lpi_find(vgic, intid);

		return lpi ? &lpi->irq : NULL;
	}
	if (!vgic->initialized || intid >= av_vgic_nr_irqs(vgic))
		return NULL;
	return &vgic->spis[array_index_nospec(intid - AV_VGIC_PRIVATE, vgic->nr_spis)];
}

struct av_vgic_cpu *av_vgic_cpu_by_id(const struct av_vgic *vgic, u32 id)
{
	unsigned int i;

	/* Most VMMs number their vCPUs from 0. */
	if (id < vgic->nr_cpus) {
		i = array_index_nospec(id, vgic->nr_cpus);
		if (vgic->cpus[i]->id == id)
			return vgic->cpus[i];
	}
	for (i = 0; i < vgic->nr_cpus; i++)
		if (vgic->cpus[i]->id == id)
			return vgic->cpus[i];
	return NULL;
}

struct av_vgic_cpu *av_vgic_cpu_by_mpidr(struct av_vgic *vgic, u32 mpidr)
{
	u32 id = (mpidr & 0xf) | (mpidr >> 8 & 0xff) << 4 | (mpidr >> 16 & 0xff) << 12;
	struct av_vgic_cpu *cpu = av_vgic_cpu_by_id(vgic, id);
	unsigned int i;

	if (cpu && READ_ONCE(cpu->mpidr) == mpidr)
		return cpu;
	/* The VMM gave it to another vCPU. */
	for (i = 0; i < vgic->nr_cpus; i++)
		if (READ_ONCE(vgic->cpus[i]->mpidr) == mpidr)
			return vgic->cpus[i];
	return NULL;
}

static __always_inline void update_cpu(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	u8 old = cpu->out, out;

	/* Often nothing is left. */
	if (cpu->queue[0].levels | cpu->queue[1].levels | cpu->lpi_levels)
		out = av_vgic_output(vgic, cpu);
	else
		out = av_vgic_output_idle(cpu);
	if (out == old)
		return;
	WRITE_ONCE(cpu->out, out);
	if (out & ~old)
		vgic->ops->kick(vgic, cpu);
}

void av_vgic_update_cpu(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	update_cpu(vgic, cpu);
}

/* Release the lock for a moment after each AV_VGIC_BATCH vCPUs; @i is the last one's index. */
static void pause_after(struct av_vgic *vgic, unsigned int i)
{
	if (i % AV_VGIC_BATCH != AV_VGIC_BATCH - 1)
		return;
	vgic->ops->unlock(vgic);
	vgic->ops->rest(vgic);
	vgic->ops->lock(vgic);
}

void av_vgic_update_all(struct av_vgic *vgic)
{
	unsigned int i;

	for (i = 0; i < vgic->nr_cpus; i++) {
		av_vgic_update_cpu(vgic, vgic->cpus[i]);
		pause_after(vgic, i);
	}
}

/* ---- candidates ------------------------------------------------------------- */

/* Bounded even if the CPU speculates past the check of @intid. */
static u32 word_of(u32 intid)
{
	return intid / 32 % (AV_VGIC_MAX_IRQS / 32);
}

static __always_inline void dequeue(struct av_vgic_cpu *cpu, struct av_virq *irq, u32 intid)
{
	struct av_vgic_queue *queue = &cpu->queue[irq->queued_group1];
	u8 level = irq->queued_level;
	u32 word = word_of(intid);

	if (!irq->queued)
		return;
	irq->queued = false;
	queue->bits[level][word] &= ~(1U << (intid % 32));
	if (queue->bits[level][word])
		return;
	queue->words[level] &= ~(1U << word);
	if (!queue->words[level])
		queue->levels &= ~(1U << level);
}

static void enqueue(struct av_vgic_cpu *cpu, struct av_virq *irq, u32 intid)
{
	struct av_vgic_queue *queue = &cpu->queue[irq->group1];
	u8 level = av_virq_level(irq);
	u32 word = word_of(intid);

	irq->queued = true;
	irq->queued_group1 = irq->group1;
	irq->queued_level = level;
	queue->bits[level][word] |= 1U << (intid % 32);
	queue->words[level] |= 1U << word;
	queue->levels |= 1U << level;
}

static struct av_vgic_cpu *target_of(struct av_vgic *vgic, struct av_vgic_cpu *cpu,
				     struct av_virq *irq, u32 intid)
{
	return intid < AV_VGIC_PRIVATE ? cpu : av_virq_target(vgic, irq);
}

void av_virq_changed(struct av_vgic *vgic, struct av_vgic_cpu *cpu, struct av_virq *irq,
		     u32 intid)
{
	struct av_vgic_cpu *target;

	if (intid >= AV_LPI_MIN) {
		av_lpi_changed(vgic, container_of(irq, struct av_lpi, irq));
		return;
	}
	target = target_of(vgic, cpu, irq, intid);
	if (!target)
		return;
	if (irq->queued)
		dequeue(target, irq, intid);
	if (irq->enabled && !irq->active && av_virq_pending(irq))
		enqueue(target, irq, intid);
	/* Before initialization there is no CPU interface. */
	if (vgic->initialized)
		update_cpu(vgic, target);
}

void av_vgic_activate(struct av_vgic *vgic, struct av_vgic_cpu *cpu, struct av_virq *irq,
		      u32 intid)
{
	u32 level;

	/* LPIs have no active state. */
	irq->active = intid < AV_LPI_MIN;
	irq->active_on = (s16)cpu->index;
	irq->latch = false;
	level = 1U << (av_vgic_group_priority(cpu, irq->priority, irq->group1) >> AV_VGIC_PRI_SHIFT);
	if (irq->group1)
		cpu->ap1r |= level;
	else
		cpu->ap0r |= level;
	if (intid >= AV_LPI_MIN) {
		av_lpi_changed(vgic, container_of(irq, struct av_lpi, irq));
		return;
	}
	dequeue(cpu, irq, intid);
	update_cpu(vgic, cpu);
}

void av_virq_route(struct av_vgic *vgic, struct av_virq *irq, u32 intid, u32 mpidr)
{
	struct av_vgic_cpu *from = target_of(vgic, NULL, irq, intid);
	struct av_vgic_cpu *to = av_vgic_cpu_by_mpidr(vgic, mpidr);

	irq->mpidr = mpidr;
	irq->target = to ? (s16)to->index : -1;
	if (from && from != to) {
		dequeue(from, irq, intid);
		av_vgic_update_cpu(vgic, from);
	}
	av_virq_changed(vgic, NULL, irq, intid);
}

int av_vgic_inject(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, bool level,
		   bool owner)
{
	struct av_virq *irq = av_vgic_irq(vgic, cpu, intid);

	if (!irq)
		return -EINVAL;
	/* As in KVM, the VMM cannot drive a line that has an owner in the kernel. */
	if (irq->owned && !owner)
		return 0;
	if (irq->level) {
		if (irq->line == level)
			return 0;
		irq->line = level;
	} else {
		if (!level)
			return 0;
		irq->latch = true;
	}
	av_virq_changed(vgic, cpu, irq, intid);
	return 0;
}

/* ICC_SGI1R_EL1 */
#define SGI_TARGETS	GENMASK_ULL(15, 0)
#define SGI_AFF1	GENMASK_ULL(23, 16)
#define SGI_INTID	GENMASK_ULL(27, 24)
#define SGI_AFF2	GENMASK_ULL(39, 32)
#define SGI_BROADCAST	BIT_ULL(40)
#define SGI_RANGE	GENMASK_ULL(47, 44)
#define SGI_AFF3	GENMASK_ULL(55, 48)

static void raise_sgi(struct av_vgic *vgic, struct av_vgic_cpu *to, u32 intid, bool group1)
{
	struct av_virq *irq = &to->private[intid];

	if (irq->group1 && !group1)
		return;
	irq->latch = true;
	av_virq_changed(vgic, to, irq, intid);
}

void av_vgic_sgi(struct av_vgic *vgic, struct av_vgic_cpu *from, u64 reg, bool group1)
{
	u32 intid = FIELD_GET(SGI_INTID, reg), targets = reg & SGI_TARGETS, cluster;
	struct av_vgic_cpu *to;
	unsigned int i;

	if (reg & SGI_BROADCAST) {
		for (i = 0; i < vgic->nr_cpus; i++) {
			if (vgic->cpus[i] != from)
				raise_sgi(vgic, vgic->cpus[i], intid, group1);
			pause_after(vgic, i);
		}
		return;
	}
	/* ICC_CTLR_EL1.RSS is 0: Aff0 is at most 15. */
	if (reg & SGI_RANGE)
		return;
	cluster = (u32)(FIELD_GET(SGI_AFF3, reg) << 24 | FIELD_GET(SGI_AFF2, reg) << 16 |
			FIELD_GET(SGI_AFF1, reg) << 8);
	for (; targets; targets &= targets - 1) {
		to = av_vgic_cpu_by_mpidr(vgic, cluster | (u32)__ffs64(targets));
		if (to)
			raise_sgi(vgic, to, intid, group1);
	}
}
