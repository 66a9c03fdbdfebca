// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! KVM's ring of coalesced MMIO stores, which KVM records without an exit.
//!
//! The ring is one page that KVM writes and we read: `first` is ours, `last` is KVM's. A store that
//! finds it full exits as usual, so nothing is lost. Readers must be serialized, and must empty the
//! ring before they handle an exit to the same device, or stores overtake each other.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// One store, as `struct kvm_coalesced_mmio` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Store {
    /// Guest physical address.
    pub address: u64,
    /// 1, 2, 4 or 8 bytes.
    pub len: u32,
    /// 1 for an x86 port; always 0 on arm64.
    pub port: u32,
    /// The bytes in memory order; those from `len` on mean nothing.
    pub data: [u8; 8],
}

#[repr(C)]
struct Header {
    first: AtomicU32,
    last: AtomicU32,
}

/// A mapped ring.
pub struct CoalescedRing {
    header: NonNull<Header>,
    page: usize,
}

// SAFETY: the mapping belongs to this value alone; all of its methods that change it take &mut self.
unsafe impl Send for CoalescedRing {}

impl CoalescedRing {
    /// Maps the ring at `page_offset` pages into `file`: a vCPU, and what KVM_CAP_COALESCED_MMIO says.
    pub fn map(file: &impl AsRawFd, page_offset: u32) -> io::Result<Self> {
        let page = super::page_size()?;
        let offset = libc::off_t::try_from(page as u64 * u64::from(page_offset));
        let offset = offset.map_err(io::Error::other)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (null, fd) = (ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other.
        let mapped = unsafe { libc::mmap(null, page, protection, libc::MAP_SHARED, fd, offset) };
        match NonNull::new(mapped) {
            Some(mapped) if mapped.as_ptr() != libc::MAP_FAILED => Ok(CoalescedRing {
                header: mapped.cast(),
                page,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn capacity(&self) -> u32 {
        ((self.page - size_of::<Header>()) / size_of::<Store>()) as u32
    }

    /// Takes the oldest store out, if there is one.
    pub fn pop(&mut self) -> Option<Store> {
        // SAFETY: the mapping lives as long as self, and a page holds the header.
        let header = unsafe { self.header.as_ref() };
        let first = header.first.load(Ordering::Relaxed);
        // Pairs with KVM's barrier between filling an entry and moving `last` past it.
        let last = header.last.load(Ordering::Acquire);
        let capacity = self.capacity();
        if first == last || first >= capacity {
            return None;
        }
        // SAFETY: the entries follow the header in the same page.
        let entries = unsafe { self.header.add(1) }.cast::<Store>();
        // SAFETY: first < capacity, so the entry is inside the page.
        let entry = unsafe { entries.add(first as usize) };
        // SAFETY: KVM does not write an entry again before `first` has moved past it.
        let store = unsafe { entry.read_volatile() };
        header
            .first
            .store((first + 1) % capacity, Ordering::Release);
        Some(store)
    }
}

impl Drop for CoalescedRing {
    fn drop(&mut self) {
        // SAFETY: this value's own mapping, which nothing borrows any more.
        unsafe { libc::munmap(self.header.as_ptr().cast(), self.page) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::sys::memory::memfd;

    #[test]
    fn stores_come_out_in_order_and_wrap() {
        let page = 4096_u32;
        let file = memfd(c"ring", false).unwrap();
        file.set_len(2 * u64::from(page)).unwrap();
        let base = u64::from(page);
        let mut ring = CoalescedRing::map(&file, 1).unwrap();
        let capacity = ring.capacity();
        assert_eq!(capacity, 170);
        assert_eq!(ring.pop(), None);

        // As KVM does: fill the entry at `last`, then move `last`.
        let push = |index: u32, value: u8| {
            let at = base + 8 + u64::from(index) * 24;
            file.write_all_at(&0x900_0000_u64.to_ne_bytes(), at)
                .unwrap();
            file.write_all_at(&1_u32.to_ne_bytes(), at + 8).unwrap();
            file.write_all_at(&[value], at + 16).unwrap();
            let last = (index + 1) % capacity;
            file.write_all_at(&last.to_ne_bytes(), base + 4).unwrap();
        };
        for round in 0..2 * capacity {
            push(round % capacity, round as u8);
            let store = ring.pop().unwrap();
            assert_eq!(
                (store.address, store.len, store.data[0]),
                (0x900_0000, 1, round as u8)
            );
            assert_eq!(ring.pop(), None);
        }
        // A ring that is out of its bounds is left alone.
        file.write_all_at(&capacity.to_ne_bytes(), base).unwrap();
        assert_eq!(ring.pop(), None);
    }
}
