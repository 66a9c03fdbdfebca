/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake kernel and hypervisor for the register table. On a PC, every header that is not pure leads
 * cpu/sysreg.c and cpu/regs_*.c here.
 */
#ifndef AV_TESTS_FAKE_CPU_H
#define AV_TESTS_FAKE_CPU_H

#include <linux/kvm.h>
#include <stdio.h>

#include "cpu/calls.h"
#include "cpu/exception.h"
#include "cpu/idregs.h"
#include "cpu/pmu.h"
#include "mmu/walk/walk.h"
#include "stats/classes.h"

#define X(event, name)		AV_EVENT_##event,
enum av_event { AV_EVENTS(X) AV_NR_EVENTS };
#undef X

struct av_vcpu_stats {
	enum av_exit_class cls;
	u64 count[AV_NR_EXITS], event[AV_NR_EVENTS], skipped[AV_NR_FAST];
};

struct av_vm {
	struct {
		u64 idregs[AV_NR_IDREGS];
		u64 ctr;
		bool ctr_traps;
		u64 imp_ids[AV_NR_IMP_IDS];
		bool imp_ids_set;
		u32 cheap;
	} cpu[1];
	u8 pa_bits;
	unsigned int nr_vcpus;
	bool lock, config_lock, has_run, icc, pmu;
};

/* Is the KVM to follow the newest? (compat/kvm_level.h) */
extern bool fake_id_fields;

/* Does the host's CPU keep EL0 from reading EL1's memory by speculation? */
extern bool fake_meltdown_safe;

struct av_vcpu {
	struct av_vm *vm;
	struct av_srf *srf;
	int id;
	struct {
		bool serror_pending, step_emulated, fp_wanted;
		u16 sample_in[AV_NR_FAST];
		u64 serror_iss;
		u32 guest_debug;
		u64 mpidr, clidr;
		struct av_pmu pmu;
		u32 ccsidr[AV_NR_CACHES];
	} cpu[1];
	struct av_vcpu_stats stats;
	u64 stub_at;		/* a stub was asked for */
	u32 stub_for;
	bool stub_made, stub_failed;
	u32 fetched;		/* the instruction that the hypervisor reads in the guest */
	unsigned int others;	/* calls of what is not the register table's */
	u64 gic_mpidr;
	/* registers of irq/ that a test may look at */
	u64 icc_iar1, icc_eoir1, icc_pmr, cntv_ctl, cntv_cval, cntvct;
	unsigned int regime_changes, ttbr_changes, irq_pending, icc_accesses, timer_accesses;
	const char *killed;
};

/* The host's CPU; fake_midr is of the one that the test is on. */
extern u64 fake_midr;
#define FAKE_ID			0x1111111111111111ULL
#define fake_ctr_el0		0x84448004ULL
#define fake_revidr_el1		0x5eULL
#define fake_aidr_el1		0xa1ULL
#define read_sysreg(reg)	((u64)fake_##reg)
#define read_cpuid_id()		fake_midr
#define sys_reg(...)		0
#define SYS_CTR_EL0		fake_ctr_el0
#define fake_no_csv3(id)		((id) & ~AV_ID_PFR0_CSV3)
#define read_sanitised_ftr_reg(reg)	fake_no_csv3((u64)(reg) | FAKE_ID)

static inline void mutex_lock(bool *lock)
{
	*lock = true;
}

static inline void mutex_unlock(bool *lock)
{
	*lock = false;
}

static inline bool av_irq_has_icc(struct av_vm *vm)
{
	return vm->icc;
}

static inline bool av_pmu_vm_has(const struct av_vm *vm)
{
	return vm->pmu;
}

static inline bool av_pmu_has(const struct av_vcpu *vcpu)
{
	return vcpu->vm->pmu;
}

static inline unsigned int av_pmu_host_version(void)
{
	return AV_PMU_V3;
}

/* Six counters; nothing is counted but by the registers themselves. */
static inline struct av_pmu_model fake_pmu_model(const struct av_vcpu *vcpu)
{
	u64 dfr0 = vcpu->vm->cpu->idregs[AV_ID_DFR0];

	return (struct av_pmu_model) {
		.counters = 6, .version = FIELD_GET(AV_ID_DFR0_PMUVER, dfr0), .ceid = { 1, 1 },
	};
}

static inline u64 fake_counted(struct av_pmu *pmu, unsigned int n)
{
	return 0;
}

static inline bool av_pmu_guest(struct av_vcpu *vcpu, u16 enc, bool write, u64 *val)
{
	static const struct av_pmu_ops ops = { fake_counted };
	struct av_pmu_model model = fake_pmu_model(vcpu);

	vcpu->cpu->pmu.ops = &ops;
	return vcpu->vm->pmu && av_pmu_access(&vcpu->cpu->pmu, &model, enc,
					      av_srf_el1(vcpu->srf), write, val);
}

static inline u64 av_pmu_vmm_get(struct av_vcpu *vcpu, u16 enc)
{
	static const struct av_pmu_ops ops = { fake_counted };
	struct av_pmu_model model = fake_pmu_model(vcpu);

	vcpu->cpu->pmu.ops = &ops;
	return av_pmu_get(&vcpu->cpu->pmu, &model, enc);
}

static inline void av_pmu_vmm_set(struct av_vcpu *vcpu, u16 enc, u64 val)
{
	static const struct av_pmu_ops ops = { fake_counted };
	struct av_pmu_model model = fake_pmu_model(vcpu);

	vcpu->cpu->pmu.ops = &ops;
	av_pmu_set(&vcpu->cpu->pmu, &model, enc, val);
}

static inline bool av_cpus_meltdown_safe(void)
{
	return fake_meltdown_safe;
}

static inline unsigned int av_irq_pending(struct av_vcpu *vcpu)
{
	return vcpu->irq_pending;
}

static inline int av_vm_kill(struct av_vcpu *vcpu, const char *why, ...)
{
	vcpu->killed = why;
	return 0;
}

static inline void av_mmu_regime_changed(struct av_vcpu *vcpu)
{
	vcpu->regime_changes++;
}

static inline void av_mmu_ttbr_changed(struct av_vcpu *vcpu)
{
	vcpu->ttbr_changes++;
}

static inline void av_mmu_mode_changed(struct av_vcpu *vcpu)
{
}

static inline void av_irq_set_mpidr(struct av_vcpu *vcpu, u64 mpidr)
{
	vcpu->gic_mpidr = mpidr;
}

/* The register of irq/, or NULL: a test does not look at it. */
static inline u64 *fake_irq_reg(struct av_vcpu *vcpu, u32 reg)
{
	switch (reg) {
	case AV_SYS(3, 0, 12, 12, 0):
		return &vcpu->icc_iar1;
	case AV_SYS(3, 0, 12, 12, 1):
		return &vcpu->icc_eoir1;
	case AV_SYS(3, 0, 4, 6, 0):
		return &vcpu->icc_pmr;
	case AV_SYS(3, 3, 14, 3, 1):
		return &vcpu->cntv_ctl;
	case AV_SYS(3, 3, 14, 3, 2):
		return &vcpu->cntv_cval;
	case AV_SYS(3, 3, 14, 0, 2):
		return &vcpu->cntvct;
	}
	return NULL;
}

static inline void fake_irq_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val)
{
	u64 *is = fake_irq_reg(vcpu, reg);

	if (is && write)
		*is = *val;
	else if (is)
		*val = *is;
}

static inline bool av_icc_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val)
{
	vcpu->icc_accesses++;
	fake_irq_access(vcpu, reg, write, val);
	return true;
}

static inline bool av_timer_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val)
{
	vcpu->timer_accesses++;
	fake_irq_access(vcpu, reg, write, val);
	return true;
}

static inline void av_irq_offer(struct av_vcpu *vcpu)
{
	vcpu->others++;
}

static inline void av_count(struct av_vcpu_stats *s, enum av_exit_class cls)
{
	s->count[cls]++;
	s->cls = cls;
}

static inline void av_uncount(struct av_vcpu_stats *s)
{
	s->count[s->cls]--;
}

static inline void av_stat_inc(struct av_vcpu_stats *s, enum av_event event)
{
	s->event[event]++;
}

static inline void trace_av_inject(int vcpu, u32 offset, u64 pc, u64 esr, u64 far)
{
}

static inline void av_icache_inval_all(void)
{
}

static inline int av_fetch_insn(struct av_vcpu *vcpu, u32 *insn)
{
	*insn = vcpu->fetched;
	return 0;
}

static inline bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt)
{
	vcpu->others++;
	return true;
}

static inline int av_mmu_at(struct av_vcpu *vcpu, u32 sys, u64 va, u64 *par)
{
	vcpu->others++;
	*par = va;
	return 0;
}

static inline bool av_mmu_want_stub(struct av_vcpu *vcpu, u64 va, u32 insn)
{
	vcpu->stub_at = va;
	vcpu->stub_for = insn;
	return vcpu->stub_made;
}

static inline bool av_mmu_stub_failed(struct av_vcpu *vcpu)
{
	return vcpu->stub_failed;
}

/* As cpu/psci.c, with a version that it has not got. */
#define FAKE_PSCI_VERSION	0x10007

static inline int av_handle_smccc(struct av_vcpu *vcpu, bool smc)
{
	u64 *regs = vcpu->srf->regs;

	if (smc || (u32)regs[0] != AV_CALL_PSCI_VERSION) {
		vcpu->others++;
		return 1;
	}
	regs[0] = FAKE_PSCI_VERSION;
	regs[1] = regs[2] = regs[3] = 0;
	return 1;
}

static inline int av_guest_debug_exit(struct av_vcpu *vcpu)
{
	vcpu->others++;
	return 0;
}

static inline int av_handle_abort(struct av_vcpu *vcpu)
{
	vcpu->others++;
	return 1;
}

static inline void av_vcpu_look_around(struct av_vcpu *vcpu) { }
static inline int av_handle_wfx(struct av_vcpu *vcpu)
{
	vcpu->others++;
	return 1;
}

int av_handle_exit(struct av_vcpu *vcpu);
int av_handle_unknown(struct av_vcpu *vcpu);
int av_handle_sys64(struct av_vcpu *vcpu);
void av_inject_sync(struct av_vcpu *vcpu, u64 esr);
void av_inject_abort(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss);
void av_inject_undef(struct av_vcpu *vcpu);
void av_inject_serror(struct av_vcpu *vcpu, u64 iss);
void av_inject_pending(struct av_vcpu *vcpu);
void av_inject_offer(struct av_vcpu *vcpu);
bool av_inject_due(struct av_vcpu *vcpu);
static inline void av_vcpu_skip_insn(struct av_vcpu *vcpu)
{
	vcpu->cpu->step_emulated = vcpu->srf->vmode & AV_PSR_SS;
	av_srf_skip(vcpu->srf);
}
void av_vcpu_mode_changed(struct av_vcpu *vcpu);

int av_sysreg_init(void);
int av_cpu_enable_imp_ids(struct av_vm *vm);
void av_cpu_vgic_created(struct av_vm *vm);
void av_sysreg_reset(struct av_vcpu *vcpu);
int av_sysreg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_sysreg_set(struct av_vcpu *vcpu, u64 id, u64 val);
int av_sysreg_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id);
u64 av_id_mask(unsigned int n);
int av_demux_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_demux_set(struct av_vcpu *vcpu, u64 id, u64 val);
int av_demux_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id);

#endif /* AV_TESTS_FAKE_CPU_H */
