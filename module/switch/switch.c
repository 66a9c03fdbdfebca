// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine's controls are while the guest runs.
 *
 * Only bits that act on EL0 differ from the host's; the host's own code in the
 * window does not feel them. Virtual EL1 gets what a kernel may do without
 * asking; virtual EL0 gets what the guest kernel allowed it.
 */
#include <linux/build_bug.h>
#include <linux/pgtable.h>
#include <linux/stddef.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

#include "compat/tlb.h"
#include "cpu/exception.h"
#include "cpu/hwdebug.h"
#include "cpu/regs.h"
#include "switch/debug.h"
#include "switch/leave.h"
#include "switch/offsets.h"
#include "switch/switch.h"

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
CHECK_OFFSET(sw.sctlr, SW_SCTLR);
CHECK_OFFSET(sw.tcr, SW_TCR);
CHECK_OFFSET(sw.cpacr, SW_CPACR);
CHECK_OFFSET(sw.cntkctl, SW_CNTKCTL);
CHECK_OFFSET(sw.mdscr, SW_MDSCR);
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
CHECK_OFFSET(sys[AV_TPIDR_EL0], SRF_TPIDR);
CHECK_OFFSET(sys[AV_TPIDRRO_EL0], SRF_TPIDRRO);
static_assert(AV_LEFT_FATAL == EXIT_FATAL);
static_assert(AV_INSN_UNKNOWN == INSN_UNKNOWN);

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

static u64 guest_sctlr(const struct av_srf *srf)
{
	u64 guest = srf->sys[AV_SCTLR_EL1];
	u64 sctlr = (read_sysreg(sctlr_el1) & ~SCTLR_GUEST_OFF) | SCTLR_TSCXT;

	if (!av_srf_el1(srf))
		return sctlr | (guest & SCTLR_EL0_OWN);
	sctlr |= AV_SCTLR_DZE | AV_SCTLR_UCT | AV_SCTLR_UCI | (guest & AV_SCTLR_A);
	if (guest & AV_SCTLR_SA)
		sctlr |= AV_SCTLR_SA0;
	return sctlr;
}

static u64 guest_tcr(const struct av_srf *srf)
{
	u64 tcr = read_sysreg(tcr_el1);

	tcr &= ~(TCR_SIZES | TCR_EPD | TCR_TBI | TCR_TBID | TCR_NFD | TCR_E0PD);
	return tcr | (srf->sys[AV_TCR_EL1] & TCR_TBI) |
	       FIELD_PREP(GENMASK_ULL(5, 0), 16) | FIELD_PREP(GENMASK_ULL(21, 16), 16);
}

static u64 guest_cpacr(bool fp)
{
	u64 cpacr = read_sysreg(cpacr_el1);

	cpacr &= ~(CPACR_ZEN | CPACR_SMEN | CPACR_E0POE | CPACR_FPEN_EL0);
	cpacr |= CPACR_FPEN_EL1 | CPACR_TTA;
	return fp ? cpacr | CPACR_FPEN_EL0 : cpacr;
}

/*
 * The virtual counter is direct, unless the VM's has an offset; the guest's
 * kernel may deny it to its user space.
 */
static u64 guest_cntkctl(const struct av_vm_switch *vsw, const struct av_srf *srf)
{
	u64 cntkctl = read_sysreg(cntkctl_el1) & ~CNTKCTL_EL0_ALL;

	if (READ_ONCE(vsw->trap_counter))
		return cntkctl;
	if (av_srf_el1(srf) || (srf->sys[AV_CNTKCTL_EL1] & CNTKCTL_EL0VCT))
		cntkctl |= CNTKCTL_EL0VCT;
	return cntkctl;
}

/*
 * The ASID that these trees run under. One that ran other trees before is
 * flushed everywhere, since the vCPU may have left entries on other CPUs.
 */
static u64 context_asid(struct av_vcpu_switch *csw, const struct av_entry *entry)
{
	struct av_context *ctx = &csw->context[csw->current_context];
	unsigned int i;

	if (ctx->serial0 == entry->serial0 && ctx->serial1 == entry->serial1)
		return ctx->asid.asid;

	for (i = 0; i < csw->nr_contexts; i++) {
		ctx = &csw->context[i];
		if (ctx->serial0 == entry->serial0 && ctx->serial1 == entry->serial1) {
			csw->current_context = i;
			return ctx->asid.asid;
		}
	}

	i = csw->next_victim;
	csw->next_victim = (i + 1) % csw->nr_contexts;
	csw->current_context = i;
	ctx = &csw->context[i];
	if (ctx->serial0 || ctx->serial1) {
		__tlbi(aside1is, (u64)ctx->asid.asid << 48);
		av_tlbi_sync();
	}
	ctx->serial0 = entry->serial0;
	ctx->serial1 = entry->serial1;
	return ctx->asid.asid;
}

void av_switch_run(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
		   struct av_srf *srf, const struct av_entry *entry, bool fp)
{
	struct av_switch *sw = &srf->sw;
	bool step = av_srf_stepping(srf), matching = av_srf_matching(srf);
	const struct av_leave *leave = av_leave_here();
	struct av_profiling held;
	struct av_host_pstate pstate;

	sw->ttbr0 = entry->root0;
	sw->ttbr1 = entry->root1 | context_asid(csw, entry) << 48;
	sw->ttbr1_hop = entry->root1 | (u64)vsw->guest_hop.asid << 48;
	sw->flush = !arm64_use_ng_mappings;
	sw->sctlr = guest_sctlr(srf);
	sw->tcr = guest_tcr(srf);
	sw->cpacr = guest_cpacr(fp);
	sw->cntkctl = guest_cntkctl(vsw, srf);
	sw->mdscr = MDSCR_TDCC;
	/* Interrupts are the host's, always taken. SErrors stay pending for it too. */
	srf->pstate = (srf->pstate & AV_PSR_PHYS) | AV_PSR_D | AV_PSR_A | AV_PSR_EL0T;
	/* The hardware steps for the guest; it counts down PSTATE.SS. */
	if (step) {
		sw->mdscr |= MDSCR_SS;
		srf->pstate |= srf->vpstate & AV_PSR_SS;
	}

	sw->loops = leave->mitigation.loops;
	av_host_pstate_save(leave, &pstate);
	if (unlikely(matching)) {
		sw->mdscr |= MDSCR_MDE;
		av_debug_enter(srf, &csw->debug);
	}

	av_profiling_hold(&leave->profilers, &held);
	av_switch_enter(srf);
	av_profiling_go_on(&held);

	av_leave_firmware(leave);
	av_host_pstate_restore(leave, &pstate);
	if (unlikely(matching))
		av_debug_leave(&csw->debug);
	if (step)
		srf->vpstate = (srf->vpstate & ~AV_PSR_SS) | (srf->pstate & AV_PSR_SS);
}
