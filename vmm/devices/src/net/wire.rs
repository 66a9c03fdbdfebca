// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Frames on a stream socket, each behind its length in four bytes, big-endian: what QEMU calls a
//! stream, and passt speaks.
//!
//! Nothing here waits. A frame that the socket takes in part is kept here to its end, and no other is
//! taken meanwhile. What the other side sends is not trusted: a length that no frame has breaks the
//! wire, before anything is made of it. Both sides take a bounded amount of memory.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use vm_memory::VolatileSlice;

use super::header::HEADER;
use super::{MAX_PACKET, MIN_FRAME};
use crate::sys;

const MAX_FRAME: usize = MAX_PACKET - HEADER;
/// Bytes of a length.
const PREFIX: usize = 4;
/// Room for a whole frame behind the part of another.
const ROOM: usize = 2 * (PREFIX + MAX_FRAME);

/// One connection.
pub(super) struct Wire {
    socket: UnixStream,
    /// What has come; `from..to` is not read yet.
    input: Vec<u8>,
    from: usize,
    to: usize,
    /// The frame that is under way, and how much of it is gone.
    rest: Vec<u8>,
    gone: usize,
}

/// What became of a frame to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is on its way.
    Done,
    /// The socket takes no more now.
    Full,
    /// It cannot be read from guest memory.
    Dropped,
}

impl Wire {
    /// Fails if the socket cannot be told not to wait.
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            input: vec![0; ROOM],
            from: 0,
            to: 0,
            rest: Vec::new(),
            gone: 0,
        })
    }

    /// Copies the next frame to the start of `buffer`, which has room for any; returns its length.
    /// WouldBlock means that none has come whole. After another error the wire is of no use.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let input = &self.input[self.from..self.to];
            if let Some(len) = length(input)? {
                if let Some(frame) = input.get(PREFIX..PREFIX + len) {
                    buffer[..len].copy_from_slice(frame);
                    self.from += PREFIX + len;
                    return Ok(len);
                }
            }
            self.fill()?;
        }
    }

    /// Whether [`Self::read`] has something to say before more comes.
    pub(super) fn has_more(&self) -> bool {
        let input = &self.input[self.from..self.to];
        match length(input) {
            Ok(Some(len)) => input.len() >= PREFIX + len,
            Ok(None) => false,
            Err(_) => true,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.input.len() - self.from < PREFIX + MAX_FRAME {
            self.input.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        match self.socket.read(&mut self.input[self.to..]) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended")),
            Ok(got) => {
                self.to += got;
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Sends a frame of guest memory. After an error the wire is of no use.
    pub(super) fn write(&mut self, frame: &[VolatileSlice]) -> io::Result<Sent> {
        if !self.flush()? {
            return Ok(Sent::Full);
        }
        let len: usize = frame.iter().map(VolatileSlice::len).sum();
        let prefix = u32::try_from(len).map_err(io::Error::other)?.to_be_bytes();
        let sent = loop {
            match sys::send_gather(self.socket.as_fd(), &prefix, frame) {
                Ok(sent) => break sent,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Full),
                Err(e) if e.raw_os_error() == Some(libc::EFAULT) => return Ok(Sent::Dropped),
                Err(e) => return Err(e),
            }
        };
        if sent < PREFIX + len {
            self.keep(&prefix, frame);
            self.gone = sent;
        }
        Ok(Sent::Done)
    }

    fn keep(&mut self, prefix: &[u8], frame: &[VolatileSlice]) {
        self.rest.clear();
        self.rest.extend_from_slice(prefix);
        for slice in frame {
            let at = self.rest.len();
            self.rest.resize(at + slice.len(), 0);
            slice.copy_to(&mut self.rest[at..]);
        }
    }

    /// Sends what is left of the frame under way; false if some is left still.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        while self.is_busy() {
            match self.socket.write(&self.rest[self.gone..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => self.gone += sent,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Whether a frame is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.gone < self.rest.len()
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The length of the frame that `input` begins with, if that has come.
fn length(input: &[u8]) -> io::Result<Option<usize>> {
    let Some((prefix, _)) = input.split_first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    match u32::from_be_bytes(*prefix) as usize {
        len if (MIN_FRAME..=MAX_FRAME).contains(&len) => Ok(Some(len)),
        len => {
            let text = format!("it sent a frame of {len} bytes, which is none");
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Wire, UnixStream) {
        let (inside, outside) = UnixStream::pair().unwrap();
        outside.set_nonblocking(true).unwrap();
        (Wire::new(inside).unwrap(), outside)
    }

    fn framed(frame: &[u8]) -> Vec<u8> {
        [&(frame.len() as u32).to_be_bytes(), frame].concat()
    }

    fn send(wire: &mut Wire, frame: &mut [u8]) -> io::Result<Sent> {
        let (one, two) = frame.split_at_mut(frame.len() / 3);
        wire.write(&[VolatileSlice::from(one), VolatileSlice::from(two)])
    }

    /// All that the other side can read now.
    fn drain(mut socket: &UnixStream) -> Vec<u8> {
        let mut got = Vec::new();
        assert!(socket.read_to_end(&mut got).is_err(), "the wire is closed");
        got
    }

    #[test]
    fn frames_come_whole_however_they_are_cut() {
        let mut buffer = vec![0; MAX_FRAME];
        let frames: Vec<Vec<u8>> = [14, 1514, MAX_FRAME, 15, MAX_FRAME, 60]
            .iter()
            .map(|len| (0..*len).map(|i| (i * 7) as u8).collect())
            .collect();
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| framed(frame)).collect();
        for step in [1, 3, 5, 4096, 100_000] {
            let (mut wire, mut outside) = pair();
            let mut got = Vec::new();
            for piece in bytes.chunks(step) {
                assert_eq!(outside.write(piece).unwrap(), piece.len());
                loop {
                    match wire.read(&mut buffer) {
                        Ok(len) => got.push(buffer[..len].to_vec()),
                        Err(e) => break assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
                    }
                }
                assert!(!wire.has_more());
            }
            assert!(got == frames, "pieces of {step}");
        }
    }

    #[test]
    fn a_length_that_no_frame_has_breaks_the_wire() {
        let mut buffer = vec![0; MAX_FRAME];
        for len in [0, 13, MAX_FRAME as u32 + 1, 1 << 31, u32::MAX] {
            let (mut wire, mut outside) = pair();
            outside.write_all(&framed(&[1; 20])).unwrap();
            outside.write_all(&len.to_be_bytes()).unwrap();
            assert_eq!(wire.read(&mut buffer).unwrap(), 20);
            assert!(wire.has_more(), "{len}");
            let error = wire.read(&mut buffer).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(&format!("of {len} bytes")));
        }
        let (mut wire, outside) = pair();
        drop(outside);
        let error = wire.read(&mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_the_socket_takes_in_part_is_sent_to_its_end() {
        let (mut wire, outside) = pair();
        let mut frame: Vec<u8> = (0..MAX_FRAME).map(|i| i as u8).collect();
        let mut count = 0;
        while !wire.is_busy() && send(&mut wire, &mut frame).unwrap() == Sent::Done {
            count += 1;
            assert!(count < 1000, "the socket is never full");
        }
        assert_eq!(send(&mut wire, &mut frame).unwrap(), Sent::Full);
        assert!(wire.rest.len() <= PREFIX + MAX_FRAME);
        let mut got = Vec::new();
        while !wire.flush().unwrap() {
            got.extend(drain(&outside));
        }
        got.extend(drain(&outside));
        assert_eq!(got.len(), count * (PREFIX + MAX_FRAME));
        assert!(
            got.chunks(PREFIX + MAX_FRAME)
                .all(|one| one == framed(&frame))
        );
        assert_eq!(send(&mut wire, &mut [7; 14]).unwrap(), Sent::Done);
        assert_eq!(drain(&outside), framed(&[7; 14]));
    }

    #[test]
    fn a_closed_socket_is_an_error_and_no_signal() {
        let (mut wire, outside) = pair();
        drop(outside);
        let error = send(&mut wire, &mut [0; 60]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
