// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that EL0 may not execute: their effect in virtual EL1.
 *
 * They trap as "unknown" (EC 0x00), with the instruction fetched by the
 * switcher, or as a trapped system instruction (EC 0x18), with the instruction
 * in the syndrome. From virtual EL0 the guest's kernel gets them: UNDEFINED for
 * an unknown one, else reflected. An instruction that the kernel allows its
 * user space, and that only the module traps, is emulated.
 */
#include "compat/icache.h"
#include "cpu/cpu.h"
#include "cpu/exception.h"
#include "cpu/insn.h"
#include "cpu/sysreg.h"
#include "mmu/mmu.h"
#include "mmu/stub/patch.h"
#include "stats/stats.h"

static int undefined(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_UNDEF);
	av_inject_undef(vcpu);
	return 1;
}

/* The guest kernel's own settings trap this instruction for virtual EL0. */
static int reflect(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_SYSREG);
	av_inject_sync(vcpu, vcpu->srf->esr);
	return 1;
}

#define AV_SYS_ZCR_EL1		AV_SYS(3, 0, 1, 2, 0)
#define AV_SYS_SMCR_EL1		AV_SYS(3, 0, 1, 2, 6)
#define AV_SYS_CCSIDR2_EL1	AV_SYS(3, 1, 0, 0, 2)
#define AV_SYS_TPIDR2_EL0	AV_SYS(3, 3, 13, 0, 5)
#define AV_SYS_SCXTNUM_EL0	AV_SYS(3, 3, 13, 0, 7)

static bool host_has(unsigned int idreg, u64 field)
{
	return av_host_idreg(idreg) & field;
}

/* ZCR_EL1 and SMCR_EL1, at EL1: EL0 cannot have trapped by the class of a system register. */
static int vector_length(struct av_vcpu *vcpu, unsigned int ec, unsigned int cpacr_lsb)
{
	if (!av_srf_el1(vcpu->srf) || av_srf_cpacr_permits(vcpu->srf, cpacr_lsb))
		return undefined(vcpu);
	av_count(&vcpu->stats, AV_EXIT_FP);
	av_inject_sync(vcpu, FIELD_PREP(AV_ESR_EC, ec) | AV_ESR_IL);
	return 1;
}

/* Does SCTLR_EL1 trap this register for EL0? One of its bits denies it, or one permits it. */
static bool denied_el0(const struct av_srf *srf, u16 enc)
{
	u64 sctlr = av_srf_get(srf, AV_SCTLR_EL1);

	switch (enc) {
	case AV_SYS_SCXTNUM_EL0:
		return sctlr & AV_SCTLR_TSCXT;
	case AV_SYS_TPIDR2_EL0:
		return !(sctlr & AV_SCTLR_ENTP2);
	default:
		return false;
	}
}

/*
 * A register that the guest's CPU does not have. It may be in the hardware, whose controls at EL1
 * then come before KVM's at EL2: the guest's kernel gets the trap that it has asked for.
 */
static int no_register(struct av_vcpu *vcpu, const struct av_insn *insn)
{
	const struct av_srf *srf = vcpu->srf;
	u64 trapped = FIELD_PREP(AV_ESR_EC, AV_EC_SYS64) | AV_ESR_IL | av_insn_iss(insn);

	/* KVM itself traps CCSIDR2_EL1. */
	if (av_insn_reads_id_space(insn) && host_has(AV_ID_MMFR2, AV_ID_MMFR2_IDS) &&
	    !(insn->enc == AV_SYS_CCSIDR2_EL1 && av_srf_el1(srf))) {
		av_count(&vcpu->stats, AV_EXIT_SYSREG);
		av_inject_sync(vcpu, trapped);
		return 1;
	}
	if (insn->enc == AV_SYS_ZCR_EL1 && host_has(AV_ID_PFR0, AV_ID_PFR0_SVE))
		return vector_length(vcpu, AV_EC_SVE, AV_CPACR_ZEN_LSB);
	if (insn->enc == AV_SYS_SMCR_EL1 && host_has(AV_ID_PFR1, AV_ID_PFR1_SME))
		return vector_length(vcpu, AV_EC_SME, AV_CPACR_SMEN_LSB);
	/* The hardware has it: otherwise the class of the exception is another. */
	if (!av_srf_el1(srf) && av_esr_ec(srf->esr) == AV_EC_SYS64 && denied_el0(srf, insn->enc))
		return reflect(vcpu);
	return undefined(vcpu);
}

static bool access_row(struct av_vcpu *vcpu, const struct av_sysreg *row, bool write, u64 *val)
{
	if (!(row->flags & (write ? AV_ROW_WRITE : AV_ROW_READ)))
		return false;
	if (row->access)
		return row->access(vcpu, row, write, val);
	if (write)
		av_srf_set(vcpu->srf, row->vreg, *val);
	else
		*val = av_srf_get(vcpu->srf, row->vreg);
	return true;
}

/* MRS and MSR. */
static int emulate_sysreg(struct av_vcpu *vcpu, const struct av_insn *insn)
{
	const struct av_sysreg *row = av_sysreg_find(insn->enc);
	struct av_srf *srf = vcpu->srf;
	u64 val = 0;

	if (!row)
		return no_register(vcpu, insn);
	av_count(&vcpu->stats, row->cls);
	if (insn->write)
		val = av_srf_get_x(srf, insn->rt);
	if (!access_row(vcpu, row, insn->write, &val))
		return av_srf_el1(srf) || row->flags & AV_ROW_PMU ? undefined(vcpu) : reflect(vcpu);
	if (!insn->write)
		av_srf_set_x(srf, insn->rt, val);
	/* If this killed the VM, KVM_RUN ends at the top of the loop. */
	av_vcpu_skip_insn(vcpu);
	return 1;
}

#define AV_SYS_TLBI_FIRST	AV_SYS(1, 0, 8, 0, 0)
#define AV_SYS_TLBI_LAST	AV_SYS(1, 0, 9, 15, 7)
#define AV_SYS_AT_CRM8		AV_SYS(1, 0, 7, 8, 0)
#define AV_SYS_AT_CRM9		AV_SYS(1, 0, 7, 9, 0)
#define AV_SYS_IC_IALLUIS	AV_SYS(1, 0, 7, 1, 0)
#define AV_SYS_IC_IALLU		AV_SYS(1, 0, 7, 5, 0)
#define AV_SYS_DC_IVAC		AV_SYS(1, 0, 7, 6, 1)
#define AV_SYS_DC_ISW		AV_SYS(1, 0, 7, 6, 2)
#define AV_SYS_DC_CSW		AV_SYS(1, 0, 7, 10, 2)
#define AV_SYS_DC_CISW		AV_SYS(1, 0, 7, 14, 2)

/* Cache maintenance of EL1. False: no such operation. */
static bool emulate_cache(struct av_vcpu *vcpu, u16 enc)
{
	switch (enc) {
	case AV_SYS_IC_IALLUIS:
	case AV_SYS_IC_IALLU:
		/* Invalidate on all CPUs: the vCPU may move to another one. */
		av_icache_inval_all();
		return true;
	case AV_SYS_DC_IVAC:
	case AV_SYS_DC_ISW:
	case AV_SYS_DC_CSW:
	case AV_SYS_DC_CISW:
		/*
		 * Guest memory is coherent for all observers, so nothing needs
		 * cleaning, and an invalidation may always clean first.
		 */
		return true;
	}
	return false;
}

static int emulate_at(struct av_vcpu *vcpu, const struct av_insn *insn)
{
	u64 par;
	int ret;

	av_count(&vcpu->stats, AV_EXIT_AT);
	ret = av_mmu_at(vcpu, insn->enc, av_srf_get_x(vcpu->srf, insn->rt), &par);
	/*
	 * The guest's tables are in poisoned memory. The VMM gets a signal, and the guest tries
	 * again.
	 */
	if (ret)
		return ret == -EHWPOISON ? 1 : ret;
	av_srf_set(vcpu->srf, AV_PAR_EL1, par);
	av_vcpu_skip_insn(vcpu);
	return 1;
}

/* SYS: TLBI, AT, IC, DC. SYSL has no named form here: UNDEFINED. */
static int emulate_sys(struct av_vcpu *vcpu, const struct av_insn *insn)
{
	u16 enc = insn->enc;

	if (!insn->write)
		return undefined(vcpu);
	if (enc >= AV_SYS_AT_CRM8 && enc < AV_SYS_AT_CRM8 + 4)
		return emulate_at(vcpu, insn);
	if (enc >= AV_SYS_TLBI_FIRST && enc <= AV_SYS_TLBI_LAST) {
		av_count(&vcpu->stats, AV_EXIT_TLBI);
		if (!av_mmu_tlbi(vcpu, enc, av_srf_get_x(vcpu->srf, insn->rt)))
			return undefined(vcpu);
	} else {
		av_count(&vcpu->stats, AV_EXIT_CACHE);
		if (!emulate_cache(vcpu, enc))
			return undefined(vcpu);
	}
	av_vcpu_skip_insn(vcpu);
	return 1;
}

/* MSR (immediate) of PSTATE fields that EL0 may not write. */
static int emulate_msr_imm(struct av_vcpu *vcpu, const struct av_insn *insn)
{
	struct av_srf *srf = vcpu->srf;
	u64 val;

	av_count(&vcpu->stats, AV_EXIT_PSTATE);
	switch (insn->enc) {
	case AV_MSR_DAIFSET:
	case AV_MSR_DAIFCLR:
		av_srf_set_daif(srf, av_daif_after(av_srf_daif(srf), insn->enc, insn->imm));
		break;
	case AV_MSR_SPSEL:
		val = insn->imm;
		av_reg_SPSEL(srf, true, &val);
		break;
	default:
		/* PAN, UAO and later fields: the guest's CPU does not have them. */
		return undefined(vcpu);
	}
	av_vcpu_skip_insn(vcpu);
	return 1;
}

static int emulate_eret(struct av_vcpu *vcpu)
{
	av_count(&vcpu->stats, AV_EXIT_ERET);
	av_srf_eret(vcpu->srf);
	/* A debugging VMM's step is done; the guest's own is off meanwhile. */
	if (unlikely(vcpu->cpu->guest_debug))
		vcpu->srf->vmode &= ~AV_PSR_SS;
	if (!av_srf_el1(vcpu->srf))
		av_vcpu_mode_changed(vcpu);
	return 1;
}

/*
 * HVC returns to the next instruction by itself; SMC traps at the instruction,
 * so skip it. As under KVM, HVC's immediate is ignored, and SMC with one other
 * than 0 is an unknown function.
 */
static int emulate_call(struct av_vcpu *vcpu, const struct av_insn *insn, bool hvc)
{
	av_count(&vcpu->stats, hvc ? AV_EXIT_HVC : AV_EXIT_SMC);
	av_vcpu_skip_insn(vcpu);
	if (!hvc && insn->imm) {
		av_srf_set_x(vcpu->srf, 0, ~0ULL);
		return 1;
	}
	return av_handle_smccc(vcpu, !hvc);
}

static int emulate(struct av_vcpu *vcpu, enum av_insn_kind kind, const struct av_insn *insn)
{
	switch (kind) {
	case AV_INSN_SYSREG:
		return emulate_sysreg(vcpu, insn);
	case AV_INSN_SYS:
		return emulate_sys(vcpu, insn);
	case AV_INSN_MSR_IMM:
		return emulate_msr_imm(vcpu, insn);
	case AV_INSN_ERET:
		return emulate_eret(vcpu);
	case AV_INSN_HVC:
		return emulate_call(vcpu, insn, true);
	case AV_INSN_SMC:
		return emulate_call(vcpu, insn, false);
	case AV_INSN_RUNS:
		return 1;
	default:
		return undefined(vcpu);
	}
}

/*
 * A guest's SVC that would be a token in a copy (vm/token.h). word: the
 * instruction, just fetched.
 */
static int own_svc(struct av_vcpu *vcpu, u32 word)
{
	struct av_insn insn;

	/* Overwritten: the stale copy is dropped, and what does not trap executes again. */
	if ((word & AV_WORD_SVC_MASK) != AV_WORD_SVC)
		return emulate(vcpu, av_insn_kind(word, &insn), &insn);
	av_count(&vcpu->stats, AV_EXIT_SVC);
	av_vcpu_skip_insn(vcpu);
	av_inject_sync(vcpu, FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL |
			     ((word >> 5) & 0xffff));
	return 1;
}

int av_handle_unknown(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_insn insn;
	bool svc = srf->in_place && srf->insn == AV_INSN_COPY_SVC;
	u32 word = srf->insn;
	int ret;

	if (!av_srf_el1(srf))
		return undefined(vcpu);
	if (unlikely(svc || srf->insn == AV_INSN_UNKNOWN)) {
		av_stat_inc(&vcpu->stats, AV_EVENT_INSN_FETCH);
		ret = av_fetch_insn(vcpu, &word);
		if (ret)
			return ret;
	}
	if (unlikely(svc))
		return own_svc(vcpu, word);
	return emulate(vcpu, av_insn_kind(word, &insn), &insn);
}

int av_handle_sys64(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	const struct av_sysreg *row;
	struct av_insn insn;
	enum av_insn_kind kind = av_insn_from_iss(srf->esr & AV_ESR_ISS, &insn);

	if (av_srf_el1(srf))
		return emulate(vcpu, kind, &insn);

	/* Does only the module trap it? Then the register's row has AV_ROW_EL0. */
	if (kind == AV_INSN_SYSREG) {
		row = av_sysreg_find(insn.enc);
		if (!row)
			return no_register(vcpu, &insn);
		if (row->flags & AV_ROW_EL0)
			return emulate(vcpu, kind, &insn);
	}
	/* IMPLEMENTATION DEFINED: the guest's CPU has none. */
	if (kind == AV_INSN_SYS && (FIELD_GET(AV_SYS_CRN, insn.enc) & ~4) == 11)
		return undefined(vcpu);
	if (kind == AV_INSN_MSR_IMM && av_srf_get(srf, AV_SCTLR_EL1) & AV_SCTLR_UMA)
		return emulate(vcpu, kind, &insn);
	return reflect(vcpu);
}
