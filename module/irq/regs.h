/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory-mapped registers of the vGIC as rows, for dist.c and redist.c.
 *
 * A row is one register, or a bank of registers with a field per interrupt.
 * Both frames share the accessors of the banks: the distributor has the fields
 * of SPIs, a redistributor those of SGIs and PPIs.
 */
#ifndef AV_IRQ_REGS_H
#define AV_IRQ_REGS_H

#include "irq/vgic.h"

/* Access widths of a register, in bytes; each is a bit. */
enum { W8 = 1, W32 = 4, W64 = 8, W8_32 = W8 | W32, W32_64 = W32 | W64 };

/* GICx_IIDR: product and implementer as KVM's, revision 0. */
#define AV_GIC_IIDR		0x4b00043bU
#define AV_GIC_IIDR_REVISION	GENMASK(15, 12)
/* GICx_PIDR2: an Arm GICv3. */
#define AV_GIC_PIDR2_OFFSET	0xffe8
#define AV_GIC_PIDR2		0x3b

struct av_vgic_row {
	u32 offset, size;	/* in bytes */
	u8 bits;		/* per interrupt of a bank; 0: a single register */
	u8 widths;
	/* @intid: the first interrupt of an access to a bank. */
	u64 (*read)(const struct av_vgic_io *io, u32 intid);
	/* NULL ignores writes. 0 or -EINVAL. */
	int (*write)(const struct av_vgic_io *io, u32 intid, u64 val);
};

/* The row of this access and its first interrupt, or NULL. */
const struct av_vgic_row *av_vgic_row_find(const struct av_vgic_row *rows, unsigned int n,
					   const struct av_vgic_io *io, u32 *intid);

/* The value that a read of @len bytes at @offset gets from a 64-bit register. */
static inline u64 av_gic_part(u32 offset, u8 len, u64 reg)
{
	u64 val = reg >> ((offset & 7) * 8);

	return len == 8 ? val : (u32)val;
}

/* The value of a 64-bit register after a write of @len bytes at @offset. */
static inline u64 av_gic_merge(u32 offset, u8 len, u64 reg, u64 val)
{
	unsigned int lower = (offset & 4) * 8;
	u64 mask = len == 8 ? ~0ULL : GENMASK_ULL(31, 0) << lower;

	return (reg & ~mask) | (val << lower & mask);
}

u64 av_vgic_raz(const struct av_vgic_io *io, u32 intid);
u64 av_vgic_rao(const struct av_vgic_io *io, u32 intid);
u64 av_vgic_read_idregs(const struct av_vgic_io *io, u32 intid);

u64 av_vgic_read_group(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_group(const struct av_vgic_io *io, u32 intid, u64 val);
u64 av_vgic_read_enable(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_senable(const struct av_vgic_io *io, u32 intid, u64 val);
int av_vgic_write_cenable(const struct av_vgic_io *io, u32 intid, u64 val);
u64 av_vgic_read_spending(const struct av_vgic_io *io, u32 intid);
u64 av_vgic_read_cpending(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_spending(const struct av_vgic_io *io, u32 intid, u64 val);
int av_vgic_write_cpending(const struct av_vgic_io *io, u32 intid, u64 val);
u64 av_vgic_read_active(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_sactive(const struct av_vgic_io *io, u32 intid, u64 val);
int av_vgic_write_cactive(const struct av_vgic_io *io, u32 intid, u64 val);
u64 av_vgic_read_priority(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_priority(const struct av_vgic_io *io, u32 intid, u64 val);
u64 av_vgic_read_config(const struct av_vgic_io *io, u32 intid);
int av_vgic_write_config(const struct av_vgic_io *io, u32 intid, u64 val);

#endif /* AV_IRQ_REGS_H */
