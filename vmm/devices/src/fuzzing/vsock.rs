// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Vsock: host programs connect, disconnect, send and stop reading while the guest sends anything
//! at all. Memory kept for it stays bounded, and nothing spins.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::{Script, notify, run, sources, start};
use crate::testing::{BUFFERS, Buf, Rig};
use crate::virtio::{Event, lock};
use crate::vsock::{self, FakeHost};

const PACKET_AT: u64 = BUFFERS + 0xf000;
const CID: u64 = 3;

/// Runs one input.
pub fn vsock(data: &[u8]) {
    let mut script = Script(data);
    let host = FakeHost::default();
    let mut rig = Rig::new(Box::new(vsock::with_fake_host(CID, host.clone())));
    start(&mut rig, &mut script);
    let mut programs: Vec<UnixStream> = Vec::new();
    run(&mut rig, &mut script, |rig, step, script| {
        match step % 8 {
            0 => packet(rig, script),
            1 => receive_buffers(rig, script),
            2 => *lock(&host.refuse) = script.u8() & 1 != 0,
            3 => arrive(rig, script, &host, &mut programs),
            _ => talk(step, script, &mut programs),
        }
        programs.extend(lock(&host.reached).drain(..).map(|(_, stream)| stream));
        sources(rig);
        assert!(rig.counter("open") <= 1023);
    });
    assert!(Arc::strong_count(&rig.mem) >= 1);
}

/// A packet whose header is well-formed and whose fields are the script's.
fn packet(rig: &mut Rig, script: &mut Script<'_>) {
    if rig.queues.len() < 2 {
        return;
    }
    let op = u16::from(script.u8() % 9);
    let (src_port, dst_port) = (u32::from(script.u8() % 4), u32::from(script.u8() % 4));
    let dst_port = if script.u8() & 1 != 0 {
        dst_port | 1 << 30
    } else {
        dst_port
    };
    let len = script.len() % 0x1_0000;
    let flags = u32::from(script.u8());
    let (buf_alloc, fwd_cnt) = (script.len(), script.len());
    let mut bytes = Vec::new();
    bytes.extend(CID.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    for field in [src_port, dst_port, len] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(op.to_le_bytes());
    for field in [flags, buf_alloc, fwd_cnt] {
        bytes.extend(field.to_le_bytes());
    }
    rig.put(PACKET_AT, &bytes);
    let mut bufs = vec![Buf::Read(PACKET_AT, 44)];
    if len > 0 {
        bufs.push(Buf::Read(BUFFERS, len));
    }
    rig.add(1, &bufs);
    notify(rig, 1);
}

fn receive_buffers(rig: &mut Rig, script: &mut Script<'_>) {
    if rig.queues.is_empty() {
        return;
    }
    for i in 0..u64::from(script.u8() % 16) {
        rig.add(0, &[Buf::Write(BUFFERS + 0x1_0000 + i * 0x1000, 4096)]);
    }
    notify(rig, 0);
}

/// A host program connects to the socket and says something.
#[allow(clippy::expect_used)]
fn arrive(rig: &Rig, script: &mut Script<'_>, host: &FakeHost, programs: &mut Vec<UnixStream>) {
    let (near, mut far) = UnixStream::pair().expect("a socket pair");
    near.set_nonblocking(true).expect("a socket");
    far.set_nonblocking(true).expect("a socket");
    let line = match script.u8() {
        255 => script.run(),
        port => format!("CONNECT {}\n", port % 4).into_bytes(),
    };
    let _ = far.write(&line);
    lock(&host.arriving).push_back(near);
    programs.push(far);
    rig.virtio
        .handle(Event::Source(0, vmm_sys_util::epoll::EventSet::IN));
}

/// A host program does something with its stream.
fn talk(step: u8, script: &mut Script<'_>, programs: &mut Vec<UnixStream>) {
    if programs.is_empty() {
        return;
    }
    let index = usize::from(script.u8()) % programs.len();
    let stream = &mut programs[index];
    let _ = stream.set_nonblocking(true);
    match step % 8 {
        4 => drop(stream.write(&vec![step; script.len() as usize % 0x1_0000])),
        5 => drop(stream.read(&mut vec![0; 0x1_0000])),
        6 => drop(stream.shutdown(Shutdown::Write)),
        _ => drop(programs.swap_remove(index)),
    }
}
