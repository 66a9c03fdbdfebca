// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC as software sees it, two vCPUs: registers, delivery, priorities,
 * end of interrupt, SGIs, routing, save and restore.
 */
#include "check.h"
#include "vgic_world.h"

static void line(int cpu, u32 intid, bool level)
{
	CHECK_EQ(av_vgic_inject(&vgic, &cpus[cpu], intid, level, false), 0);
}

static void identity(void)
{
	struct av_vgic_io io;
	u64 val;

	reset();
	CHECK_EQ(dist(0xc08), 0xaaaaaaaa);	/* as KVM's: edge-triggered */
	boot();
	CHECK_EQ(dist(0), 0x52);
	CHECK_EQ(dist(4), 2 | 9 << 19);
	CHECK_EQ(dist(8), 0x4b00343b);
	CHECK_EQ(dist(0xffe8), 0x3b);
	CHECK_EQ(dist(0xffe4), 0);
	CHECK_EQ(redist(0, 0xffe8), 0x3b);
	CHECK_EQ(redist(0, 4), 0x4b00043b);
	CHECK_EQ(redist(0, 0), 6);
	io = io_at(1, 8, 8, false);
	CHECK_EQ(av_vgic_redist_read(&io, &val), 0);
	CHECK_EQ(val, 1ULL << 32 | 1 << 8 | 1 << 4);
	CHECK_EQ(redist(1, 0xc), 1);
	CHECK_EQ(redist(0, 8), 0);
	CHECK_EQ(icc(0, CTLR), 0x8c00);
	CHECK_EQ(icc(0, SRE), 7);
	CHECK_EQ(av_vgic_affinity(0x21), 0x201);
}

static void access_widths(void)
{
	struct av_vgic_io io;
	u64 val;

	boot();
	io = io_at(0, 0x420, 1, false);		/* priorities take bytes */
	CHECK_EQ(av_vgic_dist_read(&io, &val), 0);
	CHECK_EQ(val, 0xa0);
	io = io_at(0, 0x100, 1, false);		/* enables do not */
	CHECK_EQ(av_vgic_dist_read(&io, &val), -ENXIO);
	CHECK_EQ(val, 0);
	io = io_at(0, 0x102, 4, false);		/* misaligned */
	CHECK_EQ(av_vgic_dist_read(&io, &val), -ENXIO);
	io = io_at(0, 0x6100, 8, false);
	CHECK_EQ(av_vgic_dist_read(&io, &val), 0);
	io = io_at(0, 0x6100, 2, false);
	CHECK_EQ(av_vgic_dist_write(&io, 1), -ENXIO);
	io = io_at(0, 0x100 + (32 + NR_SPIS) / 8, 4, false);	/* past the last SPI */
	CHECK_EQ(av_vgic_dist_read(&io, &val), -ENXIO);
	/* Private interrupts read zero in the distributor. */
	CHECK_EQ(dist(0x100), 0);
	dist_set(0x200, ~0u);
	CHECK_EQ(redist(0, SGI_BASE + 0x200), 0);
	CHECK_EQ(redist(0, SGI_BASE + 0x100), 0xffff);
}

/* The end names another interrupt than the one that runs: that one stays active. */
static void wrong_end(void)
{
	boot();
	dist_set(0x104, 3 << 8);
	dist_set(0x428, 0xa0a040a0);			/* 41 before 40 */
	line(0, 40, true);
	CHECK_EQ(icc(0, IAR1), 40);
	line(0, 41, true);
	CHECK_EQ(icc(0, IAR1), 41);
	line(0, 40, false);
	line(0, 41, false);
	icc_set(0, EOIR1, 40);
	CHECK_EQ(icc(0, RPR), 0xa0);
	CHECK_EQ(dist(0x304), 3 << 8);
}

static void level_spi(void)
{
	boot();
	line(0, 40, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);			/* not enabled */
	dist_set(0x104, 1 << 8);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(kicks[0], 1);
	CHECK_EQ(icc(0, HPPIR1), 40);
	CHECK_EQ(icc(1, HPPIR1), 1023);
	CHECK_EQ(icc(1, IAR1), 1023);
	CHECK_EQ(icc(0, RPR), 0xff);
	CHECK_EQ(icc(0, IAR1), 40);
	CHECK_EQ(icc(0, RPR), 0xa0);
	CHECK_EQ(icc(0, AP1R0), 1 << (0xa0 >> 3));
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(dist(0x304), 1 << 8);
	CHECK_EQ(dist(0x204), 1 << 8);			/* active and pending: the line is high */
	CHECK_EQ(icc(0, IAR1), 1023);
	icc_set(0, EOIR1, 40);
	CHECK_EQ(icc(0, RPR), 0xff);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);		/* again, as the line still is */
	line(0, 40, false);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(icc(0, IAR1), 1023);
}

static void edge_spi(void)
{
	boot();
	dist_set(0xc08, 2);				/* 32: edge */
	CHECK_EQ(dist(0xc08), 2);
	dist_set(0x104, 1);
	line(0, 32, true);
	line(0, 32, false);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);		/* latched */
	CHECK_EQ(icc(0, IAR1), 32);
	CHECK_EQ(dist(0x204), 0);
	line(0, 32, true);				/* another while active */
	CHECK_EQ(dist(0x204), 1);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(icc(0, IAR1), 32);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(icc(0, IAR1), 1023);
	CHECK_EQ(av_vgic_inject(&vgic, &cpus[0], 32 + NR_SPIS, true, false), -EINVAL);
	CHECK_EQ(av_vgic_inject(&vgic, NULL, 20, true, false), -EINVAL);
}

static void priorities(void)
{
	boot();
	dist_set(0x104, 7);
	dist_set(0x420, 0x00408047);			/* 32: 0x47 → 0x40, 33: 0x80, 34: 0x40 */
	CHECK_EQ(dist(0x420) & 0xffffff, 0x408040);
	line(0, 33, true);
	CHECK_EQ(icc(0, IAR1), 33);
	line(0, 34, true);				/* preempts */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	line(0, 32, true);				/* of equal priority: the lower number */
	CHECK_EQ(icc(0, IAR1), 32);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);			/* 34 cannot preempt its equal */
	CHECK_EQ(icc(0, HPPIR1), 34);
	CHECK_EQ(icc(0, IAR1), 1023);
	line(0, 32, false);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(icc(0, IAR1), 34);
	line(0, 34, false);
	icc_set(0, EOIR1, 34);
	CHECK_EQ(icc(0, RPR), 0x80);
	line(0, 33, false);
	icc_set(0, EOIR1, 33);
	CHECK_EQ(icc(0, RPR), 0xff);
	/* PMR */
	line(0, 33, true);
	icc_set(0, PMR, 0x80);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	icc_set(0, PMR, 0x8f);				/* five bits: 0x88 */
	CHECK_EQ(icc(0, PMR), 0x88);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
}

static void binary_point(void)
{
	boot();
	icc_set(0, BPR1, 0);
	CHECK_EQ(icc(0, BPR1), 3);
	icc_set(0, BPR0, 0);
	CHECK_EQ(icc(0, BPR0), 2);
	icc_set(0, BPR1, 7);				/* one bit of group priority */
	dist_set(0x104, 3);
	dist_set(0x420, 0x0080);			/* 32: 0x80, 33: 0 */
	dist_set(0x420, 0x00004060);			/* 32: 0x60, 33: 0x40, both group 0x00 */
	line(0, 32, true);
	CHECK_EQ(icc(0, IAR1), 32);
	line(0, 33, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);			/* higher, but of one group priority */
	CHECK_EQ(icc(0, RPR), 0);
	line(0, 32, false);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(dist(0x304), 0);
	CHECK_EQ(icc(0, IAR1), 33);
	icc_set(0, CTLR, 1);				/* CBPR */
	CHECK_EQ(icc(0, BPR1), 3);
	icc_set(0, BPR1, 5);				/* ignored */
	icc_set(0, CTLR, 0);
	CHECK_EQ(icc(0, BPR1), 7);
}

/* What is active was acknowledged under another binary point than there is now. */
static void binary_point_moves(void)
{
	boot();
	dist_set(0x104, 3);
	dist_set(0x420, 0x00004060);			/* 32: 0x60, 33: 0x40 */
	line(0, 32, true);
	CHECK_EQ(icc(0, IAR1), 32);
	icc_set(0, BPR1, 7);				/* both of group 0x00 from here on */
	line(0, 33, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(icc(0, IAR1), 1023);
	CHECK_EQ(icc(0, RPR), 0x60);			/* as it was acknowledged */
	icc_set(0, BPR1, 3);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(icc(0, IAR1), 33);
}

/* BPR0 is 7: nothing that is active is preempted, of group 1 neither if CBPR is set. */
static void no_group_priority(void)
{
	boot();
	icc_set(0, CTLR, 1);				/* CBPR */
	icc_set(0, BPR0, 7);
	dist_set(0x104, 3);
	dist_set(0x420, 0x000040c0);			/* 32: 0xc0, 33: 0x40 */
	line(0, 32, true);
	CHECK_EQ(icc(0, IAR1), 32);
	CHECK_EQ(icc(0, RPR), 0);
	line(0, 33, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	icc_set(0, BPR0, 6);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);	/* 32 was acknowledged as 0 */
	line(0, 32, false);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(icc(0, IAR1), 33);
}

static void eoi_modes(void)
{
	boot();
	dist_set(0x104, 1);
	spis[0].notify = true;
	icc_set(0, CTLR, 2);
	line(0, 32, true);
	CHECK_EQ(icc(0, IAR1), 32);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(icc(0, RPR), 0xff);			/* priority dropped … */
	CHECK_EQ(dist(0x304), 1);			/* … still active */
	CHECK_EQ(cpus[0].deactivated, 0);
	icc_set(0, DIR, 32);
	CHECK_EQ(dist(0x304), 0);
	CHECK_EQ(cpus[0].deactivated, 32);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	icc_set(0, CTLR, 0);
	CHECK_EQ(icc(0, IAR1), 32);
	icc_set(0, DIR, 32);				/* ignored in this mode */
	CHECK_EQ(dist(0x304), 1);
	icc_set(0, EOIR1, 1023);			/* special: nothing */
	CHECK_EQ(icc(0, RPR), 0xa0);
	icc_set(0, EOIR1, 33);				/* not active: drops only */
	CHECK_EQ(icc(0, RPR), 0xff);
	CHECK_EQ(dist(0x304), 1);
	dist_set(0x384, 1);				/* ICACTIVER helps */
	CHECK_EQ(dist(0x304), 0);
	icc_set(0, EOIR1, 32);				/* nothing is active */
	CHECK_EQ(icc(0, RPR), 0xff);
}

/* As in KVM, EOIR on another vCPU than the acknowledging one does not end an SPI. */
static void eoi_elsewhere(void)
{
	boot();
	icc_set(1, GRPEN1, 1);
	icc_set(1, PMR, 0xff);
	dist_set(0x104, 1);
	dist_set(0x420, 0xa0);
	line(0, 32, true);
	CHECK_EQ(icc(0, IAR1), 32);
	line(0, 32, false);
	redist_set(1, SGI_BASE + 0x400, 0xa0);
	redist_set(1, SGI_BASE + 0x200, 1);
	CHECK_EQ(icc(1, IAR1), 0);
	icc_set(1, EOIR1, 32);				/* of the running priority, too */
	CHECK_EQ(icc(1, RPR), 0xff);
	CHECK_EQ(dist(0x304), 1);
	CHECK_EQ(redist(1, SGI_BASE + 0x300), 1);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(dist(0x304), 0);
	/* Made active by a register: where it is routed to. */
	dist_set(0x304, 1);
	redist_set(1, SGI_BASE + 0x380, 1);
	redist_set(1, SGI_BASE + 0x200, 1);
	CHECK_EQ(icc(1, IAR1), 0);
	icc_set(1, EOIR1, 32);
	CHECK_EQ(dist(0x304), 1);
}

static void groups(void)
{
	boot();
	dist_set(0x104, 1);
	dist_set(0x084, ~1u);				/* 32 in group 0 */
	CHECK_EQ(dist(0x084), ~1u);
	line(0, 32, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);			/* group 0 is off */
	icc_set(0, GRPEN0, 1);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_FIQ);
	CHECK_EQ(icc(0, IAR1), 1023);
	CHECK_EQ(icc(0, IAR0), 32);
	CHECK_EQ(icc(0, AP0R0), 1 << 20);
	icc_set(0, EOIR0, 32);
	CHECK_EQ(icc(0, RPR), 0xff);
	dist_set(0, 0);					/* the distributor off */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(icc(0, IAR0), 1023);
	dist_set(0, 2);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_FIQ);
}

/*
 * An interrupt that passes the mask wakes a vCPU that the VMM suspended, in a disabled group too.
 */
static void suspended(void)
{
	unsigned int before;

	boot();
	dist_set(0x104, 1 << 8);
	icc_set(0, GRPEN1, 0);
	line(0, 40, true);
	CHECK_EQ(cpus[0].out, 0);
	before = kicks[0];
	cpus[0].suspended = true;
	av_vgic_update_cpu(&vgic, &cpus[0]);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAKES);
	CHECK_EQ(kicks[0], before + 1);
	line(0, 40, false);
	CHECK_EQ(cpus[0].out, 0);
	line(0, 40, true);
	CHECK_EQ(kicks[0], before + 2);
	icc_set(0, PMR, 0xa0);				/* not above the mask */
	CHECK_EQ(cpus[0].out, 0);
	icc_set(0, PMR, 0xa8);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAKES);
	dist_set(0, 0);					/* the distributor is off */
	CHECK_EQ(cpus[0].out, 0);
	dist_set(0, 2);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAKES);
	icc_set(0, GRPEN1, 1);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAKES | AV_VGIC_WAITS | AV_VGIC_IRQ);
	cpus[0].suspended = false;
	av_vgic_update_cpu(&vgic, &cpus[0]);
	CHECK_EQ(cpus[0].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
}

static void sgis(void)
{
	boot();
	icc_set(0, SGI1R, 3ULL << 24 | 1 << 1);		/* SGI 3 to the second */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(kicks[1], 1);
	CHECK_EQ(redist(1, SGI_BASE + 0x200), 1 << 3);
	CHECK_EQ(icc(1, IAR1), 3);
	icc_set(1, EOIR1, 3);
	icc_set(0, SGI1R, 1ULL << 40 | 5ULL << 24);	/* all but itself */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(icc(1, IAR1), 5);
	icc_set(1, EOIR1, 5);
	icc_set(0, SGI1R, 1ULL << 16 | 2);		/* another cluster: nobody */
	icc_set(0, SGI1R, 1ULL << 32 | 2);
	icc_set(0, SGI1R, 1ULL << 48 | 2);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);
	icc_set(0, SGI0R, 2);				/* group 1 SGIs are not for it */
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);
	icc_set(0, SGI1R, 1);				/* to itself */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(icc(0, IAR1), 0);
}

static void routing(void)
{
	boot();
	dist_set(0x104, 1);
	line(0, 32, true);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	dist_set(0x6100, 1);				/* to the second, while pending */
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	dist_set(0x6104, ~0u);				/* no Aff3 */
	CHECK_EQ(dist(0x6104), 0);
	dist_set(0x6100, 77);				/* nobody */
	CHECK_EQ(dist(0x6100), 77);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	dist_set(0x6100, 0x80000000);			/* IRM is not there */
	CHECK_EQ(dist(0x6100), 0);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	/* Active on the first, then routed away: ended where it was taken. */
	CHECK_EQ(icc(0, IAR1), 32);
	dist_set(0x6100, 1);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);
	icc_set(0, EOIR1, 32);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
}

static void ppis(void)
{
	boot();
	redist_set(1, SGI_BASE + 0x100, 1 << 27);
	cpus[1].private[27].owned = true;
	CHECK_EQ(av_vgic_inject(&vgic, &cpus[1], 27, true, false), 0);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);			/* the module's own */
	av_vgic_lines_write(&vgic, &cpus[1], 0, ~0u);
	CHECK_EQ(av_vgic_lines_read(&vgic, &cpus[1], 0), 0xf7ff0000);
	av_vgic_lines_write(&vgic, &cpus[1], 0, 0);
	CHECK_EQ(av_vgic_inject(&vgic, &cpus[1], 27, true, true), 0);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(cpus[0].out & AV_VGIC_LINES, 0);
	redist_set(1, SGI_BASE + 0xc04, ~0u);		/* kind of PPIs is fixed */
	CHECK_EQ(redist(1, SGI_BASE + 0xc04), 0);
	CHECK_EQ(redist(1, SGI_BASE + 0xc00), 0xaaaaaaaa);
	CHECK_EQ(icc(1, IAR1), 27);
	CHECK_EQ(av_vgic_inject(&vgic, &cpus[1], 27, false, true), 0);
	icc_set(1, EOIR1, 27);
	CHECK_EQ(cpus[1].out & AV_VGIC_LINES, 0);
}

static void save_and_restore(void)
{
	struct av_vgic_io io;
	u64 val;

	boot();
	line(0, 32, true);
	io = io_at(0, 0x204, 4, true);
	CHECK_EQ(av_vgic_dist_read(&io, &val), 0);
	CHECK_EQ(val, 0);				/* lines are saved apart */
	CHECK_EQ(av_vgic_lines_read(&vgic, &cpus[0], 32), 1);
	CHECK_EQ(av_vgic_dist_write(&io, 6), 0);
	CHECK_EQ(av_vgic_dist_write(&io, 2), 0);	/* sets and clears */
	CHECK_EQ(av_vgic_dist_read(&io, &val), 0);
	CHECK_EQ(val, 2);
	av_vgic_lines_write(&vgic, &cpus[0], 32, 8);
	CHECK_EQ(av_vgic_lines_read(&vgic, &cpus[0], 32), 8);
	CHECK_EQ(dist(0x204), 8 | 2);
	av_vgic_lines_write(&vgic, &cpus[0], 0, ~0u);	/* SGIs have none */
	CHECK_EQ(av_vgic_lines_read(&vgic, &cpus[0], 0), 0xffff0000);

	io = io_at(0, 8, 4, true);
	CHECK_EQ(av_vgic_dist_write(&io, 0x4b00243b), 0);
	CHECK_EQ(dist(8), 0x4b00243b);
	CHECK_EQ(redist(0, 0), 0);			/* revision 2 has no IR, CES */
	CHECK_EQ(av_vgic_dist_write(&io, 0x4b00143b), -EINVAL);
	CHECK_EQ(av_vgic_dist_write(&io, 0x4c00343b), -EINVAL);
	dist_set(8, 0x4b00343b);			/* not the guest's */
	CHECK_EQ(dist(8), 0x4b00243b);
	io = io_at(0, 0x1000, 4, true);
	CHECK_EQ(av_vgic_dist_read(&io, &val), -ENXIO);
}

static void cpu_registers_of_the_vmm(void)
{
	struct av_vgic_cpu *cpu = &cpus[0];
	u64 val;

	boot();
	val = 0xaf;
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, PMR, true, &val), 0);
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, PMR, false, &val), 0);
	CHECK_EQ(val, 0xa8);
	val = 0x8c02;
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, CTLR, true, &val), 0);
	CHECK_EQ(icc(0, CTLR), 0x8c02);
	val = 0x8d00;					/* more priority bits */
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, CTLR, true, &val), -EINVAL);
	val = 0x0c00;					/* no A3V */
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, CTLR, true, &val), -EINVAL);
	val = 0;
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, SRE, true, &val), -EINVAL);
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, IAR1, false, &val), -ENOENT);
	CHECK_EQ(av_vgic_icc_user(&vgic, cpu, AP1R0 + 1, false, &val), -EINVAL);
	CHECK(av_vgic_icc_user_has(AP0R0 + 3));
	CHECK(!av_vgic_icc_user_has(SGI1R));
	CHECK(!av_vgic_icc(&vgic, cpu, AP1R0 + 1, false, &val));
	CHECK(!av_vgic_icc(&vgic, cpu, IAR1, true, &val));
	CHECK(!av_vgic_icc(&vgic, cpu, EOIR1, false, &val));
	CHECK(!av_vgic_icc(&vgic, cpu, SGI1R, false, &val));
}

int main(void)
{
	RUN(identity);
	RUN(access_widths);
	RUN(wrong_end);
	RUN(level_spi);
	RUN(edge_spi);
	RUN(priorities);
	RUN(binary_point);
	RUN(binary_point_moves);
	RUN(no_group_priority);
	RUN(eoi_modes);
	RUN(eoi_elsewhere);
	RUN(groups);
	RUN(suspended);
	RUN(sgis);
	RUN(routing);
	RUN(ppis);
	RUN(save_and_restore);
	RUN(cpu_registers_of_the_vmm);
	return TESTS_DONE();
}
