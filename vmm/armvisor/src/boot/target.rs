// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A file in memory that files of the image are copied to.
//!
//! A block of zeroes is not written: a file with a large hole would take memory that no limit of this
//! process counts.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Of a part.
const ALIGN: u64 = 4;

/// Zeroes that are worth a look.
const BLOCK: usize = 4096;

/// A file to copy to, of zeroes where nothing was written.
#[derive(Debug)]
pub struct Target {
    file: File,
    limit: u64,
    /// The end of what was kept.
    len: u64,
    /// The end of what was written, perhaps by a copy that failed.
    written: u64,
}

impl Target {
    /// Takes a file of zeroes that is to have at most `limit` bytes.
    pub fn new(file: File, limit: u64) -> Self {
        Target {
            file,
            limit,
            len: 0,
            written: 0,
        }
    }

    /// The bytes that were kept.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How many bytes it still takes.
    pub(super) fn room(&self) -> u64 {
        self.limit - self.len
    }

    /// The next part, to be written.
    pub(super) fn part(&mut self) -> Part<'_> {
        Part {
            at: self.len,
            target: self,
        }
    }

    /// Fills up with zeroes to where a part may begin: the guest's kernel finds no archive elsewhere
    /// (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
    pub(super) fn align(&mut self) -> io::Result<()> {
        let gap = self.len.next_multiple_of(ALIGN) - self.len;
        self.part()
            .write_all(&[0; ALIGN as usize][..gap as usize])?;
        self.keep(gap)
    }

    /// Keeps `copied` bytes of the part that was written last.
    pub(super) fn keep(&mut self, copied: u64) -> io::Result<()> {
        let len = self.len.checked_add(copied);
        let len = len.filter(|len| *len <= self.limit);
        self.len = len.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(())
    }
}

/// A part of a [`Target`] on its way.
pub(super) struct Part<'a> {
    target: &'a mut Target,
    at: u64,
}

impl Write for Part<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        let hole = bytes.chunks(BLOCK).next().is_some_and(is_zero);
        // As many blocks as are alike.
        let blocks = bytes
            .chunks(BLOCK)
            .take_while(|block| is_zero(block) == hole);
        let bytes = &bytes[..blocks.map(<[u8]>::len).sum()];
        let end = self.at + bytes.len() as u64;
        if end > self.target.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if !hole || self.at < self.target.written {
            self.target.file.write_all_at(bytes, self.at)?;
            self.target.written = self.target.written.max(end);
        }
        self.at = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const LIMIT: u64 = 4 << 20;

    fn target() -> (File, Target) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LIMIT).unwrap();
        (file.try_clone().unwrap(), Target::new(file, LIMIT))
    }

    fn content(file: &File, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn zeroes_take_no_room() {
        let (file, mut target) = target();
        let mut data = vec![0; 3 << 20];
        data.extend(b"end");
        let copied = io::copy(&mut &data[..], &mut target.part()).unwrap();
        target.keep(copied).unwrap();
        assert!(content(&file, target.len()) == data);
        assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20);
    }

    #[test]
    fn parts_begin_at_multiples_of_4() {
        let (file, mut target) = target();
        target.part().write_all(b"a copy that fails").unwrap();
        for part in [&b"first"[..], b"four", b"last"] {
            target.align().unwrap();
            target.part().write_all(part).unwrap();
            target.keep(part.len() as u64).unwrap();
        }
        assert_eq!(content(&file, target.len()), b"first\0\0\0fourlast");
    }

    #[test]
    fn nothing_of_a_copy_that_failed_is_left() {
        let (file, mut target) = target();
        target.part().write_all(&[7; 10_000]).unwrap();
        target.part().write_all(&[0; 5000]).unwrap();
        target.part().write_all(&[0; 20_000]).unwrap();
        target.keep(20_000).unwrap();
        assert_eq!(content(&file, target.len()), [0; 20_000]);
        assert!(target.part().write_all(&vec![1; LIMIT as usize]).is_err());
        assert!(target.keep(LIMIT).is_err());
    }
}
