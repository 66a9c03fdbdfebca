// SPDX-License-Identifier: GPL-2.0
/*
 * The ITS and LPIs as software sees them: registers, right and wrong commands, messages up to the
 * CPU interface, and hostile use of all of it (for tables: test_its_tables.c). The world checks the
 * rules of locks and memory.
 */
#include "check.h"
#include "its_world.h"

#define MOVI	0x01
#define INT	0x03
#define CLEAR	0x04
#define INV	0x0c
#define INVALL	0x0d
#define MOVALL	0x0e
#define DISCARD	0x0f

static int direct(u64 w0, u64 w1, u64 w2, u64 w3)
{
	const u64 words[4] = { w0, w1, w2, w3 };

	return av_its_command(&w.its, words);
}

static void registers(void)
{
	world_reset();
	CHECK_EQ(its_get(0, 4), 0x80000000);
	CHECK_EQ(its_get(4, 4), 0x4b00043b);
	CHECK_EQ(its_get(8, 8), 0x1ef71);
	CHECK_EQ(its_get(0xc, 4), 0);
	CHECK_EQ(its_get(0xffe8, 4), 0x3b);
	CHECK_EQ(its_get(0xffd0, 4), 0x40);
	CHECK_EQ(its_get(0x100, 8), 0x1907000000000600);
	CHECK_EQ(its_get(0x108, 8), 0x1c07000000000600);
	CHECK_EQ(its_get(0x110, 8), 0);
	CHECK_EQ(its_get(0x80, 8), 0);
	CHECK_EQ(its_set(0, 4, 1), 0);
	CHECK_EQ(its_get(0, 4), 0x80000000);		/* no tables: stays off */
	/* Pages are of 64 KiB, nothing is outer shareable or uncached. */
	CHECK_EQ(its_set(0x108, 8, ~0ULL), 0);
	CHECK_EQ(its_get(0x108, 8), 0xbc07fffffffffeffULL & ~(7ULL << 53));
	CHECK_EQ(its_set(0x100, 8, 2ULL << 10), 0);
	CHECK_EQ(its_get(0x100, 8), 0x1907000000000600);
	CHECK_EQ(its_set(0x104, 4, 0xc0000000), 0);	/* half a register */
	CHECK_EQ(its_get(0x104, 4), 0xd9070000);
	CHECK_EQ(its_set(0x80, 8, 0xf123), 0);
	CHECK_EQ(its_get(0x80, 8), 0x1800000000000123);
	/* No such register, no such width. */
	CHECK_EQ(its_set(0x40, 4, 1), -ENXIO);
	CHECK_EQ(its_set(0, 8, 1), -ENXIO);
	CHECK_EQ(its_set(0x82, 4, 1), -ENXIO);
	CHECK_EQ(its_set(0x10040, 4, 1), -ENXIO);
	CHECK_EQ(its_get(0x10040, 4), 0);
	CHECK_EQ(av_its_user_width(0x88), 8);
	CHECK_EQ(av_its_user_width(4), 4);
	CHECK_EQ(av_its_user_width(0x40), 0);
	CHECK(world_end());
}

static void lpi_registers(void)
{
	world_reset();
	CHECK_EQ(redist_get(0, 0, 4), 6);
	CHECK_EQ(redist_get(0, 8, 8) & 1, 1);
	CHECK_EQ(redist_get(0, 0x70, 8), 0x580);
	CHECK_EQ(redist_get(0, 0x78, 8), 0x580);
	redist_lpi_set(0, 0x70, 8, ~0ULL);
	CHECK_EQ(redist_get(1, 0x70, 8), 0x000fffffffffff9f);	/* one for all */
	redist_lpi_set(0, 0x78, 8, ~0ULL);
	CHECK_EQ(redist_get(0, 0x78, 8), 0x000fffffffff0f80);	/* PTZ does not read */
	CHECK_EQ(redist_get(1, 0x78, 8), 0x580);
	redist_lpi_set(0, 0x74, 4, 0);
	CHECK_EQ(redist_get(0, 0x74, 4), 0);
	CHECK_EQ(redist_get(0, 0x70, 4), 0xffffff9f);
	redist_lpi_set(0, 0, 4, 1);
	CHECK_EQ(redist_get(0, 0, 4), 7);
	redist_lpi_set(0, 0x70, 8, 0);			/* in use */
	CHECK_EQ(redist_get(0, 0x70, 4), 0xffffff9f);
	redist_lpi_set(1, 0x70, 8, PROP_TABLE | 15);	/* not by this one */
	CHECK_EQ(redist_get(0, 0x70, 8), (PROP_TABLE | 15 | 0x180));
	redist_lpi_set(0, 0, 4, 0);
	CHECK_EQ(redist_get(0, 0, 4), 6);
	w.vgic.has_its = false;				/* no LPIs without an ITS */
	redist_lpi_set(0, 0, 4, 1);
	CHECK_EQ(redist_get(0, 0, 4), 6);
	CHECK_EQ(redist_get(0, 8, 8) & 1, 0);
	CHECK(world_end());
}

static void message(void)
{
	world_boot_mapped();
	CHECK(av_its_event(&w.its, 5, 3) != NULL);
	CHECK_EQ(msi(5, 3), 1);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(w.kicks[0], 1);
	CHECK_EQ(msi(5, 3), 1);				/* pending already: one it is */
	CHECK_EQ(icc_get(0, HPPIR1), 8200);
	CHECK_EQ(icc_get(0, IAR1), 8200);
	CHECK_EQ(icc_get(0, RPR), 0xa0);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(msi(5, 3), 1);				/* another, while the first is handled */
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);			/* of the same priority */
	icc_put(0, EOIR1, 8200);
	CHECK_EQ(icc_get(0, RPR), 0xff);
	CHECK_EQ(icc_get(0, IAR1), 8200);
	icc_put(0, EOIR1, 8200);
	CHECK_EQ(icc_get(0, IAR1), 1023);
	CHECK_EQ(msi(5, 4), 0);				/* not mapped */
	CHECK_EQ(msi(6, 3), 0);
	CHECK_EQ(msi(0x10005, 3), 0);
	CHECK_EQ(msi(5, 0x10003), 0);
	its_set(0, 4, 0);
	CHECK_EQ(msi(5, 3), -EBUSY);
	its_set(0, 4, 1);
	on_event(INT, 5, 3);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	on_event(CLEAR, 5, 3);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	CHECK(consistent());
	CHECK(world_end());
}

static void priorities(void)
{
	world_boot_mapped();
	set_prop(8201, 0x81);
	set_prop(8202, 0x87);				/* bits that no priority has */
	set_prop(8203, 0x40);				/* not enabled */
	mapti(5, 4, 8201, 0);
	mapti(5, 5, 8202, 0);
	mapti(5, 6, 8203, 0);
	msi(5, 3);
	CHECK_EQ(msi(5, 6), 1);
	CHECK_EQ(icc_get(0, HPPIR1), 8200);
	msi(5, 5);
	msi(5, 4);
	CHECK_EQ(icc_get(0, IAR1), 8202);		/* equal to 8201, and came first */
	CHECK_EQ(icc_get(0, RPR), 0x80);
	icc_put(0, EOIR1, 8202);
	/* An SPI of the same priority goes before LPIs. */
	w.spis[0].priority = 0x80;
	w.spis[0].enabled = true;
	CHECK_EQ(av_vgic_inject(&w.vgic, NULL, 32, true, false), 0);
	CHECK_EQ(icc_get(0, IAR1), 32);
	icc_put(0, EOIR1, 32);
	CHECK_EQ(icc_get(0, IAR1), 8201);
	icc_put(0, EOIR1, 8201);
	icc_put(0, PMR, 0xa0);				/* not above 0xa0 */
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	set_prop(8200, 0x11);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);			/* until the guest says so */
	on_event(INV, 5, 3);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	set_prop(8200, 0x10);
	redist_lpi_set(1, 0xa0, 8, 8200);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);			/* disabled, still pending */
	set_prop(8200, 0x11);
	set_prop(8203, 0x09);
	command(INVALL, 0, 0, 0);
	CHECK_EQ(icc_get(0, HPPIR1), 8203);
	CHECK(consistent());
	CHECK(world_end());
}

static void moving(void)
{
	world_boot_mapped();
	msi(5, 3);
	command(MOVI | 5ULL << 32, 3, 1, 0);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(w.cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	command(MOVALL, 0, 1ULL << 16, 0);		/* all of the second's to the first */
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK_EQ(w.cpus[1].out & AV_VGIC_LINES, 0);
	mapc(1, 0, true);
	mapc(1, 1, true);				/* the collection moves, and its events */
	CHECK_EQ(w.cpus[1].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	CHECK(consistent());
	mapc(1, 0, false);				/* the collection goes: messages are blocked */
	CHECK_EQ(msi(5, 3), 0);
	CHECK_EQ(direct(MOVI | 5ULL << 32, 3, 0, 0), AV_ITS_MOVI_UNMAPPED_COLLECTION);
	CHECK_EQ(direct(DISCARD | 5ULL << 32, 3, 0, 0), AV_ITS_DISCARD_UNMAPPED_INTERRUPT);
	CHECK(consistent());
	/* An event before its collection. */
	mapti(5, 7, 8300, 9);
	command(MOVALL, 0, 0, 1ULL << 16);		/* it is none of the first's */
	CHECK_EQ(av_lpi_find(&w.vgic, 8300)->irq.target, -1);
	CHECK_EQ(msi(5, 7), 0);
	mapc(9, 1, true);
	CHECK_EQ(msi(5, 7), 1);
	CHECK_EQ(icc_get(1, HPPIR1), 8200);		/* still pending, and came before */
	CHECK(consistent());
	CHECK(world_end());
}

/* An LPI whose acknowledgement was made in advance: moved, or gone, before the guest knew. */
static void leasing(void)
{
	world_boot_mapped();
	msi(5, 3);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[0]), 8200);
	CHECK_EQ(w.cpus[0].out, 0);
	command(MOVI | 5ULL << 32, 3, 1, 0);
	CHECK_EQ(w.cpus[1].out, 0);
	av_vgic_lease_end(&w.vgic, &w.cpus[0], AV_LEASE_BACK);
	CHECK_EQ(icc_get(0, RPR), 0xff);
	CHECK_EQ(w.cpus[0].out, 0);
	CHECK_EQ(w.cpus[1].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
	CHECK(consistent());
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[1]), 8200);
	CHECK_EQ(msi(5, 3), 1);				/* another, while the first is handled */
	CHECK_EQ(w.cpus[1].out, AV_VGIC_WAITS);
	av_vgic_lease_end(&w.vgic, &w.cpus[1], AV_LEASE_ENDED);
	CHECK_EQ(w.cpus[1].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[1]), 8200);
	on_event(DISCARD, 5, 3);
	CHECK(!av_lpi_find(&w.vgic, 8200));
	mapti(5, 3, 8200, 1);				/* another by this name */
	av_vgic_lease_end(&w.vgic, &w.cpus[1], AV_LEASE_BACK);
	CHECK_EQ(w.cpus[1].out, 0);
	CHECK_EQ(icc_get(1, RPR), 0xff);
	/* Made not pending by the guest, which has the last word. */
	msi(5, 3);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[1]), 8200);
	on_event(CLEAR, 5, 3);
	av_vgic_lease_end(&w.vgic, &w.cpus[1], AV_LEASE_BACK);
	CHECK_EQ(w.cpus[1].out, 0);
	msi(5, 3);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[1]), 8200);
	redist_lpi_set(1, 0, 4, 0);			/* EnableLPIs */
	av_vgic_lease_end(&w.vgic, &w.cpus[1], AV_LEASE_BACK);
	CHECK_EQ(w.cpus[1].out, 0);
	redist_lpi_set(1, 0, 4, 1);
	msi(5, 3);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[1]), 8200);
	command(MOVI | 5ULL << 32, 3, 0, 0);
	redist_lpi_set(1, 0, 4, 0);			/* it is the other's by now */
	av_vgic_lease_end(&w.vgic, &w.cpus[1], AV_LEASE_BACK);
	CHECK_EQ(w.cpus[0].out, AV_VGIC_WAITS | AV_VGIC_IRQ);
	CHECK(consistent());
	/* Moved to a vCPU that has no LPIs: it is gone, and does not come back with them. */
	redist_lpi_set(1, 0, 4, 1);
	CHECK_EQ(av_vgic_lease(&w.vgic, &w.cpus[0]), 8200);
	redist_lpi_set(1, 0, 4, 0);
	command(MOVI | 5ULL << 32, 3, 1, 0);
	av_vgic_lease_end(&w.vgic, &w.cpus[0], AV_LEASE_BACK);
	CHECK(!av_lpi_find(&w.vgic, 8200)->irq.latch);
	CHECK_EQ(w.cpus[1].out, 0);
	CHECK(consistent());
	CHECK(world_end());
}

static void unmapping(void)
{
	world_boot_mapped();
	mapti(5, 4, 8200, 1);				/* two events, one LPI: the first's vCPU */
	msi(5, 4);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	set_ram64(ITT + 3 * 8, 77);
	on_event(DISCARD, 5, 3);
	CHECK_EQ(ram64(ITT + 3 * 8), 0);
	CHECK_EQ(msi(5, 3), 0);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, AV_VGIC_IRQ);
	on_event(DISCARD, 5, 4);
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);			/* with its LPI it goes */
	CHECK(!av_lpi_find(&w.vgic, 8200));
	mapti(5, 4, 8200, 1);
	msi(5, 4);
	set_ram64(DEVICE_TABLE + 5 * 8, 77);
	mapd(5, 0, 1, false);
	CHECK_EQ(ram64(DEVICE_TABLE + 5 * 8), 0);
	CHECK_EQ(w.cpus[1].out & AV_VGIC_LINES, 0);
	CHECK_EQ(w.vgic.nr_events, 0);
	mapd(5, ITT, 5, true);
	mapti(5, 4, 8200, 1);
	mapd(5, ITT, 5, true);				/* again: its old mappings are forgotten */
	CHECK_EQ(msi(5, 4), 0);
	CHECK(consistent());
	mapti(5, 4, 8200, 1);
	its_set(0, 4, 0);
	its_set(0x100, 8, its_get(0x100, 8));		/* the same table changes nothing */
	CHECK_EQ(w.vgic.nr_events, 1);
	its_set(0x100, 8, 0);
	CHECK_EQ(w.vgic.nr_events, 0);
	its_set(0x108, 8, 0);
	CHECK(av_idmap_empty(&w.its.collections));
	CHECK(world_end());
}

static void wrong_commands(void)
{
	world_boot_mapped();
	/* The tables have 64 KiB: 8,192 entries. */
	CHECK_EQ(direct(0x08 | 8191ULL << 32, 3, ITT | AV_ITS_VALID, 0), 0);
	CHECK_EQ(direct(0x08 | 8192ULL << 32, 3, ITT | AV_ITS_VALID, 0), AV_ITS_MAPD_DEVICE_OOR);
	CHECK_EQ(direct(0x08 | 1ULL << 63, 3, ITT, 0), AV_ITS_MAPD_DEVICE_OOR);
	CHECK_EQ(direct(0x08 | 6ULL << 32, 16, ITT | AV_ITS_VALID, 0), AV_ITS_MAPD_ITTSIZE_OOR);
	CHECK_EQ(direct(0x09, 0, 2ULL << 16 | AV_ITS_VALID, 0), AV_ITS_MAPC_PROCNUM_OOR);
	CHECK_EQ(direct(0x09, 0, 8192 | AV_ITS_VALID, 0), AV_ITS_MAPC_COLLECTION_OOR);
	CHECK_EQ(direct(0x0a | 6ULL << 32, 8200ULL << 32, 0, 0), AV_ITS_MAPTI_UNMAPPED_DEVICE);
	CHECK_EQ(direct(0x0a | 5ULL << 32, 32 | 8200ULL << 32, 0, 0), AV_ITS_MAPTI_ID_OOR);
	CHECK_EQ(direct(0x0a | 5ULL << 32, 8191ULL << 32, 0, 0), AV_ITS_MAPTI_PHYSICALID_OOR);
	CHECK_EQ(direct(0x0a | 5ULL << 32, 0x10000ULL << 32, 0, 0), AV_ITS_MAPTI_PHYSICALID_OOR);
	CHECK_EQ(direct(0x0b | 5ULL << 32, 7, 0, 0), AV_ITS_MAPTI_PHYSICALID_OOR);	/* MAPI */
	CHECK_EQ(direct(0x0a | 5ULL << 32, 3 | 8201ULL << 32, 0, 0), 0);	/* there: stays */
	CHECK_EQ(av_its_event(&w.its, 5, 3)->lpi->intid, 8200);
	CHECK_EQ(direct(0x0a | 5ULL << 32, 4 | 8201ULL << 32, 9000, 0), AV_ITS_MAPC_COLLECTION_OOR);
	CHECK_EQ(direct(MOVI | 5ULL << 32, 9, 0, 0), AV_ITS_MOVI_UNMAPPED_INTERRUPT);
	CHECK_EQ(direct(MOVI | 5ULL << 32, 3, 7, 0), AV_ITS_MOVI_UNMAPPED_COLLECTION);
	CHECK_EQ(direct(CLEAR | 5ULL << 32, 9, 0, 0), AV_ITS_CLEAR_UNMAPPED_INTERRUPT);
	CHECK_EQ(direct(INV | 5ULL << 32, 9, 0, 0), AV_ITS_INV_UNMAPPED_INTERRUPT);
	CHECK_EQ(direct(INVALL, 0, 7, 0), AV_ITS_INVALL_UNMAPPED_COLLECTION);
	CHECK_EQ(direct(MOVALL, 0, 0, 2 << 16), AV_ITS_MOVALL_PROCNUM_OOR);
	CHECK_EQ(direct(MOVALL, 0, 0, 0), 0);
	CHECK_EQ(direct(DISCARD | 5ULL << 32, 9, 0, 0), AV_ITS_DISCARD_UNMAPPED_INTERRUPT);
	CHECK_EQ(direct(0x05, 0, 0, 0), 0);
	CHECK_EQ(direct(0x02, 0, 0, 0), -ENODEV);
	CHECK_EQ(direct(0x29, 0, 0, 0), -ENODEV);
	/* A table that is not in memory. */
	CHECK_EQ(direct(0x08 | 6ULL << 32, 4, 0x1000 | AV_ITS_VALID, 0), 0);
	CHECK_EQ(direct(0x0a | 6ULL << 32, 8201ULL << 32, 0, 0), AV_ITS_MAPTI_ID_OOR);
	redist_lpi_set(0, 0, 4, 0);
	redist_lpi_set(0, 0x70, 8, 0x1000 | 15);
	CHECK_EQ(direct(0x0a | 5ULL << 32, 4 | 8201ULL << 32, 20, 0), -EFAULT);
	CHECK(!av_its_collection(&w.its, 20));		/* not made in passing */
	CHECK(consistent());
	CHECK(world_end());
}

static void two_levels(void)
{
	world_boot();
	its_set(0, 4, 0);
	its_set(0x100, 8, DEVICE_TABLE | AV_ITS_VALID | AV_ITS_INDIRECT);
	its_set(0, 4, 1);
	CHECK_EQ(direct(0x08 | 9000ULL << 32, 3, ITT | AV_ITS_VALID, 0), AV_ITS_MAPD_DEVICE_OOR);
	set_ram64(DEVICE_TABLE + 8, SECOND_LEVEL | AV_ITS_VALID);	/* 8,192 to 16,383 */
	CHECK_EQ(direct(0x08 | 9000ULL << 32, 3, ITT | AV_ITS_VALID, 0), 0);
	CHECK(av_its_device(&w.its, 9000) != NULL);
	set_ram64(SECOND_LEVEL + 808 * 8, 77);
	mapd(9000, 0, 1, false);
	CHECK_EQ(ram64(SECOND_LEVEL + 808 * 8), 0);
	set_ram64(DEVICE_TABLE + 8, 0x1000 | AV_ITS_VALID);		/* not memory */
	CHECK_EQ(direct(0x08 | 9000ULL << 32, 3, ITT | AV_ITS_VALID, 0), AV_ITS_MAPD_DEVICE_OOR);
	/* Of the collections' table it cannot be had. */
	its_set(0, 4, 0);
	its_set(0x108, 8, COLL_TABLE | AV_ITS_INDIRECT);
	CHECK_EQ(its_get(0x108, 8) & AV_ITS_INDIRECT, 0);
	CHECK(world_end());
}

/* The queue: wrapping, positions that are none, no memory behind it. */
static void queue(void)
{
	struct av_its_io io = { .its = &w.its, .offset = 0x90, .len = 8, .user = true };
	int i;

	world_boot();
	for (i = 0; i < 300; i++)			/* more than its 128 places */
		mapc((u32)i, 0, true);
	CHECK(av_its_collection(&w.its, 299) != NULL);
	CHECK_EQ(its_get(0x90, 8), its_get(0x88, 8));
	its_set(0x88, 8, 0x1000);			/* behind the end: ignored */
	CHECK_EQ(its_get(0x88, 8), 300 % 128 * 32);
	CHECK_EQ(av_its_write(&io, 0), -EBUSY);
	its_set(0, 4, 0);
	CHECK_EQ(av_its_write(&io, 0x1000), -EINVAL);
	CHECK_EQ(av_its_write(&io, 0x7f), 0);
	CHECK_EQ(its_get(0x90, 8), 0x60);
	CHECK_EQ(its_get(0, 4), 0);			/* commands wait for it to be on */
	its_set(0x80, 8, 0x1000 | AV_ITS_VALID | 0xff);	/* not memory */
	its_set(0, 4, 1);
	its_set(0x88, 8, 0xfffe0);
	CHECK_EQ(its_get(0x90, 8), 0xfffe0);		/* all passed over */
	CHECK_EQ(its_get(0, 4), 0x80000001);
	CHECK(world_end());
}

/* However much the guest puts in the queue, an access ends; the rest is not lost. */
static void budget(void)
{
	const u64 invall[4] = { INVALL };
	u32 i, last, rounds = 0;

	world_boot();
	mapc(0, 0, true);
	for (i = 0; i < 16; i++) {
		mapd(i, ITT, 16, true);
		last = w.vgic.nr_events;
		for (u32 e = 0; e < 4096 && 8192 + i * 4096 + e < 0x10000; e++)
			mapti(i, e, 8192 + i * 4096 + e, 0);
		CHECK(w.vgic.nr_events > last || i >= 14);
	}
	CHECK_EQ(w.vgic.nr_events, 0x10000 - 8192);
	for (i = 0; i < 128; i++)
		memcpy(ram_at(QUEUE + i * 32), invall, sizeof(invall));
	i = w.its.creadr;
	its_set(0x88, 8, (i + 0xfe0) % 0x1000);
	CHECK(w.its.creadr != w.its.cwriter);		/* not all at once */
	CHECK_EQ(its_get(0, 4) & BIT_ULL(31), 0);
	while (its_get(0x90, 8) != its_get(0x88, 8) && rounds < 100)
		rounds++;
	CHECK(rounds > 5 && rounds < 60);
	/* Events above the limit are not mapped. */
	for (i = 0; i < 10000; i++)
		mapti(15, 20000 + i, 9000, 0);
	CHECK_EQ(w.vgic.nr_events, AV_ITS_MAX_EVENTS);
	CHECK(consistent());
	CHECK(world_end());
}

/* Memory that runs out at any point: the command does nothing, and nothing is lost. */
static void no_memory(void)
{
	long n;

	world_boot();
	for (n = 0; n < 12; n++) {
		w.allow = n;
		direct(0x08 | 0x777ULL << 32, 4, ITT | AV_ITS_VALID, 0);
		direct(0x09, 0, 0x777 | AV_ITS_VALID, 0);
		direct(0x0a | 0x777ULL << 32, 3 | 8200ULL << 32, 0x778, 0);
		CHECK(consistent());
		w.allow = -1;
		av_its_free_devices(&w.its);
		av_its_free_collections(&w.its);
		CHECK_EQ(w.allocated, 0);
	}
	world_boot_mapped();
	for (n = 0; n < 20; n++) {
		bool fits;

		w.allow = n;
		fits = !direct(0x0a | 5ULL << 32, 17 | 9999ULL << 32, 0x1778, 0);
		w.allow = -1;
		CHECK_EQ(fits, av_its_event(&w.its, 5, 17) != NULL);
		CHECK_EQ(fits, av_its_collection(&w.its, 0x1778) != NULL);
		CHECK_EQ(fits, av_lpi_find(&w.vgic, 9999) != NULL);
		CHECK(consistent());
		if (fits)
			break;
	}
	CHECK(n < 20);
	CHECK(world_end());
}

int main(void)
{
	RUN(registers);
	RUN(lpi_registers);
	RUN(message);
	RUN(priorities);
	RUN(moving);
	RUN(leasing);
	RUN(unmapping);
	RUN(wrong_commands);
	RUN(two_levels);
	RUN(queue);
	RUN(budget);
	RUN(no_memory);
	return TESTS_DONE();
}
