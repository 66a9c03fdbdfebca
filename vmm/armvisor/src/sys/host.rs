// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What only system calls tell of the host.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use super::check;

/// Sizes of a program's half of the address space, from the largest down: 52 is arm64 with LPA2 or
/// LVA, 47 x86-64 and arm64 with 16 KiB pages, 42 and 36 rare arm64 kernels.
const ADDRESS_BITS: [u32; 6] = [52, 48, 47, 42, 39, 36];

/// How many address bits a program has; on arm64 the kernel's own half is as large. None if it is none
/// of the known sizes.
///
/// Linux gives no address above 2^48 to a program that does not ask for one, so this asks.
pub fn address_bits() -> Option<u32> {
    ADDRESS_BITS.into_iter().find(|&bits| {
        let upper_half = 1_usize << (bits - 1);
        maps_at(upper_half).is_some_and(|address| address >= upper_half)
    })
}

/// Maps a page at `hint` or, if that is no address of this program, elsewhere, and unmaps it.
fn maps_at(hint: usize) -> Option<usize> {
    let len = super::page_size().ok()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let hint = ptr::without_provenance_mut(hint);
    // SAFETY: without MAP_FIXED a new mapping replaces no other.
    let mapped = unsafe { libc::mmap(hint, len, libc::PROT_NONE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping was made above, and nothing points into it.
    unsafe { libc::munmap(mapped, len) };
    Some(mapped.addr())
}

/// The kernel's log, at most its last `limit` bytes. Needs CAP_SYSLOG where kernel.dmesg_restrict is
/// set.
pub fn kernel_log(limit: usize) -> io::Result<Vec<u8>> {
    const SYSLOG_ACTION_READ_ALL: libc::c_int = 3;
    const SYSLOG_ACTION_SIZE_BUFFER: libc::c_int = 10;
    // SAFETY: this action uses no buffer.
    let size = check(unsafe { libc::klogctl(SYSLOG_ACTION_SIZE_BUFFER, ptr::null_mut(), 0) })?;
    let size = usize::try_from(size).unwrap_or(0).min(limit);
    let mut log = vec![0_u8; size];
    let len = libc::c_int::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the pointer and the length are those of a writable buffer.
    let got =
        check(unsafe { libc::klogctl(SYSLOG_ACTION_READ_ALL, log.as_mut_ptr().cast(), len) })?;
    log.truncate(usize::try_from(got).unwrap_or(0));
    Ok(log)
}

/// `_IO(KVMIO, 0x00)`: ENOTTY where `fd` is not KVM.
pub fn kvm_api_version(fd: &impl AsRawFd) -> io::Result<i32> {
    const KVM_GET_API_VERSION: u32 = 0xae00;
    // SAFETY: the ioctl takes no argument; on a device that is not KVM it fails or does what that
    // device does for an ioctl of no argument.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), KVM_GET_API_VERSION as _, 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_as_many_bits_as_its_stack_needs() {
        let local = 0_u8;
        let bits = address_bits().unwrap();
        assert!((&raw const local).addr() >> bits == 0);
        assert!(ADDRESS_BITS.contains(&bits));
    }

    #[test]
    fn the_log_is_bounded_and_a_file_is_not_kvm() {
        match kernel_log(64) {
            Ok(log) => assert!(log.len() <= 64),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM)),
        }
        let file = tempfile::tempfile().unwrap();
        let error = kvm_api_version(&file).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}
