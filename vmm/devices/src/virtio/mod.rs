// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Code that all virtio devices share: the trait that they implement, the context of their calls,
//! and the loop that serves a queue.
//!
//! Rules for a device:
//! * It owns its backend; the transport owns rings, features and status, and lends them as a
//!   [`Context`] for the length of one call.
//! * `handle` never blocks on anything but the host's storage, and never waits for the guest.
//! * State that other threads may read meanwhile (configuration space, counters) is in its
//!   [`Face`], as atomics.
//! * `Err` from `handle` means that the ring cannot be trusted; the transport then calls `reset`
//!   and leaves the device dead until the driver resets it. A well-formed request that cannot be
//!   done is answered in the request.
//! * `reset` returns everything that came from the guest and removes its sources from the event
//!   loop. It may be called at any time, more than once.

pub mod chain;
pub mod mmio;
mod regs;
pub mod ring;
pub mod signal;
pub(crate) mod watched;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::eventfd::EventFd;

use crate::GuestMemory;
use chain::Chain;
use ring::{Ring, RingError};
use signal::Signal;

/// Feature bits that the transport and the rings implement; every device offers them.
pub(crate) const COMMON_FEATURES: u64 =
    1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_RING_F_EVENT_IDX | 1 << VIRTIO_RING_F_INDIRECT_DESC;

/// Chains served for one event before the other devices get a turn.
const SERVE_BUDGET: u32 = 1024;

/// Why a device could not be made or started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host refused something; `what` says which thing and is fit for a user's eyes.
    #[error("{what}: {source}")]
    Host {
        /// What was being done.
        what: String,
        /// The host's answer.
        source: io::Error,
    },
    /// An argument that no host could accept.
    #[error("{0}")]
    Config(String),
}

impl Error {
    pub(crate) fn host(what: impl Into<String>, source: io::Error) -> Self {
        Self::Host {
            what: what.into(),
            source,
        }
    }
}

/// What a device is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The driver notified this queue.
    Queue(usize),
    /// A file descriptor that the device registered under this token is ready.
    Source(u32, EventSet),
}

/// The event loop as a device sees it. Tokens are the device's own.
pub trait Sources: Send + Sync {
    /// Starts watching `fd`, level-triggered.
    fn add(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()>;
    /// Changes what is watched for.
    fn modify(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()>;
    /// Stops watching. An event that was already fetched may still arrive.
    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()>;
}

/// What a device works with during one call.
pub struct Context<'a> {
    /// Guest memory.
    pub mem: &'a GuestMemory,
    /// The rings, in the device's order; those that the driver did not enable are not ready.
    pub rings: &'a mut [Ring],
    /// The negotiated features.
    pub features: u64,
    /// Interrupts.
    pub signal: &'a Signal,
    /// The event loop.
    pub sources: &'a dyn Sources,
    /// The notification event of each queue; writing one asks for another [`Event::Queue`].
    pub queue_events: &'a [EventFd],
}

/// What a device shows to threads that must not wait for it: vCPUs in its configuration space, and
/// whoever asks for its counters. May be called at any time, also while the device works. Nothing
/// here takes a lock that is held during I/O.
pub trait Face: Send + Sync {
    /// Reads from the configuration space; what lies outside it stays zero.
    fn read_config(&self, _offset: u64, _data: &mut [u8]) {}
    /// Writes to the configuration space; what is read-only is ignored. What the write itself asks
    /// of the host may take the host's time; it holds up nobody else.
    fn write_config(&self, _offset: u64, _data: &[u8]) {}
    /// The device's own counters.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// A counter that one thread adds to while others read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// For what is no sum but a state.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One device model.
pub trait VirtioDevice: Send {
    /// Short name for logs and statistics.
    fn name(&self) -> &'static str;
    /// The virtio device ID.
    fn device_type(&self) -> u32;
    /// Features offered, without the transport's own.
    fn features(&self) -> u64;
    /// The largest size of each queue, powers of two.
    fn queue_sizes(&self) -> &[u16];
    /// What others may look at while the device works.
    fn face(&self) -> Arc<dyn Face>;
    /// The driver set DRIVER_OK.
    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error>;
    /// Serves one event.
    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError>;
    /// Back to the state before `activate`.
    fn reset(&mut self, sources: &dyn Sources);
    /// Whether its drivers can be asked to go through the guest's DMA API ([`Platform`]).
    fn takes_platform(&self) -> bool {
        true
    }
}

/// What stands between a device and guest memory.
#[derive(Clone, Default)]
pub struct Platform {
    /// Offer VIRTIO_F_ACCESS_PLATFORM, and want it accepted: the driver then uses its kernel's DMA
    /// API, by which a kernel can put memory that it shares between itself and the device.
    pub access: bool,
    /// Who knows of memory that the guest has to itself; None where all of it is shared.
    pub private: Option<Arc<dyn PrivateMemory>>,
}

/// Memory that a guest keeps to itself: what a device does there comes to nothing.
pub trait PrivateMemory: Send + Sync {
    /// The first guest address, if any, where an access of this thread met private memory since the
    /// last call. What was read there were zeroes, and what was written is gone.
    fn met(&self) -> Option<u64>;
}

/// What became of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Done; this many bytes were written into it.
    Used(u32),
    /// It cannot be served now: leave it on the ring. The device will serve the queue again by
    /// itself, or when the driver adds more.
    Later,
}

impl Context<'_> {
    /// Serves every chain on queue `index`: notifications are off while it runs, one interrupt at
    /// most is sent at the end, and a driver that never stops adding is put back in the line.
    pub fn serve(
        &mut self,
        index: usize,
        mut each: impl FnMut(&GuestMemory, &Chain) -> Result<Served, RingError>,
    ) -> Result<(), RingError> {
        let Some(ring) = self.rings.get_mut(index).filter(|ring| ring.ready()) else {
            return Ok(());
        };
        let mut chain = ring.take_scratch();
        let mut budget = SERVE_BUDGET;
        'drained: loop {
            ring.suppress(self.mem)?;
            while ring.pop(self.mem, &mut chain)? {
                match each(self.mem, &chain)? {
                    Served::Used(len) => ring.push_used(self.mem, chain.head(), len)?,
                    Served::Later => {
                        ring.undo_pop();
                        ring.rearm_for_more(self.mem)?;
                        break 'drained;
                    }
                }
                budget -= 1;
                if budget == 0 {
                    self.again(index);
                    break 'drained;
                }
            }
            if !ring.rearm(self.mem)? {
                break;
            }
        }
        self.rings[index].put_scratch(chain);
        self.finish(index)
    }

    /// Sends the interrupt for what was put on queue `index`, if the driver wants one.
    pub fn finish(&mut self, index: usize) -> Result<(), RingError> {
        if self.rings[index].needs_signal(self.mem)? {
            self.signal.used();
        }
        Ok(())
    }

    /// Asks for another [`Event::Queue`] after the other devices had their turn.
    pub fn again(&self, index: usize) {
        // Fails only when the counter is full, and then the event is pending anyway.
        let _ = self.queue_events[index].write(1);
    }

    /// Whether feature `bit` was negotiated.
    pub fn has(&self, bit: u32) -> bool {
        self.features & (1 << bit) != 0
    }
}

/// Reads from a configuration space given as bytes; what lies outside stays as it is.
pub(crate) fn read_config_bytes(config: &[u8], offset: u64, data: &mut [u8]) {
    let Ok(offset) = usize::try_from(offset) else {
        return;
    };
    if let Some(rest) = config.get(offset..) {
        let len = rest.len().min(data.len());
        data[..len].copy_from_slice(&rest[..len]);
    }
}

/// Takes a lock. A panic elsewhere must not become a second one here: device state stays memory-safe
/// whatever happened, so a poisoned lock is taken as it is.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
