/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private page, one per vCPU: the host's return address, translation tables and controls.
 * Written by C before each entry and by the switch.
 *
 * Only the aux tables and the image (switch/image.h) map this page. So a guest cannot reach it, not
 * even by speculation at EL0 on a core without CSV3. Until the switch is under one of them, it uses
 * the first page of the register file, which has the addresses of four tables, and this page's
 * addresses under aux and in the image. Pure.
 */
#ifndef AV_SWITCH_PRIVATE_H
#define AV_SWITCH_PRIVATE_H

#include "lib/av_types.h"

struct av_srf;

/* PSTATE and what goes with it: switch/leave.h. */
struct av_host_pstate {
	u64 dit, tco, gcscre0;
};

/* An exception of a light exit in the image (switch/image.h). */
struct av_image_miss {
	u64 far, esr;
};

/* How many are remembered. */
#define AV_IMAGE_MISSES		8

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
	/* Light exits in the image (switch/image.h) */
	struct av_private *self;	/* this page's host address */
	u64 h_x18;
	u64 image;			/* TTBR1, or 0: light exits run under the host's tables */
	u64 kept;			/* image; 0: the host's tables were used since the entry */
	u64 image_sp;			/* this CPU's stack for them */
	const char *h_missed;		/* host address of what follows an exception there */
	u64 misses;			/* how many there were */
	struct av_image_miss miss[AV_IMAGE_MISSES];
	u64 learned;			/* how many av_image_learn() has looked at */
	bool hopeless;			/* of the last of these none is in the image now */
	u64 nr_lost;			/* short light exits that were not done in it */
	struct av_host_pstate pstate;	/* what light_pstate points to */
};

/* Has a light exit missed something that av_image_learn() has not looked at? */
static inline bool av_image_missed(const struct av_private *priv)
{
	return READ_ONCE(priv->misses) != priv->learned;
}

#endif /* AV_SWITCH_PRIVATE_H */
