// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Virtio device models behind virtio-mmio, with no hypervisor in them.
//!
//! # Attaching a device (what the VMM does)
//!
//! ```no_run
//! use armvisor_devices::block::{Block, BlockConfig};
//! use armvisor_devices::{Error, GuestMemory, Interrupt, IoThread, Platform, VirtioMmio};
//! # use std::{fs::File, sync::Arc};
//!
//! fn attach(
//!     image: File,
//!     memory: Arc<GuestMemory>,
//!     irqfd: Arc<dyn Interrupt>,
//!     io: &IoThread, // IoThread::spawn(), one for all devices
//! ) -> Result<VirtioMmio, Error> {
//!     let block = Block::new(image, BlockConfig { read_only: false, id: "disk0".into() })?;
//!     let virtio = VirtioMmio::new(Box::new(block), memory, irqfd, io, Platform::default())?;
//!     for (queue, event) in virtio.queue_events().iter().enumerate() {
//!         // ioeventfd: a 4-byte write of `queue` at the device's base + QUEUE_NOTIFY
//!     }
//!     // bus: MMIO_SIZE bytes at the base; a clone of `virtio` is the MmioDevice there
//!     // FDT: compatible "virtio,mmio", an edge-rising SPI
//!     Ok(virtio)
//! }
//! ```
//!
//! * `memory` is `Arc<GuestMemory>`. `irqfd` is an `Arc<dyn Interrupt>`; one `trigger` is one edge.
//! * A plain MMIO write to `QUEUE_NOTIFY` works as well as the ioeventfd and only costs an exit.
//! * Pause: stop the vCPUs, then [`IoThread::pause`]; it is true when no device touches memory.
//!   [`IoThread::resume`] goes on. [`IoThread::stop`] ends the thread, or leaves it after a time.
//! * [`VirtioMmio::counters`] gives the figures for `armvisor stat`.
//!
//! # Threads and locks
//!
//! The I/O thread has a device's `work` lock (in `virtio::mmio`) while it serves a queue, for as long
//! as the host's storage takes. A vCPU thread takes it only to set the device up or to take memory
//! away from it: a reset waits for the request in progress, and nothing is served after it. All other
//! MMIO accesses take no lock, so no interrupt handler and no look at a register waits for I/O.
//! [`VirtioMmio::counters`] takes none either. The lock is a leaf but for `Interrupt::trigger` and
//! epoll, neither of which calls back.
//!
//! # What a guest can do to us
//!
//! Everything a guest writes is checked where it is read, once, from a copy. A malformed ring stops
//! the device with DEVICE_NEEDS_RESET until the driver resets it; a well-formed request that asks
//! for something impossible fails with the status that its device defines. Either is counted, and
//! what is logged is rate-limited. No guest input may panic.
//!
//! A protected VM's guest can give a device memory that it has not shared. The VMM then has accesses
//! there come to nothing, and says so ([`PrivateMemory`]): a ring of such memory is a malformed one. A
//! buffer that only a system call uses makes its request fail.
#![deny(unsafe_code)]
#![warn(missing_docs)]

use std::io;

pub mod balloon;
pub mod block;
pub mod button;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod io_thread;
mod limit;
pub mod net;
pub mod rng;
mod sys;
#[cfg(any(test, feature = "fuzzing"))]
mod testing;
pub mod virtio;
pub mod vsock;

pub use io_thread::IoThread;
pub use virtio::mmio::{MMIO_SIZE, QUEUE_NOTIFY, VirtioMmio};
pub use virtio::{Error, Platform, PrivateMemory, VirtioDevice};

/// Guest memory as every device sees it: shared, never dirty-tracked here.
pub type GuestMemory = vm_memory::GuestMemoryMmap<()>;

/// A device on the MMIO bus; `offset` is relative to the device's base.
///
/// An access that the device does not support reads as zeroes and writes nothing. All vCPUs may be in
/// a device at once: it takes care of itself, and keeps no lock while it waits for the host.
pub trait MmioDevice: Send + Sync {
    /// Serves a load of `data.len()` bytes.
    fn read(&self, offset: u64, data: &mut [u8]);
    /// Serves a store of `data.len()` bytes.
    fn write(&self, offset: u64, data: &[u8]);
}

/// The device's interrupt line: an irqfd in the VMM, a counter in the tests.
pub trait Interrupt: Send + Sync {
    /// Sends one edge. Called from vCPU threads and the I/O thread, also while a device is called.
    fn trigger(&self) -> io::Result<()>;
}
