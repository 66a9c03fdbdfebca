/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LPIs: message-signalled interrupts with INTIDs from 8192. An LPI exists while
 * an event of an ITS maps to it. LPIs are edge-triggered, of group 1, and have
 * no active state. Each LPI's configuration is a byte in the guest's memory,
 * read when the LPI is mapped and when the guest invalidates it.
 *
 * The candidates of a vCPU (enabled and pending LPIs routed to it) are in one
 * list per priority, with a word that says which lists are not empty: the best
 * one is found at once, however many are pending.
 *
 * Two locks. LPIs are created, mapped and deleted under the MSI lock, a mutex.
 * Functions marked M are called with it and without the vGIC's lock; they take
 * the latter (ops->lock) for one LPI at a time. Functions marked L are called
 * under the vGIC's lock. Lookups need either.
 *
 * Pure. The guest's memory may change between any two reads.
 */
#ifndef AV_IRQ_LPI_H
#define AV_IRQ_LPI_H

#include "irq/vgic.h"
#include "lib/list.h"

#define AV_LPI_MIN	8192U
#define AV_LPI_ID_BITS	16

struct av_lpi {
	struct av_virq irq;
	u32 intid;
	u32 users;			/* events that map to it */
	struct av_vgic_cpu *queued;	/* the vCPU whose list it is in, or NULL … */
	u8 level;			/* … and which list */
	struct av_list link;
};

/* M or L. */
struct av_lpi *av_lpi_find(const struct av_vgic *vgic, u32 intid);

/* L: after any change of the interrupt. */
void av_lpi_changed(struct av_vgic *vgic, struct av_lpi *lpi);
/* L: make the LPI pending. */
void av_lpi_raise(struct av_vgic *vgic, struct av_lpi *lpi);
/* L: the best candidate, or NULL. */
struct av_lpi *av_lpi_best(const struct av_vgic_cpu *cpu);

/*
 * M: map one more event to an LPI. A new LPI is routed to @cpu (or none) and
 * gets its state from the tables in memory. -ENOMEM, -EINVAL, or the errno of
 * an access to the guest's memory.
 */
int av_lpi_map(struct av_vgic *vgic, u32 intid, struct av_vgic_cpu *cpu, struct av_lpi **out);
/* M: unmap one event; the last one deletes the LPI. */
void av_lpi_unmap(struct av_vgic *vgic, struct av_lpi *lpi);

/* M: read the configuration of one LPI, or of all of @cpu's, again. */
int av_lpi_reload(struct av_vgic *vgic, struct av_lpi *lpi);
void av_lpi_reload_all(struct av_vgic *vgic, const struct av_vgic_cpu *cpu);
/* M: route an LPI to @to, if it is routed to @from or @from is NULL. */
void av_lpi_move(struct av_vgic *vgic, struct av_lpi *lpi, const struct av_vgic_cpu *from,
		 struct av_vgic_cpu *to);
/* M: clear its pending state. */
void av_lpi_clear(struct av_vgic *vgic, struct av_lpi *lpi);

/* M: GICR_CTLR.EnableLPIs, GICR_INVLPIR. */
void av_lpi_enable(struct av_vgic *vgic, struct av_vgic_cpu *cpu, bool on);
void av_lpi_invalidate(struct av_vgic *vgic, u32 intid);

/* M: write the pending state to the tables in memory. */
int av_lpi_save_pending(struct av_vgic *vgic);

/* One more than the largest INTID that GICR_PROPBASER allows. */
static inline u32 av_lpi_limit(const struct av_vgic *vgic)
{
	return 1U << min_t(u32, (vgic->propbaser & 0x1f) + 1, AV_LPI_ID_BITS);
}

/* Replace unsupported memory attributes in a base register: outer shareable and non-cacheable. */
u64 av_gic_sanitise(u64 reg, unsigned int inner, unsigned int outer);

#define AV_GIC_SHAREABLE	BIT_ULL(10)	/* inner */
#define AV_GIC_CACHE_RAWB	3ULL

/* GICR_PROPBASER and GICR_PENDBASER: reset value, value after a write. */
#define AV_LPI_BASE_RESET	(AV_GIC_CACHE_RAWB << 7 | AV_GIC_SHAREABLE)
#define AV_LPI_PTZ		BIT_ULL(62)	/* of PENDBASER: the table is zero */
u64 av_lpi_propbaser(u64 reg);
u64 av_lpi_pendbaser(u64 reg);

#endif /* AV_IRQ_LPI_H */
