// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A host whose programs are socket pairs, for tests and fuzzing.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use super::{Host, Vsock};
use crate::virtio::lock;

/// The stand-in. Clones share their sockets.
#[derive(Clone, Default)]
pub(crate) struct FakeHost {
    /// Near ends of programs that connect.
    pub(crate) arriving: Arc<Mutex<VecDeque<UnixStream>>>,
    /// The port and far end of each connection of the guest's.
    pub(crate) reached: Arc<Mutex<Vec<(u32, UnixStream)>>>,
    /// Nobody listens for the guest.
    pub(crate) refuse: Arc<Mutex<bool>>,
}

impl Host for FakeHost {
    fn accept(&mut self) -> io::Result<UnixStream> {
        lock(&self.arriving)
            .pop_front()
            .ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn connect(&mut self, port: u32) -> io::Result<UnixStream> {
        if *lock(&self.refuse) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        lock(&self.reached).push((port, far));
        Ok(near)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A device on it.
pub(crate) fn with_fake_host(cid: u64, host: FakeHost) -> Vsock {
    Vsock::with_host(cid, Box::new(host))
}
