// SPDX-License-Identifier: GPL-2.0
/* Leases of interrupts to a vCPU. Pure; rules in vgic.h. */
#include "irq/lpi.h"
#include "lib/parts.h"

static bool may_lease(u32 intid)
{
	return AV_HAS(leases) && (intid < AV_VGIC_PRIVATE || intid >= AV_LPI_MIN);
}

u32 av_vgic_lease(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	u32 intid = av_vgic_highest(vgic, cpu), ap1r = cpu->ap1r;
	struct av_virq *irq;
	u64 val = intid;

	/* With EOImode 1 an interrupt needs two writes to end: a lease gains nothing. */
	if ((cpu->out & AV_VGIC_LINES) != AV_VGIC_IRQ || cpu->eoimode || !may_lease(intid))
		return AV_VGIC_SPURIOUS;
	irq = av_vgic_irq(vgic, cpu, intid);
	if (!irq)
		return AV_VGIC_SPURIOUS;
	irq->lease_latch = irq->latch;
	irq->lease_active = false;
	cpu->lease = intid;
	av_vgic_icc(vgic, cpu, AV_ICC_IAR1_EL1, false, &val);
	cpu->lease_ap1r = cpu->ap1r & ~ap1r;
	return (u32)val;
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
	u64 intid = cpu->lease;

	if (intid == AV_VGIC_NO_LEASE)
		return;
	cpu->lease = AV_VGIC_NO_LEASE;
	if (how == AV_LEASE_BACK)
		take_back(vgic, cpu, (u32)intid);
	else if (how == AV_LEASE_ENDED)
		av_vgic_icc(vgic, cpu, AV_ICC_EOIR1_EL1, true, &intid);
	av_vgic_update_cpu(vgic, cpu);
}
