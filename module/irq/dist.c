// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC's distributor frame. Pure; rules in vgic.h and regs.h.
 */
#include "irq/lpi.h"
#include "irq/regs.h"

#define CTLR_ENABLE_GRP1	BIT(1)		/* EnableGrp1 with one security state */
#define CTLR_ARE		BIT(4)
#define CTLR_DS			BIT(6)
#define TYPER_LPIS		BIT(17)
#define TYPER_ID_BITS		GENMASK(23, 19)	/* of INTIDs, less one */
#define ID_BITS_SPIS		10

static u64 read_ctlr(const struct av_vgic_io *io, u32 intid)
{
	return (io->vgic->enabled ? CTLR_ENABLE_GRP1 : 0) | CTLR_ARE | CTLR_DS;
}

static int write_ctlr(const struct av_vgic_io *io, u32 intid, u64 val)
{
	bool enabled = val & CTLR_ENABLE_GRP1;

	if (enabled != io->vgic->enabled) {
		io->vgic->enabled = enabled;
		av_vgic_update_all(io->vgic);
	}
	return 0;
}

static u64 read_typer(const struct av_vgic_io *io, u32 intid)
{
	u64 val = av_vgic_nr_irqs(io->vgic) / 32 - 1;

	if (!io->vgic->has_its)
		return val | FIELD_PREP(TYPER_ID_BITS, ID_BITS_SPIS - 1);
	return val | FIELD_PREP(TYPER_ID_BITS, AV_LPI_ID_BITS - 1) | TYPER_LPIS;
}

static u64 read_iidr(const struct av_vgic_io *io, u32 intid)
{
	/* The VMM may ask before the vGIC is initialized. */
	u64 revision = io->vgic->revision ?: AV_VGIC_REV_3;

	return AV_GIC_IIDR | FIELD_PREP(AV_GIC_IIDR_REVISION, revision);
}

/* The VMM may select an older revision of KVM's model. */
static int write_iidr(const struct av_vgic_io *io, u32 intid, u64 val)
{
	u32 revision = (u32)FIELD_GET(AV_GIC_IIDR_REVISION, val);

	if (!io->user)
		return 0;
	if (((u32)val ^ read_iidr(io, intid)) & ~AV_GIC_IIDR_REVISION)
		return -EINVAL;
	if (revision != AV_VGIC_REV_2 && revision != AV_VGIC_REV_3)
		return -EINVAL;
	io->vgic->revision = (u8)revision;
	return 0;
}

/* TYPER2 reads zero, and zero is the only value that can be restored. */
static int write_typer2(const struct av_vgic_io *io, u32 intid, u64 val)
{
	return io->user && val ? -EINVAL : 0;
}

/* There is no Aff3: the upper word reads zero and ignores writes. */
static u64 read_irouter(const struct av_vgic_io *io, u32 intid)
{
	const struct av_virq *irq = av_vgic_irq(io->vgic, io->cpu, intid);

	return irq ? av_gic_part(io->offset, io->len, irq->mpidr) : 0;
}

static int write_irouter(const struct av_vgic_io *io, u32 intid, u64 val)
{
	struct av_virq *irq = av_vgic_irq(io->vgic, io->cpu, intid);

	if (irq && !(io->offset & 4))
		av_virq_route(io->vgic, irq, intid, val & GENMASK(23, 0));
	return 0;
}

#define IRQS	AV_VGIC_MAX_IRQS

static const struct av_vgic_row rows[] = {
	{ 0x0000, 4, 0, W32, read_ctlr, write_ctlr },
	{ 0x0004, 4, 0, W32, read_typer, NULL },
	{ 0x0008, 4, 0, W32, read_iidr, write_iidr },
	{ 0x000c, 4, 0, W32, av_vgic_raz, write_typer2 },
	{ 0x0010, 4, 0, W32, av_vgic_rao, NULL },			/* STATUSR */
	{ 0x0080, IRQS / 8, 1, W32, av_vgic_read_group, av_vgic_write_group },
	{ 0x0100, IRQS / 8, 1, W32, av_vgic_read_enable, av_vgic_write_senable },
	{ 0x0180, IRQS / 8, 1, W32, av_vgic_read_enable, av_vgic_write_cenable },
	{ 0x0200, IRQS / 8, 1, W32, av_vgic_read_spending, av_vgic_write_spending },
	{ 0x0280, IRQS / 8, 1, W32, av_vgic_read_cpending, av_vgic_write_cpending },
	{ 0x0300, IRQS / 8, 1, W32, av_vgic_read_active, av_vgic_write_sactive },
	{ 0x0380, IRQS / 8, 1, W32, av_vgic_read_active, av_vgic_write_cactive },
	{ 0x0400, IRQS, 8, W8_32, av_vgic_read_priority, av_vgic_write_priority },
	{ 0x0800, IRQS, 8, W8_32, av_vgic_raz, NULL },			/* ITARGETSR */
	{ 0x0c00, IRQS / 4, 2, W32, av_vgic_read_config, av_vgic_write_config },
	{ 0x0d00, IRQS / 8, 1, W32, av_vgic_raz, NULL },		/* IGRPMODR */
	{ 0x6000, IRQS * 8, 64, W32_64, read_irouter, write_irouter },
	{ 0xffd0, 48, 0, W32, av_vgic_read_idregs, NULL },
};

bool av_vgic_dist_has(const struct av_vgic_io *io)
{
	u32 intid;

	return av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
}

u32 av_vgic_dist_observes(const struct av_vgic_io *io, bool write, u32 *intid)
{
	const struct av_vgic_row *row = av_vgic_row_find(rows, ARRAY_SIZE(rows), io, intid);

	if (!row || !row->bits)
		return 0;
	if (!write && row->read != av_vgic_read_spending && row->read != av_vgic_read_cpending &&
	    row->read != av_vgic_read_active)
		return 0;
	return max_t(u32, io->len * 8U / row->bits, 1);
}

int av_vgic_dist_read(const struct av_vgic_io *io, u64 *val)
{
	const struct av_vgic_row *row;
	u32 intid;

	*val = 0;
	row = av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
	if (!row)
		return -ENXIO;
	/* Private interrupts belong to the redistributors. */
	if (!row->bits || intid >= AV_VGIC_PRIVATE)
		*val = row->read(io, intid);
	return 0;
}

int av_vgic_dist_write(const struct av_vgic_io *io, u64 val)
{
	const struct av_vgic_row *row;
	u32 intid;

	row = av_vgic_row_find(rows, ARRAY_SIZE(rows), io, &intid);
	if (!row)
		return -ENXIO;
	if (!row->write || (row->bits && intid < AV_VGIC_PRIVATE))
		return 0;
	return row->write(io, intid, val);
}
