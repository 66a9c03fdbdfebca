/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM with two vCPUs on the host of host_world.h, and a guest: two processes and a kernel, each
 * with three level-3 tables or blocks. The guest's tables are in its memory, and the world
 * remembers what they have said since the last TLBI: guest_check() holds every shadow entry
 * against that, the slots and the host's tables.
 */
#ifndef AV_TESTS_GUEST_WORLD_H
#define AV_TESTS_GUEST_WORLD_H

#include "host_world.h"
#include "mmu/mmu.h"

/* ---- memory -------------------------------------------------------------------- */

enum { RAM, NEXT, BIG, ROM, LOGGED, ODD, NR_SLOTS };

struct guest_slot {
	u64 gfn, npages;
	unsigned long hva;
	u32 flags;
	bool there;
};

extern struct guest_slot guest_slots[NR_SLOTS];
#define DEVICE_GFN	0x10000ULL

/* Create, change or delete a slot as the table has it now. May wait for readers: host_thread(). */
void guest_set_slot(unsigned int n);
const struct guest_slot *guest_slot_of(u64 gfn);
struct vmm_page *guest_page(u64 gfn);
/* In a page of the guest's, for it or the VMM to write. */
u64 *guest_word(u64 gpa);

/* A protected VM's file, where a slot has the pages that it would have of the VMM's. */
#define GUEST_FILE_PAGES	8192
extern int guest_fd;
extern struct av_gmem *guest_gmem;

/* ---- tables --------------------------------------------------------------------- */

enum { PROC_A, PROC_B, KERNEL, NR_SPACES };
#define REGIONS		3
#define PTES		512
/* Of each region, pages at its begin and its end. */
#define USED		48

static inline unsigned int used_idx(unsigned int n)
{
	return n < 32 ? n : PTES - USED + n;
}

u64 region_va(unsigned int space, unsigned int region);
u16 space_asid(unsigned int space);

#define D_PAGE		3ULL
#define D_BLOCK		1ULL
#define D_TABLE		3ULL
#define D_AF		BIT_ULL(10)
#define D_NG		BIT_ULL(11)
#define D_USER		BIT_ULL(6)
#define D_RDONLY	BIT_ULL(7)
#define D_CONT		BIT_ULL(52)
#define D_PXN		BIT_ULL(53)
#define D_UXN		BIT_ULL(54)
#define D_NO_WRITE	BIT_ULL(62)	/* of a table */
#define D_NO_USER	BIT_ULL(61)
#define D_NO_UXEC	BIT_ULL(60)
#define D_NO_PEXEC	BIT_ULL(59)

/* Write a level-3 descriptor; the entry of the region: its table, with limits, or a block. */
void guest_map(unsigned int space, unsigned int region, unsigned int idx, u64 desc);
void guest_set_region(unsigned int space, unsigned int region, u64 desc);
u64 guest_table(unsigned int space, unsigned int region);
u64 guest_desc(unsigned int space, unsigned int region, unsigned int idx);

/* What the guest's tables say of a page, by the test's own reading. */
struct leaf {
	bool valid, block, ng;
	u64 gfn;
	u8 el1, el0;
};

struct leaf guest_leaf(unsigned int space, unsigned int region, unsigned int idx);

/* TLBIs, by a vCPU: the module's, and the world forgets what they invalidate. */
void guest_tlbi_page(unsigned int vcpu, unsigned int space, u64 va, bool leaf);
void guest_tlbi_asid(unsigned int vcpu, unsigned int space);
void guest_tlbi_all(unsigned int vcpu);

/* ---- vCPUs ----------------------------------------------------------------------- */

struct guest_how {
	bool protected;		/* memory of a file, all slots alike */
	u64 file_flags;		/* GUEST_MEMFD_FLAG_* of that file */
	bool short_walk;	/* 39 bits of addresses */
	bool copies;		/* virtual EL1 runs from copies */
	bool image;		/* light exits run in the image (switch/image.h) */
};

extern struct av_vm vm;
extern struct av_vcpu vcpus[2];

void guest_start(const struct guest_how *how);
void guest_end(void);
/* The first half of guest_end(): the VM is gone, and the host not yet. */
void guest_stop(void);

/* Run a process, or its kernel, at an exception level: loads its trees. */
void guest_run(unsigned int vcpu, unsigned int proc, int el);

/* The ways that a fault can go. */
enum way { FAST, SLOW };

/* ESR_EL1 of an access that the hardware refuses. */
u64 guest_esr(u8 access, bool permission);
/* A fault of the vCPU where it runs. False: this way declines it. */
bool guest_fault(unsigned int vcpu, enum way way, u64 va, u64 esr, struct av_answer *answer);

/* The hardware's view. */
u64 guest_entry(unsigned int vcpu, u64 va);
bool guest_allows(unsigned int vcpu, u64 va, u8 access);

/* ---- what is right ------------------------------------------------------------------ */

/* Nothing but what may be is in the shadow tables. Returns the number of entries. */
unsigned int guest_check(void);
/* May the fault have this answer? */
bool guest_may_answer(unsigned int vcpu, u64 va, u8 access, const struct av_answer *answer);

/* Of guest_check(), what is wrong; NULL: nothing. */
extern const char *guest_wrong;

/* ---- between guest_world.c and guest_check.c ---------------------------------------- */

/*
 * What each page may translate to, by what the tables have said since the last TLBI. The kernel's
 * pages by process: those that are not global have an ASID.
 */
#define HISTORY		8
#define VIEWS		4
struct past {
	struct leaf leaf[HISTORY];
	unsigned int nr;
};

extern struct past guest_past[VIEWS][REGIONS][USED];

extern struct guest_how guest_how;
extern unsigned int guest_running[2];	/* a process by vCPU */

unsigned int guest_view_of(unsigned int space, unsigned int proc);
unsigned int guest_view_space(unsigned int view);
u16 guest_view_asid(unsigned int view);
u64 guest_space_base(unsigned int space);
unsigned int guest_used_nr(unsigned int idx);
/* The host's page of a frame now, or NULL. */
struct page *guest_host_page(u64 gfn, bool *writable);

#endif /* AV_TESTS_GUEST_WORLD_H */
