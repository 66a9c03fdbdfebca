// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_SET_GUEST_DEBUG: the VMM debugs its guest. Every debug exception in the
 * guest then goes to the VMM (KVM_EXIT_DEBUG). The hardware does the work:
 *
 * - Single step: during KVM_RUN the VMM owns the virtual CPU's PSTATE.SS. It is
 *   set to execute one instruction, and clear once that is done but the
 *   exception is still due (after an MMIO access or a signal). Emulating an
 *   instruction and taking an exception clear it as the hardware does.
 * - Breakpoints and watchpoints replace the guest's own in the hardware.
 *
 * The guest's MDSCR_EL1 and debug registers stay as they are; its own single
 * step is off meanwhile, as under KVM. All under vcpu->mutex.
 */
#include <linux/kvm.h>

#include "cpu/cpu.h"
#include "cpu/exception.h"
#include "cpu/guest_debug.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

#define CONTROLS	(KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP | KVM_GUESTDBG_USE_SW_BP | \
			 KVM_GUESTDBG_USE_HW)

int av_guest_debug_set(struct av_vcpu *vcpu, const struct kvm_guest_debug *dbg)
{
	struct av_vcpu_cpu *cpu = vcpu->cpu;

	if (dbg->control & ~CONTROLS)
		return -EINVAL;
	/* The VMM writes software breakpoints into the guest's code: drop its copies. */
	av_mmu_forget_copies(vcpu->vm);
	if (!(dbg->control & KVM_GUESTDBG_ENABLE)) {
		cpu->guest_debug = 0;
		cpu->step_pending = false;
		return 0;
	}
	cpu->guest_debug = dbg->control;
	if (dbg->control & KVM_GUESTDBG_USE_HW)
		cpu->debug_regs = dbg->arch;
	return 0;
}

u32 av_guest_debug_controls(void)
{
	return CONTROLS;
}

static void set_ss(struct av_srf *srf, bool on)
{
	srf->vmode = (srf->vmode & ~AV_PSR_SS) | (on ? AV_PSR_SS : 0);
}

void av_guest_debug_begin(struct av_vcpu *vcpu)
{
	struct av_vcpu_cpu *cpu = vcpu->cpu;

	cpu->guest_ss = vcpu->srf->vmode & AV_PSR_SS;
	if (cpu->guest_debug & KVM_GUESTDBG_SINGLESTEP)
		set_ss(vcpu->srf, !cpu->step_pending);
}

void av_guest_debug_end(struct av_vcpu *vcpu)
{
	struct av_vcpu_cpu *cpu = vcpu->cpu;

	if (cpu->guest_debug & KVM_GUESTDBG_SINGLESTEP)
		cpu->step_pending = !cpu->stepped && !(vcpu->srf->vmode & AV_PSR_SS);
	cpu->stepped = false;
	set_ss(vcpu->srf, cpu->guest_ss);
}

/* As under KVM, a reset of the vCPU keeps the VMM's step state. */
void av_guest_debug_resume(struct av_vcpu *vcpu, bool ss)
{
	if (vcpu->cpu->guest_debug & KVM_GUESTDBG_SINGLESTEP)
		set_ss(vcpu->srf, ss);
}

unsigned int av_guest_debug_stay(const struct av_vcpu *vcpu)
{
	u32 control = vcpu->cpu->guest_debug;
	unsigned int how = 0;

	if (control & KVM_GUESTDBG_SINGLESTEP)
		how |= AV_STAY_STEPPING;
	if (control & KVM_GUESTDBG_USE_HW || av_srf_matching(vcpu->srf))
		how |= AV_STAY_MATCHING;
	return how;
}

const struct kvm_guest_debug_arch *av_guest_debug_regs(const struct av_vcpu *vcpu)
{
	return vcpu->cpu->guest_debug & KVM_GUESTDBG_USE_HW ? &vcpu->cpu->debug_regs : NULL;
}

int av_guest_debug_exit(struct av_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	u64 esr = vcpu->srf->esr;

	run->exit_reason = KVM_EXIT_DEBUG;
	run->debug.arch.hsr = lower_32_bits(esr);
	run->debug.arch.hsr_high = upper_32_bits(esr);
	run->flags = KVM_DEBUG_ARCH_HSR_HIGH_VALID;
	if (av_esr_ec(esr) == AV_EC_WATCHPT_LOW)
		run->debug.arch.far = vcpu->srf->far;
	vcpu->cpu->stepped = av_esr_ec(esr) == AV_EC_SOFTSTP_LOW;
	return 0;
}
