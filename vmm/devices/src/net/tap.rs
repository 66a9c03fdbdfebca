// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A TAP of the host: one frame a read or write, each behind a virtio-net header, nonblocking.
//!
//! The TAP must exist: the kernel would make one with the caller's typing error as its name, which
//! then leads nowhere. Tests put a datagram socket in its place.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use vm_memory::VolatileSlice;

use super::header::HEADER;
use crate::sys;
use crate::virtio::Error;

/// TUN_F_CSUM and so on, from <linux/if_tun.h>.
pub(super) const OFFLOAD_CSUM: u32 = 1;
pub(super) const OFFLOAD_TSO4: u32 = 2;
pub(super) const OFFLOAD_TSO6: u32 = 4;
pub(super) const OFFLOAD_ECN: u32 = 8;
const OFFLOAD_ALL: u32 = OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 | OFFLOAD_ECN;

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
            return Err(Error::Config(format!(
                "'{name}' is no name of a network interface"
            )));
        };
        if !sys::interface_exists(&c_name) {
            return Err(Error::Config(format!(
                "there is no network interface '{name}': make it with 'ip tuntap add {name} mode tap'"
            )));
        }
        let file = sys::open_tap(&c_name, HEADER).map_err(|e| {
            let hint = match e.raw_os_error() {
                Some(libc::EBUSY) => " (another program has it)",
                Some(libc::EPERM) => " (owned by another user: 'ip tuntap add … user NAME')",
                Some(libc::EINVAL) => " (it is not a TAP, or one of many queues)",
                _ => "",
            };
            Error::host(format!("cannot attach to the TAP '{name}'{hint}"), e)
        })?;
        // Ask once what this kernel's TAP can do; each activation sets what is wanted.
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
