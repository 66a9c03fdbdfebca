/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine's controls while the guest runs. Pure.
 *
 * Only bits that act on EL0 differ from the host's; the host's own code in the
 * window does not feel them. Virtual EL1 gets what a kernel may do without
 * asking; virtual EL0 gets what the guest kernel allowed it.
 */
#ifndef AV_CPU_CONTROLS_H
#define AV_CPU_CONTROLS_H

#include "vm/regfile.h"

/* The host's own, read on this CPU with interrupts off. */
struct av_host_controls {
	u64 sctlr, tcr, cpacr, cntkctl;
};

/*
 * Set what the switch loads on its way in: SCTLR, TCR, CPACR, CNTKCTL, MDSCR and
 * the physical PSTATE. @fp: the guest's FP registers are loaded, it may use
 * them. @trap_counter: the guest's counter is not the host's.
 */
void av_controls(struct av_srf *srf, const struct av_host_controls *host, bool fp,
		 bool trap_counter);

#endif /* AV_CPU_CONTROLS_H */
