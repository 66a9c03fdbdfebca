/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LPIs: interrupts from 8192 on, which messages raise. There is one as long as
 * an event of an ITS maps to it. It is edge-triggered, of group 1, has no
 * active state, and its configuration is a byte in the guest's memory, read
 * when it is mapped and when the guest says that it has changed.
 *
 * A vCPU's candidates among LPIs (enabled, pending, its own) hang in one list
 * a priority, with a word that says which lists are not empty: the best one is
 * found at once, however many a guest has pending.
 *
 * Two locks. The set of LPIs and who maps to them change under the MSI lock,
 * which may sleep: functions marked M are called with it held, and without the
 * vGIC's, which they take for a moment (ops->lock) for each LPI they change.
 * Functions marked L are called under the vGIC's lock. Lookups need either.
 *
 * Pure. The guest's memory is what it says at each look, and nothing more.
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
	struct av_vgic_cpu *queued;	/* in whose list it is, or NULL */
	u8 level;			/* … and in which */
	struct av_list link;
};

/* M or L. */
struct av_lpi *av_lpi_find(const struct av_vgic *vgic, u32 intid);

/* L: after any change of the interrupt. */
void av_lpi_changed(struct av_vgic *vgic, struct av_lpi *lpi);
/* L: a message. */
void av_lpi_raise(struct av_vgic *vgic, struct av_lpi *lpi);
/* L: the best candidate, or NULL. */
struct av_lpi *av_lpi_best(const struct av_vgic_cpu *cpu);

/*
 * M: one more event maps to it. One that is not there yet is made, for @cpu
 * (or none), as the tables in memory say. -ENOMEM, -EINVAL, or what reading
 * the guest's memory returned.
 */
int av_lpi_map(struct av_vgic *vgic, u32 intid, struct av_vgic_cpu *cpu, struct av_lpi **out);
/* M: one less; the last takes it away. */
void av_lpi_unmap(struct av_vgic *vgic, struct av_lpi *lpi);

/* M: its configuration is read anew; of all of @cpu's. */
int av_lpi_reload(struct av_vgic *vgic, struct av_lpi *lpi);
void av_lpi_reload_all(struct av_vgic *vgic, const struct av_vgic_cpu *cpu);
/* M: to another vCPU; if it is @from's, or whosever with NULL. */
void av_lpi_move(struct av_vgic *vgic, struct av_lpi *lpi, const struct av_vgic_cpu *from,
		 struct av_vgic_cpu *to);
/* M: no longer pending. */
void av_lpi_clear(struct av_vgic *vgic, struct av_lpi *lpi);

/* M: GICR_CTLR.EnableLPIs, GICR_INVLPIR. */
void av_lpi_enable(struct av_vgic *vgic, struct av_vgic_cpu *cpu, bool on);
void av_lpi_invalidate(struct av_vgic *vgic, u32 intid);

/* M: write what is pending to the tables in memory. */
int av_lpi_save_pending(struct av_vgic *vgic);

/* One more than the largest LPI that GICR_PROPBASER has room for. */
static inline u32 av_lpi_limit(const struct av_vgic *vgic)
{
	return 1U << min_t(u32, (vgic->propbaser & 0x1f) + 1, AV_LPI_ID_BITS);
}

/*
 * The memory attributes that any of the GIC's base registers asks for, made
 * what there is: nothing outer shareable, nothing uncached.
 */
u64 av_gic_sanitise(u64 reg, unsigned int inner, unsigned int outer);

#define AV_GIC_SHAREABLE	BIT_ULL(10)	/* inner */
#define AV_GIC_CACHE_RAWB	3ULL

/* GICR_PROPBASER and GICR_PENDBASER, at reset and as a write leaves them. */
#define AV_LPI_BASE_RESET	(AV_GIC_CACHE_RAWB << 7 | AV_GIC_SHAREABLE)
#define AV_LPI_PTZ		BIT_ULL(62)	/* of PENDBASER: the table is zero */
u64 av_lpi_propbaser(u64 reg);
u64 av_lpi_pendbaser(u64 reg);

#endif /* AV_IRQ_LPI_H */
