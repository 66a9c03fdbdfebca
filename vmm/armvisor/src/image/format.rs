// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Images whose format the crate `imago` reads and writes, as a disk.
//!
//! A discard may free what a transfer uses, so it is alone; all else goes on side by side. If the
//! library panics, the image is given up: what it has in memory is not written any more, and the
//! image's lock is released.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, RwLock};

use armvisor_devices::block::Image;
use imago::FormatAccess;
use imago::file::File as Storage;
use imago::io_buffers::{IoVector, IoVectorMut};
use vm_memory::VolatileSlice;

use crate::sys::unlock_file;

/// The transfers that qcow2 likes: those of the file system below it.
const BLOCK: u64 = 4096;
/// Zeroes written at a time where the format has no other way.
const ZEROES: usize = 64 << 10;

/// Regions that are remembered; one that is forgotten costs a look more.
const REGIONS: usize = 1 << 20;

/// An open image.
#[derive(Debug)]
pub(super) struct FormatImage {
    /// None once the library has failed.
    access: RwLock<Option<FormatAccess<Storage>>>,
    bytes: u64,
    can_discard: bool,
    /// The image's file, if its lock is this disk's alone.
    locked: Option<File>,
    /// The bytes of a region, which one table of a qcow2 maps, if the image is to survive our end.
    region: Option<u64>,
    /// The regions whose tables are counted in the file.
    counted: Mutex<HashSet<u64>>,
}

impl FormatImage {
    pub(super) fn new(
        access: FormatAccess<Storage>,
        locked: Option<File>,
        region: Option<u64>,
    ) -> Self {
        let can_discard = access.inner().writable() && access.inner().zero_granularity().is_some();
        FormatImage {
            bytes: access.size(),
            can_discard,
            access: RwLock::new(Some(access)),
            locked,
            region,
            counted: Mutex::default(),
        }
    }

    /// Has the table of a region that was `changed` counted in the file. The library links a new table
    /// in the file at once, and keeps its count in memory (imago 0.2.6): were we killed then, the image
    /// would not be in order.
    fn count(&self, offset: u64, len: u64, changed: io::Result<()>) -> io::Result<()> {
        let Some(region) = self.region.filter(|_| len > 0) else {
            return changed;
        };
        let regions = offset / region..=(offset + len - 1) / region;
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if regions.clone().all(|region| counted.contains(&region)) {
            return changed;
        }
        // What failed may have added a table, too.
        let written = self.shared(|access| access.flush());
        if written.is_ok() {
            if counted.len() >= REGIONS {
                counted.clear();
            }
            counted.extend(regions.take(REGIONS));
        }
        changed.and(written)
    }

    fn shared<T>(
        &self,
        call: impl FnOnce(&FormatAccess<Storage>) -> io::Result<T>,
    ) -> io::Result<T> {
        let done = {
            let access = self.access.read().unwrap_or_else(PoisonError::into_inner);
            let access = access.as_ref().ok_or_else(given_up)?;
            catch_unwind(AssertUnwindSafe(|| call(access)))
        };
        done.unwrap_or_else(|_| self.give_up())
    }

    fn alone(
        &self,
        call: impl FnOnce(&mut FormatAccess<Storage>) -> io::Result<()>,
    ) -> io::Result<()> {
        let done = {
            let mut access = self.access.write().unwrap_or_else(PoisonError::into_inner);
            let access = access.as_mut().ok_or_else(given_up)?;
            catch_unwind(AssertUnwindSafe(|| call(access)))
        };
        done.unwrap_or_else(|_| self.give_up())
    }

    fn give_up<T>(&self) -> io::Result<T> {
        let mut access = self.access.write().unwrap_or_else(PoisonError::into_inner);
        // Its end would write what the failure left half done. Its descriptors stay open, so the lock would.
        std::mem::forget(access.take());
        if let Some(Err(error)) = self.locked.as_ref().map(unlock_file) {
            log::warn!("image: stays locked until the VM ends: {error}");
        }
        Err(given_up())
    }

    fn write_zero_bytes(&self, offset: u64, len: u64) -> io::Result<()> {
        let zeroes = vec![0; ZEROES];
        let mut done = 0;
        while done < len {
            let step = (len - done).min(ZEROES as u64);
            let written =
                self.shared(|access| access.write(&zeroes[..step as usize], offset + done));
            self.count(offset + done, step, written)?;
            done += step;
        }
        Ok(())
    }
}

fn given_up() -> io::Error {
    io::Error::other(
        "its tables are damaged, so it is not used any more; 'qemu-img check' says how",
    )
}

impl Image for FormatImage {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn block_size(&self) -> u64 {
        BLOCK
    }

    fn can_discard(&self) -> bool {
        self.can_discard
    }

    fn read(&self, into: Vec<VolatileSlice>, offset: u64) -> io::Result<()> {
        let (vector, _guard) = IoVectorMut::from_volatile_slice(&into);
        self.shared(|access| access.readv(vector, offset))
    }

    fn write(&self, from: Vec<VolatileSlice>, offset: u64) -> io::Result<()> {
        let (vector, _guard) = IoVector::from_volatile_slice(&from);
        let len = vector.len();
        let done = self.shared(|access| access.writev(vector, offset));
        self.count(offset, len, done)
    }

    fn flush(&self) -> io::Result<()> {
        self.shared(|access| {
            access.flush()?;
            access.sync()
        })
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        let done = self.alone(|access| access.discard_to_any(offset, len));
        self.count(offset, len, done)
    }

    fn write_zeroes(&self, offset: u64, len: u64, unmap: bool) -> io::Result<()> {
        let done = if unmap && self.can_discard {
            self.alone(|access| access.discard_to_zero(offset, len))
        } else {
            self.shared(|access| access.write_zeroes(offset, len))
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.write_zero_bytes(offset, len)
            }
            done => self.count(offset, len, done),
        }
    }

    fn close(&self) -> io::Result<()> {
        let done = self.flush();
        let mut access = self.access.write().unwrap_or_else(PoisonError::into_inner);
        drop(access.take());
        done
    }
}

impl Drop for FormatImage {
    fn drop(&mut self) {
        let writable = self.access.get_mut().is_ok_and(|access| {
            access
                .as_ref()
                .is_some_and(|access| access.inner().writable())
        });
        if !writable {
            return;
        }
        if let Err(error) = self.flush() {
            log::warn!("image: its last changes may be lost: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use imago::FormatDriverBuilder;
    use imago::StorageOpenOptions;
    use imago::raw::Raw;

    use super::*;
    use crate::sys::lock_file;

    #[test]
    fn an_image_that_is_given_up_is_locked_no_more() {
        let path = tempfile::NamedTempFile::new().unwrap();
        path.as_file().set_len(BLOCK).unwrap();
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .open(path.path())
                .unwrap()
        };
        let (file, other) = (open(), open());
        lock_file(&file, true).unwrap();
        let how = StorageOpenOptions::new().write(true);
        let storage = Storage::from_open_file(file.try_clone().unwrap(), how).unwrap();
        let raw = Raw::builder(storage).write(true);
        let raw = raw.open(imago::DenyImplicitOpenGate::default()).unwrap();
        let image = FormatImage::new(FormatAccess::new(raw), Some(file), None);
        assert!(lock_file(&other, true).is_err());
        let failed = image.shared::<()>(|_| panic!("as the library does where a table is damaged"));
        assert_eq!(failed.unwrap_err().to_string(), given_up().to_string());
        lock_file(&other, true).unwrap();
        assert_eq!(
            image.flush().unwrap_err().to_string(),
            given_up().to_string()
        );
    }
}
