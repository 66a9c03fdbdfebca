// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A raw image: a regular file or a block device of whole 512-byte sectors.
//!
//! Rules: the size is taken once, when the disk is made, and nothing is ever read or written outside
//! it; a trailing part of a sector is out of reach. A read-only disk refuses every change here, below
//! the request parser, so that no parser bug can reach the file. Short transfers are continued.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering};

use vm_memory::VolatileSlice;

use crate::sys::{self, Deallocate};
use crate::virtio::Error;

/// The unit of addresses and sizes.
pub(crate) const SECTOR: u64 = 512;
/// Zeroes written at a time where the file cannot do it by itself.
const ZEROES: usize = 64 << 10;

/// Makes a file's data durable: the system call, or what a test puts in its place.
pub(super) type SyncData = fn(&File) -> io::Result<()>;

/// An open image.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    sync_data: SyncData,
    sectors: u64,
    read_only: bool,
    block_size: u64,
    can_punch: bool,
    syncs: AtomicU64,
}

/// Why a change or a transfer did not happen.
#[derive(Debug)]
pub(super) enum Failure {
    /// Not on this disk, or nonsense: the text says which.
    Refused(&'static str),
    /// The file cannot do it.
    Unsupported,
    /// The host failed.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => Self::Unsupported,
            _ => Self::Io(error),
        }
    }
}

impl Disk {
    pub(super) fn new(mut file: File, read_only: bool) -> Result<Self, Error> {
        let failed = |e| Error::host("cannot be used", e);
        let meta = file.metadata().map_err(failed)?;
        let kind = meta.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(Error::Config("is neither a file nor a block device".into()));
        }
        let bytes = file.seek(SeekFrom::End(0)).map_err(failed)?;
        if bytes < SECTOR {
            return Err(Error::Config(format!(
                "is {bytes} bytes long, less than one sector of {SECTOR}"
            )));
        }
        if bytes % SECTOR != 0 {
            log::warn!(
                "block: the disk's last {} bytes are no whole sector, so the guest does not see them",
                bytes % SECTOR
            );
        }
        if !read_only && !sys::is_read_write(&file).map_err(failed)? {
            return Err(Error::Config("is not open for writing".into()));
        }
        // Beyond the end with the size kept, this changes nothing and tells whether it works.
        let end = bytes.next_multiple_of(1 << 20);
        let can_punch =
            !read_only && sys::deallocate(&file, Deallocate::Punch, end, 1 << 20).is_ok();
        let block_size = meta.blksize().clamp(SECTOR, 4096);
        Ok(Self {
            file,
            sync_data: File::sync_data,
            sectors: bytes / SECTOR,
            read_only,
            block_size,
            can_punch,
            syncs: AtomicU64::new(0),
        })
    }

    #[cfg(test)]
    pub(super) fn with_sync(self, sync_data: SyncData) -> Self {
        Self { sync_data, ..self }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) fn read_only(&self) -> bool {
        self.read_only
    }

    /// What the host's file system likes best, 512 to 4096.
    pub(super) fn block_size(&self) -> u64 {
        self.block_size
    }

    pub(super) fn can_punch(&self) -> bool {
        self.can_punch
    }

    /// The byte offset of `sector`, if `len` bytes from there on are on the disk.
    fn locate(&self, sector: u64, len: u64) -> Result<u64, Failure> {
        if len % SECTOR != 0 {
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
        transfer(into, offset, |slices, at| {
            sys::read_at(&self.file, slices, at)
        })
    }

    pub(super) fn write(&self, sector: u64, from: Vec<VolatileSlice>) -> Result<(), Failure> {
        let offset = self.locate_change(sector, total(&from))?;
        transfer(from, offset, |slices, at| {
            sys::write_at(&self.file, slices, at)
        })
    }

    pub(super) fn flush(&self) -> Result<(), Failure> {
        if self.read_only {
            return Ok(());
        }
        (self.sync_data)(&self.file)?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often the file was made durable.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(super) fn discard(&self, sector: u64, sectors: u64) -> Result<(), Failure> {
        self.check_change(sector, sectors)?;
        if sectors == 0 {
            return Ok(());
        }
        if !self.can_punch {
            return Err(Failure::Unsupported);
        }
        let (offset, len) = (sector * SECTOR, sectors * SECTOR);
        Ok(sys::deallocate(&self.file, Deallocate::Punch, offset, len)?)
    }

    /// Makes sectors read as zeroes, giving their blocks back if `unmap` and the file can.
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
        if unmap && self.can_punch {
            return Ok(sys::deallocate(&self.file, Deallocate::Punch, offset, len)?);
        }
        match sys::deallocate(&self.file, Deallocate::Zero, offset, len).map_err(Failure::from) {
            Err(Failure::Unsupported) => self.write_zero_bytes(offset, len),
            done => done,
        }
    }

    pub(super) fn write_zero_bytes(&self, mut offset: u64, mut len: u64) -> Result<(), Failure> {
        let zeroes = vec![0; ZEROES];
        while len > 0 {
            let step = len.min(ZEROES as u64);
            self.file.write_all_at(&zeroes[..step as usize], offset)?;
            offset += step;
            len -= step;
        }
        Ok(())
    }
}

fn total(slices: &[VolatileSlice]) -> u64 {
    slices.iter().map(|s| s.len() as u64).sum()
}

/// Calls `step` until all of `slices` is moved.
fn transfer(
    mut slices: Vec<VolatileSlice>,
    mut offset: u64,
    mut step: impl FnMut(&[VolatileSlice], u64) -> io::Result<usize>,
) -> Result<(), Failure> {
    let mut first = 0;
    while first < slices.len() {
        let mut moved = match step(&slices[first..], offset) {
            // Somebody has truncated the file.
            Ok(0) => return Err(Failure::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(moved) => moved,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Failure::Io(e)),
        };
        offset += moved as u64;
        while moved > 0 {
            let len = slices[first].len();
            if moved < len {
                slices[first] = slices[first]
                    .offset(moved)
                    .map_err(|_| Failure::Io(io::ErrorKind::InvalidData.into()))?;
                break;
            }
            moved -= len;
            first += 1;
        }
    }
    Ok(())
}
