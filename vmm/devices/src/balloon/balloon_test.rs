// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use vmm_sys_util::epoll::EventSet;

use super::*;
use crate::MmioDevice;
use crate::testing::{BASE, BUFFERS, Buf, END, Rig};

const STATS: u64 = 1 << F_STATS;
const REPORTING: u64 = 1 << F_REPORTING;
const LIST: u64 = BUFFERS;

/// Notes what is released, and checks that nothing else ever could be.
#[derive(Clone, Default)]
struct Released(
    Arc<Mutex<Vec<(u64, u64)>>>,
    Arc<std::sync::atomic::AtomicBool>,
);

impl PageRelease for Released {
    fn release(&mut self, addr: GuestAddress, len: u64) -> io::Result<()> {
        assert!(
            addr.0 >= BASE && addr.0 + len <= END && len > 0,
            "{:#x}+{len:#x}",
            addr.0
        );
        assert_eq!((addr.0 % sys::page_size(), len % sys::page_size()), (0, 0));
        if self.1.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        lock(&self.0).push((addr.0, len));
        Ok(())
    }
}

struct Bench {
    rig: Rig,
    control: BalloonControl,
    released: Released,
}

impl Bench {
    fn new(features: u64) -> Self {
        let released = Released::default();
        let mem = crate::testing::memory();
        let (balloon, control) = Balloon::new(&mem, Box::new(released.clone())).unwrap();
        assert!(
            !balloon.takes_platform(),
            "its driver takes the feature back"
        );
        let mut rig = Rig::with_memory(Box::new(balloon), mem);
        rig.start(features);
        Self {
            rig,
            control,
            released,
        }
    }

    fn frames(&mut self, queue: usize, frames: &[u64]) {
        let bytes: Vec<u8> = frames
            .iter()
            .flat_map(|&f| (f as u32).to_le_bytes())
            .collect();
        self.rig.put(LIST, &bytes);
        self.rig
            .request(queue, &[Buf::Read(LIST, bytes.len() as u32)]);
        assert!(self.rig.used(queue).is_some());
    }

    fn released(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut lock(&self.released.0))
    }
}

#[test]
fn the_driver_is_there_from_its_start_to_its_reset() {
    let mem = crate::testing::memory();
    let (balloon, control) = Balloon::new(&mem, Box::new(Released::default())).unwrap();
    let mut rig = Rig::with_memory(Box::new(balloon), mem);
    assert!(!control.has_driver());
    rig.start(0);
    assert!(control.has_driver());
    rig.set(virtio_bindings::virtio_mmio::VIRTIO_MMIO_STATUS, 0);
    assert!(!control.has_driver());
}

const FIRST: u64 = BASE / PAGE;
const LAST: u64 = END / PAGE - 1;

#[test]
fn neighbours_are_released_together_in_any_order() {
    let mut bench = Bench::new(0);
    bench.frames(
        0,
        &[FIRST + 9, FIRST + 3, FIRST + 2, FIRST + 1, FIRST + 3, LAST],
    );
    let at = |frame: u64| frame * PAGE;
    assert_eq!(
        bench.released(),
        [
            (at(FIRST + 1), 3 * PAGE),
            (at(FIRST + 9), PAGE),
            (at(LAST), PAGE)
        ]
    );
    assert_eq!(bench.rig.counter("inflated_pages"), 6);
    assert_eq!(bench.rig.counter("released_bytes"), 5 * PAGE);
    bench.frames(1, &[FIRST + 9]);
    assert_eq!(bench.rig.counter("deflated_pages"), 1);
    assert!(bench.released().is_empty());
}

#[test]
fn frames_outside_memory_are_never_touched() {
    let mut bench = Bench::new(0);
    bench.frames(0, &[0, FIRST - 1, LAST + 1, u64::from(u32::MAX), FIRST]);
    assert_eq!(bench.released(), [(BASE, PAGE)]);
    assert_eq!(bench.rig.counter("refused_pages"), 4);
    assert!(!bench.rig.needs_reset());
}

#[test]
fn a_list_longer_than_a_batch_is_taken_whole() {
    let mut bench = Bench::new(0);
    // 1024 frames are the whole of memory: name them all, and the first again.
    let frames: Vec<u64> = (FIRST..=LAST).chain([FIRST]).collect();
    bench.frames(0, &frames);
    assert_eq!(bench.released(), [(BASE, END - BASE), (BASE, PAGE)]);
}

#[test]
fn an_odd_list_loses_its_tail_only() {
    let mut bench = Bench::new(0);
    bench.rig.put(LIST, &(FIRST as u32).to_le_bytes());
    bench
        .rig
        .request(0, &[Buf::Read(LIST, 4), Buf::Read(LIST, 3)]);
    assert_eq!(bench.released(), [(BASE, PAGE)]);
}

#[test]
fn reported_pages_are_released_inwards() {
    let mut bench = Bench::new(REPORTING);
    let at = BASE + 0x10_0000;
    // Without statistics the reporting queue moves up to number 2.
    bench.rig.request(
        2,
        &[
            Buf::Write(at, 0x10_0000),
            Buf::Write(at + 0x10_0800, 0x1800),
        ],
    );
    assert_eq!(bench.rig.used(2), Some((0, 0)));
    assert_eq!(bench.released(), [(at, 0x10_0000), (at + 0x10_1000, PAGE)]);
    assert_eq!(bench.rig.counter("reported_bytes"), 0x10_1800);
    bench.rig.request(2, &[Buf::Write(at + 1, 4096)]);
    assert!(bench.released().is_empty(), "part of a page");
    let mut bench = Bench::new(REPORTING | STATS);
    bench.rig.request(3, &[Buf::Write(at, 4096)]);
    assert_eq!(bench.released(), [(at, 4096)]);
}

#[test]
fn larger_host_pages_are_released_whole_or_not_at_all() {
    let released = Released::default();
    let mem = crate::testing::memory();
    let (mut balloon, _) = Balloon::new(&mem, Box::new(released.clone())).unwrap();
    balloon.host_page = 0x1_0000;
    balloon.release_range(BASE + 0x1000, 0xf000);
    assert!(lock(&released.0).is_empty());
    balloon.release_range(BASE + 0x1000, 0x2_f000);
    assert_eq!(*lock(&released.0), [(BASE + 0x1_0000, 0x2_0000)]);
}

#[test]
fn malformed_lists_and_reports_break_the_ring() {
    let cases: &[(usize, &[Buf])] = &[
        (0, &[Buf::Write(LIST, 4)]),
        (0, &[Buf::Read(LIST, 4), Buf::Write(LIST, 4)]),
        (1, &[Buf::Write(LIST, 4)]),
        (0, &[Buf::Read(END - 2, 4)]),
        (2, &[Buf::Write(LIST, 10)]),
        (3, &[Buf::Read(LIST, 4096)]),
        (3, &[Buf::Write(END - 4096, 8192)]),
        (3, &[Buf::Write(BASE - 4096, 4096)]),
        (
            3,
            &[Buf::Write(LIST, 4096), Buf::Write(u64::MAX - 4095, 4096)],
        ),
        (3, &[Buf::Write(LIST, 0)]),
    ];
    for (i, (queue, bufs)) in cases.iter().enumerate() {
        let mut bench = Bench::new(STATS | REPORTING);
        bench.rig.request(*queue, bufs);
        assert!(bench.rig.needs_reset(), "case {i}");
        assert!(bench.released().is_empty(), "case {i}");
    }
}

#[test]
fn a_release_that_fails_is_counted_and_answered() {
    let mut bench = Bench::new(0);
    bench.released.1.store(true, Ordering::Relaxed);
    bench.frames(0, &[FIRST, FIRST + 7]);
    assert_eq!(bench.rig.counter("release_failed"), 2);
    assert_eq!(bench.rig.counter("released_bytes"), 0);
}

#[test]
fn a_target_reaches_the_driver_and_its_answer_comes_back() {
    let mut bench = Bench::new(0);
    bench.control.set_target(64 * PAGE).unwrap();
    let generation = bench.rig.get(0xfc);
    assert!(bench.rig.source(CONTROL, EventSet::IN));
    assert_eq!(bench.rig.get(0x60) & 2, 2, "no configuration interrupt");
    assert_ne!(bench.rig.get(0xfc), generation);
    assert_eq!(bench.rig.get(0x100), 64);
    bench.rig.set(0x104, 60);
    bench.rig.set(0x100, 7);
    bench.rig.virtio.write(0x104, &[1]);
    assert_eq!(bench.control.actual(), 60 * PAGE);
    assert_eq!(bench.control.target(), 64 * PAGE);
    let sentence = bench
        .control
        .set_target(END - BASE + PAGE)
        .unwrap_err()
        .to_string();
    assert!(sentence.contains("larger than the guest's memory"));
    assert!(bench.control.set_target(u64::MAX).is_err());
}

#[test]
fn statistics_come_when_asked_for() {
    let mut bench = Bench::new(STATS);
    let mut bytes = Vec::new();
    for (tag, value) in [(4_u16, 123_u64 << 32), (5, 456)] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.push(0xff);
    bench.rig.put(LIST, &bytes);
    let head = bench.rig.request(2, &[Buf::Read(LIST, bytes.len() as u32)]);
    assert_eq!(bench.control.stats(), [(4, 123 << 32), (5, 456)]);
    assert_eq!(
        bench.rig.used(2),
        None,
        "the buffer is kept until it is wanted"
    );
    bench.control.refresh_stats().unwrap();
    assert!(bench.rig.source(CONTROL, EventSet::IN));
    assert_eq!(bench.rig.used(2), Some((head, 0)));
    // Asked while the driver has the buffer: answered when it comes.
    bench.control.refresh_stats().unwrap();
    assert!(bench.rig.source(CONTROL, EventSet::IN));
    let head = bench.rig.request(2, &[Buf::Read(LIST, 10)]);
    assert_eq!(bench.rig.used(2), Some((head, 0)));
    assert_eq!(bench.control.stats(), [(4, 123 << 32)]);
    // A second buffer sends the first one home.
    let first = bench.rig.request(2, &[Buf::Read(LIST, 10)]);
    bench.rig.request(2, &[Buf::Read(LIST, 10)]);
    assert_eq!(bench.rig.used(2), Some((first, 0)));
    assert_eq!(bench.rig.used(2), None);
}

#[test]
fn a_reset_forgets_the_guest() {
    let mut bench = Bench::new(STATS);
    bench.rig.set(0x104, 60);
    bench.rig.request(2, &[Buf::Read(LIST, 10)]);
    bench.rig.set(0x70, 0);
    assert_eq!(bench.control.actual(), 0);
    assert!(bench.control.stats().is_empty());
    assert!(!bench.rig.source(CONTROL, EventSet::IN));
    bench.rig.start(0);
    bench.control.refresh_stats().unwrap();
    assert!(bench.rig.source(CONTROL, EventSet::IN));
    assert_eq!(bench.rig.used(2), None);
}
