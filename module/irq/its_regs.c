// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of an ITS, one row each. The second frame, the doorbell, has no
 * registers: messages come from KVM_SIGNAL_MSI and irqfds, not from stores of
 * the guest. Pure; rules in its.h.
 */
#include "irq/its.h"
#include "irq/regs.h"

#define CTLR_ENABLE		BIT(0)
#define CTLR_QUIESCENT		BIT(31)
#define TYPER_PLPIS		BIT_ULL(0)	/* physical LPIs */
#define TYPER_ITT_ENTRY		GENMASK_ULL(7, 4)
#define TYPER_ID_BITS		GENMASK_ULL(12, 8)
#define TYPER_DEVICE_BITS	GENMASK_ULL(17, 13)
#define BASER_FIXED		(GENMASK_ULL(58, 56) | GENMASK_ULL(52, 48))	/* type, entry size */
#define BASER_PAGE_SIZE		GENMASK_ULL(9, 8)
#define QUEUE_OFFSET		GENMASK_ULL(19, 5)

static u64 part(const struct av_its_io *io, u64 reg)
{
	return av_gic_part(io->offset, io->len, reg);
}

static u64 read_ctlr(const struct av_its_io *io)
{
	const struct av_its *its = io->its;

	return (its->creadr == its->cwriter ? CTLR_QUIESCENT : 0) |
	       (its->enabled ? CTLR_ENABLE : 0);
}

static int write_ctlr(const struct av_its_io *io, u64 val)
{
	struct av_its *its = io->its;
	struct av_vgic *vgic = its->vgic;
	bool on = val & CTLR_ENABLE;

	/* The ITS stays off until its tables and queue are valid. */
	if (on && !its->enabled &&
	    !(its->baser[AV_ITS_DEVICES] & its->baser[AV_ITS_COLLECTIONS] & its->cbaser &
	      AV_ITS_VALID))
		return 0;
	vgic->ops->lock(vgic);
	its->enabled = on;
	vgic->ops->unlock(vgic);
	return 0;
}

/* The revision is that of the saved tables' layout. */
static u64 read_iidr(const struct av_its_io *io)
{
	return AV_GIC_IIDR;
}

static int write_iidr(const struct av_its_io *io, u64 val)
{
	return io->user && FIELD_GET(AV_GIC_IIDR_REVISION, val) ? -EINVAL : 0;
}

static u64 read_typer(const struct av_its_io *io)
{
	return part(io, TYPER_PLPIS | FIELD_PREP(TYPER_ITT_ENTRY, AV_ITS_ENTRY - 1) |
			FIELD_PREP(TYPER_ID_BITS, AV_ITS_ID_BITS - 1) |
			FIELD_PREP(TYPER_DEVICE_BITS, AV_ITS_ID_BITS - 1));
}

static u64 read_cbaser(const struct av_its_io *io)
{
	return part(io, io->its->cbaser);
}

/* A new queue is empty. Its address is 64 KiB-aligned. */
static int write_cbaser(const struct av_its_io *io, u64 val)
{
	struct av_its *its = io->its;

	if (its->enabled)
		return 0;
	its->cbaser = av_gic_sanitise(av_gic_merge(io->offset, io->len, its->cbaser, val),
				      59, 53) & ~GENMASK_ULL(15, 12);
	its->creadr = 0;
	its->cwriter = 0;
	return 0;
}

static u64 read_cwriter(const struct av_its_io *io)
{
	return part(io, io->its->cwriter);
}

static int write_cwriter(const struct av_its_io *io, u64 val)
{
	struct av_its *its = io->its;
	u64 to = av_gic_merge(io->offset, io->len, its->cwriter, val) & QUEUE_OFFSET;

	if (to < av_its_queue_size(its))
		its->cwriter = (u32)to;
	return 0;
}

static u64 read_creadr(const struct av_its_io *io)
{
	return part(io, io->its->creadr);
}

static int write_creadr(const struct av_its_io *io, u64 val)
{
	struct av_its *its = io->its;
	u64 to = val & QUEUE_OFFSET;

	if (!io->user)
		return 0;
	if (its->enabled)
		return -EBUSY;
	if (to >= av_its_queue_size(its))
		return -EINVAL;
	its->creadr = (u32)to;
	return 0;
}

static unsigned int table_of(const struct av_its_io *io)
{
	return io->offset / sizeof(u64) & 7;
}

static u64 read_baser(const struct av_its_io *io)
{
	unsigned int table = table_of(io);

	if (table >= AV_ITS_TABLES)
		return 0;
	return part(io, io->its->baser[array_index_nospec(table, AV_ITS_TABLES)]);
}

/* A new table drops the mappings of the old one. */
static int write_baser(const struct av_its_io *io, u64 val)
{
	struct av_its *its = io->its;
	unsigned int table = table_of(io);
	u64 old, reg;

	if (its->enabled || table >= AV_ITS_TABLES)
		return 0;
	table = array_index_nospec(table, AV_ITS_TABLES);
	old = its->baser[table];
	reg = av_gic_merge(io->offset, io->len, old, val) & ~(BASER_FIXED | BASER_PAGE_SIZE);
	reg = av_gic_sanitise(reg, 59, 53) | (old & BASER_FIXED) | AV_ITS_BASER_PAGE_64K;
	if (table == AV_ITS_COLLECTIONS)
		reg &= ~AV_ITS_INDIRECT;
	its->baser[table] = reg;
	if (reg == old)
		return 0;
	if (table == AV_ITS_DEVICES)
		av_its_free_devices(its);
	else
		av_its_free_collections(its);
	return 0;
}

/* Peripheral and component identification: an Arm GICv3 ITS with 64 KiB frames. */
static u64 read_idregs(const struct av_its_io *io)
{
	switch (io->offset) {
	case 0xffd0:
		return 0x40;
	case 0xffe0:
		return 0x92;
	case 0xffe4:
		return 0xb4;
	case AV_GIC_PIDR2_OFFSET:
		return AV_GIC_PIDR2;
	case 0xfff0:
		return 0x0d;
	case 0xfff4:
		return 0xf0;
	case 0xfff8:
		return 0x05;
	case 0xfffc:
		return 0xb1;
	}
	return 0;
}


static const struct its_row {
	u32 offset, size;
	u8 widths;
	u64 (*read)(const struct av_its_io *io);
	int (*write)(const struct av_its_io *io, u64 val);	/* NULL: writes are ignored */
} rows[] = {
	{ 0x0000, 4, W32, read_ctlr, write_ctlr },
	{ 0x0004, 4, W32, read_iidr, write_iidr },
	{ 0x0008, 8, W32_64, read_typer, NULL },
	{ 0x0080, 8, W32_64, read_cbaser, write_cbaser },
	{ 0x0088, 8, W32_64, read_cwriter, write_cwriter },
	{ 0x0090, 8, W32_64, read_creadr, write_creadr },
	{ 0x0100, 0x40, W32_64, read_baser, write_baser },
	{ 0xffd0, 0x30, W32, read_idregs, NULL },
};

static const struct its_row *row_at(u32 offset)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (offset >= rows[i].offset && offset - rows[i].offset < rows[i].size)
			return &rows[i];
	return NULL;
}

static const struct its_row *row_of(const struct av_its_io *io)
{
	const struct its_row *row = row_at(io->offset);

	return row && row->widths & io->len && io->offset % io->len == 0 ? row : NULL;
}

u8 av_its_user_width(u32 offset)
{
	const struct its_row *row = row_at(offset);

	if (!row)
		return 0;
	return row->widths & W64 ? 8 : 4;
}

/* Accesses execute queued commands, except the VMM's reads. */
int av_its_read(const struct av_its_io *io, u64 *val)
{
	const struct its_row *row = row_of(io);

	*val = 0;
	if (!row)
		return -ENXIO;
	if (!io->user)
		av_its_run(io->its);
	*val = row->read(io);
	return 0;
}

int av_its_write(const struct av_its_io *io, u64 val)
{
	const struct its_row *row = row_of(io);
	int r = 0;

	if (!row)
		return -ENXIO;
	if (row->write)
		r = row->write(io, val);
	if (!r)
		av_its_run(io->its);
	return r;
}
