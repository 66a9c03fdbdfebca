// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A device's messages to its driver outside the rings: InterruptStatus, ConfigGeneration and the
//! interrupt itself. All are atomics, because the driver's interrupt handler reads and acknowledges
//! the status on a vCPU thread while the I/O thread serves a long request.
//!
//! Order: publish (used ring or config), set the status bit, then trigger. The driver acknowledges,
//! then looks. So a bit set in between is followed by its own edge, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use virtio_bindings::virtio_mmio::{VIRTIO_MMIO_INT_CONFIG, VIRTIO_MMIO_INT_VRING};

use crate::Interrupt;

/// The interrupt side of one device.
pub struct Signal {
    status: AtomicU32,
    generation: AtomicU32,
    irq: Arc<dyn Interrupt>,
    sent: AtomicU64,
    failed: AtomicU64,
}

impl Signal {
    pub(crate) fn new(irq: Arc<dyn Interrupt>) -> Self {
        Self {
            status: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            irq,
            sent: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Buffers were put on a used ring and the driver wants to know.
    pub fn used(&self) {
        self.raise(VIRTIO_MMIO_INT_VRING);
    }

    /// The configuration space (or the device status) changed.
    pub fn config_changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        self.raise(VIRTIO_MMIO_INT_CONFIG);
    }

    pub(crate) fn status(&self) -> u32 {
        self.status.load(Ordering::Acquire)
    }

    pub(crate) fn acknowledge(&self, bits: u32) {
        self.status.fetch_and(!bits, Ordering::AcqRel);
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// (interrupts sent, interrupts that the VMM could not deliver)
    pub(crate) fn counts(&self) -> (u64, u64) {
        (
            self.sent.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        )
    }

    fn raise(&self, bit: u32) {
        self.status.fetch_or(bit, Ordering::AcqRel);
        let counter = if self.irq.trigger().is_ok() {
            &self.sent
        } else {
            &self.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
