// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Guests and host programs that do not keep to the protocol.

use super::*;

#[test]
fn host_programs_that_misbehave_are_dropped() {
    let long = [b'C'; 100];
    let bad: [&[u8]; 4] = [b"GET / HTTP/1.0\r\n", b"CONNECT x\n", b"\n", &long];
    for line in bad {
        let mut bench = Bench::new();
        let (near, mut far) = pair();
        lock(&bench.host.arriving).push_back(near);
        bench
            .rig
            .virtio
            .handle(Event::Source(LISTENER, EventSet::IN));
        far.write_all(line).unwrap();
        bench.poll();
        // Unread bytes make it a reset rather than an end.
        let end = far.read(&mut [0; 8]);
        assert!(
            end.as_ref().is_ok_and(|&n| n == 0) || end.is_err(),
            "{line:?} {end:?}"
        );
        assert_eq!(bench.op(), None);
    }
    // Too many that say nothing: the oldest goes.
    let mut bench = Bench::new();
    let mut fars: Vec<_> = (0..=MAX_CLIENTS)
        .map(|_| {
            let (near, far) = pair();
            lock(&bench.host.arriving).push_back(near);
            far
        })
        .collect();
    for _ in 0..2 {
        bench
            .rig
            .virtio
            .handle(Event::Source(LISTENER, EventSet::IN));
    }
    assert_eq!(fars[0].read(&mut [0; 8]).unwrap(), 0);
    fars[1].write_all(b"CONNECT 9\n").unwrap();
    bench.poll();
    assert_eq!(bench.op(), Some(OP_REQUEST));
}

#[test]
fn packets_for_nobody_are_refused_or_ignored() {
    let mut bench = Bench::new();
    for op in [OP_RESPONSE, OP_RW, OP_SHUTDOWN, OP_CREDIT_REQUEST, 0, 99] {
        bench.send(81, op, &[]);
        assert_eq!(bench.op(), Some(OP_RST), "op {op}");
    }
    bench.send(81, OP_RST, &[]);
    bench.send_header(
        &Header {
            dst_cid: 77,
            ..header(80, OP_REQUEST)
        },
        &[],
    );
    bench.send_header(
        &Header {
            src_cid: 77,
            ..header(80, OP_REQUEST)
        },
        &[],
    );
    assert_eq!(bench.op(), None);
    assert_eq!(bench.rig.counter("ignored"), 2);
    *lock(&bench.host.refuse) = true;
    bench.send(80, OP_REQUEST, &[]);
    assert_eq!(bench.op(), Some(OP_RST));
    *lock(&bench.host.refuse) = false;
    let _far = bench.connect();
    bench.send(80, OP_REQUEST, &[]);
    assert_eq!(
        bench.op(),
        Some(OP_RST),
        "a second REQUEST for the same ports"
    );
}

#[test]
fn packets_of_other_types_are_refused_in_kind() {
    let mut bench = Bench::new();
    let seqpacket = Header {
        kind: 2,
        ..header(80, OP_REQUEST)
    };
    bench.rig.put(TX_AT, &seqpacket.to_bytes());
    bench.rig.request(TX, &[Buf::Read(TX_AT, HEADER as u32)]);
    let (head, len) = bench.rig.used(RX).unwrap();
    assert_eq!(len as usize, HEADER);
    let bytes = bench
        .rig
        .take(RX_AT + u64::from(head) * u64::from(RX_ROOM), HEADER);
    let reply = Header::from_bytes(bytes[..].try_into().unwrap());
    assert_eq!((reply.op, reply.kind, reply.src_port), (OP_RST, 2, 80));
}

#[test]
fn connections_and_replies_are_bounded() {
    let mut bench = Bench::new();
    for port in 0..MAX_CONNECTIONS as u32 + 10 {
        bench.send_header(
            &Header {
                src_port: port,
                ..header(80, OP_REQUEST)
            },
            &[],
        );
        let want = if port < MAX_CONNECTIONS as u32 {
            OP_RESPONSE
        } else {
            OP_RST
        };
        assert_eq!(bench.op(), Some(want), "port {port}");
        lock(&bench.host.reached).truncate(1);
    }
    assert_eq!(bench.rig.counter("open"), MAX_CONNECTIONS as u64);

    let mut bench = Bench::new();
    while bench.peek().is_some() {}
    // Take the buffers away: eight refusals use them up, the rest queue up here, then on the ring.
    let mut taken = 0;
    for _ in 0..2 * MAX_REPLIES {
        bench.rig.put(TX_AT, &header(81, OP_RW).to_bytes());
        bench.rig.request(TX, &[Buf::Read(TX_AT, HEADER as u32)]);
        if bench.rig.used(TX).is_none() {
            break;
        }
        taken += 1;
    }
    assert_eq!(taken, MAX_REPLIES + 8);
    while bench.peek().is_some() {}
    for _ in 0..40 {
        bench.post(8);
        while bench.peek().is_some() {}
    }
    bench.rig.serve(TX);
    assert!(
        bench.rig.used(TX).is_some(),
        "the packet on the ring was forgotten"
    );
}

#[test]
fn connections_that_come_and_go_leave_nothing_in_the_queue() {
    let mut bench = Bench::new();
    // Without receive buffers, so that nothing that waits for the guest can go.
    while bench.peek().is_some() {}
    for port in 1..=8 {
        bench.send(port, OP_RW, &[]);
        assert_eq!(bench.peek().unwrap().0.op, OP_RST);
    }
    for _ in 0..1000 {
        bench.send(80, OP_REQUEST, &[]);
        assert_eq!(bench.rig.counter("waiting"), 1);
        bench.send(80, OP_RST, &[]);
        lock(&bench.host.reached).clear();
    }
    assert_eq!(bench.rig.counter("waiting"), 0);
}

#[test]
fn malformed_packets_break_the_ring() {
    let long = Header {
        len: 101,
        ..header(80, OP_RW)
    };
    let cases: &[(&[Buf], Header)] = &[
        (&[Buf::Read(TX_AT, 43)], header(80, OP_REQUEST)),
        (&[Buf::Read(TX_AT, 144)], long),
        (
            &[Buf::Read(TX_AT, 44)],
            Header {
                len: u32::MAX,
                ..long
            },
        ),
        (&[Buf::Write(TX_AT, 44)], long),
        (&[Buf::Read(TX_AT, 44), Buf::Write(TX_AT, 44)], long),
        (&[Buf::Read(END - 43, 44)], long),
    ];
    for (i, (bufs, header)) in cases.iter().enumerate() {
        let mut bench = Bench::new();
        let mut far = bench.connect();
        bench.rig.put(TX_AT, &header.to_bytes());
        bench.rig.request(TX, bufs);
        assert!(bench.rig.needs_reset(), "case {i}");
        assert_eq!(
            far.read(&mut [0; 8]).unwrap(),
            0,
            "case {i}: a dead device keeps a stream"
        );
        assert!(lock(&bench.rig.watched.0).is_empty(), "case {i}");
    }
    for buf in [
        Buf::Write(RX_AT, 44),
        Buf::Read(RX_AT, 4096),
        Buf::Write(END - 1, 4096),
    ] {
        let host = FakeHost::default();
        let mut rig = Rig::new(Box::new(Vsock::with_host(CID, Box::new(host))));
        rig.start(0);
        rig.request(RX, &[buf]);
        rig.put(TX_AT, &header(81, OP_RW).to_bytes());
        rig.request(TX, &[Buf::Read(TX_AT, 44)]);
        assert!(rig.needs_reset(), "{buf:?}");
    }
}

#[test]
fn reserved_addresses_are_refused() {
    for cid in [0, 1, 2, u64::from(u32::MAX), u64::MAX] {
        let config = VsockConfig {
            cid,
            uds: "/nonexistent/v".into(),
        };
        assert!(
            Vsock::new(&config)
                .err()
                .unwrap()
                .to_string()
                .contains("reserved")
        );
    }
}
