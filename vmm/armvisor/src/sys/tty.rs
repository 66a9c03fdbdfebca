// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Terminal attributes and non-blocking standard input.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// A terminal's attributes, to be put back later.
#[derive(Clone, Copy)]
pub struct Attributes(libc::termios);

/// Fails with ENOTTY if it is no terminal (tcgetattr).
pub fn attributes(terminal: BorrowedFd<'_>) -> io::Result<Attributes> {
    // SAFETY: termios is plain data, for which all zeroes is a valid value.
    let mut attributes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `attributes` is live and writable.
    check(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut attributes) })?;
    Ok(Attributes(attributes))
}

/// Takes effect at once (tcsetattr with TCSANOW).
pub fn set_attributes(terminal: BorrowedFd<'_>, attributes: &Attributes) -> io::Result<()> {
    let attributes: *const libc::termios = &attributes.0;
    // SAFETY: `attributes` is live. TCSANOW: a guest that never reads must not hold us up.
    check(unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, attributes) }).map(drop)
}

impl Attributes {
    /// Every key reaches the guest as it is typed; output keeps the terminal's own line ends.
    pub fn raw(&self) -> Attributes {
        let mut raw = self.0;
        // SAFETY: `raw` is live and writable; the call only computes.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // The VMM's own messages end lines with a bare newline, so leave output processing on.
        raw.c_oflag |= self.0.c_oflag & libc::OPOST;
        Attributes(raw)
    }
}

/// Whether the calling process may read its terminal now: a background job may not.
pub fn in_foreground(terminal: BorrowedFd<'_>) -> bool {
    // SAFETY: no memory is touched.
    let group = unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) };
    // SAFETY: getpgrp has no arguments and cannot fail.
    group == unsafe { libc::getpgrp() }
}

/// Waits for room to write; false when the time is over or a signal came first.
pub fn wait_writable(file: BorrowedFd<'_>, milliseconds: i32) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one live pollfd.
    match check(unsafe { libc::poll(&raw mut poll, 1, milliseconds) }) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};
    use std::ptr;

    use super::*;

    /// A terminal and the side that drives it.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let (mut driver, mut terminal) = (-1, -1);
        let (name, attributes, size) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the descriptors are live and writable; null is allowed for the rest.
        let opened =
            unsafe { libc::openpty(&raw mut driver, &raw mut terminal, name, attributes, size) };
        check(opened).unwrap();
        let own = |fd| {
            // SAFETY: the descriptor is new and nobody else owns it.
            unsafe { OwnedFd::from_raw_fd(fd) }
        };
        (own(driver), own(terminal))
    }

    #[test]
    fn raw_mode_gives_every_key_and_goes_away_again() {
        let (_driver, terminal) = terminal();
        let before = attributes(terminal.as_fd()).unwrap();
        set_attributes(terminal.as_fd(), &before.raw()).unwrap();
        let raw = attributes(terminal.as_fd()).unwrap();
        assert_eq!(raw.0.c_lflag & (libc::ICANON | libc::ECHO | libc::ISIG), 0);
        assert_eq!(raw.0.c_oflag & libc::OPOST, before.0.c_oflag & libc::OPOST);
        set_attributes(terminal.as_fd(), &before).unwrap();
        let after = attributes(terminal.as_fd()).unwrap();
        assert_eq!(after.0.c_lflag, before.0.c_lflag);
        assert_eq!(after.0.c_iflag, before.0.c_iflag);
    }

    #[test]
    fn a_file_is_no_terminal_and_always_writable() {
        let file = tempfile::tempfile().unwrap();
        assert!(attributes(file.as_fd()).is_err());
        assert!(wait_writable(file.as_fd(), 0).unwrap());
        let (_driver, terminal) = terminal();
        assert!(
            !in_foreground(terminal.as_fd()),
            "it controls no session of ours"
        );
    }
}
