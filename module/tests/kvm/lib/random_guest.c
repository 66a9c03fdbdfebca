// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <sys/ioctl.h>

#include "random_guest.h"

u64 rnd(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static u64 any_address(u64 *seed)
{
	static const u64 bases[] = {
		GUEST_BASE, GUEST_BASE, TABLES, TABLES, GUEST_BASE + GUEST_SIZE - 8,
		GUEST_DIST, GUEST_REDIST, GUEST_MMIO, 0x80000000, 0xffffffffffe00000ULL,
		0xffff000000000000ULL, 0xffff800040000000ULL, 0x0000ffffffffffffULL,
		1ULL << 39, 1ULL << 47, 1ULL << 52, 0,
	};
	u64 base = bases[rnd(seed) % ARRAY_SIZE(bases)];

	return base + (rnd(seed) % 4 ? (rnd(seed) & 0xffff8) : rnd(seed) % 64);
}

/* Descriptors that lead somewhere, nowhere, to devices and in circles. */
static u64 any_descriptor(u64 *seed)
{
	u64 low = rnd(seed) % 4 ? 0x703 : (rnd(seed) & 0xfff);
	u64 high = rnd(seed) % 4 ? 0 : rnd(seed) & 0xfff0000000000000ULL;

	switch (rnd(seed) % 8) {
	case 0:
		return rnd(seed);
	case 1:
		return 0;
	case 2:
	case 3:
		return (TABLES + (rnd(seed) % NR_TABLES) * 0x1000) | high | 3;
	case 4:
		return ((any_address(seed) & 0x0000fffffffff000ULL) | high | low);
	default:
		return ((GUEST_BASE + (rnd(seed) % 512) * 0x1000) | high | low);
	}
}

static u64 any_value(u64 *seed)
{
	switch (rnd(seed) % 6) {
	case 0:
		return rnd(seed);
	case 1:
		return any_descriptor(seed);
	case 2:
		return (rnd(seed) % 2 ? 0x84000000 : 0xc4000000) + rnd(seed) % 32;
	case 3:
		return rnd(seed) % 256;
	default:
		return any_address(seed);
	}
}

static u32 reg(u64 *seed)
{
	return rnd(seed) % 32;
}

/* MSR and MRS of the registers that translate and take exceptions, or of any. */
static u32 system_register(u64 *seed)
{
	/* op0 op1 CRn CRm op2 of SCTLR TTBR0 TTBR1 TCR MAIR VBAR ELR SPSR CPACR CONTEXTIDR MDSCR */
	static const u16 hot[] = {
		0xc080, 0xc100, 0xc101, 0xc102, 0xc510, 0xc600, 0xc201, 0xc200, 0xc082, 0xc681,
		0x8012,
	};
	u32 direction = rnd(seed) % 3 ? 0 : 1u << 21;
	u32 sys = rnd(seed) % 2 ? hot[rnd(seed) % ARRAY_SIZE(hot)] : 0x8000 | (rnd(seed) & 0x7fff);

	return 0xd5000000 | direction | sys << 5 | reg(seed);
}

/* TLBI, AT, DC, IC with whatever operand. */
static u32 system_instruction(u64 *seed)
{
	u32 crn = rnd(seed) % 2 ? 8 : 7;

	return 0xd5080000 | (rnd(seed) & 0x70000) | crn << 12 | (rnd(seed) & 0xfe0) | reg(seed);
}

static u32 any_instruction(u64 *seed)
{
	static const u32 fixed[] = {
		0xd4000001, 0xd4000002, 0xd4000003, 0xd4200000, 0xd69f03e0, 0xd503207f, 0xd503205f,
		0xd50342df, 0xd50342ff, 0xd50041bf, 0xd5004190, 0xd5033f9f, 0xd5033fdf, 0xd508871f,
		0xd508831f, 0xd50b7e20, 0x1e670000, 0xd503201f,
	};

	switch (rnd(seed) % 12) {
	case 0:
	case 1:			/* loads and stores of 1 to 8 bytes */
		return 0x39000000 | (rnd(seed) & 3) << 30 | (rnd(seed) & 1) << 22 |
		       reg(seed) << 5 | reg(seed);
	case 2:			/* stores of 8 bytes: into the tables, often */
		return 0xf9000000 | (rnd(seed) & 0x1ff) << 10 | reg(seed) << 5 | reg(seed);
	case 3:
		return system_register(seed);
	case 4:
		return system_instruction(seed);
	case 5:
		return fixed[rnd(seed) % ARRAY_SIZE(fixed)];
	case 6:			/* b.cond and b, near; br and blr */
		return rnd(seed) % 4 ? 0x54000000 | (rnd(seed) & 0xff) << 5 | (rnd(seed) & 15) :
				       0xd61f0000 | (rnd(seed) & 1) << 21 | reg(seed) << 5;
	case 7:			/* add, eor; a page on or back */
		return rnd(seed) % 2 ? 0x8b000000 | reg(seed) << 16 | reg(seed) << 5 | reg(seed) :
				       0x91400400 | (rnd(seed) & 1) << 30 | reg(seed) * 0x21;
	case 8:			/* pairs, SIMD, exclusives, atomics */
		return (rnd(seed) & 0xff3fffff) | 0x08000000;
	case 9:
		return rnd(seed);
	default:		/* movz, movk */
		return 0xd2800000 | (rnd(seed) & 1) << 29 | (rnd(seed) & 0x7fffff);
	}
}

void lay_code(char *memory, unsigned int cpus, u64 *seed)
{
	u32 *code = (u32 *)memory;
	size_t i;

	for (i = 0; i < cpus * CODE_WORDS; i++)
		code[i] = any_instruction(seed);
	for (i = 1; i <= cpus; i++)
		code[i * CODE_WORDS - 1] = 0x17fffc01;
}

void lay_tables(char *memory, u64 *seed)
{
	u64 *tables = (u64 *)(memory + (TABLES - GUEST_BASE));
	bool sane = rnd(seed) % 4;
	size_t i;

	for (i = 0; i < NR_TABLES * 512; i++)
		tables[i] = any_descriptor(seed);
	if (!sane)
		return;
	tables[0] = (TABLES + 0x1000) | 3;
	tables[512 + 1] = (TABLES + 0x2000) | 3;
	tables[1024] = rnd(seed) % 2 ? (TABLES + 0x3000) | 3 : GUEST_BASE | 0x701;
	for (i = 0; i < 512; i++)
		if (rnd(seed) % 8)
			tables[3 * 512 + i] = (GUEST_BASE + i * 0x1000) | 0x703;
}

void try_reg(int vcpu, u64 id, u64 value)
{
	struct kvm_one_reg one = { .id = id, .addr = (u64)&value };

	ioctl(vcpu, KVM_SET_ONE_REG, &one);
}

void lay_registers(int vcpu, unsigned int cpu, u64 *seed)
{
	u64 tcr = 0x2b5193519ULL & ~0x3f003fULL;	/* write-back, 4 KiB, 40 bits */
	unsigned int i;

	for (i = 0; i < 31; i++)
		try_reg(vcpu, REG_X(i), any_value(seed));
	try_reg(vcpu, REG_PC, GUEST_BASE + cpu * CODE_WORDS * 4 + (rnd(seed) % 16 ? 0 : 2));
	try_reg(vcpu, REG_PSTATE, rnd(seed) % 4 ? 0x3c5 : rnd(seed) % 2 ? 0 : 5);
	try_reg(vcpu, SYS(0, 2, 0, 0), TABLES | (rnd(seed) % 4) << 48);
	try_reg(vcpu, SYS(0, 2, 0, 1), rnd(seed) % 2 ? TABLES : any_value(seed));
	try_reg(vcpu, SYS(0, 2, 0, 2), rnd(seed) % 8 ? tcr | 16 | 16 << 16 : rnd(seed));
	try_reg(vcpu, SYS(0, 10, 2, 0), rnd(seed) % 2 ? 0xff440c0400ULL : rnd(seed));
	try_reg(vcpu, SYS(0, 12, 0, 0), rnd(seed) % 2 ? GUEST_BASE + 0x800 : any_value(seed));
	try_reg(vcpu, SYS(0, 1, 0, 2), 3 << 20);
	try_reg(vcpu, SYS(0, 1, 0, 0), 0x30d00800 | (rnd(seed) % 3 ? 0x1005 : 0));
}

u64 number_of(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}
