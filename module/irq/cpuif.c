// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC's CPU interface: the ICC system registers of one vCPU.
 * Pure; rules in vgic.h.
 *
 * Priorities have five bits, all of them preemption bits: 32 levels, and one
 * active-priorities register per group. Accesses behave as the architecture's
 * pseudocode for the virtual CPU interface (ICV), which KVM's guests use.
 */
#include "irq/lpi.h"

#define BPR0_MIN	(7 - AV_VGIC_PRI_BITS)
#define BPR1_MIN	(8 - AV_VGIC_PRI_BITS)
#define IDLE		0xff

#define CTLR_CBPR	BIT(0)
#define CTLR_EOIMODE	BIT(1)
#define CTLR_PRIBITS	GENMASK(10, 8)
#define CTLR_IDBITS	GENMASK(13, 11)
#define CTLR_SEIS	BIT(14)
#define CTLR_A3V	BIT(15)

#define SRE_VALUE	7	/* system registers on, no bypass; read-only, as in KVM */

static unsigned int bpr1_of(const struct av_vgic_cpu *cpu)
{
	if (!cpu->cbpr)
		return cpu->bpr1;
	return min_t(unsigned int, cpu->bpr0 + 1U, 7);
}

static u8 running_priority(const struct av_vgic_cpu *cpu)
{
	u32 active = cpu->ap0r | cpu->ap1r;

	return active ? (u8)(__ffs64(active) << AV_VGIC_PRI_SHIFT) : IDLE;
}

/* The best candidate of @queue if it beats @best, whose level is *level; otherwise @best. */
static u32 better(const struct av_vgic_queue *queue, u32 best, u32 *level)
{
	u32 at, word, intid;

	if (!queue->levels)
		return best;
	at = (u32)__ffs64(queue->levels);
	if (at > *level)
		return best;
	word = (u32)__ffs64(queue->words[at]);
	intid = word * 32 + (u32)__ffs64(queue->bits[at][word]);
	/* Among equal priorities the lowest INTID wins. */
	if (at == *level && intid > best)
		return best;
	*level = at;
	return intid;
}

u32 av_vgic_highest(const struct av_vgic *vgic, const struct av_vgic_cpu *cpu)
{
	u32 best = AV_VGIC_SPURIOUS, level = AV_VGIC_LEVELS;

	if (!vgic->enabled)
		return best;
	if (cpu->grpen0)
		best = better(&cpu->queue[0], best, &level);
	if (!cpu->grpen1)
		return best;
	best = better(&cpu->queue[1], best, &level);
	if (cpu->lpi_levels && (u32)__ffs64(cpu->lpi_levels) < level)
		best = av_lpi_best(cpu)->intid;
	return best;
}

/*
 * Does @irq preempt the active interrupts? Both priorities are grouped by the binary point that
 * @irq has now, even if the guest has changed it since the active one was acknowledged
 * (CanSignalVirtualInt()).
 */
static bool preempts(const struct av_vgic_cpu *cpu, const struct av_virq *irq)
{
	u8 running = running_priority(cpu);

	return running == IDLE || av_vgic_group_priority(cpu, irq->priority, irq->group1) <
				  av_vgic_group_priority(cpu, running, irq->group1);
}

/* Does @irq pass the priority mask, and preempt the active interrupts? */
static bool signals(const struct av_vgic_cpu *cpu, const struct av_virq *irq)
{
	return irq->priority < cpu->pmr && preempts(cpu, irq);
}

/* The outputs, and AV_VGIC_WAITS. */
static u8 lines(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	struct av_virq *irq;
	u32 intid;

	intid = av_vgic_highest(vgic, cpu);
	cpu->best = intid;
	cpu->best_irq = NULL;
	if (intid == AV_VGIC_SPURIOUS)
		return av_vgic_output_idle(cpu);
	irq = av_vgic_irq(vgic, cpu, intid);
	/* The ITS may free an LPI. */
	if (intid < AV_LPI_MIN)
		cpu->best_irq = irq;
	if (!irq || !signals(cpu, irq))
		return AV_VGIC_WAITS;
	return AV_VGIC_WAITS | (irq->group1 ? AV_VGIC_IRQ : AV_VGIC_FIQ);
}

/*
 * Does a pending interrupt wake a suspended vCPU? Its group need not be enabled, as on KVM: Linux
 * disables group 1 (ICC_IGRPEN1_EL1) before SYSTEM_SUSPEND.
 */
static bool wakes(const struct av_vgic *vgic, const struct av_vgic_cpu *cpu)
{
	u32 levels = cpu->queue[0].levels | cpu->queue[1].levels | cpu->lpi_levels;

	return vgic->enabled && levels && (u32)__ffs64(levels) << AV_VGIC_PRI_SHIFT < cpu->pmr;
}

u8 av_vgic_output(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	u8 out = lines(vgic, cpu);

	return unlikely(cpu->suspended) && wakes(vgic, cpu) ? out | AV_VGIC_WAKES : out;
}

static u64 acknowledge(struct av_vgic *vgic, struct av_vgic_cpu *cpu, bool group1)
{
	u32 intid = av_vgic_highest(vgic, cpu);
	struct av_virq *irq;

	if (intid == AV_VGIC_SPURIOUS)
		return intid;
	irq = av_vgic_irq(vgic, cpu, intid);
	if (!irq || irq->group1 != group1 || !signals(cpu, irq))
		return AV_VGIC_SPURIOUS;
	WRITE_ONCE(cpu->acknowledges, true);
	av_vgic_activate(vgic, cpu, irq, intid);
	return intid;
}

static void deactivate(struct av_vgic *vgic, struct av_vgic_cpu *cpu, struct av_virq *irq,
		       u32 intid)
{
	irq->active = false;
	if (irq->notify)
		cpu->deactivated = intid;
	av_virq_changed(vgic, cpu, irq, intid);
}

/* Drop the highest active priority and return it; IDLE if none is active. */
static u8 drop_priority(struct av_vgic_cpu *cpu)
{
	u8 priority = running_priority(cpu);
	u32 active = cpu->ap0r | cpu->ap1r, lowest = active & (~active + 1);

	if (cpu->ap0r & lowest)
		cpu->ap0r &= ~lowest;
	else
		cpu->ap1r &= ~lowest;
	return priority;
}

static __always_inline void end_of_interrupt(struct av_vgic *vgic, struct av_vgic_cpu *cpu,
					     u32 intid, bool group1)
{
	struct av_virq *irq;
	u8 dropped;

	if (intid >= AV_VGIC_SPECIAL && intid <= AV_VGIC_SPURIOUS)
		return;
	dropped = drop_priority(cpu);
	irq = av_vgic_irq(vgic, cpu, intid);
	/*
	 * The guest may name a wrong interrupt: the priority drops in any case.
	 * One that another vCPU acknowledged stays active, as in KVM.
	 */
	if (irq && irq->active && irq->active_on == (s16)cpu->index && !cpu->eoimode &&
	    irq->group1 == group1 && av_vgic_group_priority(cpu, irq->priority, group1) == dropped) {
		deactivate(vgic, cpu, irq, intid);
		/* deactivate() has updated the outputs of the vCPU that it is routed to. */
		if (irq->target == (s16)cpu->index)
			return;
	}
	av_vgic_update_cpu(vgic, cpu);
}

void av_vgic_end(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, bool group1)
{
	end_of_interrupt(vgic, cpu, intid, group1);
}

static void write_dir(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid)
{
	struct av_virq *irq = av_vgic_irq(vgic, cpu, intid);

	if (cpu->eoimode && irq && irq->active)
		deactivate(vgic, cpu, irq, intid);
}

static u64 highest_of_group(struct av_vgic *vgic, struct av_vgic_cpu *cpu, bool group1)
{
	u32 intid = av_vgic_highest(vgic, cpu);
	const struct av_virq *irq = av_vgic_irq(vgic, cpu, intid);

	return irq && irq->group1 == group1 ? intid : AV_VGIC_SPURIOUS;
}

static u64 read_ctlr(const struct av_vgic_cpu *cpu)
{
	return (cpu->cbpr ? CTLR_CBPR : 0) | (cpu->eoimode ? CTLR_EOIMODE : 0) |
	       FIELD_PREP(CTLR_PRIBITS, AV_VGIC_PRI_BITS - 1) |
	       FIELD_PREP(CTLR_IDBITS, AV_VGIC_ID_BITS) | CTLR_A3V;
}

static void write_ctlr(struct av_vgic_cpu *cpu, u64 val)
{
	cpu->cbpr = val & CTLR_CBPR;
	cpu->eoimode = val & CTLR_EOIMODE;
}

static void write_bpr(u8 *bpr, u64 val, u8 least)
{
	*bpr = max_t(u8, val & 7, least);
}

#define ICC(crm, op2)		AV_ICC(crm, op2)
#define ICC_PMR			AV_ICC_PMR_EL1
#define ICC_IAR0		ICC(8, 0)
#define ICC_EOIR0		ICC(8, 1)
#define ICC_HPPIR0		ICC(8, 2)
#define ICC_BPR0		ICC(8, 3)
#define ICC_AP0R0		ICC(8, 4)
#define ICC_AP1R0		ICC(9, 0)
#define ICC_DIR			AV_ICC_DIR_EL1
#define ICC_RPR			ICC(11, 3)
#define ICC_SGI1R		ICC(11, 5)
#define ICC_ASGI1R		ICC(11, 6)
#define ICC_SGI0R		ICC(11, 7)
#define ICC_IAR1		AV_ICC_IAR1_EL1
#define ICC_EOIR1		AV_ICC_EOIR1_EL1
#define ICC_HPPIR1		ICC(12, 2)
#define ICC_BPR1		ICC(12, 3)
#define ICC_CTLR		ICC(12, 4)
#define ICC_SRE			ICC(12, 5)
#define ICC_IGRPEN0		ICC(12, 6)
#define ICC_IGRPEN1		ICC(12, 7)

/* Registers that hold state: the guest and the VMM see the same value. */
static bool read_state(const struct av_vgic_cpu *cpu, u32 reg, u64 *val)
{
	switch (reg) {
	case ICC_PMR:
		*val = cpu->pmr;
		return true;
	case ICC_BPR0:
		*val = cpu->bpr0;
		return true;
	case ICC_BPR1:
		*val = bpr1_of(cpu);
		return true;
	case ICC_AP0R0:
		*val = cpu->ap0r;
		return true;
	case ICC_AP1R0:
		*val = cpu->ap1r;
		return true;
	case ICC_CTLR:
		*val = read_ctlr(cpu);
		return true;
	case ICC_SRE:
		*val = SRE_VALUE;
		return true;
	case ICC_IGRPEN0:
		*val = cpu->grpen0;
		return true;
	case ICC_IGRPEN1:
		*val = cpu->grpen1;
		return true;
	}
	return false;
}

static bool write_state(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, u64 val)
{
	switch (reg) {
	case ICC_PMR:
		cpu->pmr = val & AV_VGIC_PRI_MASK;
		break;
	case ICC_BPR0:
		write_bpr(&cpu->bpr0, val, BPR0_MIN);
		break;
	case ICC_BPR1:
		if (!cpu->cbpr)
			write_bpr(&cpu->bpr1, val, BPR1_MIN);
		break;
	case ICC_AP0R0:
		cpu->ap0r = (u32)val;
		break;
	case ICC_AP1R0:
		cpu->ap1r = (u32)val;
		break;
	case ICC_CTLR:
		write_ctlr(cpu, val);
		break;
	case ICC_SRE:
		return true;
	case ICC_IGRPEN0:
		cpu->grpen0 = val & 1;
		break;
	case ICC_IGRPEN1:
		cpu->grpen1 = val & 1;
		break;
	default:
		return false;
	}
	av_vgic_update_cpu(vgic, cpu);
	return true;
}

static bool icc_read(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, u64 *val)
{
	switch (reg) {
	case ICC_IAR0:
	case ICC_IAR1:
		*val = acknowledge(vgic, cpu, reg == ICC_IAR1);
		return true;
	case ICC_HPPIR0:
	case ICC_HPPIR1:
		*val = highest_of_group(vgic, cpu, reg == ICC_HPPIR1);
		return true;
	case ICC_RPR:
		*val = running_priority(cpu);
		return true;
	}
	return read_state(cpu, reg, val);
}

static bool icc_write(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, u64 val)
{
	switch (reg) {
	case ICC_EOIR0:
	case ICC_EOIR1:
		end_of_interrupt(vgic, cpu, val & GENMASK(23, 0), reg == ICC_EOIR1);
		return true;
	case ICC_DIR:
		write_dir(vgic, cpu, val & GENMASK(23, 0));
		return true;
	case ICC_SGI1R:
	case ICC_ASGI1R:
	case ICC_SGI0R:
		av_vgic_sgi(vgic, cpu, val, reg == ICC_SGI1R);
		return true;
	}
	return write_state(vgic, cpu, reg, val);
}

bool av_vgic_icc(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, bool write, u64 *val)
{
	return write ? icc_write(vgic, cpu, reg, *val) : icc_read(vgic, cpu, reg, val);
}

/* AP0R1 to AP0R3 and AP1R1 to AP1R3 exist as attributes but not as registers. */
static bool is_absent_apr(u32 reg)
{
	return (reg > ICC_AP0R0 && reg <= ICC_AP0R0 + 3) || (reg > ICC_AP1R0 && reg <= ICC_AP1R0 + 3);
}

bool av_vgic_icc_user_has(u32 reg)
{
	static const struct av_vgic_cpu none;
	u64 val;

	return read_state(&none, reg, &val) || is_absent_apr(reg);
}

int av_vgic_icc_user(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, bool write, u64 *val)
{
	const u64 fixed = CTLR_PRIBITS | CTLR_IDBITS | CTLR_SEIS | CTLR_A3V;

	if (!av_vgic_icc_user_has(reg))
		return -ENOENT;
	if (is_absent_apr(reg))
		return -EINVAL;
	if (!write)
		return read_state(cpu, reg, val) ? 0 : -ENOENT;
	/*
	 * A value with more priority bits, more INTID bits or other features
	 * cannot be restored. One with fewer bits can: the guest then sees
	 * those of the vGIC.
	 */
	if (reg == ICC_CTLR && (FIELD_GET(CTLR_PRIBITS, *val) > FIELD_GET(CTLR_PRIBITS, read_ctlr(cpu)) ||
				FIELD_GET(CTLR_IDBITS, *val) > AV_VGIC_ID_BITS ||
				((*val ^ read_ctlr(cpu)) & fixed & (CTLR_SEIS | CTLR_A3V))))
		return -EINVAL;
	if (reg == ICC_SRE && !(*val & 1))
		return -EINVAL;
	return write_state(vgic, cpu, reg, *val) ? 0 : -ENOENT;
}
