// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#include "insn.h"

#define INSN_TEXT(name, text) text,
const char *const insn_class_names[NR_INSN_CLASSES] = { INSN_CLASSES(INSN_TEXT) };
const char *const insn_tlbi_names[NR_INSN_TLBIS] = { INSN_TLBIS(INSN_TEXT) };

/* Fields of the system instructions: op0, op1, CRn, CRm, op2. */
#define FIELD(insn, low, bits) ((insn) >> (low) & ((1U << (bits)) - 1))
#define OP0(insn) FIELD(insn, 19, 2)
#define OP1(insn) FIELD(insn, 16, 3)
#define CRN(insn) FIELD(insn, 12, 4)
#define CRM(insn) FIELD(insn, 8, 4)
#define OP2(insn) FIELD(insn, 5, 3)
#define IS_READ(insn) FIELD(insn, 21, 1)

/* CRn of op0 0 and 1. */
#define CRN_HINT	2
#define CRN_BARRIER	3
#define CRN_PSTATE	4
#define CRN_CACHE	7
#define CRN_TLBI	8
#define CRN_TLBI_NXS	9

/* By op2: 2 is CLREX, 1 is DSB with nXS, 7 is SB. */
static const enum insn_class barriers[8] = {
	INSN_DSB, INSN_DSB, INSN_ORDINARY, INSN_DSB, INSN_DSB, INSN_DMB, INSN_ISB, INSN_ISB,
};

static enum insn_class op0_0(uint32_t insn)
{
	if (IS_READ(insn))
		return INSN_ORDINARY;
	if (CRN(insn) == CRN_BARRIER)
		return barriers[OP2(insn)];
	return CRN(insn) == CRN_PSTATE ? INSN_WRITE : INSN_ORDINARY;
}

static enum insn_class op0_1(uint32_t insn)
{
	if (IS_READ(insn))
		return INSN_ORDINARY;
	if (CRN(insn) == CRN_TLBI || CRN(insn) == CRN_TLBI_NXS)
		return INSN_TLBI;
	return CRN(insn) == CRN_CACHE ? INSN_CACHE : INSN_ORDINARY;
}

enum insn_class insn_class(uint32_t insn)
{
	if ((insn & 0xffe0001c) == 0xd4000000 && (insn & 3))
		return INSN_CALL;
	if ((insn & 0xffe0001f) == 0xd4200000)
		return INSN_CALL;
	/* ERET, ERETAA, ERETAB */
	if (insn == 0xd69f03e0 || (insn & ~0x400U) == 0xd69f0bff)
		return INSN_ERET;
	if ((insn & 0xffc00000) != 0xd5000000)
		return INSN_ORDINARY;
	switch (OP0(insn)) {
	case 0:
		return op0_0(insn);
	case 1:
		return op0_1(insn);
	default:
		return IS_READ(insn) ? INSN_READ : INSN_WRITE;
	}
}

/* Of EL1: op1 0. By range: CRm 2, 5, 6. */
static enum insn_tlbi tlbi_el1(uint32_t insn)
{
	unsigned int crm = CRM(insn);

	if (crm == 2 || crm == 5 || crm == 6)
		return TLBI_VA;
	switch (OP2(insn)) {
	case 0:
		return TLBI_VMID;
	case 2:
		return TLBI_ASID;
	default:
		return TLBI_VA;
	}
}

/* Of EL2: op1 4. Stage 2 by IPA: CRm 0 and 4. */
static enum insn_tlbi tlbi_el2(uint32_t insn)
{
	unsigned int crm = CRM(insn);

	if (crm == 0 || crm == 4)
		return TLBI_IPA;
	if (crm == 2 || crm == 5 || crm == 6)
		return TLBI_VA;
	switch (OP2(insn)) {
	case 0:
		return TLBI_EL2;
	case 4:
		return TLBI_EL1;
	case 6:
		return TLBI_VMID_BOTH;
	default:
		return TLBI_VA;
	}
}

enum insn_tlbi insn_tlbi(uint32_t insn)
{
	if (insn_class(insn) != INSN_TLBI)
		return TLBI_NONE;
	switch (OP1(insn)) {
	case 0:
		return tlbi_el1(insn);
	case 4:
		return tlbi_el2(insn);
	default:
		return TLBI_NONE;	/* EL3's */
	}
}

int insn_hint(uint32_t insn)
{
	return (insn & 0xfffff01f) == 0xd503201f ? (int)FIELD(insn, 5, 7) : -1;
}
