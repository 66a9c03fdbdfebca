/* SPDX-License-Identifier: GPL-2.0 */
/* Encodings of the A64 instructions that sequences are made of. */
#ifndef GUESTS_RANDOM_ENCODE_H
#define GUESTS_RANDOM_ENCODE_H

#include "../lib/types.h"

#define ENCODE_NOP	0xd503201fU
#define ENCODE_ISB	0xd5033fdfU
#define ENCODE_DSB	0xd5033f9fU
#define ENCODE_DMB	0xd5033fbfU
#define ENCODE_SEVL	0xd50320bfU
#define ENCODE_WFE	0xd503205fU
#define ENCODE_ERET	0xd69f03e0U
#define ENCODE_UDF	0x00000000U

/* An instruction with a 16-bit immediate: SVC, HVC, BRK. */
#define ENCODE_SVC	0xd4000001U
#define ENCODE_HVC	0xd4000002U
#define ENCODE_BRK	0xd4200000U

static inline u32 encode_call(u32 kind, u32 immediate)
{
	return kind | immediate << 5;
}

static inline u32 encode_move(bool keep, unsigned int rd, u32 immediate, unsigned int quarter)
{
	return (keep ? 0xf2800000U : 0xd2800000U) | quarter << 21 | immediate << 5 | rd;
}

/* Three registers: Rd = Rn op Rm. */
static inline u32 encode_alu(u32 op, unsigned int rd, unsigned int rn, unsigned int rm)
{
	return op | rm << 16 | rn << 5 | rd;
}

static inline u32 encode_and_low12(unsigned int rd, unsigned int rn)
{
	return 0x92402c00U | rn << 5 | rd;
}

/* Rd = Rn + immediate, of 12 bits. */
static inline u32 encode_add(unsigned int rd, unsigned int rn, u32 immediate)
{
	return 0x91000000U | immediate << 10 | rn << 5 | rd;
}

/* Rd = Rn ^ 1 */
static inline u32 encode_flip_bit0(unsigned int rd, unsigned int rn)
{
	return 0xd2400000U | rn << 5 | rd;
}

/* ADR: the address `words` instructions ahead. */
static inline u32 encode_adr(unsigned int rd, u32 words)
{
	return 0x10000000U | words << 5 | rd;
}

static inline u32 encode_branch_to(unsigned int rn)
{
	return 0xd61f0000U | rn << 5;
}

/* Rd = Rn & 0xfffffffff000: the page address of a PAR_EL1. */
static inline u32 encode_and_page(unsigned int rd, unsigned int rn)
{
	return 0x92748c00U | rn << 5 | rd;
}

/* B.cond over `words` instructions. */
static inline u32 encode_branch_if(unsigned int condition, u32 words)
{
	return 0x54000000U | words << 5 | condition;
}

/* op0 to op2 as in the manual; Rt is 31 for none. */
static inline u32 encode_system(bool read, u32 op0, u32 op1, u32 crn, u32 crm, u32 op2,
				unsigned int rt)
{
	return 0xd5000000U | (u32)read << 21 | op0 << 19 | op1 << 16 | crn << 12 | crm << 8 |
	       op2 << 5 | rt;
}

#endif
