// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A file descriptor that a device watches for input only at some times.

use std::io;
use std::os::fd::BorrowedFd;

use vmm_sys_util::epoll::EventSet;

use super::Sources;

/// Whether the event loop has the descriptor. It does not in the beginning.
#[derive(Default)]
pub(crate) struct Watched(bool);

impl Watched {
    /// Has `fd` watched under `token`, or not; nothing changes where that fails.
    pub(crate) fn set(
        &mut self,
        want: bool,
        sources: &dyn Sources,
        fd: BorrowedFd<'_>,
        token: u32,
    ) -> io::Result<()> {
        if want == self.0 {
            return Ok(());
        }
        if want {
            sources.add(fd, token, EventSet::IN)?;
        } else {
            sources.remove(fd)?;
        }
        self.0 = want;
        Ok(())
    }
}
