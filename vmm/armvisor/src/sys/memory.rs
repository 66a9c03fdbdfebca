// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! memfds and aligned mappings of them.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

use vm_memory::mmap::MmapRegionBuilder;
use vm_memory::{FileOffset, MmapRegion};

use super::check;

/// madvise() of Linux 6.1 and later (uapi/asm-generic/mman-common.h).
pub const MADV_COLLAPSE: libc::c_int = 25;

/// A file in memory; with `hugetlb`, of 2 MiB pages from the host's pool.
pub fn memfd(name: &CStr, hugetlb: bool) -> io::Result<File> {
    let mut flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    if hugetlb {
        flags |= libc::MFD_HUGETLB | libc::MFD_HUGE_2MB;
    }
    // SAFETY: `name` ends in a NUL; the call touches no other memory.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// An unnamed file on a tmpfs of its own, mounted nowhere, which takes 2 MiB pages as they are
/// touched. Needs CAP_SYS_ADMIN; changes nothing on the host, and goes when the file is closed.
///
/// It is what a memfd is, but for the one setting of huge pages that memfds share with the host.
pub fn huge_tmpfs_file() -> io::Result<File> {
    const FSCONFIG_SET_STRING: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    const FLAG_CLOEXEC: libc::c_uint = 1; // FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC
    let null = ptr::null::<libc::c_char>();
    // SAFETY: the name ends in a NUL.
    let fs = owned(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), FLAG_CLOEXEC) })?;
    let fd = fs.as_raw_fd();
    // Size 0 is no limit of its own: the VM's size is the limit.
    for (key, value) in [(c"huge", c"always"), (c"size", c"0")] {
        let (key, value) = (key.as_ptr(), value.as_ptr());
        // SAFETY: both strings end in a NUL.
        let set =
            unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_SET_STRING, key, value, 0) };
        check(set as libc::c_int)?;
    }
    // SAFETY: the command takes no strings.
    let create =
        unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, null, null, 0) };
    check(create as libc::c_int)?;
    // SAFETY: integers only.
    let mount = owned(unsafe { libc::syscall(libc::SYS_fsmount, fd, FLAG_CLOEXEC, 0) })?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path ends in a NUL.
    let file = unsafe { libc::openat(mount.as_raw_fd(), c".".as_ptr(), flags, 0o600) };
    owned(libc::c_long::from(file)).map(File::from)
}

/// The new descriptor that a system call returned.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = check(result as libc::c_int)?;
    // SAFETY: the descriptor is new and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Nobody may change the file's size from now on: its mappings stay whole.
pub fn seal_size(file: &File) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: F_ADD_SEALS takes an integer and touches no memory.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }).map(drop)
}

/// A mapping of [`map_aligned`]. It goes when this value does, if nobody shares the region any more;
/// else it stays until the process ends.
pub struct Mapping(ManuallyDrop<Arc<MmapRegion>>);

impl Mapping {
    /// The region, for others to hold.
    pub fn share(&self) -> Arc<MmapRegion> {
        Arc::clone(&self.0)
    }
}

impl Deref for Mapping {
    type Target = MmapRegion;

    fn deref(&self) -> &MmapRegion {
        &self.0
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: taken once, here, and self is not used after.
        let region = unsafe { ManuallyDrop::take(&mut self.0) };
        let Some(region) = Arc::into_inner(region) else {
            log::error!("guest memory: still in use, so it stays mapped");
            return;
        };
        // SAFETY: map_aligned made this mapping for this region, which nobody else has: nothing in this
        // program points into it. KVM's slots keep the Mapping (see sys::kvm::Slots).
        unsafe { libc::munmap(region.as_ptr().cast(), region.size()) };
    }
}

/// Maps all `len` bytes of `file`, shared, at a multiple of `align` (a power of two, pages at least).
pub fn map_aligned(file: File, len: usize, align: usize) -> io::Result<Mapping> {
    assert!(align.is_power_of_two());
    let room = len.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no other.
    let reserved = unsafe { libc::mmap(ptr::null_mut(), room, libc::PROT_NONE, flags, -1, 0) };
    if reserved == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let head = reserved.align_offset(align);
    // SAFETY: head < align, so that head + len is inside the room just reserved.
    let start = unsafe { reserved.byte_add(head) };
    // SAFETY: the end of that part, still inside the room.
    let rest = unsafe { start.byte_add(len) };
    for (unused, size) in [(reserved, head), (rest, align - head)] {
        if size > 0 {
            // SAFETY: a part of the reservation above that nobody else knows of.
            unsafe { libc::munmap(unused, size) };
        }
    }
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: replaces what is left of the reservation.
    let mapped = unsafe { libc::mmap(start, len, protection, flags, file.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        // SAFETY: gives back what is left of the reservation, which nothing points into.
        unsafe { libc::munmap(start, len) };
        return Err(error);
    }
    let builder = MmapRegionBuilder::new(len)
        .with_mmap_prot(protection)
        .with_mmap_flags(libc::MAP_SHARED)
        .with_file_offset(FileOffset::new(file, 0));
    // SAFETY: `mapped` starts a mapping of `len` bytes that is there as long as the region.
    let builder = unsafe { builder.with_raw_mmap_pointer(mapped.cast()) };
    let region = builder.build().map_err(io::Error::other)?;
    Ok(Mapping(ManuallyDrop::new(Arc::new(region))))
}

/// What [`advise`] may ask for; none of them changes what the memory holds.
#[derive(Clone, Copy, Debug)]
pub enum Advice {
    /// Make huge pages as memory is touched.
    HugePage,
    /// Make huge pages now, whatever the host's setting for shared memory says.
    Collapse,
    /// Leave guest memory out of core dumps.
    DontDump,
    /// A child process, if there ever is one, does not get guest memory.
    DontFork,
}

/// madvise over a part of a region.
pub fn advise(region: &MmapRegion, offset: usize, len: usize, advice: Advice) -> io::Result<()> {
    if offset
        .checked_add(len)
        .is_none_or(|end| end > region.size())
    {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let advice = match advice {
        Advice::HugePage => libc::MADV_HUGEPAGE,
        Advice::Collapse => MADV_COLLAPSE,
        Advice::DontDump => libc::MADV_DONTDUMP,
        Advice::DontFork => libc::MADV_DONTFORK,
    };
    let start = region.as_ptr().wrapping_add(offset);
    // SAFETY: the range is inside the region's mapping, and no advice above alters its contents.
    check(unsafe { libc::madvise(start.cast(), len, advice) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap, GuestRegionMmap};

    #[test]
    fn a_mapping_is_aligned_and_is_the_file() {
        let align = 2 << 20;
        for _ in 0..3 {
            let file = memfd(c"test", false).unwrap();
            file.set_len(4 << 20).unwrap();
            seal_size(&file).unwrap();
            let second = file.try_clone().unwrap();
            let region = map_aligned(file, 4 << 20, align).unwrap();
            assert_eq!(region.as_ptr() as usize % align, 0);
            let region = GuestRegionMmap::with_arc(region.share(), GuestAddress(0)).unwrap();
            let memory: GuestMemoryMmap = GuestMemoryMmap::from_regions(vec![region]).unwrap();
            memory
                .write_slice(b"hello", GuestAddress(0x30_0000))
                .unwrap();
            let mut read = [0; 5];
            std::os::unix::fs::FileExt::read_exact_at(&second, &mut read, 0x30_0000).unwrap();
            assert_eq!(&read, b"hello");
            assert!(second.set_len(1 << 20).is_err(), "sealed");
        }
    }

    /// How often a memfd of this name is mapped, and whether anything is reserved beside it.
    fn mapped(name: &str) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains(name)).count()
    }

    #[test]
    fn a_mapping_goes_with_its_last_user() {
        let map = || {
            let file = memfd(c"going", false).unwrap();
            file.set_len(2 << 20).unwrap();
            map_aligned(file, 2 << 20, 2 << 20).unwrap()
        };
        let first = map();
        assert_eq!(mapped("going"), 1);
        drop(first);
        assert_eq!(mapped("going"), 0);
        // Somebody still has the region: it must not go.
        let second = map();
        let shared = second.share();
        drop(second);
        assert_eq!(mapped("going"), 1);
        assert_eq!(shared.size(), 2 << 20);
    }

    #[test]
    fn advice_outside_the_region_is_refused() {
        let file = memfd(c"test", false).unwrap();
        file.set_len(2 << 20).unwrap();
        let region = map_aligned(file, 2 << 20, 2 << 20).unwrap();
        advise(&region, 0, 2 << 20, Advice::DontDump).unwrap();
        assert!(advise(&region, 4096, 2 << 20, Advice::DontDump).is_err());
        assert!(advise(&region, usize::MAX, 2, Advice::DontDump).is_err());
    }
}
