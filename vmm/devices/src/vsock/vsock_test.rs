// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use super::connection::BUF_ALLOC;
use super::*;
use crate::testing::{BUFFERS, Buf, END, Rig};
use crate::virtio::lock;

#[path = "vsock_hostile_test.rs"]
mod hostile;

const CID: u64 = 42;
const GUEST_PORT: u32 = 1024;
const TX_AT: u64 = BUFFERS;
const RX_AT: u64 = BUFFERS + 0x4_0000;
const RX_ROOM: u32 = 4096;

fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (near, far)
}

struct Bench {
    rig: Rig,
    host: FakeHost,
    rx_posted: u64,
}

impl Bench {
    fn new() -> Self {
        let host = FakeHost::default();
        let mut rig = Rig::new(Box::new(Vsock::with_host(CID, Box::new(host.clone()))));
        rig.start(0);
        let mut bench = Self {
            rig,
            host,
            rx_posted: 0,
        };
        bench.post(8);
        bench
    }

    /// Gives the device receive buffers.
    fn post(&mut self, count: u64) {
        for _ in 0..count {
            let at = RX_AT + self.rx_posted % 16 * u64::from(RX_ROOM);
            self.rig.add(RX, &[Buf::Write(at, RX_ROOM)]);
            self.rx_posted += 1;
        }
        self.rig.notify(RX);
    }

    /// The next packet for the guest; its buffer goes back.
    fn got(&mut self) -> Option<(Header, Vec<u8>)> {
        let packet = self.peek()?;
        self.post(1);
        Some(packet)
    }

    fn peek(&mut self) -> Option<(Header, Vec<u8>)> {
        let (head, len) = self.rig.used(RX)?;
        let at = RX_AT + u64::from(head) * u64::from(RX_ROOM);
        let bytes = self.rig.take(at, len as usize);
        let header = Header::from_bytes(bytes[..HEADER].try_into().unwrap());
        assert_eq!(header.len as usize, bytes.len() - HEADER);
        assert_eq!(
            (header.src_cid, header.dst_cid, header.kind),
            (HOST_CID, CID, TYPE_STREAM)
        );
        Some((header, bytes[HEADER..].to_vec()))
    }

    fn op(&mut self) -> Option<u16> {
        self.got().map(|(header, _)| header.op)
    }

    fn send_header(&mut self, header: &Header, data: &[u8]) {
        self.rig.put(TX_AT, &header.to_bytes());
        self.rig.put(TX_AT + HEADER as u64, data);
        self.rig
            .request(TX, &[Buf::Read(TX_AT, (HEADER + data.len()) as u32)]);
        assert!(self.rig.used(TX).is_some(), "a packet was not taken");
    }

    fn send(&mut self, host_port: u32, op: u16, data: &[u8]) {
        self.send_header(
            &Header {
                len: data.len() as u32,
                ..header(host_port, op)
            },
            data,
        );
    }

    fn shutdown(&mut self, host_port: u32, flags: u32) {
        self.send_header(
            &Header {
                flags,
                ..header(host_port, OP_SHUTDOWN)
            },
            &[],
        );
    }

    /// A connection of the guest to port 80 of the host; the host's end.
    fn connect(&mut self) -> UnixStream {
        self.send(80, OP_REQUEST, &[]);
        assert_eq!(self.op(), Some(OP_RESPONSE));
        let far = lock(&self.host.reached).pop().unwrap().1;
        far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        far
    }

    /// Delivers what the sockets have for the device, until it wants no more.
    fn poll(&self) {
        for _ in 0..100 {
            let watched: Vec<_> = lock(&self.rig.watched.0)
                .iter()
                .map(|(&fd, &w)| (fd, w))
                .collect();
            let mut any = false;
            for (fd, (token, wanted)) in watched {
                let events = crate::testing::poll_fd(fd, wanted);
                if !events.is_empty() {
                    any = true;
                    self.rig.virtio.handle(Event::Source(token, events));
                }
            }
            if !any {
                return;
            }
        }
        panic!("the device watches a socket that it does not serve");
    }
}

fn header(host_port: u32, op: u16) -> Header {
    Header {
        src_cid: CID,
        dst_cid: HOST_CID,
        src_port: GUEST_PORT,
        dst_port: host_port,
        kind: TYPE_STREAM,
        op,
        buf_alloc: 0x1_0000,
        ..Header::default()
    }
}

#[test]
fn the_guest_connects_and_data_goes_both_ways() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    bench.send(80, OP_RW, b"from the guest");
    let mut buf = [0; 64];
    let len = far.read(&mut buf).unwrap();
    assert_eq!(&buf[..len], b"from the guest");
    far.write_all(b"from the host").unwrap();
    bench.poll();
    let (header, data) = bench.got().unwrap();
    assert_eq!(
        (header.op, header.src_port, header.dst_port),
        (OP_RW, 80, GUEST_PORT)
    );
    assert_eq!(data, b"from the host");
    assert_eq!(header.fwd_cnt, 14);
    assert_eq!(header.buf_alloc, BUF_ALLOC);
    // The guest closes: refused, and the host sees the end.
    bench.shutdown(80, SHUTDOWN_BOTH);
    assert_eq!(bench.op(), Some(OP_RST));
    assert_eq!(far.read(&mut buf).unwrap(), 0);
    assert_eq!(bench.rig.counter("open"), 0);
}

#[test]
fn the_host_connects_with_the_line_protocol() {
    let mut bench = Bench::new();
    let (near, far) = pair();
    lock(&bench.host.arriving).push_back(near);
    bench
        .rig
        .virtio
        .handle(Event::Source(LISTENER, EventSet::IN));
    let mut far = BufReader::new(far);
    far.get_mut().write_all(b"CONNECT 10").unwrap();
    bench.poll();
    assert_eq!(bench.op(), None);
    far.get_mut().write_all(b"24\n").unwrap();
    bench.poll();
    let (request, _) = bench.got().unwrap();
    assert_eq!((request.op, request.dst_port), (OP_REQUEST, GUEST_PORT));
    assert_eq!(request.src_port, FIRST_HOST_PORT);
    bench.send(request.src_port, OP_RESPONSE, &[]);
    let mut line = String::new();
    far.read_line(&mut line).unwrap();
    assert_eq!(line, format!("OK {}\n", request.src_port));
    far.get_mut().write_all(b"hello").unwrap();
    bench.poll();
    assert_eq!(bench.got().unwrap().1, b"hello");
}

#[test]
fn a_host_program_is_told_when_the_guest_refuses() {
    let mut bench = Bench::new();
    let (near, mut far) = pair();
    lock(&bench.host.arriving).push_back(near);
    bench
        .rig
        .virtio
        .handle(Event::Source(LISTENER, EventSet::IN));
    far.write_all(b"CONNECT 7\n").unwrap();
    bench.poll();
    let (request, _) = bench.got().unwrap();
    let reply = Header {
        src_port: 7,
        ..header(request.src_port, OP_RST)
    };
    bench.send_header(&reply, &[]);
    assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(bench.rig.counter("open"), 0);
}

#[test]
fn a_half_closed_stream_still_carries_the_other_half() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    bench.shutdown(80, SHUTDOWN_SEND);
    assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
    far.write_all(b"still here").unwrap();
    bench.poll();
    assert_eq!(bench.got().unwrap().1, b"still here");
    bench.send(80, OP_RW, b"x");
    assert_eq!(bench.op(), Some(OP_RST), "data after SHUTDOWN");

    let mut far = bench.connect();
    far.shutdown(Shutdown::Write).unwrap();
    bench.poll();
    let (header, _) = bench.got().unwrap();
    assert_eq!((header.op, header.flags), (OP_SHUTDOWN, SHUTDOWN_SEND));
    bench.send(80, OP_RW, b"more");
    let mut buf = [0; 4];
    far.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"more");
    drop(far);
    bench.poll();
    let (header, _) = bench.got().unwrap();
    assert_eq!((header.op, header.flags), (OP_SHUTDOWN, SHUTDOWN_BOTH));
    bench.send(80, OP_RST, &[]);
    assert_eq!(bench.rig.counter("open"), 0);
}

#[test]
fn data_before_the_close_arrives() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    far.write_all(&[7; 10_000]).unwrap();
    drop(far);
    bench.poll();
    let mut got = 0;
    let last = loop {
        bench.poll();
        let (header, data) = bench.got().unwrap();
        got += data.len();
        if header.op != OP_RW {
            break header;
        }
    };
    assert_eq!(got, 10_000);
    assert_eq!((last.op, last.flags), (OP_SHUTDOWN, SHUTDOWN_BOTH));
}

#[test]
fn the_guests_credit_is_respected_and_the_socket_rests() {
    let mut bench = Bench::new();
    bench.send_header(
        &Header {
            buf_alloc: 100,
            ..header(80, OP_REQUEST)
        },
        &[],
    );
    assert_eq!(bench.op(), Some(OP_RESPONSE));
    let mut far = lock(&bench.host.reached).pop().unwrap().1;
    far.write_all(&[1; 250]).unwrap();
    bench.poll();
    assert_eq!(bench.got().unwrap().1.len(), 100);
    bench.poll();
    assert!(bench.got().is_none(), "more than the credit");
    let update = Header {
        buf_alloc: 100,
        fwd_cnt: 60,
        ..header(80, OP_CREDIT_UPDATE)
    };
    bench.send_header(&update, &[]);
    assert_eq!(bench.got().unwrap().1.len(), 60);
    let nonsense = Header {
        buf_alloc: 10,
        fwd_cnt: u32::MAX,
        ..header(80, OP_CREDIT_UPDATE)
    };
    bench.send_header(&nonsense, &[]);
    assert!(bench.got().is_none());
}

#[test]
fn without_receive_buffers_nothing_is_lost_and_nothing_spins() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    far.write_all(&[9; 50_000]).unwrap();
    bench.poll();
    let mut got = 0;
    while let Some((_, data)) = bench.peek() {
        got += data.len();
    }
    assert_eq!(got, 8 * (RX_ROOM as usize - HEADER));
    bench.poll();
    assert!(bench.peek().is_none());
    bench.post(8);
    while let Some((_, data)) = bench.peek() {
        got += data.len();
    }
    assert_eq!(got, 50_000);
}

#[test]
fn a_slow_host_is_buffered_up_to_the_credit_and_no_further() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    let chunk = [5_u8; 60_000];
    let mut sent = 0;
    // Fill the socket, then the backlog.
    let last = loop {
        bench.send(80, OP_RW, &chunk);
        match bench.got() {
            None => sent += chunk.len(),
            Some((header, _)) if header.op == OP_CREDIT_UPDATE => sent += chunk.len(),
            Some((header, _)) => break header,
        }
        assert!(sent < 4 << 20, "a guest was never stopped");
    };
    assert_eq!(last.op, OP_RST);
    assert_eq!(bench.rig.counter("open"), 0);

    let mut fresh = bench.connect();
    for _ in 0..5 {
        bench.send(80, OP_RW, &chunk[..50_000]);
    }
    let reader = std::thread::spawn(move || {
        let mut all = vec![0; 250_000];
        fresh.read_exact(&mut all).unwrap();
        assert!(all.iter().all(|&b| b == 5));
        fresh
    });
    while !reader.is_finished() {
        bench.poll();
    }
    drop(reader.join().unwrap());
    assert!(far.read(&mut [0; 1]).is_ok());
}

#[test]
fn credit_is_told_when_asked_and_when_much_was_consumed() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    bench.send(80, OP_CREDIT_REQUEST, &[]);
    assert_eq!(bench.op(), Some(OP_CREDIT_UPDATE));
    bench.send(80, OP_RW, &[0; 60_000]);
    assert_eq!(bench.op(), None);
    far.read_exact(&mut [0; 60_000]).unwrap();
    bench.send(80, OP_RW, &[0; 10_000]);
    let (header, _) = bench.got().unwrap();
    assert_eq!((header.op, header.fwd_cnt), (OP_CREDIT_UPDATE, 70_000));
}

#[test]
fn a_packet_may_be_cut_anywhere() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    let packet = Header {
        len: 5,
        ..header(80, OP_RW)
    };
    bench.rig.put(TX_AT, &packet.to_bytes());
    bench.rig.put(TX_AT + 44, b"whole");
    let bufs = [
        Buf::Read(TX_AT, 20),
        Buf::Read(TX_AT + 20, 26),
        Buf::Read(TX_AT + 46, 3),
    ];
    bench.rig.request(TX, &bufs);
    let mut buf = [0; 5];
    far.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"whole");
}

#[test]
fn a_reset_closes_everything() {
    let mut bench = Bench::new();
    let mut far = bench.connect();
    bench.rig.set(0x70, 0);
    assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
    assert!(lock(&bench.rig.watched.0).is_empty());
    bench.rig.start(0);
    bench.post(4);
    bench.connect();
}

#[test]
fn through_the_real_loop_and_real_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let uds = dir.path().join("v.sock");
    let service = UnixListener::bind(dir.path().join("v.sock_80")).unwrap();
    let vsock = Vsock::new(&VsockConfig {
        cid: CID,
        uds: uds.clone(),
    })
    .unwrap();
    let mut live = crate::testing::Live::start(Box::new(vsock), 0);
    for i in 0..8 {
        live.add(RX, &[Buf::Write(RX_AT + i * u64::from(RX_ROOM), RX_ROOM)]);
    }
    live.put(TX_AT, &header(80, OP_REQUEST).to_bytes());
    live.request(TX, &[Buf::Read(TX_AT, HEADER as u32)]);
    let (mut far, _) = service.accept().unwrap();
    let op = |live: &mut crate::testing::Live| {
        let (head, len) = live.wait_used(RX);
        let bytes = live.take(RX_AT + u64::from(head) * u64::from(RX_ROOM), len as usize);
        (
            Header::from_bytes(bytes[..HEADER].try_into().unwrap()),
            bytes[HEADER..].to_vec(),
        )
    };
    assert_eq!(op(&mut live).0.op, OP_RESPONSE);
    far.write_all(b"ping").unwrap();
    assert_eq!(op(&mut live).1, b"ping");
    let mut client = UnixStream::connect(&uds).unwrap();
    client.write_all(b"CONNECT 22\n").unwrap();
    assert_eq!(op(&mut live).0.op, OP_REQUEST);
    drop(live);
    assert!(!uds.exists(), "the socket was left behind");
}
