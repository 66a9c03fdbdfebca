// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! KVM's binary statistics: a file with a header, descriptors with names, and numbers.
//!
//! The format describes itself; entries that contradict their description are left out.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use super::check;

/// _IO(KVMIO, 0xce)
const KVM_GET_STATS_FD: u32 = 0xaece;
const DESCRIPTOR: usize = 16;
const MAX_DESCRIPTORS: usize = 4096;
const MAX_NAME: usize = 512;
const MAX_DATA: usize = 1 << 20;
const TYPE_MASK: u32 = 0xf;
const TYPE_LOG_HIST: u32 = 4;

/// The file with the statistics of a VM or a vCPU; an error where KVM has none.
///
/// A vCPU's must be opened before the vCPU runs: KVM makes the call wait until it comes back, which
/// may be never. Reading the file waits for nobody.
pub fn open(fd: &impl AsRawFd) -> io::Result<File> {
    // SAFETY: the ioctl takes no argument and returns a new descriptor.
    let fd = check(unsafe { libc::ioctl(fd.as_raw_fd(), KVM_GET_STATS_FD as _) })?;
    // SAFETY: the descriptor is new and nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// The statistics of a VM or a vCPU.
pub struct Stats {
    file: File,
    data_offset: u64,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    offset: usize,
    size: usize,
    histogram: bool,
}

/// What a file's data are at one moment.
pub struct Values<'a> {
    rows: &'a [Row],
    data: Vec<u8>,
}

impl Values<'_> {
    /// The single numbers, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, u64)> {
        let single = self.rows.iter().filter(|row| row.size == 1);
        single.map(|row| (row.name.as_str(), self.at(row.offset)))
    }

    /// The histograms with a bucket for each power of two, by name: how many are 0, 1, less than 4,
    /// less than 8, and so on.
    pub fn histograms(&self) -> impl Iterator<Item = (&str, Vec<u64>)> {
        self.rows.iter().filter(|row| row.histogram).map(|row| {
            let buckets = (0..row.size).map(|bucket| self.at(row.offset + 8 * bucket));
            (row.name.as_str(), buckets.collect())
        })
    }

    fn at(&self, offset: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.data[offset..offset + 8]);
        u64::from_ne_bytes(word)
    }
}

impl Stats {
    /// Reads what the file says of itself.
    pub fn parse(file: File) -> io::Result<Self> {
        let mut header = [0; 24];
        file.read_exact_at(&mut header, 0)?;
        let name_size = word(&header, 4) as usize;
        let count = word(&header, 8) as usize;
        let desc_offset = u64::from(word(&header, 16));
        let data_offset = u64::from(word(&header, 20));
        if name_size > MAX_NAME || count > MAX_DESCRIPTORS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let stride = DESCRIPTOR + name_size;
        let mut bytes = vec![0; stride * count];
        file.read_exact_at(&mut bytes, desc_offset)?;
        let rows = bytes.chunks_exact(stride).filter_map(row).collect();
        Ok(Stats {
            file,
            data_offset,
            rows,
        })
    }

    /// Reads all of them, at once.
    pub fn read(&self) -> io::Result<Values<'_>> {
        let ends = self.rows.iter().map(|row| row.offset + 8 * row.size);
        let size = ends.max().unwrap_or(0);
        if size > MAX_DATA {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut data = vec![0; size];
        self.file.read_exact_at(&mut data, self.data_offset)?;
        Ok(Values {
            rows: &self.rows,
            data,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

/// A descriptor: flags u32, exponent i16, size u16, offset u32, bucket size u32, name.
fn row(descriptor: &[u8]) -> Option<Row> {
    let size = usize::from(u16::from_ne_bytes([descriptor[6], descriptor[7]]));
    let histogram = word(descriptor, 0) & TYPE_MASK == TYPE_LOG_HIST;
    let name = descriptor[DESCRIPTOR..].split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    let offset = word(descriptor, 8) as usize;
    (size > 0 && !name.is_empty()).then(|| Row {
        name: name.to_owned(),
        offset,
        size,
        histogram,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(name: &str, size: u16, offset: u32) -> Vec<u8> {
        let mut bytes = vec![0; 16 + 48];
        bytes[6..8].copy_from_slice(&size.to_ne_bytes());
        bytes[8..12].copy_from_slice(&offset.to_ne_bytes());
        bytes[16..16 + name.len()].copy_from_slice(name.as_bytes());
        bytes
    }

    fn file(count: u32, rows: &[Vec<u8>], data: &[u64]) -> File {
        let descriptors: Vec<u8> = rows.concat();
        let data_offset = 24 + descriptors.len() as u32;
        let words = [0, 48, count, 0, 24, data_offset];
        let mut bytes: Vec<u8> = words
            .iter()
            .flat_map(|word: &u32| word.to_ne_bytes())
            .collect();
        bytes.extend(descriptors);
        bytes.extend(data.iter().flat_map(|value| value.to_ne_bytes()));
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        file
    }

    #[test]
    fn single_numbers_are_read_by_name() {
        let mut log = descriptor("log_hist", 2, 24);
        log[0] = 0x14;
        let rows = [
            descriptor("exits", 1, 0),
            descriptor("linear", 2, 8),
            log,
            descriptor("last", 1, 40),
        ];
        let stats = Stats::parse(file(4, &rows, &[7, 1, 2, 3, 4, 9])).unwrap();
        let values = stats.read().unwrap();
        let numbers: Vec<_> = values.numbers().collect();
        assert_eq!(numbers, [("exits", 7), ("last", 9)]);
        let histograms: Vec<_> = values.histograms().collect();
        assert_eq!(histograms, [("log_hist", vec![3, 4])]);
    }

    #[test]
    fn a_file_that_lies_is_an_error() {
        let rows = [descriptor("exits", 1, 0)];
        assert!(Stats::parse(file(2, &rows, &[])).is_err());
        assert!(Stats::parse(file(u32::MAX, &rows, &[])).is_err());
        let stats = Stats::parse(file(1, &[descriptor("exits", 1, 4096)], &[1])).unwrap();
        assert!(stats.read().is_err());
        let stats = Stats::parse(file(1, &[descriptor("exits", 9, u32::MAX)], &[1])).unwrap();
        assert!(stats.read().is_err());
    }

    #[test]
    fn what_is_no_kvm_has_no_statistics() {
        assert!(open(&tempfile::tempfile().unwrap()).is_err());
    }
}
