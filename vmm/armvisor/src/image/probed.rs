// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A raw image whose format was found by its first bytes. A guest that made it look like another format
//! would decide how the next VM reads it: such a write fails, as QEMU has it.
//!
//! Zeroes need no check: no magic number is left, or made, in a sector of zeroes.

use std::io;
use std::sync::{Mutex, PoisonError};

use armvisor_devices::block::{Image, RawImage};
use vm_memory::VolatileSlice;

use super::read_at;
use crate::disk::format::{HEAD, TAIL, find};

/// Bytes written at a time where the check looks.
const STEP: usize = 64 << 10;

/// The image.
#[derive(Debug)]
pub(super) struct ProbedRaw {
    raw: RawImage,
    /// Held from a check to the end of its write.
    turn: Mutex<()>,
}

impl ProbedRaw {
    /// Takes an image that looks raw.
    pub(super) fn new(raw: RawImage) -> Self {
        ProbedRaw {
            raw,
            turn: Mutex::new(()),
        }
    }

    fn tail(&self) -> u64 {
        self.bytes().saturating_sub(TAIL as u64)
    }

    /// Whether the format depends on any of these bytes.
    fn decides(&self, offset: u64, len: u64) -> bool {
        offset < HEAD as u64 || offset + len > self.tail()
    }

    fn put(&self, data: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(data, offset)?;
        self.raw.write(vec![VolatileSlice::from(data)], offset)
    }

    /// Refuses `data` at `offset` if the image would look like another format with it.
    fn check(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut head = vec![0; self.bytes().min(HEAD as u64) as usize];
        let mut tail = vec![0; self.bytes().min(TAIL as u64) as usize];
        for (part, at) in [(&mut head, 0), (&mut tail, self.tail())] {
            read_at(&self.raw, part, at)?;
            lay(data, offset, part, at);
        }
        match find(&head, &tail) {
            None => Ok(()),
            Some(format) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "the image would look like {} to the next VM; if the guest may write that, add \
                     '--image-format raw'",
                    format.name()
                ),
            )),
        }
    }
}

/// Copies what of `data`, which begins at `offset`, is in `part`, which begins at `at`.
fn lay(data: &[u8], offset: u64, part: &mut [u8], at: u64) {
    let from = offset.max(at);
    let to = (offset + data.len() as u64).min(at + part.len() as u64);
    if from < to {
        let range = |start: u64| (from - start) as usize..(to - start) as usize;
        part[range(at)].copy_from_slice(&data[range(offset)]);
    }
}

impl Image for ProbedRaw {
    fn bytes(&self) -> u64 {
        self.raw.bytes()
    }

    fn block_size(&self) -> u64 {
        self.raw.block_size()
    }

    fn can_discard(&self) -> bool {
        self.raw.can_discard()
    }

    fn read(&self, into: Vec<VolatileSlice>, offset: u64) -> io::Result<()> {
        self.raw.read(into, offset)
    }

    fn write(&self, from: Vec<VolatileSlice>, mut offset: u64) -> io::Result<()> {
        let len = from.iter().map(|slice| slice.len() as u64).sum();
        if !self.decides(offset, len) {
            return self.raw.write(from, offset);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // A copy, which the guest cannot change once it is checked.
        let (mut own, mut filled) = (vec![0; STEP], 0);
        for slice in from {
            let mut at = 0;
            while at < slice.len() {
                let rest = slice.offset(at).map_err(io::Error::other)?;
                let copied = rest.copy_to(&mut own[filled..]);
                at += copied;
                filled += copied;
                if filled == STEP {
                    self.put(&mut own, offset)?;
                    offset += STEP as u64;
                    filled = 0;
                }
            }
        }
        match filled {
            0 => Ok(()),
            _ => self.put(&mut own[..filled], offset),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.raw.flush()
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        self.raw.discard(offset, len)
    }

    fn write_zeroes(&self, offset: u64, len: u64, unmap: bool) -> io::Result<()> {
        self.raw.write_zeroes(offset, len, unmap)
    }
}
