/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does a guest ever see stale memory? A guest with page tables reads the same few pages again and
 * again, and invalidates each first, while its VMM changes the memory, or another vCPU changes the
 * tables.
 *
 * Its program (guest.c) runs in the upper half, as kernels do, from its first slot at
 * GUEST_BASE: STALE_HIGH maps all memory linearly, by blocks of a GiB. The pages that it reads are
 * a separate slot, mapped by level-3 tables, in the lower half for one ASID, in the upper one for
 * all.
 */
#ifndef AV_TESTS_KVM_STALE_H
#define AV_TESTS_KVM_STALE_H

#include "lib.h"

#define PAGE		0x1000ULL
#define STALE_HIGH	0xffff800000000000ULL
#define STALE_PAGES	64
#define STALE_ASID	5
#define GUEST_BAD	(GUEST_MMIO + 8)

/* Places in the first slot, behind the program. */
#define CTL		0x8000
#define STACKS		0xa000		/* a page each */
#define TABLES		0x10000

/* Where the pages are in the guest's memory, and in each half; not at the beginning of a group. */
#define FRAMES		0x100000000ULL
#define LOW_VA		(0x40200000ULL + 8 * PAGE)
#define HIGH_VA		(0xffff808040200000ULL + 8 * PAGE)

/* With huge pages all are of one block of 2 MiB, from this page of it on. */
#define BLOCK_SIZE	0x200000ULL
#define IN_BLOCK	8

/* Another address of page 2, not in its group. */
#define ALIAS		32
/* A page of the same table that leads to any frame. */
#define POKED		100
/* The first of pages that are never there. */
#define ABSENT		128
/* Where EL0 has the program. */
#define USER_TEXT	0x80000000ULL

/* How a page is invalidated. */
#define HOW_LAST	1		/* of the last level only */
#define HOW_SHARED	2		/* on all vCPUs */
#define HOW_ANY		4		/* of every ASID */

/* What VMM and vCPUs tell each other, in the guest's memory. */
struct ctl {
	u64 how, va;
	u64 since[STALE_PAGES];		/* a page holds this or something newer in its first word */
	u64 strict, mode;		/* counters are to be compared; they are */
	u64 expected[STALE_PAGES];	/* by those that the guest wrote in the second words */
	u64 rounds[2];			/* of each vCPU */
	u64 odd[2];			/* rounds that came out otherwise than most */

	/* Two vCPUs. */
	u64 seq;			/* odd while the first one changes something */
	u64 state;
	u64 l2_entry, l3[2], garbage;	/* addresses in the upper half, or of a frame */
	u64 seed;

	/* One large leaf. */
	u64 size, step;

	/* From EL0. */
	u64 user_text;
	u64 ask, given;			/* for another page in place of the table's */

	/* Two slots. */
	u64 hold, held;			/* the guest is to wait; it does */
	u64 seen[STALE_PAGES];		/* first words */
};

/* What the guest complains of: X registers of its store to GUEST_BAD. */
enum complaint { BAD_FAULT = 1, BAD_OLD, BAD_COUNT, BAD_RIGHTS, BAD_GARBAGE, BAD_USER };

/* Each never returns. */
void guest_look(struct ctl *c);
void guest_poke(struct ctl *c);
void guest_aside(struct ctl *c);
void guest_toggle(struct ctl *c);
void guest_probe(struct ctl *c);
void guest_move(struct ctl *c);
void guest_read(struct ctl *c);
void guest_leaf(struct ctl *c);
void guest_edge(struct ctl *c);
void guest_own(struct ctl *c);
void guest_user_reads(struct ctl *c);

struct vcpu {
	int fd, id;
	struct kvm_run *run;
	struct machine *m;
	unsigned long thread;
};

struct machine {
	int kvm, vm, vm_stats;
	struct vcpu vcpus[2];
	int nr;
	char *memory;			/* GUEST_SIZE */
	struct ctl *ctl;
	u64 next_table;			/* offset of the next free one */
	char *frames;			/* the VMM's mapping of the pages */
	bool stop;
	bool may_fault;			/* EFAULT is as it should be … */
	u64 faults;			/* … and was seen so often */
	bool may_miss;			/* the slot of the pages may not be there */
	u64 misses;
};

void new_machine(struct machine *m);
void free_machine(struct machine *m);
/* A table's place in the guest's memory, and its entries. */
u64 new_table(struct machine *m);
u64 *entries(struct machine *m, u64 gpa);
/* The slot of the pages, or none with a size of 0. */
void pages_slot(struct machine *m, void *memory, u64 size, u32 flags);
/* Map a page of either half; the tables that lead to it are made. Returns its entry. */
u64 *map_page(struct machine *m, u64 va, u64 desc);
/* A leaf of 2^shift bytes. */
u64 *map_leaf(struct machine *m, u64 va, u64 desc, int shift);

#define DESC_PAGE	0x703ULL	/* Normal, inner shareable, AF */
#define DESC_BLOCK	0x701ULL
#define DESC_TABLE	3ULL
#define DESC_USER	0x40ULL
#define DESC_RDONLY	0x80ULL
#define DESC_AF		0x400ULL
#define DESC_NG		0x800ULL
#define DESC_CONT	(1ULL << 52)
/* Data: pages that may be executed are filled alone. */
#define DESC_XN		(3ULL << 53)
#define DESC_PXN	(1ULL << 53)

void start_vcpu(struct machine *m, void (*program)(struct ctl *c));
/* Stop all vCPUs and wait for them. */
void stop_vcpus(struct machine *m);
/* Wait for a vCPU's next rounds; false, once, if none comes. */
bool progress(struct machine *m, int vcpu, u64 rounds);

/* A number of the environment's. */
u64 setting(const char *name, u64 usual);

extern int failures;
__attribute__((format(printf, 2, 3))) void expect(bool condition, const char *what, ...);

/* host.c */
void stale_replaced(void);
void stale_kept(void);
void stale_logged(void);
/* poke.c */
void stale_poked(void);
/* smp.c */
void stale_rights(void);
void stale_moved(void);
void stale_leaf(void);
/*
 * Two vCPUs' tables, with this many pages mapped, and memory with their numbers in it. Returns page
 * 0's entry.
 */
u64 *begin_tables(struct machine *m, u64 va, u64 how, u64 pages);
void end_tables(struct machine *m);
/* The table with this entry is one of two that take each other's place: guest_move(). */
void two_tables(struct machine *m, u64 *entry);
/* slots.c */
void stale_adjacent(void);
/* own.c */
void stale_own(void);
void stale_user(void);

#endif /* AV_TESTS_KVM_STALE_H */
