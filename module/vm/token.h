/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tokens. In a copy of the guest's kernel (mmu/stub/patch.h), the instructions that trap most often
 * are replaced by SVCs whose immediate names the original instruction. The immediate is in the
 * syndrome, so that nothing is fetched, decoded or looked up (switch/quick.S). The guest's own SVC
 * with such an immediate is replaced by AV_SYS_COPY_SVC, which is unknown at EL0.
 *
 * A token is AV_TOKEN_FIRST + operation * AV_TOKEN_OPERANDS + operand. The operand is the register
 * or, for MSR (immediate), the immediate. The assembler reads this file too. Pure.
 */
#ifndef AV_VM_TOKEN_H
#define AV_VM_TOKEN_H

/*
 * OTHER(name), READ(register), WRITE(register): the order gives the numbers. The rows that
 * AV_CHEAP_ROWS (cpu/rows.h) can turn off come last.
 */
#define AV_TOKENS_ALWAYS(OTHER, READ, WRITE)	\
	OTHER(ERET)	/* first, because it is tested for first */ \
	OTHER(UNKNOWN)	/* not a token: an unknown instruction, without copies */ \
	OTHER(HVC)	\
	OTHER(DAIFSET)	\
	OTHER(DAIFCLR)	\
	OTHER(MRS_DAIF)	\
	OTHER(MSR_DAIF)	\
	OTHER(MSR_TTBR0)	\
	OTHER(MSR_TTBR1)	\
	READ(ELR_EL1)	\
	WRITE(ELR_EL1)	\
	READ(SPSR_EL1)	\
	WRITE(SPSR_EL1)	\
	READ(ESR_EL1)	\
	READ(FAR_EL1)
#define AV_TOKENS_ROWS(OTHER, READ, WRITE)	\
	READ(TCR_EL1)	\
	READ(TTBR0_EL1)	\
	READ(TTBR1_EL1)	\
	READ(CONTEXTIDR_EL1)	\
	WRITE(CONTEXTIDR_EL1)	\
	READ(TPIDRRO_EL0)	\
	WRITE(TPIDRRO_EL0)	\
	READ(TPIDR_EL0)	\
	WRITE(TPIDR_EL0)	\
	READ(MIDR_EL1)

#define AV_TOKEN_FIRST		0xf800
#define AV_TOKEN_OPERANDS	32
#define AV_TOKEN_SAMPLE		1024

/* AV_SYS(), which the assembler can use. */
#define AV_TOKEN_SYS(op0, op1, crn, crm, op2) \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

/* Encodings of the registers in READ and WRITE. */
#define AV_TOKEN_ENC_ELR_EL1		AV_TOKEN_SYS(3, 0, 4, 0, 1)
#define AV_TOKEN_ENC_SPSR_EL1		AV_TOKEN_SYS(3, 0, 4, 0, 0)
#define AV_TOKEN_ENC_ESR_EL1		AV_TOKEN_SYS(3, 0, 5, 2, 0)
#define AV_TOKEN_ENC_FAR_EL1		AV_TOKEN_SYS(3, 0, 6, 0, 0)
#define AV_TOKEN_ENC_TCR_EL1		AV_TOKEN_SYS(3, 0, 2, 0, 2)
#define AV_TOKEN_ENC_TTBR0_EL1		AV_TOKEN_SYS(3, 0, 2, 0, 0)
#define AV_TOKEN_ENC_TTBR1_EL1		AV_TOKEN_SYS(3, 0, 2, 0, 1)
#define AV_TOKEN_ENC_CONTEXTIDR_EL1	AV_TOKEN_SYS(3, 0, 13, 0, 1)
#define AV_TOKEN_ENC_TPIDRRO_EL0	AV_TOKEN_SYS(3, 3, 13, 0, 3)
#define AV_TOKEN_ENC_TPIDR_EL0		AV_TOKEN_SYS(3, 3, 13, 0, 2)
#define AV_TOKEN_ENC_MIDR_EL1		AV_TOKEN_SYS(3, 0, 0, 0, 0)

/* Instruction words with operand 0. */
#define AV_WORD_ERET		0xd69f03e0
#define AV_WORD_HVC_0		0xd4000002
#define AV_WORD_SVC		0xd4000001
#define AV_WORD_SVC_MASK	0xffe0001f
#define AV_WORD_DAIFSET		0xd50340df
#define AV_WORD_DAIFCLR		0xd50340ff
#define AV_WORD_MRS		0xd5300000
#define AV_WORD_MSR		0xd5100000
#define AV_TOKEN_ENC_DAIF	AV_TOKEN_SYS(3, 3, 4, 2, 1)
#define AV_WORD_READ(name)	(AV_WORD_MRS | AV_TOKEN_ENC_##name << 5)
#define AV_WORD_WRITE(name)	(AV_WORD_MSR | AV_TOKEN_ENC_##name << 5)
/* the names of the list above */
#define AV_WORD_UNKNOWN		0
#define AV_WORD_HVC		AV_WORD_HVC_0
#define AV_WORD_MRS_DAIF	AV_WORD_READ(DAIF)
#define AV_WORD_MSR_DAIF	AV_WORD_WRITE(DAIF)
#define AV_WORD_MSR_TTBR0	AV_WORD_WRITE(TTBR0_EL1)
#define AV_WORD_MSR_TTBR1	AV_WORD_WRITE(TTBR1_EL1)

#ifndef __ASSEMBLY__
#include "lib/av_types.h"
#include "vm/regfile.h"

#define AV_TOKEN_OPERAND	GENMASK(4, 0)
#define AV_TOKEN_OP		GENMASK(4, 0)
#define AV_WORD_CRM		GENMASK(11, 8)

#define AV_TOKEN_OTHER(name)	AV_TOKEN_##name,
#define AV_TOKEN_READ(name)	AV_TOKEN_READ_##name,
#define AV_TOKEN_WRITE(name)	AV_TOKEN_WRITE_##name,
enum av_token {
	AV_TOKENS_ALWAYS(AV_TOKEN_OTHER, AV_TOKEN_READ, AV_TOKEN_WRITE)
	AV_NR_TOKENS_ALWAYS,
	AV_TOKEN_LAST_ALWAYS = AV_NR_TOKENS_ALWAYS - 1,
	AV_TOKENS_ROWS(AV_TOKEN_OTHER, AV_TOKEN_READ, AV_TOKEN_WRITE)
	AV_NR_TOKENS
};

/* In the window (switch/quick.S): the original instruction of each operation, with operand 0. */
extern const u32 av_window_token_insns[AV_NR_TOKENS];

/* The original instruction of a token. */
static __always_inline u32 av_token_insn(u32 token)
{
	/* The mask keeps speculation within the table, too. */
	u32 op = token / AV_TOKEN_OPERANDS & AV_TOKEN_OP, operand = token & AV_TOKEN_OPERAND;
	bool imm = op == AV_TOKEN_DAIFSET || op == AV_TOKEN_DAIFCLR;

	return av_window_token_insns[op] | (imm ? operand << 8 : operand);
}

/* The operation for an access to a register; 0: there is none. */
static __always_inline u32 av_token_of_access(u16 enc, bool read)
{
	if (enc == AV_TOKEN_ENC_DAIF)
		return read ? AV_TOKEN_MRS_DAIF : AV_TOKEN_MSR_DAIF;
	if (enc == AV_TOKEN_ENC_TTBR0_EL1 && !read)
		return AV_TOKEN_MSR_TTBR0;
	if (enc == AV_TOKEN_ENC_TTBR1_EL1 && !read)
		return AV_TOKEN_MSR_TTBR1;
#define NONE(name)
#define READS(name)	read && enc == AV_TOKEN_ENC_##name ? AV_TOKEN_READ_##name :
#define WRITES(name)	!read && enc == AV_TOKEN_ENC_##name ? AV_TOKEN_WRITE_##name :
	return AV_TOKENS_ALWAYS(NONE, READS, WRITES) AV_TOKENS_ROWS(NONE, READS, WRITES) 0;
#undef NONE
#undef READS
#undef WRITES
}

static __always_inline u32 av_token_svc(u32 op, u32 operand)
{
	return AV_WORD_SVC | (AV_TOKEN_FIRST + op * AV_TOKEN_OPERANDS + operand) << 5;
}

/* The token in an SVC's immediate or syndrome. It is a token if it is below AV_TOKENS. */
#define AV_TOKENS		(AV_NR_TOKENS * AV_TOKEN_OPERANDS)
static __always_inline u32 av_token_of(u64 imm16)
{
	return (u32)(imm16 & 0xffff) - AV_TOKEN_FIRST;
}

/*
 * After a token trapped: set up the exit as if the original instruction had trapped. Returns
 * false, with nothing changed, if the trap was not a token's.
 */
static __always_inline bool av_from_token(struct av_srf *srf)
{
	u32 token = av_token_of(srf->esr);

	if (!srf->in_place || av_esr_ec(srf->esr) != AV_EC_SVC64 || token >= AV_TOKENS)
		return false;
	srf->insn = av_token_insn(token);
	srf->esr = AV_ESR_IL;
	srf->pc -= 4;
	return true;
}

static_assert(AV_TOKEN_FIRST + AV_TOKENS <= 0x10000);
static_assert(AV_NR_TOKENS <= AV_TOKEN_OP + 1);

#endif /* __ASSEMBLY__ */
#endif /* AV_VM_TOKEN_H */
