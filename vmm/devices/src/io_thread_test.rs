// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::block::{Block, BlockConfig};
use crate::rng::Rng;
use crate::testing::{BUFFERS, Buf, Live};
use crate::virtio::Face;

/// Longer than any request of these tests, on any machine.
const LONG: Duration = Duration::from_secs(300);

struct Faceless;

impl Face for Faceless {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

fn block() -> Box<Block> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    Box::new(Block::new(file, BlockConfig::default()).unwrap())
}

#[test]
fn a_device_is_served_on_the_thread() {
    let mut live = Live::start(Box::<Rng>::default(), 1 << 29);
    for i in 0..200 {
        let head = live.request(0, &[Buf::Write(BUFFERS, 32)]);
        assert_eq!(live.wait_used(0), (head, 32), "request {i}");
    }
    assert!(live.counter("notifications") > 0);
}

#[test]
fn a_paused_thread_leaves_memory_alone_until_it_is_resumed() {
    let mut live = Live::start(Box::<Rng>::default(), 0);
    for _ in 0..20 {
        assert!(live.io().pause(LONG));
        live.request(0, &[Buf::Write(BUFFERS, 32)]);
        std::thread::sleep(Duration::from_millis(3));
        assert_eq!(live.used(0), None);
        live.io().resume();
        live.wait_used(0);
    }
    assert!(live.io().pause(LONG));
    live.io().resume();
    assert!(live.io().pause(LONG));
    // Dropped while paused: must neither hang nor serve.
}

#[test]
fn a_reset_can_come_at_any_time() {
    let mut live = Live::start(block(), 0);
    let mem = Arc::clone(&live.mem);
    for round in 0..200 {
        for i in 0..8 {
            live.put(BUFFERS + 32 * i, &[0; 16]);
            live.add(
                0,
                &[
                    Buf::Read(BUFFERS + 32 * i, 16),
                    Buf::Write(BUFFERS + 0x1000, 513),
                ],
            );
        }
        live.notify(0);
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
        live.set(0x70, 0);
        // From here on nothing may be written.
        let used = live.queues[0].used_addr();
        vm_memory::Bytes::write_slice(&*mem, &[0; 200], vm_memory::GuestAddress(used)).unwrap();
        std::thread::yield_now();
        assert_eq!(live.take(used, 200), [0; 200], "served after a reset");
        live.start(0);
    }
    assert_eq!(live.counter("malformed_rings"), 0);
}

#[test]
fn sources_are_watched_and_forgotten() {
    struct Ears(UnixDatagram, Arc<AtomicBool>);
    impl crate::VirtioDevice for Ears {
        fn name(&self) -> &'static str {
            "ears"
        }
        fn device_type(&self) -> u32 {
            1
        }
        fn features(&self) -> u64 {
            0
        }
        fn queue_sizes(&self) -> &[u16] {
            &[16]
        }
        fn face(&self) -> Arc<dyn Face> {
            Arc::new(Faceless)
        }
        fn activate(&mut self, ctx: &mut crate::virtio::Context<'_>) -> Result<(), Error> {
            ctx.sources
                .add(self.0.as_fd(), 7, EventSet::PRIORITY)
                .unwrap();
            ctx.sources.modify(self.0.as_fd(), 7, EventSet::IN).unwrap();
            Ok(())
        }
        fn handle(
            &mut self,
            event: Event,
            _: &mut crate::virtio::Context<'_>,
        ) -> Result<(), crate::virtio::ring::RingError> {
            if let Event::Source(7, events) = event {
                assert!(events.contains(EventSet::IN));
                self.0.recv(&mut [0; 8]).unwrap();
                self.1.store(true, Ordering::Release);
            }
            Ok(())
        }
        fn reset(&mut self, sources: &dyn Sources) {
            let _ = sources.remove(self.0.as_fd());
        }
    }
    let (near, far) = UnixDatagram::pair().unwrap();
    let heard = Arc::new(AtomicBool::new(false));
    let mut live = Live::start(Box::new(Ears(near, Arc::clone(&heard))), 0);
    far.send(b"hello").unwrap();
    for _ in 0..1000 {
        if heard.load(Ordering::Acquire) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(heard.swap(false, Ordering::AcqRel), "not heard");
    live.set(0x70, 0);
    far.send(b"anyone?").unwrap();
    std::thread::sleep(Duration::from_millis(10));
    assert!(!heard.load(Ordering::Acquire), "heard after a reset");
}

#[test]
fn two_devices_share_the_thread() {
    let io = IoThread::spawn().unwrap();
    let mut one = Live::start_on(Box::<Rng>::default(), 0, &io);
    let mut two = Live::start_on(block(), 0, &io);
    for _ in 0..50 {
        one.request(0, &[Buf::Write(BUFFERS, 8)]);
        two.put(BUFFERS, &[0; 16]);
        two.request(0, &[Buf::Read(BUFFERS, 16), Buf::Write(BUFFERS + 64, 513)]);
        assert_eq!(one.wait_used(0).1, 8);
        assert_eq!(two.wait_used(0).1, 513);
    }
}

#[test]
fn a_thread_that_panicked_is_not_waited_for() {
    struct Bomb;
    impl crate::VirtioDevice for Bomb {
        fn name(&self) -> &'static str {
            "bomb"
        }
        fn device_type(&self) -> u32 {
            1
        }
        fn features(&self) -> u64 {
            0
        }
        fn queue_sizes(&self) -> &[u16] {
            &[16]
        }
        fn face(&self) -> Arc<dyn Face> {
            Arc::new(Faceless)
        }
        fn activate(&mut self, _: &mut crate::virtio::Context<'_>) -> Result<(), Error> {
            Ok(())
        }
        fn handle(
            &mut self,
            _: Event,
            _: &mut crate::virtio::Context<'_>,
        ) -> Result<(), crate::virtio::ring::RingError> {
            panic!("this test wants a thread that panics");
        }
        fn reset(&mut self, _: &dyn Sources) {}
    }
    let mut live = Live::start(Box::new(Bomb), 0);
    assert!(live.io().pause(LONG));
    live.io().resume();
    live.set(0x70, 0);
    assert_eq!(live.get(0x70), 0, "the registers still work");
}
