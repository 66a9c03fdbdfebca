// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC's banks of registers with a field per interrupt. Pure; rules in
 * vgic.h and regs.h.
 *
 * The VMM's accesses (io->user) save and restore. For them ISPENDR is the latch
 * alone, and a write sets and clears it; the lines have an attribute of their
 * own. ICPENDR reads zero and ignores writes.
 */
#include "irq/regs.h"

const struct av_vgic_row *av_vgic_row_find(const struct av_vgic_row *rows, unsigned int n,
					   const struct av_vgic_io *io, u32 *intid)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct av_vgic_row *row = &rows[i];

		if (io->offset < row->offset || io->offset - row->offset >= row->size)
			continue;
		if (!(row->widths & io->len) || io->offset % io->len)
			return NULL;
		*intid = row->bits ? (io->offset - row->offset) * 8 / row->bits : 0;
		if (row->bits && *intid >= av_vgic_nr_irqs(io->vgic))
			return NULL;
		return row;
	}
	return NULL;
}

u64 av_vgic_raz(const struct av_vgic_io *io, u32 intid)
{
	return 0;
}

u64 av_vgic_rao(const struct av_vgic_io *io, u32 intid)
{
	return ~0ULL;
}

/* All but PIDR2 read zero. */
u64 av_vgic_read_idregs(const struct av_vgic_io *io, u32 intid)
{
	return (io->offset & 0xffff) == AV_GIC_PIDR2_OFFSET ? AV_GIC_PIDR2 : 0;
}

static struct av_virq *irq_of(const struct av_vgic_io *io, u32 intid)
{
	return av_vgic_irq(io->vgic, io->cpu, intid);
}

/* If the interrupt is leased, kick the vCPU: priority or group may have changed. */
static void changed(const struct av_vgic_io *io, struct av_virq *irq, u32 intid)
{
	av_virq_changed(io->vgic, io->cpu, irq, intid);
	if (unlikely(io->cpu && io->cpu->lease == intid))
		io->vgic->ops->kick(io->vgic, io->cpu);
}

/* Collect one bit per interrupt. */
static u64 read_bits(const struct av_vgic_io *io, u32 intid,
		     bool (*get)(const struct av_virq *irq))
{
	unsigned int i;
	u64 val = 0;

	for (i = 0; i < io->len * 8U; i++) {
		const struct av_virq *irq = irq_of(io, intid + i);

		if (irq && get(irq))
			val |= BIT_ULL(i);
	}
	return val;
}

/* Call @set for each interrupt whose bit is in @mask. */
static int write_bits(const struct av_vgic_io *io, u32 intid, u64 mask, u64 val,
		      void (*set)(struct av_virq *irq, bool on))
{
	unsigned int i;

	for (i = 0; i < io->len * 8U; i++) {
		struct av_virq *irq = irq_of(io, intid + i);

		if (!irq || !(mask & BIT_ULL(i)))
			continue;
		set(irq, val & BIT_ULL(i));
		changed(io, irq, intid + i);
	}
	return 0;
}

static bool get_group(const struct av_virq *irq)
{
	return irq->group1;
}

static void set_group(struct av_virq *irq, bool on)
{
	irq->group1 = on;
}

u64 av_vgic_read_group(const struct av_vgic_io *io, u32 intid)
{
	return read_bits(io, intid, get_group);
}

int av_vgic_write_group(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, ~0ULL, val, set_group);
}

static bool get_enable(const struct av_virq *irq)
{
	return irq->enabled;
}

static void set_enable(struct av_virq *irq, bool on)
{
	irq->enabled = on;
}

u64 av_vgic_read_enable(const struct av_vgic_io *io, u32 intid)
{
	return read_bits(io, intid, get_enable);
}

int av_vgic_write_senable(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, val, ~0ULL, set_enable);
}

int av_vgic_write_cenable(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, val, 0, set_enable);
}

static bool get_latch(const struct av_virq *irq)
{
	return irq->latch;
}

static void set_latch(struct av_virq *irq, bool on)
{
	irq->latch = on;
	irq->lease_latch = false;
}

u64 av_vgic_read_spending(const struct av_vgic_io *io, u32 intid)
{
	return read_bits(io, intid, io->user ? get_latch : av_virq_pending);
}

u64 av_vgic_read_cpending(const struct av_vgic_io *io, u32 intid)
{
	return io->user ? 0 : read_bits(io, intid, av_virq_pending);
}

int av_vgic_write_spending(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, io->user ? ~0ULL : val, val, set_latch);
}

int av_vgic_write_cpending(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return io->user ? 0 : write_bits(io, intid, val, 0, set_latch);
}

static bool get_active(const struct av_virq *irq)
{
	return irq->active;
}

static void set_active(struct av_virq *irq, bool on)
{
	/* Nobody acknowledged it: the vCPU that it is routed to now may end it. */
	if (!irq->active)
		irq->active_on = irq->target;
	irq->active = on;
	irq->lease_active = on;
}

u64 av_vgic_read_active(const struct av_vgic_io *io, u32 intid)
{
	return read_bits(io, intid, get_active);
}

int av_vgic_write_sactive(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, val, ~0ULL, set_active);
}

int av_vgic_write_cactive(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return write_bits(io, intid, val, 0, set_active);
}

u64 av_vgic_read_priority(const struct av_vgic_io *io, u32 intid)
{
	unsigned int i;
	u64 val = 0;

	for (i = 0; i < io->len; i++) {
		const struct av_virq *irq = irq_of(io, intid + i);

		if (irq)
			val |= (u64)irq->priority << (i * 8);
	}
	return val;
}

int av_vgic_write_priority(const struct av_vgic_io *io, u32 intid, u64 val)
{
	unsigned int i;

	for (i = 0; i < io->len; i++) {
		struct av_virq *irq = irq_of(io, intid + i);

		if (!irq)
			continue;
		irq->priority = (u8)(val >> (i * 8)) & AV_VGIC_PRI_MASK;
		changed(io, irq, intid + i);
	}
	return 0;
}

/* Two bits per interrupt; the upper one is set if it is edge-triggered. */
u64 av_vgic_read_config(const struct av_vgic_io *io, u32 intid)
{
	unsigned int i;
	u64 val = 0;

	for (i = 0; i < io->len * 4U; i++) {
		const struct av_virq *irq = irq_of(io, intid + i);

		if (irq && !irq->level)
			val |= 2ULL << (i * 2);
	}
	return val;
}

/* SGIs are always edge-triggered, and the guest cannot change PPIs. */
int av_vgic_write_config(const struct av_vgic_io *io, u32 intid, u64 val)
{
	unsigned int i;

	for (i = 0; i < io->len * 4U; i++) {
		struct av_virq *irq = irq_of(io, intid + i);

		if (!irq || intid + i < AV_VGIC_PRIVATE)
			continue;
		irq->level = !(val >> (i * 2) & 2);
		changed(io, irq, intid + i);
	}
	return 0;
}

u32 av_vgic_lines_read(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid)
{
	unsigned int i;
	u32 val = 0;

	for (i = 0; i < 32; i++) {
		const struct av_virq *irq = av_vgic_irq(vgic, cpu, intid + i);

		if (irq && intid + i >= AV_VGIC_SGIS && irq->level && irq->line)
			val |= 1U << i;
	}
	return val;
}

/* Includes edge-triggered interrupts: the VMM may restore ICFGR later. */
void av_vgic_lines_write(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, u32 val)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		struct av_virq *irq = av_vgic_irq(vgic, cpu, intid + i);

		/* A timer drives its line itself. */
		if (!irq || irq->owned || intid + i < AV_VGIC_SGIS)
			continue;
		irq->line = val & (1U << i);
		av_virq_changed(vgic, cpu, irq, intid + i);
	}
}
