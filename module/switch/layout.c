// SPDX-License-Identifier: GPL-2.0
/* The register file and the private page are where assembly, and the architecture, have them. */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "switch/offsets.h"
#include "switch/private.h"
#include "vm/regfile.h"

#define CHECK_SRF(field, offset) \
	static_assert(offsetof(struct av_srf, field) == (offset), #field)
#define CHECK_PRIVATE(field, offset) \
	static_assert(offsetof(struct av_private, field) == (offset), #field)

static_assert(sizeof(struct av_srf) == SRF_SIZE);
CHECK_SRF(regs, SRF_REGS);
CHECK_SRF(sp, SRF_SP);
CHECK_SRF(pc, SRF_PC);
CHECK_SRF(pstate, SRF_PSTATE);
CHECK_SRF(esr, SRF_ESR);
CHECK_SRF(far, SRF_FAR);
CHECK_SRF(exit, SRF_EXIT);
CHECK_SRF(insn, SRF_INSN);
CHECK_SRF(ttbr_none, SRF_TTBR_NONE);
CHECK_SRF(ttbr1_hop, SRF_TTBR1_HOP);
CHECK_SRF(ttbr0_aux, SRF_TTBR0_AUX);
CHECK_SRF(low_private, SRF_LOW_PRIVATE);
CHECK_SRF(loops, SRF_LOOPS);
CHECK_SRF(unpriv_tlbi, SRF_UNPRIV_TLBI);
CHECK_SRF(vmode, SRF_VMODE);
CHECK_SRF(due, SRF_DUE);
CHECK_SRF(quick, SRF_QUICK);
CHECK_SRF(quick_imm, SRF_QUICK_IMM);
CHECK_SRF(ttbr1[0], SRF_TTBR1_EL0);
CHECK_SRF(ttbr1[1], SRF_TTBR1_EL1);
CHECK_SRF(quick_on, SRF_QUICK_ON);
CHECK_SRF(quick_modes, SRF_QUICK_MODES);
CHECK_SRF(in_place, SRF_IN_PLACE);
CHECK_SRF(copies, SRF_COPIES);
CHECK_SRF(root0, SRF_ROOT0);
CHECK_SRF(quick_rows, SRF_QUICK_ROWS);
CHECK_SRF(fast, SRF_FAST);
CHECK_SRF(psci_version, SRF_PSCI);
CHECK_SRF(sys, SRF_SYS);
CHECK_SRF(sys[AV_SCTLR_EL1], SRF_SCTLR_EL1);
CHECK_SRF(sys[AV_ESR_EL1], SRF_ESR_EL1);
CHECK_SRF(sys[AV_SPSR_EL1], SRF_SPSR_EL1);
CHECK_SRF(sys[AV_ELR_EL1], SRF_ELR_EL1);
CHECK_SRF(sys[AV_SP_EL1], SRF_SP_EL1);
CHECK_SRF(sys[AV_VBAR_EL1], SRF_VBAR_EL1);
CHECK_SRF(sys[AV_SP_EL0], SRF_SP_EL0);
CHECK_SRF(sys[AV_DAIF], SRF_DAIF);
CHECK_SRF(sys[AV_TPIDR_EL0], SRF_TPIDR);
CHECK_SRF(sys[AV_TPIDRRO_EL0], SRF_TPIDRRO);
CHECK_SRF(sys[AV_TPIDR_EL1], SRF_TPIDR_EL1);

CHECK_PRIVATE(srf, SW_SRF);
CHECK_PRIVATE(ttbr_none, SW_TTBR_NONE);
CHECK_PRIVATE(ttbr0_aux, SW_TTBR0_AUX);
CHECK_PRIVATE(ttbr1_hop, SW_TTBR1_HOP);
CHECK_PRIVATE(ttbr0, SW_TTBR0);
CHECK_PRIVATE(ttbr1, SW_TTBR1);
CHECK_PRIVATE(asid_host_hop, SW_ASID_HOST);
CHECK_PRIVATE(high_code, SW_HIGH_CODE);
CHECK_PRIVATE(high_data, SW_HIGH_DATA);
CHECK_PRIVATE(low_code, SW_LOW_CODE);
CHECK_PRIVATE(low_private, SW_LOW_PRIVATE);
CHECK_PRIVATE(guest.sctlr, SW_SCTLR);
CHECK_PRIVATE(guest.tcr, SW_TCR);
CHECK_PRIVATE(guest.cpacr, SW_CPACR);
CHECK_PRIVATE(guest.cntkctl, SW_CNTKCTL);
CHECK_PRIVATE(guest.mdscr, SW_MDSCR);
CHECK_PRIVATE(flush, SW_FLUSH);
CHECK_PRIVATE(h_ttbr0, SW_H_TTBR0);
CHECK_PRIVATE(h_ttbr1, SW_H_TTBR1);
CHECK_PRIVATE(h_vbar, SW_H_VBAR);
CHECK_PRIVATE(h_sp, SW_H_SP);
CHECK_PRIVATE(h_sp_el0, SW_H_SP_EL0);
CHECK_PRIVATE(h_ret, SW_H_RET);
CHECK_PRIVATE(h_sctlr, SW_H_SCTLR);
CHECK_PRIVATE(h_tcr, SW_H_TCR);
CHECK_PRIVATE(h_cpacr, SW_H_CPACR);
CHECK_PRIVATE(h_cntkctl, SW_H_CNTKCTL);
CHECK_PRIVATE(h_mdscr, SW_H_MDSCR);
CHECK_PRIVATE(h_tpidr_el0, SW_H_TPIDR);
CHECK_PRIVATE(h_tpidrro_el0, SW_H_TPIDRRO);
CHECK_PRIVATE(h_ttbr1_hop, SW_H_TTBR1_HOP);

static_assert(AV_EXCEPTION_SYNC == EXIT_SYNC && AV_EXCEPTION_FATAL == EXIT_FATAL);
static_assert(AV_QUICK_ROWS == QUICK_ROWS);
static_assert(AV_FAST_DAIF == FAST_DAIF && AV_FAST_SVC == FAST_SVC);
static_assert(AV_FAST_ERET_EL0 == FAST_ERET_EL0 && AV_FAST_HVC == FAST_HVC);
static_assert(AV_INSN_UNKNOWN == INSN_UNKNOWN);

/* Kernels from 6.9 on say where the architecture has them. */
#if __has_include("asm/vncr_mapping.h")
#include <asm/vncr_mapping.h>

#define CHECK_VNCR(reg)	static_assert(AV_##reg == AV_VREG(VNCR_##reg), #reg)

CHECK_VNCR(CPACR_EL1);
CHECK_VNCR(CONTEXTIDR_EL1);
CHECK_VNCR(SCTLR_EL1);
CHECK_VNCR(ACTLR_EL1);
CHECK_VNCR(TCR_EL1);
CHECK_VNCR(AFSR0_EL1);
CHECK_VNCR(AFSR1_EL1);
CHECK_VNCR(ESR_EL1);
CHECK_VNCR(MAIR_EL1);
CHECK_VNCR(AMAIR_EL1);
CHECK_VNCR(MDSCR_EL1);
CHECK_VNCR(SPSR_EL1);
CHECK_VNCR(TTBR0_EL1);
CHECK_VNCR(TTBR1_EL1);
CHECK_VNCR(FAR_EL1);
CHECK_VNCR(ELR_EL1);
CHECK_VNCR(SP_EL1);
CHECK_VNCR(VBAR_EL1);
#endif
