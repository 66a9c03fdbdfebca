// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Kernels and initrds: from a file into guest memory, each byte once.
//!
//! Accepted kernels: the arm64 `Image`, the same in gzip, and the EFI "zboot" form with a gzip or
//! zstd payload. The refusal of any other file names its format.

pub mod compressed;
pub mod image;
pub mod zboot;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use armvisor_devices::GuestMemory;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryRegion};

use crate::open::{self, REGULAR_FILE};
use crate::outcome::Refusal;
use crate::size::{self, KIB};
use crate::sys;
use compressed::Compression;
use image::Header;

/// As much of a file as is needed to say what it is.
const HEAD: usize = 4096;
const PAGE: u64 = 4 * KIB;

/// A kernel in guest memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The header of the Image, once unpacked.
    pub header: Header,
    /// Where it starts to run.
    pub entry: GuestAddress,
    /// The first free address after it and its zeroed data.
    pub end: GuestAddress,
}

/// An initrd in guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initrd {
    /// Guest physical address of the first byte.
    pub start: GuestAddress,
    /// Guest physical address behind the last byte.
    pub end: GuestAddress,
}

/// Loads the kernel at `path` to the start of guest memory.
pub fn load(path: &Path, memory: &GuestMemory) -> Result<Loaded, Refusal> {
    load_open(path, open("kernel", path)?, memory)
}

/// As [`load`], from an open file, which is known as `path`, and its length.
pub fn load_open(
    path: &Path,
    (file, len): (File, u64),
    memory: &GuestMemory,
) -> Result<Loaded, Refusal> {
    let refuse = |problem: String| Refusal::file("kernel", path, problem);
    let mut head = vec![0; HEAD.min(len as usize)];
    file.read_exact_at(&mut head, 0)
        .map_err(|error| Refusal::open("kernel", path, &error))?;

    let unpack = |range, compression| {
        let loaded = guarded(|| load_compressed(&file, range, compression, memory));
        loaded.map_err(refuse)
    };
    if compressed::is_gzip(&head) {
        return unpack((0, len), Compression::Gzip);
    }
    if let Some(payload) = zboot::Payload::parse(&head).map_err(refuse)? {
        let (range, compression) = payload.check(len).map_err(refuse)?;
        return unpack(range, compression);
    }
    let header = Header::parse(&head).map_err(refuse)?;
    header.check_length(&head, len).map_err(refuse)?;
    let placed = place(header, len, memory).map_err(refuse)?;
    copy(file, len, memory, placed.entry).map_err(refuse)?;
    Ok(placed)
}

/// Loads the initrd at `path` behind `after`.
pub fn load_initrd(
    path: &Path,
    memory: &GuestMemory,
    after: GuestAddress,
) -> Result<Initrd, Refusal> {
    load_initrd_open(path, open("initrd", path)?, memory, after)
}

/// As [`load_initrd`], from an open file, which is known as `path`, and its length.
pub fn load_initrd_open(
    path: &Path,
    (file, len): (File, u64),
    memory: &GuestMemory,
    after: GuestAddress,
) -> Result<Initrd, Refusal> {
    let refuse = |problem: String| Refusal::file("initrd", path, problem);
    let start = align_up(after, PAGE).ok_or_else(|| refuse("does not fit".into()))?;
    let room = room_from(memory, start);
    if len > room {
        return Err(refuse(format!(
            "has {} and the guest has {} left beside its kernel; give the guest more --memory",
            size::in_mib(len),
            size::in_mib(room)
        )));
    }
    copy(file, len, memory, start).map_err(refuse)?;
    Ok(Initrd {
        start,
        end: start.unchecked_add(len),
    })
}

/// About how much memory the files will fill, from the start of it; an estimate for those who
/// prepare that memory, 0 where the files cannot be had.
pub fn space(kernel: &Path, initrd: Option<&Path>) -> u64 {
    let len = |path: &Path| path.metadata().map_or(0, |data| data.len());
    len(kernel) + initrd.map_or(0, len)
}

fn open(what: &str, path: &Path) -> Result<(File, u64), Refusal> {
    let (file, data) = open::open(path, File::options().read(true), REGULAR_FILE)
        .map_err(|problem| problem.refusal(what, path))?;
    match data.len() {
        0 => Err(Refusal::file(what, path, "is empty")),
        len => Ok((file, len)),
    }
}

/// Copies a file to its place in guest memory: one copy, by the host's kernel. (Mapping the file and
/// copying it here would let whoever shortens it kill us.)
fn copy(mut file: File, len: u64, memory: &GuestMemory, to: GuestAddress) -> Result<(), String> {
    if spliced(&file, len, memory, to) {
        return Ok(());
    }
    memory
        .read_exact_volatile_from(to, &mut file, len as usize)
        .map_err(|error| format!("cannot be read: {error}"))
}

/// Copies from file to file, where guest memory is one, past our mapping of it: that saves the faults
/// that fill the mapping, and the clearing of huge pages that are written over at once. False if it
/// has to be done the other way, or if that is to say what is wrong.
fn spliced(file: &File, len: u64, memory: &GuestMemory, to: GuestAddress) -> bool {
    let Some((region, at)) = memory.to_region_addr(to) else {
        return false;
    };
    let Some(target) = region.file_offset().filter(|_| len <= region.len() - at.0) else {
        return false;
    };
    match sys::splice::copy(file, target.file(), target.start() + at.0, len) {
        Ok(done) => done == len,
        Err(error) => {
            log::debug!("reading, because the host cannot splice this: {error}");
            false
        }
    }
}

/// No payload may end us, whatever it does to a decoder.
fn guarded<T>(unpack: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(unpack))
        .unwrap_or_else(|_| Err("does not unpack, it is damaged".into()))
}

fn load_compressed(
    file: &File,
    range: (u64, u64),
    compression: Compression,
    memory: &GuestMemory,
) -> Result<Loaded, String> {
    let mut stream = compressed::Stream::new(file, range, compression)?;
    let mut head = vec![0; HEAD];
    let got = stream.fill(&mut head)?;
    head.truncate(got);
    let header = Header::parse(&head).map_err(|problem| format!("its payload {problem}"))?;
    let placed = place(header, got as u64, memory)?;
    // The header says how much memory the kernel owns; a payload may fill that and no more.
    let limit = placed.end.unchecked_offset_from(placed.entry);
    let copied = stream.copy_to(memory, placed.entry, head, limit)?;
    header.check_length_of_unpacked(copied)?;
    Ok(placed)
}

/// Where a kernel with this header goes, if it fits.
fn place(header: Header, file_len: u64, memory: &GuestMemory) -> Result<Loaded, String> {
    let base = memory
        .iter()
        .next()
        .map_or(GuestAddress(0), |region| region.start_addr());
    let size = header.memory_size(file_len);
    let available = room_from(memory, base);
    let end = header
        .text_offset
        .checked_add(size)
        .filter(|end| *end <= available);
    let Some(end) = end else {
        return Err(format!(
            "needs {} MiB of memory for itself and the guest has {}; give it more --memory",
            header.text_offset.saturating_add(size).div_ceil(size::MIB),
            size::in_mib(available)
        ));
    };
    let entry = base.unchecked_add(header.text_offset);
    Ok(Loaded {
        header,
        entry,
        end: base.unchecked_add(end),
    })
}

/// Bytes of guest memory from `start` on.
fn room_from(memory: &GuestMemory, start: GuestAddress) -> u64 {
    let last = memory.last_addr();
    last.checked_offset_from(start).map_or(0, |rest| rest + 1)
}

/// The next multiple of `align`, a power of two.
pub fn align_up(address: GuestAddress, align: u64) -> Option<GuestAddress> {
    address.0.checked_next_multiple_of(align).map(GuestAddress)
}

#[cfg(test)]
mod tests;
