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
 * The fields that a VMM may write, as under KVM: those of features that can be hidden from a
 * guest. The second mask is the newest KVM's, which leaves out bits that no feature has. A comment
 * names the fields of both masks and, behind a semicolon, those in which they differ.
 */
static const struct {
	u8 reg;
	u64 mask, newer;
} writable[] = {
	/* All but FP, AdvSIMD, SVE, MPAM, AMU; RAS only in the newest. */
	{ AV_ID_PFR0,		0xffff00f00f00ffff, 0xffff00f0ff00ffff },
	/* BT, SSBS, CSV2_frac; RAS_frac, DF2. */
	{ AV_ID_PFR1,		0x0000000f000000ff, 0x0f00000f0000f0ff },
	/* FPMR; MTESTOREONLY, MTEFAR, GCIE. */
	{ AV_IDREG(4, 2),	0x0000000f00000000, 0x0000000f0000fff0 },
	{ AV_IDREG(4, 4),	0x0ff0ff0f0fff00ff, 0x0fffff0f0ffff0ff },
	{ AV_IDREG(4, 7),	0x00000000f0000003, 0x00000000fc0080ff },
	/*
	 * DebugVer, PMUVer, WRPs, DoubleLock. Not BRPs: context-aware
	 * breakpoints count from the top.
	 */
	{ AV_ID_DFR0,		0x000000f000f00f0f, 0x000000f000f00f0f },
	{ AV_ID_ISAR0,		0xfffffffffffffff0, 0xfffffffff0fffff0 },
	/* All but pointer authentication, here and in the next row. */
	{ AV_ID_ISAR1,		0xffffffff00fff00f, 0xffffffff00fff00f },
	{ AV_IDREG(6, 2),	0xffff0fffffff00ff, 0xffffffffffff00ff },
	/* FAMINMAX, LSFE, LSUI, FPRCVT. */
	{ AV_IDREG(6, 3),	0,		    0x00000000ff0f00f0 },
	/* All but ASIDBits; stage 2 granules only in the newest. */
	{ AV_ID_MMFR0,		0xff00f000ffffff0f, 0xff00ffffffffff0f },
	/* All but VMIDBits, VH, XNX; TWED, HCX only in the newest. */
	{ AV_ID_MMFR1,		0xfffff0f00ffff00f, 0xffffffff0ffff00f },
	/* All but CCIDX, NV, IDS, FWB, EVT. */
	{ AV_ID_MMFR2,		0xf0ff000ff00fffff, 0xf0ff000ff00fffff },
	/* TCRX, S1PIE, S1POE; SCTLRX. */
	{ AV_IDREG(7, 3),	0x00000000000f0f0f, 0x00000000000f0fff },
	/* NV_frac. */
	{ AV_IDREG(7, 4),	0,		    0x0000000000f00000 },
};

u64 av_idreg_writable(unsigned int reg, bool newer)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(writable); i++)
		if (writable[i].reg == reg)
			return newer ? writable[i].newer : writable[i].mask;
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
	/* A stage 2 granule: as it is, or none. */
	if (reg == AV_ID_MMFR0 && lsb >= 32 && lsb <= 40)
		return want == have || want == 1;
	/* DebugVer starts at Armv8's 6. */
	if (reg == AV_ID_DFR0 && lsb == 0 && want < 6)
		return false;
	if (is_signed(reg, lsb)) {
		have = (have + 8) & 15;
		want = (want + 8) & 15;
	}
	return want <= have;
}

bool av_idreg_may_be(unsigned int reg, u64 limit, u64 val, bool newer)
{
	u64 mask = av_idreg_writable(reg, newer);
	unsigned int lsb;

	if ((val ^ limit) & ~mask)
		return false;
	for (lsb = 0; lsb < 64; lsb += 4)
		if (!field_may_be(reg, lsb, (limit >> lsb) & 15, (val >> lsb) & 15))
			return false;
	return true;
}

bool av_idreg_lacks_aarch64(unsigned int reg, u64 val)
{
	return reg == AV_ID_PFR0 && (!(val & NIBBLE(0)) || !(val & NIBBLE(4)));
}

/* The fields of MPAM and NV, which old KVM showed as the host has them. */
static u64 once_shown(unsigned int reg)
{
	switch (reg) {
	case AV_ID_PFR0:
		return NIBBLE(40);
	case AV_ID_PFR1:
		return NIBBLE(16);
	case AV_ID_MMFR2:
		return NIBBLE(24);
	default:
		return 0;
	}
}

u64 av_idreg_forget(unsigned int reg, u64 host, u64 val)
{
	u64 mask = once_shown(reg);

	if (!((host ^ val) & mask))
		val &= ~mask;
	if (reg == AV_ID_DFR0 && (val & NIBBLE(8)) == NIBBLE(8))
		val &= ~NIBBLE(8);
	return val;
}

u64 av_ctr_writable(bool newer)
{
	return AV_CTR_DIC | AV_CTR_IDC | AV_CTR_DMINLINE | AV_CTR_IMINLINE |
	       (newer ? AV_CTR_L1IP : 0);
}

/* Each field of CTR_EL0 may be lowered, L1Ip only to VIPT. */
bool av_ctr_may_be(u64 limit, u64 val, bool newer)
{
	static const u64 fields[] = { AV_CTR_DIC, AV_CTR_IDC, AV_CTR_DMINLINE, AV_CTR_IMINLINE };
	unsigned int i;

	if ((val ^ limit) & ~av_ctr_writable(newer))
		return false;
	if ((val ^ limit) & AV_CTR_L1IP && FIELD_GET(AV_CTR_L1IP, val) != AV_CTR_L1IP_VIPT)
		return false;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if ((val & fields[i]) > (limit & fields[i]))
			return false;
	return true;
}
