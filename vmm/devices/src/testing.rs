// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A driver for tests and fuzzing: it accesses a device through MMIO and guest memory, as a guest
//! would, and replaces the event loop and the interrupt line.
//!
//! Memory is two adjacent regions, so that a buffer can lie across both. Queue `i` is at `BASE + i
//! * QUEUE_STRIDE`; buffers start at `BUFFERS`.
// A test, or the fuzzer, reports a wrong harness by a panic.
#![allow(clippy::expect_used, dead_code)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use virtio_bindings::virtio_mmio::*;
use vm_memory::{Bytes, GuestAddress};
use vmm_sys_util::epoll::EventSet;

use crate::virtio::{Event, Sources, VirtioDevice, lock};
use crate::{GuestMemory, Interrupt, IoThread, MmioDevice, Platform, VirtioMmio};

pub(crate) const BASE: u64 = 0x4000_0000;
pub(crate) const REGION: u64 = 0x20_0000;
pub(crate) const END: u64 = BASE + 2 * REGION;
pub(crate) const BUFFERS: u64 = BASE + 0x10_0000;
const QUEUE_STRIDE: u64 = 0x1_0000;
const AVAIL: u64 = 0x8000;
const USED: u64 = 0xc000;

pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
pub(crate) const INDIRECT: u16 = 4;

pub(crate) fn memory() -> Arc<GuestMemory> {
    let ranges = [
        (GuestAddress(BASE), REGION as usize),
        (GuestAddress(BASE + REGION), REGION as usize),
    ];
    Arc::new(GuestMemory::from_ranges(&ranges).expect("anonymous memory"))
}

/// Counts edges.
#[derive(Debug, Default)]
pub(crate) struct Line(pub(crate) AtomicU64);

impl Interrupt for Line {
    fn trigger(&self) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Remembers what a device watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched(pub(crate) Arc<Mutex<HashMap<RawFd, (u32, EventSet)>>>);

impl Sources for Watched {
    fn add(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()> {
        let old = lock(&self.0).insert(fd.as_raw_fd(), (token, events));
        assert!(old.is_none(), "added twice: {old:?}");
        Ok(())
    }

    fn modify(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()> {
        let old = lock(&self.0).insert(fd.as_raw_fd(), (token, events));
        assert!(old.is_some(), "modified before it was added");
        Ok(())
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let old = lock(&self.0).remove(&fd.as_raw_fd());
        assert!(old.is_some(), "removed before it was added");
        Ok(())
    }
}

/// What a descriptor is ready for, without waiting.
pub(crate) fn poll_fd(fd: RawFd, wanted: EventSet) -> EventSet {
    use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent};
    let epoll = Epoll::new().expect("epoll");
    epoll
        .ctl(ControlOperation::Add, fd, EpollEvent::new(wanted, 0))
        .expect("a watched descriptor");
    let mut ready = [EpollEvent::default()];
    match epoll.wait(0, &mut ready) {
        Ok(1) => ready[0].event_set(),
        _ => EventSet::empty(),
    }
}

/// A buffer of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Buf {
    Read(u64, u32),
    Write(u64, u32),
}

/// One device with its driver.
pub(crate) struct Rig {
    pub(crate) mem: Arc<GuestMemory>,
    pub(crate) virtio: VirtioMmio,
    pub(crate) line: Arc<Line>,
    pub(crate) watched: Watched,
    pub(crate) queues: Vec<DriverQueue>,
    queue_size: u16,
    /// The real I/O thread serves the queues.
    live: bool,
}

/// The driver's side of a queue.
#[derive(Clone, Debug)]
pub(crate) struct DriverQueue {
    pub(crate) base: u64,
    pub(crate) size: u16,
    next_desc: u16,
    avail: u16,
    used: u16,
}

impl Rig {
    pub(crate) fn new(device: Box<dyn VirtioDevice>) -> Self {
        Self::with_memory(device, memory())
    }

    pub(crate) fn with_memory(device: Box<dyn VirtioDevice>, mem: Arc<GuestMemory>) -> Self {
        Self::with_platform(device, mem, Platform::default())
    }

    pub(crate) fn with_platform(
        device: Box<dyn VirtioDevice>,
        mem: Arc<GuestMemory>,
        platform: Platform,
    ) -> Self {
        let line = Arc::new(Line::default());
        let watched = Watched::default();
        let virtio = VirtioMmio::with_sources(
            device,
            Arc::clone(&mem),
            line.clone(),
            Box::new(watched.clone()),
            platform,
        )
        .expect("eventfds");
        Self {
            mem,
            virtio,
            line,
            watched,
            queues: Vec::new(),
            queue_size: 16,
            live: false,
        }
    }

    pub(crate) fn get(&mut self, offset: u32) -> u32 {
        let mut data = [0; 4];
        self.virtio.read(u64::from(offset), &mut data);
        u32::from_le_bytes(data)
    }

    pub(crate) fn set(&mut self, offset: u32, value: u32) {
        self.virtio.write(u64::from(offset), &value.to_le_bytes());
    }

    pub(crate) fn status(&mut self) -> u32 {
        self.get(VIRTIO_MMIO_STATUS)
    }

    pub(crate) fn needs_reset(&mut self) -> bool {
        self.status() & 64 != 0
    }

    pub(crate) fn offered(&mut self) -> u64 {
        self.set(VIRTIO_MMIO_DEVICE_FEATURES_SEL, 1);
        let high = u64::from(self.get(VIRTIO_MMIO_DEVICE_FEATURES));
        self.set(VIRTIO_MMIO_DEVICE_FEATURES_SEL, 0);
        high << 32 | u64::from(self.get(VIRTIO_MMIO_DEVICE_FEATURES))
    }

    /// Negotiates `features` (and VERSION_1) up to FEATURES_OK.
    pub(crate) fn negotiate(&mut self, features: u64) {
        self.set(VIRTIO_MMIO_STATUS, 0);
        self.set(VIRTIO_MMIO_STATUS, 1);
        self.set(VIRTIO_MMIO_STATUS, 3);
        let features = features | 1 << 32;
        for (select, word) in [(0, features as u32), (1, (features >> 32) as u32)] {
            self.set(VIRTIO_MMIO_DRIVER_FEATURES_SEL, select);
            self.set(VIRTIO_MMIO_DRIVER_FEATURES, word);
        }
        self.set(VIRTIO_MMIO_STATUS, 11);
    }

    /// Negotiates `features`, enables every queue and sets DRIVER_OK.
    pub(crate) fn start(&mut self, features: u64) {
        self.negotiate(features);
        let count = self.virtio.queue_events().len();
        self.queues = (0..count)
            .map(|i| DriverQueue::new(i, self.queue_size))
            .collect();
        for queue in self.queues.clone() {
            queue.clear(&self.mem);
        }
        for index in 0..count {
            self.enable_queue(index);
        }
        self.set(VIRTIO_MMIO_STATUS, 15);
        (0..count).for_each(|index| self.serve(index));
    }

    pub(crate) fn start_with_queue_size(&mut self, features: u64, size: u16) {
        self.queue_size = size;
        self.start(features);
    }

    fn enable_queue(&mut self, index: usize) {
        let queue = self.queues[index].clone();
        self.set(VIRTIO_MMIO_QUEUE_SEL, index as u32);
        self.set(VIRTIO_MMIO_QUEUE_NUM, u32::from(queue.size));
        for (low, addr) in [
            (VIRTIO_MMIO_QUEUE_DESC_LOW, queue.base),
            (VIRTIO_MMIO_QUEUE_AVAIL_LOW, queue.avail_addr()),
            (VIRTIO_MMIO_QUEUE_USED_LOW, queue.used_addr()),
        ] {
            self.set(low, addr as u32);
            self.set(low + 4, (addr >> 32) as u32);
        }
        self.set(VIRTIO_MMIO_QUEUE_READY, 1);
    }

    /// Adds a chain and has it served; returns its head.
    pub(crate) fn request(&mut self, index: usize, bufs: &[Buf]) -> u16 {
        let head = self.add(index, bufs);
        self.notify(index);
        head
    }

    /// Adds a chain without telling the device.
    pub(crate) fn add(&mut self, index: usize, bufs: &[Buf]) -> u16 {
        let mem = Arc::clone(&self.mem);
        self.queues[index].add(&mem, bufs)
    }

    /// Notifies the device and runs its event loop for that queue.
    pub(crate) fn notify(&mut self, index: usize) {
        self.set(VIRTIO_MMIO_QUEUE_NOTIFY, index as u32);
        self.serve(index);
    }

    /// Runs the event loop for one queue until it is quiet.
    pub(crate) fn serve(&self, index: usize) {
        if self.live {
            return;
        }
        for _ in 0..1000 {
            let event = &self.virtio.queue_events()[index];
            // Peek: a nonblocking read tells whether it is set; writing puts it back.
            if event.read().is_err() {
                return;
            }
            event.write(1).expect("eventfd");
            self.virtio.handle(Event::Queue(index));
        }
        panic!("queue {index} never becomes quiet");
    }

    /// Delivers an event for whatever descriptor has `token`, if the device watches for it.
    pub(crate) fn source(&self, token: u32, events: EventSet) -> bool {
        let watched = lock(&self.watched.0)
            .values()
            .any(|&(t, wanted)| t == token && wanted.intersects(events));
        if watched {
            self.virtio.handle(Event::Source(token, events));
        }
        watched
    }

    /// The next used element, if there is one: (head, length).
    pub(crate) fn used(&mut self, index: usize) -> Option<(u16, u32)> {
        let mem = Arc::clone(&self.mem);
        self.queues[index].used(&mem)
    }

    pub(crate) fn put(&self, addr: u64, bytes: &[u8]) {
        self.mem
            .write_slice(bytes, GuestAddress(addr))
            .expect("in guest memory");
    }

    pub(crate) fn take(&self, addr: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.mem
            .read_slice(&mut bytes, GuestAddress(addr))
            .expect("in guest memory");
        bytes
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        let counters = self.virtio.counters();
        counters
            .iter()
            .find(|(n, _)| *n == name)
            .unwrap_or_else(|| panic!("no {name}"))
            .1
    }

    pub(crate) fn interrupts(&self) -> u64 {
        self.line.0.load(Ordering::Relaxed)
    }
}

impl DriverQueue {
    fn new(index: usize, size: u16) -> Self {
        let base = BASE + index as u64 * QUEUE_STRIDE;
        Self {
            base,
            size,
            next_desc: 0,
            avail: 0,
            used: 0,
        }
    }

    pub(crate) fn avail_addr(&self) -> u64 {
        self.base + AVAIL
    }

    pub(crate) fn used_addr(&self) -> u64 {
        self.base + USED
    }

    fn clear(&self, mem: &GuestMemory) {
        mem.write_slice(&[0; QUEUE_STRIDE as usize], GuestAddress(self.base))
            .expect("queue");
    }

    /// Writes one descriptor.
    pub(crate) fn desc(
        &self,
        mem: &GuestMemory,
        i: u16,
        addr: u64,
        len: u32,
        flags: u16,
        next: u16,
    ) {
        write_desc(mem, self.base + 16 * u64::from(i), addr, len, flags, next);
    }

    /// Makes `head` available.
    pub(crate) fn offer(&mut self, mem: &GuestMemory, head: u16) {
        let slot = self.avail_addr() + 4 + 2 * u64::from(self.avail % self.size);
        mem.write_obj(head.to_le(), GuestAddress(slot))
            .expect("avail ring");
        self.avail = self.avail.wrapping_add(1);
        self.set_avail_idx(mem, self.avail);
    }

    pub(crate) fn set_avail_idx(&self, mem: &GuestMemory, idx: u16) {
        mem.write_obj(idx.to_le(), GuestAddress(self.avail_addr() + 2))
            .expect("avail ring");
    }

    /// VIRTQ_AVAIL_F_NO_INTERRUPT.
    pub(crate) fn set_avail_flags(&self, mem: &GuestMemory, flags: u16) {
        mem.write_obj(flags.to_le(), GuestAddress(self.avail_addr()))
            .expect("avail ring");
    }

    pub(crate) fn set_used_event(&self, mem: &GuestMemory, idx: u16) {
        let addr = self.avail_addr() + 4 + 2 * u64::from(self.size);
        mem.write_obj(idx.to_le(), GuestAddress(addr))
            .expect("avail ring");
    }

    pub(crate) fn used_flags(&self, mem: &GuestMemory) -> u16 {
        mem.read_obj(GuestAddress(self.used_addr()))
            .expect("used ring")
    }

    pub(crate) fn avail_event(&self, mem: &GuestMemory) -> u16 {
        let addr = self.used_addr() + 4 + 8 * u64::from(self.size);
        mem.read_obj(GuestAddress(addr)).expect("used ring")
    }

    fn add(&mut self, mem: &GuestMemory, bufs: &[Buf]) -> u16 {
        let head = self.next_desc;
        for (i, buf) in bufs.iter().enumerate() {
            let index = self.next_desc;
            self.next_desc = (self.next_desc + 1) % self.size;
            let more = if i + 1 < bufs.len() { NEXT } else { 0 };
            match *buf {
                Buf::Read(addr, len) => self.desc(mem, index, addr, len, more, self.next_desc),
                Buf::Write(addr, len) => {
                    self.desc(mem, index, addr, len, WRITE | more, self.next_desc);
                }
            }
        }
        self.offer(mem, head);
        head
    }

    fn used(&mut self, mem: &GuestMemory) -> Option<(u16, u32)> {
        let idx: u16 = mem
            .read_obj(GuestAddress(self.used_addr() + 2))
            .expect("used ring");
        if idx == self.used {
            return None;
        }
        let slot = self.used_addr() + 4 + 8 * u64::from(self.used % self.size);
        let head: u32 = mem.read_obj(GuestAddress(slot)).expect("used ring");
        let len: u32 = mem.read_obj(GuestAddress(slot + 4)).expect("used ring");
        self.used = self.used.wrapping_add(1);
        Some((head as u16, len))
    }
}

/// Writes a descriptor anywhere, for indirect tables.
pub(crate) fn write_desc(mem: &GuestMemory, at: u64, addr: u64, len: u32, flags: u16, next: u16) {
    let mut bytes = addr.to_le_bytes().to_vec();
    bytes.extend(len.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(next.to_le_bytes());
    mem.write_slice(&bytes, GuestAddress(at))
        .expect("in guest memory");
}

/// A device on the real I/O thread.
pub(crate) struct Live {
    rig: Rig,
    io: Option<IoThread>,
}

impl Live {
    pub(crate) fn start(device: Box<dyn VirtioDevice>, features: u64) -> Self {
        let io = IoThread::spawn().expect("a thread");
        let mut live = Self::start_on(device, features, &io);
        live.io = Some(io);
        live
    }

    /// On a thread of the caller's.
    pub(crate) fn start_on(device: Box<dyn VirtioDevice>, features: u64, io: &IoThread) -> Self {
        let line = Arc::new(Line::default());
        let mem = memory();
        let virtio = VirtioMmio::new(
            device,
            Arc::clone(&mem),
            line.clone(),
            io,
            Platform::default(),
        )
        .expect("eventfds");
        let watched = Watched::default();
        let mut rig = Rig {
            mem,
            virtio,
            line,
            watched,
            queues: Vec::new(),
            queue_size: 16,
            live: true,
        };
        rig.start(features);
        Self { rig, io: None }
    }

    pub(crate) fn io(&self) -> &IoThread {
        self.io.as_ref().expect("started on another's thread")
    }

    /// Stops its thread, as [`IoThread::stop`] does.
    pub(crate) fn stop(&mut self, limit: std::time::Duration) -> bool {
        let io = self.io.take().expect("started on another's thread");
        io.stop(limit)
    }

    /// Waits for a used element.
    pub(crate) fn wait_used(&mut self, index: usize) -> (u16, u32) {
        for _ in 0..5000 {
            if let Some(used) = self.rig.used(index) {
                return used;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("nothing used on queue {index} for five seconds");
    }
}

impl std::ops::Deref for Live {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.rig
    }
}

impl std::ops::DerefMut for Live {
    fn deref_mut(&mut self) -> &mut Rig {
        &mut self.rig
    }
}
