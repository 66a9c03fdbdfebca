// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The hypervisor behind one trait, so that the exit loop can be tested with a scripted vCPU.
//!
//! An exit is a value that [`Vcpu::run`] returns; what to go on with is a value that goes into the
//! next call. Nothing calls back.

#[cfg(target_arch = "aarch64")]
pub mod kvm;

use crate::exits::Class;
use crate::outcome::End;

/// What the vCPU goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmEntry {
    /// Nothing owed to it.
    Run,
    /// The bytes that its load was waiting for, in memory order.
    MmioRead([u8; 8]),
}

/// Why the vCPU came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmExit {
    MmioRead {
        address: u64,
        len: usize,
    },
    MmioWrite {
        address: u64,
        data: [u8; 8],
        len: usize,
    },
    /// A signal, or `immediate_exit`: look at what is wanted of this vCPU, then go on.
    Interrupted,
    /// Power-off, reset or crash, as the guest asked.
    System(End),
    /// KVM does not know how to go on; the sentence says why.
    Stuck(String),
}

impl VmExit {
    pub fn class(&self) -> Class {
        match self {
            VmExit::MmioRead { .. } => Class::MmioRead,
            VmExit::MmioWrite { .. } => Class::MmioWrite,
            VmExit::Interrupted => Class::Signal,
            VmExit::System(_) => Class::SystemEvent,
            VmExit::Stuck(_) => Class::Error,
        }
    }
}

/// One virtual CPU. Used by one thread.
pub trait Vcpu {
    /// Runs the guest until something happens that this program must deal with.
    fn run(&mut self, entry: VmEntry) -> VmExit;

    /// The registers, in a few lines for a person; what can be read of them.
    fn registers(&self) -> String;
}
