// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What a guest writes to its console's log, as it comes. A log that has become shorter has begun anew
//! (`console::Screen`).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// A log, and how far it has been read.
pub(super) struct Tail {
    file: File,
    at: u64,
    changes: OwnedFd,
}

impl Tail {
    /// The log at `path` from its last `back` bytes on.
    pub(super) fn open(path: &Path, back: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let changes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        add_watch(&changes, path, WatchFlags::MODIFY)?;
        let at = file.metadata()?.len().saturating_sub(back);
        Ok(Tail { file, at, changes })
    }

    /// Readable when more has come.
    pub(super) fn changes(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }

    /// Takes the news that there is more.
    pub(super) fn heed(&self) {
        let mut events = [0; 4096];
        // Its end is that there is no more news.
        while matches!(rustix::io::read(&self.changes, &mut events), Ok(got) if got > 0) {}
    }

    /// Writes what has come.
    pub(super) fn copy(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        if self.file.metadata()?.len() < self.at {
            self.at = 0;
        }
        loop {
            match self.file.read_at(&mut piece, self.at)? {
                0 => return out.flush(),
                got => {
                    out.write_all(&piece[..got])?;
                    self.at += got as u64;
                }
            }
        }
    }
}

/// Passes on what no terminal takes for a command: a guest may write anything.
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let plain: String = text
            .chars()
            .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
            .collect();
        self.0.write_all(plain.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_followed_and_begins_anew() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789").unwrap();
        let mut tail = Tail::open(file.path(), 4).unwrap();
        let read = |tail: &mut Tail| {
            let mut out = Vec::new();
            tail.copy(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(read(&mut tail), "6789");
        let mut more = File::options().append(true).open(file.path()).unwrap();
        more.write_all(b"more").unwrap();
        tail.heed();
        assert_eq!(read(&mut tail), "more");
        assert_eq!(read(&mut tail), "");
        more.set_len(0).unwrap();
        more.write_all(b"new").unwrap();
        assert_eq!(read(&mut tail), "new");
    }

    #[test]
    fn no_terminal_obeys_a_log() {
        let mut plain = Plain(Vec::new());
        plain
            .write_all("a\x1b[2J\u{9b}31m\r\n\té".as_bytes())
            .unwrap();
        assert_eq!(plain.0, "a[2J31m\n\té".as_bytes());
    }
}
