// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The MMIO bus: the device at each address.
//!
//! It is filled before the first vCPU runs and never changes after that: look-ups and accesses take
//! no lock here. All vCPUs may be in one device at once, and one that waits there delays no other.
//! No device calls back into the bus.

use std::sync::Arc;

use armvisor_devices::MmioDevice;
use thiserror::Error;

/// Why a device cannot be put on the bus.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BusError {
    /// A device of the bus has this guest physical address already.
    #[error("two devices claim the guest address {0:#x}")]
    Overlap(u64),
    /// The range that starts at this guest physical address is empty, or its end does not fit in 64 bits.
    #[error("a device at {0:#x} has no length or reaches the end of the address space")]
    Range(u64),
}

struct Slot {
    base: u64,
    last: u64,
    device: Arc<dyn MmioDevice>,
}

/// Devices by address, sorted.
#[derive(Default)]
pub struct Bus {
    slots: Vec<Slot>,
}

impl Bus {
    /// Puts `device` at `base`, for `size` bytes.
    pub fn insert(
        &mut self,
        base: u64,
        size: u64,
        device: Arc<dyn MmioDevice>,
    ) -> Result<(), BusError> {
        let last = size
            .checked_sub(1)
            .and_then(|rest| base.checked_add(rest))
            .ok_or(BusError::Range(base))?;
        let at = self.slots.partition_point(|slot| slot.last < base);
        if self.slots.get(at).is_some_and(|next| next.base <= last) {
            return Err(BusError::Overlap(base));
        }
        self.slots.insert(at, Slot { base, last, device });
        Ok(())
    }

    fn find(&self, address: u64, len: usize) -> Option<(&Slot, u64)> {
        let at = self.slots.partition_point(|slot| slot.last < address);
        let slot = self.slots.get(at)?;
        let end = address.checked_add(len.checked_sub(1)? as u64)?;
        (slot.base <= address && end <= slot.last).then(|| (slot, address - slot.base))
    }

    /// Loads from a device; false if none is there.
    pub fn read(&self, address: u64, data: &mut [u8]) -> bool {
        let Some((slot, offset)) = self.find(address, data.len()) else {
            return false;
        };
        slot.device.read(offset, data);
        true
    }

    /// Stores to a device; false if none is there.
    pub fn write(&self, address: u64, data: &[u8]) -> bool {
        let Some((slot, offset)) = self.find(address, data.len()) else {
            return false;
        };
        slot.device.write(offset, data);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    struct Echo(AtomicU8);

    impl MmioDevice for Echo {
        fn read(&self, offset: u64, data: &mut [u8]) {
            data.fill(self.0.load(Ordering::Relaxed).wrapping_add(offset as u8));
        }
        fn write(&self, _offset: u64, data: &[u8]) {
            self.0.store(data[0], Ordering::Relaxed);
        }
    }

    fn echo(value: u8) -> Arc<dyn MmioDevice> {
        Arc::new(Echo(AtomicU8::new(value)))
    }

    fn bus() -> Bus {
        let mut bus = Bus::default();
        bus.insert(0x2000, 0x1000, echo(2)).unwrap();
        bus.insert(0x1000, 0x1000, echo(1)).unwrap();
        bus
    }

    #[test]
    fn accesses_reach_their_device() {
        let bus = bus();
        let mut data = [0; 4];
        assert!(bus.read(0x1004, &mut data));
        assert_eq!(data, [5; 4]);
        assert!(bus.write(0x2000, &[9]));
        assert!(bus.read(0x2001, &mut data[..1]));
        assert_eq!(data[0], 10);
    }

    #[test]
    fn two_cpus_are_in_one_device_at_once() {
        /// Lets nobody go on before two are there.
        struct Meeting(Barrier);

        impl MmioDevice for Meeting {
            fn read(&self, _offset: u64, _data: &mut [u8]) {
                self.0.wait();
            }
            fn write(&self, _offset: u64, _data: &[u8]) {
                self.0.wait();
            }
        }

        let mut bus = Bus::default();
        let meeting = Arc::new(Meeting(Barrier::new(2)));
        bus.insert(0x1000, 8, meeting).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(bus.read(0x1000, &mut [0])));
            assert!(bus.write(0x1004, &[0]));
        });
    }

    #[test]
    fn holes_and_straddling_accesses_reach_none() {
        let bus = bus();
        let mut data = [0; 4];
        assert!(!bus.read(0xfff, &mut data[..1]));
        assert!(!bus.read(0x1ffe, &mut data));
        assert!(!bus.write(0x3000, &[1]));
        assert!(!bus.write(u64::MAX, &[1, 2]));
        assert!(!bus.read(0x1000, &mut []));
    }

    #[test]
    fn overlaps_and_bad_ranges_are_refused() {
        let mut bus = bus();
        assert_eq!(
            bus.insert(0x1800, 0x1000, echo(0)),
            Err(BusError::Overlap(0x1800))
        );
        assert_eq!(bus.insert(0x0, 0x1001, echo(0)), Err(BusError::Overlap(0)));
        assert_eq!(bus.insert(0x0, 0, echo(0)), Err(BusError::Range(0)));
        assert_eq!(
            bus.insert(u64::MAX, 2, echo(0)),
            Err(BusError::Range(u64::MAX))
        );
    }
}
