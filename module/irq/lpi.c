// SPDX-License-Identifier: GPL-2.0
/* LPIs. Pure; rules in lpi.h. */
#include "irq/lpi.h"

#define PROP_ENABLED	BIT(0)
#define PROP_ADDRESS	GENMASK_ULL(51, 12)
#define PEND_ADDRESS	GENMASK_ULL(51, 16)
#define PROP_RES0	(GENMASK_ULL(63, 59) | GENMASK_ULL(55, 52) | GENMASK_ULL(6, 5))
#define PEND_RES0	(BIT_ULL(63) | GENMASK_ULL(61, 59) | GENMASK_ULL(55, 52) | \
			 GENMASK_ULL(15, 12) | GENMASK_ULL(6, 0))

/* ---- candidates, under the vGIC's lock ------------------------------------- */

struct av_lpi *av_lpi_find(const struct av_vgic *vgic, u32 intid)
{
	return av_idmap_find(&vgic->lpis, intid);
}

static void dequeue(struct av_lpi *lpi)
{
	struct av_vgic_cpu *cpu = lpi->queued;

	av_list_del(&lpi->link);
	if (av_list_empty(&cpu->lpis[lpi->level]))
		cpu->lpi_levels &= ~(1U << lpi->level);
	lpi->queued = NULL;
}

static void enqueue(struct av_lpi *lpi, struct av_vgic_cpu *cpu, u8 level)
{
	av_list_add_tail(&lpi->link, &cpu->lpis[level]);
	cpu->lpi_levels |= 1U << level;
	lpi->queued = cpu;
	lpi->level = level;
}

void av_lpi_changed(struct av_vgic *vgic, struct av_lpi *lpi)
{
	const struct av_virq *irq = &lpi->irq;
	struct av_vgic_cpu *from = lpi->queued, *to = NULL;
	u8 level = av_virq_level(irq);

	if (irq->enabled && irq->latch)
		to = av_virq_target(vgic, &lpi->irq);
	if (from == to && (!to || lpi->level == level))
		return;
	if (from)
		dequeue(lpi);
	if (to)
		enqueue(lpi, to, level);
	if (from && from != to)
		av_vgic_update_cpu(vgic, from);
	if (to)
		av_vgic_update_cpu(vgic, to);
}

void av_lpi_raise(struct av_vgic *vgic, struct av_lpi *lpi)
{
	lpi->irq.latch = true;
	av_lpi_changed(vgic, lpi);
}

struct av_lpi *av_lpi_best(const struct av_vgic_cpu *cpu)
{
	if (!cpu->lpi_levels)
		return NULL;
	return av_list_entry(cpu->lpis[__ffs64(cpu->lpi_levels)].next, struct av_lpi, link);
}

/* ---- tables in the guest's memory ------------------------------------------- */

static u64 pending_byte(const struct av_vgic_cpu *cpu, u32 intid)
{
	return (cpu->pendbaser & PEND_ADDRESS) + intid / 8;
}

int av_lpi_reload(struct av_vgic *vgic, struct av_lpi *lpi)
{
	u64 at = (vgic->propbaser & PROP_ADDRESS) + lpi->intid - AV_LPI_MIN;
	u8 prop;
	int r;

	r = vgic->ops->read(vgic, at, &prop, sizeof(prop));
	if (r)
		return r;
	vgic->ops->lock(vgic);
	lpi->irq.priority = prop & AV_VGIC_PRI_MASK;
	lpi->irq.enabled = prop & PROP_ENABLED;
	av_lpi_changed(vgic, lpi);
	vgic->ops->unlock(vgic);
	return 0;
}

void av_lpi_reload_all(struct av_vgic *vgic, const struct av_vgic_cpu *cpu)
{
	struct av_lpi *lpi;
	u32 intid;

	av_idmap_for_each(&vgic->lpis, intid, lpi) {
		if (av_virq_target(vgic, &lpi->irq) == cpu)
			av_lpi_reload(vgic, lpi);
		if (vgic->ops->rest(vgic))
			return;
	}
}

static void set_latch(struct av_vgic *vgic, struct av_lpi *lpi, bool on)
{
	vgic->ops->lock(vgic);
	lpi->irq.latch = on;
	lpi->irq.lease_latch = false;
	av_lpi_changed(vgic, lpi);
	vgic->ops->unlock(vgic);
}

/* A new LPI is pending if its bit in memory is set; the bit is consumed. */
static int load_pending(struct av_vgic *vgic, struct av_lpi *lpi)
{
	const struct av_vgic_cpu *cpu = av_virq_target(vgic, &lpi->irq);
	u8 mask = (u8)(1U << (lpi->intid % 8)), byte;
	int r;

	if (!cpu)
		return 0;
	r = vgic->ops->read(vgic, pending_byte(cpu, lpi->intid), &byte, sizeof(byte));
	if (r)
		return r;
	set_latch(vgic, lpi, byte & mask);
	if (!(byte & mask))
		return 0;
	byte &= (u8)~mask;
	return vgic->ops->write(vgic, pending_byte(cpu, lpi->intid), &byte, sizeof(byte));
}

static int save_pending(struct av_vgic *vgic, const struct av_lpi *lpi)
{
	const struct av_vgic_cpu *cpu = av_virq_target(vgic, &lpi->irq);
	u8 mask = (u8)(1U << (lpi->intid % 8)), byte;
	int r;

	if (!cpu)
		return 0;
	r = vgic->ops->read(vgic, pending_byte(cpu, lpi->intid), &byte, sizeof(byte));
	if (r || !(byte & mask) == !lpi->irq.latch)
		return r;
	byte ^= mask;
	return vgic->ops->write(vgic, pending_byte(cpu, lpi->intid), &byte, sizeof(byte));
}

int av_lpi_save_pending(struct av_vgic *vgic)
{
	struct av_lpi *lpi;
	u32 intid;
	int r;

	av_idmap_for_each(&vgic->lpis, intid, lpi) {
		r = save_pending(vgic, lpi);
		if (r)
			return r;
		vgic->ops->rest(vgic);
	}
	return 0;
}

/* ---- life --------------------------------------------------------------------- */

static struct av_lpi *new_lpi(struct av_vgic *vgic, u32 intid, const struct av_vgic_cpu *cpu)
{
	const struct av_allocator *mem = vgic->ops->mem;
	struct av_lpi *lpi = mem->zalloc(sizeof(*lpi));

	if (!lpi)
		return NULL;
	lpi->intid = intid;
	lpi->irq.group1 = true;
	lpi->irq.target = cpu ? (s16)cpu->index : -1;
	av_list_init(&lpi->link);
	if (av_idmap_insert(&vgic->lpis, mem, intid, lpi)) {
		mem->free(lpi);
		return NULL;
	}
	return lpi;
}

int av_lpi_map(struct av_vgic *vgic, u32 intid, struct av_vgic_cpu *cpu, struct av_lpi **out)
{
	struct av_lpi *lpi = av_lpi_find(vgic, intid);
	int r = 0;

	if (intid < AV_LPI_MIN || intid >= AV_IDMAP_IDS)
		return -EINVAL;
	if (lpi) {
		lpi->users++;
		*out = lpi;
		return 0;
	}
	lpi = new_lpi(vgic, intid, cpu);
	if (!lpi)
		return -ENOMEM;
	lpi->users = 1;
	r = av_lpi_reload(vgic, lpi);
	if (!r)
		r = load_pending(vgic, lpi);
	if (r)
		av_lpi_unmap(vgic, lpi);
	else
		*out = lpi;
	return r;
}

void av_lpi_unmap(struct av_vgic *vgic, struct av_lpi *lpi)
{
	if (--lpi->users)
		return;
	vgic->ops->lock(vgic);
	lpi->irq.latch = false;
	av_lpi_changed(vgic, lpi);
	av_idmap_remove(&vgic->lpis, vgic->ops->mem, lpi->intid);
	vgic->ops->unlock(vgic);
	vgic->ops->mem->free(lpi);
}

void av_lpi_move(struct av_vgic *vgic, struct av_lpi *lpi, const struct av_vgic_cpu *from,
		 struct av_vgic_cpu *to)
{
	if (from && av_virq_target(vgic, &lpi->irq) != from)
		return;
	vgic->ops->lock(vgic);
	lpi->irq.target = to ? (s16)to->index : -1;
	av_lpi_changed(vgic, lpi);
	vgic->ops->unlock(vgic);
}

void av_lpi_clear(struct av_vgic *vgic, struct av_lpi *lpi)
{
	set_latch(vgic, lpi, false);
}

/* ---- the redistributor's part --------------------------------------------------- */

/* The leased LPI counts as pending too, unless it has been routed elsewhere. */
static void forget_lease(struct av_vgic *vgic, const struct av_vgic_cpu *cpu)
{
	struct av_lpi *lpi = cpu->lease < AV_LPI_MIN || cpu->lease == AV_VGIC_NO_LEASE ?
			     NULL : av_lpi_find(vgic, cpu->lease);

	if (lpi && av_virq_target(vgic, &lpi->irq) == cpu)
		lpi->irq.lease_latch = false;
}

/* Pending LPIs are lost, as in the architecture. EnableLPIs is off, so no new one is raised. */
static void flush_pending(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	struct av_lpi *lpi;

	do {
		vgic->ops->lock(vgic);
		lpi = av_lpi_best(cpu);
		if (lpi) {
			lpi->irq.latch = false;
			av_lpi_changed(vgic, lpi);
		} else {
			forget_lease(vgic, cpu);
		}
		vgic->ops->unlock(vgic);
		vgic->ops->rest(vgic);
	} while (lpi);
}

/* Read the pending table, unless PTZ says that it is zero. */
static void load_pending_table(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	struct av_lpi *lpi;
	u64 last = ~0ULL;
	u8 byte = 0;
	u32 intid;

	if (cpu->pendbaser & AV_LPI_PTZ)
		return;
	av_idmap_for_each(&vgic->lpis, intid, lpi) {
		u64 at = pending_byte(cpu, intid);

		if (at != last && vgic->ops->read(vgic, at, &byte, sizeof(byte)))
			return;
		last = at;
		if (av_virq_target(vgic, &lpi->irq) == cpu)
			set_latch(vgic, lpi, byte >> (intid % 8) & 1);
		if (vgic->ops->rest(vgic))
			return;
	}
}

void av_lpi_enable(struct av_vgic *vgic, struct av_vgic_cpu *cpu, bool on)
{
	if (!vgic->has_its || cpu->lpis_on == on)
		return;
	vgic->ops->lock(vgic);
	cpu->lpis_on = on;
	vgic->ops->unlock(vgic);
	if (on)
		load_pending_table(vgic, cpu);
	else
		flush_pending(vgic, cpu);
}

void av_lpi_invalidate(struct av_vgic *vgic, u32 intid)
{
	struct av_lpi *lpi = av_lpi_find(vgic, intid);

	if (lpi)
		av_lpi_reload(vgic, lpi);
}

u64 av_gic_sanitise(u64 reg, unsigned int inner, unsigned int outer)
{
	u64 field = reg >> 10 & 3;

	if (field == 2)			/* outer shareable */
		reg ^= 3ULL << 10;
	field = reg >> inner & 7;
	if (field <= 1)			/* device or non-cacheable */
		reg = (reg & ~(7ULL << inner)) | AV_GIC_CACHE_RAWB << inner;
	field = reg >> outer & 7;
	if (field > 1)			/* neither "as inner" nor non-cacheable */
		reg &= ~(7ULL << outer);
	return reg;
}

u64 av_lpi_propbaser(u64 reg)
{
	return av_gic_sanitise(reg, 7, 56) & ~PROP_RES0;
}

u64 av_lpi_pendbaser(u64 reg)
{
	return av_gic_sanitise(reg, 7, 56) & ~PEND_RES0;
}
