/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control registers while the guest runs. Pure.
 *
 * The guest runs at EL0 of a CPU that may have features hidden from its kernel. So lists of allowed
 * bits, each with a rule and a reason, say what EL0 may do (controls.c). Bits without a row are 0:
 * a bit that a newer architecture adds stays off until someone lists it. Bits that affect the
 * switcher, which runs at EL1 in the window, keep the host's values.
 *
 * Virtual EL1 gets a kernel's rights, except for CTR_EL0; virtual EL0 gets the rights that its
 * kernel allows.
 */
#ifndef AV_CPU_CONTROLS_H
#define AV_CPU_CONTROLS_H

#include "switch/private.h"
#include "vm/regfile.h"

/* The host's values, read on this CPU with interrupts off. */
struct av_host_controls {
	u64 sctlr, tcr, cntkctl;
	bool tidcp;			/* the CPU has SCTLR_EL1.TIDCP */
};

/* Properties of one stay in the guest. */
enum {
	AV_STAY_FP		= BIT(0),	/* the guest's FP registers are loaded */
	AV_STAY_COUNTER_TRAPS	= BIT(1),	/* the guest's counter differs from the host's */
	AV_STAY_STEPPING	= BIT(2),	/* av_srf_stepping() */
	AV_STAY_MATCHING	= BIT(3),	/* av_srf_matching() */
	AV_STAY_CTR_TRAPS	= BIT(4),	/* the guest has its own CTR_EL0 */
	AV_STAY_COUNTS		= BIT(5),	/* the PMU has active events */
	AV_STAY_ONE_MODE	= BIT(6),	/* some of them count in one mode only */
	AV_STAY_WFE_RUNS	= BIT(7),	/* WFE does not trap: no other task waits */
};

/*
 * Compute the registers that the switcher loads at entry, and the control bits of physical PSTATE.
 */
void av_controls(struct av_controls *controls, struct av_srf *srf,
		 const struct av_host_controls *host, unsigned int stay);

/*
 * TCR_EL1: TBID, NFD, E0PD. NFD and E0PD affect EL0's accesses only; TBID affects tagged
 * instruction addresses, which kernels do not have.
 */
#define AV_TCR_NOT_KERNELS	GENMASK_ULL(56, 51)

/* May host code run with these controls loaded, as it does in light exits? */
static __always_inline bool av_controls_suit_host(const struct av_controls *controls,
						  const struct av_host_controls *host)
{
	/* With other sizes TCR_EL1 is switched in the window. */
	return (controls->tcr_mid || !((controls->tcr ^ host->tcr) & ~AV_TCR_NOT_KERNELS)) &&
	       !((controls->sctlr ^ host->sctlr) & AV_SCTLR_A);
}

#define AV_CONTROLS_TIDCP	BIT_ULL(32)
#define AV_CONTROLS_EL1		BIT_ULL(33)

/* The inputs that the controls were computed from. */
struct av_controls_of {
	u64 sctlr, tcr, cntkctl, cpacr;	/* the guest's */
	u64 h_sctlr, h_tcr, h_cntkctl;
	u64 how;			/* AV_STAY_*, AV_CONTROLS_* */
	u64 ignored;			/* of how: the level, if both have the same controls */
};

static __always_inline u64 av_controls_how(const struct av_srf *srf,
					   const struct av_host_controls *host, unsigned int stay)
{
	return stay | (host->tidcp ? AV_CONTROLS_TIDCP : 0) |
	       (av_srf_el1(srf) ? AV_CONTROLS_EL1 : 0);
}

/* Would av_controls() compute the same values again? PSTATE is not included. */
static __always_inline bool av_controls_again(const struct av_controls_of *of,
					      const struct av_srf *srf,
					      const struct av_host_controls *host,
					      unsigned int stay)
{
	u64 differ = (of->how ^ av_controls_how(srf, host, stay)) & ~of->ignored;

	differ |= (of->sctlr ^ av_srf_get(srf, AV_SCTLR_EL1)) | (of->h_sctlr ^ host->sctlr);
	differ |= (of->tcr ^ av_srf_get(srf, AV_TCR_EL1)) | (of->h_tcr ^ host->tcr);
	differ |= (of->cntkctl ^ av_srf_get(srf, AV_CNTKCTL_EL1)) | (of->h_cntkctl ^ host->cntkctl);
	differ |= of->cpacr ^ av_srf_get(srf, AV_CPACR_EL1);
	return !differ;
}

/* same: av_controls_same() for these inputs. */
static inline void av_controls_note(struct av_controls_of *of, const struct av_srf *srf,
				    const struct av_host_controls *host, unsigned int stay,
				    bool same)
{
	*of = (struct av_controls_of) {
		.sctlr = av_srf_get(srf, AV_SCTLR_EL1),
		.tcr = av_srf_get(srf, AV_TCR_EL1),
		.cntkctl = av_srf_get(srf, AV_CNTKCTL_EL1),
		.cpacr = av_srf_get(srf, AV_CPACR_EL1),
		.h_sctlr = host->sctlr,
		.h_tcr = host->tcr,
		.h_cntkctl = host->cntkctl,
		.how = av_controls_how(srf, host, stay),
		.ignored = same ? AV_CONTROLS_EL1 : 0,
	};
}

/* Set only the control bits of physical PSTATE, when nothing else has changed. */
void av_controls_pstate(struct av_srf *srf, unsigned int stay);

/*
 * Do both modes have the same controls, and do instructions still trap that the guest's kernel
 * traps in virtual EL0 only (FPEN)? Then the window may change the mode.
 */
bool av_controls_same(const struct av_srf *srf, unsigned int stay);

#endif /* AV_CPU_CONTROLS_H */
