// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The registers of virtio-mmio version 2 as a state machine without a device behind it.
//!
//! `write` changes the registers and says what the transport has to do; `read` has no effects. Loads
//! take no lock: every register is an atomic, and `read` may run at any time. Stores come one at a
//! time, which is the transport's business; only `set_needs_reset` may come between.
//!
//! A reset and the stop of a queue take effect when the transport has carried them out (`reset`,
//! `set_ready`), so that a driver reads 0 only when the device has left its memory alone.
//!
//! What a driver must not do is refused and leaves the registers as they were:
//! * features only between DRIVER and FEATURES_OK, and FEATURES_OK only for a subset of what is
//!   offered that has VERSION_1 (this is what refuses legacy drivers that ignored the version), and
//!   ACCESS_PLATFORM where that is offered: who offers it cannot do without;
//! * status bits only in the specified order, and none can be taken back but by a reset;
//! * queues only between FEATURES_OK and DRIVER_OK, and not while they are ready.
//!
//! The bits of the device itself (NEEDS_RESET) cannot be written.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use virtio_bindings::virtio_config::{
    VIRTIO_CONFIG_S_ACKNOWLEDGE as ACKNOWLEDGE, VIRTIO_CONFIG_S_DRIVER as DRIVER,
    VIRTIO_CONFIG_S_DRIVER_OK as DRIVER_OK, VIRTIO_CONFIG_S_FAILED as FAILED,
    VIRTIO_CONFIG_S_FEATURES_OK as FEATURES_OK, VIRTIO_CONFIG_S_NEEDS_RESET as NEEDS_RESET,
    VIRTIO_F_ACCESS_PLATFORM, VIRTIO_F_VERSION_1,
};
use virtio_bindings::virtio_mmio::*;

use super::ring::RingSetup;

const MAGIC: u32 = u32::from_le_bytes(*b"virt");
const VERSION: u32 = 2;
const VENDOR: u32 = u32::from_le_bytes(*b"armv");
/// Not in the bindings: the register of VIRTIO_F_RING_RESET, which is not offered.
const QUEUE_RESET: u32 = 0xc0;

/// One queue's registers.
#[derive(Debug, Default)]
pub(crate) struct QueueRegs {
    pub(crate) max: u16,
    ready: AtomicBool,
    size: AtomicU32,
    desc: AtomicU64,
    avail: AtomicU64,
    used: AtomicU64,
}

impl QueueRegs {
    fn ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// What the driver has set up.
    pub(crate) fn setup(&self) -> RingSetup {
        RingSetup {
            size: self.size.load(Ordering::Relaxed),
            desc: self.desc.load(Ordering::Relaxed),
            avail: self.avail.load(Ordering::Relaxed),
            used: self.used.load(Ordering::Relaxed),
        }
    }

    fn reset(&self) {
        self.ready.store(false, Ordering::Release);
        self.size.store(0, Ordering::Relaxed);
        for address in [&self.desc, &self.avail, &self.used] {
            address.store(0, Ordering::Relaxed);
        }
    }
}

/// What a register write asks the transport to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing more.
    None,
    /// Not allowed now, or no such register; the text says which.
    Refused(&'static str),
    /// The driver wants the device reset: do it, then `reset` the registers.
    Reset,
    /// DRIVER_OK was set.
    Activate,
    /// The driver wants this queue enabled: check it, then `set_ready`.
    Enable(usize),
    /// The driver wants this queue stopped: do it, then clear `set_ready`.
    Stop(usize),
    /// A notification for this queue.
    Notify(usize),
    /// Interrupt bits acknowledged.
    Acknowledge(u32),
}

/// The registers of one device.
#[derive(Debug)]
pub(crate) struct Regs {
    device_type: u32,
    offered: u64,
    device_features_sel: AtomicU32,
    driver_features_sel: AtomicU32,
    driver_features: AtomicU64,
    queue_sel: AtomicU32,
    status: AtomicU32,
    queues: Vec<QueueRegs>,
}

impl Regs {
    pub(crate) fn new(device_type: u32, offered: u64, queue_sizes: &[u16]) -> Self {
        let queues = queue_sizes.iter().map(|&max| QueueRegs {
            max,
            ..QueueRegs::default()
        });
        Self {
            device_type,
            offered,
            device_features_sel: AtomicU32::new(0),
            driver_features_sel: AtomicU32::new(0),
            driver_features: AtomicU64::new(0),
            queue_sel: AtomicU32::new(0),
            status: AtomicU32::new(0),
            queues: queues.collect(),
        }
    }

    /// All registers as they were at first, the status last.
    pub(crate) fn reset(&self) {
        self.queues.iter().for_each(QueueRegs::reset);
        self.driver_features.store(0, Ordering::Relaxed);
        for register in [
            &self.device_features_sel,
            &self.driver_features_sel,
            &self.queue_sel,
        ] {
            register.store(0, Ordering::Relaxed);
        }
        self.status.store(0, Ordering::Release);
    }

    fn status(&self) -> u32 {
        self.status.load(Ordering::Acquire)
    }

    pub(crate) fn features(&self) -> u64 {
        self.driver_features.load(Ordering::Relaxed)
    }

    fn selected(&self) -> Option<&QueueRegs> {
        self.queues
            .get(self.queue_sel.load(Ordering::Relaxed) as usize)
    }

    pub(crate) fn queue(&self, index: usize) -> &QueueRegs {
        &self.queues[index]
    }

    pub(crate) fn set_ready(&self, index: usize, ready: bool) {
        self.queues[index].ready.store(ready, Ordering::Release);
    }

    pub(crate) fn set_needs_reset(&self) {
        self.status.fetch_or(NEEDS_RESET, Ordering::AcqRel);
    }

    /// The driver runs and nothing broke.
    pub(crate) fn live(&self) -> bool {
        self.status() & (DRIVER_OK | NEEDS_RESET | FAILED) == DRIVER_OK
    }

    pub(crate) fn driver_ok(&self) -> bool {
        self.status() & DRIVER_OK != 0
    }

    /// Reads the register at `offset`; InterruptStatus and ConfigGeneration are the transport's.
    pub(crate) fn read(&self, offset: u32) -> Option<u32> {
        let queue = self.selected();
        let select = self.device_features_sel.load(Ordering::Relaxed);
        Some(match offset {
            VIRTIO_MMIO_MAGIC_VALUE => MAGIC,
            VIRTIO_MMIO_VERSION => VERSION,
            VIRTIO_MMIO_DEVICE_ID => self.device_type,
            VIRTIO_MMIO_VENDOR_ID => VENDOR,
            VIRTIO_MMIO_DEVICE_FEATURES => half(self.offered, select),
            VIRTIO_MMIO_QUEUE_NUM_MAX => queue.map_or(0, |q| u32::from(q.max)),
            VIRTIO_MMIO_QUEUE_READY => queue.map_or(0, |q| u32::from(q.ready())),
            VIRTIO_MMIO_STATUS => self.status(),
            // No shared memory regions: their length reads as all ones.
            VIRTIO_MMIO_SHM_LEN_LOW..=VIRTIO_MMIO_SHM_BASE_HIGH => u32::MAX,
            QUEUE_RESET => 0,
            _ => return None,
        })
    }

    /// Writes `value` to the register at `offset`.
    pub(crate) fn write(&self, offset: u32, value: u32) -> Action {
        let register = match offset {
            VIRTIO_MMIO_DEVICE_FEATURES_SEL => &self.device_features_sel,
            VIRTIO_MMIO_DRIVER_FEATURES_SEL => &self.driver_features_sel,
            VIRTIO_MMIO_DRIVER_FEATURES => return self.write_features(value),
            VIRTIO_MMIO_QUEUE_SEL => &self.queue_sel,
            VIRTIO_MMIO_QUEUE_NOTIFY => {
                let index = value as usize;
                return if index < self.queues.len() {
                    Action::Notify(index)
                } else {
                    Action::Refused("notification for a queue that does not exist")
                };
            }
            VIRTIO_MMIO_INTERRUPT_ACK => return Action::Acknowledge(value),
            VIRTIO_MMIO_STATUS => return self.write_status(value),
            VIRTIO_MMIO_QUEUE_READY => return self.write_ready(value),
            VIRTIO_MMIO_QUEUE_NUM | VIRTIO_MMIO_QUEUE_DESC_LOW..=VIRTIO_MMIO_QUEUE_USED_HIGH => {
                return self.write_setup(offset, value);
            }
            VIRTIO_MMIO_SHM_SEL => return Action::None,
            _ => return Action::Refused("write to a register that does not exist"),
        };
        register.store(value, Ordering::Relaxed);
        Action::None
    }

    fn write_features(&self, value: u32) -> Action {
        let status = self.status();
        if status & DRIVER == 0 || status & (FEATURES_OK | FAILED) != 0 {
            return Action::Refused("features written outside negotiation");
        }
        let shift = match self.driver_features_sel.load(Ordering::Relaxed) {
            0 => 0,
            1 => 32,
            // Linux clears the words that it does not know.
            _ if value == 0 => return Action::None,
            _ => return Action::Refused("features above bit 63"),
        };
        set_half(&self.driver_features, shift, value);
        Action::None
    }

    fn write_status(&self, value: u32) -> Action {
        if value == 0 {
            return Action::Reset;
        }
        let status = self.status();
        let old = status & !NEEDS_RESET;
        let new = value & !NEEDS_RESET;
        if new & old != old {
            return Action::Refused("status bits taken back without a reset");
        }
        if status & (NEEDS_RESET | FAILED) != 0 && new != old | FAILED && new != old {
            return Action::Refused("status changed on a device that needs a reset");
        }
        let known = ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK | FAILED;
        // Each bit needs the one before it; they may come in one write, but for FEATURES_OK, whose
        // acceptance the driver has to read back before DRIVER_OK.
        let order = [
            (DRIVER, ACKNOWLEDGE),
            (FEATURES_OK, DRIVER),
            (DRIVER_OK, FEATURES_OK),
        ];
        let skips = order
            .iter()
            .any(|&(bit, before)| new & bit != 0 && new & before == 0);
        if new & !known != 0 || skips {
            return Action::Refused("status bits unknown or out of order");
        }
        let added = new & !old;
        if added & DRIVER_OK != 0 && old & FEATURES_OK == 0 {
            return Action::Refused("DRIVER_OK before FEATURES_OK was accepted");
        }
        if added & FEATURES_OK != 0 && !self.acceptable() {
            self.status.fetch_or(added & !FEATURES_OK, Ordering::AcqRel);
            return Action::Refused("features not offered, or no VERSION_1 or ACCESS_PLATFORM");
        }
        self.status.fetch_or(added, Ordering::AcqRel);
        if added & (DRIVER_OK | FAILED) == DRIVER_OK {
            Action::Activate
        } else {
            Action::None
        }
    }

    fn acceptable(&self) -> bool {
        let needed = self.offered & (1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_F_ACCESS_PLATFORM);
        let features = self.features();
        features & !self.offered == 0 && features & needed == needed
    }

    fn write_ready(&self, value: u32) -> Action {
        let index = self.queue_sel.load(Ordering::Relaxed) as usize;
        let Some(queue) = self.queues.get(index) else {
            return Action::Refused("QueueReady of a queue that does not exist");
        };
        match value {
            0 if queue.ready() => Action::Stop(index),
            0 => Action::None,
            1 if queue.ready() => Action::None,
            1 if self.configuring() => Action::Enable(index),
            1 => Action::Refused("queue enabled outside configuration"),
            _ => Action::Refused("QueueReady is neither 0 nor 1"),
        }
    }

    fn write_setup(&self, offset: u32, value: u32) -> Action {
        let Some(queue) = self.selected() else {
            return Action::Refused("setup of a queue that does not exist");
        };
        if queue.ready() || !self.configuring() {
            return Action::Refused("queue set up outside configuration");
        }
        let (field, shift) = match offset {
            VIRTIO_MMIO_QUEUE_NUM => {
                queue.size.store(value, Ordering::Relaxed);
                return Action::None;
            }
            VIRTIO_MMIO_QUEUE_DESC_LOW => (&queue.desc, 0),
            VIRTIO_MMIO_QUEUE_DESC_HIGH => (&queue.desc, 32),
            VIRTIO_MMIO_QUEUE_AVAIL_LOW => (&queue.avail, 0),
            VIRTIO_MMIO_QUEUE_AVAIL_HIGH => (&queue.avail, 32),
            VIRTIO_MMIO_QUEUE_USED_LOW => (&queue.used, 0),
            VIRTIO_MMIO_QUEUE_USED_HIGH => (&queue.used, 32),
            _ => return Action::Refused("write to a register that does not exist"),
        };
        set_half(field, shift, value);
        Action::None
    }

    fn configuring(&self) -> bool {
        self.status() & (FEATURES_OK | DRIVER_OK | NEEDS_RESET | FAILED) == FEATURES_OK
    }
}

/// Sets the 32 bits from bit `shift` of a register. Stores come one at a time.
fn set_half(register: &AtomicU64, shift: u32, value: u32) {
    let keep = register.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
    register.store(keep | u64::from(value) << shift, Ordering::Relaxed);
}

fn half(value: u64, select: u32) -> u32 {
    match select {
        0 => value as u32,
        1 => (value >> 32) as u32,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "regs_test.rs"]
mod tests;
