// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A disk of whole 512-byte sectors on an image.
//!
//! Rules: the size is taken once, when the disk is made, and nothing is ever read or written outside
//! it; a trailing part of a sector is out of reach. A read-only disk refuses every change here, below
//! the request parser, so that no parser bug can reach the image.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vm_memory::VolatileSlice;

use super::Image;
use crate::virtio::Error;

/// The unit of addresses and sizes.
pub(crate) const SECTOR: u64 = 512;

/// An image as sectors.
#[derive(Debug)]
pub(super) struct Disk {
    image: Arc<dyn Image>,
    sectors: u64,
    read_only: bool,
    syncs: AtomicU64,
}

/// Why a change or a transfer did not happen.
#[derive(Debug)]
pub(super) enum Failure {
    /// Not on this disk, or nonsense: the text says which.
    Refused(&'static str),
    /// The image cannot do it.
    Unsupported,
    /// The host failed.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Io(error),
        }
    }
}

impl Disk {
    pub(super) fn new(image: Arc<dyn Image>, read_only: bool) -> Result<Self, Error> {
        let bytes = image.bytes();
        if bytes < SECTOR {
            return Err(Error::Config(format!(
                "is {bytes} bytes long, less than one sector of {SECTOR}"
            )));
        }
        if !bytes.is_multiple_of(SECTOR) {
            log::warn!(
                "block: the disk's last {} bytes are no whole sector, so the guest does not see them",
                bytes % SECTOR
            );
        }
        Ok(Self {
            image,
            sectors: bytes / SECTOR,
            read_only,
            syncs: AtomicU64::new(0),
        })
    }

    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) fn read_only(&self) -> bool {
        self.read_only
    }

    /// What the image likes best, 512 to 4096.
    pub(super) fn block_size(&self) -> u64 {
        self.image.block_size().clamp(SECTOR, 4096)
    }

    pub(super) fn can_punch(&self) -> bool {
        !self.read_only && self.image.can_discard()
    }

    /// The byte offset of `sector`, if `len` bytes from there on are on the disk.
    fn locate(&self, sector: u64, len: u64) -> Result<u64, Failure> {
        if !len.is_multiple_of(SECTOR) {
            return Err(Failure::Refused("length is not a whole number of sectors"));
        }
        match sector.checked_add(len / SECTOR) {
            Some(end) if end <= self.sectors => Ok(sector * SECTOR),
            _ => Err(Failure::Refused("sectors beyond the end of the disk")),
        }
    }

    fn locate_change(&self, sector: u64, len: u64) -> Result<u64, Failure> {
        if self.read_only {
            return Err(Failure::Refused("change of a read-only disk"));
        }
        self.locate(sector, len)
    }

    /// Fails as a change of these sectors would.
    pub(super) fn check_change(&self, sector: u64, sectors: u64) -> Result<(), Failure> {
        let len = sectors
            .checked_mul(SECTOR)
            .ok_or(Failure::Refused("too many sectors"))?;
        self.locate_change(sector, len).map(drop)
    }

    pub(super) fn read(&self, sector: u64, into: Vec<VolatileSlice>) -> Result<(), Failure> {
        let offset = self.locate(sector, total(&into))?;
        self.image.read(into, offset).map_err(Failure::Io)
    }

    pub(super) fn write(&self, sector: u64, from: Vec<VolatileSlice>) -> Result<(), Failure> {
        let offset = self.locate_change(sector, total(&from))?;
        self.image.write(from, offset).map_err(Failure::Io)
    }

    pub(super) fn flush(&self) -> Result<(), Failure> {
        if self.read_only {
            return Ok(());
        }
        self.image.flush()?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often the image was made durable.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(super) fn discard(&self, sector: u64, sectors: u64) -> Result<(), Failure> {
        self.check_change(sector, sectors)?;
        if sectors == 0 {
            return Ok(());
        }
        if !self.can_punch() {
            return Err(Failure::Unsupported);
        }
        Ok(self.image.discard(sector * SECTOR, sectors * SECTOR)?)
    }

    /// Makes sectors read as zeroes, giving their blocks back if `unmap` and the image can.
    pub(super) fn write_zeroes(
        &self,
        sector: u64,
        sectors: u64,
        unmap: bool,
    ) -> Result<(), Failure> {
        self.check_change(sector, sectors)?;
        if sectors == 0 {
            return Ok(());
        }
        let (offset, len) = (sector * SECTOR, sectors * SECTOR);
        Ok(self.image.write_zeroes(offset, len, unmap)?)
    }
}

fn total(slices: &[VolatileSlice]) -> u64 {
    slices.iter().map(|s| s.len() as u64).sum()
}
