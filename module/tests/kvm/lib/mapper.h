/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest with one vCPU and page tables that the VMM wrote for it. It touches and invalidates
 * addresses on command. A few pages of tables lead from everywhere to one level-3 table, so
 * gigabytes of addresses cost nothing except the hypervisor's state for them.
 *
 *	0x4000 0000	the guest's program, its tables and its frames, mapped 1:1
 *	MAPPER_VA	2 MiB that repeat up to MAPPER_VA + MAPPER_SPAN
 *
 * All pages of the 2 MiB are one frame, or 512 different ones. The frames are private memory: one
 * frame is a page, 512 are a huge page.
 */
#ifndef AV_TESTS_KVM_MAPPER_H
#define AV_TESTS_KVM_MAPPER_H

#include "lib.h"

#define MAPPER_VA	0x8000000000ULL
#define MAPPER_SPAN	0x8000000000ULL
#define MAPPER_FRAMES	(GUEST_BASE + GUEST_SIZE)	/* a slot of their own */
#define MAPPER_FRAMES_SIZE	0x200000UL
#define MAPPER_ASID	1
/* Of the upper half: MAPPER_SPAN of the guest's physical addresses; then as at MAPPER_VA. */
#define MAPPER_HIGH	0xffff800000000000ULL

#define MAPPER_REG_TTBR0	ARM64_SYS_REG(3, 0, 2, 0, 0)
#define MAPPER_REG_TTBR1	ARM64_SYS_REG(3, 0, 2, 0, 1)
#define MAPPER_REG_TCR		ARM64_SYS_REG(3, 0, 2, 0, 2)

struct mapper {
	struct guest g;
	int stats, vm_stats;	/* the vCPU's statistics, and the VM's */
	u64 at;			/* where the program runs */
	bool started;		/* at its first store; until then it may be given a vGIC */
	void *frames;		/* memory of slot 1, MAPPER_FRAMES_SIZE */
};

enum mapper_frames { ONE_FRAME, EACH_ITS_OWN };

/*
 * The VM. budget: an empty slot of 4 GiB beside, as a VM may have more tables
 * the more memory it has.
 */
void new_mapper(struct mapper *m, enum mapper_frames frames, bool budget);
/* The same, with a dirty ring of this many bytes for each vCPU. */
void new_mapper_with_ring(struct mapper *m, enum mapper_frames frames, bool budget, u64 ring);
/* MAPPER_FRAMES_SIZE of private memory, present, with this advice on huge pages. */
void *mapper_memory(int advice);
/*
 * Registers of another vCPU, in any VM with a mapper's memory at GUEST_BASE:
 * each KVM_RUN ends with a store to GUEST_MMIO.
 */
void mapper_vcpu(int vcpu, u16 asid);
void free_mapper(struct mapper *m);
void mapper_slot(struct mapper *m, u32 slot, u64 gpa, void *memory, size_t size);
void mapper_set_slot(struct mapper *m, u32 slot, u64 gpa, void *memory, size_t size, u32 flags);

/* The program runs in the upper half from now on: before anything else. */
void mapper_go_high(struct mapper *m);
/* Then the last GiB of all repeats the 2 MiB, too. */
void mapper_last_gib(struct mapper *m);
/* The same with pages of one ASID there. */
void mapper_go_high_by_asid(struct mapper *m);
/* What is at MAPPER_VA repeats to the end of the lower half. */
void mapper_all_roots(struct mapper *m);
/* The lower half's table of level 0. */
void mapper_copy_base(struct mapper *m, u64 *to);
/* Call a function at every step bytes of size. */
void mapper_execute(struct mapper *m, u64 from, u64 size, u64 step);
/* Write to an address in every step bytes of size, from MAPPER_VA on. */
void mapper_touch(struct mapper *m, u64 from, u64 size, u64 step);
/* Write 32 bits to a device, and ICC_SGI1R_EL1. */
void mapper_poke(struct mapper *m, u64 gpa, u32 value);
void mapper_sgi(struct mapper *m, u64 value);
/* TLBI VMALLE1; ASIDE1 of its ASID; VAE1 of MAPPER_VA; VAAE1 of it. */
void mapper_tlbi_all(struct mapper *m);
void mapper_tlbi_asid(struct mapper *m);
void mapper_tlbi_va(struct mapper *m);
void mapper_tlbi_vaa(struct mapper *m);
/* Of the 2 MiB that repeat seven in eight are a block of the frames, not a table of pages. */
void mapper_both_sizes(struct mapper *m);
/* All of them are such blocks, and the guest's user mode may use them. */
void mapper_blocks(struct mapper *m);
/* The page of this number in the 2 MiB is another frame. */
void mapper_frame(struct mapper *m, u32 page, u64 gpa);
/* The GiB at MAPPER_VA of this number is one block, not 2 MiB that repeat. */
void mapper_block(struct mapper *m, u32 number, u64 gpa);
/* The 2 MiB that repeat in the GiB of this number are for every ASID. */
void mapper_global(struct mapper *m, u32 number);
/* ASIDs are of 16 bits: before the first run. */
void mapper_wide_asids(struct mapper *m);
/*
 * Load from GUEST_MMIO, where that GiB is for reading only, again and again: the
 * caller runs the vCPU. An exception is nothing but the next round. Returns
 * where the instruction is, which the caller may change.
 */
u32 *mapper_load_device(struct mapper *m, u32 number);
/* Use another ASID from now on. */
void mapper_set_asid(int vcpu, u16 asid);

#endif /* AV_TESTS_KVM_MAPPER_H */
