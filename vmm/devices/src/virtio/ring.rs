// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! One split virtqueue: virtio-queue's `Queue`, with checked chains (see `chain`), the interrupt
//! suppression that it leaves out (VIRTQ_AVAIL_F_NO_INTERRUPT), and a place to put chains back.
//!
//! A `Ring` is made when the driver enables the queue and its three areas were checked: each in
//! guest memory, aligned, none overlapping another. It is used under the device's `work` lock only.

use std::sync::atomic::{Ordering, fence};

use virtio_bindings::virtio_ring::VRING_AVAIL_F_NO_INTERRUPT;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemory as _, Permissions};

use super::chain::Chain;
use crate::GuestMemory;

/// Why a ring cannot be trusted any more.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The queue size is 0, not a power of two, or more than the device's maximum.
    #[error("queue size {0} is not a power of two within the device's maximum")]
    Size(u32),
    /// One of the three areas is not aligned or not in guest memory.
    #[error("ring area {0:#x}+{1:#x} is unaligned or outside guest memory")]
    Area(u64, u64),
    /// Two of the three areas overlap.
    #[error("ring areas overlap")]
    Overlap,
    /// The available index ran further ahead than the ring is long.
    #[error("available index is ahead by more than the queue size")]
    AvailIndex,
    /// A head index outside the descriptor table.
    #[error("descriptor head {0} is outside the table")]
    Head(u16),
    /// A loop, a next index out of range, a bad indirect table, or more than 4 GiB.
    #[error("descriptor chain does not end (loop, index out of range or bad indirect table)")]
    Cut,
    /// More descriptors than the queue has entries.
    #[error("descriptor chain is longer than the queue")]
    TooLong,
    /// A descriptor of no bytes.
    #[error("descriptor with length 0")]
    Empty,
    /// A buffer that is not wholly in guest memory.
    #[error("buffer {0:#x}+{1:#x} is outside guest memory")]
    OutsideMemory(u64, u64),
    /// A readable descriptor after a writable one.
    #[error("readable descriptor after a writable one")]
    Order,
    /// Memory that the guest has to itself.
    #[error("address {0:#x} is memory that the guest has not shared")]
    Private(u64),
    /// The request is shorter than its device's format.
    #[error("request is too short")]
    Short,
    /// The request has a direction that its queue does not use.
    #[error("request has the wrong direction for its queue")]
    Direction,
}

/// Where the driver put a queue, as it wrote the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RingSetup {
    pub(crate) size: u32,
    pub(crate) desc: u64,
    pub(crate) avail: u64,
    pub(crate) used: u64,
}

impl RingSetup {
    /// (address, length, alignment) of the three areas. The rings end with a field for the other
    /// side's event only when that was negotiated.
    fn areas(&self, event_idx: bool) -> [(u64, u64, u64); 3] {
        let n = u64::from(self.size);
        let event = if event_idx { 2 } else { 0 };
        let (avail, used) = (4 + 2 * n + event, 4 + 8 * n + event);
        [
            (self.desc, 16 * n, 16),
            (self.avail, avail, 2),
            (self.used, used, 4),
        ]
    }

    fn check(&self, mem: &GuestMemory, max: u16, event_idx: bool) -> Result<(), RingError> {
        if !self.size.is_power_of_two() || self.size > u32::from(max) {
            return Err(RingError::Size(self.size));
        }
        for (addr, len, align) in self.areas(event_idx) {
            let ends = addr.checked_add(len - 1).is_some();
            let there =
                ends && mem.check_range(GuestAddress(addr), len as usize, Permissions::ReadWrite);
            if addr % align != 0 || !there {
                return Err(RingError::Area(addr, len));
            }
        }
        let areas = self.areas(event_idx);
        for (i, a) in areas.iter().enumerate() {
            if areas[..i]
                .iter()
                .any(|b| a.0 < b.0 + b.1 && b.0 < a.0 + a.1)
            {
                return Err(RingError::Overlap);
            }
        }
        Ok(())
    }
}

/// A virtqueue. One that is not `ready` has no chains and takes none.
#[derive(Debug)]
pub struct Ring {
    queue: Queue,
    scratch: Chain,
    added: bool,
}

impl Ring {
    /// A queue that the driver did not enable.
    pub(crate) fn idle() -> Self {
        Self {
            queue: Queue::default(),
            scratch: Chain::default(),
            added: false,
        }
    }

    pub(crate) fn new(
        mem: &GuestMemory,
        setup: &RingSetup,
        max: u16,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        setup.check(mem, max, event_idx)?;
        let broken = |_| RingError::Size(setup.size);
        let size = u16::try_from(setup.size).map_err(|_| RingError::Size(setup.size))?;
        let mut queue = Queue::new(size).map_err(broken)?;
        queue
            .try_set_desc_table_address(GuestAddress(setup.desc))
            .map_err(broken)?;
        queue
            .try_set_avail_ring_address(GuestAddress(setup.avail))
            .map_err(broken)?;
        queue
            .try_set_used_ring_address(GuestAddress(setup.used))
            .map_err(broken)?;
        queue.set_event_idx(event_idx);
        queue.set_ready(true);
        Ok(Self {
            queue,
            scratch: Chain::default(),
            added: false,
        })
    }

    /// Whether the driver enabled it.
    pub fn ready(&self) -> bool {
        self.queue.ready()
    }

    /// Entries.
    pub fn size(&self) -> u16 {
        self.queue.size()
    }

    pub(crate) fn stop(&mut self) {
        self.queue.set_ready(false);
    }

    /// Takes the next chain into `chain`; false when there is none.
    pub fn pop(&mut self, mem: &GuestMemory, chain: &mut Chain) -> Result<bool, RingError> {
        if !self.queue.ready() {
            return Ok(false);
        }
        let size = self.queue.size();
        let mut heads = self.queue.iter(mem).map_err(|_| RingError::AvailIndex)?;
        match heads.next() {
            Some(descriptors) => chain.load(descriptors, size).map(|()| true),
            None => Ok(false),
        }
    }

    /// Puts the last popped chain back. Only before anything else was popped or used.
    pub fn undo_pop(&mut self) {
        self.undo_pops(1);
    }

    /// Puts the last `count` popped chains back.
    pub fn undo_pops(&mut self, count: u16) {
        self.queue
            .set_next_avail(self.queue.next_avail().wrapping_sub(count));
    }

    /// Gives a chain back to the driver, with `len` bytes written into it.
    pub fn push_used(&mut self, mem: &GuestMemory, head: u16, len: u32) -> Result<(), RingError> {
        self.added = true;
        self.queue
            .add_used(mem, head, len)
            .map_err(|_| RingError::Head(head))
    }

    /// Asks the driver for no notifications.
    pub fn suppress(&mut self, mem: &GuestMemory) -> Result<(), RingError> {
        self.queue
            .disable_notification(mem)
            .map_err(|_| self.lost())
    }

    /// Asks for notifications again; true when chains came in between and none will be sent for
    /// them.
    pub fn rearm(&mut self, mem: &GuestMemory) -> Result<bool, RingError> {
        self.queue.enable_notification(mem).map_err(|_| self.lost())
    }

    /// Asks for a notification when chains are added to those that are already there; true when some
    /// came in between. For a device that left chains on the ring because it needs more of them.
    pub fn rearm_for_more(&mut self, mem: &GuestMemory) -> Result<bool, RingError> {
        let next = self.queue.next_avail();
        let avail = self
            .queue
            .avail_idx(mem, Ordering::Acquire)
            .map_err(|_| self.lost())?;
        self.queue.set_next_avail(avail.0);
        let more = self.rearm(mem);
        self.queue.set_next_avail(next);
        more
    }

    /// Whether the driver wants an interrupt for what was added since the last call.
    pub fn needs_signal(&mut self, mem: &GuestMemory) -> Result<bool, RingError> {
        if !std::mem::take(&mut self.added) {
            return Ok(false);
        }
        if self.queue.event_idx_enabled() {
            return self.queue.needs_notification(mem).map_err(|_| self.lost());
        }
        // The used index must be visible before the flag is read (the driver does the opposite).
        fence(Ordering::SeqCst);
        let flags: u16 = mem
            .load(GuestAddress(self.queue.avail_ring()), Ordering::Relaxed)
            .map_err(|_| self.lost())?;
        Ok(u16::from_le(flags) & VRING_AVAIL_F_NO_INTERRUPT as u16 == 0)
    }

    pub(crate) fn take_scratch(&mut self) -> Chain {
        std::mem::take(&mut self.scratch)
    }

    pub(crate) fn put_scratch(&mut self, chain: Chain) {
        self.scratch = chain;
    }

    fn lost(&self) -> RingError {
        RingError::Area(self.queue.used_ring(), 0)
    }
}

#[cfg(test)]
#[path = "ring_test.rs"]
mod tests;
