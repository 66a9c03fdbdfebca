// SPDX-License-Identifier: GPL-2.0
/*
 * A virtual CPU's life apart from running: creation, reset, and pending
 * exceptions that the VMM saves and restores.
 */
#include <linux/kvm.h>
#include <linux/moduleparam.h>
#include <uapi/linux/psci.h>

#include "compat/kvm_level.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/exception.h"
#include "cpu/guest_debug.h"
#include "cpu/pmu_host.h"
#include "cpu/power.h"
#include "cpu/steal.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "mmu/walk/walk.h"

static unsigned int cheap_traps = AV_CHEAP_ALL;
module_param(cheap_traps, uint, 0644);
MODULE_PARM_DESC(cheap_traps, "mask of the parts that make traps cheap in new VMs: 1 rows (more registers in the window), 2 modes (SVC and ERET in the window), 4 quick (traps in assembly), 8 copies (patched kernel code), 16 roots (recent TTBR pairs), 32 calls (firmware calls with known answers), 64 stubs (registers without traps), 128 light (aborts and TLBI as light exits), 256 short (light exits save few registers), 512 faults (guest aborts in the window) (default all)");

int av_cpu_enable_cheap(struct av_vm *vm, u64 which)
{
	if (which & ~(u64)AV_CHEAP_ALL)
		return -EINVAL;
	WRITE_ONCE(vm->cpu->cheap, which);
	return 0;
}

int av_cpu_vm_init(struct av_vm *vm)
{
	vm->cpu->cheap = READ_ONCE(cheap_traps) & AV_CHEAP_ALL;
	vm->cpu->halt_poll_ns = -1;
	av_idregs_init(vm);
	vm->cpu->psci_version = AV_PSCI_LATEST;
	av_smccc_vm_init(vm);
	return av_switch_vm_init(vm->sw);
}

void av_cpu_vm_destroy(struct av_vm *vm)
{
	av_smccc_vm_destroy(vm);
	av_pmu_vm_destroy(vm);
	av_switch_vm_destroy(vm->sw);
}

int av_cpu_vcpu_init(struct av_vcpu *vcpu)
{
	int ret;

	av_power_init(vcpu);
	av_mpidr_init(vcpu);
	av_caches_init(vcpu);
	av_steal_init(vcpu);
	av_pmu_vcpu_init(vcpu);
	ret = av_switch_vcpu_init(vcpu->vm->sw, vcpu->sw, vcpu->srf, vcpu->idx);
	if (ret)
		return ret;
	av_switch_set_light(vcpu->sw, av_vcpu_short, vcpu);
	av_cpu_choose_window(vcpu);
	return 0;
}

void av_cpu_vcpu_destroy(struct av_vcpu *vcpu)
{
	av_pmu_vcpu_destroy(vcpu);
	av_switch_vcpu_destroy(vcpu->vm->sw, vcpu->sw, vcpu->idx);
}

/* Reset all but the switcher's own fields of the register file. */
int av_vcpu_reset(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;

	memset(srf->regs, 0, sizeof(srf->regs));
	av_srf_clear_vregs(srf);
	srf->sp = 0;
	srf->pc = 0;
	srf->pstate = 0;
	av_srf_set_vpstate(srf, AV_PSR_EL1H | AV_PSR_DAIF);
	av_sysreg_reset(vcpu);

	memset(&vcpu->cpu->fp, 0, sizeof(vcpu->cpu->fp));
	vcpu->cpu->fp_wanted = false;
	vcpu->cpu->step_emulated = false;
	vcpu->cpu->guest_ss = false;
	vcpu->cpu->step_pending = false;
	vcpu->cpu->serror_pending = false;
	vcpu->cpu->serror_iss = 0;
	memset(vcpu->spsr_aa32, 0, sizeof(vcpu->spsr_aa32));
	av_pmu_vcpu_reset(vcpu);
	av_timer_reset(vcpu);
	av_mmio_reset(vcpu);
	av_mmu_regime_changed(vcpu);
	av_smccc_show_window(vcpu);
	return 0;
}

/* CPU_ON, or a system reset: reset the vCPU, then set the caller's entry point. */
void av_vcpu_load_start(struct av_vcpu *vcpu)
{
	u64 ss = vcpu->srf->vmode & AV_PSR_SS;
	struct av_start start;

	if (!av_vcpu_take_request(vcpu, AV_REQ_RESET))
		return;
	start = av_power_start(vcpu);
	av_vcpu_reset(vcpu);
	if (unlikely(vcpu->cpu->guest_debug))
		av_guest_debug_resume(vcpu, ss);
	vcpu->srf->pc = start.pc;
	vcpu->srf->regs[0] = start.x0;
}

void av_vcpu_set_pstate(struct av_vcpu *vcpu, u64 pstate)
{
	av_srf_set_pstate(vcpu->srf, pstate);
	av_mmu_regime_changed(vcpu);
}

struct user_fpsimd_state *av_vcpu_fp(struct av_vcpu *vcpu)
{
	return &vcpu->cpu->fp;
}

int av_vcpu_get_events(struct av_vcpu *vcpu, struct kvm_vcpu_events *events)
{
	events->exception.serror_pending = vcpu->cpu->serror_pending;
	return 0;
}

/* The guest has no RAS extension, so a VMM cannot give an SError a syndrome. */
int av_vcpu_set_events(struct av_vcpu *vcpu, const struct kvm_vcpu_events *events)
{
	if (events->exception.serror_pending) {
		if (events->exception.serror_has_esr)
			return -EINVAL;
		av_inject_serror(vcpu, 0);
	}
	/*
	 * A synchronous external abort, not on a table walk, for the access
	 * that caused the last exit.
	 */
	if (events->exception.ext_dabt_pending) {
		/* The abort replaces the access: do not complete it as a load or store. */
		av_mmio_reset(vcpu);
		av_inject_abort(vcpu, false, vcpu->srf->far, AV_FSC_EXTERNAL);
	}
	return 0;
}
