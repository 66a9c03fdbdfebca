// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's CPU features: one row per ID field, with the reason. A field
 * without a row reads as zero: no EL2 and EL3; no PAN and UAO (EL1 PSTATE bits
 * that EL0 lacks); no pointer authentication, BTI and MTE (their EL0 controls
 * would need separate values for virtual EL1); no SVE and SME; no RAS; no
 * trace; no hardware access flag (the hardware does not walk the guest's
 * tables); no CnP; no big-endian. cpu/regs_id.c adds PMUVer for vCPUs with that
 * feature.
 */
#include "cpu/idregs.h"

enum kind {
	HOST,		/* the host's value */
	CAP,		/* the host's value, at most val */
	FIX,		/* val */
};

struct field {
	u8 reg, lsb, kind, val;
};

#define F(reg, lsb, kind, val)	{ AV_ID_##reg, lsb, kind, val }

static const struct field fields[] = {
	F(PFR0, 0, FIX, 1),	/* EL0: AArch64 only: AArch32 is not virtualized */
	F(PFR0, 4, FIX, 1),	/* EL1: AArch64 only */
	F(PFR0, 16, HOST, 0),	/* FP: executed directly */
	F(PFR0, 20, HOST, 0),	/* AdvSIMD: executed directly */
	F(PFR0, 24, FIX, 1),	/* GIC: system register interface; 0 without a vGIC */
	F(PFR0, 48, CAP, 1),	/* DIT: EL0 can write PSTATE.DIT; switched with PSTATE */
	F(PFR0, 56, CAP, 1),	/* CSV2: a property of the core, for all virtual levels */
	F(PFR0, 60, CAP, 1),	/* CSV3: a property of the cores; a guest without it enables KPTI */
	F(PFR1, 4, CAP, 2),	/* SSBS: EL0 can write PSTATE.SSBS; switched with PSTATE */
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
	F(ISAR0, 56, FIX, 2),	/* TLB: TLBI traps anyway, and one range TLBI replaces many */
	F(ISAR0, 60, HOST, 0),	/* RNDR: executed directly */
	F(ISAR1, 0, CAP, 2),	/* DPB: EL0 may use DC CVAP with SCTLR_EL1.UCI */
	F(ISAR1, 12, HOST, 0),	/* JSCVT: executed directly */
	F(ISAR1, 16, HOST, 0),	/* FCMA: executed directly */
	F(ISAR1, 20, HOST, 0),	/* LRCPC: executed directly */
	F(ISAR1, 32, HOST, 0),	/* FRINTTS: executed directly */
	F(ISAR1, 36, HOST, 0),	/* SB: executed directly */
	F(ISAR1, 44, CAP, 1),	/* BF16: executed directly; EBF16, a mode of FPCR, is unchecked */
	F(ISAR1, 48, HOST, 0),	/* DGH: a hint */
	F(ISAR1, 52, HOST, 0),	/* I8MM: executed directly */
	F(MMFR0, 0, CAP, 5),	/* PARange: output size of the guest's walks, at most 48 bits */
	F(MMFR0, 4, FIX, 2),	/* ASIDBits: 16 bits: the guest's ASIDs only name shadow trees */
	F(MMFR0, 20, FIX, 0),	/* TGran16: 4 KiB only */
	F(MMFR0, 24, FIX, 15),	/* TGran64: 4 KiB only */
	F(MMFR0, 28, FIX, 0),	/* TGran4: always */
	F(MMFR2, 32, HOST, 0),	/* AT: unaligned single-copy atomicity, a property of the core */
	F(MMFR2, 60, FIX, 1),	/* E0PD: the walker honours it; with CSV3, KPTI gains nothing */
	F(DFR0, 0, FIX, 6),	/* DebugVer: Armv8 debug */
	F(DFR0, 12, HOST, 0),	/* BRPs: the host's number, which the VMM may use */
	F(DFR0, 20, HOST, 0),	/* WRPs: the host's number */
	F(DFR0, 28, HOST, 0),	/* CTX_CMPs: the host's number */
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

#define NIBBLE(lsb)	(15ULL << (lsb))

/*
 * The fields that a VMM may lower, as under KVM: those of features that can be
 * hidden from a guest.
 */
static const struct {
	u8 reg;
	u64 mask;
} writable[] = {
	/* FP, AdvSIMD, RAS, SVE, MPAM, AMU. */
	{ AV_ID_PFR0,		~(NIBBLE(16) | NIBBLE(20) | NIBBLE(28) | NIBBLE(32) |
				  NIBBLE(40) | NIBBLE(44)) },
	/* BT, SSBS, CSV2_frac. */
	{ AV_ID_PFR1,		NIBBLE(0) | NIBBLE(4) | NIBBLE(32) },
	/* FPMR. */
	{ AV_IDREG(4, 2),	NIBBLE(32) },
	{ AV_IDREG(4, 4),	~(GENMASK_ULL(63, 60) | GENMASK_ULL(51, 48) | GENMASK_ULL(39, 36) |
				  GENMASK_ULL(31, 28) | GENMASK_ULL(15, 8)) },
	{ AV_IDREG(4, 7),	~(GENMASK_ULL(63, 32) | GENMASK_ULL(27, 2)) },
	/*
	 * DebugVer, PMUVer, WRPs, DoubleLock. Not BRPs: context-aware
	 * breakpoints count from the top.
	 */
	{ AV_ID_DFR0,		NIBBLE(0) | NIBBLE(8) | NIBBLE(20) | NIBBLE(36) },
	{ AV_ID_ISAR0,		~NIBBLE(0) },
	/* Pointer authentication, here and in the next row. */
	{ AV_ID_ISAR1,		~(NIBBLE(4) | NIBBLE(8) | NIBBLE(24) | NIBBLE(28)) },
	{ AV_IDREG(6, 2),	~(NIBBLE(8) | NIBBLE(12) | NIBBLE(44)) },
	/* ASIDBits, stage 2 granules. */
	{ AV_ID_MMFR0,		~(NIBBLE(4) | NIBBLE(32) | NIBBLE(36) | NIBBLE(40) |
				  GENMASK_ULL(55, 48)) },
	/* VMIDBits, VH, XNX, TWED, HCX. */
	{ AV_ID_MMFR1,		~(NIBBLE(4) | NIBBLE(8) | NIBBLE(28) | NIBBLE(32) | NIBBLE(40)) },
	/* CCIDX, NV, IDS, FWB, EVT. */
	{ AV_ID_MMFR2,		~(NIBBLE(20) | NIBBLE(24) | NIBBLE(36) | NIBBLE(40) | NIBBLE(44) |
				  NIBBLE(56)) },
	/* TCRX, S1PIE, S1POE. */
	{ AV_IDREG(7, 3),	NIBBLE(0) | NIBBLE(8) | NIBBLE(16) },
};

u64 av_idreg_writable(unsigned int reg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(writable); i++)
		if (writable[i].reg == reg)
			return writable[i].mask;
	return 0;
}

/* CRm 1 to 3, except auxiliary and unallocated registers. */
bool av_idreg_is_aarch32(unsigned int reg)
{
	return reg < AV_IDREG(4, 0) && reg != AV_IDREG(1, 3) && reg != AV_IDREG(3, 3) &&
	       reg != AV_IDREG(3, 5) && reg != AV_IDREG(3, 7);
}

/* Fields where 15 is below 0: TGran64, TGran4, DoubleLock. */
static bool is_signed(unsigned int reg, unsigned int lsb)
{
	return (reg == AV_ID_MMFR0 && (lsb == 24 || lsb == 28)) ||
	       (reg == AV_ID_DFR0 && lsb == 36);
}

static bool field_may_be(unsigned int reg, unsigned int lsb, unsigned int have, unsigned int want)
{
	/* A higher SpecSEI warns of more, which is safe. */
	if (reg == AV_ID_MMFR1 && lsb == 24)
		return want >= have;
	/* DebugVer starts at Armv8's 6. */
	if (reg == AV_ID_DFR0 && lsb == 0 && want < 6)
		return false;
	if (is_signed(reg, lsb)) {
		have = (have + 8) & 15;
		want = (want + 8) & 15;
	}
	return want <= have;
}

bool av_idreg_may_be(unsigned int reg, u64 limit, u64 val)
{
	u64 mask = av_idreg_writable(reg);
	unsigned int lsb;

	if ((val ^ limit) & ~mask)
		return false;
	for (lsb = 0; lsb < 64; lsb += 4)
		if (!field_may_be(reg, lsb, (limit >> lsb) & 15, (val >> lsb) & 15))
			return false;
	return true;
}

u64 av_idreg_forget(unsigned int reg, u64 host, u64 val)
{
	u64 mpam = reg == AV_ID_PFR0 ? NIBBLE(40) : reg == AV_ID_PFR1 ? NIBBLE(16) : 0;

	if (!((host ^ val) & mpam))
		val &= ~mpam;
	if (reg == AV_ID_DFR0 && (val & NIBBLE(8)) == NIBBLE(8))
		val &= ~NIBBLE(8);
	return val;
}

/* Each field of CTR_EL0 may be lowered. */
bool av_ctr_may_be(u64 limit, u64 val)
{
	static const u64 fields[] = { AV_CTR_DIC, AV_CTR_IDC, AV_CTR_DMINLINE, AV_CTR_IMINLINE };
	unsigned int i;

	if ((val ^ limit) & ~AV_CTR_WRITABLE)
		return false;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if ((val & fields[i]) > (limit & fields[i]))
			return false;
	return true;
}
