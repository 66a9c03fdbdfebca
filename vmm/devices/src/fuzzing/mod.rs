// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Code of the fuzz targets in `vmm/fuzz`: bytes become a driver's actions, good and bad, on one
//! device, and each target checks invariants that hold whatever a guest does.
//!
//! An input is a script: a byte for the step, then its operands. It begins with the features that
//! are negotiated. Addresses are one byte that selects an interesting place, so that inputs stay
//! small and mutations meaningful. Missing bytes read as zero, and step 0 ends the script.
//!
//! All targets check: no panic (arithmetic included), no endless loop, no source left behind after
//! a reset. The ordinary tests replay the corpus.

mod balloon;
mod block;
mod button;
mod mmio;
mod net;
mod vsock;

use std::sync::Arc;

use vmm_sys_util::epoll::EventSet;

pub use balloon::balloon;
pub use block::block;
pub use button::button;
pub use mmio::mmio;
pub use net::net;
pub use vsock::vsock;

use crate::MmioDevice;
use crate::testing::{BASE, BUFFERS, Buf, END, REGION, Rig};
use crate::virtio::{Event, lock};

/// Steps of one script at most, so that no input takes long.
const MAX_STEPS: usize = 200;

/// The bytes of an input, read from the front.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let len = self.0.len().min(N);
        out[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        out
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.bytes();
        byte
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A run of bytes with its length in front, at most 255.
    fn run(&mut self) -> Vec<u8> {
        let len = usize::from(self.u8()).min(self.0.len());
        let (run, rest) = self.0.split_at(len);
        self.0 = rest;
        run.to_vec()
    }

    /// A guest address: mostly buffers, also rings, edges and nonsense.
    fn addr(&mut self) -> u64 {
        let pick = self.u8();
        let low = u64::from(pick & 0x1f);
        match pick >> 5 {
            0..=3 => BUFFERS + u64::from(pick & 0x7f) * 0x200,
            4 => BASE + low * 0x1000,
            5 => END - low,
            6 => BASE + REGION - low,
            _ if low == 0 => self.u64(),
            _ => BASE - low,
        }
    }

    /// A length: mostly small, sometimes large.
    fn len(&mut self) -> u32 {
        match self.u8() {
            255 => self.u32(),
            254 => u32::from(self.u16()),
            small => u32::from(small) * 16 + u32::from(small & 1),
        }
    }

    fn buf(&mut self) -> Buf {
        let write = self.u8() & 1 != 0;
        let (addr, len) = (self.addr(), self.len());
        if write {
            Buf::Write(addr, len)
        } else {
            Buf::Read(addr, len)
        }
    }
}

/// Runs a script against `rig`; steps from 16 up are the target's own.
fn run(rig: &mut Rig, script: &mut Script<'_>, mut own: impl FnMut(&mut Rig, u8, &mut Script<'_>)) {
    for _ in 0..MAX_STEPS {
        match script.u8() {
            0 => break,
            step @ 1..=15 => common_step(rig, step, script),
            step => own(rig, step, script),
        }
    }
    rig.set(0x70, 0);
    assert!(
        lock(&rig.watched.0).is_empty(),
        "a source is left behind after a reset"
    );
}

/// Negotiates what the script says, of what is offered, and starts the device.
fn start(rig: &mut Rig, script: &mut Script<'_>) {
    let features = rig.offered() & script.u64();
    rig.start(features);
}

fn common_step(rig: &mut Rig, step: u8, script: &mut Script<'_>) {
    let queues = rig.queues.len().max(1);
    let index = usize::from(script.u8()) % queues;
    let mem = Arc::clone(&rig.mem);
    match step {
        1 => {
            let bufs: Vec<Buf> = (0..script.u8() % 9).map(|_| script.buf()).collect();
            if rig.queues.len() > index {
                rig.add(index, &bufs);
            }
        }
        2 => notify(rig, index),
        3 => put(rig, script),
        4 => {
            let (at, addr, len) = (script.u16() % 16, script.addr(), script.len());
            let (flags, next) = (u16::from(script.u8()), script.u16() % 20);
            if let Some(queue) = rig.queues.get(index) {
                queue.desc(&mem, at, addr, len, flags, next);
            }
        }
        5 => {
            let head = script.u16() % 20;
            if let Some(queue) = rig.queues.get_mut(index) {
                queue.offer(&mem, head);
            }
        }
        6 => {
            let idx = script.u16();
            if let Some(queue) = rig.queues.get(index) {
                queue.set_avail_idx(&mem, idx);
            }
        }
        7 => {
            let (offset, value) = (script.u16() & 0x1fc, script.u32());
            rig.set(u32::from(offset), value);
        }
        8 => access(rig, script),
        9 => sources(rig),
        10 => start(rig, script),
        11 => {
            let (at, addr, len) = (script.addr(), script.addr(), script.len());
            let (flags, next) = (u16::from(script.u8()), script.u16());
            if mem_holds(at, 16) {
                crate::testing::write_desc(&mem, at, addr, len, flags, next);
            }
        }
        _ => drain(rig),
    }
}

/// An MMIO access of any size, anywhere.
fn access(rig: &mut Rig, script: &mut Script<'_>) {
    let offset = u64::from(script.u16());
    let mut data = script.run();
    if data.first().is_some_and(|first| first & 1 != 0) {
        rig.virtio.write(offset, &data);
    } else {
        rig.virtio.read(offset, &mut data);
    }
}

fn put(rig: &Rig, script: &mut Script<'_>) {
    let (addr, bytes) = (script.addr(), script.run());
    if mem_holds(addr, bytes.len() as u64) {
        rig.put(addr, &bytes);
    }
}

fn mem_holds(addr: u64, len: u64) -> bool {
    addr >= BASE && addr.checked_add(len).is_some_and(|end| end <= END)
}

fn notify(rig: &mut Rig, index: usize) {
    rig.notify(index);
    // A device may pass work from one queue to another.
    for index in 0..rig.virtio.queue_events().len() {
        rig.serve(index);
    }
}

/// Takes what is on the used rings, as a driver does.
fn drain(rig: &mut Rig) {
    for index in 0..rig.queues.len() {
        while rig.used(index).is_some() {}
    }
}

/// Delivers what the watched descriptors have until the device wants no more. One that never stops
/// wanting something that is already there would spin in the event loop.
fn sources(rig: &mut Rig) {
    for _ in 0..2000 {
        let watched: Vec<_> = lock(&rig.watched.0)
            .iter()
            .map(|(&fd, &w)| (fd, w))
            .collect();
        let mut any = false;
        for (fd, (token, wanted)) in watched {
            if !lock(&rig.watched.0).contains_key(&fd) {
                continue;
            }
            let events: EventSet = crate::testing::poll_fd(fd, wanted);
            if !events.is_empty() {
                any = true;
                rig.virtio.handle(Event::Source(token, events));
            }
        }
        for index in 0..rig.virtio.queue_events().len() {
            rig.serve(index);
        }
        if !any {
            return;
        }
    }
    panic!("the device watches a descriptor that it does not serve");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// Every input that was ever interesting still does nothing wrong.
    fn replay(target: &str, run: fn(&[u8])) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz/corpus")
            .join(target);
        let mut count = 0;
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            run(&fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 10, "{} has only {count} inputs", dir.display());
    }

    #[test]
    fn corpus_of_balloon() {
        replay("balloon", super::balloon);
    }

    #[test]
    fn corpus_of_block() {
        replay("block", super::block);
    }

    #[test]
    fn corpus_of_button() {
        replay("button", super::button);
    }

    #[test]
    fn corpus_of_mmio() {
        replay("mmio", super::mmio);
    }

    #[test]
    fn corpus_of_net() {
        replay("net", super::net);
    }

    #[test]
    fn corpus_of_vsock() {
        replay("vsock", super::vsock);
    }
}
