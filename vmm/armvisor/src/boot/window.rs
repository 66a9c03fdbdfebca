// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Parts of an image as streams, and its partition table (UEFI 2.11, 5.3).

use std::error::Error;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use armvisor_devices::block::Image;
use ext4_view::Ext4Read;
use gptman::GPTHeader;

use crate::image::read_at;

const SECTOR: u64 = 512;

/// A part of an image, as a stream that is only read.
#[derive(Clone, Debug)]
pub(super) struct Window {
    image: Arc<dyn Image>,
    start: u64,
    len: u64,
    at: u64,
}

impl Window {
    /// All of the image.
    pub(super) fn new(image: Arc<dyn Image>) -> Self {
        Window {
            start: 0,
            len: image.bytes(),
            at: 0,
            image,
        }
    }

    /// `len` bytes from `start` on, as far as there are any.
    fn part(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len);
        Window {
            start: self.start + start,
            len: len.min(self.len - start),
            at: 0,
            ..self.clone()
        }
    }

    /// Fills `into` from `at` on.
    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let len = into.len() as u64;
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_at(&*self.image, into, self.start + at)
    }
}

impl Read for Window {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = (into.len() as u64).min(self.len.saturating_sub(self.at)) as usize;
        if len > 0 {
            self.read_at(&mut into[..len], self.at)?;
            self.at += len as u64;
        }
        Ok(len)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// For those who want a stream that can be written.
impl Write for Window {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Ext4Read for Window {
    fn read(
        &mut self,
        start_byte: u64,
        dst: &mut [u8],
    ) -> Result<(), Box<dyn Error + Send + Sync + 'static>> {
        Ok(self.read_at(dst, start_byte)?)
    }
}

/// The partitions of a disk in their order; the disk itself where it has no table.
pub(super) fn partitions(disk: &Window) -> Vec<Window> {
    let last = disk.len / SECTOR;
    for header in [1, last.saturating_sub(1)] {
        if let Some(found) = read_table(disk, header * SECTOR) {
            return found;
        }
    }
    vec![disk.clone()]
}

fn read_table(disk: &Window, at: u64) -> Option<Vec<Window>> {
    let mut disk = disk.clone();
    disk.seek(SeekFrom::Start(at)).ok()?;
    let header = GPTHeader::read_from(&mut disk).ok()?;
    let entries = header.read_partitions(&mut disk, SECTOR).ok()?;
    let parts = entries.iter().filter(|entry| entry.is_used());
    let parts = parts.filter_map(|entry| {
        let sectors = entry
            .ending_lba
            .checked_sub(entry.starting_lba)?
            .checked_add(1)?;
        let start = entry.starting_lba.checked_mul(SECTOR)?;
        Some(disk.part(start, sectors.checked_mul(SECTOR)?))
    });
    Some(parts.collect())
}
