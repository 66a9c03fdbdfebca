/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A vGIC of two vCPUs with an ITS, and 2 MiB of guest memory, for tests. The ops check the rules of
 * lpi.h: nobody accesses memory under the vGIC's lock. They count allocations.
 */
#ifndef AV_TESTS_ITS_WORLD_H
#define AV_TESTS_ITS_WORLD_H

#include "irq/its.h"

#define RAM		0x40000000ULL
#define RAM_SIZE	0x200000U
#define VCPUS		2

/* Where a guest of ours puts things. */
#define DEVICE_TABLE	(RAM + 0x10000)
#define COLL_TABLE	(RAM + 0x20000)
#define QUEUE		(RAM + 0x30000)
#define SECOND_LEVEL	(RAM + 0x40000)	/* of an indirect device table */
#define PROP_TABLE	(RAM + 0x50000)	/* a byte an LPI */
#define PEND_TABLE	(RAM + 0x60000)	/* 64 KiB a vCPU */
#define ITT		(RAM + 0x100000)

struct world {
	struct av_vgic vgic;
	struct av_vgic_cpu cpus[VCPUS];
	struct av_virq spis[32];
	struct av_its its;
	u8 ram[RAM_SIZE];
	bool locked;
	unsigned long allocated;	/* blocks */
	long allow;			/* allocations that still succeed; -1: all */
	unsigned long rests;
	long life;			/* rests until the thread is to die; -1: for ever */
	unsigned long broken;		/* rules */
	unsigned int kicks[VCPUS];
	u32 written;			/* commands, all in all */
};

extern struct world w;

#define PMR	AV_SYS(3, 0, 4, 6, 0)
#define IAR1	AV_SYS(3, 0, 12, 12, 0)
#define EOIR1	AV_SYS(3, 0, 12, 12, 1)
#define HPPIR1	AV_SYS(3, 0, 12, 12, 2)
#define RPR	AV_SYS(3, 0, 12, 11, 3)

/* A new world, as a guest leaves it that has set up tables, queue and LPIs. */
void world_boot(void);
/* And one device of 32 events, two collections of a vCPU each, one event mapped. */
void world_boot_mapped(void);
/* The same without any of that. */
void world_reset(void);
/* All that the guest mapped goes: does its memory, and was no rule broken? */
bool world_end(void);

u8 *ram_at(u64 gpa);
u64 ram64(u64 gpa);
void set_ram64(u64 gpa, u64 val);
/* An LPI's byte of configuration. */
void set_prop(u32 intid, u8 prop);
bool pending_bit(int cpu, u32 intid);
void set_pending_bit(int cpu, u32 intid);

u64 its_get(u32 offset, u8 len);
int its_set(u32 offset, u8 len, u64 val);
void redist_lpi_set(int cpu, u32 offset, u8 len, u64 val);
u64 redist_get(int cpu, u32 offset, u8 len);
u64 icc_get(int cpu, u32 reg);
void icc_put(int cpu, u32 reg, u64 val);

/* One command by the queue. */
void command(u64 w0, u64 w1, u64 w2, u64 w3);
void mapd(u32 device, u64 itt, u32 bits, bool valid);
void mapc(u32 collection, u32 cpu, bool valid);
void mapti(u32 device, u32 event, u32 intid, u32 collection);
void on_event(u8 op, u32 device, u32 event);
int msi(u32 device, u32 event);

/* What is derived is what the state says: lists, words, counts, output lines. */
bool consistent(void);

#endif /* AV_TESTS_ITS_WORLD_H */
