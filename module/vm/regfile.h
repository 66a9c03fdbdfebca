/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow register file: two pages per vCPU with the whole state of the guest's CPU.
 *
 * The first page is the hypervisor's. The world switch saves to it and loads from it at fixed
 * offsets (switch/offsets.h has them for assembly). While the guest runs, SP_EL1 points to this
 * page through the window, and the end of the page is cpu/fast.c's stack. The guest cannot
 * reach it: it holds the physical PSTATE, the way back to the host, and the virtual registers
 * whose values are checked on a write.
 *
 * The second page is shared with the guest: virtual EL1 reads and writes it (mmu/code/annex.h). It
 * holds only registers for which every value is legal. Access it through the accessors, once
 * per value, and trust it no more than any other guest memory.
 *
 * While the vCPU is outside the guest, only its own thread touches either page, except that
 * others may hide tables[] (mmu/guest/switcher_tables.h).
 *
 * Virtual state is separate from physical state:
 *  - vmode and sys[AV_DAIF] are the guest's view, in SPSR's layout. NZCV and the other bits
 *    that EL0 owns (AV_PSR_PHYS) are in the physical pstate. DAIF has a word of its own so that
 *    the guest can write it without reaching the mode;
 *  - sp is the stack pointer in use, physically SP_EL0. The other one is in sys[AV_SP_EL0] or
 *    sys[AV_SP_EL1] (av_srf_set_mode() swaps them).
 *
 * Pure: no kernel services.
 */
#ifndef AV_VM_REGFILE_H
#define AV_VM_REGFILE_H

#include "lib/av_types.h"
#include "stats/classes.h"
#include "stats/fast_time.h"

/* Why the guest exited: the exception vector, as the world switch stores it. */
enum av_exception {
	AV_EXCEPTION_SYNC,
	AV_EXCEPTION_IRQ,
	AV_EXCEPTION_FIQ,
	AV_EXCEPTION_SERROR,
	AV_EXCEPTION_FATAL,		/* an exception in the window itself: a bug of ours */
	AV_EXCEPTION_LOG,		/* none: the log of timed traps is full */
	AV_EXCEPTION_MISSED,		/* an answered one: the image has to learn (switch/image.h) */
};

/* Virtual system registers, and values shown to the guest: index in sys[], from the byte offset. */
#define AV_VREG(offset)	((offset) / 8)
enum av_vreg {
	/* first page: registers whose writes are checked, or change state elsewhere */
	AV_CPACR_EL1 = AV_VREG(0x8b8),	/* the first of them */
	AV_SCTLR_EL1 = AV_VREG(0x8c0),
	AV_ACTLR_EL1 = AV_VREG(0x8c8),
	AV_TCR_EL1 = AV_VREG(0x8d0),
	AV_AFSR0_EL1 = AV_VREG(0x8d8),
	AV_AFSR1_EL1 = AV_VREG(0x8e0),
	AV_MAIR_EL1 = AV_VREG(0x8e8),
	AV_AMAIR_EL1 = AV_VREG(0x8f0),
	AV_MDSCR_EL1 = AV_VREG(0x8f8),
	AV_TTBR0_EL1 = AV_VREG(0x900),
	AV_TTBR1_EL1 = AV_VREG(0x908),
	AV_VBAR_EL1 = AV_VREG(0x910),
	AV_PAR_EL1 = AV_VREG(0x918),
	AV_CNTKCTL_EL1 = AV_VREG(0x920),
	AV_CSSELR_EL1 = AV_VREG(0x928),
	AV_MDCCINT_EL1 = AV_VREG(0x930),
	AV_OSLSR_EL1 = AV_VREG(0x938),
	AV_OSDLR_EL1 = AV_VREG(0x940),
	AV_DISR_EL1 = AV_VREG(0x948),
	AV_DBGVCR32_EL2 = AV_VREG(0x950),
	AV_DACR32_EL2 = AV_VREG(0x958),
	AV_IFSR32_EL2 = AV_VREG(0x960),
	AV_FPEXC32_EL2 = AV_VREG(0x968),
	AV_DBGBVR0_EL1 = AV_VREG(0x970), AV_DBGBVR15_EL1 = AV_DBGBVR0_EL1 + 15,
	AV_DBGBCR0_EL1 = AV_VREG(0x9f0), AV_DBGBCR15_EL1 = AV_DBGBCR0_EL1 + 15,
	AV_DBGWVR0_EL1 = AV_VREG(0xa70), AV_DBGWVR15_EL1 = AV_DBGWVR0_EL1 + 15,
	AV_DBGWCR0_EL1 = AV_VREG(0xaf0), AV_DBGWCR15_EL1 = AV_DBGWCR0_EL1 + 15,
	AV_MIDR_EL1 = AV_VREG(0xb70),	/* the last of them */
	/* shared page: any value is legal. The window and the stubs use LDP/STP on neighbours. */
	AV_ELR_EL1 = AV_VREG(0x1010),
	AV_SPSR_EL1 = AV_VREG(0x1018),
	AV_ESR_EL1 = AV_VREG(0x1020),
	AV_DAIF = AV_VREG(0x1028),
	AV_SP_EL1 = AV_VREG(0x1030),
	AV_TPIDR_EL1 = AV_VREG(0x1038),
	AV_SP_EL0 = AV_VREG(0x1040),
	AV_TPIDR_EL0 = AV_VREG(0x1048),
	AV_TPIDRRO_EL0 = AV_VREG(0x1050),
	AV_FAR_EL1 = AV_VREG(0x1058),
	AV_CONTEXTIDR_EL1 = AV_VREG(0x1060),
	/* shared page: copies for the guest, never read back: srf->due, first page's registers */
	AV_SHOWN_DUE = AV_VREG(0x1068),
	AV_SHOWN_TCR_EL1 = AV_VREG(0x1070),
	AV_SHOWN_TTBR0_EL1 = AV_VREG(0x1078),
	AV_SHOWN_TTBR1_EL1 = AV_VREG(0x1080),
	AV_SHOWN_MIDR_EL1 = AV_VREG(0x1088),
	AV_NR_VREGS = AV_VREG(0x2000),
	AV_SRF_SHARED = AV_VREG(0x1000),	/* first register of the shared page */
};

#define AV_SRF_PAGE	4096

/* A row of quick_rows: encoding, counter, writable or not, index in sys[]. */
#define AV_QUICK_ENC		GENMASK(31, 16)
#define AV_QUICK_COUNTER	GENMASK(15, 11)
#define AV_QUICK_WRITE		BIT(10)
#define AV_QUICK_VREG		GENMASK(9, 0)
#define AV_QUICK_ROWS		32

/* A recently used pair of the guest's TTBRs, and the hardware's TTBRs for it. */
struct av_srf_roots {
	u64 ttbr0, ttbr1;	/* the guest's values */
	u64 root0;
	u64 root1[2];		/* by EL, with the ASID; 0: not ready. [1] is 0: unused entry */
};

/*
 * The ASID, without its lowest bit, selects the set of a pair: Linux gives each process one even
 * ASID, or two ASIDs (KPTI). TTBR0 or TTBR1 holds it; the field of the other is 0 or the same.
 *
 * One more pair is for the TTBR0 that a kernel uses between two processes (av_shadow.idle_base). It
 * serves every ASID: ignore the ASID in its ttbr1.
 */
#define AV_SRF_SETS	8
#define AV_SRF_WAYS	4
#define AV_SRF_IDLE	(AV_SRF_SETS * AV_SRF_WAYS)
#define AV_SRF_ROOTS	(AV_SRF_IDLE + 1)

/* A value that no TTBR0 has. */
#define AV_NO_TTBR	(~0ULL)

/* Are two values of TTBR1 the same except for their ASIDs? */
static __always_inline bool av_srf_same_base(u64 a, u64 b)
{
	return !((a ^ b) << 16);
}

/* The index of the first pair of a set. */
static __always_inline unsigned int av_srf_set_of(u64 ttbr0, u64 ttbr1)
{
	return ((ttbr0 >> 49) + (ttbr1 >> 49)) % AV_SRF_SETS * AV_SRF_WAYS;
}

/*
 * A level-3 table of the guest, mapped at tables_at plus its index times the page size. It
 * translates the addresses with va >> 21 == region, for virtual EL0 with low root root0. Other
 * vCPUs' threads may hide it at any time.
 */
struct av_srf_table {
	u64 region;		/* or AV_NO_REGION */
	u64 root0;
};

/* Indexed by the lowest bits of the region, so that neighbouring regions do not collide. */
#define AV_SRF_TABLES	4
#define AV_NO_REGION	(~0ULL)

struct av_srf {
	union {
		u64 sys[AV_NR_VREGS];	/* by enum av_vreg */
		struct {
			u64 regs[31];
			/* for switch/quick.S, see cpu/quick.h */
			u32 quick, quick_nr;	/* first syndrome handled, or 0: none; how many */
			u32 vmode;		/* virtual: mode, IL, SS */
			u32 in_place;		/* see copies, below */
			u64 sp;
			u64 pc;
			u64 pstate;		/* the physical one */
			u64 esr;		/* of the last exit, from the hardware */
			u64 far;
			u64 exit;		/* enum av_exception */
			u64 insn;		/* the unknown instruction, or AV_INSN_UNKNOWN */
			/* to return to the aux tables (switch/private.h) */
			u64 ttbr_none, ttbr1_hop, ttbr0_aux, low_private;
			u64 loops;		/* branch loop's iterations: switch/mitigate.h */
			u64 unpriv_tlbi;	/* TLBI before ERET to EL0: switch/mitigate.h */
			/* for switch/quick.S, with LDP/STP */
			u64 quick_imm[2];	/* syndromes of MSR DAIFSet and DAIFClr, imm 0 */
			u64 modes;		/* the window may switch virtual EL0 and EL1 */
			u32 quick_el0[2];	/* quick and quick_nr for virtual EL0 */
			u64 ttbr1[2];		/* by level, with the context's ASID */
			u64 phys;		/* AV_PSR_PHYS */
			u64 quick_modes;	/* for quick.S: modes, or 0 while anything is due */
			u64 due;		/* pending, as the PSTATE.DAIF bits that mask it */
			/* quick, quick_nr, vmode and in_place for virtual EL1 */
			u32 quick_on, quick_on_nr;
			u32 el1h;		/* AV_PSR_EL1H */
			/*
			 * TPIDR_EL0 and TPIDRRO_EL0 hold virtual EL1's SP_EL0 and TPIDR_EL1
			 * (mmu/stub/patch.h). in_place: they do now. copies: they do whenever
			 * virtual EL1 runs. Outside the guest all four are in sys[].
			 */
			u32 copies;
			u32 quick_made;		/* av_quick_set() has set quick_on etc. */
			u32 light;		/* light exits are allowed (switch/switch.h) */
			u64 svc_pc;		/* PC after an SVC of virtual EL0 … */
			u64 svc_pstate;		/* … and PSTATE from bit 10 up: SSBS or nothing */
			/* for cpu/fast.c, written before each entry */
			u64 slow;		/* every trap must exit: av_fast_not_now() */
			u32 cheap;		/* AV_CHEAP_* of cpu/cheap.h */
			u32 device_page;	/* device's page number (low): no light exits */
			/*
			 * set by roots/root.c for writes of TTBRn: low root, its pair's offset in
			 * roots[]
			 */
			u64 root0;
			u64 roots_at;
			u64 ttbr;		/* for switch/quick.S: which TTBR is written */
			u32 quick_rows[AV_QUICK_ROWS];
			u64 fast[AV_NR_FAST];	/* traps handled in the window, never reset */
			struct av_srf_roots roots[AV_SRF_ROOTS];
			u64 modes_same;		/* modes of a pair that has trees for both levels */
		};
		struct {
			u8 used[0xb78];		/* AV_SRF_USED */
			struct av_fast_log log;
			u64 psci_version;	/* answer for window and light exits; 0: none */
			/* for cpu/fast.c, from irq/: the guest's current interrupt, and more */
			u64 icc;		/* AV_ICC_* and the INTID; 0: none */
			u64 icc_waits;		/* one is pending, masked or not: AV_VGIC_WAITS */
			u64 icc_pmr;		/* ICC_PMR_EL1 and AV_ICC_PMR_KNOWN, or 0 */
			u64 cntv_ctl;		/* valid if AV_CNTV_KNOWN is set */
			u64 cntv_cval;
			u64 cntvoff;		/* CNTVCT_EL0 is the host's count less this */
			/* guest/switcher_tables.c: guest tables that the window may read */
			u64 tables_at;
			struct av_srf_table tables[AV_SRF_TABLES];
			u64 tcr_mid;		/* as in struct av_controls */
			/* switch/image.h: TTBR1, or 0; the private page's address there */
			u64 image, image_private;
		};
	};
} __aligned(AV_SRF_PAGE);

#define AV_SRF_USED	((AV_MIDR_EL1 + 1) * sizeof(u64))

/* The window could not read the instruction: C must fetch it. */
#define AV_INSN_UNKNOWN		BIT_ULL(32)

static_assert(sizeof(struct av_srf) == 2 * AV_SRF_PAGE);
static_assert(offsetof(struct av_srf, log) == AV_SRF_USED);
static_assert(offsetof(struct av_srf, image_private) < AV_SRF_PAGE - 512,
	      "its page is cpu/fast.c's stack too");
static_assert(offsetof(struct av_srf, modes_same) + sizeof(u64) <= AV_CPACR_EL1 * sizeof(u64));

/*
 * av_srf.icc. At an entry the CPU interface may offer an interrupt to the guest. A read of
 * ICC_IAR1_EL1 in the window takes the offer, and the guest's write of ICC_EOIR1_EL1 is recorded.
 * Outside KVM_RUN only TAKEN may be set.
 */
#define AV_ICC_INTID		GENMASK_ULL(23, 0)
#define AV_ICC_OFFERED		BIT_ULL(32)
#define AV_ICC_TAKEN		BIT_ULL(33)
#define AV_ICC_ENDED		BIT_ULL(34)
#define AV_ICC_MASKED		BIT_ULL(35)	/* the guest wrote icc_pmr */
#define AV_ICC_UNSETTLED	(AV_ICC_OFFERED | AV_ICC_ENDED | AV_ICC_MASKED)

#define AV_ICC_PMR		GENMASK_ULL(7, 3)
#define AV_ICC_PMR_KNOWN	BIT_ULL(8)
#define AV_CNTV_KNOWN		BIT_ULL(32)

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

/* The bits of PSTATE that EL0 reads and writes directly: kept in the physical PSTATE. */
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
#define AV_EC_SME		0x1d
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

/* CPACR_EL1: at which EL an FP access traps */
#define AV_CPACR_FPEN		GENMASK_ULL(21, 20)
#define AV_CPACR_FPEN_NONE	3
/* An FP access that it traps: EC_FP, CV 1, COND 14 */
#define AV_ESR_FP		(FIELD_PREP(AV_ESR_EC, AV_EC_FP) | AV_ESR_IL | 0x1eULL << 20)
/* Likewise for SVE and SME; the number of the lower of two bits. */
#define AV_CPACR_ZEN_LSB	16
#define AV_CPACR_FPEN_LSB	20
#define AV_CPACR_SMEN_LSB	24

/* Offset from VBAR_EL1 of the vectors for exceptions from a lower EL. */
#define AV_VECTOR_LOWER		0x400

/* SCTLR_EL1: the bits that the module uses. */
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
#define AV_SCTLR_TSCXT		BIT_ULL(20)
#define AV_SCTLR_SPAN		BIT_ULL(23)
#define AV_SCTLR_E0E		BIT_ULL(24)
#define AV_SCTLR_EE		BIT_ULL(25)
#define AV_SCTLR_UCI		BIT_ULL(26)
#define AV_SCTLR_DSSBS		BIT_ULL(44)
#define AV_SCTLR_ENTP2		BIT_ULL(60)

static inline u32 av_esr_ec(u64 esr)
{
	return FIELD_GET(AV_ESR_EC, esr);
}

/*
 * Read or write a virtual system register, exactly once: the guest may share the memory. All
 * accesses to sys[] go through these two.
 */
static __always_inline u64 av_srf_get(const struct av_srf *srf, unsigned int reg)
{
	return READ_ONCE(srf->sys[reg]);
}

static __always_inline void av_srf_set(struct av_srf *srf, unsigned int reg, u64 val)
{
	WRITE_ONCE(srf->sys[reg], val);
}

/* Set all virtual registers to 0. */
static inline void av_srf_clear_vregs(struct av_srf *srf)
{
	memset(&srf->sys[AV_CPACR_EL1], 0, AV_SRF_USED - AV_CPACR_EL1 * sizeof(u64));
	memset(&srf->sys[AV_SRF_SHARED], 0, AV_SRF_PAGE);
}

/* Show the guest's TTBRs in the shared page again: the guest may have overwritten them. */
static __always_inline void av_srf_show_ttbrs(struct av_srf *srf)
{
	av_srf_set(srf, AV_SHOWN_TTBR0_EL1, av_srf_get(srf, AV_TTBR0_EL1));
	av_srf_set(srf, AV_SHOWN_TTBR1_EL1, av_srf_get(srf, AV_TTBR1_EL1));
}

/* Show TCR_EL1 and the TTBRs. */
static inline void av_srf_show_regime(struct av_srf *srf)
{
	av_srf_set(srf, AV_SHOWN_TCR_EL1, av_srf_get(srf, AV_TCR_EL1));
	av_srf_show_ttbrs(srf);
}

/* Set MIDR_EL1 as the guest reads it: the current CPU's, or the value that the VMM set. */
static inline void av_srf_set_midr(struct av_srf *srf, u64 midr)
{
	av_srf_set(srf, AV_MIDR_EL1, midr);
	av_srf_set(srf, AV_SHOWN_MIDR_EL1, midr);
}

static __always_inline bool av_srf_offered(const struct av_srf *srf)
{
	return srf->icc & AV_ICC_OFFERED;
}

/* Is the vCPU at virtual EL1? */
static __always_inline bool av_srf_el1(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_EL1T;
}

/* The virtual mode: EL and SPSel. */
static __always_inline u64 av_srf_mode(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_MODE;
}

/* The pair in use is roots[i]. */
static __always_inline bool av_srf_at_pair(const struct av_srf *srf, unsigned int i)
{
	return srf->roots_at == i * sizeof(*srf->roots);
}

static __always_inline void av_srf_set_pair(struct av_srf *srf, unsigned int i)
{
	srf->roots_at = i * sizeof(*srf->roots);
}

static inline unsigned int av_srf_pair(const struct av_srf *srf)
{
	return srf->roots_at / sizeof(*srf->roots);
}

/* The virtual DAIF, in SPSR's layout. */
static __always_inline u64 av_srf_daif(const struct av_srf *srf)
{
	return av_srf_get(srf, AV_DAIF) & AV_PSR_DAIF;
}

static __always_inline void av_srf_set_daif(struct av_srf *srf, u64 daif)
{
	av_srf_set(srf, AV_DAIF, daif & AV_PSR_DAIF);
}

/* All virtual bits of PSTATE: mode, DAIF, IL, SS. */
static __always_inline u64 av_srf_vpstate(const struct av_srf *srf)
{
	return srf->vmode | av_srf_daif(srf);
}

static __always_inline void av_srf_set_vpstate(struct av_srf *srf, u64 vpstate)
{
	srf->vmode = vpstate & (AV_PSR_MODE | AV_PSR_IL | AV_PSR_SS);
	av_srf_set_daif(srf, vpstate);
}

/* Register n of an instruction for which 31 means XZR. */
static __always_inline u64 av_srf_get_x(const struct av_srf *srf, unsigned int n)
{
	return n < 31 ? srf->regs[n] : 0;
}

static __always_inline void av_srf_set_x(struct av_srf *srf, unsigned int n, u64 val)
{
	if (n < 31)
		srf->regs[n] = val;
}

/* The register that holds the stack pointer of a mode that is not the current one. */
static __always_inline enum av_vreg av_mode_sp(u64 mode)
{
	return (mode & AV_PSR_MODE) == AV_PSR_EL1H ? AV_SP_EL1 : AV_SP_EL0;
}

/* Switch the virtual mode (EL and SPSel), and the stack pointer with it. */
static __always_inline void av_srf_set_mode(struct av_srf *srf, u64 mode)
{
	av_srf_set(srf, av_mode_sp(srf->vmode), srf->sp);
	srf->vmode = (srf->vmode & ~AV_PSR_MODE) | (mode & AV_PSR_MODE);
	srf->sp = av_srf_get(srf, av_mode_sp(mode));
}

/*
 * CPACR_EL1: does the guest permit the current level what two bits of it control? The lower bit
 * permits EL1, both bits permit EL0 too.
 */
static inline bool av_srf_cpacr_permits(const struct av_srf *srf, unsigned int lsb)
{
	u64 enable = av_srf_get(srf, AV_CPACR_EL1) >> lsb & 3;

	return av_srf_el1(srf) ? enable & 1 : enable == 3;
}

/* May the guest use FP now? */
static inline bool av_srf_fp_allowed(const struct av_srf *srf)
{
	return av_srf_cpacr_permits(srf, AV_CPACR_FPEN_LSB);
}

/* The whole PSTATE, as SPSR would show it to the guest. */
static __always_inline u64 av_srf_spsr(const struct av_srf *srf)
{
	return av_srf_vpstate(srf) | (srf->pstate & AV_PSR_PHYS);
}

#endif /* AV_VM_REGFILE_H */
