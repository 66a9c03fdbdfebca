// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Connects to a VM's socket.
//!
//! Another user controls the files in that user's directory. So root checks a socket before it
//! connects, through a descriptor that renaming cannot redirect, and asks the kernel who listens
//! there.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::sys::peer_uid;

/// Connects to a socket, and waits for no longer than `limit` where too many others wait already.
pub(super) fn reach(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Linux's limit for a Unix socket's connect() is that of its sends.
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// The directory at `path`, if it is `uid`'s and only `uid` can write there. A link is not followed.
pub(super) fn open_private(path: &Path, uid: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(rustix::fs::CWD, path, flags, Mode::empty())?;
    let stat = fstat(&directory)?;
    if stat.st_uid != uid || stat.st_mode & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(directory)
}

/// Connects to the socket `name` in a directory of `uid`'s, if that user made it and listens there.
pub(super) fn reach_in(
    directory: impl AsFd,
    name: &str,
    uid: u32,
    limit: Duration,
) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = openat(directory, name, flags, Mode::empty())?;
    let stat = fstat(&socket)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket || stat.st_uid != uid {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
    let stream = reach(Path::new(&path), limit)?;
    if peer_uid(&stream)? != uid {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(stream)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A socket that listens and lets nearly nobody in.
    pub(in crate::rundir) fn deaf(path: &Path) -> OwnedFd {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let deaf = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&deaf, &SocketAddrUnix::new(path).unwrap()).unwrap();
        rustix::net::listen(&deaf, 0).unwrap();
        deaf
    }
}
