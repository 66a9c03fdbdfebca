// SPDX-License-Identifier: GPL-2.0
/* The machine's controls while the guest runs. Pure: see cpu/controls.h. */
#include "cpu/controls.h"
#include "cpu/hwdebug.h"

/*
 * Rules. HOST: as the host has it. ON: always. GUEST: as the virtual register has
 * it. USER: at virtual EL0 as the virtual register has it, at virtual EL1 on.
 * OTHER: by the function below the list. What is not listed is 0.
 */
enum { RULE_HOST, RULE_ON, RULE_GUEST, RULE_USER, RULE_OTHER };

/* The bits of a list that follow one rule, a constant. */
#define BITS_HOST(bits, rule)	| (RULE_##rule == RULE_HOST ? (bits) : 0)
#define BITS_ON(bits, rule)	| (RULE_##rule == RULE_ON ? (bits) : 0)
#define BITS_GUEST(bits, rule)	| (RULE_##rule == RULE_GUEST ? (bits) : 0)
#define BITS_USER(bits, rule)	| (RULE_##rule == RULE_USER ? (bits) : 0)

#define SCTLR_TIDCP	BIT_ULL(63)
#define SCTLR_BITS(X)								\
	X(AV_SCTLR_M,		HOST)	/* the window is mapped, and caches on */	\
	X(AV_SCTLR_C,		HOST)							\
	X(AV_SCTLR_I,		HOST)							\
	X(AV_SCTLR_WXN,		HOST)	/* of EL1's mappings, and the guest's trees know W^X */ \
	X(AV_SCTLR_SA,		HOST)	/* EL1's stack: the window's */		\
	X(AV_SCTLR_EE,		HOST)	/* EL1's byte order, and that of all walks */ \
	X(AV_SCTLR_SPAN,	HOST)	/* PSTATE as exceptions from the guest set it: the host's */ \
	X(BIT_ULL(44),		HOST)	/* DSSBS: as PAN */			\
	X(BIT_ULL(11),		HOST)	/* EOS, EIS: the window has its ISBs, and so has the host */ \
	X(BIT_ULL(22),		HOST)						\
	X(BIT_ULL(21),		HOST)	/* IESB: where the host wants its errors told */ \
	X(BIT_ULL(5),		HOST)	/* CP15BEN, ITD, SED: of AArch32 at EL0, RES1 without it */ \
	X(BIT_ULL(7),		HOST)						\
	X(BIT_ULL(8),		HOST)						\
	X(BIT_ULL(28),		HOST)	/* nTLSMD, LSMAOE: the same */		\
	X(BIT_ULL(29),		HOST)						\
	X(AV_SCTLR_NAA,		HOST)	/* unaligned atomics: a fact of the CPU that the guest sees */ \
	X(BIT_ULL(37),		HOST)	/* ITFSB, TCF, ATA: tags of EL1's accesses */ \
	X(GENMASK_ULL(41, 40),	HOST)						\
	X(BIT_ULL(43),		HOST)						\
	X(BIT_ULL(36),		HOST)	/* BT1: where EL1's BTI stands */	\
	X(BIT_ULL(20),		ON)	/* TSCXT: SCXTNUM_EL0 is a VMM's own */	\
	X(AV_SCTLR_A,		GUEST)	/* alignment is the guest's affair */	\
	X(AV_SCTLR_DZE,		USER)	/* DC ZVA */				\
	X(AV_SCTLR_UCT,		OTHER)	/* CTR_EL0: as GUEST, unless the VM has its own */ \
	X(AV_SCTLR_UCI,		USER)	/* cache maintenance by address */	\
	X(AV_SCTLR_NTWE,	OTHER)	/* WFE: as USER, where no other task wants the CPU */ \
	X(AV_SCTLR_SA0,		OTHER)	/* the stack of the level that it is at */ \
	X(SCTLR_TIDCP,		OTHER)	/* what an implementation adds, where it can be kept from EL0 */

#define TCR_BITS(X)								\
	X(BIT_ULL(4),		ON)	/* T0SZ, T1SZ: 48 bits in both halves */	\
	X(BIT_ULL(20),		ON)						\
	X(GENMASK_ULL(13, 8),	HOST)	/* how walks are cached, and granules */	\
	X(GENMASK_ULL(29, 24),	HOST)						\
	X(GENMASK_ULL(15, 14),	HOST)						\
	X(GENMASK_ULL(31, 30),	HOST)						\
	X(BIT_ULL(22),		HOST)	/* A1, IPS, AS: ASIDs and addresses are the host's */ \
	X(GENMASK_ULL(34, 32),	HOST)						\
	X(BIT_ULL(36),		HOST)						\
	X(GENMASK_ULL(40, 39),	HOST)	/* HA, HD: tables agree with either */	\
	X(GENMASK_ULL(42, 41),	HOST)	/* HPD: the host's tables are walked under this too */ \
	X(GENMASK_ULL(58, 57),	HOST)	/* TCMA: tags of EL1's accesses */	\
	X(GENMASK_ULL(38, 37),	GUEST)	/* TBI */

#define CPACR_FPEN_EL1	BIT_ULL(20)
#define CPACR_FPEN_EL0	BIT_ULL(21)
#define CPACR_BITS(X)								\
	X(CPACR_FPEN_EL1,	ON)	/* EL1 may, or EL0 could not */		\
	X(BIT_ULL(28),		ON)	/* TTA: the host's trace unit */		\
	X(CPACR_FPEN_EL0,	OTHER)	/* when its registers are loaded */

#define CNTKCTL_EL0VCT	BIT_ULL(1)
#define CNTKCTL_BITS(X)								\
	X(GENMASK_ULL(7, 2),	HOST)	/* the host's event stream goes on */	\
	X(BIT_ULL(17),		HOST)						\
	X(CNTKCTL_EL0VCT,	OTHER)	/* the virtual counter, unless the VM's has an offset */

/* SPE's, the timers' and the debugger's way to EL0 has no row: MDSCR_EL1 is ours alone. */
#define MDSCR_BITS(X)								\
	X(AV_MDSCR_TDCC,	ON)	/* the debugger's channel */		\
	X(AV_MDSCR_MDE,		OTHER)						\
	X(AV_MDSCR_SS,		OTHER)	/* the hardware steps for the guest */

/* Interrupts are the host's, always taken. SErrors stay pending for it too. */
#define PSTATE_BITS(X)								\
	X(AV_PSR_PHYS,		GUEST)	/* EL0 reads and writes them itself */	\
	X(AV_PSR_D,		ON)						\
	X(AV_PSR_A,		ON)						\
	X(AV_PSR_SS,		OTHER)	/* counted down by the hardware */

static u64 guest_sctlr(const struct av_srf *srf, const struct av_host_controls *host,
		       unsigned int stay)
{
	u64 user = (0 SCTLR_BITS(BITS_USER)) | (stay & AV_STAY_WFE_RUNS ? AV_SCTLR_NTWE : 0);
	u64 guest = av_srf_get(srf, AV_SCTLR_EL1);
	u64 sctlr = (host->sctlr & (0 SCTLR_BITS(BITS_HOST))) | (0 SCTLR_BITS(BITS_ON)) |
		    (guest & (0 SCTLR_BITS(BITS_GUEST)));

	/* Not as USER: kernels for Neoverse N1 deny it (erratum 1542419), and modes stay the same. */
	if (!(stay & AV_STAY_CTR_TRAPS))
		sctlr |= guest & AV_SCTLR_UCT;
	if (host->tidcp)
		sctlr |= SCTLR_TIDCP;
	if (!av_srf_el1(srf))
		return sctlr | (guest & (user | AV_SCTLR_SA0));
	if (guest & AV_SCTLR_SA)
		sctlr |= AV_SCTLR_SA0;
	return sctlr | user;
}

static u64 guest_tcr(const struct av_srf *srf, const struct av_host_controls *host)
{
	return (host->tcr & (0 TCR_BITS(BITS_HOST))) | (0 TCR_BITS(BITS_ON)) |
	       (av_srf_get(srf, AV_TCR_EL1) & (0 TCR_BITS(BITS_GUEST)));
}

static u64 guest_cntkctl(const struct av_srf *srf, const struct av_host_controls *host,
			 unsigned int stay)
{
	u64 cntkctl = host->cntkctl & (0 CNTKCTL_BITS(BITS_HOST));

	/* The guest's kernel may deny the counter to its user space. */
	if (!(stay & AV_STAY_COUNTER_TRAPS) &&
	    (av_srf_el1(srf) || av_srf_get(srf, AV_CNTKCTL_EL1) & CNTKCTL_EL0VCT))
		cntkctl |= CNTKCTL_EL0VCT;
	return cntkctl;
}

bool av_controls_same(const struct av_srf *srf, unsigned int stay)
{
	u64 user = (0 SCTLR_BITS(BITS_USER)) | (stay & AV_STAY_WFE_RUNS ? AV_SCTLR_NTWE : 0);
	u64 guest = av_srf_get(srf, AV_SCTLR_EL1);

	if ((guest & user) != user || !(guest & AV_SCTLR_SA) != !(guest & AV_SCTLR_SA0))
		return false;
	if (!(stay & AV_STAY_COUNTER_TRAPS) &&
	    !(av_srf_get(srf, AV_CNTKCTL_EL1) & CNTKCTL_EL0VCT))
		return false;
	if (stay & AV_STAY_FP &&
	    FIELD_GET(AV_CPACR_FPEN, av_srf_get(srf, AV_CPACR_EL1)) != AV_CPACR_FPEN_NONE)
		return false;
	return !(stay & (AV_STAY_STEPPING | AV_STAY_MATCHING | AV_STAY_ONE_MODE));
}

void av_controls_pstate(struct av_srf *srf, unsigned int stay)
{
	u64 pstate = (0 PSTATE_BITS(BITS_ON)) | (srf->pstate & (0 PSTATE_BITS(BITS_GUEST)));

	if (stay & AV_STAY_STEPPING)
		pstate |= srf->vmode & AV_PSR_SS;
	srf->pstate = pstate;
}

void av_controls(struct av_controls *controls, struct av_srf *srf,
		 const struct av_host_controls *host, unsigned int stay)
{
	u64 cpacr = 0 CPACR_BITS(BITS_ON);
	u64 mdscr = 0 MDSCR_BITS(BITS_ON);

	if (stay & AV_STAY_FP)
		cpacr |= CPACR_FPEN_EL0;
	if (stay & AV_STAY_MATCHING)
		mdscr |= AV_MDSCR_MDE;
	if (stay & AV_STAY_STEPPING)
		mdscr |= AV_MDSCR_SS;
	av_controls_pstate(srf, stay);
	controls->sctlr = guest_sctlr(srf, host, stay);
	controls->tcr = guest_tcr(srf, host);
	controls->cpacr = cpacr;
	controls->cntkctl = guest_cntkctl(srf, host, stay);
	controls->mdscr = mdscr;
}
