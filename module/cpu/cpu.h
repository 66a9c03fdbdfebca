/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual CPU: run loop, emulation of trapped instructions, exceptions into the guest.
 *
 * A "stay" lasts from an entry into the guest until the exit. The "window" is the switcher's code
 * that every guest tree maps (switch/window_desc.h); some traps end there, without an exit.
 *
 * Everything here runs in the vCPU's own thread with vcpu->mutex held, unless said otherwise. Exit
 * handlers return
 *	> 0	continue in the guest
 *	  0	return to user space, vcpu->run is filled
 *	< 0	return to user space with this errno
 *
 * Injecting an exception changes the virtual CPU at once: PC is the vector, ELR and SPSR are set.
 * Inject at most one exception per exit, and never skip an instruction that injected one.
 *
 *	run.c		the loop
 *	exit.c		dispatch by exception class
 *	abort.c		aborts: memory and devices
 *	trap.c		instructions that EL0 may not execute
 *	sysreg.c	the register table; regs_*.c its rows, idregs.c the ID fields
 *	exception.c	exception entry and return in the register file (pure)
 *	inject.c	exceptions into the guest
 *	psci.c, smccc.c	firmware
 *	wfx.c		WFI and WFE
 *	guest_debug.c	the VMM as a debugger
 *	fp.c		FP/SIMD, loaded lazily
 *	private_calls.c	a protected guest's calls: sharing, measurement
 *	vcpu.c		creation, reset, power state, events
 */
#ifndef AV_CPU_CPU_H
#define AV_CPU_CPU_H

#include <asm/sysreg.h>

#include "cpu/controls.h"
#include "cpu/exception.h"
#include "cpu/types.h"
#include "switch/leave.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

struct kvm_device_attr;
struct kvm_guest_debug;
struct kvm_vcpu_events;
struct user_fpsimd_state;

/*
 * Init and teardown for a VM and, under vm->lock, for a vCPU. destroy only after a successful init.
 * 0 or a negative errno.
 */
int av_cpu_vm_init(struct av_vm *vm);
void av_cpu_vm_destroy(struct av_vm *vm);
/* Set a VM's AV_CHEAP_* bits (cpu/cheap.h). Returns 0, or -EINVAL for unknown bits. */
int av_cpu_enable_cheap(struct av_vm *vm, u64 which);
int av_cpu_enable_accounting(struct av_vm *vm, u64 on);
/* Choose the vCPU's copy of the window, by its VM's accounting. Under vm->lock. */
void av_cpu_choose_window(struct av_vcpu *vcpu);
/* KVM_CAP_HALT_POLL: the longest time to poll in WFI. Returns 0, or -EINVAL. */
int av_cpu_enable_halt_poll(struct av_vm *vm, u64 ns);
int av_cpu_enable_imp_ids(struct av_vm *vm);
/* The VM has a vGIC now. The ID registers show it, where KVM's do. vm->lock is held. */
void av_cpu_vgic_created(struct av_vm *vm);
int av_cpu_vcpu_init(struct av_vcpu *vcpu);
void av_cpu_vcpu_destroy(struct av_vcpu *vcpu);

/*
 * KVM_RUN after its checks: complete the MMIO access that the VMM answered, obey
 * run->immediate_exit, run. The vCPU is initialised, the vGIC ready, the signal mask set. May
 * sleep. Returns 0 or a negative errno.
 */
int av_vcpu_run(struct av_vcpu *vcpu);
/*
 * cpu/light.c: answer an exit of a stay without a debugger; interrupts off. True: enter again in
 * the state that the window left. False: handle the exit on the full path (cpu->declined is set).
 * av_vcpu_short() is for av_switch_set_light(), with the vCPU as data.
 */
bool av_vcpu_light(struct av_vcpu *vcpu);
bool av_vcpu_short(void *data);

/* The VMM's accesses to a vCPU's state outside KVM_RUN, with KVM's errnos. */
void av_vcpu_set_pstate(struct av_vcpu *vcpu, u64 pstate);	/* caller checks mode */
struct user_fpsimd_state *av_vcpu_fp(struct av_vcpu *vcpu);
int av_vcpu_reset(struct av_vcpu *vcpu);	/* target and features are set */
int av_sysreg_get(struct av_vcpu *vcpu, u64 id, u64 *val);	/* -ENOENT */
int av_sysreg_set(struct av_vcpu *vcpu, u64 id, u64 val);	/* -ENOENT, -EINVAL, -EBUSY */
/*
 * The next register ID that a VMM sees, ascending as under KVM. *at is 0 at first, and is set past
 * the ID. -ENOENT: no more.
 */
int av_sysreg_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id);
/* KVM_ARM_VCPU_PVTIME_CTRL. */
int av_steal_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_steal_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_steal_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
/* KVM_SET_GUEST_DEBUG, and the control bits that it supports. */
int av_guest_debug_set(struct av_vcpu *vcpu, const struct kvm_guest_debug *dbg);
u32 av_guest_debug_controls(void);
/* The number of breakpoints and watchpoints of the hardware. */
unsigned int av_nr_breakpoints(void);
unsigned int av_nr_watchpoints(void);
/* KVM_ARM_VM_SMCCC_FILTER. Returns -EINVAL, -EEXIST, -ENOSPC, or -EBUSY once a vCPU has run. */
int av_smccc_set_filter(struct av_vm *vm, u32 base, u32 nr, u8 action);
/* KVM_CAP_ARM_SYSTEM_SUSPEND: the guest's PSCI offers SYSTEM_SUSPEND from now on. */
void av_psci_enable_suspend(struct av_vm *vm);
/* KVM_ARM_GET_REG_WRITABLE_MASKS: the mask of register n, counted by op1 (0, 1, 3), CRm, op2. */
u64 av_id_mask(unsigned int n);
/* KVM_REG_ARM_DEMUX: CCSIDR_EL1 of each cache. */
int av_demux_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_demux_set(struct av_vcpu *vcpu, u64 id, u64 val);
int av_demux_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id);
/* KVM_REG_ARM_FW (PSCI version, workarounds) and FW_FEAT_BMAP. */
int av_fw_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_fw_reg_set(struct av_vcpu *vcpu, u64 id, u64 val);
int av_fw_reg_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id);
int av_vcpu_get_mp_state(struct av_vcpu *vcpu);			/* KVM_MP_STATE_* */
int av_vcpu_set_mp_state(struct av_vcpu *vcpu, u32 state);	/* -EINVAL */
int av_vcpu_get_events(struct av_vcpu *vcpu, struct kvm_vcpu_events *events);
int av_vcpu_set_events(struct av_vcpu *vcpu, const struct kvm_vcpu_events *events);

/* Inject an exception. ESR and ISS are as from a lower level; converted for the same level. */
void av_inject_sync(struct av_vcpu *vcpu, u64 esr);
void av_inject_abort(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss);
void av_inject_undef(struct av_vcpu *vcpu);
void av_inject_serror(struct av_vcpu *vcpu, u64 iss);	/* stays pending while PSTATE.A masks it */

static inline void av_vcpu_skip_insn(struct av_vcpu *vcpu)
{
	/* The hardware does not know that this completes a single step. */
	vcpu->cpu->step_emulated = vcpu->srf->vmode & AV_PSR_SS;
	av_srf_skip(vcpu->srf);
}

/* ERET or an exception moved the virtual CPU to another exception level. */
void av_vcpu_mode_changed(struct av_vcpu *vcpu);

/*
 * Before an entry: inject the interrupt or SError that is due. av_inject_due() also sets srf->due:
 * all that is pending, masked or not. An interrupt offered to the guest is pending until taken.
 * av_inject_offer(): PSTATE masks it, but the guest acknowledged the last such one all the same.
 */
void av_inject_pending(struct av_vcpu *vcpu);
void av_inject_offer(struct av_vcpu *vcpu);
bool av_inject_due(struct av_vcpu *vcpu);

/* exit.c, trap.c: handle the exit that the switcher left in the register file. */
int av_handle_exit(struct av_vcpu *vcpu);
int av_handle_unknown(struct av_vcpu *vcpu);	/* EC 0x00 */
int av_handle_sys64(struct av_vcpu *vcpu);	/* EC 0x18 */
int av_handle_wfx(struct av_vcpu *vcpu);	/* EC 0x01 */

/* abort.c: EC 0x20 and 0x24. */
int av_handle_abort(struct av_vcpu *vcpu);
/* Fetch the instruction at PC. Returns 0, or else the value that the exit handler must return. */
int av_fetch_insn(struct av_vcpu *vcpu, u32 *insn);
/* At the start of KVM_RUN: complete the access that the VMM answered. Returns as handlers do. */
int av_complete_mmio(struct av_vcpu *vcpu);

/* psci.c, smccc.c: HVC #0 and SMC #0. */
int av_handle_smccc(struct av_vcpu *vcpu, bool smc);
/*
 * Light exits: answer a call of virtual EL1 whose answer is known (cpu/calls.h); interrupts off.
 * av_smccc_show_window() sets srf->psci_version, which enables them and calls in the window: call
 * it at each reset, and when its inputs change.
 */
bool av_smccc_answer_light(struct av_vcpu *vcpu);	/* false: take the slow path */

void av_smccc_show_window(struct av_vcpu *vcpu);
void av_smccc_vm_init(struct av_vm *vm);
void av_smccc_vm_destroy(struct av_vm *vm);
int av_psci_call(struct av_vcpu *vcpu);
/* The PSCI version that this vCPU reports. Setting one that its features exclude is -EINVAL. */
u32 av_psci_version(const struct av_vcpu *vcpu);
int av_psci_set_version(struct av_vcpu *vcpu, u64 val);

/*
 * wfx.c: does another task want this CPU? Decides whether WFE traps, until the next call. Called
 * when a run starts and whenever the host took an interrupt.
 */
void av_vcpu_look_around(struct av_vcpu *vcpu);
/* Poll, then sleep, until an interrupt is pending for the guest, or a signal or request comes. */
void av_vcpu_block(struct av_vcpu *vcpu);

/* Start of KVM_RUN: call it if av_stats_run_begin() says so. */
void av_vcpu_time_begins(struct av_vcpu *vcpu);

/* The cost of an entry and exit in picoseconds, as measured at module load; 0: unknown. */
u64 av_cpu_switch_ps(bool short_way);
/* The same for a fast trap, there and back. */
u64 av_cpu_fast_ps(void);
void av_vcpu_wait_started(struct av_vcpu *vcpu);
int av_vcpu_wait_woken(struct av_vcpu *vcpu);	/* KVM_MP_STATE_SUSPENDED */

/* vcpu.c */
void av_vcpu_load_start(struct av_vcpu *vcpu);	/* AV_REQ_RESET */

/* Read the host's controls on this CPU. Interrupts are off. */
static inline void av_host_controls_read(struct av_host_controls *host)
{
	host->sctlr = read_sysreg(sctlr_el1);
	host->tcr = read_sysreg(tcr_el1);
	host->cntkctl = read_sysreg(cntkctl_el1);
	host->tidcp = av_leave_here()->tidcp;
}

/* selftest.c: run a test guest once at module load. Returns 0, or -ENODEV and logs the reason. */
int av_cpu_selftest(void);

/* fp.c: around a stay. begin, end: interrupts on; load, save: off. */
void av_fp_begin(struct av_vcpu *vcpu);
void av_fp_load(struct av_vcpu *vcpu);
void av_fp_save(struct av_vcpu *vcpu);
void av_fp_end(struct av_vcpu *vcpu);

#endif /* AV_CPU_CPU_H */
