/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual CPU: its run loop, what traps mean, exceptions into the guest.
 *
 * Everything here runs in the vCPU's own thread with vcpu->mutex held, unless
 * said otherwise. Handlers of exits return
 *	> 0	go on in the guest
 *	  0	go to user space, vcpu->run is filled
 *	< 0	go to user space with this errno
 *
 * Injecting an exception changes the virtual CPU at once: its PC is the
 * vector, ELR and SPSR hold what they must. Inject at most one exception an
 * exit, and do not skip an instruction that did.
 *
 *	run.c		the loop
 *	exit.c		dispatch by exception class
 *	trap.c		instructions that EL0 may not execute
 *	sysreg.c	the register table; regs_*.c its rows, idregs.c the ID fields
 *	exception.c	what taking and returning does to the register file (pure)
 *	inject.c	exceptions into the guest
 *	psci.c, smccc.c	firmware
 *	wfx.c		waiting
 *	fp.c		FP/SIMD, lazily
 *	vcpu.c		life, reset, power state, events
 */
#ifndef AV_CPU_CPU_H
#define AV_CPU_CPU_H

#include "api/vcpu.h"
#include "cpu/regs.h"

struct kvm_vcpu_events;
struct user_fpsimd_state;

int av_vcpu_run(struct av_vcpu *vcpu);

/* Get the vCPU out of the guest, and out of WFI, soon. Any context. */
void av_vcpu_kick(struct av_vcpu *vcpu);

/*
 * Exceptions into the guest. ESRs and ISSs are as for an exception from a
 * lower level; the class's form for the same level is chosen here.
 */
void av_inject_sync(struct av_vcpu *vcpu, u64 esr);
void av_inject_abort(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss);
void av_inject_undef(struct av_vcpu *vcpu);
void av_inject_serror(struct av_vcpu *vcpu, u64 iss);	/* pending until PSTATE.A allows it */

/* After an instruction was emulated: on to the next one. */
void av_vcpu_skip_insn(struct av_vcpu *vcpu);

/* ERET, or an exception, took the virtual CPU to another level. */
void av_vcpu_mode_changed(struct av_vcpu *vcpu);

/* Before an entry: take the interrupt or SError that is due. */
void av_inject_pending(struct av_vcpu *vcpu);
bool av_inject_due(struct av_vcpu *vcpu);
bool av_inject_waiting(struct av_vcpu *vcpu);	/* due but for PSTATE's masks, if any */

/* exit.c, trap.c: what the switcher left in the register file. */
int av_handle_exit(struct av_vcpu *vcpu);
int av_handle_unknown(struct av_vcpu *vcpu);	/* EC 0x00 */
int av_handle_sys64(struct av_vcpu *vcpu);	/* EC 0x18 */
int av_handle_wfx(struct av_vcpu *vcpu);	/* EC 0x01 */

/* psci.c, smccc.c: HVC #0 and SMC #0. */
int av_handle_smccc(struct av_vcpu *vcpu);
void av_smccc_vm_init(struct av_vm *vm);
int av_psci_call(struct av_vcpu *vcpu);
bool av_is_psci(const struct av_vcpu *vcpu, u32 fn);

/* wfx.c: sleep until something is there for the guest, a signal, or a request. */
void av_vcpu_block(struct av_vcpu *vcpu);
void av_vcpu_wait_started(struct av_vcpu *vcpu);

/* vcpu.c */
void av_vcpu_load_start(struct av_vcpu *vcpu);	/* AV_REQ_RESET */
bool av_vcpu_stopped(const struct av_vcpu *vcpu);

/* fp.c: around a stay in the guest. begin with interrupts on, end too. */
void av_fp_begin(struct av_vcpu *vcpu);
void av_fp_load(struct av_vcpu *vcpu);
void av_fp_save(struct av_vcpu *vcpu);
void av_fp_end(struct av_vcpu *vcpu);

#endif /* AV_CPU_CPU_H */
