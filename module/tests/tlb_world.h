/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine for switch/tlb.c: two VMs of two vCPUs each, their ASIDs and those of the host's
 * processes, a TLB that carries out TLBIs, and a record of every TLBI and barrier. It checks
 * nothing: tests examine the record.
 */
#ifndef AV_TESTS_TLB_WORLD_H
#define AV_TESTS_TLB_WORLD_H

#include "kernel.h"
#include "switch/tlb.h"

#define NR_VMS		2
#define HOST		NR_VMS
#define OPERAND_PAGE	GENMASK_ULL(43, 0)

extern u64 seed;
u64 draw(void);
u64 below(u64 n);

struct model {
	unsigned int nr;
	struct { u64 serial0, serial1; u16 asid; } context[AV_NR_CONTEXTS];
};

extern struct world {
	struct av_vm vm;
	struct av_vm_switch sw;
	struct av_vcpu vcpu[FAKE_VCPUS];
	struct av_vcpu_switch csw[FAKE_VCPUS];
	struct model model[FAKE_VCPUS];		/* the expected contexts: the test's */
	/* The trees whose contexts were looked for last, none changed since. */
	u64 found[AV_FOUND_TREES];
	unsigned int next_found;
} world[NR_VMS];

/* The machine's ASIDs; those that no VM has are of the host's processes. */
#define NR_ASIDS	400

extern struct world_asid { u16 asid; unsigned int owner; } asids[NR_ASIDS];
extern int asid_error;			/* av_asid_get()'s result, if not 0 */
extern bool asid_spare;			/* av_asid_spare()'s result */
extern u16 asid_given;			/* the last one */
extern unsigned int asids_given, warnings;

unsigned int owner_of(u16 asid);

/* The TLB: few pages, so that all have entries of the same ones. */
#define NR_ENTRIES	256
#define NR_PAGES	8

extern struct entry {
	bool valid;
	u16 asid;
	u64 va, serial;
	unsigned int owner;
} tlb[NR_ENTRIES];
/* How many were dropped of others than the flusher; but not by a page of all ASIDs. */
extern unsigned int flusher, lost, shared;
extern const u64 pages[NR_PAGES];

void add_entry(unsigned int owner, u16 asid, u64 serial);

/* The record: order has a letter for each event, FAKE_*; '?' for a forbidden one. */
#define NR_EVENTS	256

extern struct event {
	const char *op;
	u64 operand;
	unsigned int nr_operands;
	struct av_vcpu_switch csw;	/* as a CPU may see it then */
} event[NR_EVENTS];
extern char order[NR_EVENTS + 1];
extern unsigned int nr_events, acquires, looks;

/* Begin a record, which looks at this vCPU or at none. */
void forget_events(const struct av_vcpu_switch *csw);

/* spare: each vCPU has an ASID from the start, as api/ makes it, or has none yet. */
void begin_world(bool spare);
void begin_vm(unsigned int m, bool spare);
void end_vm(unsigned int m);

#endif /* AV_TESTS_TLB_WORLD_H */
