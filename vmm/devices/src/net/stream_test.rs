// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;
use crate::MmioDevice;
use crate::testing::{BUFFERS, Buf, Rig, poll_fd};
use crate::virtio::lock;

const MRG: u64 = 1 << VIRTIO_NET_F_MRG_RXBUF;

/// A program that the test plays: each start gives the next of these.
#[derive(Default)]
struct Played(Mutex<VecDeque<Result<UnixStream, String>>>);

impl Peer for Played {
    fn name(&self) -> String {
        "played".into()
    }

    fn start(&self) -> Result<UnixStream, String> {
        lock(&self.0)
            .pop_front()
            .unwrap_or_else(|| Err("is gone".into()))
    }
}

struct Bench {
    rig: Rig,
    stream: Arc<Mutex<Stream>>,
    played: Arc<Played>,
    program: UnixStream,
}

fn pair() -> (UnixStream, UnixStream) {
    let (inside, outside) = UnixStream::pair().unwrap();
    outside.set_nonblocking(true).unwrap();
    (inside, outside)
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes(), frame].concat()
}

impl Bench {
    fn new(features: u64, size: u16) -> Self {
        let (inside, program) = pair();
        let played = Arc::new(Played::default());
        let stream = Stream::new(played.clone(), inside).unwrap();
        let stream = Arc::new(Mutex::new(stream));
        let net = Net::with_stream(stream.clone(), None).unwrap();
        let mut rig = Rig::new(Box::new(net));
        rig.start_with_queue_size(features, size);
        let bench = Self {
            rig,
            stream,
            played,
            program,
        };
        lock(&bench.stream).set_delay(Duration::from_millis(1));
        bench
    }

    /// What the next start gives.
    fn next(&self, result: Result<UnixStream, String>) {
        lock(&self.played.0).push_back(result);
    }

    fn send(&mut self, len: u32) {
        self.rig.put(BUFFERS, &[0; HEADER]);
        self.rig
            .request(TX, &[Buf::Read(BUFFERS, HEADER as u32 + len)]);
    }

    fn add_buffers(&mut self, count: u64) {
        for i in 0..count {
            self.rig.add(RX, &[Buf::Write(BUFFERS + i * 128, 128)]);
        }
    }

    fn receive_buffers(&mut self, count: u64) {
        self.add_buffers(count);
        self.rig.notify(RX);
    }

    fn received(&mut self) -> usize {
        std::iter::from_fn(|| self.rig.used(RX)).count()
    }

    fn is_up(&mut self) -> bool {
        let mut status = [0; 2];
        self.rig.virtio.read(0x106, &mut status);
        status == [1, 0]
    }

    /// The event loop's turn, if what the device watches is ready.
    fn turn(&mut self) -> bool {
        let fd = lock(&self.stream).fd().as_raw_fd();
        let wanted = lock(&self.rig.watched.0).get(&fd).copied();
        let Some((token, wanted)) = wanted else {
            return false;
        };
        let ready = poll_fd(fd, wanted);
        if !ready.is_empty() {
            // Not by Rig::source(): nobody asks for a hang-up, and it comes.
            self.rig.virtio.handle(Event::Source(token, ready));
            self.rig.serve(RX);
            self.rig.serve(TX);
        }
        !ready.is_empty()
    }

    fn wait_turn(&mut self) {
        for _ in 0..10_000 {
            if self.turn() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the link is not heard of again");
    }

    fn drain(&mut self) -> Vec<u8> {
        let mut got = Vec::new();
        let end = self.program.read_to_end(&mut got).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::WouldBlock);
        got
    }
}

#[test]
fn frames_go_both_ways_without_a_header() {
    let mut bench = Bench::new(MRG, 16);
    assert_eq!(bench.rig.offered() & (1 << VIRTIO_NET_F_CSUM), 0);
    bench.rig.put(BUFFERS + HEADER as u64, &[9; 60]);
    bench.send(60);
    assert_eq!(bench.drain(), framed(&[9; 60]));
    bench.rig.request(RX, &[Buf::Write(BUFFERS, 200)]);
    bench.program.write_all(&framed(&[7; 100])).unwrap();
    assert!(bench.turn());
    assert_eq!(bench.rig.used(RX), Some((0, 112)));
    let got = bench.rig.take(BUFFERS, 112);
    assert_eq!(got[..HEADER], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(got[HEADER..], [7; 100]);
    assert!(!bench.turn());
}

#[test]
fn a_burst_is_delivered_to_its_end() {
    let mut bench = Bench::new(MRG, 256);
    bench.receive_buffers(256);
    let burst: Vec<u8> = (0..300).flat_map(|_| framed(&[1; 60])).collect();
    bench.program.write_all(&burst).unwrap();
    assert!(bench.rig.source(LINK, EventSet::IN));
    assert_eq!(bench.received(), 256);
    // The driver need not tell of them: the device has not asked to be told.
    bench.add_buffers(60);
    bench.rig.serve(RX);
    assert_eq!(bench.received(), 44);
    assert!(!bench.turn());
    assert_eq!(bench.rig.counter("rx_dropped"), 0);
}

#[test]
fn what_the_program_does_not_read_waits_on_the_ring() {
    let mut bench = Bench::new(0, 256);
    let frame = 60_000;
    let (mut asked, mut used) = (0, 0);
    while used == asked {
        assert!(asked < 200, "the socket is never full");
        bench.send(frame);
        asked += 1;
        used += usize::from(bench.rig.used(TX).is_some());
    }
    bench.send(frame);
    asked += 1;
    assert_eq!(bench.rig.used(TX), None);
    assert!(!bench.turn(), "nothing to do before the program reads");
    let mut got = 0;
    while got < asked * (frame as usize + 4) {
        let now = bench.drain().len();
        assert!(now > 0 || bench.turn(), "{got} bytes have come");
        got += now;
    }
    while bench.rig.used(TX).is_some() {
        used += 1;
    }
    assert_eq!((got, used), (asked * (frame as usize + 4), asked));
    assert!(!bench.turn(), "it is watched for no reason");
    assert_eq!(bench.rig.counter("tx_dropped"), 0);
}

#[test]
fn a_program_that_ends_takes_the_link_down_until_it_is_back() {
    let mut bench = Bench::new(MRG, 16);
    bench.receive_buffers(4);
    assert!(bench.is_up());
    let (inside, back) = pair();
    bench.next(Err("is away".into()));
    bench.next(Ok(inside));
    bench.program = back;
    assert!(bench.turn());
    assert!(!bench.is_up());
    assert_eq!(bench.rig.get(0x60) & 2, 2, "no configuration interrupt");
    bench.send(60);
    assert!(bench.rig.used(TX).is_some());
    assert_eq!(bench.rig.counter("tx_dropped"), 1);
    bench.wait_turn();
    assert!(!bench.is_up(), "the first start failed");
    bench.wait_turn();
    assert!(bench.is_up());
    bench.program.write_all(&framed(&[1; 60])).unwrap();
    assert!(bench.turn());
    assert_eq!(bench.received(), 1);
    bench.send(60);
    assert_eq!(bench.drain().len(), 64);
}

#[test]
fn frames_that_wait_for_a_program_that_ends_are_dropped() {
    for by in ["hang-up", "frame"] {
        let mut bench = Bench::new(0, 256);
        let mut asked = 0;
        while bench.rig.counter("tx_frames") == asked {
            bench.send(60_000);
            asked += 1;
        }
        if by == "hang-up" {
            bench.program = pair().1;
        } else {
            bench.program.write_all(&[0xff; 4]).unwrap();
        }
        bench.next(Err("is away".into()));
        assert!(bench.turn(), "{by}");
        assert!(!bench.is_up(), "{by}");
        assert_eq!(
            std::iter::from_fn(|| bench.rig.used(TX)).count() as u64,
            asked
        );
        assert_eq!(bench.rig.counter("tx_dropped"), 1, "{by}");
        bench.next(Err("is away still".into()));
        bench.wait_turn();
    }
}

#[test]
fn a_frame_that_is_none_takes_the_link_down() {
    let mut bench = Bench::new(MRG, 16);
    bench.receive_buffers(4);
    let (inside, _back) = pair();
    bench.next(Ok(inside));
    bench.program.write_all(&framed(&[1; 60])).unwrap();
    bench.program.write_all(&[0, 1, 0x86, 0xa0]).unwrap();
    assert!(bench.turn());
    assert_eq!(bench.received(), 1);
    assert!(!bench.is_up());
    bench.wait_turn();
    assert!(bench.is_up());
}

#[test]
fn a_stream_goes_on_in_the_next_machine() {
    let mut bench = Bench::new(MRG, 16);
    bench.receive_buffers(2);
    let frame = framed(&[5; 60]);
    bench.program.write_all(&frame[..10]).unwrap();
    assert!(bench.turn());
    bench.rig.set(0x70, 0);
    assert!(lock(&bench.rig.watched.0).is_empty());
    let net = Net::with_stream(bench.stream.clone(), None).unwrap();
    bench.rig = Rig::new(Box::new(net));
    bench.rig.start(MRG);
    bench.receive_buffers(2);
    bench.program.write_all(&frame[10..]).unwrap();
    assert!(bench.turn());
    assert_eq!(bench.rig.used(RX), Some((0, 72)));
}
