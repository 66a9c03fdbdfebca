// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC's redistributor frames, RD_base and SGI_base. Pure; rules in
 * vgic.h and regs.h.
 */
#include "irq/lpi.h"
#include "irq/regs.h"

#define CTLR_ENABLE_LPIS BIT(0)
#define CTLR_CES	BIT(1)		/* EnableLPIs can be cleared */
#define CTLR_IR		BIT(2)		/* invalidation by register */
#define TYPER_PLPIS	BIT_ULL(0)
#define TYPER_LAST	BIT_ULL(4)

static u64 read_ctlr(const struct av_vgic_io *io, u32 intid)
{
	return (io->cpu->lpis_on ? CTLR_ENABLE_LPIS : 0) |
	       (io->vgic->revision >= AV_VGIC_REV_3 ? CTLR_IR | CTLR_CES : 0);
}

static u64 read_iidr(const struct av_vgic_io *io, u32 intid)
{
	return AV_GIC_IIDR;
}

/* As in KVM, without Aff3. */
#define AFFINITY	GENMASK_ULL(23, 0)

static u64 read_typer(const struct av_vgic_io *io, u32 intid)
{
	const struct av_vgic_cpu *cpu = io->cpu;
	u64 val = (u64)(READ_ONCE(cpu->mpidr) & AFFINITY) << 32 | (cpu->id & 0xffff) << 8;

	if (io->vgic->has_its)
		val |= TYPER_PLPIS;
	if (io->vgic->ops->is_last(io->vgic, cpu))
		val |= TYPER_LAST;
	return av_gic_part(io->offset, io->len, val);
}

static u64 read_propbaser(const struct av_vgic_io *io, u32 intid)
{
	return av_gic_part(io->offset, io->len, io->vgic->propbaser);
}

static u64 read_pendbaser(const struct av_vgic_io *io, u32 intid)
{
	return av_gic_part(io->offset, io->len, io->cpu->pendbaser & ~AV_LPI_PTZ);
}

#define IRQS	AV_VGIC_PRIVATE
#define SGI	0x10000

static const struct av_vgic_row rows[] = {
	{ 0x0000, 4, 0, W32, read_ctlr, NULL },
	{ 0x0004, 4, 0, W32, read_iidr, NULL },
	{ 0x0008, 8, 0, W32_64, read_typer, NULL },
	{ 0x0010, 4, 0, W32, av_vgic_raz, NULL },	/* STATUSR */
	{ 0x0014, 4, 0, W32, av_vgic_raz, NULL },	/* WAKER: always awake */
	{ 0x0070, 8, 0, W32_64, read_propbaser, NULL },
	{ 0x0078, 8, 0, W32_64, read_pendbaser, NULL },
	{ 0x00a0, 8, 0, W32_64, av_vgic_raz, NULL },	/* INVLPIR */
	{ 0x00b0, 8, 0, W32_64, av_vgic_raz, NULL },	/* INVALLR */
	{ 0x00c0, 4, 0, W32, av_vgic_raz, NULL },	/* SYNCR */
	{ 0xffd0, 48, 0, W32, av_vgic_read_idregs, NULL },
	{ SGI + 0x080, IRQS / 8, 1, W32, av_vgic_read_group, av_vgic_write_group },
	{ SGI + 0x100, IRQS / 8, 1, W32, av_vgic_read_enable, av_vgic_write_senable },
	{ SGI + 0x180, IRQS / 8, 1, W32, av_vgic_read_enable, av_vgic_write_cenable },
	{ SGI + 0x200, IRQS / 8, 1, W32, av_vgic_read_spending, av_vgic_write_spending },
	{ SGI + 0x280, IRQS / 8, 1, W32, av_vgic_read_cpending, av_vgic_write_cpending },
	{ SGI + 0x300, IRQS / 8, 1, W32, av_vgic_read_active, av_vgic_write_sactive },
	{ SGI + 0x380, IRQS / 8, 1, W32, av_vgic_read_active, av_vgic_write_cactive },
	{ SGI + 0x400, IRQS, 8, W8_32, av_vgic_read_priority, av_vgic_write_priority },
	{ SGI + 0xc00, IRQS / 4, 2, W32, av_vgic_read_config, av_vgic_write_config },
	{ SGI + 0xd00, IRQS / 8, 1, W32, av_vgic_raz, NULL },	/* IGRPMODR0 */
	{ SGI + 0xe00, 4, 0, W32, av_vgic_raz, NULL },		/* NSACR */
};

/* ---- writes with the MSI lock held ------------------------------------------ */

static int write_ctlr(const struct av_vgic_io *io, u32 intid, u64 val)
{
	av_lpi_enable(io->vgic, io->cpu, val & CTLR_ENABLE_LPIS);
	return 0;
}

/* Tables in use cannot move. */
static void set_base(const struct av_vgic_io *io, u64 *reg, u64 (*sanitise)(u64 reg), u64 val)
{
	struct av_vgic *vgic = io->vgic;

	if (io->cpu->lpis_on)
		return;
	vgic->ops->lock(vgic);
	*reg = sanitise(av_gic_merge(io->offset, io->len, *reg, val));
	vgic->ops->unlock(vgic);
}

static int write_propbaser(const struct av_vgic_io *io, u32 intid, u64 val)
{
	set_base(io, &io->vgic->propbaser, av_lpi_propbaser, val);
	return 0;
}

static int write_pendbaser(const struct av_vgic_io *io, u32 intid, u64 val)
{
	set_base(io, &io->cpu->pendbaser, av_lpi_pendbaser, val);
	return 0;
}

/* The upper word selects virtual interrupts of GICv4. */
static int write_invlpir(const struct av_vgic_io *io, u32 intid, u64 val)
{
	if (!(io->offset & 4) && io->cpu->lpis_on)
		av_lpi_invalidate(io->vgic, (u32)val);
	return 0;
}

static int write_invallr(const struct av_vgic_io *io, u32 intid, u64 val)
{
	if (!(io->offset & 4) && io->cpu->lpis_on)
		av_lpi_reload_all(io->vgic, io->cpu);
	return 0;
}

static const struct av_vgic_row lpi_rows[] = {
	{ 0x0000, 4, 0, W32, NULL, write_ctlr },
	{ 0x0070, 8, 0, W32_64, NULL, write_propbaser },
	{ 0x0078, 8, 0, W32_64, NULL, write_pendbaser },
	{ 0x00a0, 8, 0, W32_64, NULL, write_invlpir },
	{ 0x00b0, 8, 0, W32_64, NULL, write_invallr },
};

bool av_vgic_redist_is_lpis(const struct av_vgic_io *io)
{
	u32 intid;

	return av_vgic_row_find(lpi_rows, ARRAY_SIZE(lpi_rows), io, &intid);
}

int av_vgic_redist_write_lpis(const struct av_vgic_io *io, u64 val)
{
	const struct av_vgic_row *row;
	u32 intid;

	row = av_vgic_row_find(lpi_rows, ARRAY_SIZE(lpi_rows), io, &intid);
	return row ? row->write(io, intid, val) : -ENXIO;
}

/* ---- all other accesses, under the vGIC's lock ----------------------------------- */

bool av_vgic_redist_has(const struct av_vgic_io *io)
{
	u32 intid;

	return av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
}

int av_vgic_redist_read(const struct av_vgic_io *io, u64 *val)
{
	const struct av_vgic_row *row;
	u32 intid;

	*val = 0;
	row = av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
	if (!row)
		return -ENXIO;
	*val = row->read(io, intid);
	return 0;
}

int av_vgic_redist_write(const struct av_vgic_io *io, u64 val)
{
	const struct av_vgic_row *row;
	u32 intid;

	row = av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
	if (!row)
		return -ENXIO;
	return row->write ? row->write(io, intid, val) : 0;
}
