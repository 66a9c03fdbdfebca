// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::os::unix::net::UnixDatagram;

use vmm_sys_util::epoll::EventSet;

use super::*;
use crate::MmioDevice;
use crate::testing::{BUFFERS, Buf, END, Rig};

const MRG: u64 = 1 << VIRTIO_NET_F_MRG_RXBUF;
const CSUM: u64 = 1 << VIRTIO_NET_F_CSUM;
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

struct Bench {
    rig: Rig,
    wire: UnixDatagram,
}

impl Bench {
    fn new(features: u64) -> Self {
        Self::with_queue_size(features, 16)
    }

    fn with_queue_size(features: u64, size: u16) -> Self {
        let (net, wire) = stand_in().unwrap();
        let mut rig = Rig::new(Box::new(net));
        rig.start_with_queue_size(features, size);
        Self { rig, wire }
    }

    /// A frame arrives at the TAP.
    fn arrive(&self, frame: &[u8]) {
        let mut bytes = vec![0; HEADER];
        bytes.extend(frame);
        assert_eq!(self.wire.send(&bytes).unwrap(), bytes.len());
    }

    fn sent(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; MAX_PACKET];
        let len = self.wire.recv(&mut bytes).ok()?;
        bytes.truncate(len);
        Some(bytes)
    }

    fn tap_ready(&self) -> bool {
        self.rig.source(LINK, EventSet::IN)
    }
}

fn frame(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

#[test]
fn a_frame_leaves_with_a_clean_header() {
    let mut bench = Bench::new(0);
    let mut bytes = vec![2, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];
    bytes.extend(frame(60));
    bench.rig.put(BUFFERS, &bytes);
    let bufs = [
        Buf::Read(BUFFERS, 7),
        Buf::Read(BUFFERS + 7, 20),
        Buf::Read(BUFFERS + 27, 45),
    ];
    bench.rig.request(TX, &bufs);
    assert_eq!(bench.rig.used(TX), Some((0, 0)));
    let sent = bench.sent().unwrap();
    assert_eq!(sent[..HEADER], [0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0]);
    assert_eq!(sent[HEADER..], frame(60));
    assert_eq!(bench.rig.counter("tx_bytes"), 60);
}

#[test]
fn frames_that_cannot_go_are_dropped_and_counted() {
    let mut bench = Bench::new(CSUM);
    let mut send = |flags: u8, gso: u8, len: u32| {
        bench
            .rig
            .put(BUFFERS, &[flags, gso, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bench.rig.request(TX, &[Buf::Read(BUFFERS, len)]);
        assert!(bench.rig.used(TX).is_some());
        assert!(!bench.rig.needs_reset());
        bench.sent().is_some()
    };
    assert!(send(0, 0, 12 + 14));
    assert!(send(1, 0, 12 + 14));
    assert!(!send(0, 0, 12), "an empty frame");
    assert!(!send(0, 0, 12 + 13), "less than an Ethernet header");
    assert!(!send(1, 1, 12 + 100), "TSO was not negotiated");
    assert!(!send(0, 0, 12 + 65_551), "longer than any frame");
    assert_eq!(bench.rig.counter("tx_dropped"), 4);
    assert_eq!(bench.rig.counter("tx_frames"), 2);
}

#[test]
fn a_full_host_queue_drops_and_does_not_block() {
    let mut bench = Bench::new(0);
    for _ in 0..2000 {
        bench.rig.request(TX, &[Buf::Read(BUFFERS, 12 + 1000)]);
        assert!(bench.rig.used(TX).is_some());
    }
    assert!(bench.rig.counter("tx_dropped") > 0);
    assert!(bench.rig.counter("tx_frames") > 0);
}

#[test]
fn malformed_transmissions_break_the_ring() {
    let cases: &[&[Buf]] = &[
        &[Buf::Read(BUFFERS, 11)],
        &[Buf::Write(BUFFERS, 100)],
        &[Buf::Read(BUFFERS, 100), Buf::Write(BUFFERS, 1)],
        &[Buf::Read(END - 50, 51)],
        &[Buf::Read(BUFFERS, 0)],
    ];
    for (i, bufs) in cases.iter().enumerate() {
        let mut bench = Bench::new(0);
        bench.rig.request(TX, bufs);
        assert!(bench.rig.needs_reset(), "case {i}");
        assert_eq!(bench.sent(), None, "case {i}");
        assert!(!bench.tap_ready(), "a dead device still watches its TAP");
    }
}

#[test]
fn a_frame_arrives_in_one_buffer() {
    let mut bench = Bench::new(0);
    bench.rig.request(
        RX,
        &[Buf::Write(BUFFERS, 12), Buf::Write(BUFFERS + 100, 1514)],
    );
    bench.arrive(&frame(100));
    assert!(bench.tap_ready());
    assert_eq!(bench.rig.used(RX), Some((0, 112)));
    assert_eq!(
        bench.rig.take(BUFFERS, 12),
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    );
    assert_eq!(bench.rig.take(BUFFERS + 100, 100), frame(100));
    assert_eq!(bench.rig.counter("rx_bytes"), 100);
}

#[test]
fn a_large_frame_is_spread_over_merged_buffers() {
    let mut bench = Bench::with_queue_size(MRG, 64);
    for i in 0..48 {
        bench.rig.add(RX, &[Buf::Write(BUFFERS + i * 0x1000, 1536)]);
    }
    bench.rig.notify(RX);
    let big = frame(65_000);
    bench.arrive(&big);
    assert!(bench.tap_ready());
    let mut got = Vec::new();
    let mut heads = 0;
    while let Some((head, len)) = bench.rig.used(RX) {
        assert_eq!(head, heads);
        got.extend(
            bench
                .rig
                .take(BUFFERS + u64::from(head) * 0x1000, len as usize),
        );
        heads += 1;
    }
    assert_eq!(u64::from(heads), (65_012_u64).div_ceil(1536));
    assert_eq!(got[10..12], heads.to_le_bytes());
    assert_eq!(got[12..], big);
}

#[test]
fn without_room_the_frame_waits_and_the_tap_rests() {
    for event_idx in [0, 1 << 29] {
        let mut bench = Bench::new(MRG | event_idx);
        bench.rig.add(RX, &[Buf::Write(BUFFERS, 500)]);
        bench.rig.notify(RX);
        bench.arrive(&frame(1000));
        bench.arrive(&frame(40));
        assert!(bench.tap_ready());
        assert_eq!(bench.rig.used(RX), None);
        assert_eq!(bench.rig.counter("rx_waits"), 1);
        assert!(
            !bench.tap_ready(),
            "the TAP is watched although nothing can be done"
        );
        // The driver is asked for a notification of its next buffer, not of the one that is there.
        if event_idx == 0 {
            assert_eq!(bench.rig.queues[RX].used_flags(&bench.rig.mem), 0);
        } else {
            assert_eq!(bench.rig.queues[RX].avail_event(&bench.rig.mem), 1);
        }
        for i in 1..4 {
            bench.rig.add(RX, &[Buf::Write(BUFFERS + i * 0x1000, 600)]);
        }
        bench.rig.notify(RX);
        assert_eq!(bench.rig.used(RX), Some((0, 500)));
        assert_eq!(bench.rig.used(RX), Some((1, 512)));
        assert_eq!(
            bench.rig.used(RX),
            Some((2, 52)),
            "the second frame came along"
        );
        assert_eq!(bench.rig.used(RX), None);
        assert_eq!(bench.rig.counter("rx_dropped"), 0);
        bench.arrive(&frame(30));
        assert!(bench.tap_ready());
        assert_eq!(bench.rig.used(RX), Some((3, 42)));
    }
}

#[test]
fn a_frame_that_never_fits_is_dropped() {
    let mut bench = Bench::new(0);
    bench.rig.request(RX, &[Buf::Write(BUFFERS, 100)]);
    bench.arrive(&frame(200));
    bench.arrive(&frame(50));
    assert!(bench.tap_ready());
    assert_eq!(
        bench.rig.used(RX),
        Some((0, 62)),
        "the buffer is kept for a frame that fits"
    );
    assert_eq!(bench.rig.counter("rx_dropped"), 1);

    let mut bench = Bench::with_queue_size(MRG, 2);
    bench.rig.add(RX, &[Buf::Write(BUFFERS, 100)]);
    bench.rig.request(RX, &[Buf::Write(BUFFERS, 100)]);
    bench.arrive(&frame(200));
    assert!(bench.tap_ready());
    assert_eq!(bench.rig.counter("rx_dropped"), 1);
}

#[test]
fn malformed_receive_buffers_break_the_ring() {
    for buf in [
        Buf::Read(BUFFERS, 2000),
        Buf::Write(BUFFERS, 11),
        Buf::Write(END - 5, 2000),
    ] {
        let mut bench = Bench::new(MRG);
        bench.rig.request(RX, &[buf]);
        bench.arrive(&frame(100));
        bench.tap_ready();
        assert!(bench.rig.needs_reset(), "{buf:?}");
        assert_eq!(bench.rig.used(RX), None);
    }
}

#[test]
fn a_reset_forgets_the_waiting_frame() {
    let mut bench = Bench::new(MRG);
    bench.arrive(&frame(100));
    assert!(bench.tap_ready());
    assert_eq!(bench.rig.counter("rx_waits"), 1);
    bench.rig.set(0x70, 0);
    assert!(!bench.tap_ready());
    bench.rig.start(MRG);
    bench.rig.request(RX, &[Buf::Write(BUFFERS, 2000)]);
    bench.arrive(&frame(20));
    assert!(bench.tap_ready());
    assert_eq!(bench.rig.used(RX), Some((0, 32)));
}

#[test]
fn a_tap_that_goes_away_takes_the_link_down() {
    let bench = Bench::new(0);
    let mut status = [0; 2];
    bench.rig.virtio.read(0x106, &mut status);
    assert_eq!(status, [1, 0]);
    // Reading a directory fails as reading a TAP that was deleted does.
    let gone = std::fs::File::open("/").unwrap();
    let net = Net::with_link(Link::Tap(Tap::stand_in(gone.into())), Some(MAC)).unwrap();
    let mut rig = Rig::new(Box::new(net));
    rig.start(0);
    rig.virtio.read(0x106, &mut status);
    assert_eq!(status, [0, 0]);
    assert_eq!(rig.get(0x60) & 2, 2, "no configuration interrupt");
    assert!(!rig.source(LINK, EventSet::IN));
}

#[test]
fn addresses_and_names_are_checked() {
    let tap = || Link::Tap(Tap::stand_in(UnixDatagram::pair().unwrap().0.into()));
    for bad in [[1, 0, 0, 0, 0, 1], [0; 6], [0xff; 6]] {
        assert!(Net::with_link(tap(), Some(bad)).is_err());
    }
    let random = Net::with_link(tap(), None).unwrap().mac();
    assert_eq!(random[0] & 3, 2);
    let say = |tap: &str| {
        Net::new(&NetConfig {
            tap: tap.into(),
            mac: None,
        })
        .err()
        .unwrap()
        .to_string()
    };
    let missing = say("nosuchtap0");
    for part in [
        "no such interface; make it with 'sudo ip tuntap add dev nosuchtap0 mode tap user $USER; ",
        "; sudo ip addr add 192.168.77.1/24 dev nosuchtap0; ",
        "; sudo ip link set nosuchtap0 up'",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
    for bad in ["", "a/b", "tap%d", "a-name-that-is-too-long", "nul\0"] {
        assert!(
            say(bad).contains("cannot be the name of a network interface"),
            "{bad}"
        );
    }
    let loopback = say("lo");
    assert!(
        loopback.starts_with("is an interface of another kind, not a TAP; make one with 'sudo ip "),
        "{loopback}"
    );
}
