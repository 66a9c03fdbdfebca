// SPDX-License-Identifier: GPL-2.0
/*
 * The ITS's tables in the guest's memory (irq/its_table.c), and the vCPUs' tables of pending LPIs:
 * saved state is restored unchanged, and wrong tables are refused.
 */
#include "check.h"
#include "its_world.h"

static void pending_tables(void)
{
	world_boot();
	mapd(5, ITT, 5, true);
	mapc(0, 0, true);
	set_pending_bit(0, 8200);
	mapti(5, 3, 8200, 0);				/* was pending before */
	CHECK_EQ(icc_get(0, HPPIR1), 8200);
	CHECK(!pending_bit(0, 8200));			/* and that is consumed */
	mapti(5, 4, 8201, 0);
	msi(5, 4);
	CHECK_EQ(av_lpi_save_pending(&w.vgic), 0);
	CHECK(pending_bit(0, 8200) && pending_bit(0, 8201) && !pending_bit(0, 8202));
	redist_lpi_set(0, 0, 4, 0);			/* off: pending LPIs are lost */
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(msi(5, 3), -EBUSY);
	redist_lpi_set(0, 0, 4, 1);			/* on: the table says */
	CHECK_EQ(icc_get(0, IAR1), 8200);
	icc_put(0, EOIR1, 8200);
	CHECK_EQ(icc_get(0, IAR1), 8201);
	icc_put(0, EOIR1, 8201);
	redist_lpi_set(0, 0, 4, 0);
	redist_lpi_set(0, 0x78, 8, PEND_TABLE | AV_LPI_PTZ);
	redist_lpi_set(0, 0, 4, 1);			/* the table is zero, they say */
	CHECK_EQ(w.cpus[0].out & AV_VGIC_LINES, 0);
	CHECK_EQ(av_lpi_save_pending(&w.vgic), 0);
	CHECK(!pending_bit(0, 8200) && !pending_bit(0, 8201));
	redist_lpi_set(0, 0, 4, 0);
	redist_lpi_set(0, 0x78, 8, 0);
	CHECK_EQ(av_lpi_save_pending(&w.vgic), -EFAULT);
	CHECK(consistent());
	CHECK(world_end());
}

/* Save, forget, restore: the same mappings, and the same tables when saved again. */
static void save_and_restore(void)
{
	static u8 before[RAM_SIZE];

	world_boot_mapped();
	CHECK(av_its_event(&w.its, 5, 3) != NULL);
	mapti(5, 30, 8210, 1);
	mapti(5, 31, 8211, 40);				/* a collection not mapped yet */
	mapd(4000, ITT + 0x1000, 16, true);
	mapti(4000, 60000, 9000, 1);
	mapti(4000, 9, 9001, 1);
	CHECK_EQ(av_its_save(&w.its), 0);
	CHECK_EQ(ram64(COLL_TABLE), AV_ITS_VALID);
	CHECK_EQ(ram64(COLL_TABLE + 8), AV_ITS_VALID | 1 << 16 | 1);
	CHECK_EQ(ram64(COLL_TABLE + 16), AV_ITS_VALID | 0xffffffffULL << 16 | 40);
	CHECK_EQ(ram64(COLL_TABLE + 24), 0);
	CHECK_EQ(ram64(DEVICE_TABLE + 5 * 8), AV_ITS_VALID | 3995ULL << 49 | ITT >> 8 << 5 | 4);
	CHECK_EQ(ram64(DEVICE_TABLE + 4000 * 8), AV_ITS_VALID | (ITT + 0x1000) >> 8 << 5 | 15);
	CHECK_EQ(ram64(ITT + 3 * 8), 27ULL << 48 | 8200 << 16);
	CHECK_EQ(ram64(ITT + 31 * 8), 8211 << 16 | 40);
	CHECK_EQ(ram64(ITT + 0x1000 + 9 * 8), 59991ULL << 48 | 9001 << 16 | 1);
	memcpy(before, w.ram, sizeof(before));
	av_its_free_devices(&w.its);
	av_its_free_collections(&w.its);
	CHECK_EQ(w.vgic.nr_events, 0);
	CHECK_EQ(av_its_restore(&w.its), 0);
	CHECK_EQ(w.vgic.nr_events, 5);
	CHECK(consistent());
	CHECK_EQ(msi(4000, 60000), 1);
	CHECK_EQ(icc_get(1, IAR1), 9000);
	CHECK_EQ(msi(5, 31), 0);
	CHECK_EQ(av_its_save(&w.its), 0);
	CHECK(!memcmp(before, w.ram, sizeof(before)));
	CHECK_EQ(av_its_restore(&w.its), -EEXIST);	/* onto existing mappings */
	CHECK(world_end());
}

static void wrong_tables(void)
{
	const u64 device = AV_ITS_VALID | ITT >> 8 << 5 | 4;

	world_boot();
	its_set(0, 4, 0);
	set_ram64(COLL_TABLE, AV_ITS_VALID | 2 << 16);		/* no such vCPU */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	set_ram64(COLL_TABLE, AV_ITS_VALID);
	set_ram64(COLL_TABLE + 8, AV_ITS_VALID);		/* twice */
	CHECK_EQ(av_its_restore(&w.its), -EEXIST);
	CHECK(av_idmap_empty(&w.its.collections));
	set_ram64(COLL_TABLE + 8, 0);
	set_ram64(DEVICE_TABLE, AV_ITS_VALID | 16);		/* events of 17 bits */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	set_ram64(DEVICE_TABLE, device);
	set_ram64(ITT, 100 << 16);				/* no LPI */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	set_ram64(ITT, 0x10000ULL << 16);			/* beyond LPIs */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	set_ram64(ITT, 8200 << 16 | 32ULL << 48);		/* the next is outside */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	set_ram64(ITT, 8200 << 16 | 3);				/* no such collection */
	CHECK_EQ(av_its_restore(&w.its), -EINVAL);
	CHECK(av_idmap_empty(&w.its.devices));
	set_ram64(ITT, 8200 << 16);
	set_ram64(DEVICE_TABLE, device | 0x3fffULL << 49);	/* the next is outside: the end */
	CHECK_EQ(av_its_restore(&w.its), 0);
	CHECK_EQ(w.vgic.nr_events, 1);
	av_its_reset(&w.its);
	its_set(0x108, 8, 0x1000 | AV_ITS_VALID);		/* not memory */
	CHECK_EQ(av_its_restore(&w.its), -EFAULT);
	its_set(0x108, 8, COLL_TABLE | AV_ITS_VALID);
	its_set(0x100, 8, DEVICE_TABLE | AV_ITS_VALID | AV_ITS_INDIRECT);
	set_ram64(DEVICE_TABLE, AV_ITS_VALID | SECOND_LEVEL);
	set_ram64(SECOND_LEVEL, device);
	CHECK_EQ(av_its_restore(&w.its), 0);
	CHECK_EQ(w.vgic.nr_events, 1);
	CHECK(consistent());
	CHECK(world_end());
}

/* A thread with a fatal signal does not finish the work of a VMM's tables: nothing remains. */
static void dying(void)
{
	int r, life;

	world_boot_mapped();
	mapd(4000, ITT + 0x1000, 16, true);
	mapti(4000, 9, 9000, 1);
	CHECK_EQ(av_its_save(&w.its), 0);
	av_its_free_devices(&w.its);
	av_its_free_collections(&w.its);
	for (life = 0; life < 10000; life++) {
		w.life = life;
		r = av_its_restore(&w.its);
		if (!r)
			break;
		CHECK_EQ(r, -EINTR);
		CHECK_EQ(w.vgic.nr_events, 0);
		CHECK(av_idmap_empty(&w.its.devices) && av_idmap_empty(&w.its.collections));
	}
	CHECK(life > 9 && life < 10000);	/* once an entry looked at, at least */
	CHECK_EQ(w.vgic.nr_events, 2);
	w.life = 1;
	CHECK_EQ(av_its_save(&w.its), -EINTR);
	w.life = -1;
	CHECK_EQ(av_its_save(&w.its), 0);
	CHECK(world_end());
}

int main(void)
{
	RUN(pending_tables);
	RUN(save_and_restore);
	RUN(wrong_tables);
	RUN(dying);
	return TESTS_DONE();
}
