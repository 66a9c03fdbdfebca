// SPDX-License-Identifier: GPL-2.0
/* Leases of interrupts to a vCPU. Pure; rules in vgic.h. */
#include "irq/lpi.h"
#include "lib/parts.h"

static bool is_spi(u32 intid)
{
	return intid >= AV_VGIC_PRIVATE && intid < AV_LPI_MIN;
}

/* The caller of av_vgic_icc() tells a resampler of its SPI's end at once: such an SPI traps. */
static bool may_lease(const struct av_vgic *vgic, const struct av_virq *irq, u32 intid)
{
	return AV_HAS(leases) && !irq->notify && !(vgic->observers && is_spi(intid));
}

u32 av_vgic_lease(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	u32 intid = cpu->best, ap1r = cpu->ap1r;
	struct av_virq *irq;

	/* With EOImode 1 an interrupt needs two writes to end: a lease gains nothing. */
	if ((cpu->out & AV_VGIC_LINES) != AV_VGIC_IRQ || cpu->eoimode)
		return AV_VGIC_SPURIOUS;
	irq = cpu->best_irq ?: av_vgic_irq(vgic, cpu, intid);
	if (!irq || !may_lease(vgic, irq, intid))
		return AV_VGIC_SPURIOUS;
	irq->leased = is_spi(intid);
	vgic->leased += irq->leased;
	irq->lease_latch = irq->latch;
	irq->lease_active = false;
	cpu->lease = intid;
	cpu->lease_irq = cpu->best_irq;
	/* cpu->out says that it is of group 1, and signals. */
	av_vgic_activate(vgic, cpu, irq, intid);
	cpu->lease_ap1r = cpu->ap1r & ~ap1r;
	return intid;
}

/* The target vCPU may have disabled, and so dropped, its LPIs. */
static bool may_be_pending(const struct av_vgic *vgic, const struct av_virq *irq, u32 intid)
{
	const struct av_vgic_cpu *to = av_virq_target(vgic, irq);

	return intid < AV_LPI_MIN || (to && to->lpis_on);
}

/*
 * Undo the acknowledgement. The interrupt may have been deleted or routed elsewhere since. If a
 * register write has made it active, or no longer pending, it stays so.
 */
static void take_back(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid)
{
	struct av_virq *irq = av_vgic_irq(vgic, cpu, intid);

	cpu->ap1r &= ~cpu->lease_ap1r;
	if (irq) {
		irq->active = irq->lease_active;
		irq->latch |= irq->lease_latch && may_be_pending(vgic, irq, intid);
		irq->lease_latch = false;
		av_virq_changed(vgic, cpu, irq, intid);
	}
}

void av_vgic_lease_end(struct av_vgic *vgic, struct av_vgic_cpu *cpu, enum av_lease_end how)
{
	u32 intid = cpu->lease;

	if (intid == AV_VGIC_NO_LEASE)
		return;
	cpu->lease = AV_VGIC_NO_LEASE;
	if (cpu->lease_irq && cpu->lease_irq->leased) {
		cpu->lease_irq->leased = false;
		vgic->leased--;
	}
	cpu->lease_irq = NULL;
	if (how == AV_LEASE_ENDED) {
		/* This updates the outputs. */
		av_vgic_end(vgic, cpu, intid, true);
		return;
	}
	if (how == AV_LEASE_BACK)
		take_back(vgic, cpu, intid);
	av_vgic_update_cpu(vgic, cpu);
}

struct av_vgic_cpu *av_vgic_lessee(struct av_vgic *vgic, u32 intid, u32 n)
{
	u32 i;

	if (!vgic->leased)
		return NULL;
	for (i = max_t(u32, intid, AV_VGIC_PRIVATE); i < intid + n; i++) {
		const struct av_virq *irq = is_spi(i) ? av_vgic_irq(vgic, NULL, i) : NULL;

		/* A leased SPI is not routed to another vCPU: that ends its lease first. */
		if (irq && irq->leased)
			return av_virq_target(vgic, irq);
	}
	return NULL;
}
