// SPDX-License-Identifier: GPL-2.0
/* GICv3's ITS: one event of one device, an LPI at one CPU. */
#include "its.h"

#define GITS_CTLR 0x0000
#define GITS_TYPER 0x0008
#define GITS_CBASER 0x0080
#define GITS_CWRITER 0x0088
#define GITS_CREADR 0x0090
#define GITS_BASER 0x0100
#define GITS_BASERS 8
#define GICR_CTLR 0x0000
#define GICR_TYPER 0x0008
#define GICR_PROPBASER 0x0070
#define GICR_PENDBASER 0x0078

#define VALID (1UL << 63)
#define TYPER_PTA (1UL << 19)
#define BASER_TYPE(value) ((value) >> 56 & 7)
#define BASER_DEVICES 1
#define BASER_COLLECTIONS 4
#define BASER_64K (2UL << 8)
#define INNER_WRITE_BACK (7UL << 59)	/* of CBASER and BASER; the redistributor's is 7 << 7 */
#define INNER_SHAREABLE (1UL << 10)
#define PENDING_ZERO (1UL << 62)
#define ID_BITS 14
#define ENABLED_PRIORITY 0x81

#define CMD_INT 0x03UL
#define CMD_SYNC 0x05UL
#define CMD_MAPD 0x08UL
#define CMD_MAPC 0x09UL
#define CMD_MAPTI 0x0aUL
#define CMD_INV 0x0cUL
#define DEVICE 0UL
#define EVENT 0UL
#define EVENT_BITS 5
#define COLLECTION 0UL

#define KIB64 (64U << 10)
#define QUEUE 4096U

static u8 pending[KIB64] __attribute__((aligned(65536)));
static u8 devices[KIB64] __attribute__((aligned(65536)));
static u8 collections[KIB64] __attribute__((aligned(65536)));
static u64 queue[QUEUE / 8] __attribute__((aligned(65536)));
static u8 properties[(1U << ID_BITS) - FIRST_LPI] __attribute__((aligned(4096)));
static u8 translations[8 << EVENT_BITS] __attribute__((aligned(256)));
static u64 written;

static volatile u64 *its(u64 offset)
{
	return (volatile u64 *)(machine.gic_its.base + offset);
}

static volatile u64 *redistributor64(u64 base, u64 offset)
{
	return (volatile u64 *)(base + offset);
}

static void command(u64 first, u64 second, u64 third)
{
	u64 *at = &queue[written / 8];

	at[0] = first;
	at[1] = second;
	at[2] = third;
	at[3] = 0;
	dsb();
	written = (written + 32) % QUEUE;
	*its(GITS_CWRITER) = written;
	while (*its(GITS_CREADR) != written)
		asm volatile("yield");
}

static void set_up_tables(void)
{
	u64 base, value;
	unsigned int i;

	for (i = 0; i < GITS_BASERS; i++) {
		value = *its(GITS_BASER + 8 * i);
		if (BASER_TYPE(value) == BASER_DEVICES)
			base = (u64)devices;
		else if (BASER_TYPE(value) == BASER_COLLECTIONS)
			base = (u64)collections;
		else
			continue;
		*its(GITS_BASER + 8 * i) = base | VALID | INNER_WRITE_BACK | INNER_SHAREABLE | BASER_64K;
	}
	*its(GITS_CBASER) = (u64)queue | VALID | INNER_WRITE_BACK | INNER_SHAREABLE;
	*its(GITS_CWRITER) = 0;
	*(volatile u32 *)its(GITS_CTLR) = 1;
}

static void enable_lpis(u64 base)
{
	*redistributor64(base, GICR_PROPBASER) = (u64)properties | INNER_SHAREABLE | 7UL << 7 |
						 (ID_BITS - 1);
	*redistributor64(base, GICR_PENDBASER) = (u64)pending | PENDING_ZERO | INNER_SHAREABLE |
						 7UL << 7;
	dsb();
	*(volatile u32 *)redistributor64(base, GICR_CTLR) = 1;
}

/* A CPU is named by its number or by its frame's address. */
static u64 target(u64 base)
{
	if (*its(GITS_TYPER) & TYPER_PTA)
		return base;
	return (*redistributor64(base, GICR_TYPER) >> 8 & 0xffff) << 16;
}

bool its_init(unsigned int cpu, u32 lpi)
{
	u64 base = gic_redistributor(cpu);

	if (!check(machine.gic_its.size && base, "no ITS, or no redistributor of CPU %u", cpu))
		return false;
	properties[lpi - FIRST_LPI] = ENABLED_PRIORITY;
	enable_lpis(base);
	set_up_tables();
	command(CMD_MAPD | DEVICE << 32, EVENT_BITS - 1, (u64)translations | VALID);
	command(CMD_MAPC, 0, target(base) | COLLECTION | VALID);
	command(CMD_MAPTI | DEVICE << 32, EVENT | (u64)lpi << 32, COLLECTION);
	command(CMD_INV | DEVICE << 32, EVENT, 0);
	command(CMD_SYNC, 0, target(base));
	return true;
}

void its_send(void)
{
	command(CMD_INT | DEVICE << 32, EVENT, 0);
}
