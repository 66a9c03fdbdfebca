/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow register file: two pages a vCPU, everything the guest's CPU holds.
 *
 * The first is the hypervisor's. The switcher saves to and loads from its head
 * by fixed offsets (switch/offsets.h has them for assembly). While the guest
 * runs, SP_EL1 points at it through the window, and its tail is cpu/fast.c's
 * stack. The guest cannot reach it: it holds the physical PSTATE and the way
 * back.
 *
 * The second is the guest's: its system registers, plain memory, where the
 * architecture has them for FEAT_NV2 (VNCR_EL2's page), and others behind those.
 * A guest may come to share it, so it is read and written through accessors,
 * once, and believed as little as any word of a guest's.
 *
 * Outside the guest only the vCPU's own thread touches them.
 *
 * The guest's virtual state is kept apart from the physical:
 *  - vmode and sys[AV_DAIF] are what the guest believes in, in SPSR's layout.
 *    NZCV and what else EL0 owns (AV_PSR_PHYS) is in the physical pstate. DAIF
 *    is apart so that a guest may come to write it, and it alone;
 *  - sp is the stack pointer in use, physically SP_EL0; the one not in use is
 *    in sys[AV_SP_EL0] or sys[AV_SP_EL1] (av_srf_set_mode() swaps them).
 *
 * Pure: no kernel services.
 */
#ifndef AV_VM_REGFILE_H
#define AV_VM_REGFILE_H

#include "lib/av_types.h"
#include "stats/classes.h"

/* Why the guest was left: the vector taken, as the switcher stores it. */
enum av_exception {
	AV_EXCEPTION_SYNC,
	AV_EXCEPTION_IRQ,
	AV_EXCEPTION_FIQ,
	AV_EXCEPTION_SERROR,
	AV_EXCEPTION_FATAL,		/* an exception in the window itself: our defect */
};

/* Virtual system registers, by offset in their page. */
#define AV_VREG(offset)	((offset) / 8)
enum av_vreg {
	/* the architecture's, for VNCR_EL2 (Linux: asm/vncr_mapping.h) */
	AV_CPACR_EL1 = AV_VREG(0x100),
	AV_CONTEXTIDR_EL1 = AV_VREG(0x108),
	AV_SCTLR_EL1 = AV_VREG(0x110),
	AV_ACTLR_EL1 = AV_VREG(0x118),
	AV_TCR_EL1 = AV_VREG(0x120),
	AV_AFSR0_EL1 = AV_VREG(0x128),
	AV_AFSR1_EL1 = AV_VREG(0x130),
	AV_ESR_EL1 = AV_VREG(0x138),
	AV_MAIR_EL1 = AV_VREG(0x140),
	AV_AMAIR_EL1 = AV_VREG(0x148),
	AV_MDSCR_EL1 = AV_VREG(0x158),
	AV_SPSR_EL1 = AV_VREG(0x160),
	AV_TTBR0_EL1 = AV_VREG(0x200),
	AV_TTBR1_EL1 = AV_VREG(0x210),
	AV_FAR_EL1 = AV_VREG(0x220),
	AV_ELR_EL1 = AV_VREG(0x230),
	AV_SP_EL1 = AV_VREG(0x240),
	AV_VBAR_EL1 = AV_VREG(0x250),
	/* ours, past what the architecture has given away */
	AV_SP_EL0 = AV_VREG(0xc00),
	AV_TPIDR_EL0 = AV_VREG(0xc08),
	AV_TPIDRRO_EL0 = AV_VREG(0xc10),
	AV_TPIDR_EL1 = AV_VREG(0xc18),
	AV_PAR_EL1 = AV_VREG(0xc20),
	AV_DAIF = AV_VREG(0xc28),
	AV_CNTKCTL_EL1 = AV_VREG(0xc30),
	AV_CSSELR_EL1 = AV_VREG(0xc38),
	AV_MDCCINT_EL1 = AV_VREG(0xc40),
	AV_OSLSR_EL1 = AV_VREG(0xc48),
	AV_OSDLR_EL1 = AV_VREG(0xc50),
	AV_DISR_EL1 = AV_VREG(0xc58),
	AV_DBGVCR32_EL2 = AV_VREG(0xc68),
	AV_DACR32_EL2 = AV_VREG(0xc70),
	AV_IFSR32_EL2 = AV_VREG(0xc78),
	AV_FPEXC32_EL2 = AV_VREG(0xc80),
	AV_DBGBVR0_EL1 = AV_VREG(0xd00), AV_DBGBVR15_EL1 = AV_DBGBVR0_EL1 + 15,
	AV_DBGBCR0_EL1 = AV_VREG(0xd80), AV_DBGBCR15_EL1 = AV_DBGBCR0_EL1 + 15,
	AV_DBGWVR0_EL1 = AV_VREG(0xe00), AV_DBGWVR15_EL1 = AV_DBGWVR0_EL1 + 15,
	AV_DBGWCR0_EL1 = AV_VREG(0xe80), AV_DBGWCR15_EL1 = AV_DBGWCR0_EL1 + 15,
	AV_NR_VREGS = AV_VREG(0x1000),
};

#define AV_SRF_PAGE	4096
#define AV_QUICK_ROWS	32

/* A pair of the guest's TTBRs that was in use lately, and what the hardware's are for it. */
struct av_srf_roots {
	u64 ttbr0, ttbr1;	/* the guest's */
	u64 root0;
	u64 root1[2];		/* by level, with the ASID; 0: not at hand, EL1's: no place at all */
};

#define AV_SRF_ROOTS	8

struct av_srf {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;		/* physical */
	u64 esr;		/* of the last exit, as the hardware gave it */
	u64 far;
	u64 exit;		/* enum av_exception */
	u64 insn;		/* of an unknown-instruction exit, or AV_INSN_UNKNOWN */
	u64 vmode;		/* virtual: mode, IL, SS */
	/* the way back to the aux tables, and what is done on it (switch/private.h) */
	u64 ttbr_none, ttbr1_hop, ttbr0_aux, low_private;
	u64 loops;		/* of branches, switch/mitigate.h */
	u64 unpriv_tlbi;	/* before each ERET to EL0, switch/mitigate.h */
	/* for cpu/fast.c, written before each entry */
	u64 due;		/* something waits, and PSTATE.DAIF keeps it out */
	u64 slow;		/* every trap is to leave: av_fast_not_now() */
	u64 cheap;		/* AV_CHEAP_* of cpu/cheap.h */
	/* for switch/quick.S: cpu/quick.h */
	u64 quick;		/* the syndrome that it takes, or 0 */
	u64 quick_imm[2];	/* that of MSR DAIFSet and DAIFClr, without the immediate */
	u64 modes;		/* virtual EL0 and EL1 may follow each other in the window */
	u64 ttbr1[2];		/* and the trees of each, with their context's ASID */
	u64 quick_on;		/* what quick is in virtual EL1 */
	u64 quick_modes;	/* modes, for it */
	/*
	 * TPIDR_EL0 and TPIDRRO_EL0 hold virtual EL1's SP_EL0 and TPIDR_EL1 (mmu/patch.h): now;
	 * in virtual EL1. Outside the guest all of them are in sys[].
	 */
	u64 in_place, copies;
	/* mmu/root.c's, for writes of TTBRn: the lower half's root now, and by place */
	u64 root0;
	u64 roots_at;
	u32 quick_rows[AV_QUICK_ROWS];
	u64 fast[AV_NR_FAST];	/* traps that did not leave, counted by cpu/fast.c for ever */
	struct av_srf_roots roots[AV_SRF_ROOTS];
	u64 modes_same;		/* what modes is where both have trees */
	u64 psci_version;	/* that the window tells; 0: neither it nor light exits */

	u64 sys[AV_NR_VREGS] __aligned(AV_SRF_PAGE);
};

#define AV_SRF_USED	(offsetof(struct av_srf, psci_version) + sizeof(u64))

/* The switcher could not read the instruction: fetch it. */
#define AV_INSN_UNKNOWN		BIT_ULL(32)

static_assert(sizeof(struct av_srf) == 2 * AV_SRF_PAGE);
static_assert(AV_SRF_USED <= 2048, "its page is cpu/fast.c's stack too");

/* PSTATE, in SPSR's layout. */
#define AV_PSR_MODE		GENMASK_ULL(4, 0)
#define AV_PSR_EL		GENMASK_ULL(3, 2)
#define AV_PSR_EL0T		0x0
#define AV_PSR_EL1T		0x4
#define AV_PSR_EL1H		0x5
#define AV_PSR_NRW		BIT_ULL(4)
#define AV_PSR_F		BIT_ULL(6)
#define AV_PSR_I		BIT_ULL(7)
#define AV_PSR_A		BIT_ULL(8)
#define AV_PSR_D		BIT_ULL(9)
#define AV_PSR_DAIF		GENMASK_ULL(9, 6)
#define AV_PSR_BTYPE		GENMASK_ULL(11, 10)
#define AV_PSR_SSBS		BIT_ULL(12)
#define AV_PSR_IL		BIT_ULL(20)
#define AV_PSR_SS		BIT_ULL(21)
#define AV_PSR_PAN		BIT_ULL(22)
#define AV_PSR_UAO		BIT_ULL(23)
#define AV_PSR_DIT		BIT_ULL(24)
#define AV_PSR_NZCV		GENMASK_ULL(31, 28)

/* The bits of PSTATE that EL0 reads and writes itself, and so are kept physically. */
#define AV_PSR_PHYS		(AV_PSR_NZCV | AV_PSR_DIT | AV_PSR_SSBS | AV_PSR_BTYPE)

/* ESR_ELx */
#define AV_ESR_EC		GENMASK_ULL(31, 26)
#define AV_ESR_IL		BIT_ULL(25)
#define AV_ESR_ISS		GENMASK_ULL(24, 0)
#define AV_ESR_WNR		BIT_ULL(6)
#define AV_ESR_S1PTW		BIT_ULL(7)
#define AV_ESR_CM		BIT_ULL(8)
#define AV_ESR_FNV		BIT_ULL(10)
#define AV_ESR_EA		BIT_ULL(9)
#define AV_ESR_FSC		GENMASK_ULL(5, 0)

#define AV_EC_UNKNOWN		0x00
#define AV_EC_WFX		0x01
#define AV_EC_FP		0x07
#define AV_EC_ILLEGAL		0x0e
#define AV_EC_SVC64		0x15
#define AV_EC_HVC64		0x16
#define AV_EC_SMC64		0x17
#define AV_EC_SYS64		0x18
#define AV_EC_SVE		0x19
#define AV_EC_IABT_LOW		0x20
#define AV_EC_IABT_CUR		0x21
#define AV_EC_PC_ALIGN		0x22
#define AV_EC_DABT_LOW		0x24
#define AV_EC_DABT_CUR		0x25
#define AV_EC_SP_ALIGN		0x26
#define AV_EC_FP_EXC64		0x2c
#define AV_EC_SERROR		0x2f
#define AV_EC_BREAKPT_LOW	0x30
#define AV_EC_BREAKPT_CUR	0x31
#define AV_EC_SOFTSTP_LOW	0x32
#define AV_EC_SOFTSTP_CUR	0x33
#define AV_EC_WATCHPT_LOW	0x34
#define AV_EC_WATCHPT_CUR	0x35
#define AV_EC_BRK64		0x3c

/* CPACR_EL1: who is trapped that uses FP */
#define AV_CPACR_FPEN		GENMASK_ULL(21, 20)
#define AV_CPACR_FPEN_NONE	3

/* SCTLR_EL1, the bits that mean something to us. */
#define AV_SCTLR_M		BIT_ULL(0)
#define AV_SCTLR_A		BIT_ULL(1)
#define AV_SCTLR_C		BIT_ULL(2)
#define AV_SCTLR_SA		BIT_ULL(3)
#define AV_SCTLR_SA0		BIT_ULL(4)
#define AV_SCTLR_NAA		BIT_ULL(6)
#define AV_SCTLR_UMA		BIT_ULL(9)
#define AV_SCTLR_I		BIT_ULL(12)
#define AV_SCTLR_DZE		BIT_ULL(14)
#define AV_SCTLR_UCT		BIT_ULL(15)
#define AV_SCTLR_NTWI		BIT_ULL(16)
#define AV_SCTLR_NTWE		BIT_ULL(18)
#define AV_SCTLR_WXN		BIT_ULL(19)
#define AV_SCTLR_SPAN		BIT_ULL(23)
#define AV_SCTLR_E0E		BIT_ULL(24)
#define AV_SCTLR_EE		BIT_ULL(25)
#define AV_SCTLR_UCI		BIT_ULL(26)
#define AV_SCTLR_DSSBS		BIT_ULL(44)

static inline u32 av_esr_ec(u64 esr)
{
	return FIELD_GET(AV_ESR_EC, esr);
}

/*
 * A virtual system register. Read and written once: a guest may come to share
 * this memory. Nobody else looks into sys[].
 */
static __always_inline u64 av_srf_get(const struct av_srf *srf, unsigned int reg)
{
	return READ_ONCE(srf->sys[reg]);
}

static __always_inline void av_srf_set(struct av_srf *srf, unsigned int reg, u64 val)
{
	WRITE_ONCE(srf->sys[reg], val);
}

/* Is the guest's virtual CPU at EL1? */
static __always_inline bool av_srf_el1(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_EL1T;
}

/* The virtual mode: EL and SPSel. */
static __always_inline u64 av_srf_mode(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_MODE;
}

/* The virtual masks, where SPSR has them. */
static __always_inline u64 av_srf_daif(const struct av_srf *srf)
{
	return av_srf_get(srf, AV_DAIF) & AV_PSR_DAIF;
}

static __always_inline void av_srf_set_daif(struct av_srf *srf, u64 daif)
{
	av_srf_set(srf, AV_DAIF, daif & AV_PSR_DAIF);
}

/* All of PSTATE that is virtual: mode, masks, IL, SS. */
static __always_inline u64 av_srf_vpstate(const struct av_srf *srf)
{
	return srf->vmode | av_srf_daif(srf);
}

static __always_inline void av_srf_set_vpstate(struct av_srf *srf, u64 vpstate)
{
	srf->vmode = vpstate & (AV_PSR_MODE | AV_PSR_IL | AV_PSR_SS);
	av_srf_set_daif(srf, vpstate);
}

/* Register 31 of an instruction that means XZR by it. */
static __always_inline u64 av_srf_get_x(const struct av_srf *srf, unsigned int n)
{
	return n < 31 ? srf->regs[n] : 0;
}

static __always_inline void av_srf_set_x(struct av_srf *srf, unsigned int n, u64 val)
{
	if (n < 31)
		srf->regs[n] = val;
}

/* Where the stack pointer of a mode is kept while another is in use. */
static __always_inline enum av_vreg av_mode_sp(u64 mode)
{
	return (mode & AV_PSR_MODE) == AV_PSR_EL1H ? AV_SP_EL1 : AV_SP_EL0;
}

/* Replace the virtual mode (EL and SPSel), moving the stack pointers. */
static __always_inline void av_srf_set_mode(struct av_srf *srf, u64 mode)
{
	av_srf_set(srf, av_mode_sp(srf->vmode), srf->sp);
	srf->vmode = (srf->vmode & ~AV_PSR_MODE) | (mode & AV_PSR_MODE);
	srf->sp = av_srf_get(srf, av_mode_sp(mode));
}

/* May the guest use FP now? CPACR_EL1.FPEN: bit 0 lets EL1, both together let EL0 too. */
static inline bool av_srf_fp_allowed(const struct av_srf *srf)
{
	u64 fpen = FIELD_GET(AV_CPACR_FPEN, av_srf_get(srf, AV_CPACR_EL1));

	return av_srf_el1(srf) ? fpen & 1 : fpen == AV_CPACR_FPEN_NONE;
}

/* The whole PSTATE as the guest would see it in SPSR. */
static __always_inline u64 av_srf_spsr(const struct av_srf *srf)
{
	return av_srf_vpstate(srf) | (srf->pstate & AV_PSR_PHYS);
}

#endif /* AV_VM_REGFILE_H */
