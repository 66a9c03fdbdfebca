// SPDX-License-Identifier: GPL-2.0
/* The machine's controls while the guest runs. Pure: see cpu/controls.h. */
#include "cpu/controls.h"
#include "cpu/exception.h"
#include "cpu/hwdebug.h"

/* SCTLR_EL1: what lets EL0 do things, all cleared first. Names as in the architecture. */
#define SCTLR_EN_PAUTH	(BIT_ULL(31) | BIT_ULL(30) | BIT_ULL(27) | BIT_ULL(13))
#define SCTLR_BT0	BIT_ULL(35)
#define SCTLR_TCF0	GENMASK_ULL(39, 38)
#define SCTLR_MSCEN	BIT_ULL(33)
#define SCTLR_ENFPM	BIT_ULL(34)
#define SCTLR_ATA0	BIT_ULL(42)
#define SCTLR_ENASR	GENMASK_ULL(56, 54)	/* EnASR, EnAS0, EnALS: LD64B and its like */
#define SCTLR_ENTP2	BIT_ULL(60)
#define SCTLR_TSCXT	BIT_ULL(20)		/* traps when set */
#define SCTLR_TIDCP	BIT_ULL(63)		/* traps when set */
#define SCTLR_GUEST_OFF	(SCTLR_EN_PAUTH | SCTLR_BT0 | SCTLR_TCF0 | SCTLR_MSCEN | SCTLR_ENFPM | \
			 SCTLR_ATA0 | SCTLR_ENASR | SCTLR_ENTP2 | AV_SCTLR_A | AV_SCTLR_SA0 | AV_SCTLR_UMA | \
			 AV_SCTLR_DZE | AV_SCTLR_UCT | AV_SCTLR_NTWI | AV_SCTLR_NTWE | \
			 AV_SCTLR_UCI | AV_SCTLR_E0E)
/* What virtual EL0 has as the guest's kernel says. */
#define SCTLR_EL0_OWN	(AV_SCTLR_A | AV_SCTLR_SA0 | AV_SCTLR_DZE | AV_SCTLR_UCT | AV_SCTLR_UCI)

/* TCR_EL1: 48 bits in both halves, all walks on, no E0PD; TBI is the guest's. */
#define TCR_SIZES	(GENMASK_ULL(5, 0) | GENMASK_ULL(21, 16))
#define TCR_EPD		(BIT_ULL(7) | BIT_ULL(23))
#define TCR_TBI		(BIT_ULL(37) | BIT_ULL(38))
#define TCR_TBID	(BIT_ULL(51) | BIT_ULL(52))
#define TCR_NFD		(BIT_ULL(53) | BIT_ULL(54))
#define TCR_E0PD	(BIT_ULL(55) | BIT_ULL(56))

#define CPACR_ZEN	GENMASK_ULL(17, 16)
#define CPACR_FPEN_EL0	BIT_ULL(21)
#define CPACR_FPEN_EL1	BIT_ULL(20)
#define CPACR_SMEN	GENMASK_ULL(25, 24)
#define CPACR_TTA	BIT_ULL(28)
#define CPACR_E0POE	BIT_ULL(29)

#define CNTKCTL_EL0_ALL	(GENMASK_ULL(9, 8) | GENMASK_ULL(1, 0))
#define CNTKCTL_EL0VCT	BIT_ULL(1)

#define MDSCR_SS	BIT_ULL(0)
#define MDSCR_TDCC	BIT_ULL(12)
#define MDSCR_MDE	BIT_ULL(15)

static u64 guest_sctlr(const struct av_srf *srf, const struct av_host_controls *host)
{
	u64 guest = av_srf_get(srf, AV_SCTLR_EL1);
	u64 sctlr = (host->sctlr & ~SCTLR_GUEST_OFF) | SCTLR_TSCXT;

	if (!av_srf_el1(srf))
		return sctlr | (guest & SCTLR_EL0_OWN);
	sctlr |= AV_SCTLR_DZE | AV_SCTLR_UCT | AV_SCTLR_UCI | (guest & AV_SCTLR_A);
	if (guest & AV_SCTLR_SA)
		sctlr |= AV_SCTLR_SA0;
	return sctlr;
}

static u64 guest_tcr(const struct av_srf *srf, const struct av_host_controls *host)
{
	u64 tcr = host->tcr;

	tcr &= ~(TCR_SIZES | TCR_EPD | TCR_TBI | TCR_TBID | TCR_NFD | TCR_E0PD);
	return tcr | (av_srf_get(srf, AV_TCR_EL1) & TCR_TBI) |
	       FIELD_PREP(GENMASK_ULL(5, 0), 16) | FIELD_PREP(GENMASK_ULL(21, 16), 16);
}

static u64 guest_cpacr(const struct av_host_controls *host, bool fp)
{
	u64 cpacr = host->cpacr;

	cpacr &= ~(CPACR_ZEN | CPACR_SMEN | CPACR_E0POE | CPACR_FPEN_EL0);
	cpacr |= CPACR_FPEN_EL1 | CPACR_TTA;
	return fp ? cpacr | CPACR_FPEN_EL0 : cpacr;
}

/*
 * The virtual counter is direct, unless the VM's has an offset; the guest's
 * kernel may deny it to its user space.
 */
static u64 guest_cntkctl(const struct av_srf *srf, const struct av_host_controls *host,
			 bool trap_counter)
{
	u64 cntkctl = host->cntkctl & ~CNTKCTL_EL0_ALL;

	if (trap_counter)
		return cntkctl;
	if (av_srf_el1(srf) || (av_srf_get(srf, AV_CNTKCTL_EL1) & CNTKCTL_EL0VCT))
		cntkctl |= CNTKCTL_EL0VCT;
	return cntkctl;
}

void av_controls(struct av_srf *srf, const struct av_host_controls *host, bool fp,
		 bool trap_counter)
{
	struct av_switch *sw = &srf->sw;

	sw->sctlr = guest_sctlr(srf, host);
	sw->tcr = guest_tcr(srf, host);
	sw->cpacr = guest_cpacr(host, fp);
	sw->cntkctl = guest_cntkctl(srf, host, trap_counter);
	sw->mdscr = MDSCR_TDCC;
	if (av_srf_matching(srf))
		sw->mdscr |= MDSCR_MDE;
	/* Interrupts are the host's, always taken. SErrors stay pending for it too. */
	srf->pstate = (srf->pstate & AV_PSR_PHYS) | AV_PSR_D | AV_PSR_A | AV_PSR_EL0T;
	/* The hardware steps for the guest; it counts down PSTATE.SS. */
	if (av_srf_stepping(srf)) {
		sw->mdscr |= MDSCR_SS;
		srf->pstate |= srf->vmode & AV_PSR_SS;
	}
}
