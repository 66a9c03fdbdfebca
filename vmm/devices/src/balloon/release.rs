// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Returns guest pages to the host.
//!
//! Ranges have been checked: in guest memory, whole host pages. After a release the guest reads
//! zeroes there, and its next write allocates a new page; the hypervisor's own mappings go with the
//! page.

use std::io;
use std::sync::Arc;

use vm_memory::{Address, GuestAddress, GuestMemoryBackend, GuestMemoryRegion};

use crate::GuestMemory;
use crate::sys::{self, Deallocate};

/// How the VMM wants pages given back.
pub trait PageRelease: Send {
    /// Gives `addr..addr + len` back.
    fn release(&mut self, addr: GuestAddress, len: u64) -> io::Result<()>;
}

/// Releases through the memory's own backing: a hole in the file (memfd) that backs a region, else
/// `MADV_DONTNEED` on its private mapping.
#[derive(Debug)]
pub struct Backing {
    mem: Arc<GuestMemory>,
}

impl Backing {
    /// Of this memory.
    pub fn new(mem: Arc<GuestMemory>) -> Self {
        Self { mem }
    }

    /// As much of the range as lies in one region; returns how much that was.
    fn release_in_region(&self, addr: GuestAddress, len: u64) -> io::Result<u64> {
        let outside = || io::Error::from_raw_os_error(libc::EFAULT);
        let (region, at) = self.mem.to_region_addr(addr).ok_or_else(outside)?;
        let len = len.min(region.len() - at.raw_value());
        match region.file_offset() {
            Some(backing) => {
                let offset = backing.start() + at.raw_value();
                sys::deallocate(backing.file(), Deallocate::Punch, offset, len)?;
            }
            None => {
                // In one region, so in one slice.
                let slice = self
                    .mem
                    .get_slice(addr, len as usize)
                    .map_err(|_| outside())?;
                sys::drop_pages(&slice)?;
            }
        }
        Ok(len)
    }
}

impl PageRelease for Backing {
    fn release(&mut self, addr: GuestAddress, len: u64) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let next = GuestAddress(addr.0 + done);
            done += self.release_in_region(next, len - done)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use vm_memory::{Bytes, FileOffset, GuestRegionMmap, MmapRegion};

    use super::*;

    #[test]
    fn a_file_loses_its_blocks_and_the_guest_reads_zeroes() {
        let page = sys::page_size();
        let file = tempfile::tempfile().unwrap();
        file.set_len(16 * page).unwrap();
        let backing = FileOffset::new(file.try_clone().unwrap(), 4 * page);
        let region = MmapRegion::from_file(backing, 8 * page as usize).unwrap();
        let base = GuestAddress(1 << 30);
        let region = GuestRegionMmap::new(region, base).unwrap();
        let mem = Arc::new(GuestMemory::from_regions(vec![region]).unwrap());
        let fill = vec![7; 8 * page as usize];
        mem.write_slice(&fill, base).unwrap();
        let before = file.metadata().unwrap().blocks();
        let mut release = Backing::new(Arc::clone(&mem));
        release
            .release(GuestAddress(base.0 + page), 2 * page)
            .unwrap();
        assert!(file.metadata().unwrap().blocks() < before);
        let mut after = vec![0; 8 * page as usize];
        mem.read_slice(&mut after, base).unwrap();
        let (from, to) = (page as usize, 3 * page as usize);
        assert!(after[from..to].iter().all(|&b| b == 0));
        assert!(after[..from].iter().chain(&after[to..]).all(|&b| b == 7));
        assert!(
            release
                .release(GuestAddress(base.0 + 7 * page), 2 * page)
                .is_err()
        );
    }

    #[test]
    fn anonymous_memory_over_two_regions_reads_zeroes() {
        let mem = crate::testing::memory();
        let page = sys::page_size();
        let at = crate::testing::BASE + crate::testing::REGION - page;
        mem.write_slice(&vec![7; 3 * page as usize], GuestAddress(at))
            .unwrap();
        Backing::new(Arc::clone(&mem))
            .release(GuestAddress(at), 2 * page)
            .unwrap();
        let mut after = vec![1; 3 * page as usize];
        mem.read_slice(&mut after, GuestAddress(at)).unwrap();
        let kept = 2 * page as usize;
        assert!(after[..kept].iter().all(|&b| b == 0));
        assert!(after[kept..].iter().all(|&b| b == 7));
    }
}
