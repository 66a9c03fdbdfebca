/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GICv3 in software: distributor, redistributors and CPU interfaces of one
 * VM. One security state (GICD_CTLR.DS is 1), affinity routing always on; LPIs
 * (lpi.h) where the VM has an ITS (its.h). Software sees the registers of
 * KVM's vGIC, one by one.
 *
 * No hardware is behind it: the CPU interface is emulated too, and struct
 * av_virq holds the whole state of an interrupt. The candidates of a vCPU are
 * the interrupts that are enabled, pending, not active and routed to it. They
 * are kept by group and priority as bitmaps with summary words, so that the
 * best one is found with a few bit scans, however many there are. Each change
 * of an interrupt moves its bit (av_virq_changed()) and computes the output
 * lines of its vCPU anew; the check before each entry is one load: cpu->out.
 *
 * Pure: no kernel services. The caller holds one lock (irq/irqchip.c:
 * vm->irq->lock, a spinlock, interrupts off); only cpu->out is read without.
 * Under the lock, one access changes 32 interrupts at most, each in constant
 * time. The two operations that reach every vCPU, broadcast SGIs and
 * GICD_CTLR, release the lock after each AV_VGIC_BATCH vCPUs: their callers
 * may sleep and hold no other spinlock.
 */
#ifndef AV_IRQ_VGIC_H
#define AV_IRQ_VGIC_H

#include "irq/idmap.h"
#include "lib/av_types.h"
#include "lib/list.h"

#define AV_VGIC_SGIS		16
#define AV_VGIC_PRIVATE		32	/* SGIs and PPIs */
#define AV_VGIC_MAX_IRQS	1024	/* bound of the bitmaps */
#define AV_VGIC_SPECIAL		1020	/* from here to 1023: no interrupts */
#define AV_VGIC_SPURIOUS	1023
#define AV_VGIC_NR_DEFAULT	256	/* unless the VMM sets another number */
#define AV_VGIC_PRI_BITS	5
#define AV_VGIC_PRI_SHIFT	(8 - AV_VGIC_PRI_BITS)
#define AV_VGIC_PRI_MASK	((u8)(0xff << AV_VGIC_PRI_SHIFT & 0xff))
#define AV_VGIC_ID_BITS		1	/* ICC_CTLR_EL1.IDbits: 24 */
#define AV_VGIC_LEVELS		BIT(AV_VGIC_PRI_BITS)
#define AV_VGIC_MAX_CPUS	256
#define AV_VGIC_BATCH		16	/* vCPUs signalled in one hold of the lock */

/* Revisions of KVM's model, GICD_IIDR.Revision. */
#define AV_VGIC_REV_2		2
#define AV_VGIC_REV_3		3

/* cpu->out */
#define AV_VGIC_IRQ		BIT(0)
#define AV_VGIC_FIQ		BIT(1)
#define AV_VGIC_LINES		(AV_VGIC_IRQ | AV_VGIC_FIQ)
/* Not an output: a candidate waits for an end of interrupt or another priority mask. */
#define AV_VGIC_WAITS		BIT(2)
/* Not an output: a candidate of any group passes the priority mask. While cpu->suspended. */
#define AV_VGIC_WAKES		BIT(3)

#define AV_VGIC_NO_LEASE	(~0U)

struct av_virq {
	u8 priority;
	bool enabled : 1;
	bool level : 1;		/* level-sensitive, not edge-triggered */
	bool line : 1;		/* the input, if level-sensitive */
	bool latch : 1;		/* pending by an edge or by a register */
	bool active : 1;
	bool group1 : 1;
	bool owned : 1;		/* a PPI that the module drives: the VMM cannot */
	bool notify : 1;	/* an SPI with a resampler */
	bool lease_latch : 1;	/* latch and active, if a lease of it is taken back */
	bool lease_active : 1;
	bool leased : 1;	/* an SPI: to the vCPU that it is routed to */
	bool queued : 1;	/* a candidate, in the queue of … */
	bool queued_group1 : 1;	/* … this group and … */
	u8 queued_level;	/* … this priority level */
	s16 target;		/* index of the vCPU; -1: routed to none */
	s16 active_on;		/* active: index of the vCPU whose EOIR may end it; -1: of none */
	u32 mpidr;		/* GICD_IROUTER */
};

/* Candidates of one group. levels and words say which words[] and bits[] are nonzero. */
struct av_vgic_queue {
	u32 levels;
	u32 words[AV_VGIC_LEVELS];
	u32 bits[AV_VGIC_LEVELS][AV_VGIC_MAX_IRQS / 32];
};

struct av_vgic_cpu {
	u32 index;
	u32 id;			/* GICR_TYPER.Processor_Number */
	u32 mpidr;		/* Aff3.Aff2.Aff1.Aff0: from id, or as the VMM wrote */
	u8 out;

	struct av_vgic_queue queue[2];	/* SGIs, PPIs and SPIs, by group */

	/* CPU interface */
	u8 pmr, bpr0, bpr1;
	bool cbpr, eoimode, grpen0, grpen1;
	bool suspended;		/* av_irq_suspend(): compute AV_VGIC_WAKES */
	bool acknowledges;	/* ICC_IAR1_EL1 was read, and no offer unused since */
	u32 ap0r, ap1r;		/* active priorities, one bit per preemption level */
	/* The SPI with ->notify that was deactivated; the caller of av_vgic_icc() clears it. */
	u32 deactivated;
	/* lease.c: an INTID or AV_VGIC_NO_LEASE; the bit that its acknowledgement set in ap1r */
	u32 lease, lease_ap1r;
	u32 best;		/* what AV_VGIC_LINES in `out` are for */
	struct av_virq *best_irq;	/* the same; NULL: an LPI or none */
	struct av_virq *lease_irq;	/* NULL for an LPI, which may be deleted */

	struct av_virq private[AV_VGIC_PRIVATE];

	/* LPIs (lpi.h): GICR_CTLR.EnableLPIs, GICR_PENDBASER, candidates by priority. */
	bool lpis_on;
	u64 pendbaser;
	u32 lpi_levels;		/* bit n: lpis[n] is not empty */
	struct av_list lpis[AV_VGIC_LEVELS];
};

struct av_vgic;

struct av_vgic_ops {
	/* A bit of the vCPU's out was set: make the vCPU check it. Under the lock. */
	void (*kick)(struct av_vgic *vgic, struct av_vgic_cpu *cpu);
	/* GICR_TYPER.Last */
	bool (*is_last)(const struct av_vgic *vgic, const struct av_vgic_cpu *cpu);

	void (*lock)(struct av_vgic *vgic);
	void (*unlock)(struct av_vgic *vgic);
	/*
	 * Reschedule between two steps of a long operation, without the lock. Returns true if a
	 * fatal signal is pending.
	 */
	bool (*rest)(struct av_vgic *vgic);

	/*
	 * The guest's memory, for LPIs and ITSs (lpi.h), with the MSI lock held. May sleep. Return
	 * 0 or a negative errno.
	 */
	int (*read)(struct av_vgic *vgic, u64 gpa, void *buf, unsigned int len);
	int (*write)(struct av_vgic *vgic, u64 gpa, const void *buf, unsigned int len);
	bool (*is_ram)(struct av_vgic *vgic, u64 gpa);
	const struct av_allocator *mem;
};

struct av_vgic {
	const struct av_vgic_ops *ops;
	bool initialized;	/* spis is allocated, no vCPU can be added */
	u32 leased;		/* SPIs */
	u32 observers;		/* who must see SPIs as they are: none is leased */
	bool enabled;		/* GICD_CTLR.EnableGrp1; as in KVM it enables both groups */
	u8 revision;
	u32 nr_spis;		/* 0 until set or initialized */
	u32 nr_cpus;
	struct av_virq *spis;
	struct av_vgic_cpu *cpus[AV_VGIC_MAX_CPUS];

	bool has_its;		/* and so LPIs */
	u64 propbaser;		/* one for all redistributors, as in KVM */
	struct av_idmap lpis;	/* struct av_lpi by number */
	u32 nr_events;		/* events mapped to LPIs, of all ITSs */
};

/* ---- vgic.c: interrupts ------------------------------------------------ */

/* Reset a vCPU's state; @id gives its affinity. */
void av_vgic_cpu_init(struct av_vgic_cpu *cpu, u32 id);
/* Add a vCPU to a vGIC that is not initialized yet. */
void av_vgic_add_cpu(struct av_vgic *vgic, struct av_vgic_cpu *cpu);
/* Initialize the vGIC; @spis has nr_spis entries, zeroed. */
void av_vgic_init(struct av_vgic *vgic, struct av_virq *spis);

/* The affinity in MPIDR_EL1 of the vCPU with this id, as in KVM. */
static inline u32 av_vgic_affinity(u32 id)
{
	return (id & 0xf) | ((id >> 4) & 0xff) << 8 | ((id >> 12) & 0xff) << 16;
}

static inline u32 av_vgic_nr_irqs(const struct av_vgic *vgic)
{
	return vgic->nr_spis + AV_VGIC_PRIVATE;
}

/* The vCPU that an SPI or LPI is routed to, or NULL. */
static inline struct av_vgic_cpu *av_virq_target(const struct av_vgic *vgic,
						 const struct av_virq *irq)
{
	return irq->target < 0 ? NULL : vgic->cpus[irq->target];
}

/* The interrupt with this INTID, or NULL; @cpu is for private ones. */
struct av_virq *av_vgic_irq(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid);

static inline bool av_virq_pending(const struct av_virq *irq)
{
	return irq->latch || (irq->level && irq->line);
}

/* A lower level is a higher priority. */
static inline u8 av_virq_level(const struct av_virq *irq)
{
	return irq->priority >> AV_VGIC_PRI_SHIFT;
}

/* cpu->out of a vCPU without candidates: its leased interrupt may be due again after its end. */
static inline u8 av_vgic_output_idle(const struct av_vgic_cpu *cpu)
{
	/* A pending LPI is a candidate already. */
	const struct av_virq *irq = cpu->lease_irq;

	return irq && irq->enabled && av_virq_pending(irq) ? AV_VGIC_WAITS : 0;
}

/* Call after any change of @irq: updates its queue and its vCPU's outputs. */
void av_virq_changed(struct av_vgic *vgic, struct av_vgic_cpu *cpu, struct av_virq *irq,
		     u32 intid);
/* Acknowledge @cpu's best candidate, which signals. Updates the same. */
void av_vgic_activate(struct av_vgic *vgic, struct av_vgic_cpu *cpu, struct av_virq *irq,
		      u32 intid);
/* Route an SPI by affinity. Includes av_virq_changed(). */
void av_virq_route(struct av_vgic *vgic, struct av_virq *irq, u32 intid, u32 mpidr);
/* Compute the outputs after a change of a CPU interface. */
void av_vgic_update_cpu(struct av_vgic *vgic, struct av_vgic_cpu *cpu);
/* The same for all vCPUs, after a change of GICD_CTLR. Releases the lock between batches. */
void av_vgic_update_all(struct av_vgic *vgic);

/*
 * Drive an input line: to @level if level-sensitive; a rising edge if edge-triggered and @level.
 * -EINVAL: no such interrupt.
 */
int av_vgic_inject(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, bool level,
		   bool owner);

/*
 * ICC_SGI1R_EL1 and its siblings; @group1: may raise interrupts of group 1. A broadcast releases
 * the lock between batches of vCPUs.
 */
void av_vgic_sgi(struct av_vgic *vgic, struct av_vgic_cpu *from, u64 reg, bool group1);

/* The vCPU with this affinity, with this id; or NULL. */
struct av_vgic_cpu *av_vgic_cpu_by_mpidr(struct av_vgic *vgic, u32 mpidr);
struct av_vgic_cpu *av_vgic_cpu_by_id(const struct av_vgic *vgic, u32 id);

/* ---- cpuif.c: ICC registers -------------------------------------------- */

#define AV_ICC(crm, op2)	AV_SYS(3, 0, 12, crm, op2)
#define AV_ICC_PMR_EL1		AV_SYS(3, 0, 4, 6, 0)
#define AV_ICC_DIR_EL1		AV_ICC(11, 1)
#define AV_ICC_IAR1_EL1		AV_ICC(12, 0)
#define AV_ICC_EOIR1_EL1	AV_ICC(12, 1)

/*
 * The group priority, without the subpriority, decides about preemption. With a binary point of 7
 * group 0 has none. With CBPR group 1 has none either: BPR1 then reads as 7, which otherwise leaves
 * it one bit.
 */
static inline u8 av_vgic_group_priority(const struct av_vgic_cpu *cpu, u8 priority, bool group1)
{
	unsigned int point = group1 && !cpu->cbpr ? cpu->bpr1 : cpu->bpr0 + 1U;

	return (u8)(priority & (0xffU << point));
}

/* @reg is AV_SYS(). False: no such register, or no access in this direction. */
bool av_vgic_icc(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, bool write, u64 *val);
/* The VMM's view (KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS): 0, -ENOENT, -EINVAL. */
int av_vgic_icc_user(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 reg, bool write,
		     u64 *val);
bool av_vgic_icc_user_has(u32 reg);
/* The INTID of the best candidate in an enabled group; 1023: none. */
u32 av_vgic_highest(const struct av_vgic *vgic, const struct av_vgic_cpu *cpu);
/* ICC_EOIR0_EL1 or ICC_EOIR1_EL1 is written. */
void av_vgic_end(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, bool group1);
/* Compute cpu->out from all other state. */
u8 av_vgic_output(struct av_vgic *vgic, struct av_vgic_cpu *cpu);

/* ---- lease.c: interrupts that a vCPU handles by itself --------------------- */

/*
 * Lease the vCPU's best interrupt to it, which is about to be injected as IRQ: acknowledge it in
 * advance, as hardware does with a list register. Returns the INTID for the next read of
 * ICC_IAR1_EL1, whose end may be reported later; or AV_VGIC_SPURIOUS, with nothing done.
 *
 * An SPI is active or pending for the whole VM. So whoever reads these states, or changes the SPI
 * by a register, ends its lease first (av_vgic_lessee()); meanwhile vgic->observers is not 0.
 */
u32 av_vgic_lease(struct av_vgic *vgic, struct av_vgic_cpu *cpu);

enum av_lease_end {
	AV_LEASE_BACK,		/* the guest has not acknowledged it */
	AV_LEASE_KEPT,		/* acknowledged; the guest's further accesses trap */
	AV_LEASE_ENDED,		/* the guest wrote ICC_EOIR1_EL1, and nothing was pending */
};

void av_vgic_lease_end(struct av_vgic *vgic, struct av_vgic_cpu *cpu, enum av_lease_end how);

/* A vCPU that has a lease of one of the @n interrupts from @intid that are SPIs, or NULL. */
struct av_vgic_cpu *av_vgic_lessee(struct av_vgic *vgic, u32 intid, u32 n);

/* ---- dist.c, redist.c: memory-mapped registers -------------------------- */

#define AV_VGIC_DIST_SIZE	0x10000
#define AV_VGIC_REDIST_SIZE	0x20000

/* One access of @len bytes at @offset of the frame, aligned or not. */
struct av_vgic_io {
	struct av_vgic *vgic;
	struct av_vgic_cpu *cpu;	/* the redistributor's, or the accessing one */
	u32 offset;
	u8 len;
	bool user;			/* the VMM saves and restores */
};

/*
 * -ENXIO: no register takes the access; a guest then reads zero and its writes are ignored.
 * -EINVAL: the value cannot be restored.
 */
int av_vgic_dist_read(const struct av_vgic_io *io, u64 *val);
int av_vgic_dist_write(const struct av_vgic_io *io, u64 val);
int av_vgic_redist_read(const struct av_vgic_io *io, u64 *val);
int av_vgic_redist_write(const struct av_vgic_io *io, u64 val);

/*
 * Writes to a redistributor's LPI registers, with the MSI lock held instead of the vGIC's. Returns
 * -ENXIO for any other register.
 */
int av_vgic_redist_write_lpis(const struct av_vgic_io *io, u64 val);
bool av_vgic_redist_is_lpis(const struct av_vgic_io *io);

/*
 * The SPIs whose leases this access of the distributor ends: their number, the first in @intid. All
 * that a write names, and a read of pending or active states.
 */
u32 av_vgic_dist_observes(const struct av_vgic_io *io, bool write, u32 *intid);

/* Is there a register that takes this access? */
bool av_vgic_dist_has(const struct av_vgic_io *io);
bool av_vgic_redist_has(const struct av_vgic_io *io);

/* KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO: 32 lines from @intid. */
u32 av_vgic_lines_read(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid);
void av_vgic_lines_write(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u32 intid, u32 val);

#endif /* AV_IRQ_VGIC_H */
