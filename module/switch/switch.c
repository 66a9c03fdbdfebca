// SPDX-License-Identifier: GPL-2.0
/* One stay in the guest: its translation tables and their ASID, and the host's state around it. */
#include <linux/pgtable.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

#include "vm/regfile.h"
#include "switch/leave.h"
#include "switch/private.h"
#include "switch/switch.h"
#include "switch/tlb.h"

void av_switch_run(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
		   struct av_srf *srf, const struct av_entry *entry)
{
	const struct av_leave *leave = av_leave_here();
	struct av_private *priv = csw->priv;
	struct av_host_pstate pstate;
	struct av_profiling held;

	priv->ttbr0 = entry->root0;
	priv->ttbr1 = entry->root1 | (u64)av_tlb_asid(csw) << 48;
	priv->ttbr1_hop = entry->root1 | (u64)vsw->guest_hop.asid << 48;
	srf->ttbr1_hop = priv->ttbr1_hop;
	if (unlikely(csw->leave != leave)) {
		csw->leave = leave;
		srf->loops = leave->mitigation.loops;
		srf->unpriv_tlbi = leave->unpriv_tlbi;
	}
	av_host_pstate_save(leave, &pstate);

	av_profiling_hold(&leave->profilers, &held);
	av_switch_enter(priv);
	av_profiling_go_on(&held);

	av_leave_firmware(leave);
	av_host_pstate_restore(leave, &pstate);
}
