// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The UART's registers as memory that the guest may read: the KVM side of [`uart::Window`].

use std::io;
use std::sync::Arc;

use vm_memory::{Bytes, VolatileMemory};

use crate::hv::kvm::Vm;
use crate::sys::memory::{Mapping, map_aligned, memfd};
use crate::sys::{clean_first_line, page_size};
use crate::{layout, uart};

/// The memory slot after the guest's RAM.
const SLOT: u32 = 1;

/// A page at the UART's address, read-only to the guest.
pub struct RegisterPage {
    vm: Arc<Vm>,
    page: Arc<Mapping>,
}

impl RegisterPage {
    /// Puts the page in place; None where this KVM or this host cannot.
    pub fn new(vm: &Arc<Vm>) -> io::Result<Option<Self>> {
        let size = page_size()?;
        if size as u64 > uart::WINDOW {
            return Ok(None);
        }
        let file = memfd(c"armvisor-uart", false)?;
        file.set_len(size as u64)?;
        let page = Arc::new(map_aligned(file, size, size)?);
        if !vm.add_readable(SLOT, layout::UART_BASE, &page) {
            return Ok(None);
        }
        Ok(Some(RegisterPage {
            vm: vm.clone(),
            page,
        }))
    }
}

impl uart::Window for RegisterPage {
    fn show(&mut self, registers: [u8; 8]) {
        if let Err(error) = self.page.as_volatile_slice().write_slice(&registers, 0) {
            log::error!("UART: its page is too small: {error}");
        }
        clean_first_line(&self.page);
    }

    fn close(&mut self) {
        if let Err(error) = self.vm.remove_memory(SLOT, layout::UART_BASE) {
            log::error!("UART: KVM cannot take its page back, so the console may stall: {error}");
        }
    }
}
