// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a world's guest: code, page tables, an ITS's tables and commands. It is written to
 * a file and read from there into the slot, again whenever a vCPU restarts.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "its_machine.h"

extern const u8 fuzz_guest[], fuzz_guest_end[];

/* Tables: two roots, one of the second level, three of the third; guest.S knows them. */
#define ROOTS		(GUEST_BASE + 0x200000)
#define MIDDLE		(GUEST_BASE + 0x202000)
#define FIRST_PAGES	(GUEST_BASE + 0x203000)
#define SCRATCH_PAGES	(GUEST_BASE + 0x204000)
#define USER_PAGES	(GUEST_BASE + 0x205000)
#define IMAGE_SIZE	0x206000
#define USER_CODE	(GUEST_BASE + 0x2000)
#define TOUCHED		(GUEST_BASE + 0x140000)

#define TABLE		3ULL
#define PAGE_NORMAL	0x707ULL	/* valid, memory, inner shareable, accessed */
#define BLOCK_NORMAL	0x705ULL
#define BLOCK_DEVICE	0x401ULL
#define USER_WRITES	0x40ULL
#define USER_READS	0xc0ULL

static u64 *word_at(u8 *image, u64 gpa)
{
	return (u64 *)(image + (gpa - GUEST_BASE));
}

static void lay_maps(u8 *image)
{
	u64 i;

	for (i = 0; i < 2; i++) {
		word_at(image, ROOTS + i * PAGE)[0] = BLOCK_DEVICE;
		word_at(image, ROOTS + i * PAGE)[1] = MIDDLE | TABLE;
	}
	word_at(image, MIDDLE)[0] = FIRST_PAGES | TABLE;
	word_at(image, MIDDLE)[1] = (GUEST_BASE + 0x200000) | BLOCK_NORMAL;
	word_at(image, MIDDLE)[2] = SCRATCH_PAGES | TABLE;
	word_at(image, MIDDLE)[3] = USER_PAGES | TABLE;
	for (i = 0; i < 8; i++)
		word_at(image, MIDDLE)[128 + i] = (EXTRA_BASE + i * 0x200000) | BLOCK_NORMAL;
	for (i = 0; i < 512; i++)
		word_at(image, FIRST_PAGES)[i] = (GUEST_BASE + i * PAGE) | PAGE_NORMAL;
	word_at(image, USER_PAGES)[0] = USER_CODE | PAGE_NORMAL | USER_READS;
	for (i = 1; i < 128; i++)
		word_at(image, USER_PAGES)[i] =
			(TOUCHED + (i & 63) * PAGE) | PAGE_NORMAL | USER_WRITES | (i & 1) << 11;
}

/* Commands that make sense, and some that do not. */
static void lay_commands(u8 *image, u64 *rng)
{
	static const u8 kinds[] = { MAPD, MAPC, MAPTI, MAPTI, MOVI, INT, CLEAR, SYNC, INV, INVALL,
				    MOVALL, DISCARD, MAPI };
	u64 *word = word_at(image, QUEUE);
	u64 i, n, kind, device, valid;

	for (i = 0; i < 128; i++, word += 4) {
		n = rnd(rng) >> 8;
		kind = i < 4 ? (u64)MAPD : i < 8 ? (u64)MAPC : kinds[n % ARRAY_SIZE(kinds)];
		device = i < 8 ? i & 3 : n >> 8 & 3;
		valid = i < 8 || n & 0x10000 ? VALID : 0;
		word[0] = kind | device << 32;
		if (kind == MAPD) {
			word[1] = 4;
			word[2] = (ITT + device * 0x1000) | valid;
		} else if (kind == MAPC) {
			word[2] = device | (n >> 20 & 3) << 16 | valid;
		} else {
			word[1] = (n >> 24 & 31) | (8192 + (n >> 32 & 127)) << 32;
			word[2] = (n >> 40 & 3) | (n >> 44 & 3) << 16;
		}
	}
	memset(image + (PROP_TABLE - GUEST_BASE), 0xa1, 0x8000);
}

static void lay_junk(struct world *w, u64 *rng)
{
	u64 junk[512];
	size_t i, n;

	w->junk = memfd_create("junk", MFD_CLOEXEC);
	for (n = 0; n < JUNK_SIZE; n += sizeof(junk)) {
		for (i = 0; i < ARRAY_SIZE(junk); i++)
			junk[i] = rnd(rng);
		if (pwrite(w->junk, junk, sizeof(junk), n) != sizeof(junk))
			die("junk");
	}
}

void lay_image(struct world *w)
{
	u64 rng = stream(w->seed, 0, 2);
	u8 *image = map_memory(IMAGE_SIZE);

	if (w->random_code) {
		lay_code((char *)image, MAX_CPUS, &rng);
		lay_tables((char *)image, &rng);
	} else {
		memcpy(image, fuzz_guest, fuzz_guest_end - fuzz_guest);
		lay_maps(image);
		lay_commands(image, &rng);
	}
	w->image = memfd_create("image", MFD_CLOEXEC);
	if (pwrite(w->image, image, IMAGE_SIZE, 0) != IMAGE_SIZE)
		die("image");
	munmap(image, IMAGE_SIZE);
	lay_junk(w, &rng);
}

/* At the program's start, in the reset state plus a boot loader's settings. */
void start_cpu(struct world *w, int vcpu, unsigned int cpu, u64 *rng)
{
	if (w->random_code) {
		lay_registers(vcpu, cpu, rng);
		return;
	}
	try_reg(vcpu, REG_X(28), rnd(rng) | 1);
	try_reg(vcpu, REG_PC, GUEST_BASE);
	try_reg(vcpu, REG_PSTATE, 0x3c5);
	try_reg(vcpu, SYS(0, 10, 2, 0), 0xff00);		/* MAIR_EL1 */
	try_reg(vcpu, SYS(0, 2, 0, 2), 0x2b5193519ULL);		/* TCR_EL1: 39 bits, twice */
	try_reg(vcpu, SYS(0, 2, 0, 0), ROOTS);			/* TTBR0_EL1 */
	try_reg(vcpu, SYS(0, 2, 0, 1), ROOTS);			/* TTBR1_EL1 */
	try_reg(vcpu, SYS(0, 1, 0, 0), w->mmu_on ? 0x34d0d91d : 0x30d00800);
}

/* The LPIs' tables and the ITS's, some of the queue done. */
void boot_its(struct world *w, u64 *rng)
{
	struct machine m = { .vm = w->vm, .vgic = w->vgic, .its = w->its };
	u64 cpu;

	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		redist_set(&m, cpu, 0x70, (u32)PROP_TABLE | 15);
		redist_set(&m, cpu, 0x78, (u32)(PEND_TABLE + cpu * 0x10000));
		redist_set(&m, cpu, 0, 1);
	}
	its_set(&m, BASER0, DEVICE_TABLE | VALID);
	its_set(&m, BASER1, COLL_TABLE | VALID);
	its_set(&m, CBASER, QUEUE | VALID);
	its_set(&m, CTLR, 1);
	its_set(&m, CWRITER, rnd(rng) & 0xfe0);
}
