// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A network in a program of its own, such as passt, at the other end of a [`Wire`].
//!
//! Where the program ends, the link goes down, and it is started again: on a thread of its own, as that
//! takes time, and later each time that it does not last. The thread leaves the new connection in the
//! inbox and sets the inbox's event, which the device watches while the link is down.
//!
//! A stream outlives the device on it, as a machine that is reset gets new devices: what is under way
//! stays whole.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use log::{error, warn};
use vm_memory::VolatileSlice;
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use super::wire::{Sent, Wire};
use crate::sys;
use crate::virtio::{Error, lock};

/// Before the first try to start it again, and before one that follows a while of good work.
const SOON: Duration = Duration::from_secs(1);
/// Between tries at most.
const SELDOM: Duration = Duration::from_secs(60);
/// A connection that has lasted for this long was a good one.
const GOOD: Duration = Duration::from_secs(30);

/// A program that is a network for one guest.
pub trait Peer: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> String;
    /// Starts it, and returns the connection to it. It ends when that is closed. May take seconds. The error
    /// is the end of a sentence for the user.
    fn start(&self) -> Result<UnixStream, String>;
}

/// The connection to a [`Peer`], which is started again when it ends.
pub struct Stream {
    peer: Arc<dyn Peer>,
    wire: Option<Wire>,
    since: Instant,
    delay: Duration,
    inbox: Arc<Inbox>,
}

/// Where the thread that starts the program leaves what came of it.
struct Inbox {
    event: EventFd,
    result: Mutex<Option<Result<UnixStream, String>>>,
}

impl Stream {
    /// Connects to a program that has been started, which `peer` starts again when it ends.
    pub fn new(peer: Arc<dyn Peer>, socket: UnixStream) -> Result<Self, Error> {
        let failed = |e| Error::host("cannot be connected to", e);
        Ok(Self {
            wire: Some(Wire::new(socket).map_err(failed)?),
            inbox: Arc::new(Inbox {
                event: EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC).map_err(failed)?,
                result: Mutex::default(),
            }),
            peer,
            since: Instant::now(),
            delay: SOON,
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.wire.is_some()
    }

    /// The descriptor to watch: the connection, or while there is none the inbox's event.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        match &self.wire {
            Some(wire) => wire.as_fd(),
            None => sys::borrow(&self.inbox.event),
        }
    }

    /// As [`Wire::read`]; nothing comes while the link is down.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.wire {
            Some(wire) => wire.read(buffer),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    pub(super) fn has_more(&self) -> bool {
        self.wire.as_ref().is_some_and(Wire::has_more)
    }

    /// As [`Wire::write`]; everything is dropped while the link is down.
    pub(super) fn write(&mut self, frame: &[VolatileSlice]) -> io::Result<Sent> {
        match &mut self.wire {
            Some(wire) => wire.write(frame),
            None => Ok(Sent::Dropped),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<bool> {
        self.wire.as_mut().map_or(Ok(true), Wire::flush)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.wire.as_ref().is_some_and(Wire::is_busy)
    }

    /// Gives up a connection that has failed, and has the program started again. The descriptor must not
    /// be watched any more.
    pub(super) fn fail(&mut self, why: &io::Error) {
        self.wire = None;
        if self.since.elapsed() >= GOOD {
            self.delay = SOON;
        }
        let (name, wait) = (self.peer.name(), self.delay.as_secs());
        warn!("net: {name} failed, the link is down now: {why}; it is started again in {wait} s");
        self.start_later();
    }

    fn start_later(&mut self) {
        let (peer, inbox, delay) = (Arc::clone(&self.peer), Arc::clone(&self.inbox), self.delay);
        self.delay = SELDOM.min(2 * delay);
        let body = move || {
            std::thread::sleep(delay);
            let started = peer.start();
            *lock(&inbox.result) = Some(started);
            if let Err(e) = inbox.event.write(1) {
                error!("net: {}: cannot be waited for: {e}", peer.name());
            }
        };
        let thread = std::thread::Builder::new().name("net-start".into());
        if let Err(e) = thread.spawn(body) {
            error!("net: {}: no thread to start it: {e}", self.peer.name());
        }
    }

    /// Takes what the inbox has; true if the link is up again.
    pub(super) fn take_started(&mut self) -> bool {
        let _ = self.inbox.event.read();
        let Some(started) = lock(&self.inbox.result).take() else {
            return false;
        };
        match started.and_then(|socket| Wire::new(socket).map_err(|e| e.to_string())) {
            Ok(wire) => {
                warn!("net: {} runs again, the link is up", self.peer.name());
                self.wire = Some(wire);
                self.since = Instant::now();
                true
            }
            Err(why) => {
                let (name, wait) = (self.peer.name(), self.delay.as_secs());
                warn!("net: {name} is not there again: {why}; the next try is in {wait} s");
                self.start_later();
                false
            }
        }
    }

    #[cfg(test)]
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }
}
