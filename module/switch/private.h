/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private page, one a vCPU: where the host returns to, the translation
 * tables, the controls. Written by C before each entry and by the switcher.
 *
 * The page is mapped in the aux tables only, so it is out of reach while the
 * guest's tables are in place, also for a core without CSV3, which may read
 * EL1's memory by speculation at EL0. Until the switcher is back under aux, it
 * uses the first page of the register file: addresses of three tables, and of
 * this page under aux. Pure.
 */
#ifndef AV_SWITCH_PRIVATE_H
#define AV_SWITCH_PRIVATE_H

#include "lib/av_types.h"

struct av_host_pstate;
struct av_srf;

/* Controls of what EL0 may do while the guest runs: cpu/controls.h. */
struct av_controls {
	u64 sctlr, tcr, cpacr, cntkctl, mdscr;
};

/* switch/offsets.h has this for assembly. */
struct av_private {
	struct av_srf *srf;		/* the host's address */
	/* physical address | ASID << 48, as written */
	u64 ttbr_none;			/* an empty table */
	u64 ttbr0_aux;			/* the window's low alias, and this page */
	u64 ttbr1_hop;			/* guest tree under the VM's hop ASID */
	u64 ttbr0, ttbr1;		/* guest trees, context's ASID in ttbr1 */
	u64 asid_host_hop;		/* ASID under which the host's tree meets the aux table */
	/* addresses of the window, and of this page through aux */
	u64 high_code, high_data, low_code, low_private;
	struct av_controls guest;
	u64 flush;			/* the host's kernel entries are global: flush all of this CPU's */
	/* the host's, saved by the switcher */
	u64 h_ttbr0, h_ttbr1, h_vbar, h_sp, h_sp_el0, h_ret;
	u64 h_sctlr, h_tcr, h_cpacr, h_cntkctl, h_mdscr;
	u64 h_tpidr_el0, h_tpidrro_el0;
	u64 h_ttbr1_hop;		/* h_ttbr1 under asid_host_hop */
	const char *h_light;		/* where light exits come to, of the host's text */
	bool (*light)(void *data);	/* and what is asked then */
	void *light_data;
	const struct av_host_pstate *light_pstate;	/* to be put back before that, or NULL */
};

#endif /* AV_SWITCH_PRIVATE_H */
