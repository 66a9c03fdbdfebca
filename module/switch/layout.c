// SPDX-License-Identifier: GPL-2.0
/* Asserts that the register file and the private page match the assembly's offsets. */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "switch/offsets.h"
#include "switch/private.h"
#include "vm/regfile.h"
#include "vm/token.h"

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
CHECK_SRF(quick_nr, SRF_QUICK_NR);
CHECK_SRF(quick_imm, SRF_QUICK_IMM);
CHECK_SRF(ttbr1[0], SRF_ROOT1_EL0);
CHECK_SRF(ttbr1[1], SRF_ROOT1_EL1);
CHECK_SRF(quick_on, SRF_QUICK_ON);
CHECK_SRF(quick_on_nr, SRF_QUICK_ON_NR);
CHECK_SRF(quick_modes, SRF_QUICK_MODES);
CHECK_SRF(in_place, SRF_IN_PLACE);
CHECK_SRF(phys, SRF_PHYS);
CHECK_SRF(el1h, SRF_EL1H);
CHECK_SRF(copies, SRF_COPIES);
CHECK_SRF(light, SRF_LIGHT);
CHECK_SRF(svc_pc, SRF_SVC_PC);
CHECK_SRF(svc_pstate, SRF_SVC_PSTATE);
CHECK_SRF(quick_el0, SRF_QUICK_EL0);
CHECK_SRF(device_page, SRF_DEVICE_PAGE);
CHECK_SRF(root0, SRF_ROOT0);
CHECK_SRF(roots_at, SRF_ROOTS_AT);
CHECK_SRF(ttbr, SRF_TTBR);
CHECK_SRF(roots, SRF_ROOTS);
CHECK_SRF(roots[AV_SRF_IDLE], SRF_IDLE);
CHECK_SRF(modes, SRF_MODES);
CHECK_SRF(modes_same, SRF_MODES_SAME);
static_assert(offsetof(struct av_srf_roots, ttbr0) == ROOTS_TTBR0);
static_assert(offsetof(struct av_srf_roots, ttbr1) == ROOTS_TTBR0 + 8);
static_assert(offsetof(struct av_srf_roots, root0) == ROOTS_ROOT0);
static_assert(offsetof(struct av_srf_roots, root1) == ROOTS_ROOT1_EL0);
static_assert(sizeof(struct av_srf_roots) == ROOTS_SIZE);
static_assert(AV_SRF_SETS == ROOTS_SETS && AV_SRF_WAYS == ROOTS_WAYS);
CHECK_SRF(quick_rows, SRF_QUICK_ROWS);
CHECK_SRF(fast, SRF_FAST);
CHECK_SRF(psci_version, SRF_PSCI);
CHECK_SRF(log.begun, SRF_BEGUN);
CHECK_SRF(log.timed, SRF_TIMED);
CHECK_SRF(log.nr, SRF_LOG_NR);
CHECK_SRF(log.entry, SRF_LOG);
CHECK_SRF(tables_at, SRF_TABLES_AT);
CHECK_SRF(tables, SRF_TABLES);
CHECK_SRF(tcr_mid, SRF_TCR_MID);
CHECK_SRF(image, SRF_IMAGE);
CHECK_SRF(image_private, SRF_IMAGE_PRIVATE);
static_assert(offsetof(struct av_srf_table, region) == TABLE_REGION);
static_assert(offsetof(struct av_srf_table, root0) == TABLE_ROOT0);
static_assert(sizeof(struct av_srf_table) == 1 << TABLE_SHIFT);
static_assert(AV_SRF_TABLES == 1 << TABLES_BITS);
static_assert(SRF_SHARED == AV_SRF_PAGE);
CHECK_SRF(sys[AV_CONTEXTIDR_EL1], SRF_CONTEXTIDR_EL1);
CHECK_SRF(sys[AV_SCTLR_EL1], SRF_SCTLR_EL1);
CHECK_SRF(sys[AV_TCR_EL1], SRF_TCR_EL1);
CHECK_SRF(sys[AV_MIDR_EL1], SRF_MIDR_EL1);
CHECK_SRF(sys[AV_ESR_EL1], SRF_ESR_EL1);
CHECK_SRF(sys[AV_SPSR_EL1], SRF_SPSR_EL1);
CHECK_SRF(sys[AV_TTBR0_EL1], SRF_TTBR0_EL1);
CHECK_SRF(sys[AV_TTBR1_EL1], SRF_TTBR1_EL1);
CHECK_SRF(sys[AV_FAR_EL1], SRF_FAR_EL1);
CHECK_SRF(sys[AV_ELR_EL1], SRF_ELR_EL1);
CHECK_SRF(sys[AV_SP_EL1], SRF_SP_EL1);
CHECK_SRF(sys[AV_VBAR_EL1], SRF_VBAR_EL1);
CHECK_SRF(sys[AV_SP_EL0], SRF_SP_EL0);
CHECK_SRF(sys[AV_TPIDR_EL0], SRF_TPIDR_EL0);
CHECK_SRF(sys[AV_TPIDRRO_EL0], SRF_TPIDRRO_EL0);
CHECK_SRF(sys[AV_TPIDR_EL1], SRF_TPIDR_EL1);
CHECK_SRF(sys[AV_DAIF], SRF_DAIF);
CHECK_SRF(sys[AV_SHOWN_TTBR0_EL1], SRF_SHOWN_TTBR0_EL1);
CHECK_SRF(sys[AV_SHOWN_TTBR1_EL1], SRF_SHOWN_TTBR1_EL1);

/* neighbours, for LDP and STP */
static_assert(SRF_QUICK_NR == SRF_QUICK + 4 && SRF_VMODE == SRF_QUICK + 8 &&
	      SRF_IN_PLACE == SRF_QUICK + 12);
static_assert(SRF_QUICK_ON_NR == SRF_QUICK_ON + 4 && SRF_EL1H == SRF_QUICK_ON + 8 &&
	      SRF_COPIES == SRF_QUICK_ON + 12);
static_assert(SRF_ROOT1_EL0 == SRF_QUICK_EL0 + 8 && SRF_ROOT1_EL1 == SRF_ROOT1_EL0 + 8 &&
	      SRF_PHYS == SRF_ROOT1_EL1 + 8 && SRF_QUICK_MODES == SRF_PHYS + 8);
static_assert(SRF_SVC_PSTATE == SRF_SVC_PC + 8);
static_assert(SRF_PSTATE == SRF_PC + 8 && SRF_FAR == SRF_ESR + 8);
static_assert(SRF_SPSR_EL1 == SRF_ELR_EL1 + 8 && SRF_DAIF == SRF_ESR_EL1 + 8 &&
	      SRF_SP_EL1 == SRF_DAIF + 8 && SRF_TPIDR_EL1 == SRF_SP_EL1 + 8 &&
	      SRF_TPIDRRO_EL0 == SRF_TPIDR_EL0 + 8);

/* av_srf_el1() */
static_assert(AV_PSR_EL1T == BIT(2) && AV_PSR_EL1H == (BIT(2) | 1));
static_assert(SW_TTBR1 == SW_TTBR0 + 8);
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
CHECK_PRIVATE(guest.tcr_mid, SW_TCR_MID);
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
CHECK_PRIVATE(h_light, SW_H_LIGHT);
CHECK_PRIVATE(light, SW_LIGHT);
CHECK_PRIVATE(light_data, SW_LIGHT + 8);
CHECK_PRIVATE(light_pstate, SW_LIGHT_PSTATE);
CHECK_PRIVATE(self, SW_SELF);
CHECK_PRIVATE(h_x18, SW_H_X18);
CHECK_PRIVATE(image, SW_IMAGE);
CHECK_PRIVATE(kept, SW_KEPT);
CHECK_PRIVATE(image_sp, SW_IMAGE_SP);
CHECK_PRIVATE(h_missed, SW_H_MISSED);
CHECK_PRIVATE(misses, SW_MISSES);
CHECK_PRIVATE(miss, SW_MISS);
static_assert(AV_IMAGE_MISSES == IMAGE_MISSES && sizeof(struct av_image_miss) == 16);

static_assert(AV_EXCEPTION_SYNC == EXIT_SYNC && AV_EXCEPTION_FATAL == EXIT_FATAL &&
	      AV_EXCEPTION_LOG == EXIT_LOG);
static_assert(AV_QUICK_ROWS == QUICK_ROWS);
static_assert(AV_QUICK_COUNTER == GENMASK(15, QUICK_COUNTER_SHIFT));
static_assert(AV_QUICK_WRITE == BIT(QUICK_WRITE_BIT));
static_assert(AV_QUICK_VREG == GENMASK(QUICK_VREG_BITS - 1, 0));
static_assert(AV_NR_VREGS == BIT(QUICK_VREG_BITS));
static_assert(AV_FAST_SVC == FAST_SVC && AV_FAST_ERET == FAST_ERET && AV_FAST_DAIF == FAST_DAIF);
static_assert(AV_FAST_ERET_EL0 == FAST_ERET_EL0 && AV_FAST_HVC == FAST_HVC);
static_assert(AV_FAST_DABT == FAST_DABT && AV_FAST_PABT == FAST_PABT && FAST_PABT == FAST_DABT + 1);

/* A token's counter has the token's name. */
#define NONE(name)
#define SAME(name)	AV_FAST_##name == FAST_##name &&
static_assert(AV_TOKENS_ALWAYS(NONE, SAME, SAME) AV_TOKENS_ROWS(NONE, SAME, SAME) true);
static_assert(AV_TOKENS == TOKENS);
static_assert(AV_INSN_UNKNOWN == INSN_UNKNOWN);
static_assert(AV_TIME_EVERY == TIME_EVERY && AV_TIME_PHASE == TIME_PHASE &&
	      AV_TIME_LOG == TIME_LOG);
static_assert(AV_TOKEN_SAMPLE % AV_TIME_EVERY == 0, "no sampled token is timed");
