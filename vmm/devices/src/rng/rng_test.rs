// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::*;
use crate::testing::{BUFFERS, Buf, Rig};

fn rig(fill: fn(&mut [u8]) -> io::Result<usize>) -> Rig {
    let mut rig = Rig::new(Box::new(Rng::with_source(fill)));
    rig.start(0);
    rig
}

fn sevens(buf: &mut [u8]) -> io::Result<usize> {
    buf.fill(7);
    Ok(buf.len())
}

#[test]
fn the_host_generator_fills_a_request() {
    let mut rig = Rig::new(Box::<Rng>::default());
    rig.start(0);
    rig.request(0, &[Buf::Write(BUFFERS, 64)]);
    assert_eq!(rig.used(0), Some((0, 64)));
    assert_ne!(rig.take(BUFFERS, 64), vec![0; 64]);
    assert_eq!(rig.counter("bytes"), 64);
}

#[test]
fn a_request_is_filled_over_its_segments_and_no_further() {
    let mut rig = rig(sevens);
    rig.request(
        0,
        &[Buf::Write(BUFFERS, 5), Buf::Write(BUFFERS + 100, 5000)],
    );
    assert_eq!(rig.used(0), Some((0, 5005)));
    assert_eq!(rig.take(BUFFERS, 6), [7, 7, 7, 7, 7, 0]);
    assert_eq!(rig.take(BUFFERS + 5099, 2), [7, 0]);
}

#[test]
fn a_huge_request_is_bounded() {
    let mut rig = rig(sevens);
    rig.request(0, &[Buf::Write(BUFFERS, 1 << 20)]);
    assert_eq!(rig.used(0), Some((0, 64 << 10)));
    assert_eq!(rig.take(BUFFERS + (64 << 10), 1), [0]);
}

#[test]
fn a_readable_buffer_breaks_the_ring() {
    let mut rig = rig(sevens);
    rig.request(0, &[Buf::Read(BUFFERS, 16), Buf::Write(BUFFERS, 16)]);
    assert!(rig.needs_reset());
    assert_eq!(rig.used(0), None);
    assert_eq!(rig.take(BUFFERS, 16), [0; 16]);
}

#[test]
fn a_generator_that_fails_keeps_the_request_until_it_works() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static SEEDED: AtomicBool = AtomicBool::new(false);
    let mut rig = rig(|buf| {
        if SEEDED.load(Ordering::Relaxed) {
            sevens(buf)
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    });
    rig.request(0, &[Buf::Write(BUFFERS, 16)]);
    assert_eq!(rig.used(0), None);
    assert_eq!(rig.counter("unseeded"), 1);
    assert!(rig.source(TIMER, EventSet::IN), "no timer to retry");
    assert_eq!(rig.used(0), None);
    SEEDED.store(true, Ordering::Relaxed);
    assert!(rig.source(TIMER, EventSet::IN), "no timer to retry again");
    assert_eq!(rig.used(0), Some((0, 16)));
    assert!(
        !rig.source(TIMER, EventSet::IN),
        "the timer was left behind"
    );
}
