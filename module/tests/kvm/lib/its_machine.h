/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM without a program, for tests of its ITS: two vCPUs, a vGIC, memory in a slot. Registers are
 * attributes, and queue and tables are in the slot, so that any command can be given, right or
 * wrong.
 */
#ifndef AV_TESTS_KVM_ITS_MACHINE_H
#define AV_TESTS_KVM_ITS_MACHINE_H

#include "lib.h"

#define ITS_BASE	0x08080000ULL
#define RAM		0x40000000ULL
#define RAM_SIZE	0x400000UL
#define QUEUE		(RAM + 0x30000)
#define DEVICE_TABLE	(RAM + 0x10000)
#define COLL_TABLE	(RAM + 0x20000)
#define SECOND_LEVEL	(RAM + 0x40000)
#define PROP_TABLE	(RAM + 0x50000)
#define PEND_TABLE	(RAM + 0x60000)
#define ITT		(RAM + 0x100000)
#define ITT_SIZE	0x20000
#define VALID		(1ULL << 63)

#define CTLR		0x0
#define CBASER		0x80
#define CWRITER		0x88
#define CREADR		0x90
#define BASER0		0x100
#define BASER1		0x108

enum { MOVI = 1, INT = 3, CLEAR, SYNC, MAPD = 8, MAPC, MAPTI, MAPI, INV, INVALL, MOVALL, DISCARD };

struct machine {
	int kvm, vm, vcpu[2], vgic, its;
	u8 *ram;
	u64 writer;
};

/* An attribute of a device, by any of the three ioctls; of 64 bits. */
long attr_call(int fd, unsigned long cmd, u32 group, u64 number, void *addr);
long attr_set(int fd, u32 group, u64 number, u64 val);
long attr_get(int fd, u32 group, u64 number, u64 *val);

/* A machine with a vGIC that is ready and an ITS with its place. */
void new_machine(struct machine *m);
/* The same, with something done to the VM first. */
void new_machine_in(struct machine *m, void (*prepare)(int vm));
void free_machine(struct machine *m);
/* As a guest sets it up: tables, queue, everything on. */
void boot_machine(struct machine *m);

/* -1: there is no such device. */
int new_device(int vm, u32 type);

/* Registers: the ITS's, of 64 bits; a redistributor's, of 32. */
long its_set(const struct machine *m, u64 offset, u64 val);
u64 its_get(const struct machine *m, u64 offset);
long redist_set(const struct machine *m, u64 cpu, u64 offset, u32 val);
u32 redist_get(const struct machine *m, u64 cpu, u64 offset);
/* KVM_DEV_ARM_VGIC_GRP_CTRL */
long its_control(const struct machine *m, u64 what);
u64 *ram_at(const struct machine *m, u64 gpa);

/* One command by the queue. */
void its_command(struct machine *m, u64 w0, u64 w1, u64 w2, u64 w3);
void its_mapd(struct machine *m, u64 device, u64 itt, u64 bits, u64 valid);
void its_mapc(struct machine *m, u64 collection, u64 cpu, u64 valid);
void its_mapti(struct machine *m, u64 device, u64 event, u64 lpi, u64 collection);

/* KVM_SIGNAL_MSI: to the doorbell, or as said. */
long send_msi(const struct machine *m, u32 device, u32 event);
long send_msi_at(const struct machine *m, u64 address, u32 flags, u32 device, u32 event);

/* Sums over what is pending, saved first, and over all tables as they are. */
u64 pending_sum(const struct machine *m);
u64 tables_sum(const struct machine *m);

#endif /* AV_TESTS_KVM_ITS_MACHINE_H */
