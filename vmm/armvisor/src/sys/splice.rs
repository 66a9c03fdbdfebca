// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Copies from file to file inside the host's kernel; neither file is mapped.
//!
//! Pages of the source go through a pipe by reference; the only copy is the write to the target. If
//! a piece covers a huge page of the target, the host does not clear that page first.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;

/// A huge page. Without privileges the host allows pipes of half of that, if it is as it came.
const PIECE: usize = 2 << 20;

struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the call writes two integers, for which there is room.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        // SAFETY: the call made both descriptors, and nobody else owns them.
        let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        let size = [PIECE, PIECE / 2].into_iter().find_map(|size| {
            let fd = write.as_raw_fd();
            // SAFETY: F_SETPIPE_SZ takes an integer and touches no memory.
            let set = check(unsafe { libc::fcntl(fd, libc::F_SETPIPE_SZ, size as libc::c_int) });
            set.ok().map(|_| size)
        });
        // What every pipe holds.
        let size = size.unwrap_or(libc::PIPE_BUF);
        Ok(Pipe { read, write, size })
    }
}

/// Copies `len` bytes from the start of `from` to `to` at `at`; returns how many there were to copy.
/// Whatever the error, reading and writing may still work: not every file can be spliced.
pub fn copy(from: &File, to: &File, at: u64, len: u64) -> io::Result<u64> {
    let pipe = Pipe::new()?;
    let mut done = 0;
    while done < len {
        // Pieces end where pages of the target do, after the first too.
        let room = pipe.size as u64 - (at + done) % pipe.size as u64;
        let want = room.min(len - done) as usize;
        let mut got = splice((from, Some(done)), (&pipe.write, None), want)?;
        if got == 0 {
            break;
        }
        while got > 0 {
            let put = splice((&pipe.read, None), (to, Some(at + done)), got)?;
            if put == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            got -= put;
            done += put as u64;
        }
    }
    Ok(done)
}

type End<'a, F> = (&'a F, Option<u64>);

/// splice, at an offset for what is no pipe.
fn splice(from: End<'_, impl AsRawFd>, to: End<'_, impl AsRawFd>, len: usize) -> io::Result<usize> {
    let mut from_at = from.1.map(|at| at as libc::loff_t);
    let mut to_at = to.1.map(|at| at as libc::loff_t);
    let pointer =
        |at: &mut Option<libc::loff_t>| at.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    loop {
        // SAFETY: the offsets are null or live integers; the call touches no other memory.
        let done = unsafe {
            libc::splice(
                from.0.as_raw_fd(),
                pointer(&mut from_at),
                to.0.as_raw_fd(),
                pointer(&mut to_at),
                len,
                0,
            )
        };
        match usize::try_from(done) {
            Ok(done) => return Ok(done),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::sys::memory::memfd;

    fn source(len: usize) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..len).map(|at| (at / 3 % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn every_byte_arrives_at_its_place() {
        for (len, at) in [
            (1, 0),
            (5 << 20 | 77, 0),
            (3 << 20, 4096),
            (4097, (2 << 20) - 1),
        ] {
            let to = memfd(c"test", false).unwrap();
            to.set_len(16 << 20).unwrap();
            assert_eq!(copy(&source(len), &to, at, len as u64).unwrap(), len as u64);
            let mut bytes = vec![0; len];
            to.read_exact_at(&mut bytes, at).unwrap();
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(at, byte)| *byte == (at / 3 % 251) as u8)
            );
            let mut after = [1];
            to.read_exact_at(&mut after, at + len as u64).unwrap();
            assert_eq!(after, [0], "{len} bytes at {at}");
        }
    }

    #[test]
    fn a_short_source_is_told() {
        let to = memfd(c"test", false).unwrap();
        assert_eq!(copy(&source(5000), &to, 0, 9000).unwrap(), 5000);
    }

    #[test]
    fn a_target_that_cannot_be_spliced_to_is_an_error() {
        let append = File::options().append(true).open("/dev/null").unwrap();
        assert!(copy(&source(10), &append, 0, 10).is_err());
    }
}
