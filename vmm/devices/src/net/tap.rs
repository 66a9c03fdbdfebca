// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A TAP of the host: one frame per read or write, each behind a virtio-net header, nonblocking.
//!
//! The TAP must exist: otherwise the kernel would create one, perhaps with a mistyped name, that
//! leads nowhere. Tests use a datagram socket instead.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use vm_memory::VolatileSlice;

use super::header::HEADER;
use super::how_to_make_a_tap;
use crate::sys;
use crate::virtio::Error;

/// TUN_F_CSUM and so on, from <linux/if_tun.h>.
pub(super) const OFFLOAD_CSUM: u32 = 1;
pub(super) const OFFLOAD_TSO4: u32 = 2;
pub(super) const OFFLOAD_TSO6: u32 = 4;
pub(super) const OFFLOAD_ECN: u32 = 8;
const OFFLOAD_ALL: u32 = OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 | OFFLOAD_ECN;

/// What sysfs says of an interface that TUN made, by IFF_ flags; None for another kind of interface, or
/// where there is no sysfs.
fn kind_of(name: &str) -> Option<u32> {
    let flags = std::fs::read_to_string(format!("/sys/class/net/{name}/tun_flags")).ok()?;
    u32::from_str_radix(flags.trim().strip_prefix("0x")?, 16).ok()
}

/// Refuses what is known to be no TAP of one queue.
fn check_kind(name: &str, flags: &Option<u32>) -> Result<(), Error> {
    let has = |flag: libc::c_int| flags.is_some_and(|flags| flags & flag as u32 != 0);
    let sysfs = std::path::Path::new("/sys/class/net").join(name).exists();
    let another = "tap0";
    let problem = match flags {
        None if !sysfs => return Ok(()),
        None => "is an interface of another kind, not a TAP",
        Some(_) if !has(libc::IFF_TAP) => "is a TUN, not a TAP: it has no Ethernet",
        Some(_) if has(libc::IFF_MULTI_QUEUE) => "is a TAP of many queues, and armvisor uses one",
        Some(_) => return Ok(()),
    };
    Err(Error::Config(format!(
        "{problem}; make one with '{}'",
        how_to_make_a_tap(another)
    )))
}

/// Why the kernel does not give the TAP to us.
fn refused(name: &str, error: io::Error) -> Error {
    let problem = match error.raw_os_error() {
        Some(libc::EBUSY) => "another program has it; give each VM a TAP of its own".into(),
        Some(libc::EPERM) => format!(
            "belongs to another user; make one of your own with '{}'",
            how_to_make_a_tap(if name == "tap0" { "tap1" } else { "tap0" })
        ),
        Some(libc::ENOENT | libc::ENODEV) => {
            "the host has no /dev/net/tun; load its driver with 'sudo modprobe tun'".into()
        }
        Some(libc::EACCES) => {
            "no permission to open /dev/net/tun; make it accessible to you, or run as root".into()
        }
        _ => return Error::host("cannot be attached to", error),
    };
    Error::Config(problem)
}

/// An open TAP.
#[derive(Debug)]
pub(super) struct Tap {
    fd: OwnedFd,
    offloads: u32,
    is_tap: bool,
}

impl Tap {
    pub(super) fn open(name: &str) -> Result<Self, Error> {
        let usable = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains(['/', '%']);
        let c_name = CString::new(name).ok().filter(|_| usable);
        let Some(c_name) = c_name else {
            return Err(Error::Config(
                "cannot be the name of a network interface; write the name of a TAP".into(),
            ));
        };
        if !sys::interface_exists(&c_name) {
            return Err(Error::Config(format!(
                "no such interface; make it with '{}'",
                how_to_make_a_tap(name)
            )));
        }
        check_kind(name, &kind_of(name))?;
        let file = sys::open_tap(&c_name, HEADER).map_err(|error| refused(name, error))?;
        // Query the features of this kernel's TAP once; each activation sets those that it needs.
        let can = [OFFLOAD_ALL, OFFLOAD_CSUM, 0].into_iter();
        let offloads = can
            .clone()
            .find(|&f| sys::set_tap_offload(&file, f).is_ok())
            .unwrap_or(0);
        Ok(Self {
            fd: file.into(),
            offloads,
            is_tap: true,
        })
    }

    /// A descriptor that keeps frames apart and does not block, in place of a TAP.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn stand_in(fd: OwnedFd) -> Self {
        Self {
            fd,
            offloads: OFFLOAD_ALL,
            is_tap: false,
        }
    }

    pub(super) fn offloads(&self) -> u32 {
        self.offloads
    }

    /// Sets which offloads frames read from here may need.
    pub(super) fn set_offloads(&self, offloads: u32) -> io::Result<()> {
        if !self.is_tap {
            return Ok(());
        }
        let file: std::fs::File = self.fd.try_clone()?.into();
        sys::set_tap_offload(&file, offloads & self.offloads)
    }

    pub(super) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        sys::read(&self.fd, buf)
    }

    pub(super) fn write(&self, header: &[u8], frame: &[VolatileSlice]) -> io::Result<usize> {
        sys::write_gather(self.fd.as_fd(), header, frame)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
