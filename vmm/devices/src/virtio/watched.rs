// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A file descriptor that a device watches only at some times.

use std::io;
use std::os::fd::BorrowedFd;

use vmm_sys_util::epoll::EventSet;

use super::Sources;

/// What the event loop watches the descriptor for. That is nothing in the beginning.
pub(crate) struct Watched(EventSet);

impl Default for Watched {
    fn default() -> Self {
        Self(EventSet::empty())
    }
}

impl Watched {
    /// Has `fd` watched for input under `token`, or not; nothing changes where that fails.
    pub(crate) fn set(
        &mut self,
        want: bool,
        sources: &dyn Sources,
        fd: BorrowedFd<'_>,
        token: u32,
    ) -> io::Result<()> {
        let events = if want {
            EventSet::IN
        } else {
            EventSet::empty()
        };
        self.set_events(events, sources, fd, token)
    }

    /// Has `fd` watched for these events under `token`; nothing changes where that fails.
    pub(crate) fn set_events(
        &mut self,
        want: EventSet,
        sources: &dyn Sources,
        fd: BorrowedFd<'_>,
        token: u32,
    ) -> io::Result<()> {
        match (self.0, want) {
            (old, new) if old == new => return Ok(()),
            (old, new) if old.is_empty() => sources.add(fd, token, new)?,
            (_, new) if new.is_empty() => sources.remove(fd)?,
            (_, new) => sources.modify(fd, token, new)?,
        }
        self.0 = want;
        Ok(())
    }
}
