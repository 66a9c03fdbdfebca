// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The host's side of connecting: a Unix socket where programs ask for a port of the guest, with
//! Firecracker's protocol, and the target of the guest's own connections.
//!
//! * A program connects to `PATH`, sends `CONNECT <port>\n`, and gets `OK <host port>\n` when the
//!   guest accepts, or end of file when it does not. From there on the socket is the stream.
//! * The guest's connection to port N goes to the Unix socket `PATH_N`, if something listens there.
//!
//! Only its owner can use the socket. A stale one is replaced; one in use is not.

use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::sys;
use crate::virtio::Error;

/// `sun_path` with its terminator, less the longest `_port`.
const MAX_PATH: usize = 107 - "_4294967295".len();
/// `CONNECT 4294967295\n` and some.
const MAX_LINE: usize = 32;

/// The socket at `PATH`; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    socket: UnixListener,
    path: PathBuf,
}

impl Listener {
    pub(super) fn bind(path: &Path) -> Result<Self, Error> {
        if path.as_os_str().as_bytes().len() > MAX_PATH {
            return Err(Error::Config(format!(
                "is longer than {MAX_PATH} bytes, too long for a socket; choose a shorter path"
            )));
        }
        remove_stale(path)?;
        let failed = |e| Error::host("cannot listen there", e);
        let socket = UnixListener::bind(path).map_err(failed)?;
        let listener = Self {
            socket,
            path: path.to_owned(),
        };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        listener.socket.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    }

    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.socket.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    /// Connects to whoever listens for the guest's connections to `port`.
    pub(super) fn connect(&self, port: u32) -> io::Result<UnixStream> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!("_{port}"));
        sys::connect_unix(Path::new(&name))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn remove_stale(path: &Path) -> Result<(), Error> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !meta.file_type().is_socket() {
        return Err(Error::Config(
            "a file that is not a socket is there; choose another path, or remove it".into(),
        ));
    }
    match sys::connect_unix(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|e| Error::host("cannot remove the stale socket", e))
        }
        _ => Err(Error::Config(
            "the socket is in use, probably by another VM; give this one its own".into(),
        )),
    }
}

/// A program that has connected and not said yet where to.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: UnixStream,
    line: Vec<u8>,
}

/// How far a client is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The line is not complete.
    More,
    /// It wants this port of the guest.
    Port(u32),
    /// It went away, or did not speak the protocol.
    Bad,
}

impl Client {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            line: Vec::new(),
        }
    }

    /// Reads the request; never beyond its end, because what follows is the guest's.
    pub(super) fn advance(&mut self) -> Progress {
        loop {
            let mut byte = [0];
            match self.stream.read(&mut byte) {
                Ok(1) if byte[0] == b'\n' => {
                    return parse(&self.line).map_or(Progress::Bad, Progress::Port);
                }
                Ok(1) if self.line.len() < MAX_LINE => self.line.push(byte[0]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Progress::More,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                _ => return Progress::Bad,
            }
        }
    }
}

fn parse(line: &[u8]) -> Option<u32> {
    let digits = line.strip_prefix(b"CONNECT ")?;
    let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_protocol_is_accepted() {
        assert_eq!(parse(b"CONNECT 52"), Some(52));
        assert_eq!(parse(b"CONNECT 4294967295"), Some(u32::MAX));
        let bad: [&[u8]; 8] = [
            b"",
            b"CONNECT",
            b"CONNECT ",
            b"CONNECT 4294967296",
            b"connect 1",
            b"CONNECT +1",
            b"CONNECT 1 ",
            b"CONNECT \xff",
        ];
        for line in bad {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let first = Listener::bind(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(
            Listener::bind(&path)
                .unwrap_err()
                .to_string()
                .contains("in use")
        );
        drop(first);
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        assert!(
            Listener::bind(&path)
                .unwrap_err()
                .to_string()
                .contains("is not a socket")
        );
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let long = dir.path().join("x".repeat(100));
        assert!(
            Listener::bind(&long)
                .unwrap_err()
                .to_string()
                .contains("longer than")
        );
        let nowhere = dir.path().join("no/where");
        assert!(
            Listener::bind(&nowhere)
                .unwrap_err()
                .to_string()
                .contains("cannot listen")
        );
    }
}
