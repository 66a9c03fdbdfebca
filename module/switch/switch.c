// SPDX-License-Identifier: GPL-2.0
/* One stay in the guest: its translation tables and their ASID, and the host's state around it. */
#include <linux/build_bug.h>
#include <linux/pgtable.h>
#include <linux/stddef.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

#include "vm/regfile.h"
#include "switch/leave.h"
#include "switch/offsets.h"
#include "switch/switch.h"
#include "switch/tlb.h"

#define CHECK_OFFSET(field, offset) \
	static_assert(offsetof(struct av_srf, field) == (offset), #field)

CHECK_OFFSET(regs, SRF_REGS);
CHECK_OFFSET(sp, SRF_SP);
CHECK_OFFSET(pc, SRF_PC);
CHECK_OFFSET(pstate, SRF_PSTATE);
CHECK_OFFSET(esr, SRF_ESR);
CHECK_OFFSET(far, SRF_FAR);
CHECK_OFFSET(exit, SRF_EXIT);
CHECK_OFFSET(insn, SRF_INSN);
CHECK_OFFSET(sw.ttbr_none, SW_TTBR_NONE);
CHECK_OFFSET(sw.ttbr0_aux, SW_TTBR0_AUX);
CHECK_OFFSET(sw.ttbr1_hop, SW_TTBR1_HOP);
CHECK_OFFSET(sw.ttbr0, SW_TTBR0);
CHECK_OFFSET(sw.ttbr1, SW_TTBR1);
CHECK_OFFSET(sw.asid_host_hop, SW_ASID_HOST);
CHECK_OFFSET(sw.high_code, SW_HIGH_CODE);
CHECK_OFFSET(sw.high_data, SW_HIGH_DATA);
CHECK_OFFSET(sw.low_code, SW_LOW_CODE);
CHECK_OFFSET(sw.low_data, SW_LOW_DATA);
CHECK_OFFSET(sw.guest.sctlr, SW_SCTLR);
CHECK_OFFSET(sw.guest.tcr, SW_TCR);
CHECK_OFFSET(sw.guest.cpacr, SW_CPACR);
CHECK_OFFSET(sw.guest.cntkctl, SW_CNTKCTL);
CHECK_OFFSET(sw.guest.mdscr, SW_MDSCR);
CHECK_OFFSET(sw.loops, SW_LOOPS);
CHECK_OFFSET(sw.flush, SW_FLUSH);
CHECK_OFFSET(sw.h_ttbr0, SW_H_TTBR0);
CHECK_OFFSET(sw.h_ttbr1, SW_H_TTBR1);
CHECK_OFFSET(sw.h_vbar, SW_H_VBAR);
CHECK_OFFSET(sw.h_sp, SW_H_SP);
CHECK_OFFSET(sw.h_sp_el0, SW_H_SP_EL0);
CHECK_OFFSET(sw.h_ret, SW_H_RET);
CHECK_OFFSET(sw.h_sctlr, SW_H_SCTLR);
CHECK_OFFSET(sw.h_tcr, SW_H_TCR);
CHECK_OFFSET(sw.h_cpacr, SW_H_CPACR);
CHECK_OFFSET(sw.h_cntkctl, SW_H_CNTKCTL);
CHECK_OFFSET(sw.h_mdscr, SW_H_MDSCR);
CHECK_OFFSET(sw.h_tpidr_el0, SW_H_TPIDR);
CHECK_OFFSET(sw.h_tpidrro_el0, SW_H_TPIDRRO);
CHECK_OFFSET(sw.unpriv_tlbi, SW_UNPRIV_TLBI);
CHECK_OFFSET(sys[AV_TPIDR_EL0], SRF_TPIDR);
CHECK_OFFSET(sys[AV_TPIDRRO_EL0], SRF_TPIDRRO);
static_assert(AV_LEFT_FATAL == EXIT_FATAL);
static_assert(AV_INSN_UNKNOWN == INSN_UNKNOWN);

void av_switch_run(const struct av_vm_switch *vsw, const struct av_vcpu_switch *csw,
		   struct av_srf *srf, const struct av_entry *entry)
{
	const struct av_leave *leave = av_leave_here();
	struct av_switch *sw = &srf->sw;
	struct av_host_pstate pstate;
	struct av_profiling held;

	sw->ttbr0 = entry->root0;
	sw->ttbr1 = entry->root1 | (u64)av_tlb_asid(csw) << 48;
	sw->ttbr1_hop = entry->root1 | (u64)vsw->guest_hop.asid << 48;
	sw->flush = !arm64_use_ng_mappings;
	sw->loops = leave->mitigation.loops;
	sw->unpriv_tlbi = leave->unpriv_tlbi;
	av_host_pstate_save(leave, &pstate);

	av_profiling_hold(&leave->profilers, &held);
	av_switch_enter(srf);
	av_profiling_go_on(&held);

	av_leave_firmware(leave);
	av_host_pstate_restore(leave, &pstate);
}
