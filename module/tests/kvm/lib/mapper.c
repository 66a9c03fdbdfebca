// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapper.h"

/* guests.S */
extern const u32 guest_mapper[], guest_mapper_end[];
extern const u32 guest_mapper_touch[], guest_mapper_all[], guest_mapper_asid[];
extern const u32 guest_mapper_va[], guest_mapper_vaa[], guest_mapper_load[];
extern const u32 guest_mapper_execute[], guest_mapper_poke[], guest_mapper_sgi[];

#define SCTLR	ARM64_SYS_REG(3, 0, 1, 0, 0)
#define TTBR0	MAPPER_REG_TTBR0
#define TTBR1	MAPPER_REG_TTBR1
#define TCR	MAPPER_REG_TCR
#define MAIR	ARM64_SYS_REG(3, 0, 10, 2, 0)

#define VBAR	ARM64_SYS_REG(3, 0, 12, 0, 0)

#define SCTLR_RES1	0x30d00800ULL
/* 48 bits, 4 KiB, the lower half only, 40 bits of addresses. */
#define TCR_VALUE	(16 | 1 << 8 | 1 << 10 | 3 << 12 | 16 << 16 | 1 << 23 | 2ULL << 30 | 2ULL << 32)

#define TCR_EPD1	(1ULL << 23)
#define TCR_AS		(1ULL << 36)

#define TABLE		3ULL
#define PAGE		0x703ULL	/* Normal, AF, inner shareable */
#define BLOCK		0x701ULL
#define DEVICE_BLOCK	0x405ULL	/* attribute 1 */
#define NON_GLOBAL	0x800ULL
#define READ_ONLY	0x80ULL
#define USER		0x40ULL

/* Tables, in the guest's first slot behind its program. */
#define L0	0x2000
#define L1_LOW	0x3000
#define L1	0x4000
#define L2	0x5000
#define L3	0x6000
#define VECTORS	0x8000
#define L0_HIGH	0x9000
#define L1_HIGH	0xa000
#define L2_GLOBAL	0xb000
#define L3_GLOBAL	0xc000
#define SYNC	0x200		/* from its own level */

static u64 *table(struct mapper *m, u64 offset)
{
	return (u64 *)((char *)m->g.memory + offset);
}

static void write_tables(struct mapper *m, enum mapper_frames frames)
{
	u64 i;

	table(m, L0)[0] = (GUEST_BASE + L1_LOW) | TABLE;
	table(m, L0)[1] = (GUEST_BASE + L1) | TABLE;
	table(m, L1_LOW)[0] = DEVICE_BLOCK;
	table(m, L1_LOW)[1] = GUEST_BASE | BLOCK;
	for (i = 0; i < 512; i++) {
		u64 frame = frames == ONE_FRAME ? 0 : i * 0x1000;

		table(m, L1)[i] = (GUEST_BASE + L2) | TABLE;
		table(m, L2)[i] = (GUEST_BASE + L3) | TABLE;
		table(m, L3)[i] = (MAPPER_FRAMES + frame) | PAGE | NON_GLOBAL;
	}
}

static void run(struct mapper *m)
{
	if (ioctl(m->g.vcpu, KVM_RUN, 0))
		die("KVM_RUN of the mapper");
	if (m->g.run->exit_reason != KVM_EXIT_MMIO || m->g.run->mmio.phys_addr != GUEST_MMIO)
		die("the mapper ended with %u", m->g.run->exit_reason);
}

static void *private_pages(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap of %zu bytes", size);
	return memory;
}

void *mapper_memory(int advice)
{
	const size_t size = MAPPER_FRAMES_SIZE;
	char *at = private_pages(2 * size);
	char *memory = (char *)(((u64)at + size - 1) & ~(size - 1));

	if (madvise(memory, size, advice))
		die("madvise");
	memset(memory, 1, size);
	return memory;
}

void mapper_slot(struct mapper *m, u32 slot, u64 gpa, void *memory, size_t size)
{
	mapper_set_slot(m, slot, gpa, memory, size, 0);
}

void mapper_set_slot(struct mapper *m, u32 slot, u64 gpa, void *memory, size_t size, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	if (ioctl(m->g.vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

void mapper_vcpu(int vcpu, u16 asid)
{
	set_reg(vcpu, MAIR, 0x00ff);
	set_reg(vcpu, TCR, TCR_VALUE);
	mapper_set_asid(vcpu, asid);
	set_reg(vcpu, SCTLR, SCTLR_RES1 | 1);
	set_reg(vcpu, REG_PC, GUEST_BASE);
	set_reg(vcpu, REG_X(0), GUEST_MMIO);
	set_reg(vcpu, REG_X(5), GUEST_BASE);
}

void new_mapper(struct mapper *m, enum mapper_frames frames, bool budget)
{
	new_mapper_with_ring(m, frames, budget, 0);
}

void new_mapper_with_ring(struct mapper *m, enum mapper_frames frames, bool budget, u64 ring)
{
	const size_t gib = 1UL << 30;

	memset(m, 0, sizeof(*m));
	new_guest_with_ring(&m->g, guest_mapper, (char *)guest_mapper_end - (char *)guest_mapper,
			    ring);
	m->stats = ioctl(m->g.vcpu, KVM_GET_STATS_FD, 0);
	m->vm_stats = ioctl(m->g.vm, KVM_GET_STATS_FD, 0);
	m->at = GUEST_BASE;
	m->frames = mapper_memory(frames == ONE_FRAME ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	mapper_slot(m, 1, MAPPER_FRAMES, m->frames, MAPPER_FRAMES_SIZE);
	if (budget)
		mapper_slot(m, 2, 4 * gib, private_pages(4 * gib), 4 * gib);
	write_tables(m, frames);
	mapper_vcpu(m->g.vcpu, MAPPER_ASID);
}

void free_mapper(struct mapper *m)
{
	munmap(m->frames, MAPPER_FRAMES_SIZE);
	close(m->stats);
	close(m->vm_stats);
	free_guest(&m->g);
}

static u64 offset_of(const u32 *part)
{
	return (char *)part - (char *)guest_mapper;
}

static void start(struct mapper *m)
{
	if (!m->started)
		run(m);
	m->started = true;
}

static void call(struct mapper *m, const u32 *part)
{
	start(m);
	set_reg(m->g.vcpu, REG_X(5), m->at + offset_of(part));
	run(m);
}

u32 *mapper_load_device(struct mapper *m, u32 number)
{
	u64 load = offset_of(guest_mapper_load), from = VECTORS + SYNC;
	u32 *vector = (u32 *)table(m, from);

	start(m);
	/* b load */
	*vector = 0x14000000 | ((load - from) / 4 & 0x3ffffff);
	table(m, L1)[number] = DEVICE_BLOCK | READ_ONLY | NON_GLOBAL;
	set_reg(m->g.vcpu, VBAR, GUEST_BASE + VECTORS);
	set_reg(m->g.vcpu, REG_X(1), MAPPER_VA + ((u64)number << 30) + GUEST_MMIO);
	set_reg(m->g.vcpu, REG_X(5), GUEST_BASE + load);
	return (u32 *)table(m, load);
}

void mapper_both_sizes(struct mapper *m)
{
	u64 i;

	for (i = 0; i < 512; i++)
		if (i % 8)
			table(m, L2)[i] = MAPPER_FRAMES | BLOCK | NON_GLOBAL;
}

void mapper_blocks(struct mapper *m)
{
	u64 i;

	for (i = 0; i < 512; i++)
		table(m, L2)[i] = MAPPER_FRAMES | BLOCK | USER | NON_GLOBAL;
}

void mapper_block(struct mapper *m, u32 number, u64 gpa)
{
	table(m, L1)[number] = gpa | BLOCK | NON_GLOBAL;
}

void mapper_frame(struct mapper *m, u32 page, u64 gpa)
{
	table(m, L3)[page] = gpa | PAGE | NON_GLOBAL;
}

void mapper_global(struct mapper *m, u32 number)
{
	u64 i;

	table(m, L1)[number] = (GUEST_BASE + L2_GLOBAL) | TABLE;
	for (i = 0; i < 512; i++) {
		table(m, L2_GLOBAL)[i] = (GUEST_BASE + L3_GLOBAL) | TABLE;
		table(m, L3_GLOBAL)[i] = table(m, L3)[i] & ~NON_GLOBAL;
	}
}

void mapper_wide_asids(struct mapper *m)
{
	set_reg(m->g.vcpu, TCR, TCR_VALUE | TCR_AS);
}

void mapper_set_asid(int vcpu, u16 asid)
{
	set_reg(vcpu, TTBR0, (GUEST_BASE + L0) | (u64)asid << 48);
}

void mapper_go_high(struct mapper *m)
{
	u64 i;

	/* All of the guest's addresses, by blocks, and the table of the 2 MiB that repeat. */
	table(m, L0_HIGH)[256] = (GUEST_BASE + L1_HIGH) | TABLE;
	table(m, L0_HIGH)[257] = (GUEST_BASE + L1) | TABLE;
	table(m, L1_HIGH)[0] = DEVICE_BLOCK;
	for (i = 1; i < 512; i++)
		table(m, L1_HIGH)[i] = i << 30 | BLOCK;
	m->at = MAPPER_HIGH + GUEST_BASE;
	set_reg(m->g.vcpu, TTBR1, GUEST_BASE + L0_HIGH);
	set_reg(m->g.vcpu, TCR, get_reg(m->g.vcpu, TCR) & ~TCR_EPD1);
	set_reg(m->g.vcpu, REG_PC, m->at);
	set_reg(m->g.vcpu, REG_X(5), m->at);
}

void mapper_last_gib(struct mapper *m)
{
	table(m, L0_HIGH)[511] = (GUEST_BASE + L1) | TABLE;
}

void mapper_go_high_by_asid(struct mapper *m)
{
	u64 i;

	mapper_go_high(m);
	for (i = 0; i < 512; i++)
		table(m, L1_HIGH)[i] |= NON_GLOBAL;
}

void mapper_all_roots(struct mapper *m)
{
	u64 i;

	for (i = 1; i < 512; i++)
		table(m, L0)[i] = (GUEST_BASE + L1) | TABLE;
}

void mapper_copy_base(struct mapper *m, u64 *to)
{
	memcpy(to, table(m, L0), 2 * sizeof(*to));
}

void mapper_execute(struct mapper *m, u64 from, u64 size, u64 step)
{
	set_reg(m->g.vcpu, REG_X(1), from);
	set_reg(m->g.vcpu, REG_X(2), from + size);
	set_reg(m->g.vcpu, REG_X(3), step);
	call(m, guest_mapper_execute);
}

void mapper_touch(struct mapper *m, u64 from, u64 size, u64 step)
{
	set_reg(m->g.vcpu, REG_X(1), from);
	set_reg(m->g.vcpu, REG_X(2), from + size);
	set_reg(m->g.vcpu, REG_X(3), step);
	call(m, guest_mapper_touch);
}

void mapper_poke(struct mapper *m, u64 gpa, u32 value)
{
	set_reg(m->g.vcpu, REG_X(1), gpa);
	set_reg(m->g.vcpu, REG_X(2), value);
	call(m, guest_mapper_poke);
}

void mapper_sgi(struct mapper *m, u64 value)
{
	set_reg(m->g.vcpu, REG_X(1), value);
	call(m, guest_mapper_sgi);
}

void mapper_tlbi_all(struct mapper *m)
{
	call(m, guest_mapper_all);
}

void mapper_tlbi_asid(struct mapper *m)
{
	set_reg(m->g.vcpu, REG_X(1), (u64)MAPPER_ASID << 48);
	call(m, guest_mapper_asid);
}

void mapper_tlbi_va(struct mapper *m)
{
	set_reg(m->g.vcpu, REG_X(1), (u64)MAPPER_ASID << 48 | MAPPER_VA >> 12);
	call(m, guest_mapper_va);
}

void mapper_tlbi_vaa(struct mapper *m)
{
	set_reg(m->g.vcpu, REG_X(1), MAPPER_VA >> 12);
	call(m, guest_mapper_vaa);
}
