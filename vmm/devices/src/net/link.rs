// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What a network device is on: a TAP, or a stream to another program.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use log::warn;
use vm_memory::VolatileSlice;

use super::header::HEADER;
use super::stream::Stream;
use super::tap::Tap;
use crate::virtio::lock;

pub(super) use super::wire::Sent;

/// Nobody else holds the lock of a stream for longer than a look.
pub(super) enum Link {
    /// Frames have headers. A TAP that fails is gone for good.
    Tap(Tap),
    /// Frames have none. It comes back.
    Stream(Arc<Mutex<Stream>>),
}

impl Link {
    pub(super) fn is_stream(&self) -> bool {
        matches!(self, Link::Stream(_))
    }

    pub(super) fn is_up(&self) -> bool {
        match self {
            Link::Tap(_) => true,
            Link::Stream(stream) => lock(stream).is_up(),
        }
    }

    pub(super) fn offloads(&self) -> u32 {
        match self {
            Link::Tap(tap) => tap.offloads(),
            Link::Stream(_) => 0,
        }
    }

    pub(super) fn set_offloads(&self, offloads: u32) -> io::Result<()> {
        match self {
            Link::Tap(tap) => tap.set_offloads(offloads),
            Link::Stream(_) => Ok(()),
        }
    }

    /// Reads the next frame, behind a header.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tap(tap) => tap.read(buffer),
            Link::Stream(stream) => {
                let (header, frame) = buffer.split_at_mut(HEADER);
                header.fill(0);
                Ok(HEADER + lock(stream).read(frame)?)
            }
        }
    }

    /// Sends a frame. An error is the end of the link.
    pub(super) fn write(&mut self, header: &[u8], frame: &[VolatileSlice]) -> io::Result<Sent> {
        match self {
            Link::Tap(tap) => Ok(match tap.write(header, frame) {
                Ok(_) => Sent::Done,
                Err(_) => Sent::Dropped,
            }),
            Link::Stream(stream) => lock(stream).write(frame),
        }
    }

    /// Sends what is left of a frame.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Tap(_) => Ok(()),
            Link::Stream(stream) => lock(stream).flush().map(drop),
        }
    }

    /// Whether a part of a frame is left.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Link::Tap(_) => false,
            Link::Stream(stream) => lock(stream).is_busy(),
        }
    }

    /// Whether frames have come that no event tells of.
    pub(super) fn has_more(&self) -> bool {
        match self {
            Link::Tap(_) => false,
            Link::Stream(stream) => lock(stream).has_more(),
        }
    }

    /// The link has failed; its descriptor is not watched any more.
    pub(super) fn fail(&mut self, why: &io::Error) {
        match self {
            Link::Tap(_) => warn!("net: the TAP failed, the link is down now: {why}"),
            Link::Stream(stream) => lock(stream).fail(why),
        }
    }

    /// Whether a link that was down is up again.
    pub(super) fn take_started(&mut self) -> bool {
        match self {
            Link::Tap(_) => false,
            Link::Stream(stream) => lock(stream).take_started(),
        }
    }

    /// Calls `action` with the descriptor that is to be watched.
    pub(super) fn with_fd<T>(&self, action: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        match self {
            Link::Tap(tap) => action(tap.as_fd()),
            Link::Stream(stream) => action(lock(stream).fd()),
        }
    }
}
