// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The signals that end the program, as a file descriptor for the main loop.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, RawFd};

use vmm_sys_util::signal::{block_signal, create_sigset, unblock_signal};

use super::check;

/// Signals that end a VM in order: terminal restored, socket removed, report printed.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// SIGTERM, SIGINT and SIGHUP, blocked in this thread and readable here instead.
pub struct EndSignals(File);

impl EndSignals {
    /// To be called before any other thread is started, since threads inherit what is blocked.
    pub fn new() -> io::Result<Self> {
        for number in ENDING {
            block_signal(number).map_err(|error| io::Error::other(format!("{error:?}")))?;
        }
        let set = create_sigset(&ENDING)?;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: `set` is a live signal set; the call touches no other memory.
        let fd = check(unsafe { libc::signalfd(-1, &raw const set, flags) })?;
        // SAFETY: the call returned a new descriptor that nobody else owns.
        Ok(EndSignals(unsafe { File::from_raw_fd(fd) }))
    }

    /// The number of a signal that has come, if one has.
    pub fn take(&mut self) -> io::Result<Option<i32>> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        match self.0.read_exact(&mut record) {
            // ssi_signo is the record's first field.
            Ok(()) => Ok(Some(i32::from_ne_bytes([
                record[0], record[1], record[2], record[3],
            ]))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The number of a blocked ending signal that has come and that nobody has taken yet.
pub fn pending() -> io::Result<Option<i32>> {
    // SAFETY: a signal set is plain data, for which all zeroes is a valid value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live signal set, which the call fills.
    check(unsafe { libc::sigpending(&raw mut set) })?;
    // SAFETY: the call reads a live signal set.
    let has = |number: &libc::c_int| unsafe { libc::sigismember(&raw const set, *number) } == 1;
    Ok(ENDING.into_iter().find(has))
}

/// Lets the ending signals end this process. A program that this one starts inherits what is blocked.
pub fn unblock() -> io::Result<()> {
    for number in ENDING {
        unblock_signal(number).map_err(|error| io::Error::other(format!("{error:?}")))?;
    }
    Ok(())
}

impl AsFd for EndSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for EndSignals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
