// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A device's interrupt line to the guest: an eventfd that the hypervisor listens to.

use std::io;

use vmm_sys_util::eventfd::EventFd;

/// An eventfd that raises an interrupt in the guest.
pub struct Irqfd(pub EventFd);

impl armvisor_devices::Interrupt for Irqfd {
    fn trigger(&self) -> io::Result<()> {
        self.0.write(1)
    }
}
