/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine's controls while the guest runs. Pure.
 *
 * The guest runs at EL0 on a CPU that its kernel does not know: EL0's rights
 * come from lists of allowed bits, each with a rule and a reason (controls.c).
 * A bit without a row is 0, so a bit that a newer architecture adds is off
 * until someone lists it. Bits that bear on the host's own code in the window
 * are as the host has them.
 *
 * Virtual EL1 gets the rights of a kernel, but for CTR_EL0; virtual EL0 gets those
 * that the guest's kernel allowed it.
 */
#ifndef AV_CPU_CONTROLS_H
#define AV_CPU_CONTROLS_H

#include "switch/private.h"
#include "vm/regfile.h"

/* The host's own, read on this CPU with interrupts off. */
struct av_host_controls {
	u64 sctlr, tcr, cntkctl;
	bool tidcp;			/* the CPU has SCTLR_EL1.TIDCP */
};

/* Conditions of one stay in the guest. */
enum {
	AV_STAY_FP		= BIT(0),	/* the guest's FP registers are loaded: it may use them */
	AV_STAY_COUNTER_TRAPS	= BIT(1),	/* the guest's counter is not the host's */
	AV_STAY_STEPPING	= BIT(2),	/* av_srf_stepping() */
	AV_STAY_MATCHING	= BIT(3),	/* av_srf_matching() */
	AV_STAY_CTR_TRAPS	= BIT(4),	/* the guest's CTR_EL0 is not the hardware's */
	AV_STAY_COUNTS		= BIT(5),	/* the PMU has events on */
	AV_STAY_ONE_MODE	= BIT(6),	/* and some count in one mode only */
	AV_STAY_WFE_RUNS	= BIT(7),	/* WFE need not trap: no other task waits for this CPU */
};

/* Fill the registers that the switch loads on its way in, and physical PSTATE's control bits. */
void av_controls(struct av_controls *controls, struct av_srf *srf,
		 const struct av_host_controls *host, unsigned int stay);

/*
 * TCR_EL1: TBID, NFD, E0PD. The latter two bear on EL0's accesses alone, the first on
 * addresses of instructions that have a tag, of which kernels have none.
 */
#define AV_TCR_NOT_KERNELS	GENMASK_ULL(56, 51)

/* May the host's code run under these, as it does at light exits? */
static __always_inline bool av_controls_suit_host(const struct av_controls *controls,
						  const struct av_host_controls *host)
{
	return !((controls->tcr ^ host->tcr) & ~AV_TCR_NOT_KERNELS) &&
	       !((controls->sctlr ^ host->sctlr) & AV_SCTLR_A);
}

/* Inputs that controls were made from. */
struct av_controls_of {
	u64 sctlr, tcr, cntkctl, cpacr;	/* the guest's */
	u64 h_sctlr, h_tcr, h_cntkctl;
	u64 how;			/* AV_STAY_*, tidcp, the level */
};

static __always_inline u64 av_controls_how(const struct av_srf *srf,
					   const struct av_host_controls *host, unsigned int stay)
{
	return stay | (u64)host->tidcp << 32 | (u64)av_srf_el1(srf) << 33;
}

/* Would av_controls() give the same registers again? PSTATE is not one of them. */
static __always_inline bool av_controls_again(const struct av_controls_of *of,
					      const struct av_srf *srf,
					      const struct av_host_controls *host,
					      unsigned int stay)
{
	u64 differ = of->how ^ av_controls_how(srf, host, stay);

	differ |= (of->sctlr ^ av_srf_get(srf, AV_SCTLR_EL1)) | (of->h_sctlr ^ host->sctlr);
	differ |= (of->tcr ^ av_srf_get(srf, AV_TCR_EL1)) | (of->h_tcr ^ host->tcr);
	differ |= (of->cntkctl ^ av_srf_get(srf, AV_CNTKCTL_EL1)) | (of->h_cntkctl ^ host->cntkctl);
	differ |= of->cpacr ^ av_srf_get(srf, AV_CPACR_EL1);
	return !differ;
}

static inline void av_controls_note(struct av_controls_of *of, const struct av_srf *srf,
				    const struct av_host_controls *host, unsigned int stay)
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
	};
}

/* Set the control bits of the physical PSTATE alone, where the rest has not changed. */
void av_controls_pstate(struct av_srf *srf, unsigned int stay);

/*
 * Are these the controls of the other mode too, and do instructions that the
 * guest's kernel traps at virtual EL0 only still trap (FPEN)? Then modes may
 * change without leaving the window.
 */
bool av_controls_same(const struct av_srf *srf, unsigned int stay);

#endif /* AV_CPU_CONTROLS_H */
