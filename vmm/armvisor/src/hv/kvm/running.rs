// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A KVM vCPU on its thread: KVM_RUN, its exits as values, and its registers.

use kvm_bindings::*;
use kvm_ioctls::{VcpuExit, VcpuFd};

use crate::hv::{Vcpu, VmEntry, VmExit, reason_in_words, run_error};
use crate::outcome::End;
use crate::sys;
use crate::sys::kick::Kickable;

// Registers by their KVM_GET_ONE_REG numbers: core registers count in 32-bit words of struct
// kvm_regs, system registers are their encoding.
const CORE: u64 = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE as u64;
const X0: u64 = CORE;
const SP_EL0: u64 = CORE | 62;
const PC: u64 = CORE | 64;
const PSTATE: u64 = CORE | 66;
const SP_EL1: u64 = CORE | 68;
const ELR_EL1: u64 = CORE | 70;
pub(super) const MPIDR_EL1: u64 = system(3, 0, 0, 0, 5);
pub(super) const ID_AA64MMFR0_EL1: u64 = system(3, 0, 0, 7, 0);
const ESR_EL1: u64 = system(3, 0, 5, 2, 0);
const FAR_EL1: u64 = system(3, 0, 6, 0, 0);
const VBAR_EL1: u64 = system(3, 0, 12, 0, 0);
const SCTLR_EL1: u64 = system(3, 0, 1, 0, 0);

const fn system(op0: u64, op1: u64, crn: u64, crm: u64, op2: u64) -> u64 {
    let encoding = op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2;
    KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM64_SYSREG as u64 | encoding
}

pub(super) fn get(fd: &VcpuFd, register: u64) -> Result<u64, kvm_ioctls::Error> {
    let mut value = [0; 8];
    fd.get_one_reg(register, &mut value)?;
    Ok(u64::from_le_bytes(value))
}

/// Lets a vCPU that has been reset begin at `entry` with `x0`: DAIF masked, EL1 with its own stack pointer.
pub(super) fn begin_at(fd: &VcpuFd, entry: u64, x0: u64) -> Result<(), kvm_ioctls::Error> {
    const BOOT_PSTATE: u64 = 0x3c5;
    for (register, value) in [(PSTATE, BOOT_PSTATE), (PC, entry), (X0, x0)] {
        fd.set_one_reg(register, &value.to_le_bytes())?;
    }
    Ok(())
}

/// A vCPU on its thread.
pub struct Running<'a> {
    pub(super) fd: &'a mut VcpuFd,
    pub(super) protected: bool,
    pub(super) init: kvm_vcpu_init,
    /// Where a guest that sleeps goes on, and with which X0.
    pub(super) wake_at: Option<(u64, u64)>,
    pub(super) kickable: Kickable<'a>,
}

/// An exit that borrows nothing of the vCPU.
enum Raw {
    Done(VmExit),
    Suspend,
    WakeUp,
    Internal,
    NoSyndrome,
}

impl Vcpu for Running<'_> {
    fn run(&mut self, entry: VmEntry) -> VmExit {
        if let VmEntry::MmioRead(data) = entry {
            sys::kvm::set_mmio_data(self.fd.get_kvm_run(), data);
        }
        let raw = match self.fd.run() {
            Ok(exit) => translate(exit),
            Err(error) => match error.errno() {
                libc::EINTR | libc::EAGAIN => {
                    self.kickable.clear();
                    return VmExit::Interrupted;
                }
                errno => return VmExit::Stuck(run_error(errno, self.protected)),
            },
        };
        match raw {
            Raw::Done(exit) => exit,
            Raw::Suspend => slept(self.suspend()),
            Raw::WakeUp => slept(self.wake_up()),
            Raw::Internal => VmExit::Stuck(internal_error(self.fd.get_kvm_run())),
            Raw::NoSyndrome => VmExit::Stuck(no_syndrome(self.fd.get_kvm_run())),
        }
    }

    fn registers(&self) -> String {
        if self.protected {
            return "(not shown: the VM is protected)".into();
        }
        let value = |register: u64| match get(self.fd, register) {
            Ok(value) => format!("{value:016x}"),
            Err(_) => "?".into(),
        };
        let named = [
            ("pc", PC),
            ("pstate", PSTATE),
            ("sp_el0", SP_EL0),
            ("sp_el1", SP_EL1),
            ("elr_el1", ELR_EL1),
            ("esr_el1", ESR_EL1),
            ("far_el1", FAR_EL1),
            ("vbar_el1", VBAR_EL1),
            ("sctlr_el1", SCTLR_EL1),
        ];
        let general = (0..31).map(|number| (format!("x{number}"), X0 + 2 * number));
        let all = named
            .iter()
            .map(|(name, id)| ((*name).to_owned(), *id))
            .chain(general);
        let cells: Vec<String> = all
            .map(|(name, id)| format!("{name}={}", value(id)))
            .collect();
        let lines: Vec<String> = cells.chunks(4).map(|line| line.join(" ")).collect();
        lines.join("\n")
    }
}

impl Running<'_> {
    /// PSCI's SYSTEM_SUSPEND: from now on the vCPU waits in KVM for an interrupt. The others, all of
    /// which the guest has to power off first, are not looked at: a guest with one that runs harms
    /// only itself.
    fn suspend(&mut self) -> Result<(), kvm_ioctls::Error> {
        self.wake_at = Some((get(self.fd, X0 + 2)?, get(self.fd, X0 + 4)?));
        self.fd.set_mp_state(kvm_mp_state {
            mp_state: KVM_MP_STATE_SUSPENDED,
        })
    }

    /// An interrupt is there: the vCPU is reset and begins where the guest said. One that was
    /// powered off at first is so after its reset.
    fn wake_up(&mut self) -> Result<(), kvm_ioctls::Error> {
        self.fd.vcpu_init(&self.init)?;
        if let Some((entry, context)) = self.wake_at.take() {
            begin_at(self.fd, entry, context)?;
        }
        self.fd.set_mp_state(kvm_mp_state {
            mp_state: KVM_MP_STATE_RUNNABLE,
        })
    }
}

fn slept(result: Result<(), kvm_ioctls::Error>) -> VmExit {
    match result {
        Ok(()) => VmExit::Slept,
        Err(error) => VmExit::Stuck(format!("KVM cannot let the guest sleep: {error}")),
    }
}

fn translate(exit: VcpuExit<'_>) -> Raw {
    Raw::Done(match exit {
        VcpuExit::MmioRead(address, data) => VmExit::MmioRead {
            address,
            len: data.len(),
        },
        VcpuExit::MmioWrite(address, bytes) => {
            let mut data = [0; 8];
            let len = bytes.len().min(8);
            data[..len].copy_from_slice(&bytes[..len]);
            VmExit::MmioWrite { address, data, len }
        }
        VcpuExit::Intr => VmExit::Interrupted,
        VcpuExit::SystemEvent(KVM_SYSTEM_EVENT_SUSPEND, _) => return Raw::Suspend,
        VcpuExit::SystemEvent(KVM_SYSTEM_EVENT_WAKEUP, _) => return Raw::WakeUp,
        VcpuExit::SystemEvent(kind, data) => return Raw::Done(system_event(kind, data)),
        VcpuExit::Shutdown => VmExit::System(End::PowerOff),
        VcpuExit::InternalError => return Raw::Internal,
        VcpuExit::Unsupported(KVM_EXIT_ARM_NISV) => return Raw::NoSyndrome,
        VcpuExit::FailEntry(reason, cpu) => VmExit::Stuck(format!(
            "the CPU refused to enter the guest (reason {reason:#x} on CPU {cpu})"
        )),
        VcpuExit::MemoryFault { gpa, size, .. } => VmExit::Stuck(format!(
            "a fault at guest address {gpa:#x} ({size} bytes) that the host cannot resolve"
        )),
        other => VmExit::Stuck(format!("an exit that armvisor does not know: {other:?}")),
    })
}

fn system_event(kind: u32, data: &[u64]) -> VmExit {
    VmExit::System(match kind {
        KVM_SYSTEM_EVENT_SHUTDOWN => End::PowerOff,
        KVM_SYSTEM_EVENT_RESET if is_reset2(data) => End::WarmReset,
        KVM_SYSTEM_EVENT_RESET => End::Reset,
        KVM_SYSTEM_EVENT_CRASH => End::Crash {
            detail: format!("it says {data:x?}"),
        },
        other => return VmExit::Stuck(format!("a system event of an unknown kind, {other}")),
    })
}

/// KVM before 5.19 does not say which reset it is.
fn is_reset2(data: &[u64]) -> bool {
    let flag = u64::from(KVM_SYSTEM_EVENT_RESET_FLAG_PSCI_RESET2);
    data.first().is_some_and(|flags| flags & flag != 0)
}

fn internal_error(run: &kvm_run) -> String {
    let (suberror, data) = sys::kvm::internal_error(run);
    let name = match suberror {
        KVM_INTERNAL_ERROR_EMULATION => "it cannot emulate an instruction",
        KVM_INTERNAL_ERROR_DELIVERY_EV => "it cannot deliver an event",
        KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON => "an exit reason that it does not know",
        _ => "an internal error",
    };
    match reason_in_words(&data) {
        Some(reason) => reason,
        None => format!("{name} (kind {suberror}, data {data:x?})"),
    }
}

fn no_syndrome(run: &kvm_run) -> String {
    let (syndrome, address) = sys::kvm::no_syndrome(run);
    format!(
        "the guest accesses a device at {address:#x} with an instruction that the CPU does not \
         describe, such as a pair or vector load (syndrome {syndrome:#x})"
    )
}
