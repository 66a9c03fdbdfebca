/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private page, one per vCPU: the host's return address, translation tables and controls.
 * Written by C before each entry and by the switch.
 *
 * Only the aux tables map this page. So a guest cannot reach it, not even by speculation at EL0
 * on a core without CSV3. Until the switch is back under aux, it uses the first page of the
 * register file, which has the addresses of three tables and this page's address under aux.
 * Pure.
 */
#ifndef AV_SWITCH_PRIVATE_H
#define AV_SWITCH_PRIVATE_H

#include "lib/av_types.h"

struct av_host_pstate;
struct av_srf;

/* Control registers that limit EL0 while the guest runs: cpu/controls.h. */
struct av_controls {
	u64 sctlr, tcr, cpacr, cntkctl, mdscr;
	/* In between, where the host's addresses have other sizes than the guest's; else 0. */
	u64 tcr_mid;
};

/* switch/offsets.h has the offsets for assembly. */
struct av_private {
	struct av_srf *srf;		/* host address of the register file */
	/* TTBR values: physical address | ASID << 48 */
	u64 ttbr_none;			/* an empty table */
	u64 ttbr0_aux;			/* maps the window's low alias and this page */
	u64 ttbr1_hop;			/* maps only the window, with the VM's hop ASID */
	u64 ttbr0, ttbr1;		/* guest trees; ttbr1 has the context's ASID */
	u64 asid_host_hop;		/* ASID while the host's tree and aux are both live */
	/* addresses in the window, by its position, and of this page under aux */
	u64 high_code, high_data, low_code, low_private;
	struct av_controls guest;
	u64 flush;			/* host kernel entries are global: flush the TLB on entry */
	/* the host's registers, saved by the switch */
	u64 h_ttbr0, h_ttbr1, h_vbar, h_sp, h_sp_el0, h_ret;
	u64 h_sctlr, h_tcr, h_cpacr, h_cntkctl, h_mdscr;
	u64 h_tpidr_el0, h_tpidrro_el0;
	u64 h_ttbr1_hop;		/* h_ttbr1 with asid_host_hop */
	const char *h_light;		/* host address at which light exits arrive */
	bool (*light)(void *data);	/* and the function that they call */
	void *light_data;
	const struct av_host_pstate *light_pstate;	/* to restore before that call, or NULL */
};

#endif /* AV_SWITCH_PRIVATE_H */
