// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU that the guest is shown: a row a field, with the reason. A field
 * without a row reads as zero: no EL2, no EL3, no PAN and UAO (PSTATE bits of EL1
 * that EL0 cannot have), no pointer authentication, BTI and MTE (controls of
 * EL0 that virtual EL1 would need of its own), no SVE and SME, no RAS, no PMU
 * and no trace, no hardware access flag (the guest's tables are not the ones
 * walked), no CnP, no big-endian.
 */
#include "cpu/idregs.h"

enum kind {
	HOST,		/* as the host has it */
	CAP,		/* as the host has it, but no more than val */
	FIX,		/* val */
};

struct field {
	u8 reg, lsb, kind, val;
};

#define F(reg, lsb, kind, val)	{ AV_ID_##reg, lsb, kind, val }

static const struct field fields[] = {
	F(PFR0, 0, FIX, 1),	/* EL0: AArch64 only: AArch32 at EL0 is not virtualized */
	F(PFR0, 4, FIX, 1),	/* EL1: AArch64 only */
	F(PFR0, 16, HOST, 0),	/* FP: executed directly */
	F(PFR0, 20, HOST, 0),	/* AdvSIMD: executed directly */
	F(PFR0, 24, FIX, 1),	/* GIC: the vGIC's CPU interface is in system registers; 0 without a vGIC */
	F(PFR0, 48, CAP, 1),	/* DIT: PSTATE.DIT is EL0's to write, and switched with PSTATE */
	F(PFR0, 56, CAP, 1),	/* CSV2: a fact of the core; predictors know nothing of our levels */
	F(PFR0, 60, CAP, 1),	/* CSV3: a fact of the cores: without it a guest turns KPTI on, as on KVM */
	F(PFR1, 4, CAP, 2),	/* SSBS: PSTATE.SSBS is EL0's to write, and switched with PSTATE */
	F(ISAR0, 4, HOST, 0),	/* AES: executed directly */
	F(ISAR0, 8, HOST, 0),	/* SHA1: executed directly */
	F(ISAR0, 12, HOST, 0),	/* SHA2: executed directly */
	F(ISAR0, 16, HOST, 0),	/* CRC32: executed directly */
	F(ISAR0, 20, HOST, 0),	/* Atomic: executed directly */
	F(ISAR0, 28, HOST, 0),	/* RDM: executed directly */
	F(ISAR0, 32, HOST, 0),	/* SHA3: executed directly */
	F(ISAR0, 36, HOST, 0),	/* SM3: executed directly */
	F(ISAR0, 40, HOST, 0),	/* SM4: executed directly */
	F(ISAR0, 44, HOST, 0),	/* DP: executed directly */
	F(ISAR0, 48, HOST, 0),	/* FHM: executed directly */
	F(ISAR0, 52, HOST, 0),	/* TS: executed directly: flags are physical */
	F(ISAR0, 56, FIX, 2),	/* TLB: TLBI traps anyway, and one by range saves many */
	F(ISAR0, 60, HOST, 0),	/* RNDR: executed directly */
	F(ISAR1, 0, CAP, 2),	/* DPB: DC CVAP is EL0's with SCTLR_EL1.UCI */
	F(ISAR1, 12, HOST, 0),	/* JSCVT: executed directly */
	F(ISAR1, 16, HOST, 0),	/* FCMA: executed directly */
	F(ISAR1, 20, HOST, 0),	/* LRCPC: executed directly */
	F(ISAR1, 32, HOST, 0),	/* FRINTTS: executed directly */
	F(ISAR1, 36, HOST, 0),	/* SB: executed directly */
	F(ISAR1, 44, CAP, 1),	/* BF16: executed directly; EBF16 is a mode of FPCR we do not check for */
	F(ISAR1, 48, HOST, 0),	/* DGH: a hint */
	F(ISAR1, 52, HOST, 0),	/* I8MM: executed directly */
	F(MMFR0, 0, CAP, 5),	/* PARange: output addresses of the guest's walks, 48 bits at most */
	F(MMFR0, 4, FIX, 2),	/* ASIDBits: 16 bits: ASIDs of the guest are names of shadow trees */
	F(MMFR0, 20, FIX, 0),	/* TGran16: 4 KiB only */
	F(MMFR0, 24, FIX, 15),	/* TGran64: 4 KiB only */
	F(MMFR0, 28, FIX, 0),	/* TGran4: always there */
	F(MMFR2, 32, HOST, 0),	/* AT: unaligned single-copy atomicity, a fact of the core */
	F(MMFR2, 60, FIX, 1),	/* E0PD: honoured by the walker; where CSV3 is, tells the guest that KPTI gains nothing */
	F(DFR0, 0, FIX, 6),	/* DebugVer: Armv8 debug */
	F(DFR0, 12, HOST, 0),	/* BRPs: as the host has, for the VMM's sake */
	F(DFR0, 20, HOST, 0),	/* WRPs: as the host has */
	F(DFR0, 28, HOST, 0),	/* CTX_CMPs: as the host has */
};

static u64 field_value(const struct field *f, u64 host)
{
	u64 val = (host >> f->lsb) & 15;

	switch (f->kind) {
	case HOST:
		return val;
	case CAP:
		return min_t(u64, val, f->val);
	default:
		return f->val;
	}
}

u64 av_idreg_compose(unsigned int reg, u64 host)
{
	u64 val = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].reg == reg)
			val |= field_value(&fields[i], host) << fields[i].lsb;
	return val;
}

bool av_idreg_uses_host(unsigned int reg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].reg == reg && fields[i].kind != FIX)
			return true;
	return false;
}

/* FP, AdvSIMD, TGran64 and TGran4 are signed: 15 is less than 0. */
static bool is_signed(unsigned int reg, unsigned int lsb)
{
	return (reg == AV_ID_PFR0 && (lsb == 16 || lsb == 20)) ||
	       (reg == AV_ID_MMFR0 && (lsb == 24 || lsb == 28));
}

bool av_idreg_may_be(unsigned int reg, u64 limit, u64 val)
{
	unsigned int lsb;

	for (lsb = 0; lsb < 64; lsb += 4) {
		u64 have = (limit >> lsb) & 15, want = (val >> lsb) & 15;

		if (is_signed(reg, lsb)) {
			have = (have + 8) & 15;
			want = (want + 8) & 15;
		}
		if (want > have)
			return false;
	}
	return true;
}
