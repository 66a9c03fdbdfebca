// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A raw image: a regular file or a block device. Short transfers are continued.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

use vm_memory::VolatileSlice;

use super::Image;
use crate::sys::{self, Deallocate};
use crate::virtio::Error;

/// Zeroes written at a time where the file cannot do it by itself.
const ZEROES: usize = 64 << 10;

/// Makes a file's data durable: the system call, or what a test puts in its place.
pub(super) type SyncData = fn(&File) -> io::Result<()>;

/// An open raw image.
#[derive(Debug)]
pub struct RawImage {
    file: File,
    sync_data: SyncData,
    bytes: u64,
    block_size: u64,
    can_punch: bool,
}

impl RawImage {
    /// Takes an open file; the caller locks it against other users. Fails for what is neither a file
    /// nor a block device, and for a file that cannot be written unless it is to be `read_only`.
    pub fn new(mut file: File, read_only: bool) -> Result<Self, Error> {
        let failed = |e| Error::host("cannot be used", e);
        let meta = file.metadata().map_err(failed)?;
        let kind = meta.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(Error::Config("is neither a file nor a block device".into()));
        }
        let bytes = file.seek(SeekFrom::End(0)).map_err(failed)?;
        if !read_only && !sys::is_read_write(&file).map_err(failed)? {
            return Err(Error::Config("is not open for writing".into()));
        }
        // Beyond the end with the size kept, this changes nothing and tells whether it works.
        let end = bytes.next_multiple_of(1 << 20);
        let can_punch =
            !read_only && sys::deallocate(&file, Deallocate::Punch, end, 1 << 20).is_ok();
        Ok(Self {
            file,
            sync_data: File::sync_data,
            bytes,
            block_size: meta.blksize(),
            can_punch,
        })
    }

    #[cfg(test)]
    pub(super) fn with_sync(self, sync_data: SyncData) -> Self {
        Self { sync_data, ..self }
    }

    pub(super) fn write_zero_bytes(&self, mut offset: u64, mut len: u64) -> io::Result<()> {
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

impl Image for RawImage {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn block_size(&self) -> u64 {
        self.block_size
    }

    fn can_discard(&self) -> bool {
        self.can_punch
    }

    fn read(&self, into: Vec<VolatileSlice>, offset: u64) -> io::Result<()> {
        transfer(into, offset, |slices, at| {
            sys::read_at(&self.file, slices, at)
        })
    }

    fn write(&self, from: Vec<VolatileSlice>, offset: u64) -> io::Result<()> {
        transfer(from, offset, |slices, at| {
            sys::write_at(&self.file, slices, at)
        })
    }

    fn flush(&self) -> io::Result<()> {
        (self.sync_data)(&self.file)
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        sys::deallocate(&self.file, Deallocate::Punch, offset, len)
    }

    fn write_zeroes(&self, offset: u64, len: u64, unmap: bool) -> io::Result<()> {
        if unmap && self.can_punch {
            return sys::deallocate(&self.file, Deallocate::Punch, offset, len);
        }
        match sys::deallocate(&self.file, Deallocate::Zero, offset, len) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.write_zero_bytes(offset, len)
            }
            done => done,
        }
    }
}

/// Calls `step` until all of `slices` is moved.
fn transfer(
    mut slices: Vec<VolatileSlice>,
    mut offset: u64,
    mut step: impl FnMut(&[VolatileSlice], u64) -> io::Result<usize>,
) -> io::Result<()> {
    let mut first = 0;
    while first < slices.len() {
        let mut moved = match step(&slices[first..], offset) {
            // Somebody has truncated the file.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(moved) => moved,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        offset += moved as u64;
        while moved > 0 {
            let len = slices[first].len();
            if moved < len {
                slices[first] = slices[first]
                    .offset(moved)
                    .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
                break;
            }
            moved -= len;
            first += 1;
        }
    }
    Ok(())
}
