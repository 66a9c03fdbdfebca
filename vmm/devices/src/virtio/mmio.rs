// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The virtio-mmio transport of one device: MMIO accesses from vCPU threads on one side, events from
//! the I/O thread on the other.
//!
//! Rules:
//! * No load takes a lock. InterruptACK, QueueNotify and the configuration space take none for stores
//!   either. So neither an interrupt handler nor a look at the configuration waits for a request that
//!   the I/O thread is serving, nor for another vCPU that does.
//! * Stores to the other registers come one at a time, under `stores`. Those that take memory away
//!   from the device (a reset, the stop of a queue) wait for the request in progress; until then the
//!   register reads as before.
//! * `work` is held while the device is called, for as long as its storage takes. Order: `stores`,
//!   then `work`. The I/O thread takes `work` only.
//! * Registers are 32 bits, aligned; the configuration space takes aligned 8, 16 and 32 bits. Any
//!   other access reads zeroes, writes nothing, and is counted.
//! * After a malformed ring, or one that is memory which the guest has not shared, the device is
//!   `broken`: its sources are gone, its events are drained and ignored, NEEDS_RESET is set, and only
//!   a reset brings it back.

use std::sync::{Arc, Mutex};

use log::warn;
use virtio_bindings::virtio_config::VIRTIO_F_ACCESS_PLATFORM;
use virtio_bindings::virtio_mmio::{
    VIRTIO_MMIO_CONFIG, VIRTIO_MMIO_CONFIG_GENERATION, VIRTIO_MMIO_INTERRUPT_ACK,
    VIRTIO_MMIO_INTERRUPT_STATUS, VIRTIO_MMIO_QUEUE_NOTIFY,
};
use virtio_bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use super::regs::{Action, Regs};
use super::ring::{Ring, RingError};
use super::signal::Signal;
use super::{
    COMMON_FEATURES, Context, Counter, Error, Event, Face, Platform, Sources, VirtioDevice, lock,
};
use crate::limit::LogLimit;
use crate::{GuestMemory, Interrupt, IoThread, MmioDevice};

/// Bytes of address space that one device takes.
pub const MMIO_SIZE: u64 = 0x200;
/// Where a driver writes a queue's index to notify it: the address for the ioeventfds.
pub const QUEUE_NOTIFY: u64 = VIRTIO_MMIO_QUEUE_NOTIFY as u64;

const CONFIG: u64 = VIRTIO_MMIO_CONFIG as u64;

/// A device on its transport. Clones are the same device.
#[derive(Clone)]
pub struct VirtioMmio(Arc<Inner>);

struct Inner {
    name: &'static str,
    mem: Arc<GuestMemory>,
    platform: Platform,
    signal: Signal,
    sources: Box<dyn Sources>,
    queue_events: Vec<EventFd>,
    limit: LogLimit,
    notifications: Counter,
    refused: Counter,
    malformed: Counter,
    resets: Counter,
    face: Arc<dyn Face>,
    regs: Regs,
    stores: Mutex<()>,
    work: Mutex<Work>,
}

/// What a device works with; whoever has it may be waiting for storage.
struct Work {
    rings: Vec<Ring>,
    device: Box<dyn VirtioDevice>,
    /// From a good activation to the next reset or fault.
    active: bool,
}

impl VirtioMmio {
    /// Puts `device` on a transport and its queues into the event loop of `io`.
    pub fn new(
        device: Box<dyn VirtioDevice>,
        mem: Arc<GuestMemory>,
        irq: Arc<dyn Interrupt>,
        io: &IoThread,
        platform: Platform,
    ) -> Result<Self, Error> {
        let slot = io.reserve();
        let sources = Box::new(slot.sources());
        let virtio = Self::with_sources(device, mem, irq, sources, platform)?;
        slot.attach(virtio.clone())?;
        Ok(virtio)
    }

    /// The same with an event loop of the caller's.
    pub(crate) fn with_sources(
        device: Box<dyn VirtioDevice>,
        mem: Arc<GuestMemory>,
        irq: Arc<dyn Interrupt>,
        sources: Box<dyn Sources>,
        platform: Platform,
    ) -> Result<Self, Error> {
        let sizes = device.queue_sizes();
        let queue_events = sizes
            .iter()
            .map(|_| EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC));
        let queue_events = queue_events
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| Error::host("cannot make an eventfd", e))?;
        let mut features = device.features() | COMMON_FEATURES;
        if platform.access && device.takes_platform() {
            features |= 1 << VIRTIO_F_ACCESS_PLATFORM;
        }
        Ok(Self(Arc::new(Inner {
            name: device.name(),
            mem,
            platform,
            signal: Signal::new(irq),
            sources,
            queue_events,
            limit: LogLimit::new(),
            notifications: Counter::default(),
            refused: Counter::default(),
            malformed: Counter::default(),
            resets: Counter::default(),
            face: device.face(),
            regs: Regs::new(device.device_type(), features, sizes),
            stores: Mutex::default(),
            work: Mutex::new(Work {
                rings: sizes.iter().map(|_| Ring::idle()).collect(),
                active: false,
                device,
            }),
        })))
    }

    /// One event a queue, to be bound to a write of its index to [`QUEUE_NOTIFY`].
    pub fn queue_events(&self) -> &[EventFd] {
        &self.0.queue_events
    }

    /// The device's short name.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Counters of the device, then those of the transport. Waits for nobody.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let inner = &self.0;
        let (sent, failed) = inner.signal.counts();
        let mut all = inner.face.counters();
        all.extend([
            ("notifications", inner.notifications.get()),
            ("interrupts", sent),
            ("interrupts_failed", failed),
            ("malformed_rings", inner.malformed.get()),
            ("refused_accesses", inner.refused.get()),
            ("resets", inner.resets.get()),
        ]);
        all
    }

    /// Serves one event on the I/O thread.
    pub(crate) fn handle(&self, event: Event) {
        let inner = &*self.0;
        if let Event::Queue(index) = event {
            // Nonblocking: nothing to read means that an earlier event took it along.
            if inner.queue_events[index].read().is_ok() {
                inner.notifications.add(1);
            }
        }
        let mut work = lock(&inner.work);
        let work = &mut *work;
        if !work.active || !inner.regs.live() {
            return;
        }
        let mut ctx = inner.context(&mut work.rings);
        let handled = work.device.handle(event, &mut ctx);
        if let Err(error) = inner.shared().and(handled) {
            inner.break_device(work, &error);
        }
    }

    /// Takes the device out of use before it is dropped.
    pub(crate) fn detach(&self) {
        lock(&self.0.work).device.reset(&*self.0.sources);
    }

    fn read_register(&self, offset: u32) -> Option<u32> {
        match offset {
            VIRTIO_MMIO_INTERRUPT_STATUS => Some(self.0.signal.status()),
            VIRTIO_MMIO_CONFIG_GENERATION => Some(self.0.signal.generation()),
            _ => self.0.regs.read(offset),
        }
    }

    fn write_register(&self, offset: u32, value: u32) {
        let inner = &*self.0;
        match offset {
            VIRTIO_MMIO_INTERRUPT_ACK => return inner.signal.acknowledge(value),
            VIRTIO_MMIO_QUEUE_NOTIFY => return self.notify(value),
            _ => {}
        }
        let _one_at_a_time = lock(&inner.stores);
        let work = || lock(&inner.work);
        match inner.regs.write(offset, value) {
            Action::None | Action::Notify(_) | Action::Acknowledge(_) => {}
            Action::Refused(why) => inner.refuse(why, u64::from(offset)),
            Action::Reset => inner.reset(&mut work()),
            Action::Activate => inner.activate(&mut work()),
            Action::Enable(index) => inner.enable(&mut work(), index),
            Action::Stop(index) => {
                work().rings[index].stop();
                inner.regs.set_ready(index, false);
            }
        }
    }

    fn notify(&self, index: u32) {
        match self.0.queue_events.get(index as usize) {
            // Fails only when the counter is full, and then the event is pending anyway.
            Some(event) => drop(event.write(1)),
            None => self
                .0
                .refuse("notification for a queue that does not exist", QUEUE_NOTIFY),
        }
    }
}

impl Inner {
    fn context<'a>(&'a self, rings: &'a mut [Ring]) -> Context<'a> {
        Context {
            mem: &self.mem,
            rings,
            features: self.regs.features(),
            signal: &self.signal,
            sources: &*self.sources,
            queue_events: &self.queue_events,
        }
    }

    /// Whether all that this thread's device has used was shared with it.
    fn shared(&self) -> Result<(), RingError> {
        match self.platform.private.as_ref().and_then(|p| p.met()) {
            Some(address) => Err(RingError::Private(address)),
            None => Ok(()),
        }
    }

    fn enable(&self, work: &mut Work, index: usize) {
        let queue = self.regs.queue(index);
        let event_idx = self.regs.features() & (1 << VIRTIO_RING_F_EVENT_IDX) != 0;
        match Ring::new(&self.mem, &queue.setup(), queue.max, event_idx) {
            Ok(ring) => {
                work.rings[index] = ring;
                self.regs.set_ready(index, true);
            }
            Err(error) => self.break_device(work, &error),
        }
    }

    fn activate(&self, work: &mut Work) {
        let mut ctx = self.context(&mut work.rings);
        let activated = work.device.activate(&mut ctx);
        if let Err(error) = self.shared() {
            return self.break_device(work, &error);
        }
        if let Err(error) = activated {
            // The host's fault, not the ring's, but the driver can only be told the same way.
            if self.limit.allow() {
                warn!("{}: cannot start: {error}", self.name);
            }
            self.needs_reset(work);
            return;
        }
        work.active = true;
        // A driver may fill its queues, and even notify, before DRIVER_OK.
        for event in &self.queue_events {
            let _ = event.write(1);
        }
    }

    fn reset(&self, work: &mut Work) {
        work.active = false;
        work.device.reset(&*self.sources);
        work.rings.iter_mut().for_each(|ring| *ring = Ring::idle());
        self.resets.add(1);
        self.signal.acknowledge(u32::MAX);
        self.regs.reset();
    }

    fn break_device(&self, work: &mut Work, error: &RingError) {
        self.malformed.add(1);
        if self.limit.allow() {
            warn!("{}: stopped until the driver resets it: {error}", self.name);
        }
        self.needs_reset(work);
    }

    fn needs_reset(&self, work: &mut Work) {
        work.active = false;
        work.device.reset(&*self.sources);
        self.regs.set_needs_reset();
        if self.regs.driver_ok() {
            self.signal.config_changed();
        }
    }

    fn refuse(&self, why: &str, offset: u64) {
        self.refused.add(1);
        if self.limit.allow() {
            warn!("{}: guest access at {offset:#x} ignored: {why}", self.name);
        }
    }

    fn allowed(&self, offset: u64, len: usize) -> bool {
        let sized = if offset < CONFIG {
            len == 4
        } else {
            matches!(len, 1 | 2 | 4)
        };
        let ok = sized && offset.is_multiple_of(len as u64) && offset < MMIO_SIZE;
        if !ok {
            self.refuse(
                "unaligned or of a size that virtio-mmio does not have",
                offset,
            );
        }
        ok
    }
}

impl MmioDevice for VirtioMmio {
    fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        if !self.0.allowed(offset, data.len()) {
            return;
        }
        if offset >= CONFIG {
            return self.0.face.read_config(offset - CONFIG, data);
        }
        match self.read_register(offset as u32) {
            Some(value) => data.copy_from_slice(&value.to_le_bytes()),
            None => self
                .0
                .refuse("read of a register that does not exist", offset),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        if !self.0.allowed(offset, data.len()) {
            return;
        }
        if offset >= CONFIG {
            return self.0.face.write_config(offset - CONFIG, data);
        }
        if let Ok(bytes) = data.try_into() {
            self.write_register(offset as u32, u32::from_le_bytes(bytes));
        }
    }
}

#[cfg(test)]
#[path = "mmio_test.rs"]
mod tests;
