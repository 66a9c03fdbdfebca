// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use super::*;
use crate::testing::{BASE, BUFFERS, Buf, END, NEXT, Rig, memory};
use crate::virtio::{PrivateMemory, Served};

/// Gives every chain back, and does what the test says.
#[derive(Default)]
struct Echo {
    shown: Arc<Shown>,
    fail_activation: bool,
    keep: Arc<AtomicBool>,
    resets: Arc<AtomicU64>,
}

#[derive(Default)]
struct Shown {
    config: [AtomicU8; 8],
    served: Counter,
}

impl Face for Shown {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        let config = self.config.each_ref();
        let config = config.map(|byte| byte.load(Ordering::Relaxed));
        super::super::read_config_bytes(&config, offset, data);
    }

    fn write_config(&self, offset: u64, data: &[u8]) {
        let from = offset as usize;
        if let Some(to) = self.config.get(from..from + data.len()) {
            for (to, byte) in to.iter().zip(data) {
                to.store(*byte, Ordering::Relaxed);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("served", self.served.get())]
    }
}

impl VirtioDevice for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn device_type(&self) -> u32 {
        42
    }

    fn features(&self) -> u64 {
        1
    }

    fn queue_sizes(&self) -> &[u16] {
        &[16, 16]
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shown) as _
    }

    fn activate(&mut self, _ctx: &mut Context<'_>) -> Result<(), Error> {
        if self.fail_activation {
            Err(Error::Config("no".into()))
        } else {
            Ok(())
        }
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        let Event::Queue(index) = event else {
            return Ok(());
        };
        let keep = self.keep.load(Ordering::Relaxed);
        ctx.serve(index, |_, chain| {
            self.shown.served.add(1);
            Ok(if keep {
                Served::Later
            } else {
                Served::Used(chain.write_len())
            })
        })
    }

    fn reset(&mut self, _sources: &dyn Sources) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }
}

fn started() -> Rig {
    let mut rig = Rig::new(Box::<Echo>::default());
    rig.start(0);
    rig
}

#[test]
fn a_request_is_served_and_interrupts_once() {
    let mut rig = started();
    let before = rig.interrupts();
    rig.request(0, &[Buf::Write(BUFFERS, 9)]);
    assert_eq!(rig.used(0), Some((0, 9)));
    assert_eq!(rig.interrupts(), before + 1);
    assert_eq!(rig.get(0x60), 1);
    rig.set(0x64, 1);
    assert_eq!(rig.get(0x60), 0);
    // Many requests, one notification, one interrupt.
    for _ in 0..10 {
        rig.add(1, &[Buf::Write(BUFFERS, 1)]);
    }
    rig.notify(1);
    assert_eq!(rig.counter("served"), 11);
    assert_eq!(rig.interrupts(), before + 2);
    assert_eq!(rig.counter("interrupts"), before + 2);
}

#[test]
fn only_the_specified_access_sizes_work() {
    let mut rig = started();
    let refused = |rig: &Rig| rig.counter("refused_accesses");
    let mut expected = refused(&rig);
    for (offset, len) in [
        (0, 1),
        (0, 2),
        (0, 8),
        (1, 4),
        (2, 4),
        (0x100, 3),
        (0x100, 8),
        (0x101, 2),
        (0x102, 4),
        (0, 0),
        (0x100, 16),
    ] {
        let mut data = vec![0xff; len];
        rig.virtio.read(offset, &mut data);
        assert_eq!(data, vec![0; len], "{offset:#x} {len}");
        rig.virtio.write(offset, &vec![0xff; len]);
        expected += 2;
        assert_eq!(refused(&rig), expected, "{offset:#x} {len}");
    }
    for offset in [0x200, 0x1000, u64::MAX - 3] {
        let mut data = [0xff; 4];
        rig.virtio.read(offset, &mut data);
        assert_eq!(data, [0; 4]);
        rig.virtio.write(offset, &[1; 4]);
        expected += 2;
    }
    assert_eq!(refused(&rig), expected);
    assert_eq!(rig.status(), 15, "the status was written by a bad access");
}

#[test]
fn the_configuration_space_takes_one_two_and_four_bytes() {
    let mut rig = started();
    rig.virtio.write(0x100, &[1]);
    rig.virtio.write(0x102, &[2, 3]);
    rig.virtio.write(0x104, &[4, 5, 6, 7]);
    assert_eq!(rig.get(0x100), 0x0302_0001);
    assert_eq!(rig.get(0x104), 0x0706_0504);
    let mut two = [0; 2];
    rig.virtio.read(0x106, &mut two);
    assert_eq!(two, [6, 7]);
    assert_eq!(rig.get(0x108), 0, "beyond the device's fields");
    assert_eq!(rig.counter("refused_accesses"), 0);
}

#[test]
fn a_malformed_ring_stops_the_device_until_it_is_reset() {
    let mut rig = started();
    let queue = rig.queues[0].clone();
    queue.desc(&rig.mem, 0, BUFFERS, 16, NEXT, 0);
    let mem = Arc::clone(&rig.mem);
    rig.queues[0].offer(&mem, 0);
    rig.notify(0);
    assert_eq!(rig.status(), 15 | 64);
    assert_eq!(rig.get(0x60) & 2, 2, "no configuration interrupt");
    assert_eq!(rig.counter("malformed_rings"), 1);
    let interrupts = rig.interrupts();
    // Quiet: neither this queue nor the other is served, nothing more is counted.
    rig.request(1, &[Buf::Write(BUFFERS, 1)]);
    rig.notify(0);
    assert_eq!(rig.used(1), None);
    assert_eq!(rig.counter("malformed_rings"), 1);
    assert_eq!(rig.interrupts(), interrupts);
    rig.start(0);
    rig.request(1, &[Buf::Write(BUFFERS, 3)]);
    assert_eq!(rig.used(1), Some((0, 3)));
}

#[test]
fn a_bad_queue_is_refused_when_it_is_enabled() {
    let mut rig = Rig::new(Box::<Echo>::default());
    rig.negotiate(0);
    rig.set(0x30, 0);
    rig.set(0x38, 16);
    rig.set(0x80, END as u32);
    rig.set(0x90, BASE as u32);
    rig.set(0xa0, BASE as u32 + 0x1000);
    rig.set(0x44, 1);
    assert_eq!(rig.get(0x44), 0);
    assert_eq!(rig.status(), 11 | 64);
    rig.set(0x70, 15);
    assert_eq!(rig.status(), 11 | 64, "started with a bad queue");
    assert_eq!(rig.interrupts(), 0, "no interrupts before DRIVER_OK");
}

#[test]
fn a_device_that_cannot_start_says_so() {
    let mut rig = Rig::new(Box::new(Echo {
        fail_activation: true,
        ..Echo::default()
    }));
    rig.start(0);
    assert!(rig.needs_reset());
    rig.request(0, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(rig.used(0), None);
}

#[test]
fn nothing_is_served_before_driver_ok_and_everything_after() {
    let mut rig = started();
    rig.set(0x70, 0);
    rig.add(0, &[Buf::Write(BUFFERS, 1)]);
    rig.notify(0);
    assert_eq!(rig.used(0), None);
    rig.negotiate(0);
    rig.notify(0);
    assert_eq!(rig.used(0), None);
    let mut early = Rig::new(Box::<Echo>::default());
    early.start(0);
    let mem = Arc::clone(&early.mem);
    // A queue that was filled, but not notified, before DRIVER_OK.
    early.negotiate(0);
    early
        .queues
        .iter_mut()
        .for_each(|q| q.set_avail_idx(&mem, 0));
    early.add(0, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(early.used(0), None);
}

#[test]
fn a_stopped_queue_rests_alone() {
    let mut rig = started();
    rig.set(0x30, 0);
    rig.set(0x44, 0);
    assert_eq!(rig.get(0x44), 0);
    rig.request(0, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(rig.used(0), None);
    rig.request(1, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(rig.used(1), Some((0, 1)));
    rig.set(0x44, 1);
    assert_eq!(rig.get(0x44), 0, "a queue cannot come back without a reset");
}

#[test]
fn what_is_left_on_the_ring_is_served_later() {
    let keep = Arc::new(AtomicBool::new(true));
    let mut rig = Rig::new(Box::new(Echo {
        keep: Arc::clone(&keep),
        ..Echo::default()
    }));
    rig.start(1 << 29);
    rig.request(0, &[Buf::Write(BUFFERS, 5)]);
    assert_eq!(rig.used(0), None);
    assert_eq!(
        rig.queues[0].avail_event(&rig.mem),
        1,
        "a notification for the next one only"
    );
    keep.store(false, Ordering::Relaxed);
    rig.request(0, &[Buf::Write(BUFFERS, 6)]);
    assert_eq!(rig.used(0), Some((0, 5)));
    assert_eq!(rig.used(0), Some((1, 6)));
    assert_eq!(rig.queues[0].avail_event(&rig.mem), 2);
}

#[test]
fn reset_clears_interrupts_and_reaches_the_device() {
    let resets = Arc::new(AtomicU64::new(0));
    let mut rig = Rig::new(Box::new(Echo {
        resets: Arc::clone(&resets),
        ..Echo::default()
    }));
    rig.start(0);
    let before = resets.load(Ordering::Relaxed);
    rig.request(0, &[Buf::Write(BUFFERS, 5)]);
    assert_eq!(rig.get(0x60), 1);
    rig.set(0x70, 0);
    assert_eq!(rig.get(0x60), 0);
    assert_eq!(rig.status(), 0);
    assert_eq!(resets.load(Ordering::Relaxed), before + 1);
    rig.request(0, &[Buf::Write(BUFFERS, 5)]);
    assert_eq!(rig.counter("served"), 1);
}

#[test]
fn notifications_for_nothing_are_refused() {
    let mut rig = started();
    let before = rig.counter("refused_accesses");
    rig.set(0x50, 2);
    rig.set(0x50, u32::MAX);
    rig.get(0x50);
    assert_eq!(rig.counter("refused_accesses"), before + 3);
}

#[test]
fn an_interrupt_that_cannot_be_sent_is_counted() {
    struct Dead;
    impl Interrupt for Dead {
        fn trigger(&self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let sources = crate::testing::Watched::default();
    let device = Box::<Echo>::default();
    let sources = Box::new(sources);
    let platform = Platform::default();
    let virtio =
        VirtioMmio::with_sources(device, memory(), Arc::new(Dead), sources, platform).unwrap();
    virtio.0.signal.used();
    let counters = virtio.counters();
    assert!(counters.contains(&("interrupts_failed", 1)), "{counters:?}");
}

/// Private memory where the test says so.
#[derive(Default)]
struct Mine(Mutex<Option<u64>>);

impl PrivateMemory for Mine {
    fn met(&self) -> Option<u64> {
        lock(&self.0).take()
    }
}

#[test]
fn a_device_that_meets_private_memory_needs_a_reset() {
    let mine = Arc::new(Mine::default());
    let platform = Platform {
        access: true,
        private: Some(mine.clone()),
    };
    let features = 1 << VIRTIO_F_ACCESS_PLATFORM;
    let mut rig = Rig::with_platform(Box::<Echo>::default(), memory(), platform);
    rig.start(features);
    rig.request(0, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(rig.used(0), Some((0, 1)));
    *lock(&mine.0) = Some(BUFFERS);
    rig.request(0, &[Buf::Write(BUFFERS, 1)]);
    assert!(rig.needs_reset());
    assert_eq!(rig.counter("malformed_rings"), 1);
    let served = rig.counter("served");
    rig.notify(0);
    assert_eq!(
        rig.counter("served"),
        served,
        "a broken device serves nothing"
    );
    // When it starts, too.
    *lock(&mine.0) = Some(BUFFERS);
    rig.start(features);
    assert!(rig.needs_reset());
    rig.start(features);
    assert!(!rig.needs_reset());
    rig.request(0, &[Buf::Write(BUFFERS, 1)]);
    assert_eq!(rig.used(0), Some((0, 1)));
}

#[test]
fn the_platform_is_offered_where_it_is_wanted_and_then_needed() {
    let bit = 1 << VIRTIO_F_ACCESS_PLATFORM;
    for access in [false, true] {
        let platform = Platform {
            access,
            private: None,
        };
        let mut rig = Rig::with_platform(Box::<Echo>::default(), memory(), platform);
        assert_eq!(rig.offered() & bit != 0, access);
        rig.negotiate(0);
        assert_eq!(rig.status() & 8 != 0, !access, "a driver without it");
        rig.negotiate(bit);
        assert_eq!(rig.status() & 8 != 0, access, "a driver with it");
    }
}
