// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Block: a read-only image never changes; a writable one changes only in whole sectors that some
//! request named, never in its size or beyond its last whole sector.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::{Script, notify, run, start};
use crate::block::{Block, BlockConfig};
use crate::sys;
use crate::testing::{BUFFERS, Buf, Rig};

const SECTORS: u64 = 40;
const TAIL: u64 = 100;
const SIZE: usize = (SECTORS * 512 + TAIL) as usize;
const HEADER_AT: u64 = BUFFERS + 0xf000;
const STATUS_AT: u64 = BUFFERS + 0xf800;

/// Runs one input.
#[allow(clippy::expect_used)]
pub fn block(data: &[u8]) {
    let mut script = Script(data);
    let read_only = script.u8() & 1 != 0;
    let before: Vec<u8> = (0..SIZE).map(|i| (i / 7) as u8 | 1).collect();
    let image = sys::memfd().expect("a memfd");
    image.write_all_at(&before, 0).expect("a memfd takes bytes");
    let config = BlockConfig {
        read_only,
        id: "fuzz".into(),
    };
    let file = image.try_clone().expect("a descriptor");
    let device = Block::new(file, config).expect("a good image");
    let mut rig = Rig::new(Box::new(device));
    start(&mut rig, &mut script);
    run(&mut rig, &mut script, request);
    let after = contents(&image);
    assert_eq!(after.len(), SIZE, "the image's size changed");
    let keep = if read_only { 0 } else { SIZE - TAIL as usize };
    assert_eq!(
        after[keep..],
        before[keep..],
        "bytes changed that no request could name"
    );
}

/// A request with its parts in order, whose fields are the script's.
fn request(rig: &mut Rig, _step: u8, script: &mut Script<'_>) {
    if rig.queues.is_empty() {
        return;
    }
    let mut header = [0; 16];
    header[0] = script.u8();
    let sector = u64::from(script.u8());
    let sector = if sector == 255 { script.u64() } else { sector };
    header[8..].copy_from_slice(&sector.to_le_bytes());
    rig.put(HEADER_AT, &header);
    let count = script.u8() % 5;
    let mut bufs = vec![Buf::Read(HEADER_AT, 16)];
    bufs.extend((0..count).map(|_| script.buf()));
    bufs.push(Buf::Write(STATUS_AT, 1));
    rig.add(0, &bufs);
    notify(rig, 0);
}

#[allow(clippy::expect_used)]
fn contents(image: &File) -> Vec<u8> {
    let len = image.metadata().expect("a memfd").len();
    let mut bytes = vec![0; len as usize];
    image
        .read_exact_at(&mut bytes, 0)
        .expect("a memfd gives its bytes");
    bytes
}
