// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-balloon: inflate, deflate, statistics, free-page reporting.
//!
//! Every address from a driver is checked against guest memory before the host is asked to release
//! it: a frame number outside is counted and skipped, and a reported range was checked with its
//! chain. Ranges are reduced to whole host pages, so that a host with larger pages releases nothing
//! that the guest did not give away.
//!
//! PAGE_POISON is not offered: a driver that poisons free pages then does not report them, and the
//! poison stays intact.
//!
//! Queues are numbered as Linux does, without those whose feature was not negotiated.

mod release;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use log::warn;
use virtio_bindings::virtio_ids::VIRTIO_ID_BALLOON;
use vm_memory::{GuestAddress, GuestMemory as _, Permissions};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use crate::GuestMemory;
use crate::limit::LogLimit;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::watched::Watched;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, lock, read_config_bytes,
};
pub use release::{Backing, PageRelease};

const F_STATS: u32 = 1;
const F_DEFLATE_ON_OOM: u32 = 2;
const F_REPORTING: u32 = 5;
const QUEUE_SIZES: [u16; 4] = [128, 128, 16, 64];
/// The protocol's page, whatever the guest's or the host's is.
const PAGE: u64 = 4096;
const ACTUAL: u64 = 4;
const CONTROL: u32 = 0;
/// Frame numbers looked at together.
const BATCH: usize = 1024;
/// Bytes of one statistic, and the most of them that are read.
const STAT: usize = 10;
const MAX_STATS: usize = 64;

/// A statistic that the guest reported: its tag in the specification, and its value.
pub type Stat = (u16, u64);

/// The names of the specification's statistics, by tag.
pub const STAT_NAMES: [&str; 10] = [
    "swap_in",
    "swap_out",
    "major_faults",
    "minor_faults",
    "free_memory",
    "total_memory",
    "available_memory",
    "disk_caches",
    "hugetlb_allocations",
    "hugetlb_failures",
];

struct Shared {
    driver: AtomicBool,
    target: AtomicU32,
    actual: AtomicU32,
    stats: Mutex<Vec<Stat>>,
    stats_wanted: AtomicU64,
    max_pages: u32,
    event: EventFd,
    counters: Counters,
}

/// The VMM's hand on the balloon.
#[derive(Clone)]
pub struct BalloonControl(Arc<Shared>);

impl BalloonControl {
    /// Whether the guest has a driver at work that would see a target.
    pub fn has_driver(&self) -> bool {
        self.0.driver.load(Ordering::Acquire)
    }

    /// Asks the guest to give up this much memory in all.
    pub fn set_target(&self, bytes: u64) -> Result<(), Error> {
        let pages = u32::try_from(bytes / PAGE)
            .ok()
            .filter(|&pages| pages <= self.0.max_pages);
        let Some(pages) = pages else {
            return Err(Error::Config(format!(
                "a balloon of {bytes} bytes is larger than the guest's memory"
            )));
        };
        self.0.target.store(pages, Ordering::Release);
        self.0
            .event
            .write(1)
            .map_err(|e| Error::host("cannot reach the balloon", e))
    }

    /// What was asked for, in bytes.
    pub fn target(&self) -> u64 {
        u64::from(self.0.target.load(Ordering::Acquire)) * PAGE
    }

    /// What the guest says it gave up, in bytes.
    pub fn actual(&self) -> u64 {
        u64::from(self.0.actual.load(Ordering::Acquire)) * PAGE
    }

    /// The guest's last statistics, by tag.
    pub fn stats(&self) -> Vec<Stat> {
        lock(&self.0.stats).clone()
    }

    /// Asks the guest for new statistics; they arrive a little later.
    pub fn refresh_stats(&self) -> io::Result<()> {
        self.0.stats_wanted.fetch_add(1, Ordering::AcqRel);
        self.0.event.write(1)
    }
}

/// A memory balloon (virtio 1.3, 5.5), whose pages the host takes back.
pub struct Balloon {
    shared: Arc<Shared>,
    release: Box<dyn PageRelease>,
    host_page: u64,
    watched: Watched,
    /// Queue numbers in force.
    stats_queue: Option<usize>,
    reporting_queue: Option<usize>,
    /// The statistics buffer that waits for a request.
    held: Option<u16>,
    batch: Vec<u64>,
    limit: LogLimit,
}

#[derive(Debug, Default)]
struct Counters {
    inflated: Counter,
    deflated: Counter,
    reported: Counter,
    released: Counter,
    refused: Counter,
    failed: Counter,
    stats: Counter,
}

impl Balloon {
    /// A balloon over `mem` that releases pages through `release` (see [`Backing`]).
    pub fn new(
        mem: &GuestMemory,
        release: Box<dyn PageRelease>,
    ) -> Result<(Self, BalloonControl), Error> {
        use vm_memory::{GuestMemoryBackend, GuestMemoryRegion};
        let event =
            EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC).map_err(|e| Error::host("no eventfd", e))?;
        let bytes: u64 = mem.iter().map(|region| region.len()).sum();
        let shared = Arc::new(Shared {
            driver: AtomicBool::new(false),
            target: AtomicU32::new(0),
            actual: AtomicU32::new(0),
            stats: Mutex::default(),
            stats_wanted: AtomicU64::new(0),
            max_pages: u32::try_from(bytes / PAGE).unwrap_or(u32::MAX),
            event,
            counters: Counters::default(),
        });
        let balloon = Self {
            shared: Arc::clone(&shared),
            release,
            host_page: sys::page_size(),
            watched: Watched::default(),
            stats_queue: None,
            reporting_queue: None,
            held: None,
            batch: Vec::with_capacity(BATCH),
            limit: LogLimit::new(),
        };
        Ok((balloon, BalloonControl(shared)))
    }

    fn inflate(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        let pages = self.each_frame(mem, chain, |this, mem, frames| {
            this.release_frames(mem, frames)
        })?;
        self.shared.counters.inflated.add(pages);
        Ok(Served::Used(0))
    }

    fn deflate(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        // The pages come back by being touched.
        let pages = self.each_frame(mem, chain, |_, _, _| ())?;
        self.shared.counters.deflated.add(pages);
        Ok(Served::Used(0))
    }

    /// Reads a list of frame numbers, batch by batch; returns how many there were.
    fn each_frame(
        &mut self,
        mem: &GuestMemory,
        chain: &Chain,
        mut take: impl FnMut(&mut Self, &GuestMemory, &mut Vec<u64>),
    ) -> Result<u64, RingError> {
        if chain.write_len() != 0 {
            return Err(RingError::Direction);
        }
        let count = chain.read_len() / 4;
        let mut done = 0;
        let mut bytes = [0; 4 * BATCH];
        while done < count {
            let now = (count - done).min(BATCH as u32);
            let bytes = &mut bytes[..4 * now as usize];
            chain.read(mem, 4 * done, bytes)?;
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            let number = |b: &[u8]| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            batch.extend(bytes.chunks_exact(4).map(number));
            take(self, mem, &mut batch);
            self.batch = batch;
            done += now;
        }
        Ok(u64::from(count))
    }

    /// Releases frames in as few ranges as they make.
    fn release_frames(&mut self, mem: &GuestMemory, frames: &mut Vec<u64>) {
        let named = frames.len();
        frames.retain(|frame| {
            mem.check_range(
                GuestAddress(frame * PAGE),
                PAGE as usize,
                Permissions::Write,
            )
        });
        self.shared
            .counters
            .refused
            .add((named - frames.len()) as u64);
        frames.sort_unstable();
        frames.dedup();
        for run in frames.chunk_by(|a, b| a + 1 == *b) {
            self.release_range(run[0] * PAGE, run.len() as u64 * PAGE);
        }
    }

    /// Releases the whole host pages of a range in guest memory.
    fn release_range(&mut self, start: u64, len: u64) {
        let end = (start + len) / self.host_page * self.host_page;
        let start = start.next_multiple_of(self.host_page);
        if start >= end {
            return;
        }
        match self.release.release(GuestAddress(start), end - start) {
            Ok(()) => self.shared.counters.released.add(end - start),
            Err(e) => {
                self.shared.counters.failed.add(1);
                if self.limit.allow() {
                    warn!(
                        "balloon: cannot release {:#x}+{:#x}: {e}",
                        start,
                        end - start
                    );
                }
            }
        }
    }

    fn report(&mut self, chain: &Chain) -> Result<Served, RingError> {
        if chain.read_len() != 0 {
            return Err(RingError::Direction);
        }
        for segment in chain.writable() {
            self.shared.counters.reported.add(u64::from(segment.len));
            self.release_range(segment.addr.0, u64::from(segment.len));
        }
        Ok(Served::Used(0))
    }

    /// Takes statistics and keeps their buffer until new ones are wanted.
    fn take_stats(&mut self, ctx: &mut Context<'_>, index: usize) -> Result<(), RingError> {
        let ring = &mut ctx.rings[index];
        let mut chain = Chain::default();
        while ring.pop(ctx.mem, &mut chain)? {
            if chain.write_len() != 0 {
                return Err(RingError::Direction);
            }
            let len = (chain.read_len() as usize).min(STAT * MAX_STATS);
            let mut bytes = vec![0; len];
            chain.read(ctx.mem, 0, &mut bytes)?;
            let parse = |b: &[u8]| {
                let mut value = [0; 8];
                value.copy_from_slice(&b[2..STAT]);
                (u16::from_le_bytes([b[0], b[1]]), u64::from_le_bytes(value))
            };
            *lock(&self.shared.stats) = bytes.chunks_exact(STAT).map(parse).collect();
            self.shared.counters.stats.add(1);
            // There should be one buffer only; a driver that has more gets the older ones back.
            if let Some(head) = self.held.replace(chain.head()) {
                ring.push_used(ctx.mem, head, 0)?;
            }
        }
        self.answer_stats(ctx)
    }

    /// Gives the buffer back if statistics are wanted, which makes the driver fill it again.
    fn answer_stats(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        let Some(index) = self.stats_queue.filter(|&index| ctx.rings[index].ready()) else {
            return Ok(());
        };
        if self.held.is_some() && self.shared.stats_wanted.swap(0, Ordering::AcqRel) > 0 {
            if let Some(head) = self.held.take() {
                ctx.rings[index].push_used(ctx.mem, head, 0)?;
            }
        }
        ctx.finish(index)
    }

    fn watch(&mut self, sources: &dyn Sources, want: bool) -> io::Result<()> {
        let event = sys::borrow(&self.shared.event);
        self.watched.set(want, sources, event, CONTROL)
    }
}

impl Face for Shared {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        let mut config = [0; 8];
        config[..4].copy_from_slice(&self.target.load(Ordering::Acquire).to_le_bytes());
        config[4..].copy_from_slice(&self.actual.load(Ordering::Acquire).to_le_bytes());
        read_config_bytes(&config, offset, data);
    }

    fn write_config(&self, offset: u64, data: &[u8]) {
        if offset == ACTUAL {
            if let Ok(bytes) = data.try_into() {
                self.actual
                    .store(u32::from_le_bytes(bytes), Ordering::Release);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.counters;
        vec![
            ("inflated_pages", c.inflated.get()),
            ("deflated_pages", c.deflated.get()),
            ("reported_bytes", c.reported.get()),
            ("released_bytes", c.released.get()),
            ("refused_pages", c.refused.get()),
            ("release_failed", c.failed.get()),
            ("stats", c.stats.get()),
            // Not counters: what was asked for, and what the guest has given.
            ("target_pages", self.target.load(Ordering::Acquire).into()),
            ("actual_pages", self.actual.load(Ordering::Acquire).into()),
        ]
    }
}

impl VirtioDevice for Balloon {
    fn name(&self) -> &'static str {
        "balloon"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_BALLOON
    }

    fn features(&self) -> u64 {
        1 << F_STATS | 1 << F_DEFLATE_ON_OOM | 1 << F_REPORTING
    }

    fn queue_sizes(&self) -> &[u16] {
        &QUEUE_SIZES
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shared) as _
    }

    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let mut next = 2..;
        self.stats_queue = if ctx.has(F_STATS) { next.next() } else { None };
        self.reporting_queue = if ctx.has(F_REPORTING) {
            next.next()
        } else {
            None
        };
        self.watch(ctx.sources, true)
            .map_err(|e| Error::host("cannot watch the balloon", e))?;
        self.shared.driver.store(true, Ordering::Release);
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        match event {
            Event::Queue(0) => ctx.serve(0, |mem, chain| self.inflate(mem, chain)),
            Event::Queue(1) => ctx.serve(1, |mem, chain| self.deflate(mem, chain)),
            Event::Queue(index) if Some(index) == self.stats_queue => self.take_stats(ctx, index),
            Event::Queue(index) if Some(index) == self.reporting_queue => {
                ctx.serve(index, |_, chain| self.report(chain))
            }
            Event::Queue(_) => Ok(()),
            Event::Source(..) => {
                let _ = self.shared.event.read();
                ctx.signal.config_changed();
                self.answer_stats(ctx)
            }
        }
    }

    fn reset(&mut self, sources: &dyn Sources) {
        let _ = self.watch(sources, false);
        self.shared.driver.store(false, Ordering::Release);
        self.stats_queue = None;
        self.reporting_queue = None;
        self.held = None;
        self.shared.actual.store(0, Ordering::Release);
        lock(&self.shared.stats).clear();
    }

    /// Its pages are guest physical ones, whatever stands between other devices and memory: drivers
    /// take the feature back.
    fn takes_platform(&self) -> bool {
        false
    }
}

#[cfg(test)]
#[path = "balloon_test.rs"]
mod tests;
