// SPDX-License-Identifier: GPL-2.0
/* The control registers while the guest runs. Pure: see cpu/controls.h. */
#include "cpu/controls.h"
#include "cpu/hwdebug.h"

/*
 * Rules. HOST: the host's value. ON: always 1. GUEST: the virtual register's
 * value. USER: at virtual EL0 the virtual register's value, at virtual EL1 1.
 * OTHER: computed below the list. Bits that are not listed are 0.
 */
enum { RULE_HOST, RULE_ON, RULE_GUEST, RULE_USER, RULE_OTHER };

/* The listed bits that follow one rule, as a constant. */
#define BITS_HOST(bits, rule)	| (RULE_##rule == RULE_HOST ? (bits) : 0)
#define BITS_ON(bits, rule)	| (RULE_##rule == RULE_ON ? (bits) : 0)
#define BITS_GUEST(bits, rule)	| (RULE_##rule == RULE_GUEST ? (bits) : 0)
#define BITS_USER(bits, rule)	| (RULE_##rule == RULE_USER ? (bits) : 0)

#define SCTLR_TIDCP	BIT_ULL(63)
#define SCTLR_BITS(X)								\
	X(AV_SCTLR_M,		HOST)	/* EL1 runs with MMU and caches on */	\
	X(AV_SCTLR_C,		HOST)							\
	X(AV_SCTLR_I,		HOST)							\
	X(AV_SCTLR_WXN,		HOST)	/* EL1's; shadow entries apply the guest's WXN */ \
	X(AV_SCTLR_SA,		HOST)	/* the switcher's stack at EL1 */	\
	X(AV_SCTLR_EE,		HOST)	/* byte order of EL1 and of all table walks */ \
	X(AV_SCTLR_SPAN,	HOST)	/* PSTATE.PAN at exceptions, which the host takes */ \
	X(BIT_ULL(44),		HOST)	/* DSSBS: likewise */			\
	X(BIT_ULL(11),		HOST)	/* EOS, EIS: switcher and host have their own ISBs */ \
	X(BIT_ULL(22),		HOST)						\
	X(BIT_ULL(21),		HOST)	/* IESB: when the host synchronizes errors */ \
	X(BIT_ULL(5),		HOST)	/* CP15BEN, ITD, SED: AArch32 at EL0, else RES1 */ \
	X(BIT_ULL(7),		HOST)						\
	X(BIT_ULL(8),		HOST)						\
	X(BIT_ULL(28),		HOST)	/* nTLSMD, LSMAOE: likewise */		\
	X(BIT_ULL(29),		HOST)						\
	X(AV_SCTLR_NAA,		HOST)	/* unaligned atomics: the CPU's, guest-visible */ \
	X(BIT_ULL(37),		HOST)	/* ITFSB, TCF, ATA: memory tags at EL1 */ \
	X(GENMASK_ULL(41, 40),	HOST)						\
	X(BIT_ULL(43),		HOST)						\
	X(BIT_ULL(36),		HOST)	/* BT1: BTI at EL1 */			\
	X(BIT_ULL(20),		ON)	/* TSCXT: SCXTNUM_EL0 belongs to the VMM */ \
	X(AV_SCTLR_A,		GUEST)	/* alignment checks are the guest's choice */ \
	X(AV_SCTLR_DZE,		USER)	/* DC ZVA */				\
	X(AV_SCTLR_UCT,		OTHER)	/* CTR_EL0: as GUEST, unless the VM has its own value */ \
	X(AV_SCTLR_UCI,		USER)	/* cache maintenance by address */	\
	X(AV_SCTLR_NTWE,	OTHER)	/* WFE: as USER, if no other task wants the CPU */ \
	X(AV_SCTLR_SA0,		OTHER)	/* stack alignment check of the virtual level */ \
	X(SCTLR_TIDCP,		OTHER)	/* IMPLEMENTATION DEFINED: trapped if the CPU can */

#define TCR_T0SZ	GENMASK_ULL(5, 0)
#define TCR_T1SZ	GENMASK_ULL(21, 16)
#define TCR_BITS(X)								\
	X(BIT_ULL(4),		ON)	/* T0SZ, T1SZ: 48 bits in both halves */	\
	X(BIT_ULL(20),		ON)						\
	X(GENMASK_ULL(13, 8),	HOST)	/* cacheability of walks, granules */	\
	X(GENMASK_ULL(29, 24),	HOST)						\
	X(GENMASK_ULL(15, 14),	HOST)						\
	X(GENMASK_ULL(31, 30),	HOST)						\
	X(BIT_ULL(22),		HOST)	/* A1, IPS, AS: ASIDs and addresses are the host's */ \
	X(GENMASK_ULL(34, 32),	HOST)						\
	X(BIT_ULL(36),		HOST)						\
	X(GENMASK_ULL(40, 39),	HOST)	/* HA, HD: shadow entries work with either */ \
	X(GENMASK_ULL(42, 41),	HOST)	/* HPD: also used for the host's tables */ \
	X(GENMASK_ULL(58, 57),	HOST)	/* TCMA: memory tags at EL1 */		\
	X(BIT_ULL(59),		HOST)	/* DS: the format of all tables that are walked */ \
	X(GENMASK_ULL(38, 37),	GUEST)	/* TBI */

#define CPACR_FPEN_EL1	BIT_ULL(20)
#define CPACR_FPEN_EL0	BIT_ULL(21)
#define CPACR_BITS(X)								\
	X(CPACR_FPEN_EL1,	ON)	/* EL1 needs it, or EL0 has none */		\
	X(BIT_ULL(28),		ON)	/* TTA: the trace unit belongs to the host */ \
	X(CPACR_FPEN_EL0,	OTHER)	/* once its registers are loaded */

#define CNTKCTL_EL0VCT	BIT_ULL(1)
#define CNTKCTL_BITS(X)								\
	X(GENMASK_ULL(7, 2),	HOST)	/* the host's event stream */		\
	X(BIT_ULL(17),		HOST)						\
	X(CNTKCTL_EL0VCT,	OTHER)	/* the virtual counter, if the VM has no offset */

/* The host owns MDSCR_EL1. SPE, timers and the debug channel have no row: EL0 gets no access. */
#define MDSCR_BITS(X)								\
	X(AV_MDSCR_TDCC,	ON)	/* traps the debug channel */		\
	X(AV_MDSCR_MDE,		OTHER)						\
	X(AV_MDSCR_SS,		OTHER)	/* hardware single step for the guest */

/* The host takes its interrupts at once; its SErrors stay pending. */
#define PSTATE_BITS(X)								\
	X(AV_PSR_PHYS,		GUEST)	/* EL0 accesses them directly */	\
	X(AV_PSR_D,		ON)						\
	X(AV_PSR_A,		ON)						\
	X(AV_PSR_SS,		OTHER)	/* the hardware clears it after a step */

static u64 guest_sctlr(const struct av_srf *srf, const struct av_host_controls *host,
		       unsigned int stay)
{
	u64 user = (0 SCTLR_BITS(BITS_USER)) | (stay & AV_STAY_WFE_RUNS ? AV_SCTLR_NTWE : 0);
	u64 guest = av_srf_get(srf, AV_SCTLR_EL1);
	u64 sctlr = (host->sctlr & (0 SCTLR_BITS(BITS_HOST))) | (0 SCTLR_BITS(BITS_ON)) |
		    (guest & (0 SCTLR_BITS(BITS_GUEST)));

	/*
	 * Not USER: kernels for Neoverse N1 deny CTR_EL0 (erratum 1542419), and
	 * modes must stay the same.
	 */
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

/* TTBR1 has the guest's size already, or still; TTBR0 the host's. 0: they do not differ. */
static u64 mid_tcr(u64 guest, u64 host)
{
	if (!((guest ^ host) & (TCR_T0SZ | TCR_T1SZ)))
		return 0;
	return (guest & ~TCR_T0SZ) | (host & TCR_T0SZ);
}

static u64 guest_cntkctl(const struct av_srf *srf, const struct av_host_controls *host,
			 unsigned int stay)
{
	u64 cntkctl = host->cntkctl & (0 CNTKCTL_BITS(BITS_HOST));

	/* The guest's kernel may deny its user space the counter. */
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
	controls->tcr_mid = mid_tcr(controls->tcr, host->tcr);
	srf->tcr_mid = controls->tcr_mid;
	controls->cpacr = cpacr;
	controls->cntkctl = guest_cntkctl(srf, host, stay);
	controls->mdscr = mdscr;
}
