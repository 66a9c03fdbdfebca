/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The A64 load/store decoder: finds the access of an instruction that aborted.
 *
 * An abort from EL0 has no syndrome of the access (ISS.ISV is 0 for a stage 1
 * abort), so a device access is decoded from the instruction. The decoder is
 * pure: no memory, no vCPU, only the 32 bits. It never fails: an instruction
 * that is not a transfer of one or two registers gets a kind that names it, for
 * the message that refuses it.
 */
#ifndef AV_MMIO_DECODE_H
#define AV_MMIO_DECODE_H

#include "lib/av_types.h"

enum av_ldst_kind {
	AV_LDST_NONE,		/* no load or store */
	AV_LDST_SINGLE,		/* one general-purpose register */
	/* The rest accesses memory and is not emulated on a device. */
	AV_LDST_PAIR,		/* two of them, the lower address first */
	AV_LDST_EXCLUSIVE,	/* LDXR, STXR and their pairs */
	AV_LDST_ATOMIC,		/* LSE: LDADD, SWP, CAS, CASP, LD64B… */
	AV_LDST_SIMD,		/* FP and SIMD registers */
	AV_LDST_PAUTH,		/* LDRAA, LDRAB */
	AV_LDST_TAG,		/* memory tagging */
	AV_LDST_COPY,		/* memory copy and set (MOPS) */
	AV_LDST_ZVA,		/* DC ZVA */
	AV_LDST_UNKNOWN,	/* in the load/store encodings, but no row here */
	/* These transfer nothing. */
	AV_LDST_PREFETCH,	/* PRFM: never faults */
	AV_LDST_CACHE,		/* DC and IC by virtual address */
	AV_LDST_NR_KINDS
};

enum av_ldst_mode {
	AV_LDST_OFFSET,		/* base + offset */
	AV_LDST_PRE,		/* base + offset, written back */
	AV_LDST_POST,		/* base; base + offset written back */
	AV_LDST_REG,		/* base + extended register */
	AV_LDST_LITERAL,	/* PC + offset */
};

#define AV_LDST_SP	31	/* in rn: the stack pointer; elsewhere: zero */

struct av_ldst {
	u8 kind;		/* enum av_ldst_kind */
	u8 mode;		/* enum av_ldst_mode */
	bool write;
	bool sign;		/* loads: sign-extend … */
	bool wide;		/* … to 64 bits, else to 32 */
	bool ordered;		/* acquire or release */
	u8 size;		/* log2 of the bytes per register */
	u8 rt, rt2, rn;
	u8 rm, extend, shift;	/* AV_LDST_REG: option field and left shift */
	s32 offset;		/* in bytes */
};

/* Decode @insn and return its kind. All of *out is written. */
enum av_ldst_kind av_insn_decode(u32 insn, struct av_ldst *out);

/* A name such as "a SIMD load or store" for a message. Never NULL. */
const char *av_ldst_name(const struct av_ldst *ls);

/*
 * The address of the first element of a decoded SINGLE or PAIR. @x: x0 to x30;
 * @sp: the stack pointer; @pc: the address of the instruction.
 */
u64 av_ldst_address(const struct av_ldst *ls, const u64 *x, u64 sp, u64 pc);

static inline bool av_ldst_writes_back(const struct av_ldst *ls)
{
	return ls->mode == AV_LDST_PRE || ls->mode == AV_LDST_POST;
}

/* The register's value after loading the 1 << size bytes in @raw. */
u64 av_ldst_extend(const struct av_ldst *ls, u64 raw);

#endif /* AV_MMIO_DECODE_H */
