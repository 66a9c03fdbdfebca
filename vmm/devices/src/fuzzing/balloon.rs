// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Balloon: only whole host pages inside guest memory are ever released.

use std::io;

use vm_memory::GuestAddress;

use super::{Script, notify, run, start};
use crate::balloon::{Balloon, PageRelease};
use crate::sys;
use crate::testing::{BASE, BUFFERS, Buf, END, Rig, memory};

const LIST_AT: u64 = BUFFERS + 0xf000;

/// Releases nothing, and fails every 256th time.
struct Witness(u8);

impl PageRelease for Witness {
    fn release(&mut self, addr: GuestAddress, len: u64) -> io::Result<()> {
        let end = addr.0.checked_add(len);
        assert!(len > 0 && addr.0 >= BASE && end.is_some_and(|end| end <= END));
        assert_eq!((addr.0 % sys::page_size(), len % sys::page_size()), (0, 0));
        self.0 = self.0.wrapping_add(1);
        if self.0 == 0 {
            Err(io::ErrorKind::OutOfMemory.into())
        } else {
            Ok(())
        }
    }
}

/// Runs one input.
#[allow(clippy::expect_used)]
pub fn balloon(data: &[u8]) {
    let mut script = Script(data);
    let mem = memory();
    let (device, control) = Balloon::new(&mem, Box::new(Witness(0))).expect("an eventfd");
    let mut rig = Rig::with_memory(Box::new(device), mem);
    start(&mut rig, &mut script);
    run(&mut rig, &mut script, |rig, step, script| {
        match step % 4 {
            0 => list(rig, script),
            1 => drop(control.set_target(u64::from(script.u32()))),
            2 => drop(control.refresh_stats()),
            _ => super::sources(rig),
        }
        let _ = (control.stats(), control.actual(), control.target());
    });
}

/// A list of frames in and around guest memory.
fn list(rig: &mut Rig, script: &mut Script<'_>) {
    if rig.queues.is_empty() {
        return;
    }
    let index = usize::from(script.u8()) % rig.queues.len();
    let frames: Vec<u8> = script
        .run()
        .iter()
        .flat_map(|&at| {
            (((BASE >> 12) - 8) as u32)
                .wrapping_add(u32::from(at) * 5)
                .to_le_bytes()
        })
        .collect();
    rig.put(LIST_AT, &frames);
    rig.add(index, &[Buf::Read(LIST_AT, frames.len() as u32)]);
    notify(rig, index);
}
